"""The learned opponent: what is shipped, how it looks ahead, where it is named, and what it refuses."""

import hashlib
import json
import math
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from settebello import BatchEnv
from settebello.arena import duel
from settebello.bazzica.solver import last_hand_values, new_scratch
from settebello.bazzica.state import NUM_HANDS
from settebello.errors import CheckpointError, OptionError
from settebello.information import Information
from settebello.opponents import from_spec, load, shipped
from settebello.opponents.bazzica_moves import leaf_values
from settebello.opponents.exported import ExportedOpponent, read_manifest
from settebello.opponents.hard import HardOpponent, HardParameters
from settebello.opponents.inputs import inputs_of
from settebello.opponents.shipped import shipped_folder
from tests.info_tools import GAME_IDS as GAMES
from tests.info_tools import SMALL_DECK, SMALL_DECK_4P

LARGEST = 4_000_000  # bytes of a file that is kept in the repository
PARTS = {"weights": "weights.safetensors", "critic": "critic.safetensors", "onnx": "policy.onnx"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of what is shipped for two-player Tressette, to damage."""
    return copy_of("tressette-2p", tmp_path / "net")


def copy_of(game: str, folder: Path) -> Path:
    shutil.copytree(shipped_folder(game), folder)
    return folder


def edit(folder: Path, **changes: Any) -> None:
    manifest = read_manifest(folder)
    (folder / "manifest.json").write_text(json.dumps(manifest | changes))


def edit_config(folder: Path, **changes: Any) -> None:
    edit(folder, config=read_manifest(folder)["config"] | changes)


def replace(folder: Path, part: str, data: bytes) -> None:
    """Put other bytes into a file, with a manifest that agrees."""
    files = read_manifest(folder)["files"]
    (folder / files[part]["name"]).write_bytes(data)
    files[part] |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    edit(folder, files=files)


def replace_weights(folder: Path, part: str, **values: float) -> None:
    """Set all of some of the weights to a number."""
    weights = load_tensors((folder / PARTS[part]).read_bytes())
    replace(folder, part, save_tensors(weights | {name: np.full_like(weights[name], new) for name, new in values.items()}))


def random_step(batch: BatchEnv, rng: np.random.Generator) -> None:
    batch.step(np.argmax(batch.action_mask * rng.random(batch.action_mask.shape), axis=1))


def is_open(batch: BatchEnv, row: int) -> bool:
    state = batch._states[row]
    if batch.game == "bazzica":
        return bool(state["hand_number"] == NUM_HANDS)
    return batch.num_seats == 2 and bool(state["stock_start"] == state["deck_size"])


def choices(batch: BatchEnv) -> list[int]:
    """Rows whose seat to move has a choice."""
    return [int(row) for row in np.flatnonzero(batch.action_mask.sum(axis=1) > 1)]


# --- what is shipped ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
def test_what_is_shipped_is_whole_and_small(game: str) -> None:
    folder = shipped_folder(game)
    manifest = read_manifest(folder)
    assert {path.name for path in folder.iterdir()} == {"manifest.json", *PARTS.values()}
    assert {part: entry["name"] for part, entry in manifest["files"].items()} == PARTS
    for entry in manifest["files"].values():
        data = (folder / entry["name"]).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (entry["bytes"], entry["sha256"])
        assert len(data) < LARGEST
    assert manifest["game"] == game
    assert manifest["observation_spec_sha256"] == inputs_of(game).spec_hash()
    assert manifest["export"]["command"].startswith("settebello-train export ")
    assert manifest["progress"]["decisions"] > 0
    for result in manifest["evaluations"]:
        assert result["command"].startswith(f"settebello evaluate {game} ")
        assert result["ci95"][0] < result["points_per_deal"] < result["ci95"][1]


@pytest.mark.parametrize("game", GAMES)
def test_needs_numpy_alone(game: str) -> None:
    code = (
        "import sys, numpy as np\n"
        "from settebello import BatchEnv\n"
        "from settebello.opponents import load\n"
        "hard = load(sys.argv[1], 'hard', 1, worlds=2)\n"
        "print(hard.level, hard.act_batch(BatchEnv(sys.argv[1], 2), np.arange(2)).tolist())\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "assert not loaded & {'torch', 'onnx', 'onnxruntime', 'settebello_training'}, loaded\n"
    )
    done = subprocess.run([sys.executable, "-c", code, game], capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 0, done.stderr
    expected = load(game, "hard", 1, worlds=2).act_batch(BatchEnv(game, 2), np.arange(2))  # type: ignore[attr-defined]
    assert done.stdout == f"hard {expected.tolist()}\n"


def test_is_found_in_a_package_and_in_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package, checkout = tmp_path / "package", tmp_path / "checkout"
    monkeypatch.setattr(shipped, "PLACES", (package, checkout))
    with pytest.raises(CheckpointError, match=r"no hard opponent for 'bazzica'.*package/bazzica and .*'search'"):
        load("bazzica", "hard")
    monkeypatch.undo()
    for place in (checkout, package):
        copy_of("bazzica", place / "bazzica")
        with monkeypatch.context() as patched:
            patched.setattr(shipped, "PLACES", (package, checkout))
            assert shipped_folder("bazzica") == place / "bazzica"
            with pytest.raises(CheckpointError, match="no hard opponent for 'tressette-2p'"):
                shipped_folder("tressette-2p")


@pytest.mark.parametrize("game", GAMES)
def test_beats_random(game: str) -> None:
    for worlds in (0, 2):
        assert duel(game, f"hard:worlds={worlds}", "random", 60, 1).ci95[0] > 0.5


# --- how it plays ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("options", [{"episode": "deal"}, {"target": 12}])
def test_without_worlds_it_plays_by_the_policy(game: str, options: dict[str, Any]) -> None:
    hard: Any = load(game, "hard", 1, worlds=0)
    policy, exact = ExportedOpponent(game, shipped_folder(game)), load(game, "search", 1, worlds=1)
    batch, rng, rows, opened = BatchEnv(game, 12, seed=2, **options), np.random.default_rng(2), np.arange(12), 0
    for _ in range(60):
        actions, expected = hard.act_batch(batch, rows), policy.act_batch(batch, rows)
        for row in choices(batch):
            information = batch.information(row, int(batch.seat[row]))
            values = hard.values(information)
            assert list(values) == information.legal_actions()
            if is_open(batch, row):  # there it plays perfectly, as search does
                assert actions[row] == exact.act(information)
                assert values == exact.values(information)  # type: ignore[attr-defined]
                opened += 1
            else:
                # Suits that look alike have the same logits, but for rounding.
                logits = policy.logits(inputs_of(game).of_batch(batch, np.array([row])))[0]
                assert logits[actions[row]] == pytest.approx(logits[expected[row]], abs=1e-4)
                assert all(math.isnan(value) for value in values.values())
        random_step(batch, rng)
    assert opened > 20 or game == "tressette-4p"


def closed_choices(game: str, policy: ExportedOpponent) -> Iterator[tuple[Information, Any]]:
    """Choices in random play before the game is open: what the seat to move knows, and the policy's logits."""
    batch, rng = BatchEnv(game, 8, seed=4), np.random.default_rng(4)
    for _ in range(30):
        logits = policy.logits(inputs_of(game).of_batch(batch))
        for row in choices(batch):
            if not is_open(batch, row):
                yield batch.information(row, int(batch.seat[row])), logits[row]
        random_step(batch, rng)


@pytest.mark.parametrize("game", GAMES)
def test_it_plays_what_value_and_policy_make_best(game: str) -> None:
    policy = ExportedOpponent(game, shipped_folder(game))
    opponents: dict[float, Any] = {prior: load(game, "hard", 1, worlds=3, prior=prior, margin=1000) for prior in (0, 0.2, 1000)}
    apart = 0
    for information, logits in closed_choices(game, policy):
        values = opponents[0].values(information)
        assert all(math.isfinite(value) for value in values.values())
        for prior, hard in opponents.items():
            assert hard.values(information) == values
            scores = {action: value + prior * logits[action] for action, value in values.items()}
            assert scores[hard.act(information)] > max(scores.values()) - 1e-4 * max(1, prior)
        apart += len({hard.act(information) for hard in opponents.values()}) > 1
    assert apart > 10


@pytest.mark.parametrize("game", GAMES)
def test_what_the_policy_rules_out_is_not_looked_at(game: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It plays the best of those within the margin; ``values`` tells of all actions, the same as without one."""
    policy, hard, looked = ExportedOpponent(game, shipped_folder(game)), load(game, "hard", 1, worlds=3, prior=0, margin=1), []
    assert isinstance(hard, HardOpponent)
    wide: Any = load(game, "hard", 1, worlds=3, prior=0, margin=1000)
    worth = hard._worth
    monkeypatch.setattr(hard, "_worth", lambda *given: looked.append(given[2].tolist()) or worth(*given))
    fewer = 0
    for information, logits in closed_choices(game, policy):
        legal = information.legal_actions()
        best = max(logits[action] for action in legal)
        if any(abs(best - logits[action] - 1) < 1e-3 for action in legal):
            continue  # on the margin, within rounding
        near = [action for action in legal if best - logits[action] < 1]
        looked.clear()
        action = hard.act(information)
        assert looked == ([near] if len(near) > 1 else [])
        fewer += len(near) < len(legal)
        values = hard.values(information)
        assert values == wide.values(information)
        assert action in near
        # equal ones may differ by the rounding of arithmetic on fewer rows
        assert len(near) == 1 or values[action] == pytest.approx(max(values[other] for other in near), abs=1e-5)
    assert fewer > 50


@pytest.mark.parametrize("game", GAMES)
def test_what_the_critic_says_is_counted_for_the_right_side(game: str, tmp_path: Path) -> None:
    """A critic by which whoever is to move wins 3 points: it tells who that is after an action, in bazzica after the hand."""
    folder = copy_of(game, tmp_path / "net")
    replace_weights(folder, "critic", **{"value.weight": 0.0, "value.bias": 1.5})
    edit_config(folder, reward_scale=0.5)
    hard: Any = load(game, "hard", 1, worlds=2, playouts=0, folder=folder)
    batch, rng, seen = BatchEnv(game, 16, seed=3, episode="deal"), np.random.default_rng(3), {-3.0: 0, 3.0: 0}
    tried, size = BatchEnv(game, 1, episode="deal"), batch.num_seats
    for _ in range(40):
        for row in choices(batch):
            state = batch._states[row]
            seat = int(batch.seat[row])
            # Once all others have played to the trick, it is known who will be to move.
            follows = game == "bazzica" or state["trick_size"] == size - 1
            ending = game == "tressette-2p" and int(state["deck_size"]) - int(state["stock_start"]) <= 2
            exact = game == "bazzica" and int(state["hand_number"]) >= NUM_HANDS - 1
            if not follows or ending or exact or is_open(batch, row):
                continue
            for action, value in hard.values(batch.information(row, seat)).items():
                tried.set_state(0, batch.get_state(row))
                _, done = tried.step(np.array([action]))
                if done[0]:
                    continue
                mover = int(tried.seat[0]) if game != "bazzica" else 1 - int(state["dealer"])
                expected = 3.0 if mover % 2 == seat % 2 else -3.0
                assert value == pytest.approx(expected, abs=1e-5)
                seen[expected] += 1
        random_step(batch, rng)
    assert min(seen.values()) > 20


def test_the_hand_before_bazzicas_last_leads_to_exact_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is played out to a last hand, in which all cards are known: whatever the critic says is not asked for."""
    folder = copy_of("bazzica", tmp_path / "net")
    replace_weights(folder, "critic", **{"value.weight": 0.0, "value.bias": 1e6})
    worlds = 3
    hard: Any = load("bazzica", "hard", 1, worlds=worlds, folder=folder)

    def look(states: Any, *rest: Any) -> None:
        looked.append(states.copy())
        leaf_values(states, *rest)

    looked: list[np.ndarray[Any, Any]] = []
    monkeypatch.setattr(hard, "_exact", SimpleNamespace(leaf_values=look))
    batch, rng, checked = BatchEnv("bazzica", 16, seed=5, episode="deal"), np.random.default_rng(5), 0
    scratch, worths = new_scratch(), np.zeros(batch.num_actions)
    for _ in range(60):
        for row in choices(batch):
            seat = int(batch.seat[row])
            if batch._states[row]["hand_number"] != NUM_HANDS - 1:
                continue
            values = hard.values(batch.information(row, seat))
            ends = looked.pop()
            exact = []
            for state in ends:
                assert state["hand_number"] == NUM_HANDS
                last_hand_values(state, scratch, np.zeros((0, 0)), worths)
                exact.append(worths.max() if state["turn"] == seat else -worths.max())
            means = np.reshape(exact, (worlds, len(values))).mean(axis=0)
            np.testing.assert_allclose(list(values.values()), means)
            checked += 1
        random_step(batch, rng)
    assert checked > 30


def test_the_last_cards_of_the_stock_lead_to_exact_values(folder: Path) -> None:
    """After them both hands are known: whatever the critic says is not asked for."""
    replace_weights(folder, "critic", **{"value.weight": 0.0, "value.bias": 1e6})
    hard: Any = load("tressette-2p", "hard", 1, worlds=4, folder=folder)
    batch, rng, checked = BatchEnv("tressette-2p", 16, seed=5, episode="deal"), np.random.default_rng(5), 0
    for _ in range(22):
        for row in choices(batch):
            state = batch._states[row]
            if state["trick_size"] == 1 and int(state["deck_size"]) - int(state["stock_start"]) == 2:
                values = hard.values(batch.information(row, int(batch.seat[row])))
                assert all(abs(value) <= 11 for value in values.values())
                checked += 1
        random_step(batch, rng)
    assert checked > 5


@pytest.mark.parametrize("game", GAMES)
def test_play_outs_are_mixed_with_what_the_critic_says(game: str) -> None:
    players: list[Any] = [load(game, "hard", 1, worlds=3, playouts=share) for share in (0, 1, 0.25)]
    batch, rng, apart = BatchEnv(game, 8, seed=6, episode="deal"), np.random.default_rng(6), 0
    for _ in range(12):
        for row in choices(batch):
            information = batch.information(row, int(batch.seat[row]))
            critic, played, mixed = (np.array(list(player.values(information).values())) for player in players)
            np.testing.assert_allclose(mixed, 0.75 * critic + 0.25 * played, atol=1e-6)
            apart += int((abs(critic - played) > 0.1).any())
        random_step(batch, rng)
    assert apart > 20


@pytest.mark.parametrize(
    ("game", "options"),
    [
        ("tressette-2p", {"deck_cards": SMALL_DECK, "hand_size": 3, "napoletana": True, "target": 5}),
        ("tressette-2p", {"hand_size": 20, "episode": "deal"}),
        ("tressette-4p", {"deck_cards": SMALL_DECK_4P, "hand_size": 4, "napoletana": True, "target": 3}),
        ("bazzica", {"last_card_scopa": True, "low_sum_max": 14, "target": 5}),
    ],
)
def test_plays_under_all_options(game: str, options: dict[str, Any]) -> None:
    for worlds in (0, 2):
        hard: Any = load(game, "hard", 1, worlds=worlds)
        batch, rows, over = BatchEnv(game, 4, seed=3, **options), np.arange(4), 0
        for _ in range(160):
            actions = hard.act_batch(batch, rows)
            assert batch.action_mask[rows, actions].all()
            row = over % 4
            assert hard.act(batch.information(row, int(batch.seat[row]))) == actions[row]
            over += int(batch.step(actions)[1].sum())
        assert over >= 4


# --- where it is named -------------------------------------------------------------------------------------------------------


def test_folders_are_kept_as_whole_paths(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    for given in ("net", "./net", Path("net"), str(folder), "net/manifest.json"):
        hard: Any = load("tressette-2p", "hard", 3, folder=given)
        assert hard.parameters == HardParameters(folder=str(folder))
        assert hard.folder == folder
        assert hard.spec == f"hard:worlds=32,folder={folder}"
        assert repr(hard) == f"<{hard.spec} for tressette-2p>"
    hard = from_spec("tressette-2p", "hard:folder=net,worlds=3", 3)
    batch = BatchEnv("tressette-2p", 2, seed=1)
    monkeypatch.chdir("/")
    again: Any = pickle.loads(pickle.dumps(hard))
    assert (again.spec, again.seed) == (hard.spec, 3)
    assert again.act_batch(batch, np.arange(2)).tolist() == hard.act_batch(batch, np.arange(2)).tolist()
    assert from_spec("tressette-2p", hard.spec).parameters == hard.parameters  # type: ignore[attr-defined]
    with pytest.raises(OptionError, match=r"folder=7: expected.*'\./runs/first'"):
        from_spec("tressette-2p", "hard:folder=7")


def test_a_budget_counts_worlds(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(HardOpponent, "_time_moves", lambda player: 0.001 + 0.0002 * player.parameters.worlds)
    hard: Any = load("tressette-2p", "hard", budget_ms=10, folder=folder)
    assert hard.parameters == HardParameters(worlds=45, folder=str(folder))


def test_a_run_that_went_on_is_another_opponent(folder: Path, tmp_path: Path) -> None:
    spec = f"hard:worlds=0,folder={folder}"
    batch, rows = BatchEnv("tressette-2p", 64, seed=1), np.arange(64)
    before: Any = from_spec("tressette-2p", spec)
    first = before.act_batch(batch, rows).tolist()
    path = tmp_path / "results.json"
    duel("tressette-2p", spec, "random", 2, 1, path=path)
    duel("tressette-2p", spec, "random", 4, 1, path=path)  # goes on
    replace_weights(folder, "weights", **{"policy.weight": 0.0, "policy.bias": 0.0})
    after: Any = from_spec("tressette-2p", spec)
    assert after.act_batch(batch, rows).tolist() == batch.action_mask.argmax(axis=1).tolist() != first
    assert before.act_batch(batch, rows).tolist() == first
    with pytest.raises(OptionError, match="sha256"):
        duel("tressette-2p", spec, "random", 8, 1, path=path)
    (folder / "weights.safetensors").write_bytes(b"damaged")
    with pytest.raises(CheckpointError, match="truncated"):
        from_spec("tressette-2p", spec)


# --- what it refuses ---------------------------------------------------------------------------------------------------------


def refused(folder: Path, *words: str, worlds: tuple[int, ...] = (0, 2), game: str = "tressette-2p") -> None:
    for count in worlds:
        with pytest.raises(CheckpointError) as caught:
            load(game, "hard", 1, worlds=count, folder=folder)
        for word in (str(folder), *words):
            assert word in str(caught.value)


def test_refuses_what_is_not_there(tmp_path: Path) -> None:
    refused(tmp_path / "none", "no such file or folder")
    refused(tmp_path, "no manifest.json there")
    (tmp_path / "file").write_text("")
    refused(tmp_path / "file", "not a folder")


def test_refuses_another_game_or_observation(folder: Path) -> None:
    refused(folder, "trained for 'tressette-2p', not 'bazzica'", game="bazzica")
    edit(folder, observation_spec_sha256="0" * 64)
    refused(folder, "other observations of tressette-2p", "train anew")


def test_refuses_damaged_manifests(folder: Path) -> None:
    (folder / "manifest.json").write_text("{")
    refused(folder, "manifest.json cannot be read")


@pytest.mark.parametrize("part", ["weights", "critic"])
def test_refuses_damaged_files(folder: Path, part: str) -> None:
    """The critic's only where it is looked at."""
    worlds = (0, 2) if part == "weights" else (2,)
    path = folder / PARTS[part]
    data = path.read_bytes()
    for wrong, words in (
        (data[:-7], "truncated"),
        (data[:-1] + bytes([data[-1] ^ 1]), "sha256"),
        (b"", "truncated"),
    ):
        path.write_bytes(wrong)
        refused(folder, path.name, words, worlds=worlds)
    replace(folder, part, pickle.dumps({"trunk.0.weight": [1.0]}))
    refused(folder, path.name, "not a safetensors file", worlds=worlds)
    for number in (math.nan, math.inf):
        replace(folder, part, data)
        replace_weights(folder, part, **{"trunk.0.bias": number})
        refused(folder, "'trunk.0.bias'", "not finite", worlds=worlds)
    replace(folder, part, data)
    replace_weights(folder, part, **{"trunk.0.weight": 3e38})
    refused(folder, "overflow", worlds=worlds)
    other = "critic" if part == "weights" else "weights"
    replace(folder, part, (folder / PARTS[other]).read_bytes())
    refused(folder, "do not fit", worlds=worlds)
    path.unlink()
    refused(folder, path.name, "cannot be read", worlds=worlds)
    if part == "critic":
        load("tressette-2p", "hard", worlds=0, folder=folder)


def test_looks_ahead_with_a_critic_of_points_only(folder: Path) -> None:
    for name, value, words in (
        ("reward", "win", "reward='win', not 'points'"),
        ("episode", "match", "episode='match', not 'deal'"),
        ("gamma", 0.5, "gamma=0.5, not 1.0"),
        *(("reward_scale", bad, "expected a number above 0") for bad in (0, -1.0, "0.1", None, True, math.inf, 5e-324)),
    ):
        before = read_manifest(folder)["config"][name]
        edit_config(folder, **{name: value})
        refused(folder, words, worlds=(1, 2))
        load("tressette-2p", "hard", worlds=0, folder=folder)
        edit_config(folder, **{name: before})
    files = read_manifest(folder)["files"]
    del files["critic"]
    edit(folder, files=files)
    refused(folder, "holds no critic", "worlds=0", worlds=(1, 2))
    with pytest.raises(CheckpointError, match="worlds=0"):
        load("tressette-2p", "hard", budget_ms=5, folder=folder)
    load("tressette-2p", "hard", worlds=0, folder=folder)
