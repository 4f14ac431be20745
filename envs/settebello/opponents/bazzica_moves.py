"""The last hand of Scopa-bazzica: all cards are known, and play is perfect."""

from typing import Any

import numpy as np

from settebello.bazzica.solver import ILLEGAL, last_hand_values
from settebello.jit import call, kernel
from settebello.opponents.flat import NO_VALUE, best_action


@kernel
def choose_known(states: Any, seat: int, memory: Any, utility: Any, policy: Any, values: Any, word: Any) -> int:
    """The best action in the first of full records, in a last hand.

    Between actions that are worth the same, what the policy plays, if it is one of them.
    """
    last_hand_values(states[0], memory, utility, values)
    for action in range(len(values)):
        if values[action] == ILLEGAL:
            values[action] = NO_VALUE
    return best_action(values, call(policy, states[0], word))


@kernel
def leaf_values(states: Any, seat: int, memory: Any, values: Any, known: Any) -> None:
    """What each deal has brought a seat, own points minus the other's, where it is over; see Tressette's."""
    sign = 1.0 if seat == 0 else -1.0
    for i in range(len(states)):
        state = states[i]
        known[i] = state["over"] != 0
        values[i] = 0.0
        if known[i]:
            values[i] = sign * (np.float64(state["deal_points"][0]) - np.float64(state["deal_points"][1]))
