"""Tressette with open cards: the perfect ending of two players, and few cards left with four."""

from typing import Any

import numpy as np

from settebello.cards import NUM_CARDS
from settebello.game import prepare
from settebello.jit import call, kernel
from settebello.opponents.flat import NO_VALUE, WORLD, best_action, best_by_play_out, draw_world
from settebello.tressette.open_hands import open_values
from settebello.tressette.rules import all_thirds, side_of
from settebello.tressette.solver import ending_value, ending_values, is_ending
from settebello.utility import MAX_POINTS


@kernel(inline=True)
def thirds_worth(state: Any, seat: int, own: int, total: int, utility: Any) -> float:
    """What it is worth to the seat's side to end the deal with so many of ``total`` thirds (the last trick is 3 of them)."""
    other = (total - own) // 3
    own //= 3
    side = side_of(seat)
    first = (own if side == 0 else other) + np.int64(state["deal_points"][0])  # napoletane
    second = (other if side == 0 else own) + np.int64(state["deal_points"][1])
    value = utility[min(MAX_POINTS, first), min(MAX_POINTS, second)]
    return value if side == 0 else -value


@kernel
def choose_known(states: Any, seat: int, memory: Any, utility: Any, policy: Any, values: Any, word: Any) -> int:
    """The best card in the first of full records: of two players with no stock left, or of four players, all hands open.

    Between cards that are worth the same, see ``best_by_play_out``.
    """
    state = states[0]
    thirds = np.empty(NUM_CARDS, np.int64)
    if state["players"] == 2:
        ending_values(state, memory, thirds)
    else:
        open_values(state, memory, thirds)
    total = all_thirds(state)
    for card in range(NUM_CARDS):
        values[card] = NO_VALUE
        if (state["legal"] >> card) & 1:
            values[card] = thirds_worth(state, seat, thirds[card], total, utility)
    return best_by_play_out(states, values, policy, utility, word)


@kernel
def leaf_values(states: Any, seat: int, memory: Any, values: Any, known: Any) -> None:
    """What each deal has brought the seat's side so far, own points minus the others'; with its rest where that is exact.

    Args:
        states: N full records of single deals.
        seat: that seat.
        memory: table of the solver.
        values: float64 ``(N,)``, filled.
        known: bool ``(N,)``, filled: whether the rest is in it, as the deal is over or can be solved.
    """
    sign = 1.0 if side_of(seat) == 0 else -1.0
    total = all_thirds(states[0])
    for i in range(len(states)):
        state = states[i]
        result = np.float64(state["deal_points"][0]) - np.float64(state["deal_points"][1])
        known[i] = state["over"] != 0
        if is_ending(state):
            final = ending_value(state, memory)
            rest = np.float64(final // 3 - (total - final) // 3)
            result += rest if side_of(np.int64(state["turn"])) == 0 else -rest
            known[i] = True
        values[i] = sign * result


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
    utility: Any,
    policy: Any,
    values: Any,
    word: Any,
) -> int:
    """The card of four players that is best on average over worlds, with perfect play of all open hands in each.

    Perfect information Monte Carlo (Ginsberg 2001, "GIB: Imperfect information in a computationally challenging game").
    """
    prepare(known[0], seat, tables[0])
    legal = known[0]["legal"]
    thirds = np.empty(NUM_CARDS, np.int64)
    total = all_thirds(known[0])
    for card in range(NUM_CARDS):
        values[card] = 0.0 if (legal >> card) & 1 else NO_VALUE
    for _ in range(worlds):
        word = draw_world(known, seat, tries, doubt, policy, tables, scratch, word)
        open_values(scratch[WORLD], memory, thirds)
        for card in range(NUM_CARDS):
            if (legal >> card) & 1:
                values[card] += thirds_worth(known[0], seat, thirds[card], total, utility) / worlds
    return best_action(values, call(policy, known[0], word))
