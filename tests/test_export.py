"""Export: what is written, that all forms of a network agree, and what is refused."""

import hashlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
onnxruntime = pytest.importorskip("onnxruntime")

import onnx  # noqa: E402
from safetensors.torch import load as load_tensors  # noqa: E402
from safetensors.torch import save as save_tensors  # noqa: E402

import settebello_training.export as export_module  # noqa: E402
from settebello import BatchEnv  # noqa: E402
from settebello.arena import duel  # noqa: E402
from settebello.game import get_game  # noqa: E402
from settebello.opponents import load  # noqa: E402
from settebello.opponents.exported import ExportedOpponent, read_manifest, read_weights  # noqa: E402
from settebello.opponents.inputs import inputs_of  # noqa: E402
from settebello.opponents.network import Network  # noqa: E402
from settebello.opponents.shipped import shipped_folder  # noqa: E402
from settebello_training import CheckpointError, TrainConfig, export_run, load_checkpoint, save_checkpoint  # noqa: E402
from settebello_training.cli import main  # noqa: E402
from settebello_training.network import SuitNetwork  # noqa: E402
from tests.info_tools import GAME_IDS as GAMES  # noqa: E402

FILES = {"manifest.json", "weights.safetensors", "critic.safetensors", "policy.onnx"}
COMMAND = "settebello-train export a b"


def make_run(folder: Path, game: str = "bazzica", critic: bool = True, **settings: Any) -> Path:
    """What a run leaves, hardly trained."""
    config = TrainConfig(game=game, hidden=(20, 10), critic="all" if critic else "own", **settings)
    generator = torch.Generator().manual_seed(3)
    policy = SuitNetwork(game, config.hidden, generator, ignored=config.ignored)
    valuer = SuitNetwork(game, config.hidden, generator, ignored=config.ignored, critic=True)
    result = duel(game, "easy", "random", 4, 1, **config.options)
    evaluations = {"random": result.to_dict() | {"a": "network"}}
    progress = {"updates": 7, "decisions": 99, "episodes": 5, "seconds": 1.5, "curve": [1, 2], "evaluations": evaluations}
    progress["origin"] = {"command": "settebello-train run --seed 0", "commit": "abc"}
    dense = valuer.dense() if critic else None
    weights = policy.dense()
    weights["policy.weight"] *= 300  # as sharp as a trained one's
    save_checkpoint(folder, config, weights, {"clock": torch.zeros(3)}, progress, critic=dense)
    (folder / "tensorboard").mkdir()
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path / "run")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "shipped" / "net"


def session(model: Path | bytes) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    source = model if isinstance(model, bytes) else str(model)
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def graph_inputs(batch: BatchEnv) -> dict[str, np.ndarray]:
    """What the ONNX model is given for each row."""
    given = {"observation": batch.observation, "action_mask": batch.action_mask}
    hints = inputs_of(batch.game).of_batch(batch)[:, batch.obs_size :]
    return given | ({"hints": hints} if hints.shape[1] else {})


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# --- all forms agree ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
def test_numpy_torch_and_onnx_agree(game: str) -> None:
    """On positions of random play and of the network's own: to 1e-5 of the largest logit (value) there, and in the choices."""
    folder = shipped_folder(game)
    inputs = inputs_of(game)
    own, network, graph = ExportedOpponent(game, folder), load_checkpoint(folder).network(), session(folder / "policy.onnx")
    batch, rng, rows = BatchEnv(game, 128, seed=6), np.random.default_rng(6), np.arange(128)
    near = positions = 0
    for _ in range(45):
        shown, mask = inputs.of_batch(batch), batch.action_mask
        with torch.inference_mode():
            by_torch = network(torch.from_numpy(shown))[0].numpy()
        (by_onnx,) = graph.run(["logits"], graph_inputs(batch))
        assert by_onnx.dtype == np.float32
        assert (by_onnx[mask == 0] == -1e9).all()
        close = 1e-5 * max(1.0, float(np.abs(by_torch).max()))
        np.testing.assert_allclose(own.logits(shown), by_torch, rtol=0, atol=close)
        np.testing.assert_allclose(by_onnx[mask != 0], by_torch[mask != 0], rtol=0, atol=close)
        legal = np.where(mask != 0, by_torch, -np.inf)
        two = np.sort(legal, axis=1)[:, -2:]
        clear = two[:, 1] - two[:, 0] > 2 * close  # elsewhere the last bits may decide
        for answers in (own.logits(shown), by_onnx):
            choice = np.where(mask != 0, answers, -np.inf).argmax(axis=1)
            np.testing.assert_array_equal(choice[clear], legal.argmax(axis=1)[clear])
        near += int((~clear).sum())
        positions += len(mask)
        actions = np.argmax(mask * rng.random(mask.shape), axis=1)
        batch.step(np.where(rows % 2, legal.argmax(axis=1), actions))
    assert positions > 5000
    assert near < 0.002 * positions


@pytest.mark.parametrize("game", GAMES)
def test_the_critic_is_the_same_in_numpy(game: str) -> None:
    folder = shipped_folder(game)
    weights = read_weights(folder, read_manifest(folder), "critic")
    high = inputs_of(game).bounds(critic=True)[1].astype(np.float64)
    critic = Network(weights, "value", high, alike=True)
    batch, rng = BatchEnv(game, 64, seed=2), np.random.default_rng(2)
    for _ in range(30):
        rows = inputs_of(game).of_batch(batch, critic=True)
        hidden = torch.from_numpy(rows / np.where(high > 0, high, 1) * (high > 0))
        for k in range(len(weights) // 2 - 1):
            hidden = torch.relu(linear(hidden, weights, f"trunk.{k}"))
        expected = linear(hidden, weights, "value")[:, 0].numpy()
        np.testing.assert_allclose(critic(rows)[:, 0], expected, rtol=0, atol=1e-5 * max(1.0, float(np.abs(expected).max())))
        batch.step(np.argmax(batch.action_mask * rng.random(batch.action_mask.shape), axis=1))


def linear(rows: Any, weights: Any, name: str) -> Any:
    weight, bias = (torch.from_numpy(weights[f"{name}.{kind}"]).double() for kind in ("weight", "bias"))
    return torch.nn.functional.linear(rows, weight, bias)


# --- what is written ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
def test_an_export_is_whole_and_plays(game: str, tmp_path: Path, out: Path) -> None:
    options = {"low_sum_max": 9} if game == "bazzica" else {"napoletana": True}
    run = make_run(tmp_path / "run", game, options=options, seed=5)
    evaluation = tmp_path / "evaluation.json"
    evaluation.write_text(json.dumps(duel(game, "hard:worlds=0", "medium", 2, 3, target=2, episode="match").to_dict()))
    manifest = export_run(run, out, COMMAND, evaluations=[evaluation])
    assert {path.name for path in out.iterdir()} == FILES
    assert list(out.parent.iterdir()) == [out]
    assert manifest == read_manifest(out)
    source, of = read_manifest(run), get_game(game)
    for name in ("format", "game", "environment_version", "settebello", "observation_spec_sha256", "options", "seed", "config"):
        assert manifest[name] == source[name]
    assert manifest["options"] == {"episode": "deal", "reward": "points", **options}
    assert manifest["progress"] == {"updates": 7, "decisions": 99, "episodes": 5, "seconds": 1.5}
    assert manifest["run"] == {"command": "settebello-train run --seed 0", "commit": "abc"}
    assert manifest["export"]["command"] == COMMAND
    assert set(manifest["files"]) == {"weights", "critic", "onnx"}
    for entry in manifest["files"].values():
        data = (out / entry["name"]).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (entry["bytes"], entry["sha256"])
    for part in ("weights", "critic"):
        assert manifest["files"][part]["sha256"] == source["files"][part]["sha256"]
    first, second = manifest["evaluations"]
    name, text = ("low_sum_max", "9") if game == "bazzica" else ("napoletana", "true")
    assert first["command"] == f"settebello evaluate {game} {out} random --deals 4 --seed 1 --option {name}={text}"
    assert {**source["progress"]["evaluations"]["random"], "command": first["command"]} == first
    assert second["command"] == (
        f"settebello evaluate {game} hard:worlds=0 medium --deals 2 --seed 3 --episode match --option target=2"
    )
    batch = BatchEnv(game, 3, seed=1)
    assert load_checkpoint(out).config == load_checkpoint(run).config
    for opponent in (load(game, out), load(game, "hard", 1, worlds=2, folder=out)):
        actions = opponent.act_batch(batch, np.arange(3))  # type: ignore[attr-defined]
        assert batch.action_mask[np.arange(3), actions].all()
    (logits,) = session(out / "policy.onnx").run(["logits"], graph_inputs(batch))
    expected = np.where(
        batch.action_mask != 0, ExportedOpponent(game, out).logits(inputs_of(game).of_batch(batch)), np.float32(-1e9)
    )
    largest = float(np.abs(expected[batch.action_mask != 0]).max())
    assert largest > 0.1
    np.testing.assert_allclose(logits, expected, rtol=0, atol=1e-5 * largest)
    with pytest.raises(CheckpointError, match="holds no trainer"):
        load_checkpoint(out, trainer=True)
    model = onnx.load(out / "policy.onnx")
    assert {prop.key: prop.value for prop in model.metadata_props} == {
        "game": game,
        "environment_version": str(of.version),
        "observation_spec_sha256": inputs_of(game).spec_hash(),
    }
    assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", 17)]
    inputs = {entry.name: (entry.type, entry.shape) for entry in session(out / "policy.onnx").get_inputs()}
    assert inputs == {
        "observation": ("tensor(int8)", ["batch", of.obs_size]),
        **({"hints": ("tensor(int8)", ["batch", inputs_of(game).size() - of.obs_size])} if game == "bazzica" else {}),
        "action_mask": ("tensor(int8)", ["batch", of.num_actions]),
    }


def test_the_same_run_gives_the_same_files(run: Path, out: Path) -> None:
    export_run(run, out, COMMAND)
    before = contents(out)
    export_run(run, out, COMMAND)
    assert contents(out) == before


def test_a_run_that_drew_is_evaluated_drawing(tmp_path: Path, out: Path) -> None:
    manifest = export_run(make_run(tmp_path / "run", greedy=False), out, COMMAND)
    assert f"{out}:temperature=1 random" in manifest["evaluations"][0]["command"]


def test_an_interrupted_run_has_no_results(run: Path, out: Path) -> None:
    values = json.loads((run / "manifest.json").read_text())
    values["progress"]["evaluations"] = {}
    (run / "manifest.json").write_text(json.dumps(values))
    manifest = export_run(run, out, COMMAND)
    assert manifest["evaluations"] == []


# --- the command -------------------------------------------------------------------------------------------------------------


def command(*arguments: object) -> int:
    """Exit status of ``settebello-train export`` with these arguments."""
    with pytest.raises(SystemExit) as caught:
        main(["export", *(str(argument) for argument in arguments)])
    code = caught.value.code
    return code if isinstance(code, int) else 0 if code is None else 1


def refused(capsys: pytest.CaptureFixture[str], *arguments: object, words: tuple[str, ...]) -> None:
    """The command says so in one line, and leaves everything as it was."""
    assert command(*arguments) == 1
    error = capsys.readouterr().err
    assert "Traceback" not in error
    assert len(error.splitlines()) == 1
    for word in words:
        assert word in error


def test_export_and_replace(run: Path, out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out.mkdir(parents=True)  # an empty folder is no hindrance
    assert command(run, out) == 0
    shown = capsys.readouterr().out
    assert all(str(out / name) in shown for name in FILES)
    assert read_manifest(out)["export"]["command"] == f"settebello-train export {run} {out}"
    before = contents(out)
    assert command(run / "manifest.json", out, "--no-onnx", "--no-critic") == 0
    assert set(contents(out)) == {"manifest.json", "weights.safetensors"}
    assert set(read_manifest(out)["files"]) == {"weights"}
    assert command(run, out) == 0
    assert contents(out).keys() == before.keys()
    # Another game's is replaced when that is asked for.
    other = make_run(tmp_path / "other", "tressette-4p")
    before = contents(out)
    refused(capsys, other, out, words=(str(out), "export of 'bazzica'", "of 'tressette-4p'", "--force"))
    assert contents(out) == before
    assert command(other, out, "--force") == 0
    assert read_manifest(out)["game"] == "tressette-4p"
    (out / "manifest.json").write_text("{")
    refused(capsys, other, out, words=("damaged export", "--force"))
    assert command(other, out, "--force") == 0
    link = tmp_path / "link"
    link.symlink_to(out)
    assert command(other, link) == 0
    assert link.is_symlink()


def test_refuses_places_that_hold_something_else(run: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out.mkdir(parents=True)
    (out / "thesis.tex").write_text("years of work")
    for force in ((), ("--force",)):
        refused(capsys, run, out, *force, words=(str(out), "'thesis.tex'", "choose another folder"))
        refused(capsys, run, out / "thesis.tex", *force, words=("is a file",))
        refused(capsys, run, out / "thesis.tex" / "net", *force, words=("cannot be written",))
        refused(capsys, run, run, *force, words=(str(run), "which no export wrote"))
    assert [path.name for path in out.iterdir()] == ["thesis.tex"]
    assert load_checkpoint(run, trainer=True).trainer


def test_refuses_runs_that_cannot_be_shipped(run: Path, out: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    refused(capsys, tmp_path / "none", out, words=("none", "no such file or folder"))
    refused(capsys, tmp_path, out, words=("no manifest.json",))
    own = make_run(tmp_path / "own", critic=False)
    refused(capsys, own, out, words=("holds no critic", "critic='own'", "--no-critic"))
    assert command(own, out, "--no-critic") == 0
    refused(capsys, out, tmp_path / "copy", words=("is an export itself",))
    shutil.rmtree(out.parent)
    for part in ("weights", "critic"):
        damaged = shutil.copytree(run, tmp_path / part)
        manifest = read_manifest(damaged)
        path = damaged / manifest["files"][part]["name"]
        path.write_bytes(path.read_bytes()[:-1])
        refused(capsys, damaged, out, words=(path.name, "truncated"))
        tensors = load_tensors((run / path.name).read_bytes())
        tensors["value.bias"][:] = torch.nan
        data = save_tensors(tensors)
        path.write_bytes(data)
        manifest["files"][part] |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        (damaged / "manifest.json").write_text(json.dumps(manifest))
        refused(capsys, damaged, out, words=("'value.bias'", "not finite"))
    assert not out.parent.exists()


def test_refuses_evaluations_of_something_else(
    run: Path, out: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "evaluation.json"
    refused(capsys, run, out, "--evaluation", file, words=(str(file), "settebello evaluate --json"))
    for text in ("{", "[]", "{}", '{"game": "bazzica"}'):
        file.write_text(text)
        refused(capsys, run, out, "--evaluation", file, words=(str(file), "settebello evaluate --json"))
    file.write_text(json.dumps(duel("tressette-2p", "easy", "random", 2, 3).to_dict()))
    refused(capsys, run, out, "--evaluation", file, words=("of 'tressette-2p', the run is of 'bazzica'",))
    assert not out.parent.exists()


def test_without_onnx(run: Path, out: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    refused(capsys, run, out, words=("needs the package onnx", "settebello[onnx]", "--no-onnx"))
    assert command(run, out, "--no-onnx") == 0


@pytest.mark.parametrize("moment", ["write", "move"])
def test_what_dies_halfway_leaves_the_last_export_whole(
    run: Path, out: Path, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_run(run, out, COMMAND)
    before = contents(out)
    done = 0

    def fail(*arguments: Any) -> Any:
        nonlocal done
        done += 1
        if done == 2:
            raise OSError("disk full")
        return kept(*arguments)

    kept: Any
    if moment == "write":
        kept = export_module.write_atomically
        monkeypatch.setattr(export_module, "write_atomically", fail)
    else:
        kept = Path.rename
        monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(CheckpointError, match=r"cannot be written \(disk full\); what was there is kept"):
        export_run(run, out, "another", onnx=False)
    assert contents(out) == before
    assert list(out.parent.iterdir()) == [out]
