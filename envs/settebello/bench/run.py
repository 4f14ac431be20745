"""Runs every measurement and puts the figures together."""

import dataclasses
import gc
import statistics
from collections.abc import Iterable, Sequence
from typing import Any, Final

from settebello.bench import opponents, others, ours, startup
from settebello.bench.loops import BYTES, CPU_MILLISECONDS, CPU_NANOSECONDS, CPU_SECONDS, Loop, Replay, Workload, speed
from settebello.bench.machine import machine
from settebello.game import get_game

FULL: Final = Workload()
QUICK: Final = Workload(
    moves=300,
    batch_moves=1 << 14,
    block_seconds=0.02,
    repeats=2,
    endings=40,
    open_hands=10,
    searches=10,
    duel_deals=64,
)
STARTUP_REPEATS: Final = 3

# What all is built to reach on one core of about 2024: at least for speeds, at most for all else.
TARGETS: Final[dict[str, dict[str, float]]] = {
    "playouts": {"tressette-2p": 30e6, "tressette-4p": 30e6, "bazzica": 12e6},
    "batch_1024": {"tressette-2p": 15e6, "tressette-4p": 12e6, "bazzica": 6e6},
    "aec": {"tressette-2p": 250e3, "tressette-4p": 250e3, "bazzica": 250e3},
    "vector_1024": {"tressette-2p": 3e6, "tressette-4p": 3e6, "bazzica": 3e6},
    "row_bytes": {"tressette-2p": 384, "tressette-4p": 512, "bazzica": 512},
    "state_bytes": {"tressette-2p": 512, "tressette-4p": 512, "bazzica": 512},
    "first_step_batch_cold": {"tressette-2p": 20, "tressette-4p": 20, "bazzica": 20},
    "first_step_batch_again": {"tressette-2p": 2, "tressette-4p": 2, "bazzica": 2},
    "first_step_aec_cold": {"tressette-2p": 20, "tressette-4p": 20, "bazzica": 20},
    "first_step_aec_again": {"tressette-2p": 2, "tressette-4p": 2, "bazzica": 2},
    "ending": {"tressette-2p": 0.3},
    "ending_p95": {"tressette-2p": 1.2},
    "ending_batch": {"tressette-2p": 2500},
    "open_6": {"tressette-4p": 1.2},
    "open_7": {"tressette-4p": 5},
    "open_8": {"tressette-4p": 16},
}

STARTUP_TITLES: Final = {
    "import": "import settebello",
    "import_numpy_numba": "import numpy, numba",
    "first_step_batch_cold": "BatchEnv start, cold",
    "first_step_batch_again": "BatchEnv start, again",
    "first_step_aec_cold": "PettingZoo start, cold",
    "first_step_aec_again": "PettingZoo start, again",
}
SIZE_TITLES: Final = {"row_bytes": "observation row", "state_bytes": "state of a game"}

# Our figures that the other libraries' are compared with.
COMPARED: Final = ("aec", "batch_1024")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Figure:
    """One measured figure.

    Attributes:
        key: name of the measurement, for example ``batch_1024``; one meaning whatever the game.
        library: whose it is.
        game: what was played; None where that does not matter.
        title: in words.
        unit: what is counted; speeds are per CPU-second.
        values: one of each round.
        target: to reach, None where there is none.
        of_opponents: whether it is about opponents, not environments.
    """

    key: str
    library: str
    game: str | None
    title: str
    unit: str
    values: tuple[float, ...]
    target: float | None = None
    of_opponents: bool = False

    @property
    def median(self) -> float:
        """Median of the rounds."""
        return statistics.median(self.values)

    @property
    def is_speed(self) -> bool:
        """Whether more is better; otherwise less is."""
        return self.unit not in (CPU_SECONDS, CPU_MILLISECONDS, CPU_NANOSECONDS, BYTES)

    @property
    def met(self) -> bool | None:
        """Whether the median reaches the target, None where there is none."""
        if self.target is None:
            return None
        return self.median >= self.target if self.is_speed else self.median <= self.target

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "key": self.key,
            "library": self.library,
            "game": self.game,
            "title": self.title,
            "unit": f"{self.unit} per CPU-second" if self.is_speed else self.unit,
            "median": self.median,
            "low": min(self.values),
            "high": max(self.values),
            "values": list(self.values),
            "target": self.target,
            "target_is": None if self.target is None else ("at least" if self.is_speed else "at most"),
            "met": self.met,
            "of_opponents": self.of_opponents,
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ratio:
    """How many times as fast as another library's loop one of ours is, round by round."""

    ours: Figure
    theirs: Figure

    @property
    def values(self) -> tuple[float, ...]:
        """One of each round."""
        return tuple(a / b for a, b in zip(self.ours.values, self.theirs.values, strict=True))

    @property
    def median(self) -> float:
        """Median of the rounds."""
        return statistics.median(self.values)

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "ours": {"key": self.ours.key, "game": self.ours.game, "title": self.ours.title},
            "theirs": {
                "key": self.theirs.key,
                "library": self.theirs.library,
                "game": self.theirs.game,
                "title": self.theirs.title,
            },
            "median": self.median,
            "low": min(self.values),
            "high": max(self.values),
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class Report:
    """All that a run measured.

    Attributes:
        games: ids of the games.
        workload: how much was measured.
        figures: ours, then the other libraries'.
        missing: what is not installed here, by title, with the import's error.
        machine: where it ran: see ``machine``.
    """

    games: tuple[str, ...]
    workload: Workload
    figures: tuple[Figure, ...]
    missing: dict[str, str]
    machine: dict[str, Any]

    @property
    def ratios(self) -> list[Ratio]:
        """Ours to each other library's."""
        theirs = [figure for figure in self.figures if figure.library != ours.LIBRARY]
        compared = [figure for figure in self.figures if figure.library == ours.LIBRARY and figure.key in COMPARED]
        return [Ratio(ours=mine, theirs=other) for other in theirs for mine in compared]

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "format": 1,
            "machine": self.machine,
            "games": list(self.games),
            "workload": dataclasses.asdict(self.workload),
            "figures": [figure.to_dict() for figure in self.figures],
            "ratios": [ratio.to_dict() for ratio in self.ratios],
            "missing": self.missing,
        }


class Tracker:
    """Told how the run goes on; the base class does nothing with it."""

    def begin(self, total: float) -> None:
        """The run begins, and is expected to take so many seconds."""

    def doing(self, what: str) -> None:
        """Something begins."""

    def advance(self, seconds: float) -> None:
        """A part of the run that was expected to take so many seconds is done."""


def run(
    games: Sequence[str],
    workload: Workload = FULL,
    *,
    compare: bool = True,
    play: bool = True,
    cold: bool = True,
    tracker: Tracker | None = None,
) -> Report:
    """Measure everything.

    Args:
        games: ids of the games.
        workload: how much to measure.
        compare: whether to measure other libraries, where they are installed.
        play: whether to measure the opponents.
        cold: whether to measure compilation with an empty cache.
        tracker: told how it goes.

    Raises:
        OptionError: there is no such game.
    """
    for game in games:
        get_game(game)
    tracker = tracker or Tracker()
    loops = [loop for game in games for loop in ours.loops(game)] + (others.loops() if compare else [])
    measures = [measure for game in games for measure in opponents.measures(game)] if play else []
    children = _Children(cold, min(STARTUP_REPEATS, workload.repeats))
    tracker.begin(_seconds(loops, workload) + _opponent_seconds(measures, workload) + children.seconds(games))

    replays, missing = _prepare(loops, workload, tracker)
    figures = _rounds(replays, workload, tracker) + _sizes(games)
    figures += _opponents(measures, workload, tracker)
    figures += children.figures(games, tracker)
    figures.sort(key=lambda figure: figure.library != ours.LIBRARY)
    return Report(
        games=tuple(games),
        workload=workload,
        figures=tuple(figures),
        missing=missing,
        machine=machine(others.PACKAGES if compare else ()),
    )


# Rough seconds of the parts of a run, to say how much time is left.
_PREPARE_SECONDS: Final = 0.5
_CHILD_SECONDS: Final = 0.7
_COLD_SECONDS: Final = 8.0


def _seconds(loops: Sequence[Loop], workload: Workload) -> float:
    return len(loops) * (_PREPARE_SECONDS + workload.repeats * workload.block_seconds)


def _opponent_seconds(measures: Sequence[opponents.Measure], workload: Workload) -> float:
    return len(measures) * (_PREPARE_SECONDS + workload.repeats * workload.block_seconds)


def _prepare(loops: Iterable[Loop], workload: Workload, tracker: Tracker) -> tuple[list[tuple[Loop, Replay]], dict[str, str]]:
    """Record the sessions; what cannot be imported is missing."""
    replays, missing = [], {}
    for loop in loops:
        tracker.doing(f"recording: {_name(loop)}")
        try:
            replays.append((loop, loop.prepare(workload)))
        except ImportError as error:
            missing[loop.title] = str(error)
        tracker.advance(_PREPARE_SECONDS)
    return replays, missing


def _rounds(replays: Sequence[tuple[Loop, Replay]], workload: Workload, tracker: Tracker) -> list[Figure]:
    """Measure all loops in turns, one block each, round after round."""
    values: list[list[float]] = [[] for _ in replays]
    for number in range(workload.repeats):
        for (loop, replay), speeds in zip(replays, values, strict=True):
            tracker.doing(f"round {number + 1}/{workload.repeats}: {_name(loop)}")
            gc.collect()  # what the loop before left behind
            speeds.append(speed(replay, workload.block_seconds))
            tracker.advance(workload.block_seconds)
    return [
        Figure(
            key=loop.key,
            library=loop.library,
            game=loop.game,
            title=loop.title,
            unit=loop.unit,
            values=tuple(speeds),
            target=_target(loop.key, loop.game),
        )
        for (loop, _), speeds in zip(replays, values, strict=True)
    ]


def _opponents(measures: Sequence[opponents.Measure], workload: Workload, tracker: Tracker) -> list[Figure]:
    """Measure opponents in turns, round after round."""
    plays = []
    for measure in measures:
        tracker.doing(f"preparing: {_measure_name(measure)}")
        plays.append(measure.prepare(workload))
        plays[-1]()  # not counted: it compiles, and fills the caches
        tracker.advance(_PREPARE_SECONDS)
    rounds: list[list[tuple[float, ...]]] = [[] for _ in measures]
    for number in range(workload.repeats):
        for measure, play, values in zip(measures, plays, rounds, strict=True):
            tracker.doing(f"round {number + 1}/{workload.repeats}: {_measure_name(measure)}")
            gc.collect()  # what was measured before left it behind
            values.append(play())
            tracker.advance(workload.block_seconds)
    return [
        Figure(
            key=key,
            library=ours.LIBRARY,
            game=measure.game,
            title=title,
            unit=unit,
            values=values,
            target=_target(key, measure.game),
            of_opponents=True,
        )
        for measure, of_rounds in zip(measures, rounds, strict=True)
        for (key, title, unit), values in zip(measure.figures, zip(*of_rounds, strict=True), strict=True)
    ]


def _measure_name(measure: opponents.Measure) -> str:
    _, title, _ = measure.figures[0]
    return f"{measure.game}, {title}"


def _name(loop: Loop) -> str:
    return f"{loop.game}, {loop.title}" if loop.library == ours.LIBRARY else loop.title


def _target(key: str, game: str | None) -> float | None:
    return TARGETS.get(key, {}).get(game or "")


def _sizes(games: Sequence[str]) -> list[Figure]:
    return [
        Figure(
            key=key,
            library=ours.LIBRARY,
            game=game,
            title=SIZE_TITLES[key],
            unit=BYTES,
            values=(size,),
            target=_target(key, game),
        )
        for game in games
        for key, size in ours.sizes(game).items()
    ]


@dataclasses.dataclass(frozen=True)
class _Children:
    """What is measured in child processes: imports, and the first step of each game."""

    cold: bool
    repeats: int

    def seconds(self, games: Sequence[str]) -> float:
        """Rough seconds it takes."""
        first_step = self.repeats * _CHILD_SECONDS + (_COLD_SECONDS if self.cold else 0)
        return (2 * self.repeats * _CHILD_SECONDS) + len(games) * len(startup.FIRST_STEP) * first_step

    def figures(self, games: Sequence[str], tracker: Tracker) -> list[Figure]:
        """Measure it."""
        figures = []
        tracker.doing("import time")
        figures += [_startup_figure(key, None, seconds) for key, seconds in startup.import_times(self.repeats).items()]
        tracker.advance(2 * self.repeats * _CHILD_SECONDS)
        for game in games:
            for kind in startup.FIRST_STEP:
                tracker.doing(f"start: {game}, {kind}")
                times = startup.first_step_times(game, kind, self.cold, self.repeats)
                figures += [_startup_figure(key, game, seconds) for key, seconds in times.items()]
                tracker.advance(self.repeats * _CHILD_SECONDS + (_COLD_SECONDS if self.cold else 0))
        return figures


def _startup_figure(key: str, game: str | None, seconds: Sequence[float]) -> Figure:
    return Figure(
        key=key,
        library=ours.LIBRARY,
        game=game,
        title=STARTUP_TITLES[key],
        unit=CPU_SECONDS,
        values=tuple(seconds),
        target=_target(key, game),
    )
