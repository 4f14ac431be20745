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
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save
from torch import Tensor

import settebello
from settebello import GAMES, BatchEnv
from settebello.errors import SettebelloError
from settebello.opponents.exported import (
    FORMAT,
    MANIFEST,
    check_fits,
    checkpoint_folder,
    read_manifest,
    read_tensors,
    read_weights,
)
from settebello.opponents.inputs import inputs_of
from settebello_training.config import TrainConfig
from settebello_training.errors import CheckpointError
from settebello_training.network import PolicyValueNetwork, exported_network


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
        return exported_network(self.config.game, self.config.hidden, self.weights)


def save_checkpoint(
    folder: Path,
    config: TrainConfig,
    weights: Mapping[str, Tensor],
    trainer: Mapping[str, Tensor] | None = None,
    progress: Mapping[str, Any] | None = None,
    *,
    critic: Mapping[str, Tensor] | None = None,
) -> None:
    """Write a checkpoint into a folder, over the one that is there.

    Args:
        folder: created if need be.
        config: settings of the run.
        weights: the network's parameters by name.
        trainer: what resuming needs besides, by name.
        progress: plain values for the manifest: counters, evaluations.
        critic: parameters by name of a network that values critics' rows, for opponents that look ahead with it.

    Raises:
        CheckpointError: weights are not finite (the checkpoint that is there stays), or the folder cannot be written.
    """
    for name, tensor in {**(trainer or {}), **(critic or {}), **weights}.items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise CheckpointError(
                f"checkpoint {folder}: weights {name!r} hold values that are not finite numbers; not saved, the last "
                "checkpoint is kept; resume from it with a lower lr"
            )
    game = GAMES[config.game]
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "game": config.game,
        "environment_version": game.version,
        "settebello": settebello.__version__,
        "observation_spec_sha256": inputs_of(game.id).spec_hash(),
        "options": config.training_options,
        "seed": config.seed,
        "config": config.to_dict(),
        "progress": dict(progress or {}),
        "files": {},
    }
    parts: list[tuple[str, Mapping[str, Tensor]]] = [("weights", weights)]
    if critic is not None:
        parts.append(("critic", critic))
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
        written = [f"{part}-*.safetensors" for part in ("weights", "critic", "trainer")]
        for pattern in (*written, ".*.tmp"):  # the last: of a writer that was killed
            for old in folder.glob(pattern):
                if old.name not in kept:
                    old.unlink(missing_ok=True)
    except OSError as error:
        raise CheckpointError(f"checkpoint {folder}: cannot be written ({error}); the one before is kept") from error


def save_progress(folder: Path, values: Mapping[str, Any]) -> None:
    """Put more plain values into the progress of the checkpoint that a folder holds.

    Raises:
        CheckpointError: there is none, or the folder cannot be written.
    """
    manifest = read_manifest(folder)
    manifest["progress"] |= values
    try:
        write_atomically(folder / MANIFEST, json.dumps(manifest, indent=1).encode())
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
    folder = checkpoint_folder(folder)
    manifest = read_manifest(folder)
    try:
        config = TrainConfig.from_dict(manifest["config"])
        BatchEnv(config.game, 1, **config.training_options)  # refuses options that this release does not know
    except SettebelloError as error:
        raise CheckpointError(
            f"checkpoint {folder}: its settings do not fit this release ({error}); made by settebello "
            f"{manifest['settebello']}, this is {settebello.__version__}; install that release, or start a new run"
        ) from error
    check_fits(folder, manifest, game or config.game)
    weights = read_weights(folder, manifest)
    more = read_tensors(folder, manifest, "trainer") if trainer else {}
    return Checkpoint(folder, config, manifest, _to_torch(weights), _to_torch(more))


def _to_torch(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Tensor]:
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


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
