"""Playing tallies to their end, in this process or in several, saving what was done."""

import dataclasses
import functools
import hashlib
import json
import math
import pickle
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from time import monotonic
from typing import Any, Final

import numpy as np

from settebello.arena.play import MAX_DEALS, MAX_SEED, Chunk, Entrant, Fault, Setup, Task, Worker, portable
from settebello.arena.tally import Tally
from settebello.errors import ArenaError, OptionError
from settebello.game import get_game
from settebello.opponents.exported import MANIFEST
from settebello.options import check_choice, check_int
from settebello.output import check_output, write_json

FORMAT: Final = 1
SAVE_SECONDS: Final = 3.0  # between two saves on the way
MAX_PROCESSES: Final = 1024
PACKAGE: Final = Path(__file__).resolve().parents[1]
OWN_OPTIONS: Final = {"reward": "results are in points", "illegal": "an illegal action ends a duel with ArenaError"}


@dataclasses.dataclass(frozen=True)
class Progress:
    """How far a duel or ladder is.

    Attributes:
        deals: distinct deals (or matches) played, over all pairs of opponents.
        expected: how many it will be at the end, as far as can be told now.
        a: name of the first of the pair that was played last.
        b: name of the second.
        points_per_deal: of that pair, so far.
        half_width: half the width of its 95% interval.
    """

    deals: int
    expected: int
    a: str
    b: str
    points_per_deal: float
    half_width: float


ProgressCallback = Callable[[Progress], None]


@dataclasses.dataclass(frozen=True)
class Limits:
    """How much is played, and how; checked.

    Raises:
        OptionError: a value is not allowed.
    """

    deals: int
    until_ci: float | None
    processes: int
    path: Any
    min_deals: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "deals", check_int("deals", self.deals, self.min_deals, MAX_DEALS))
        object.__setattr__(self, "processes", check_int("processes", self.processes, 1, MAX_PROCESSES))
        width = self.until_ci
        if width is not None:
            number = isinstance(width, int | float | np.floating) and not isinstance(width, bool)
            if not number or not 0 < width < math.inf:
                raise OptionError(f"until_ci={width!r}: expected a number of points above 0")
            object.__setattr__(self, "until_ci", float(width))
        if self.path is not None:
            try:
                object.__setattr__(self, "path", Path(self.path))
            except TypeError as error:
                raise OptionError(f"path={self.path!r}: expected the name of a file") from error
            check_output("path", Path(self.path))


def check_game(game: str, seed: int, episode: str, options: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
    """The seed, and the options of the game that differ from their default, as plain values.

    Raises:
        OptionError: game, seed, episode or an option is unknown or not allowed.
    """
    its_game = get_game(game)
    seed = check_int("seed", seed, 0, MAX_SEED)
    check_choice("episode", episode, ("deal", "match"))
    for name, why in OWN_OPTIONS.items():
        if name in options:
            raise OptionError(f"option {name!r} is the arena's own: {why}")
    border = ("deals", "seed", "until_ci", "processes", "path", "progress")
    made, default = its_game.options(border, episode=episode, **options), its_game.options()
    names = [field.name for field in dataclasses.fields(made) if field.name != "episode"]
    return seed, {name: _plain(getattr(made, name)) for name in names if getattr(made, name) != getattr(default, name)}


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else list(value) if isinstance(value, tuple) else value


# --- saved results -------------------------------------------------------------------------------------------------------


class Store:
    """The file in which results so far are kept; without a path it keeps nothing.

    Args:
        path: the file.
        kind: "duel" or "ladder".
        tallies: what is played.
        limits: of the run.
        result: the result as plain values, asked at each save; None while there is none.
    """

    def __init__(
        self,
        path: Path | None,
        kind: str,
        tallies: Sequence[Tally],
        limits: Limits,
        result: Callable[[], Mapping[str, Any] | None],
    ) -> None:
        self._path = path
        self._tallies = tallies
        self._deals = limits.deals
        self._result = result
        self._saved_at = monotonic()
        setup = tallies[0].setup
        self._settings = {
            "kind": kind,
            "game": setup.game,
            "game_version": get_game(setup.game).version,
            "opponents": [[entrant.label, _source(entrant)] for entrant in setup.entrants],
            "pairs": [list(tally.labels) for tally in tallies],
            "seed": setup.seed,
            "episode": setup.episode,
            "options": dict(setup.options),
            "until_ci": limits.until_ci,
            "code": _code(),
        }

    def load(self) -> None:
        """Take in what the file holds, if there is one.

        Raises:
            OptionError: it is damaged, something else, or of other settings.
        """
        if self._path is None or not self._path.exists():
            return
        try:
            values = json.loads(self._path.read_text(encoding="utf-8"))
            saved, cells, deals = values["settings"], values["cells"], values["deals"]
            if values["format"] != FORMAT or not isinstance(saved, dict) or not isinstance(deals, int):
                raise ValueError("of another format")
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise OptionError(f"path {self._path}: not a file of arena results ({type(error).__name__}: {error})") from error
        for name, value in self._settings.items():
            if saved.get(name) != value:
                raise OptionError(
                    f"path {self._path}: its results are of {name}={saved.get(name)!r}, not {value!r}; "
                    "give the same settings or another file"
                )
        if deals > self._deals:
            raise OptionError(f"path {self._path}: it is of deals={deals}, more than {self._deals}; give at least so many")
        try:
            for tally, cell in zip(self._tallies, cells, strict=True):
                self._fill(tally, [Chunk.from_dict(chunk) for chunk in cell])
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise OptionError(f"path {self._path}: its results are damaged ({error})") from error

    @staticmethod
    def _fill(tally: Tally, chunks: Sequence[Chunk]) -> None:
        for number, chunk in enumerate(chunks):
            task = tally.task(number)
            if task is None or task.pairs != chunk.pairs:  # with more deals than before the last chunk has become longer
                break
            tally.add(number, chunk)

    def save(self) -> None:
        """Write the file.

        Raises:
            OptionError: it cannot be written.
        """
        self._saved_at = monotonic()
        if self._path is not None:
            cells = [[chunk.to_dict() for chunk in tally.chunks] for tally in self._tallies]
            values = {"format": FORMAT, "settings": self._settings, "deals": self._deals, "result": self._result()}
            write_json(values | {"cells": cells}, self._path, indent=None)

    def save_now_and_then(self) -> None:
        """Write the file if the last time is some seconds ago."""
        if monotonic() - self._saved_at > SAVE_SECONDS:
            self.save()


@functools.cache
def _code() -> str:
    """What the levels are made of: under the same name they may play otherwise in another version."""
    digest = hashlib.sha256()
    for file in sorted(PACKAGE.rglob("*.py")):
        digest.update(f"{file.relative_to(PACKAGE).as_posix()}\n".encode() + file.read_bytes())
    return f"settebello sha256:{digest.hexdigest()}"


def _source(entrant: Entrant) -> str:
    source, folder = entrant.source, entrant.folder
    if not isinstance(source, str):
        return f"object of type {type(source).__module__}.{type(source).__qualname__}"
    name = source.partition(":")[0]  # of a module, perhaps
    module_file = getattr(sys.modules.get(name), "__file__", None)
    if folder is not None and (folder / MANIFEST).is_file():
        file = folder / MANIFEST  # which names the weights by their sha256
    elif module_file is not None:
        file = Path(module_file)
    else:
        file = Path(source)
    if file.is_file():  # other weights or other code under the same name are another opponent
        return f"{source} sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}"
    return source


# --- playing -------------------------------------------------------------------------------------------------------------


def play_all(tallies: Sequence[Tally], limits: Limits, store: Store, progress: ProgressCallback | None) -> None:
    """Play all tallies to their end; whatever ends it, what was done is saved.

    Raises:
        ArenaError: an opponent could not go on, or a worker process died.
        OptionError: an opponent cannot be sent to other processes, or the results cannot be saved.
    """

    def played(tally: Tally) -> None:
        store.save_now_and_then()
        if progress is not None:
            a, b = tally.labels
            deals, expected = sum(one.played for one in tallies), sum(one.expected for one in tallies)
            progress(Progress(deals, expected, a, b, tally.mean, tally.half_width))

    waiting = [tally for tally in tallies if not tally.finished]
    if not waiting:
        return
    if limits.processes > 1:
        payload = _payload(waiting[0].setup)
    try:
        if limits.processes == 1:
            _play_here(waiting, played)
        else:
            _play_in_pool(waiting, limits.processes, payload, played)
    finally:
        store.save()


def _play_here(tallies: Sequence[Tally], played: Callable[[Tally], None]) -> None:
    worker = Worker(tallies[0].setup)
    for tally in tallies:
        while not tally.finished:
            number = len(tally.chunks)
            task = tally.task(number)
            assert task is not None  # else it would be finished
            outcome = worker.play(task)
            assert outcome is not None
            tally.add(number, outcome)
            played(tally)


def _play_in_pool(tallies: Sequence[Tally], processes: int, payload: bytes, played: Callable[[Tally], None]) -> None:
    context = get_context("spawn")
    stop = context.Event()
    pool = ProcessPoolExecutor(processes, context, _start_worker, (payload, stop))
    running: dict[Future[Chunk | Fault | None], tuple[Tally, int]] = {}
    try:
        while not all(tally.finished for tally in tallies):
            for tally in tallies:  # some more than there are processes, so that none waits for work
                while not tally.finished and len(running) < 2 * processes:
                    task = tally.task(tally.submitted)
                    if task is None:
                        break
                    running[pool.submit(_play, task)] = (tally, task.number)
                    tally.submitted += 1
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                tally, number = running.pop(future)
                outcome = future.result()
                before = tally.played
                if outcome is not None:
                    tally.add(number, outcome)
                if tally.played > before:
                    played(tally)
    except BrokenProcessPool as error:
        raise ArenaError(
            "a worker process died. With processes > 1 each one imports the main module anew: a script keeps what it starts "
            'under if __name__ == "__main__", and opponents given as objects are of classes that can be imported'
        ) from error
    finally:
        stop.set()  # chunks beyond the end are given up
        pool.shutdown(wait=True, cancel_futures=True)


def _payload(setup: Setup) -> bytes:
    for entrant in setup.entrants:
        try:
            pickle.dumps(entrant.source)
        except Exception as error:  # pickle raises whatever the object raises
            raise OptionError(
                f"opponent {entrant.label!r} cannot be sent to other processes ({error}); "
                "use processes=1, or give it as 'package.module:function'"
            ) from error
    return pickle.dumps(setup)


_worker: Worker | None = None


def _start_worker(payload: bytes, stop: Any) -> None:
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started it all
    _worker = Worker(pickle.loads(payload), stop.is_set)


def _play(task: Task) -> Chunk | Fault | None:
    assert _worker is not None
    outcome = _worker.play(task)
    return portable(outcome) if isinstance(outcome, Fault) else outcome
