"""Tressette with open cards: the perfect ending of two players, and few cards left with four."""

from typing import Any

import numpy as np

from settebello.bits import lowest_bit
from settebello.cards import NUM_CARDS
from settebello.game import fill_unknown, prepare
from settebello.jit import call, kernel
from settebello.opponents.flat import NO_VALUE, WORLD, best_action, draw_world
from settebello.tressette.open_hands import open_values
from settebello.tressette.playout import thirds_worth
from settebello.tressette.solver import ending_values


@kernel
def choose_ending(
    known: Any, seat: int, tables: Any, scratch: Any, memory: Any, total: int, utility: Any, policy: Any, values: Any, word: Any
) -> int:
    """The best card of two players with the stock empty, when every card is known.

    Between cards that are worth the same, what "medium" plays, if it is one of them.
    """
    prepare(known[0], seat, tables[0])
    scratch[WORLD] = known[0]
    fill_unknown(scratch[WORLD], seat, tables[0], word)
    return choose_known(scratch[WORLD:], seat, memory, total, utility, policy, values, word)


@kernel
def choose_known(states: Any, seat: int, memory: Any, total: int, utility: Any, policy: Any, values: Any, word: Any) -> int:
    """The best card in the first of full records: of two players with no stock left, or of four players, all hands open."""
    state = states[0]
    thirds = np.empty(NUM_CARDS, np.int64)
    if state["players"] == 2:
        ending_values(state, memory, thirds)
    else:
        open_values(state, memory, thirds)
    sign = 1.0 if seat % 2 == 0 else -1.0
    for card in range(NUM_CARDS):
        values[card] = NO_VALUE
        if (state["legal"] >> card) & 1:
            values[card] = sign * thirds_worth(state, seat, thirds[card], total, utility)
    return best_action(values, call(policy, state, word))


@kernel
def choose_open(
    known: Any,
    seat: int,
    worlds: int,
    tries: int,
    doubt: float,
    tables: Any,
    scratch: Any,
    memory: Any,
    total: int,
    utility: Any,
    policy: Any,
    values: Any,
    word: Any,
) -> int:
    """The card of four players that is best on average over worlds, with perfect play of all open hands in each.

    Perfect information Monte Carlo (Ginsberg 2001, "GIB: Imperfect information in a computationally challenging game").
    """
    legal = known[0]["legal"]
    if legal & (legal - 1) == 0:
        return lowest_bit(legal)
    prepare(known[0], seat, tables[0])
    thirds = np.empty(NUM_CARDS, np.int64)
    sign = 1.0 if seat % 2 == 0 else -1.0
    for card in range(NUM_CARDS):
        values[card] = 0.0 if (legal >> card) & 1 else NO_VALUE
    for _ in range(worlds):
        word = draw_world(known, seat, tries, doubt, policy, tables, scratch, word)
        open_values(scratch[WORLD], memory, thirds)
        for card in range(NUM_CARDS):
            if (legal >> card) & 1:
                values[card] += sign * thirds_worth(known[0], seat, thirds[card], total, utility) / worlds
    return best_action(values, call(policy, known[0], word))
