"""Chunks added up in order, and what follows from them: the result of a duel."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from settebello.arena.play import Chunk, Fault, Setup, Task
from settebello.errors import ArenaError

Z95: Final = 1.959964
# Before so many deals the spread is too uncertain to stop on.
MIN_SEQUENTIAL: Final = 128

FloatArray = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True, kw_only=True)
class DuelResult:
    """What one opponent won against another on mirrored deals.

    Intervals are normal ones; the two plays of one deal (of one match) are one sample. With a single sample they are
    unbounded.

    Attributes:
        game: id of the game.
        a: name of the first opponent; all results are its.
        b: name of the second.
        seed: deal k is the first deal of environment seed ``ARENA_SEEDS + seed * 2**32 + k``.
        episode: "deal", or "match": whole matches were played, each twice on the same decks.
        options: further options of the game that differ from their default.
        deals: distinct deals (or matches), each played twice.
        deals_played: deals dealt in all plays.
        points_per_deal: mean points of a minus b per deal, napoletane included. For matches the mean over the pairs of matches
            of all points of a minus b in both, divided by the deals played in both.
        ci95: 95% interval of it.
        std: standard deviation of the samples.
        win_rate: share of the plays (deals or matches) that a won, equal ones counted half.
        win_ci95: 95% interval of it.
        moves: actions of a and of b.
        seconds_per_move: CPU-seconds per action inside the calls of a and of b. Chunks in which a process met the two for the
            first time are left out where there are others: compiling and loading is no thinking.
        illegal_moves: of a and of b. The arena stops at the first, so they are 0 but in ``ArenaError.partial``.
        seconds: wall-clock seconds of play, added up over processes and resumed runs.
    """

    game: str
    a: str
    b: str
    seed: int
    episode: str
    options: Mapping[str, Any]
    deals: int
    deals_played: int
    points_per_deal: float
    ci95: tuple[float, float]
    std: float
    win_rate: float
    win_ci95: tuple[float, float]
    moves: tuple[int, int]
    seconds_per_move: tuple[float, float]
    illegal_moves: tuple[int, int]
    seconds: float

    @property
    def half_width(self) -> float:
        """Half the width of ``ci95``."""
        return (self.ci95[1] - self.ci95[0]) / 2

    def to_dict(self) -> dict[str, Any]:
        """As plain values that JSON can hold; None stands for what is not finite."""
        values = dataclasses.asdict(self) | {"std": _plain(self.std), "ci95": [_plain(bound) for bound in self.ci95]}
        for name in _PAIRS:
            values[name] = list(values[name])
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The result that ``to_dict`` described."""
        low, high = values["ci95"]
        ci95 = (-math.inf if low is None else low, math.inf if high is None else high)
        std = math.inf if values["std"] is None else values["std"]
        return cls(**{**values, **{name: tuple(values[name]) for name in _PAIRS}, "ci95": ci95, "std": std})


_PAIRS: Final = ("ci95", "win_ci95", "moves", "seconds_per_move", "illegal_moves")


def _plain(number: float) -> float | None:
    return number if math.isfinite(number) else None


def interval(samples: FloatArray) -> tuple[float, float, float]:
    """Mean of samples, their standard deviation, and half the width of the mean's 95% interval."""
    std = float(samples.std(ddof=1)) if len(samples) > 1 else math.inf
    return float(samples.mean()), std, Z95 * std / math.sqrt(len(samples))


def samples_of(chunk: Chunk) -> FloatArray:
    """Points per deal of a minus b, one number for each pair of plays."""
    samples: FloatArray = chunk.margins.sum(axis=0) / chunk.deals.sum(axis=0)
    return samples


class Tally:
    """One duel as it goes on: which chunk comes next, what came of those before, when it is enough.

    Chunks may arrive in any order; they count in theirs, and none counts beyond the one that was enough.

    Args:
        setup: what is played.
        a: number of the first entrant.
        b: number of the second.
        deals: how many at most.
        chunk_pairs: deals of a chunk; the last one may have fewer.
        until_ci: enough is when half the interval's width is at most this; None: only when all deals are played.
    """

    def __init__(self, setup: Setup, a: int, b: int, deals: int, chunk_pairs: int, until_ci: float | None) -> None:
        self.setup = setup
        self.a, self.b = a, b
        self.deals = deals
        self.chunks: list[Chunk] = []
        self.submitted = 0
        self._chunk_pairs = chunk_pairs
        self._until_ci = until_ci
        self._waiting: dict[int, Chunk | Fault] = {}
        self._sum = self._squares = 0.0
        self.played = 0

    @property
    def labels(self) -> tuple[str, str]:
        """Names of the two."""
        return self.setup.entrants[self.a].label, self.setup.entrants[self.b].label

    @property
    def finished(self) -> bool:
        """Whether it is enough."""
        if self.played >= self.deals:
            return True
        return self._until_ci is not None and self.played >= MIN_SEQUENTIAL and self.half_width <= self._until_ci

    @property
    def mean(self) -> float:
        """Points per deal so far; 0 before the first chunk."""
        return self._sum / max(1, self.played)

    @property
    def half_width(self) -> float:
        """Half the width of the 95% interval so far."""
        if self.played < 2:
            return math.inf
        variance = max(0.0, self._squares - self.played * self.mean**2) / (self.played - 1)
        return Z95 * math.sqrt(variance / self.played)

    @property
    def expected(self) -> int:
        """Deals it will take in all, as far as can be told now."""
        if self.finished:
            return self.played
        if self._until_ci is None or self.played < MIN_SEQUENTIAL:
            return self.deals
        wanted = self.played * (self.half_width / self._until_ci) ** 2 if self._until_ci > 0 else math.inf
        return self.deals if wanted > self.deals else max(self.played, math.ceil(wanted))

    def task(self, number: int) -> Task | None:
        """The chunk of this number, or None if all deals come before it."""
        first = number * self._chunk_pairs
        pairs = min(self._chunk_pairs, self.deals - first)
        return Task(self.a, self.b, number, first, pairs) if pairs > 0 else None

    def add(self, number: int, outcome: Chunk | Fault) -> None:
        """Take in what came of a task.

        Raises:
            ArenaError: this chunk counts, and its opponents could not play it.
        """
        self._waiting[number] = outcome
        while not self.finished and len(self.chunks) in self._waiting:
            chunk = self._waiting.pop(len(self.chunks))
            if isinstance(chunk, Fault):
                raise ArenaError(chunk.message, self._partial(chunk)) from chunk.cause
            samples = samples_of(chunk)
            self.chunks.append(chunk)
            self.played += chunk.pairs
            self._sum += float(samples.sum())
            self._squares += float((samples**2).sum())
        self.submitted = max(self.submitted, len(self.chunks))

    def _partial(self, fault: Fault) -> DuelResult | None:
        if not self.chunks:
            return None
        illegal = (int(fault.illegal and fault.side == 0), int(fault.illegal and fault.side == 1))
        return dataclasses.replace(self.result(), illegal_moves=illegal)

    def samples(self) -> FloatArray:
        """Points per deal of a minus b, one number for each deal (or match), in order."""
        return np.concatenate([samples_of(chunk) for chunk in self.chunks])

    def result(self) -> DuelResult:
        """The result so far; there must be a chunk."""
        margins = np.concatenate([chunk.margins for chunk in self.chunks], axis=1)
        mean, std, half = interval(self.samples())
        wins, _, win_half = interval((margins > 0).mean(axis=0) + 0.5 * (margins == 0).mean(axis=0))
        moves = _sum_pairs(chunk.moves for chunk in self.chunks)
        timed = [chunk for chunk in self.chunks if chunk.warm] or self.chunks
        timed_moves, cpu = _sum_pairs(chunk.moves for chunk in timed), _sum_pairs(chunk.cpu for chunk in timed)
        a, b = self.labels
        return DuelResult(
            game=self.setup.game,
            a=a,
            b=b,
            seed=self.setup.seed,
            episode=self.setup.episode,
            options=self.setup.options,
            deals=self.played,
            deals_played=int(sum(chunk.deals.sum() for chunk in self.chunks)),
            points_per_deal=mean,
            ci95=(mean - half, mean + half),
            std=std,
            win_rate=wins,
            win_ci95=(max(0.0, wins - win_half), min(1.0, wins + win_half)),
            moves=(int(moves[0]), int(moves[1])),
            seconds_per_move=(cpu[0] / timed_moves[0], cpu[1] / timed_moves[1]),
            illegal_moves=(0, 0),
            seconds=sum(chunk.seconds for chunk in self.chunks),
        )


def _sum_pairs(pairs: Any) -> tuple[float, float]:
    firsts, seconds = zip(*pairs, strict=True)
    return sum(firsts), sum(seconds)
