"""Ladders: several opponents, each against each, and one rating for each of them fitted to all their duels."""

import dataclasses
import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from settebello.arena.play import Setup, chunk_size, enter
from settebello.arena.run import Limits, ProgressCallback, Store, check_game, play_all
from settebello.arena.tally import Z95, DuelResult, FloatArray, Tally
from settebello.errors import OptionError
from settebello.options import is_list
from settebello.output import write_json

FORMAT: Final = 1
MIN_VARIANCE: Final = 1e-6  # of a mean, in points: two opponents that play alike differ by exactly nothing


@dataclasses.dataclass(frozen=True, kw_only=True)
class LadderResult:
    """All against all, n opponents.

    Attributes:
        game: id of the game.
        names: of the opponents, in the order given.
        seed: of every duel.
        episode: "deal" or "match".
        options: further options of the game that differ from their default.
        duels: of each two opponents (i, j), i < j in lexicographic order; ``a`` is opponent i.
        ratings: points per deal against the field, by opponent; their mean is 0, and the difference of two estimates what one
            wins from the other per deal.
        standard_errors: of the ratings.
    """

    game: str
    names: tuple[str, ...]
    seed: int
    episode: str
    options: Mapping[str, Any]
    duels: tuple[DuelResult, ...]
    ratings: tuple[float, ...]
    standard_errors: tuple[float, ...]

    @property
    def ranking(self) -> list[int]:
        """Numbers of the opponents, best first."""
        return sorted(range(len(self.names)), key=lambda i: -self.ratings[i])

    @property
    def points(self) -> FloatArray:
        """Points per deal of the row's opponent against the column's, ``(n, n)``, 0 on the diagonal."""
        return self._matrix([duel.points_per_deal for duel in self.duels], lambda value: -value)

    @property
    def half_widths(self) -> FloatArray:
        """Half the width of the 95% interval of ``points``, ``(n, n)``."""
        return self._matrix([duel.half_width for duel in self.duels], lambda value: value)

    @property
    def win_rates(self) -> FloatArray:
        """Share of the plays that the row's opponent won against the column's, ``(n, n)``, a half on the diagonal."""
        rates = self._matrix([duel.win_rate for duel in self.duels], lambda value: 1 - value)
        np.fill_diagonal(rates, 0.5)
        return rates

    def _matrix(self, values: Iterable[float], turned: Any) -> FloatArray:
        matrix = np.zeros((len(self.names), len(self.names)))
        for (i, j), value in zip(itertools.combinations(range(len(self.names)), 2), values, strict=True):
            matrix[i, j], matrix[j, i] = value, turned(value)
        return matrix

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON; the matrices and the 95% intervals of the ratings are there too."""
        table = [
            {"name": self.names[i], "rating": self.ratings[i], "standard_error": self.standard_errors[i]}
            | {"ci95": [self.ratings[i] - Z95 * self.standard_errors[i], self.ratings[i] + Z95 * self.standard_errors[i]]}
            for i in self.ranking
        ]
        return {
            "format": FORMAT,
            "game": self.game,
            "names": list(self.names),
            "seed": self.seed,
            "episode": self.episode,
            "options": dict(self.options),
            "table": table,
            "points": self.points.tolist(),
            "half_widths": self.half_widths.tolist(),
            "win_rates": self.win_rates.tolist(),
            "ratings": list(self.ratings),
            "standard_errors": list(self.standard_errors),
            "duels": [duel.to_dict() for duel in self.duels],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The result that ``to_dict`` described."""
        names = {field.name: values[field.name] for field in dataclasses.fields(cls)}
        lists = {name: tuple(values[name]) for name in ("names", "ratings", "standard_errors")}
        return cls(**names | lists | {"duels": tuple(DuelResult.from_dict(duel) for duel in values["duels"])})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as JSON.

        Raises:
            OptionError: the file cannot be written.
        """
        write_json(self.to_dict(), Path(path))


def fit_ratings(size: int, samples: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Ratings of opponents from the points between each two of them.

    Weighted least squares on the differences: weights are one over the variances of the means, the mean rating is 0. All
    duels of a ladder are played on the same deals, so their means are not independent: the standard errors take in how they
    vary together (deal k of one beside deal k of another).

    Args:
        size: opponents n.
        samples: points per deal of i against j on each deal, for each i < j in lexicographic order; at least two deals each.

    Returns:
        Ratings and their standard errors, ``(n,)`` each.
    """
    pairs = list(itertools.combinations(range(size), 2))
    differences = np.zeros((len(pairs), size))
    for row, (i, j) in enumerate(pairs):
        differences[row, i], differences[row, j] = 1, -1
    means = np.array([one.mean() for one in samples])
    variances = np.array([one.var(ddof=1) / len(one) for one in samples])
    roots = 1 / np.sqrt(np.maximum(variances, MIN_VARIANCE))
    # Of all solutions (a constant may be added) this is the shortest, whose mean is 0. The unit matrix gives the linear map
    # from means to ratings at the same time.
    solution = np.linalg.lstsq(differences * roots[:, None], np.diag(roots), rcond=None)[0]
    common = np.diag(variances)
    for p, q in itertools.combinations(range(len(pairs)), 2):
        shared = min(len(samples[p]), len(samples[q]))
        together = np.cov(samples[p][:shared], samples[q][:shared])[0, 1]
        common[p, q] = common[q, p] = together / max(len(samples[p]), len(samples[q]))
    errors = np.sqrt(np.maximum(np.einsum("ip,pq,iq->i", solution, common, solution), 0))
    return solution @ means, errors


def ladder(
    game: str,
    opponents: Sequence[Any] | Mapping[str, Any],
    deals: int,
    seed: int,
    *,
    episode: str = "deal",
    until_ci: float | None = None,
    processes: int = 1,
    path: str | os.PathLike[str] | None = None,
    progress: ProgressCallback | None = None,
    **options: Any,
) -> LadderResult:
    """Play all against all on mirrored deals, each two as ``duel`` does with the same arguments.

    Args:
        game: id of the game.
        opponents: specs or objects; or a dict from name to spec or object. Names (those of objects: their ``name``, or their
            type's) must differ.
        deals: distinct deals (or matches) of each duel, at least 2; with ``until_ci`` at most so many.
        seed: of every duel: all are played on the same deals.
        episode: "deal" or "match".
        until_ci: each duel stops once half the width of its 95% interval is at most this.
        processes: how many play; they share the duels' chunks.
        path: a JSON file in which results are kept while they come and from which they are resumed.
        progress: called with a ``Progress`` after each chunk.
        **options: of the game, except ``reward`` and ``illegal``.

    Raises:
        OptionError: an opponent, option or argument is not allowed, or ``path`` holds other results; nothing was played.
        ArenaError: an opponent took an illegal action or raised, or a worker process died. ``partial`` holds what that duel's
            result was so far.
    """
    limits = Limits(deals, until_ci, processes, path, min_deals=2)
    seed, plain = check_game(game, seed, episode, options)
    named = opponents.items() if isinstance(opponents, Mapping) else _unnamed(opponents)
    entered = [enter(game, f"opponents[{i}]", label, source) for i, (label, source) in enumerate(named)]
    labels = [entrant.label for entrant, _ in entered]
    if len(labels) < 2:
        raise OptionError(f"opponents={labels}: expected at least two")
    for label in labels:
        if not isinstance(label, str):
            raise OptionError(f"opponents: the name {label!r} is not text")
        if labels.count(label) > 1:
            raise OptionError(f"opponents: the name {label!r} is there twice; a dict from name to opponent tells them apart")
    setup = Setup(game, tuple(entrant for entrant, _ in entered), seed, episode, plain)
    tallies = [
        Tally(setup, i, j, limits.deals, chunk_size(entered[i][1], entered[j][1]), limits.until_ci)
        for i, j in itertools.combinations(range(len(entered)), 2)
    ]
    store = Store(limits.path, "ladder", tallies, limits, lambda: _saved_result(setup, tallies))
    store.load()
    play_all(tallies, limits, store, progress)
    return _result(setup, tallies)


def _unnamed(opponents: Sequence[Any]) -> list[tuple[None, Any]]:
    if not is_list(opponents):
        raise OptionError(f"opponents={opponents!r}: expected a list of opponents, or a dict from name to opponent")
    return [(None, source) for source in opponents]


def _saved_result(setup: Setup, tallies: Sequence[Tally]) -> dict[str, Any] | None:
    return _result(setup, tallies).to_dict() if all(tally.finished for tally in tallies) else None


def _result(setup: Setup, tallies: Sequence[Tally]) -> LadderResult:
    ratings, errors = fit_ratings(len(setup.entrants), [tally.samples() for tally in tallies])
    return LadderResult(
        game=setup.game,
        names=tuple(entrant.label for entrant in setup.entrants),
        seed=setup.seed,
        episode=setup.episode,
        options=setup.options,
        duels=tuple(tally.result() for tally in tallies),
        ratings=tuple(ratings.tolist()),
        standard_errors=tuple(errors.tolist()),
    )
