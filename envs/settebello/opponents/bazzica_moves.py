"""The last hand of Scopa-bazzica: all cards are known, and play is perfect."""

from typing import Any

from settebello.bazzica.solver import ILLEGAL, last_hand_values
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
    """As Tressette's, of deals that were not in their last hand a move before: nothing of them is known."""
    values[:] = 0.0
    known[:] = False
