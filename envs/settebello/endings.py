"""Two-player Tressette with the stock empty, many games at once: the end of the deal there and then."""

import threading
from typing import Any, Final

from settebello.batch import BatchEnv, end_step, show
from settebello.errors import OptionError
from settebello.jit import kernel
from settebello.tressette.solver import is_ending, new_table, settle

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


class _Scratch(threading.local):
    """Scratch memory, of each thread its own: kernels run side by side."""

    def __init__(self) -> None:
        self.table = new_table()


_SCRATCH: Final = _Scratch()


def settle_endings(batch: BatchEnv) -> None:
    """End each deal of two-player Tressette whose stock is empty, with the points that perfect play of both would bring.

    Both seats know all cards there; with more than ten in hand (option ``hand_size``) deals are played on. To be called after
    each step of the batch: in the rows that end here, the reward and the end that the step returned (the same arrays) become
    those of the whole deal, and the row shows its next game.

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
