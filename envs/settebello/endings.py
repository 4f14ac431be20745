"""Two-player Tressette with the stock empty, many games at once: the best cards, or the end of the deal there and then."""

import threading
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from settebello.batch import BatchEnv, end_step, show
from settebello.cards import NUM_CARDS
from settebello.errors import OptionError
from settebello.game import GAMES, fill_unknown, prepare
from settebello.information import Information
from settebello.jit import kernel
from settebello.tressette.solver import ending_values, is_ending, new_table, settle

GAME: Final = "tressette-2p"


@kernel
def _settle_games(
    states: Any, table: Any, rewards: Any, dones: Any, scores: Any, seats: Any, rows8: Any, rows64: Any, masks64: Any
) -> None:
    for i in range(len(states)):
        state = states[i]
        if not is_ending(state):
            continue
        settle(state, table)
        end_step(state, i, rewards, dones, scores)
        seats[i] = state["turn"]
        show(state, rows8[i], rows64[i], masks64[i])


@kernel
def _best_cards(states: Any, rows: Any, table: Any, actions: Any) -> None:
    values = np.empty(NUM_CARDS, np.int64)
    for k in range(len(rows)):
        state = states[rows[k]]
        actions[k] = -1
        if is_ending(state):
            ending_values(state, table, values)
            actions[k] = np.argmax(values)


@kernel
def _deduce(known: Any, seat: int, tables: Any) -> None:
    """Put into the first record the hand that its seat, with no stock left, can work out."""
    prepare(known[0], seat, tables[0])
    fill_unknown(known[0], seat, tables[0], np.uint64(0))


class _Scratch(threading.local):
    """Scratch memory, of each thread its own: kernels run side by side."""

    def __init__(self) -> None:
        self.table = new_table()
        self.tables = GAMES[GAME].new_tables()


_SCRATCH: Final = _Scratch()


def settle_endings(batch: BatchEnv) -> None:
    """End each deal of two-player Tressette whose stock is empty, with the points that perfect play of both would bring.

    Both seats know all cards there. To be called after each step of the batch: in the rows that end here, the reward and the
    end that the step returned (the same arrays) become those of the whole deal, and the row shows its next game.

    Raises:
        OptionError: the games are other ones, or their episodes are matches.
    """
    if batch.game != GAME or not batch.options.record()[0]["single_deal"]:
        raise OptionError(f"settle_endings: expected games of 'tressette-2p' with episode='deal', got {batch.game!r}")
    _settle_games(
        batch._states,
        _SCRATCH.table,
        batch._reward,
        batch._done,
        batch.final_score,
        batch.seat,
        batch.observation,
        batch._rows64,
        batch._masks64,
    )


def ending_actions(batch: BatchEnv, rows: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
    """A best card for the seat to move where the stock of two-player Tressette is empty: what it saw tells the hidden hand.

    Args:
        batch: games of ``tressette-2p``.
        rows: ``(n,)``, rows of it.

    Returns:
        int64 ``(n,)``, by row the first of the cards that are best in points of the deal, -1 where there is still a stock.

    Raises:
        OptionError: the games are other ones.
    """
    if batch.game != GAME:
        raise OptionError(f"ending_actions: expected games of {GAME!r}, got {batch.game!r}")
    actions = np.zeros(len(rows), np.int64)
    _best_cards(batch._states, np.asarray(rows, np.int64), _SCRATCH.table, actions)
    return actions


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
    record, seat, action = information.record(), information.seat, np.full(1, -1, np.int64)
    if int(record[0]["turn"]) != seat:
        raise OptionError(f"seat {seat} is not to move")
    if record[0]["stock_start"] == record[0]["deck_size"]:
        _deduce(record, seat, _SCRATCH.tables)
        _best_cards(record, np.zeros(1, np.int64), _SCRATCH.table, action)
    return int(action[0])
