"""The last hand of Scopa-bazzica: counting tells the other one, and play is perfect."""

from typing import Any

from settebello.bazzica.solver import ILLEGAL, last_hand_values
from settebello.game import fill_unknown, prepare
from settebello.jit import call, kernel
from settebello.opponents.flat import NO_VALUE, WORLD, best_action


@kernel
def choose_last_hand(
    known: Any, seat: int, tables: Any, scratch: Any, memory: Any, utility: Any, policy: Any, values: Any, word: Any
) -> int:
    """The best action in the last hand; between actions that are worth the same, what "medium" plays if it is one of them."""
    prepare(known[0], seat, tables[0])
    scratch[WORLD] = known[0]
    fill_unknown(scratch[WORLD], seat, tables[0], word)
    last_hand_values(scratch[WORLD], memory, utility, values)
    for action in range(len(values)):
        if values[action] == ILLEGAL:
            values[action] = NO_VALUE
    return best_action(values, call(policy, known[0], word))
