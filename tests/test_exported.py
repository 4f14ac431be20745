"""Opponents from exported networks: as the network itself plays, the same in every way of asking, and what is refused."""

import copy
import hashlib
import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from safetensors.numpy import load as load_tensors  # noqa: E402
from safetensors.numpy import save as save_tensors  # noqa: E402

from settebello import BatchEnv, bazzica_v0  # noqa: E402
from settebello.cards import cards_in  # noqa: E402
from settebello.errors import CheckpointError, OptionError, SettebelloError  # noqa: E402
from settebello.game import get_game  # noqa: E402
from settebello.opponents import Opponent, from_spec, load  # noqa: E402
from settebello.opponents.compiled import CompiledOpponent  # noqa: E402
from settebello.opponents.exported import ExportedOpponent  # noqa: E402
from settebello.opponents.inputs import inputs_of  # noqa: E402
from settebello.tressette.solver import solve  # noqa: E402
from settebello_training import NetworkOpponent, PolicyValueNetwork, TrainConfig, load_checkpoint, save_checkpoint  # noqa: E402

GAMES = ("tressette-2p", "tressette-4p", "bazzica")
IDS = {game: f"settebello/{get_game(game).gym_name}-v0" for game in GAMES}
HIDDEN = (40, 24)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """For each game a network with first weights, its policy made as sharp as a trained one's."""
    found = {}
    for k, game in enumerate(GAMES):
        of = get_game(game)
        generator = torch.Generator().manual_seed(k)
        network = PolicyValueNetwork(inputs_of(of.id).bounds()[1], of.num_actions, HIDDEN, generator)
        with torch.no_grad():
            network.policy.weight.mul_(300)
            network.policy.bias.normal_(generator=generator)
        found[game] = tmp_path_factory.mktemp(game)
        save_checkpoint(found[game], TrainConfig(game=game, hidden=HIDDEN), network.state_dict())
    return found


@pytest.fixture
def folder(folders: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of the bazzica network's, to damage."""
    for file in folders["bazzica"].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


def play_on(batch: BatchEnv, rng: np.random.Generator) -> None:
    batch.step(np.argmax(batch.action_mask * rng.random(batch.action_mask.shape), axis=1))


# --- what it plays ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
def test_plays_as_the_network_does(game: str, folders: dict[str, Path]) -> None:
    network = load_checkpoint(folders[game]).network()
    opponent = ExportedOpponent(game, folders[game])
    policy = NetworkOpponent(game, network, exact_endings=opponent.exact_endings)
    batch, rng = BatchEnv(game, 64, seed=3), np.random.default_rng(3)
    rows, clear, chosen = np.arange(64), 0, set()
    for _ in range(50):
        with torch.inference_mode():
            expected = network(torch.from_numpy(inputs_of(game).of_batch(batch)))[0].numpy()
        logits = opponent.logits(inputs_of(game).of_batch(batch))
        assert logits.dtype == np.float32
        np.testing.assert_allclose(logits, expected, rtol=0, atol=1e-5)
        actions = opponent.act_batch(batch, rows)
        assert actions.dtype == np.int64
        assert batch.action_mask[rows, actions].all()
        best = np.sort(np.where(batch.action_mask != 0, expected, -np.inf), axis=1)
        sure = best[:, -1] - best[:, -2] > 1e-4  # elsewhere the last bits decide
        np.testing.assert_array_equal(actions[sure], policy.act_batch(batch, rows)[sure])
        clear += int(sure.sum())
        chosen |= set(actions.tolist())
        play_on(batch, rng)
    assert clear > 0.98 * 50 * 64
    assert len(chosen) > 20


@pytest.mark.parametrize("game", GAMES)
def test_every_way_of_asking_gives_the_same_answer(game: str, folders: dict[str, Path]) -> None:
    opponent = ExportedOpponent(game, folders[game])
    batch, rng = BatchEnv(game, 12, seed=8), np.random.default_rng(8)
    for _ in range(45):
        rows = rng.permutation(12)[: rng.integers(1, 13)]
        actions = opponent.act_batch(batch, rows.astype(rng.choice(["i8", "u2"])))
        assert actions.tolist() == [opponent.act(batch.information(int(row), int(batch.seat[row]))) for row in rows]
        # To the last bit: near ties are no exception.
        alone = [opponent.logits(inputs_of(game).of_batch(batch, np.array([row]))) for row in rows]
        np.testing.assert_array_equal(opponent.logits(inputs_of(game).of_batch(batch, rows)), np.concatenate(alone))
        play_on(batch, rng)
    assert opponent.act_batch(batch, np.zeros(0, np.int64)).shape == (0,)


def test_endings_that_a_network_never_saw_are_played_exactly(folders: dict[str, Path], tmp_path: Path) -> None:
    """However it is asked, at any temperature; a network that was trained on endings, or on matches, plays them itself."""
    exact = ExportedOpponent("tressette-2p", folders["tressette-2p"])
    assert exact.exact_endings
    assert "exact endings" in repr(exact)
    drawing = ExportedOpponent("tressette-2p", folders["tressette-2p"], 3, temperature=100)
    trained = NetworkOpponent("tressette-2p", load_checkpoint(folders["tressette-2p"]).network(), exact_endings=True)
    others = []
    for number, changes in enumerate(({"exact_endings": False}, {"exact_endings": None}, {"episode": "match"})):
        copied = tmp_path / str(number)
        shutil.copytree(folders["tressette-2p"], copied)
        config = read(copied)["config"] | changes
        edit(copied, config={name: value for name, value in config.items() if value is not None})
        others.append(ExportedOpponent("tressette-2p", copied))
        assert not others[-1].exact_endings
    batch, rng, rows = BatchEnv("tressette-2p", 16, seed=9, napoletana=True), np.random.default_rng(9), np.arange(16)
    checked = apart = 0
    for _ in range(80):
        known = [batch.information(row, int(batch.seat[row])) for row in range(16)]
        actions, drawn = exact.act_batch(batch, rows), drawing.act_batch(batch, rows)
        for row in np.flatnonzero([information.snapshot()["stock"] == 0 for information in known]):
            state = batch._states[row]
            led = int(state["trick"][0]) if state["trick_size"] else None
            hands = [list(cards_in(int(hand))) for hand in state["hand"][:2]]
            best = solve(hands, int(state["leader"]), led_card=led, thirds=state["thirds"][:2].tolist()).best
            assert actions[row] in best
            assert actions[row] == drawn[row] == exact.act(known[row]) == trained.act(known[row])
            checked += 1
        of_network = exact._choose(batch.observation, batch.action_mask)
        for other in others:
            np.testing.assert_array_equal(other.act_batch(batch, rows), of_network)
        apart += int((actions != of_network).sum())
        play_on(batch, rng)
    assert checked > 300
    assert apart > 100


def test_of_equal_logits_the_first_legal_one_is_played(folder: Path) -> None:
    replace_weights(folder, **{"policy.weight": 0.0, "policy.bias": 0.0})
    opponent, batch, rng = ExportedOpponent("bazzica", folder), BatchEnv("bazzica", 6), np.random.default_rng(0)
    for _ in range(20):
        np.testing.assert_array_equal(opponent.act_batch(batch, np.arange(6)), batch.action_mask.argmax(axis=1))
        play_on(batch, rng)


def test_temperature_draws_from_the_softmax(folders: dict[str, Path]) -> None:
    draws = 20_000
    batch = BatchEnv("bazzica", 1, seed=1)
    best = ExportedOpponent("bazzica", folders["bazzica"], 5)
    legal = np.flatnonzero(batch.action_mask[0])
    logits = best.logits(inputs_of(best.game).of_batch(batch))[0, legal].astype(np.float64)
    for temperature in (0.5, 1.0, 4.0):
        opponent = ExportedOpponent("bazzica", folders["bazzica"], 5, temperature=temperature)
        counts = np.bincount(opponent.act_batch(batch, np.zeros(draws, np.int64)), minlength=batch.num_actions)
        assert counts[legal].sum() == draws
        share = np.exp(logits / temperature) / np.exp(logits / temperature).sum()
        assert np.abs(counts[legal] / draws - share).max() < 4.5 * 0.5 / np.sqrt(draws)
    almost = ExportedOpponent("bazzica", folders["bazzica"], 5, temperature=1e-300)
    assert almost.act_batch(batch, np.zeros(9, np.int64)).tolist() == best.act_batch(batch, np.zeros(9, np.int64)).tolist()


def test_draws_follow_from_the_seed(folders: dict[str, Path]) -> None:
    def played(opponent: ExportedOpponent) -> list[int]:
        batch, rng = BatchEnv("tressette-2p", 4, seed=2), np.random.default_rng(2)
        actions = []
        for _ in range(15):
            actions += opponent.act_batch(batch, np.arange(4)).tolist()
            actions.append(opponent.act(batch.information(0, int(batch.seat[0]))))
            play_on(batch, rng)
        return actions

    def make(seed: int | None, temperature: float = 2.0) -> ExportedOpponent:
        return ExportedOpponent("tressette-2p", folders["tressette-2p"], seed, temperature=temperature)

    opponent = make(7)
    assert opponent.seed == 7
    first = played(opponent)
    twin = pickle.loads(pickle.dumps(opponent))
    assert played(twin) == played(copy.deepcopy(opponent)) != first
    opponent.reseed(7)
    assert played(opponent) == first == played(make(7))
    assert played(make(8)) != first
    anew = make(None)
    assert played(anew) == played(make(anew.seed))
    assert played(make(1, 0)) == played(make(2, 0)) != first


def test_says_what_it_is(folders: dict[str, Path]) -> None:
    opponent = ExportedOpponent("bazzica", folders["bazzica"], temperature=0.5)
    assert opponent.game == "bazzica"
    assert isinstance(opponent, Opponent)
    for words in ("bazzica", str(folders["bazzica"]), "[40, 24]", "0.5"):
        assert words in repr(opponent)
    opponent.manifest["config"].clear()
    assert opponent.manifest == json.loads((folders["bazzica"] / "manifest.json").read_text())


# --- where it is named ------------------------------------------------------------------------------------------------------


def test_paths_name_an_opponent(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (str(folder), folder, str(folder / "manifest.json"), str(folder) + "/"):
        opponent: Any = load("bazzica", path, 3, temperature=0.25)
        assert (opponent.temperature, opponent.seed, opponent.folder) == (0.25, 3, folder)
    for text in (str(folder), str(folder / "manifest.json")):
        opponent = from_spec("bazzica", text, 4)
        assert (opponent.temperature, opponent.seed, opponent.folder) == (0, 4, folder)
        assert from_spec("bazzica", f"{text}:temperature=1.5").temperature == 1.5  # type: ignore[attr-defined]
    colon = folder.rename(folder.with_name("net:temperature=1"))
    monkeypatch.chdir(folder.parent)
    opponent = from_spec("bazzica", "net:temperature=1")
    assert (opponent.temperature, opponent.folder) == (0, Path("net:temperature=1"))  # what exists is what is meant
    colon.rename("net")
    assert from_spec("bazzica", "net:temperature=1").temperature == 1  # type: ignore[attr-defined]
    monkeypatch.chdir(folder.parent / "net")
    assert from_spec("bazzica", "manifest.json").folder == Path(".")  # type: ignore[attr-defined]


def test_levels_and_modules_are_not_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("medium", "settebello"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    assert isinstance(load("bazzica", "medium"), CompiledOpponent)
    assert isinstance(from_spec("bazzica", "medium"), CompiledOpponent)
    with pytest.raises(OptionError, match=r"'settebello' has no 'nothing'"):
        from_spec("bazzica", "settebello:nothing")
    with pytest.raises(CheckpointError, match=r"no manifest\.json there"):
        from_spec("bazzica", "settebello")
    with pytest.raises(OptionError, match=r"'randm'.*random, easy"):
        from_spec("bazzica", "randm")
    with pytest.raises(OptionError, match=r"level='randm'"):
        load("bazzica", "randm")


@pytest.mark.parametrize(
    "text", ["runs/none", "none/", "none/manifest.json", "xmanifest.json", "runs/none:temperature=1", "a\0/b"]
)
def test_refuses_paths_where_nothing_is(text: str) -> None:
    with pytest.raises(CheckpointError, match=r"no such file or folder; give the folder|no manifest\.json there"):
        from_spec("bazzica", text)


def test_refuses_a_file_beside_the_manifest(folder: Path) -> None:
    refused(weights_file(folder), "not a folder", "give the folder")


@pytest.mark.parametrize("temperature", [-0.1, 1001, float("nan"), float("inf"), True, "1", None])
def test_refuses_temperatures(folders: dict[str, Path], temperature: Any) -> None:
    with pytest.raises(OptionError, match=r"temperature=.*from 0 to 1000"):
        load("bazzica", folders["bazzica"], temperature=temperature)


def test_refuses_other_arguments(folders: dict[str, Path]) -> None:
    path = str(folders["bazzica"])
    with pytest.raises(OptionError, match=r"'worlds'.*only 'temperature'"):
        from_spec("bazzica", f"{path}:worlds=3")
    with pytest.raises(OptionError, match=r"unknown game 'bazzika'"):
        load("bazzika", path)
    with pytest.raises(OptionError, match=r"seed"):
        load("bazzica", path, -1)
    opponent: Any = load("bazzica", path)
    with pytest.raises(OptionError, match=r"'bazzica' cannot play 'tressette-2p'"):
        opponent.act_batch(BatchEnv("tressette-2p", 1), np.zeros(1, np.int64))
    batch = BatchEnv("bazzica", 2)
    with pytest.raises(OptionError, match=r"'bazzica' cannot play 'tressette-2p'"):
        opponent.act(BatchEnv("tressette-2p", 1).information(0, 0))
    with pytest.raises(OptionError, match=r"seat . is not to move"):
        opponent.act(batch.information(0, 1 - int(batch.seat[0])))
    with pytest.raises(OptionError, match=r"rows="):
        opponent.act_batch(batch, np.array([2]))


# --- where it plays ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
def test_plays_in_gymnasium(game: str, folders: dict[str, Path]) -> None:
    path, envs = str(folders[game]), 3
    single = [gymnasium.make(IDS[game], opponent=opponent) for opponent in (path, load(game, path), "random")]
    rewards: list[list[float]] = [[], [], []]
    for own, env in zip(rewards, single, strict=True):
        _, info = env.reset(seed=5)
        ended = False
        while not ended:
            _, reward, ended, _, info = env.step(int(info["action_mask"].argmax()))
            own.append(float(reward))
    assert rewards[0] == rewards[1]

    vector = gymnasium.make_vec(IDS[game], envs, vectorization_mode="vector_entry_point", opponent=path)
    sync = gymnasium.make_vec(IDS[game], envs, vectorization_mode="sync", opponent=path)
    observations = [env.reset(seed=9)[0] for env in (vector, sync)]
    for _ in range(25):
        for name in ("observation", "action_mask"):
            np.testing.assert_array_equal(observations[0][name], observations[1][name])
        actions = observations[0]["action_mask"].argmax(axis=1)
        observations = [env.step(actions)[0] for env in (vector, sync)]


def test_plays_as_the_partner_alone(folders: dict[str, Path]) -> None:
    path = str(folders["tressette-4p"])
    env = gymnasium.make(IDS["tressette-4p"], opponent="random", partner=path, episode="deal", seat=0)
    _, info = env.reset(seed=1)
    ended = False
    while not ended:
        _, _, ended, _, info = env.step(int(info["action_mask"].argmax()))


def test_plays_in_pettingzoo(folders: dict[str, Path]) -> None:
    opponent = load("bazzica", str(folders["bazzica"]))
    env = bazzica_v0.env(episode="deal", illegal="raise")
    env.reset(seed=4)
    moves = 0
    while not env.terminations[env.agent_selection]:
        env.step(opponent.act(env.information(env.agents.index(env.agent_selection))))
        moves += 1
    assert moves > 30


def test_needs_neither_torch_nor_the_training(folders: dict[str, Path]) -> None:
    code = (
        "import sys, numpy as np\n"
        "from settebello import BatchEnv\n"
        "from settebello.opponents import load\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "assert not loaded & {'torch', 'safetensors', 'settebello_training'}, 'before'\n"
        "batch = BatchEnv('bazzica', 2)\n"
        "print(load('bazzica', sys.argv[1]).act_batch(batch, np.arange(2)).tolist())\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "assert not loaded & {'torch', 'settebello_training'}, 'after'\n"
    )
    path = folders["bazzica"]
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ExportedOpponent("bazzica", path).act_batch(BatchEnv("bazzica", 2), np.arange(2)).tolist()


# --- what is refused --------------------------------------------------------------------------------------------------------


def read(folder: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return manifest


def edit(folder: Path, **changes: Any) -> None:
    (folder / "manifest.json").write_text(json.dumps(read(folder) | changes))


def edit_file(folder: Path, **changes: Any) -> None:
    edit(folder, files={"weights": read(folder)["files"]["weights"] | changes})


def weights_file(folder: Path) -> Path:
    name: str = read(folder)["files"]["weights"]["name"]
    return folder / name


def replace(folder: Path, data: bytes) -> None:
    """Put other bytes into the weights' file, with a manifest that agrees."""
    weights_file(folder).write_bytes(data)
    edit_file(folder, bytes=len(data), sha256=hashlib.sha256(data).hexdigest())


def replace_weights(folder: Path, **changes: Any) -> None:
    """Put other numbers in: an array, a number for all of one, or None to leave one out."""
    weights = load_tensors(weights_file(folder).read_bytes())
    for name, value in changes.items():
        old = weights.pop(name, np.zeros(1, np.float32))
        if value is not None:
            weights[name] = value if isinstance(value, np.ndarray) else np.full_like(old, value)
    replace(folder, save_tensors(weights))


def refused(path: Path, *words: str, game: str = "bazzica") -> None:
    """Opponent and, where it is a bazzica checkpoint at all, the training refuse it, with a message that says where."""
    with pytest.raises(CheckpointError) as caught:
        ExportedOpponent(game, path)
    assert isinstance(caught.value, SettebelloError)
    assert isinstance(caught.value, ValueError)
    for word in (str(path), *words):
        assert word in str(caught.value)
    assert len(str(caught.value)) < 1000
    with pytest.raises(CheckpointError):
        load_checkpoint(path, game=game)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"format": 1}', "\x00", "[" * 100_000, '{"format": ' + "9" * 9999 + "}"]
)
def test_refuses_a_damaged_manifest(folder: Path, text: str) -> None:
    (folder / "manifest.json").write_text(text)
    refused(folder, "manifest.json", "take another checkpoint")


def test_refuses_a_manifest_that_is_no_text(folder: Path) -> None:
    (folder / "manifest.json").write_bytes(b"\xff\xfe\x80")
    refused(folder, "manifest.json cannot be read")
    (folder / "manifest.json").unlink()
    (folder / "manifest.json").symlink_to("/dev/zero")
    refused(folder, "no manifest.json there")


def test_refuses_a_manifest_of_gigabytes(folder: Path) -> None:
    with (folder / "manifest.json").open("r+b") as file:
        file.truncate(2**33)  # sparse
    refused(folder, "8589934592 bytes")


@pytest.mark.parametrize(
    "changes",
    [
        {"game": 3},
        {"game": "b" * 10_000},
        {"game": "bazzica\x1b[2J"},
        {"environment_version": True},
        {"settebello": None},
        {"observation_spec_sha256": []},
        {"config": "all"},
        {"progress": None},
        {"files": [1]},
    ],
)
def test_refuses_a_manifest_of_something_else(folder: Path, changes: dict[str, Any]) -> None:
    edit(folder, **changes)
    refused(folder, "manifest.json is not of a settebello checkpoint")


def test_refuses_another_format(folder: Path) -> None:
    for number in (0, 2, 10**4000):
        edit(folder, format=number)
        refused(folder, "format ", "reads format 1", "install settebello 0.1.0")


def test_refuses_another_game(folders: dict[str, Path], folder: Path) -> None:
    for game in GAMES:
        for other in set(GAMES) - {game}:
            refused(folders[game], f"trained for {game!r}, not {other!r}", f"take a checkpoint of {other!r}", game=other)
    for game in ("poker", "tressette-2p"):
        edit(folder, game=game)
        refused(folder, f"both {game!r} and 'bazzica'")
    edit(folder, config={"game": ["x" * 9999] * 999})
    with pytest.raises(CheckpointError, match="both 'tressette-2p' and"):
        ExportedOpponent("bazzica", folder)


def test_refuses_another_version_or_observation(folder: Path) -> None:
    edit(folder, environment_version=7, settebello="99.0")
    refused(folder, "bazzica version 7 (settebello 99.0)", "plays version 0", "install that release")
    edit(folder, environment_version=0, observation_spec_sha256="0" * 64)
    refused(folder, "other observations of bazzica (settebello 99.0)", "train anew")


@pytest.mark.parametrize("hidden", [None, [], "256", [0], [40.0, 24], [True], [40, -24], [10**30], {"40": 24}, [[40, 24]]])
def test_refuses_absurd_layers(folder: Path, hidden: Any) -> None:
    edit(folder, config=read(folder)["config"] | {"hidden": hidden})
    refused(folder, "hidden")


@pytest.mark.parametrize("hidden", [[40], [40, 25], [24, 40], [40, 24, 24], [8192] * 10_000])
def test_refuses_weights_of_another_shape(folder: Path, hidden: list[int]) -> None:
    edit(folder, config=read(folder)["config"] | {"hidden": hidden})
    refused(folder, "do not fit a float32 network with hidden layers", "trunk." if hidden != [40] else "policy.weight")


def test_refuses_weights_of_other_names_or_types(folder: Path, folders: dict[str, Path]) -> None:
    whole = load_tensors(weights_file(folder).read_bytes())
    for changes, name in (
        ({"policy.bias": None}, "policy.bias"),
        ({"policy.more": 1.0}, "policy.more"),
        ({"policy.bias": whole["policy.bias"][:-1]}, "policy.bias"),
        ({"policy.bias": whole["policy.bias"][None]}, "policy.bias"),
        ({"trunk.1.weight": whole["trunk.1.weight"].T.copy()}, "trunk.1.weight"),
        ({"trunk.1.weight": whole["trunk.1.weight"].astype(np.float64)}, "trunk.1.weight"),
        ({"value.weight": whole["value.weight"].view(np.int32)}, "value.weight"),
        ({"more": np.zeros(1, np.int8)}, "more"),
    ):
        replace(folder, weights_file(folders["bazzica"]).read_bytes())
        replace_weights(folder, **changes)
        refused(folder, "do not fit", f"'{name}'")
    replace(folder, torch_bytes({name: torch.from_numpy(array).bfloat16() for name, array in whole.items()}))
    refused(folder, "not a safetensors file", "BF16")


def torch_bytes(tensors: dict[str, Any]) -> bytes:
    from safetensors.torch import save

    return save(tensors)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_refuses_weights_that_are_not_finite(folder: Path, number: float) -> None:
    replace_weights(folder, **{"trunk.1.bias": number})
    refused(folder, "'trunk.1.bias'", "not finite", "take another checkpoint")


def test_refuses_weights_that_overflow(folder: Path) -> None:
    replace_weights(folder, **{"trunk.0.weight": 3e38, "policy.weight": 0.0})
    with pytest.raises(CheckpointError, match=r"so large that outputs overflow"):
        ExportedOpponent("bazzica", folder)
    replace_weights(folder, **{"trunk.0.weight": 1e3})
    ExportedOpponent("bazzica", folder)


def test_refuses_truncated_changed_and_missing_files(folder: Path) -> None:
    path = weights_file(folder)
    data = path.read_bytes()
    path.write_bytes(data[:-7])
    refused(folder, path.name, f"truncated, {len(data) - 7} bytes of {len(data)}", "copy the whole folder again")
    path.write_bytes(data + b"\0")
    refused(folder, path.name, f"{len(data) + 1} bytes of {len(data)}")
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    refused(folder, path.name, "sha256", "copy the whole folder again")
    path.unlink()
    refused(folder, path.name, "cannot be read", "copy the whole folder again")
    path.mkdir()
    refused(folder, path.name, "cannot be read")
    path.rmdir()
    path.symlink_to("/dev/zero")
    refused(folder, path.name, "not a regular file")


@pytest.mark.parametrize("size", [10**18, 10**4000, -1, "9" * 9999, None])
def test_refuses_absurd_sizes(folder: Path, size: Any) -> None:
    edit_file(folder, bytes=size)
    refused(folder, weights_file(folder).name, "copy the whole folder again")


@pytest.mark.parametrize("digest", [3, None, "", "0" * 10**5])
def test_refuses_absurd_digests(folder: Path, digest: Any) -> None:
    edit_file(folder, sha256=digest)
    refused(folder, weights_file(folder).name, "sha256 is not the manifest's")


@pytest.mark.parametrize("name", ["../weights", "/etc/passwd", "..", ".", "", "a/b", "a\nb", "a\0b", "x" * 256, 3, None, ["x"]])
def test_refuses_a_manifest_that_points_elsewhere(folder: Path, name: Any) -> None:
    (folder.parent / "weights").write_bytes(weights_file(folder).read_bytes())
    edit_file(folder, name=name)
    refused(folder, "names no file of the folder")


@pytest.mark.parametrize("files", [{}, {"weights": "weights.safetensors"}, {"weights": None}])
def test_refuses_a_manifest_without_weights(folder: Path, files: dict[str, Any]) -> None:
    edit(folder, files=files)
    refused(folder, "holds no weights")


@pytest.mark.parametrize(
    "data", [b"", b"\x80\x04pickle?", b"\xff" * 64, b"\x02" + b"\0" * 7 + b"{}x", b"\x08" + b"\0" * 7 + b'{"a": 1}']
)
def test_refuses_what_is_not_safetensors(folder: Path, data: bytes) -> None:
    replace(folder, data)
    refused(folder, weights_file(folder).name, "not a safetensors file")
