"""Opponents from exported networks: the checkpoint folder that a training run leaves, checked, and played without torch.

A folder holds ``manifest.json`` and the safetensors files it names; nothing in them is executable. What is read here is also
what the training resumes from.
"""

import copy
import hashlib
import itertools
import json
import os
import reprlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from settebello.batch import BatchEnv
from settebello.errors import CheckpointError
from settebello.game import GAMES, get_game
from settebello.information import Information
from settebello.opponents.compiled import check_game, check_rows, check_turn, seed_or_entropy
from settebello.opponents.inputs import inputs_of
from settebello.opponents.network import Network, input_scale, layers_to
from settebello.options import check_real

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
START_ANEW: Final = "start a new run, or take another checkpoint"
COPY_AGAIN: Final = "copy the whole folder again"

MAX_MANIFEST: Final = 2**26  # bytes; a learning curve of 100,000 points fits
MAX_WIDTH: Final = 8192  # of a hidden layer
MAX_TEMPERATURE: Final = 1000.0

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


def checkpoint_folder(path: str | os.PathLike[str]) -> Path:
    """The folder of a checkpoint, from that or from the path of its manifest."""
    folder = Path(path)
    return folder.parent if folder.name == MANIFEST else folder


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a checkpoint folder, its outline checked.

    Raises:
        CheckpointError: there is none, or it is damaged, not settebello's or of another format.
    """
    path = folder / MANIFEST
    if not os.path.isdir(folder):
        wrong = "not a folder" if os.path.exists(folder) else "no such file or folder"
        raise CheckpointError(f"checkpoint {folder}: {wrong}; give the folder that a run named, with {MANIFEST} in it")
    if not os.path.isfile(path):
        raise CheckpointError(f"checkpoint {folder}: no {MANIFEST} there; give the folder that a run named")
    try:
        size = path.stat().st_size
        if size > MAX_MANIFEST:
            raise ValueError(f"{size} bytes, more than the {MAX_MANIFEST} of any")
        manifest: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"checkpoint {folder}: {MANIFEST} cannot be read ({error}); {START_ANEW}") from error
    whole = isinstance(manifest, dict) and all(_is_a(manifest.get(name), kind) for name, kind in _MANIFEST_KINDS.items())
    if not whole:
        raise CheckpointError(f"checkpoint {folder}: {MANIFEST} is not of a settebello checkpoint; {START_ANEW}")
    if manifest["format"] != FORMAT:
        raise CheckpointError(
            f"checkpoint {folder}: format {reprlib.repr(manifest['format'])}, this release reads format {FORMAT}; "
            f"install settebello {manifest['settebello']}, or start a new run"
        )
    return dict(manifest)


def _is_a(value: object, kind: type) -> bool:
    """Whether a value read from JSON is of a type; text must also fit into a message."""
    return type(value) is kind and (not isinstance(value, str) or (len(value) <= 255 and value.isprintable()))


def check_fits(folder: Path, manifest: Mapping[str, Any], game: str) -> None:
    """Refuse a checkpoint of another game, or of another version or observation of it.

    Args:
        folder: for the message.
        manifest: as ``read_manifest`` returns it.
        game: id of the game it must be for.

    Raises:
        CheckpointError: it is not; the message says what to do.
    """
    found, trained = manifest["game"], manifest["config"].get("game")
    if trained != found:
        raise CheckpointError(
            f"checkpoint {folder}: the manifest says both {found!r} and {reprlib.repr(trained)}; {START_ANEW}"
        )
    if found != game:
        raise CheckpointError(f"checkpoint {folder}: trained for {found!r}, not {game!r}; take a checkpoint of {game!r}")
    here = GAMES[game]
    if manifest["environment_version"] != here.version:
        raise CheckpointError(
            f"checkpoint {folder}: trained on {game} version {reprlib.repr(manifest['environment_version'])} (settebello "
            f"{manifest['settebello']}), this release plays version {here.version}; install that release, or train anew"
        )
    if manifest["observation_spec_sha256"] != inputs_of(found).spec_hash():
        raise CheckpointError(
            f"checkpoint {folder}: trained on other observations of {game} (settebello {manifest['settebello']}) than "
            "this release gives; install that release, or train anew"
        )


def read_tensors(folder: Path, manifest: Mapping[str, Any], part: str) -> dict[str, npt.NDArray[Any]]:
    """The arrays by name of one of a checkpoint's files.

    Args:
        folder: where it lies.
        manifest: as ``read_manifest`` returns it.
        part: "weights", or "trainer" where a run can be resumed.

    Raises:
        CheckpointError: the file is missing, truncated, changed or not safetensors, or the manifest names none in the folder.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    entry = manifest["files"].get(part)
    if not isinstance(entry, dict):
        raise CheckpointError(f"checkpoint {folder}: holds no {part}; {START_ANEW}")
    name, size, digest = entry.get("name"), entry.get("bytes"), entry.get("sha256")
    if not isinstance(name, str) or not _is_a(name, str) or Path(name).name != name or name in ("", ".."):
        raise CheckpointError(f"checkpoint {folder}: {MANIFEST} names no file of the folder for {part}; {START_ANEW}")
    path = folder / name
    try:
        if path.exists() and not path.is_file():  # reading a device need not end
            raise OSError("not a regular file")
        found = path.stat().st_size
        if found != size:
            wrong = "truncated" if isinstance(size, int) and found < size else "not the manifest's"
            raise CheckpointError(
                f"checkpoint {folder}: {name} is {wrong}, {found} bytes of {reprlib.repr(size)}; {COPY_AGAIN}"
            )
        data = path.read_bytes()
    except (OSError, MemoryError) as error:
        raise CheckpointError(f"checkpoint {folder}: {name} cannot be read ({error}); {COPY_AGAIN}") from error
    if hashlib.sha256(data).hexdigest() != digest:
        raise CheckpointError(f"checkpoint {folder}: {name} was changed, its sha256 is not the manifest's; {COPY_AGAIN}")
    try:
        return load(data)
    except (SafetensorError, ValueError, KeyError) as error:  # KeyError: numbers of a type that NumPy lacks
        raise CheckpointError(f"checkpoint {folder}: {name} is not a safetensors file ({error!r}); {START_ANEW}") from error


def read_weights(folder: Path, manifest: Mapping[str, Any], part: str = "weights") -> dict[str, npt.NDArray[np.float32]]:
    """A network's weights by name.

    The layers are ``trunk.0``, ``trunk.1``, ..., ``policy`` and ``value``; each has ``.weight`` (outputs, inputs) and ``.bias``
    (outputs,). What their input is, ``settebello.opponents.inputs`` tells; the critic has no ``policy``.

    Args:
        folder: where the checkpoint lies.
        manifest: as ``read_manifest`` returns it, and passed by ``check_fits``.
        part: "weights" or "critic".

    Raises:
        CheckpointError: as ``read_tensors``; or names, shapes or types are not those of the network that the manifest
            describes, or numbers are not finite, or so large that outputs may not be.
    """
    game = GAMES[manifest["game"]]
    hidden = manifest["config"].get("hidden")
    widths = hidden if isinstance(hidden, list) else []
    if not widths or not all(type(width) is int and 1 <= width <= MAX_WIDTH for width in widths):
        raise CheckpointError(
            f"checkpoint {folder}: {MANIFEST} gives hidden={reprlib.repr(hidden)}, expected a list of layer widths from 1 to "
            f"{MAX_WIDTH}; {START_ANEW}"
        )
    inputs = inputs_of(game.id)
    sizes = itertools.pairwise([inputs.size(critic=part == "critic"), *widths])
    layers = {f"trunk.{k}": (outputs, inputs) for k, (inputs, outputs) in enumerate(sizes)}
    if part == "weights":
        layers["policy"] = (game.num_actions, widths[-1])
    layers["value"] = (1, widths[-1])
    expected: dict[str, tuple[int, ...]] = {f"{name}.weight": shape for name, shape in layers.items()}
    expected |= {f"{name}.bias": shape[:1] for name, shape in layers.items()}
    weights = read_tensors(folder, manifest, part)
    found = {name: array.shape for name, array in weights.items() if array.dtype == np.float32}
    if found != expected or len(found) != len(weights):
        names = expected.keys() | weights.keys()
        wrong = sorted(name for name in names if name not in expected or found.get(name) != expected[name])
        raise CheckpointError(
            f"checkpoint {folder}: the weights do not fit a float32 network with hidden layers {reprlib.repr(widths)} "
            f"({reprlib.repr(wrong)}); {START_ANEW}"
        )
    for name, array in weights.items():
        if not np.isfinite(array).all():
            raise CheckpointError(
                f"checkpoint {folder}: weights {name!r} hold values that are not finite numbers; {START_ANEW}"
            )
    low, high = inputs.bounds(critic=part == "critic")
    reach = np.maximum(np.abs(low.astype(np.float32)), np.abs(high.astype(np.float32))) * input_scale(high)
    for head in ("policy", "value") if part == "weights" else ("value",):
        _check_reach(folder, layers_to(weights, head), reach)
    return weights


def _check_reach(folder: Path, layers: Sequence[tuple[npt.NDArray[Any], npt.NDArray[Any]]], reach: npt.NDArray[Any]) -> None:
    """Refuse layers whose outputs could overflow, given how far the input reaches: what is not a number has no highest."""
    with np.errstate(over="ignore", invalid="ignore"):
        for weight, bias in layers:
            reach = np.abs(weight) @ reach + np.abs(bias)
            if not (reach < np.finfo(np.float32).max / 2).all():
                raise CheckpointError(f"checkpoint {folder}: the weights are so large that outputs overflow; {START_ANEW}")


class ExportedOpponent:
    """Plays the most probable legal action of an exported network, or draws one.

    One position gives one choice: ``act`` and ``act_batch`` agree to the last bit, whatever the other rows are. A network that
    has learnt two-player Tressette with ``exact_endings`` never saw a position without stock: there it plays perfectly, in
    points of the deal, whatever the temperature.

    Args:
        game: id of the game.
        path: folder of a checkpoint, or its ``manifest.json``.
        seed: of its random stream, which only a temperature above 0 draws from; None takes the system's entropy.
        temperature: 0 plays the action with the highest logit (of equal ones the first); above 0 draws from
            softmax(logits / temperature), so that 1 plays as the network was trained to. At most 1000.

    Attributes:
        game: id of the game.
        folder: where the checkpoint lies.
        hidden: widths of the network's hidden layers.
        exact_endings: whether it plays perfectly once the stock is empty.
        temperature: as given.
        seed: of the random stream.

    Raises:
        OptionError: unknown game, or seed or temperature is not allowed.
        CheckpointError: the checkpoint is missing, damaged, or of another game, version or observation; the message says what
            to do.
    """

    def __init__(self, game: str, path: str | os.PathLike[str], seed: int | None = None, *, temperature: float = 0.0) -> None:
        of = get_game(game)
        self.temperature = check_real("temperature", temperature, 0, MAX_TEMPERATURE)
        self.game = of.id
        self.reseed(seed)
        self.folder = checkpoint_folder(path)
        self._manifest = read_manifest(self.folder)
        check_fits(self.folder, self._manifest, self.game)
        weights = read_weights(self.folder, self._manifest)
        config = self._manifest["config"]
        self.hidden: tuple[int, ...] = tuple(config["hidden"])
        settled = config.get("exact_endings") is True and config.get("episode") == "deal"
        self.exact_endings = settled and self.game == "tressette-2p"
        self._inputs = inputs_of(of.id)
        self._network = Network(weights, "policy", self._inputs.bounds()[1])

    def reseed(self, seed: int | None) -> None:
        """Start the random stream anew.

        Raises:
            OptionError: the seed is not a whole number in 0..2**63-1.
        """
        self.seed = seed_or_entropy(seed)
        self._rng = np.random.default_rng(self.seed)

    @property
    def manifest(self) -> dict[str, Any]:
        """What the checkpoint says of itself, its run's settings and progress included; a copy each time."""
        return copy.deepcopy(self._manifest)

    def __repr__(self) -> str:
        more = ", exact endings" if self.exact_endings else ""
        more += f", temperature {self.temperature:g}" if self.temperature else ""
        return f"<exported opponent for {self.game} from {str(self.folder)!r}, hidden layers {list(self.hidden)}{more}>"

    def logits(self, rows: npt.NDArray[np.int8]) -> npt.NDArray[np.float32]:
        """Logits float32 ``(n, num_actions)``, not yet masked, of rows int8 ``(n, size)`` as its input is."""
        return self._network(rows)

    def _choose(self, rows: npt.NDArray[np.int8], mask: npt.NDArray[np.int8]) -> npt.NDArray[np.int64]:
        scores: npt.NDArray[Any] = np.where(mask != 0, self.logits(rows), -np.inf)
        if self.temperature > 0:  # the Gumbel-max trick: the highest is a draw from the softmax, and nothing is divided
            scores = scores + self.temperature * self._rng.gumbel(size=scores.shape)
        best: npt.NDArray[np.int64] = scores.argmax(axis=1).astype(np.int64)
        return best

    def act(self, information: Information) -> int:
        """An action of the seat that knows this.

        Raises:
            OptionError: that seat is not to move, or the information is of another game.
        """
        check_game(self.game, information.game)
        check_turn(information.record(), information.seat)
        if self.exact_endings:
            from settebello.opponents.endings import ending_action  # compiles: only where it plays

            best = ending_action(information)
            if best >= 0:
                return best
        return int(self._choose(self._inputs.of_information(information)[None], information.action_mask()[None])[0])

    def act_batch(self, batch: BatchEnv, rows: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
        """An action for the seat to move of each of these rows.

        Args:
            batch: the games.
            rows: ``(n,)``, any integer dtype.

        Returns:
            int64 ``(n,)``.

        Raises:
            OptionError: rows are not whole numbers in 0..N-1, or the games are other ones.
        """
        check_game(self.game, batch.game)
        chosen = check_rows(batch, rows)
        if not self.exact_endings:
            return self._choose(self._inputs.of_batch(batch, chosen), batch.action_mask[chosen])
        from settebello.opponents.endings import solve_or_choose

        return solve_or_choose(batch, chosen, self._choose)
