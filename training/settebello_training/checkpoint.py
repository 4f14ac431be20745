"""Checkpoints: weights and trainer state as safetensors beside a JSON manifest. Nothing in them is executable.

A folder holds ``manifest.json`` and the files it names. New files get new names and the manifest is replaced last, in one
step: whenever the process dies, the folder holds one whole checkpoint, the old or the new.
"""

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

import settebello
from settebello import GAMES, BatchEnv
from settebello.errors import SettebelloError
from settebello_training.config import TrainConfig
from settebello_training.errors import CheckpointError
from settebello_training.network import PolicyValueNetwork, spec_bounds

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
COPY_AGAIN: Final = "copy the whole folder again"
START_ANEW: Final = "start a new run, or take another checkpoint"


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that passed every check.

    Attributes:
        folder: where it lies.
        config: settings of the run.
        manifest: the whole manifest.
        weights: the network's parameters by name.
        trainer: optimiser, random generator, games and open decisions by name; empty when only weights were saved or asked for.
    """

    folder: Path
    config: TrainConfig
    manifest: dict[str, Any]
    weights: dict[str, Tensor]
    trainer: dict[str, Tensor]

    def network(self) -> PolicyValueNetwork:
        """A network with these weights."""
        env = BatchEnv(self.config.game, 1, **self.config.training_options)
        network = PolicyValueNetwork(spec_bounds(env.obs_spec()), env.num_actions, self.config.hidden)
        expected = {name: tuple(part.shape) for name, part in network.state_dict().items()}
        found = {name: tuple(part.shape) for name, part in self.weights.items()}
        if expected != found:
            wrong = sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
            raise CheckpointError(
                f"checkpoint {self.folder}: the weights do not fit a network with hidden layers {list(self.config.hidden)} "
                f"({', '.join(wrong)}); {START_ANEW}"
            )
        network.load_state_dict(self.weights)
        return network


def save_checkpoint(
    folder: Path,
    config: TrainConfig,
    weights: Mapping[str, Tensor],
    trainer: Mapping[str, Tensor] | None = None,
    progress: Mapping[str, Any] | None = None,
) -> None:
    """Write a checkpoint into a folder, over the one that is there.

    Args:
        folder: created if need be.
        config: settings of the run.
        weights: the network's parameters by name.
        trainer: what resuming needs besides, by name.
        progress: plain values for the manifest: counters, evaluations.

    Raises:
        CheckpointError: weights are not finite (the checkpoint that is there stays), or the folder cannot be written.
    """
    _check_finite(weights, folder, "not saved, the last checkpoint is kept; resume from it with a lower lr")
    game = GAMES[config.game]
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "game": config.game,
        "environment_version": game.version,
        "settebello": settebello.__version__,
        "observation_spec_sha256": game.spec_hash(),
        "options": config.training_options,
        "seed": config.seed,
        "config": config.to_dict(),
        "progress": dict(progress or {}),
        "files": {},
    }
    parts: list[tuple[str, Mapping[str, Tensor]]] = [("weights", weights)]
    if trainer is not None:
        parts.append(("trainer", trainer))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for part, tensors in parts:
            data = save({name: tensor.detach().contiguous() for name, tensor in tensors.items()})
            digest = hashlib.sha256(data).hexdigest()
            name = f"{part}-{digest[:12]}.safetensors"
            write_atomically(folder / name, data)
            manifest["files"][part] = {"name": name, "bytes": len(data), "sha256": digest}
        write_atomically(folder / MANIFEST, json.dumps(manifest, indent=1).encode())
        kept = {entry["name"] for entry in manifest["files"].values()}
        for pattern in ("weights-*.safetensors", "trainer-*.safetensors", ".*.tmp"):  # the last: of a writer that was killed
            for old in folder.glob(pattern):
                if old.name not in kept:
                    old.unlink(missing_ok=True)
    except OSError as error:
        raise CheckpointError(f"checkpoint {folder}: cannot be written ({error}); the one before is kept") from error


def load_checkpoint(folder: Path, *, game: str | None = None, trainer: bool = False) -> Checkpoint:
    """Read a checkpoint and check all of it.

    Args:
        folder: the folder of a run, or its manifest.
        game: refuse a checkpoint of another game; None: any.
        trainer: also read what resuming needs.

    Raises:
        CheckpointError: missing, truncated, changed, not finite, of another game or another observation spec; the message
            says what to do.
    """
    folder = folder.parent if folder.name == MANIFEST else folder
    manifest = _read_manifest(folder)
    found_game = manifest["game"]
    if game is not None and found_game != game:
        raise CheckpointError(f"checkpoint {folder}: trained for {found_game!r}, not {game!r}; take a checkpoint of {game!r}")
    try:
        config = TrainConfig.from_dict(manifest["config"])
        BatchEnv(config.game, 1, **config.training_options)  # refuses options that this release does not know
    except SettebelloError as error:
        raise CheckpointError(
            f"checkpoint {folder}: its settings do not fit this release ({error}); made by settebello "
            f"{manifest['settebello']}, this is {settebello.__version__}; install that release, or start a new run"
        ) from error
    if config.game != found_game:
        raise CheckpointError(f"checkpoint {folder}: the manifest says both {found_game!r} and {config.game!r}; {START_ANEW}")
    version = GAMES[found_game].version
    if manifest["environment_version"] != version:
        raise CheckpointError(
            f"checkpoint {folder}: trained on {found_game} version {manifest['environment_version']} (settebello "
            f"{manifest['settebello']}), this release plays version {version}; install that release, or train anew"
        )
    if manifest["observation_spec_sha256"] != GAMES[found_game].spec_hash():
        raise CheckpointError(
            f"checkpoint {folder}: trained on other observations of {found_game} (settebello {manifest['settebello']}) than "
            f"this release gives ({settebello.__version__}); install that release, or train anew"
        )
    weights = _read_tensors(folder, manifest, "weights")
    _check_finite(weights, folder, START_ANEW)
    return Checkpoint(folder, config, manifest, weights, _read_tensors(folder, manifest, "trainer") if trainer else {})


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file whole or not at all: beside its place first, then moved there in one step."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        manifest: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise CheckpointError(f"checkpoint {folder}: no {MANIFEST} there; give the folder that a run named") from error
    except (OSError, ValueError) as error:
        raise CheckpointError(f"checkpoint {folder}: {MANIFEST} cannot be read ({error}); {START_ANEW}") from error
    whole = isinstance(manifest, dict) and all(isinstance(manifest.get(name), kind) for name, kind in _MANIFEST_KINDS.items())
    if not whole:
        raise CheckpointError(f"checkpoint {folder}: {MANIFEST} is not of a settebello checkpoint; {START_ANEW}")
    if manifest["format"] != FORMAT:
        raise CheckpointError(
            f"checkpoint {folder}: format {manifest['format']}, this release reads format {FORMAT}; "
            f"install settebello {manifest['settebello']}, or start a new run"
        )
    return dict(manifest)


_MANIFEST_KINDS: Final[Mapping[str, type]] = {
    "format": int,
    "game": str,
    "environment_version": int,
    "settebello": str,
    "observation_spec_sha256": str,
    "config": dict,
    "progress": dict,
    "files": dict,
}


def _read_tensors(folder: Path, manifest: Mapping[str, Any], part: str) -> dict[str, Tensor]:
    entry = manifest["files"].get(part)
    if not isinstance(entry, dict):
        raise CheckpointError(f"checkpoint {folder}: holds no {part}; {START_ANEW}")
    name, size, digest = entry.get("name"), entry.get("bytes"), entry.get("sha256")
    if not isinstance(name, str) or Path(name).name != name:  # a manifest must not reach outside its folder
        raise CheckpointError(f"checkpoint {folder}: {MANIFEST} names no file of the folder for {part}; {START_ANEW}")
    try:
        data = (folder / name).read_bytes()
    except OSError as error:
        raise CheckpointError(f"checkpoint {folder}: {name} cannot be read ({error}); {COPY_AGAIN}") from error
    if len(data) != size:
        raise CheckpointError(f"checkpoint {folder}: {name} is truncated, {len(data)} bytes of {size}; {COPY_AGAIN}")
    if hashlib.sha256(data).hexdigest() != digest:
        raise CheckpointError(f"checkpoint {folder}: {name} was changed, its sha256 is not the manifest's; {COPY_AGAIN}")
    try:
        return load(data)
    except (SafetensorError, ValueError) as error:
        raise CheckpointError(f"checkpoint {folder}: {name} is not a safetensors file ({error}); {START_ANEW}") from error


def _check_finite(weights: Mapping[str, Tensor], folder: Path, remedy: str) -> None:
    for name, tensor in weights.items():
        if not bool(torch.isfinite(tensor).all()):
            raise CheckpointError(f"checkpoint {folder}: weights {name!r} hold values that are not finite numbers; {remedy}")


def optimizer_tensors(optimizer: torch.optim.Optimizer, names: list[str]) -> dict[str, Tensor]:
    """The state of an optimiser as tensors by parameter name, without pickle.

    Args:
        optimizer: with one group; its state per parameter must be tensors, as Adam's is.
        names: names of its parameters, in order.
    """
    state = optimizer.state_dict()["state"]
    return {f"optimizer.{names[index]}.{key}": tensor for index, parts in state.items() for key, tensor in parts.items()}


def load_optimizer(optimizer: torch.optim.Optimizer, names: list[str], tensors: Mapping[str, Tensor]) -> None:
    """Give an optimiser back what ``optimizer_tensors`` took."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        if key.startswith("optimizer."):
            name, _, part = key.removeprefix("optimizer.").rpartition(".")
            state.setdefault(names.index(name), {})[part] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def bytes_tensor(rows: list[bytes]) -> Tensor:
    """Byte strings of one length as a uint8 tensor (rows, length)."""
    return torch.from_numpy(np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1).copy())
