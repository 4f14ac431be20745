"""What networks of Scopa-bazzica are shown besides the observation: what each card would take, what "medium" thinks of it.

Which table cards a card takes is a search over sums and differences, hard to learn and quickly computed. All of it follows from
what the seat to move knows.
"""

from typing import Any, Final

import numpy as np

from settebello.bazzica.capture import value_of
from settebello.bazzica.heuristic import (
    MAY_TAKE,
    SEVENS,
    WEIGHTS,
    best_capture,
    card_worths,
    likely_values,
    medium_action,
    value_gain,
    values_on,
)
from settebello.bazzica.observe import unseen_cards
from settebello.bazzica.rules import NUM_ACTIONS
from settebello.bazzica.state import NO_CARD
from settebello.bits import lowest_bit, popcount
from settebello.cards import DENARI_MASK, NUM_CARDS, NUM_RANKS, RANK_MASK, bit_of
from settebello.jit import kernel
from settebello.spec import Field, row_size

ESTIMATE_STEPS: Final = 20  # a point
MOST: Final = 127
NOTHING: Final = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)  # worths of cards; with them a gain is 0 for a capture, 1 for a scopa

FIELDS: Final = (
    Field("takes", NUM_CARDS, "by own card: table cards that it takes", NUM_CARDS),
    Field("takes_denari", NUM_CARDS, "by own card: denari among them", NUM_RANKS),
    Field("takes_sevens", NUM_CARDS, "by own card: sevens among them", 4),
    Field("sweeps", NUM_CARDS, "by own card: whether it clears the table"),
    Field("can_take", NUM_CARDS, "by own card: unseen cards that can take from the table it leaves", NUM_CARDS),
    Field("can_sweep", NUM_CARDS, "by own card: unseen cards that can clear the table it leaves", NUM_CARDS),
    Field("estimate", NUM_CARDS, "by own card: what `medium` thinks it brings, in twentieths of a point", MOST, -MOST),
    Field("medium_play", NUM_CARDS, "the action of `medium`, one-hot over this part and the next two"),
    Field("medium_pick", NUM_CARDS, "see `medium_play`"),
    Field("medium_option", NUM_ACTIONS - 2 * NUM_CARDS, "see `medium_play`"),
)
HINTS_SIZE: Final = row_size(FIELDS)
MEDIUM: Final = HINTS_SIZE - NUM_ACTIONS


@kernel
def write_hints(state: Any, row: Any) -> None:
    """Write the hints for the seat to move into a row (HINTS_SIZE,) int8; all 0 when the game is over."""
    for i in range(HINTS_SIZE):
        row[i] = 0
    if state["over"]:
        return
    row[MEDIUM + medium_action(state, np.uint64(0))] = 1
    if state["pending"] != NO_CARD:
        return
    seat: Any = np.int64(state["turn"])
    worths = card_worths(state, WEIGHTS)
    ranked = np.empty((2, NUM_RANKS))
    unseen = unseen_cards(state, seat)
    likely = likely_values(state, seat, unseen)
    first: Any = np.int64(state["jolly"][0])
    second: Any = np.int64(state["jolly"][1])
    hand = state["hand"][seat]
    while hand != 0:
        card = lowest_bit(hand)
        hand &= hand - 1
        score, cards = best_capture(state, seat, card, first, second, likely, unseen, worths, WEIGHTS, ranked)
        left = state["table"] & ~cards
        counts = state["table_counts"]
        taken = cards
        while taken != 0:
            counts -= np.int64(1) << (4 * (value_of(state, lowest_bit(taken)) - 1))
            taken &= taken - 1
        if cards == 0:
            left |= bit_of(card)
            counts += np.int64(1) << (4 * (value_of(state, card) - 1))
        can_take = np.int64(0)
        can_sweep = np.int64(0)
        taking = MAY_TAKE[values_on(left, first, second)]
        while taking != 0:
            value = lowest_bit(taking) + 1
            taking &= taking - 1
            others = popcount(unseen & RANK_MASK[value - 1])
            if others == 0:
                continue
            gain = value_gain(left, counts, value, first, second, NOTHING, 1.0)
            if gain >= 0.0:
                can_take += others
            if gain > 0.0:
                can_sweep += others
        row[card] = popcount(cards)
        row[NUM_CARDS + card] = popcount(cards & DENARI_MASK)
        row[2 * NUM_CARDS + card] = popcount(cards & SEVENS)
        row[3 * NUM_CARDS + card] = left == 0
        row[4 * NUM_CARDS + card] = can_take
        row[5 * NUM_CARDS + card] = can_sweep
        row[6 * NUM_CARDS + card] = np.int64(max(-MOST, min(MOST, np.floor(ESTIMATE_STEPS * score + 0.5))))
