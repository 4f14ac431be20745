"""The last hand of Scopa-bazzica: all cards are known, and play is perfect."""

from typing import Any

import numpy as np

from settebello.bazzica.solver import ILLEGAL, last_hand_values, search
from settebello.bazzica.state import NUM_HANDS
from settebello.jit import kernel
from settebello.opponents.flat import NO_VALUE, best_by_play_out


@kernel
def choose_known(states: Any, seat: int, memory: Any, utility: Any, policy: Any, values: Any, word: Any) -> int:
    """The best action in the first of full records, in a last hand.

    Between actions that are worth the same, see ``best_by_play_out``.
    """
    last_hand_values(states[0], memory, utility, values)
    for action in range(len(values)):
        if values[action] == ILLEGAL:
            values[action] = NO_VALUE
    return best_by_play_out(states, values, policy, utility, word)


@kernel
def leaf_values(states: Any, seat: int, memory: Any, values: Any, known: Any) -> None:
    """What each deal is worth to the seat, own points minus the other's, where that is exact: from its last hand on; else 0.

    Args:
        states: N full records of single deals.
        seat: that seat.
        memory: scratch space of the solver.
        values: float64 ``(N,)``, filled.
        known: bool ``(N,)``, filled: whether it is exact.
    """
    sign = 1.0 if seat == 0 else -1.0
    points = np.zeros((0, 0))
    for i in range(len(states)):
        state = states[i]
        known[i] = state["over"] != 0 or state["hand_number"] == NUM_HANDS
        values[i] = 0.0
        if known[i]:
            memory[0] = state
            values[i] = sign * search(memory, 0, -np.inf, np.inf, points)
