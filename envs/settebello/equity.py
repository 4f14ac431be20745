"""Match equity: the chance to win a match from a score, between equal players.

Computed by dynamic programming from the distribution of the result of one deal, as match equity tables are in backgammon
(N. Zadeh, On Doubling in Tournament Backgammon, Management Science 23, 1977). The distributions lie in
``data/deal_results.json``: those of two "medium" players that look at the points of the deal alone, under the default options
but for ``napoletana``; measured by ``settebello equity --measure``.
"""

import functools
import json
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from settebello.batch import BatchEnv
from settebello.errors import OptionError
from settebello.game import get_game
from settebello.options import check_choice, check_int

# Measured apart: (game, whether the option napoletana is on).
VARIANTS: Final = (
    ("tressette-2p", False),
    ("tressette-2p", True),
    ("tressette-4p", False),
    ("tressette-4p", True),
    ("bazzica", False),
)
DATA_FILE: Final = Path(__file__).with_name("data") / "deal_results.json"
MAX_TARGET: Final = 100
MAX_SCORE: Final = 1000


def variant_name(game: str, napoletana: bool) -> str:
    """Key of a variant in the data file."""
    return game + ("+napoletana" if napoletana else "")


@functools.cache
def deal_distribution(game: str, napoletana: bool = False) -> npt.NDArray[np.float64]:
    """Distribution of the result of one deal between equal players.

    Returns:
        float64 ``(m, n)``, sums to 1: probability that the dealer's side makes i and the other side j points.
    """
    entry = json.loads(DATA_FILE.read_text(encoding="utf-8"))[variant_name(game, napoletana)]
    dealer, other, counts = np.array(entry["results"]).T
    size = 1 + max(dealer.max(), other.max())
    table = np.zeros((size, size))
    table[dealer, other] = counts / counts.sum()
    table.setflags(write=False)
    return table


@functools.lru_cache(maxsize=64)
def equity_table(game: str, target: int, napoletana: bool = False) -> npt.NDArray[np.float64]:
    """Chance to win from every score at the start of a deal.

    Returns:
        float64 ``(2, size, size)``: ``[0, a, b]`` for the side that deals next when it has a points and the other side b,
        ``[1, a, b]`` for a side with a points when the other one, with b, deals next. ``size`` covers every score that one
        deal can lead to from below the target.
    """
    results = deal_distribution(game, napoletana)
    by_dealer = (results, results.T)  # [i, j]: the side in question makes i, the other j
    size = target + len(results)
    first, second = np.arange(size)[:, None], np.arange(size)
    table = np.zeros((2, size, size))
    table[:] = (first > second) & (first >= target)
    # RULES Match: level scores past the target play on. From all of them alike: who makes more in a deal has won.
    level = _solve([float(np.tril(chances, -1).sum()) for chances in by_dealer], float(np.trace(results)))
    for score in range(target, size):
        table[:, score, score] = level
    for total in range(2 * target - 2, -1, -1):
        for a in range(max(0, total - target + 1), min(target, total + 1)):
            b = total - a
            known = []
            for dealer, chances in enumerate(by_dealer):  # the other side deals next, in four-player games too
                after = table[1 - dealer, a : a + len(results), b : b + len(results)]  # a deal without points: still 0
                known.append(float((chances * after).sum()))
            table[:, a, b] = _solve(known, float(results[0, 0]))
    table.setflags(write=False)
    return table


def _solve(known: list[float], again: float) -> tuple[float, float]:
    """x = known[0] + again * y, y = known[1] + again * x: with chance ``again`` all is as before, but the other one deals."""
    x = (known[0] + again * known[1]) / (1 - again * again)
    return x, known[1] + again * x


def match_equity(game: str, score_a: int, score_b: int, dealer: int, target: int, *, napoletana: bool = False) -> float:
    """Probability that side a wins the match, between equal players, at the start of a deal.

    Args:
        game: ``tressette-2p``, ``tressette-4p`` or ``bazzica``.
        score_a: match points of side a, 0..1000.
        score_b: of side b.
        dealer: who deals next: 0 for side a, 1 for side b.
        target: points that end the match, 1..100.
        napoletana: whether that option of Tressette is on.

    Returns:
        A probability; 1.0 or 0.0 where the match is over.

    Raises:
        OptionError: an argument is not allowed.
    """
    game = get_game(game).id
    score_a, score_b = check_int("score_a", score_a, 0, MAX_SCORE), check_int("score_b", score_b, 0, MAX_SCORE)
    check_choice("dealer", dealer, (0, 1))
    target = check_int("target", target, 1, MAX_TARGET)
    check_choice("napoletana", napoletana, (False, True))
    if (game, napoletana) not in VARIANTS:
        raise OptionError(f"napoletana=True: {game} has no such option")
    if max(score_a, score_b) >= target and score_a != score_b:
        return float(score_a > score_b)
    scores = min(score_a, target), min(score_b, target)  # level scores past the target are all alike
    return float(equity_table(game, target, napoletana)[dealer][scores])


def batch_equity(batch: BatchEnv) -> npt.NDArray[np.float64]:
    """Probability of each row's match to be won by side 0, at the start of the deal on the table, between equal players.

    What the deal has brought so far (Tressette's napoletane) is not looked at: it counts when the deal ends.

    Args:
        batch: matches; of their options only ``target`` and ``napoletana`` are looked at.

    Returns:
        float64 ``(N,)``.
    """
    states = batch._states
    napoletana = batch.game != "bazzica" and bool(states[0]["napoletana"])
    target = int(states[0]["target"])
    before = states["score"].astype(np.int64) - states["deal_points"]
    first, second = np.minimum(before, target).T  # level scores past the target are all alike
    chances: npt.NDArray[np.float64] = equity_table(batch.game, target, napoletana)[states["dealer"] % 2, first, second]
    return chances


def deal_utility(
    game: str, scores: tuple[int, int], dealer: int, target: int, max_points: int, *, napoletana: bool = False
) -> npt.NDArray[np.float64]:
    """What each result of a deal is worth in a match.

    Args:
        game: id of the game.
        scores: match points of sides 0 and 1 when the deal began.
        dealer: side that deals it.
        target: points that end the match.
        max_points: deal points beyond count as this many.
        napoletana: whether that option of Tressette is on.

    Returns:
        float64 ``(max_points + 1, max_points + 1)``: the chance that side 0 wins the match after making i points in the whole
        deal and the other side j.
    """
    table = equity_table(game, target, napoletana)[1 - dealer]
    points = np.arange(max_points + 1)
    first, second = np.meshgrid(scores[0] + points, scores[1] + points, indexing="ij")
    over = (np.maximum(first, second) >= target) & (first != second)
    inside = table[np.minimum(first, target), np.minimum(second, target)]
    return np.where(over, (first > second).astype(np.float64), inside)
