"""Export: what a run ships: policy and critic, the policy as an ONNX graph, and a manifest that says where they come from.

The folder is a checkpoint without what resuming needs: ``settebello.opponents`` plays it, without torch.
"""

import hashlib
import json
import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

import settebello
from settebello import GAMES
from settebello.arena import DuelResult
from settebello.errors import CheckpointError, OptionError
from settebello.opponents.exported import MANIFEST, read_manifest, read_weights
from settebello.opponents.inputs import inputs_of
from settebello.opponents.network import input_scale, layers_to
from settebello_training.checkpoint import load_checkpoint, write_atomically
from settebello_training.network import ILLEGAL_LOGIT
from settebello_training.progress import source_commit

OPSET: Final = 17
IR_VERSION: Final = 8  # what came with that opset: older runtimes read it too
NAMES: Final = {"weights": "weights.safetensors", "critic": "critic.safetensors", "onnx": "policy.onnx"}
COUNTERS: Final = ("updates", "decisions", "episodes", "seconds")


def export_run(
    run: Path,
    out: Path,
    command: str,
    *,
    onnx: bool = True,
    critic: bool = True,
    force: bool = False,
    evaluations: Sequence[Path] = (),
) -> dict[str, Any]:
    """Write what a run ships into a folder.

    An export of the same game that is there is replaced: whoever reads meanwhile finds the old one or the new one whole (or,
    for a moment, none).

    Args:
        run: folder of a run, or its manifest.
        out: folder to write; nothing but an export may be in it.
        command: what is run, for the manifest.
        onnx: also write the policy as an ONNX graph; needs the package onnx.
        critic: also write the critic, with which the level "hard" looks ahead.
        force: also replace an export of another game, or a damaged one.
        evaluations: files that ``settebello evaluate --json`` wrote, to go into the manifest after the run's own results.

    Returns:
        The manifest.

    Raises:
        CheckpointError: the run is missing, damaged or without a critic, or the folder cannot be written or holds something
            else.
        OptionError: an evaluation cannot be read or is of another game, or onnx is not installed.
    """
    checkpoint = load_checkpoint(run)
    folder, config, source = checkpoint.folder, checkpoint.config, checkpoint.manifest
    if "export" in source:
        raise CheckpointError(f"checkpoint {folder}: is an export itself; export the run that it came from, or copy it")
    if critic and "critic" not in source["files"]:
        raise CheckpointError(
            f"checkpoint {folder}: holds no critic (critic={config.critic!r}), with which level 'hard' looks ahead; "
            "give --no-critic to export its policy alone"
        )
    place = out.resolve()
    _check_place(out, place, config.game, force)
    files = {part: _read(folder, source, part) for part in ("weights", *(["critic"] if critic else []))}
    if onnx:
        files["onnx"] = onnx_policy(read_weights(folder, source), config.game)
    manifest = {name: value for name, value in source.items() if name not in ("progress", "files")}
    manifest["progress"] = {name: source["progress"].get(name) for name in COUNTERS}
    manifest["run"] = source["progress"].get("origin")
    manifest["export"] = {"command": command, "settebello": settebello.__version__, "commit": source_commit()}
    manifest["evaluations"] = [
        *(_evaluation(values, str(out), config.greedy) for values in source["progress"].get("evaluations", {}).values()),
        *(_evaluation(_read_evaluation(path, config.game)) for path in evaluations),
    ]
    manifest["files"] = {
        part: {"name": NAMES[part], "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for part, data in files.items()
    }
    new = place.with_name(f".{place.name}.{os.getpid()}.new")
    try:
        try:
            new.mkdir(parents=True)
            for part, data in files.items():
                write_atomically(new / NAMES[part], data)
            write_atomically(new / MANIFEST, (json.dumps(manifest, indent=1) + "\n").encode())
            _move(new, place)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    except OSError as error:
        raise CheckpointError(f"folder {out}: cannot be written ({error}); what was there is kept") from error
    return manifest


def _check_place(out: Path, place: Path, game: str, force: bool) -> None:
    """Refuse a place that holds anything but an export."""
    if not place.exists():
        return
    if not place.is_dir():
        raise CheckpointError(f"folder {out}: is a file; choose another place")
    names = {path.name for path in place.iterdir()}
    other = sorted(names - {MANIFEST, *NAMES.values()})
    if other:
        raise CheckpointError(f"folder {out}: holds {other[0]!r}, which no export wrote; choose another folder")
    if not names or force:
        return
    try:
        found = read_manifest(place)["game"]
    except CheckpointError as error:
        raise CheckpointError(f"folder {out}: holds a damaged export ({error}); replace it with --force") from error
    if found != game:
        raise CheckpointError(
            f"folder {out}: holds an export of {found!r}, the run is of {game!r}; choose another, or replace it with --force"
        )


def _move(new: Path, place: Path) -> None:
    """Put a folder into a place, and what was there away."""
    if not place.exists():
        new.rename(place)
        return
    old = place.with_name(f".{place.name}.{os.getpid()}.old")
    place.rename(old)
    try:
        new.rename(place)
    except OSError:
        old.rename(place)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _read(folder: Path, manifest: Mapping[str, Any], part: str) -> bytes:
    """The bytes of a file of weights, checked."""
    read_weights(folder, manifest, part)
    entry = manifest["files"][part]
    data: bytes = (folder / entry["name"]).read_bytes()
    if hashlib.sha256(data).hexdigest() != entry["sha256"]:
        raise CheckpointError(f"checkpoint {folder}: {entry['name']} was changed meanwhile; export again")
    return data


def _read_evaluation(path: Path, game: str) -> dict[str, Any]:
    try:
        result = DuelResult.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OptionError(f"evaluation {path}: not what settebello evaluate --json writes ({error!r})") from error
    if result.game != game:
        raise OptionError(f"evaluation {path}: of {result.game!r}, the run is of {game!r}")
    return result.to_dict()


def _evaluation(values: Mapping[str, Any], network: str = "", greedy: bool = True) -> dict[str, Any]:
    """A result with the command that gives it again; the run's own are of the network that is exported to a folder."""
    a = values["a"]
    if network:
        a = network if greedy else f"{network}:temperature=1"
    parts = ["settebello", "evaluate", values["game"], a, values["b"], "--deals", str(values["deals"])]
    parts += ["--seed", str(values["seed"]), *([] if values["episode"] == "deal" else ["--episode", values["episode"]])]
    for name, value in values["options"].items():
        parts += ["--option", f"{name}={json.dumps(value)}"]
    return {"command": shlex.join(parts), **values}


def onnx_policy(weights: Mapping[str, np.ndarray[Any, Any]], game: str) -> bytes:
    """The policy as an ONNX model.

    Inputs are ``observation``, int8 ``(batch, n)``, and ``action_mask``, int8 ``(batch, actions)``, as the environments give
    them, and in bazzica ``hints``, int8 ``(batch, m)``, which ``settebello.opponents.inputs`` puts behind the observation. The
    output is ``logits``, float32 ``(batch, actions)``, -1e9 where illegal. What the input is divided by is in the graph; exact
    endings are not.

    Args:
        weights: as ``read_weights`` gives them.
        game: id of the game.

    Raises:
        OptionError: the package onnx is not installed.
    """
    try:
        import onnx
        from onnx import TensorProto, helper, numpy_helper
    except ImportError as error:
        raise OptionError(
            f"--onnx needs the package onnx ({error}); pip install settebello[onnx], or give --no-onnx"
        ) from error
    of, inputs = GAMES[game], inputs_of(game)
    constants = {"scale": input_scale(inputs.bounds()[1]), "illegal": np.array(ILLEGAL_LOGIT, np.float32)}
    parts = {"observation": of.obs_size}
    if inputs.hints:
        parts["hints"] = inputs.size() - of.obs_size
    nodes = [
        helper.make_node("Concat", [*parts], ["shown"], axis=1),
        helper.make_node("Cast", ["shown"], ["numbers"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["numbers", "scale"], ["hidden_0"]),
    ]
    layers = layers_to(weights, "policy")
    for k, (weight, bias) in enumerate(layers):
        constants |= {f"weight_{k}": weight, f"bias_{k}": bias}
        last = k == len(layers) - 1
        output = "all_logits" if last else f"sum_{k}"
        nodes.append(helper.make_node("Gemm", [f"hidden_{k}", f"weight_{k}", f"bias_{k}"], [output], transB=1))
        if not last:
            nodes.append(helper.make_node("Relu", [output], [f"hidden_{k + 1}"]))
    nodes += [
        helper.make_node("Cast", ["action_mask"], ["legal"], to=TensorProto.BOOL),
        helper.make_node("Where", ["legal", "all_logits", "illegal"], ["logits"]),
    ]
    graph = helper.make_graph(
        nodes,
        game,
        [
            *(helper.make_tensor_value_info(name, TensorProto.INT8, ["batch", size]) for name, size in parts.items()),
            helper.make_tensor_value_info("action_mask", TensorProto.INT8, ["batch", of.num_actions]),
        ],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", of.num_actions])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(
        graph,
        producer_name="settebello",
        producer_version=settebello.__version__,
        ir_version=IR_VERSION,
        opset_imports=[helper.make_opsetid("", OPSET)],
    )
    helper.set_model_props(
        model, {"game": game, "environment_version": str(of.version), "observation_spec_sha256": inputs.spec_hash()}
    )
    onnx.checker.check_model(model, full_check=True)
    data: bytes = model.SerializeToString(deterministic=True)
    return data
