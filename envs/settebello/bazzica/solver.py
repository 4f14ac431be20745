"""Exact play of the last hand of a Scopa-bazzica deal, where counting tells each seat the other's cards.

Minimax with alpha-beta bounds (Knuth and Moore, 1975) over everything the rules allow, played by the rules' own kernels on
copies of the record: baptisms, declarations, plays, choices of captures, the sweep and the count.
"""

import dataclasses
from typing import Any, Final

import numba
import numpy as np
import numpy.typing as npt

from settebello.bazzica.rules import BAPTISE_ACTION, NUM_ACTIONS, PICK, step
from settebello.bazzica.sample import fill_first
from settebello.bazzica.state import HAND_SIZE, NUM_HANDS, NUM_SEATS, STATE_DTYPE
from settebello.bits import lowest_bit
from settebello.errors import OptionError
from settebello.jit import kernel
from settebello.options import check_int

ILLEGAL: Final = -np.inf  # the value of an action that is not legal

# Records a search works in, one for each action on a line of play: each seat baptises at most twice, declares once and plays
# three cards. A capture takes at most ten cards, as their values add up to at most twice ten; the last one is never picked.
MAX_PICKS: Final = 9
SCRATCH_SIZE: Final = 1 + NUM_SEATS * (2 + 1 + HAND_SIZE * (1 + MAX_PICKS))

_SIGNATURE: Final = numba.float64(
    numba.from_dtype(STATE_DTYPE)[::1], numba.int64, numba.float64, numba.float64, numba.float64[:, ::1]
)


@kernel(inline=True)
def final_worth(state: Any, utility: Any) -> float:
    """What the counted deal is worth to seat 0: the table's entry, or the difference of points where the table is empty."""
    first = np.int64(state["deal_points"][0])
    second = np.int64(state["deal_points"][1])
    if utility.size == 0:
        return float(first - second)
    return utility[min(first, utility.shape[0] - 1), min(second, utility.shape[1] - 1)]


@kernel(inline=True)
def next_action(state: Any, word: int, rest: int) -> tuple[int, int, int]:
    """The legal action after those gone through, baptisms and the declaration first; (-1, ..) when there is none."""
    while rest == 0:
        word -= 1
        if word < 0:
            return -1, word, rest
        rest = state["legal"][word]
    first = np.int64(0) if word == 0 else np.int64(PICK) if word == 1 else np.int64(BAPTISE_ACTION)
    return first + lowest_bit(rest), word, rest & (rest - 1)


@kernel(signature=_SIGNATURE)
def search(scratch: Any, depth: int, alpha: float, beta: float, utility: Any) -> float:
    """What the position ``scratch[depth]`` is worth to seat 0 with best play; exact between alpha and beta, else a bound."""
    state = scratch[depth]
    if state["over"]:
        return final_worth(state, utility)
    maximising = state["turn"] == 0
    best = -np.inf if maximising else np.inf
    action, word, rest = next_action(state, 3, 0)
    while action >= 0:
        scratch[depth + 1] = state
        step(scratch[depth + 1], action)
        value = search(scratch, depth + 1, alpha, beta, utility)
        if maximising:
            best = max(best, value)
            alpha = max(alpha, value)
        else:
            best = min(best, value)
            beta = min(beta, value)
        if alpha >= beta:
            break
        action, word, rest = next_action(state, word, rest)
    return best


@kernel
def last_hand_values(state: Any, scratch: Any, utility: Any, values: Any) -> None:
    """The worth of each legal action of the seat to move in the last hand, with best play by both who know all cards.

    Args:
        state: a full record of the last hand, not over; it is not changed.
        scratch: array of ``SCRATCH_SIZE`` records to work in.
        utility: C-contiguous float64 ``(rows, columns)``: what it is worth to seat 0 to end the deal with deal points
            ``row`` for seat 0 and ``column`` for seat 1; what is outside counts as the last row or column. Of size 0: the
            difference of the deal points.
        values: float64 ``(NUM_ACTIONS,)``, filled: the worth to the seat to move, for seat 1 that is minus the utility;
            ``ILLEGAL`` where an action is not legal.
    """
    values[:] = ILLEGAL
    sign = 1.0 if state["turn"] == 0 else -1.0
    scratch[0] = state
    scratch[0]["single_deal"] = 1  # the count ends the game, whatever the score
    action, word, rest = next_action(state, 3, 0)
    while action >= 0:
        scratch[1] = scratch[0]
        step(scratch[1], action)
        values[action] = sign * search(scratch, 1, -np.inf, np.inf, utility)
        action, word, rest = next_action(state, word, rest)


@kernel
def _solve(states: Any, scratch: Any, utility: Any, values: Any) -> None:
    last_hand_values(states[0], scratch, utility, values)


def new_scratch() -> npt.NDArray[Any]:
    """Records for ``last_hand_values`` to work in."""
    return np.zeros(SCRATCH_SIZE, STATE_DTYPE)


@dataclasses.dataclass(frozen=True)
class LastHand:
    """Exact result of a position of the last hand, from the side of the seat to move.

    Attributes:
        value: worth of best play: deal points minus the other seat's, or by the utility given.
        best: the actions that reach it, sorted.
        values: worth of each legal action.
    """

    value: float
    best: tuple[int, ...]
    values: dict[int, float]


def solve(states: np.ndarray[Any, Any], seat: int, utility: npt.ArrayLike | None = None) -> LastHand:
    """Best play in the last hand of a deal.

    Args:
        states: array of one record, whole or redacted for ``seat``, whose unseen cards are the other hand; not changed.
        seat: the seat that knows it. The result is for the seat to move, whichever that is.
        utility: ``(rows, columns)`` of finite numbers: what it is worth to seat 0 to end the deal with deal points ``row``
            for seat 0 and ``column`` for seat 1 (what is outside counts as the last row or column). None: the points.

    Raises:
        OptionError: there is no such seat, the record is not one of a last hand being played, or the utility is no such table.
    """
    seat = check_int("seat", seat, 0, NUM_SEATS - 1)
    if not isinstance(states, np.ndarray) or states.dtype != STATE_DTYPE or states.shape != (1,):
        raise OptionError(f"states={states!r}: expected an array of one bazzica record")
    state = states[0]
    if state["over"] or state["hand_number"] != NUM_HANDS:
        place = "the game is over" if state["over"] else f"it is hand {state['hand_number']}"
        raise OptionError(f"states: expected a position of the last hand (hand {NUM_HANDS} of the deal), but {place}")
    table = np.zeros((0, 0)) if utility is None else _checked(utility)
    full = states.copy()
    fill_first(full, seat, np.uint64(0))  # all unseen cards are in the other hand: nothing is drawn
    values = np.empty(NUM_ACTIONS)
    _solve(full, new_scratch(), table, values)
    legal = [int(action) for action in np.flatnonzero(values != ILLEGAL)]
    best = float(values.max())
    return LastHand(
        value=best,
        best=tuple(action for action in legal if values[action] == best),
        values={action: float(values[action]) for action in legal},
    )


def _checked(utility: npt.ArrayLike) -> npt.NDArray[np.float64]:
    try:
        table = np.ascontiguousarray(utility, np.float64)
    except (TypeError, ValueError) as error:
        raise OptionError(f"utility={utility!r}: expected a table of numbers") from error
    if table.ndim != 2 or table.size == 0 or not np.isfinite(table).all():
        raise OptionError(f"utility of shape {table.shape}: expected finite numbers in two dimensions, at least one each way")
    return table
