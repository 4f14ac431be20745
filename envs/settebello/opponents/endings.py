"""Two-player Tressette with the stock empty, many games at once: the best cards, for networks that leave them to the solver."""

import threading
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from settebello.batch import BatchEnv
from settebello.cards import NUM_CARDS
from settebello.endings import GAME
from settebello.errors import OptionError
from settebello.game import GAMES
from settebello.information import Information
from settebello.jit import kernel
from settebello.opponents.compiled import check_rows, policy
from settebello.opponents.flat import NUM_SCRATCH, only_world
from settebello.opponents.tressette_moves import choose_known
from settebello.tressette.solver import is_ending, new_table
from settebello.utility import POINT_UTILITY

WORD: Final = np.uint64(0)  # of the random stream, which play-outs by "medium" do not draw from


@kernel
def _best_cards(states: Any, rows: Any, table: Any, utility: Any, policy: Any, values: Any, word: Any, actions: Any) -> None:
    for k in range(len(rows)):
        games = states[rows[k] : rows[k] + 1]
        actions[k] = -1
        if is_ending(games[0]):
            actions[k] = choose_known(games, int(games[0]["turn"]), table, utility, policy, values, word)


class _Scratch(threading.local):
    """Scratch memory, of each thread its own: kernels run side by side."""

    def __init__(self) -> None:
        self.table = new_table()
        self.tables = GAMES[GAME].new_tables()
        self.worlds = np.zeros(NUM_SCRATCH, GAMES[GAME].dtype)
        self.values = np.zeros(NUM_CARDS)


_SCRATCH: Final = _Scratch()


def _choose(states: npt.NDArray[Any], rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    actions, medium = np.zeros(len(rows), np.int64), policy(GAME, "medium")
    _best_cards(states, rows, _SCRATCH.table, POINT_UTILITY, medium, _SCRATCH.values, WORD, actions)
    return actions


def ending_actions(batch: BatchEnv, rows: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
    """A best card for the seat to move where the stock of two-player Tressette is empty: what it saw tells the hidden hand.

    Args:
        batch: games of ``tressette-2p``.
        rows: ``(n,)``, rows of it.

    Returns:
        int64 ``(n,)``, by row a card that is best in points of the deal, of equal ones the one that brings most if both play
        on as "medium" does; -1 where there is still a stock, or more than ten cards are in hand.

    Raises:
        OptionError: the games are other ones, or rows are not whole numbers in 0..N-1.
    """
    if batch.game != GAME:
        raise OptionError(f"ending_actions: expected games of {GAME!r}, got {batch.game!r}")
    return _choose(batch._states, check_rows(batch, rows))


def solve_or_choose(
    batch: BatchEnv,
    rows: npt.NDArray[np.integer[Any]],
    choose: Callable[[npt.NDArray[np.int8], npt.NDArray[np.int8]], npt.NDArray[np.int64]],
) -> npt.NDArray[np.int64]:
    """``ending_actions``; in the rows with a stock, what ``choose`` makes of their observations and masks."""
    actions = ending_actions(batch, rows)
    early = actions < 0
    if early.any():
        actions[early] = choose(batch.observation[rows[early]], batch.action_mask[rows[early]])
    return actions


def ending_action(information: Information) -> int:
    """As ``ending_actions``, for the one position of which a seat that is to move knows this.

    Raises:
        OptionError: it is of another game, or the seat is not to move.
    """
    if information.game != GAME:
        raise OptionError(f"ending_action: expected a game of {GAME!r}, got {information.game!r}")
    record, seat = information.record(), information.seat
    if int(record[0]["turn"]) != seat:
        raise OptionError(f"seat {seat} is not to move")
    if record[0]["stock_start"] < record[0]["deck_size"]:
        return -1
    worlds = only_world(record, seat, _SCRATCH.tables, _SCRATCH.worlds, WORD)
    return int(_choose(worlds, np.zeros(1, np.int64))[0])
