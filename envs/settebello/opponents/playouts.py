"""What each action is worth where the whole game is known: played out by rules of thumb, many games at once. For training."""

from typing import Any

import numpy as np
import numpy.typing as npt

from settebello.batch import BatchEnv, check_seed
from settebello.bazzica.state import NUM_HANDS
from settebello.bits import advance, mix, seed_stream
from settebello.game import get_game, play_out, write_mask
from settebello.jit import kernel
from settebello.opponents.compiled import check_rows, policy
from settebello.opponents.flat import MAX_ACTIONS
from settebello.options import check_int
from settebello.utility import POINT_UTILITY


@kernel
def _play_out_all(
    states: Any, rows: Any, scratch: Any, policy: Any, horizon: int, utility: Any, seed: int, values: Any
) -> None:
    mask8 = np.zeros(MAX_ACTIONS, np.int8)
    mask64 = mask8.view(np.uint64)
    for k in range(len(rows)):
        state = states[rows[k]]
        write_mask(state, mask64)
        word = mix(advance(seed_stream(seed, rows[k])))  # the same for all actions: what differs is what they do
        sign = 1.0 if state["turn"] % 2 == 0 else -1.0
        for action in range(values.shape[1]):
            if mask8[action]:
                scratch[0] = state
                values[k, action] = sign * play_out(scratch[0], action, policy, horizon, utility, word)
            else:
                values[k, action] = 0.0


def playout_values(batch: BatchEnv, rows: npt.NDArray[np.integer[Any]], seed: int, horizon: int = 6) -> npt.NDArray[np.float32]:
    """Points of the deal that each action of the seat to move would bring if all played on as "medium" does.

    The games themselves are played out, with the cards that are hidden from the seat: each is a draw of the worlds that agree
    with what it knows, so that the mean over positions that look alike to it is what its action is worth (against "medium").

    Args:
        batch: the games.
        rows: ``(n,)``, rows of it.
        seed: of the play-outs.
        horizon: bazzica: hands that are played out, the one on the table included; the rest of the deal is estimated.

    Returns:
        float32 ``(n, num_actions)``, points of the seat's side minus the other's; 0 where not legal.

    Raises:
        OptionError: rows are not whole numbers in 0..N-1, the seed is not in 0..2**63-1, or the horizon not in 1..6.
    """
    game, horizon = get_game(batch.game), check_int("horizon", horizon, 1, NUM_HANDS)
    chosen = check_rows(batch, rows)
    values = np.zeros((len(chosen), game.num_actions), np.float32)
    scratch = np.zeros(1, game.dtype)
    _play_out_all(batch._states, chosen, scratch, policy(game.id, "medium"), horizon, POINT_UTILITY, check_seed(seed), values)
    return values
