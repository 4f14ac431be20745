"""Sampled worlds of Scopa-bazzica: how plausible the play of the other seat is in one, and playing it out."""

import math
from typing import Any, Final

import numpy as np

from settebello.bazzica.rules import BAPTISE_ACTION, BEST_PRIMIERA, DECLARE_ACTION, PICK, distribute, step
from settebello.bazzica.sample import FIRST_EVENT
from settebello.bazzica.state import BAPTISE, CAPTURED, DECLARE, NO_CARD, SCOPA, SWEPT
from settebello.bits import advance, lowest_bit, popcount
from settebello.cards import DENARI_MASK, NUM_RANKS, NUM_SUITS, SETTEBELLO, bit_of
from settebello.jit import call, kernel
from settebello.utility import deal_worth, expected_worth

# By hand 1..6 at its start: how surely a lead of one card, of one denari, of one point of primiera so far decides that point
# (tanh of slope times lead, fitted to the outcomes of 230,000 deals between "medium" players), and points of scope and
# declarations still to come for each seat.
CARTE_SLOPE: Final = np.array([0.0, 0.0, 0.084, 0.093, 0.104, 0.116, 0.144])
DENARI_SLOPE: Final = np.array([0.0, 0.0, 0.248, 0.276, 0.308, 0.343, 0.426])
PRIMIERA_SLOPE: Final = np.array([0.0, 0.0, 0.008, 0.015, 0.032, 0.061, 0.116])
FUTURE: Final = np.array([0.0, 0.0, 3.85, 3.04, 2.22, 1.42, 0.65])


@kernel
def plausibility(world: Any, replayed: Any, seat: int, doubt: float, policy: Any, word: Any) -> float:
    """Play the deal of a world again and compare what the other seat did in this hand with what a policy would have done.

    Hands that are over are known, whatever the world; only choices of the hand on the table say something about it.

    Args:
        world: a full record.
        replayed: a copy of it, which is played with.
        seat: whose own play says nothing.
        doubt: in 0..1, what each choice that the policy would not have made multiplies the result by.
        policy: address of a kernel ``(record, word) -> action``.
        word: of the random stream that the policy is given.

    Returns:
        ``doubt ** (number of such choices)``.
    """
    distribute(replayed)
    result = 1.0
    size = np.int64(world["register_size"])
    i = np.int64(FIRST_EVENT)
    while i < size:
        code = np.int64(world["register"][i])
        i += 1
        if CAPTURED <= code < BAPTISE or code >= SCOPA:
            continue  # follows from a play
        if code < CAPTURED:
            action = code
        elif code < DECLARE:
            action = BAPTISE_ACTION + code - BAPTISE
        else:
            action = np.int64(DECLARE_ACTION)
        chosen = replayed["turn"] != seat and replayed["hand_number"] == world["hand_number"]
        if chosen and call(policy, replayed, word) != action:
            result *= doubt
        step(replayed, action)
        if replayed["pending"] == NO_CARD:
            continue
        captured = np.int64(0)
        k = i
        while k < size and CAPTURED <= np.int64(world["register"][k]) < SWEPT:
            captured |= bit_of(np.int64(world["register"][k]) - CAPTURED)
            k += 1
        if captured == 0:  # the capture is still being chosen
            rest = world["picked"]
            while rest != 0:
                step(replayed, PICK + lowest_bit(rest))
                rest &= rest - 1
            break
        while replayed["pending"] != NO_CARD:
            step(replayed, PICK + lowest_bit(replayed["legal"][1] & captured))
    return result


@kernel
def expected_points(state: Any, seat: int) -> float:
    """What a seat may expect to have at the end of the deal, at the start of one of its hands 2..6."""
    own = state["taken"][seat]
    other = state["taken"][1 - seat]
    hand = np.int64(state["hand_number"])
    cards = np.float64(popcount(own) - popcount(other))
    denari = np.float64(popcount(own & DENARI_MASK) - popcount(other & DENARI_MASK))
    best = np.float64(best_cards(own) - best_cards(other))
    settebello = np.float64(((own >> SETTEBELLO) & 1) - ((other >> SETTEBELLO) & 1))
    leads = (
        math.tanh(CARTE_SLOPE[hand] * cards)
        + math.tanh(DENARI_SLOPE[hand] * denari)
        + math.tanh(PRIMIERA_SLOPE[hand] * best)
        + settebello
    )
    return state["scope"][seat] + state["declarations"][seat] + FUTURE[hand] + 2.0 + 0.5 * leads


@kernel(inline=True)
def best_cards(taken: int) -> int:
    """Primiera so far: the best card of each suit added up, 0 for a suit without one."""
    total = np.int64(0)
    for suit in range(NUM_SUITS):
        total += np.int64(BEST_PRIMIERA[(taken >> (NUM_RANKS * suit)) & DENARI_MASK])
    return total


@kernel
def play_out(state: Any, action: int, policy: Any, horizon: int, utility: Any, word: Any) -> float:
    """Take an action and play on by a policy; what it is worth to side 0.

    Args:
        state: a full record, changed.
        action: legal action of the seat to move.
        policy: address of a kernel ``(record, word) -> action``.
        horizon: how many hands are played to their end, this one included; then the rest of the deal is estimated.
        utility: see ``settebello.utility``.
        word: of the random stream.
    """
    state["single_deal"] = 1
    last_hand = np.int64(state["hand_number"]) + horizon - 1
    step(state, action)
    while not state["over"]:
        if state["hand_number"] > last_hand:
            return expected_worth(expected_points(state, 0), expected_points(state, 1), utility)
        word = advance(word)
        step(state, call(policy, state, word))
    return deal_worth(state, utility)
