"""Sampled worlds of Tressette: how plausible the play of the others is in one, and playing it out."""

from typing import Any

import numpy as np

from settebello.bits import advance, popcount
from settebello.cards import suit_of
from settebello.jit import call, kernel
from settebello.tressette.rules import WORTH, distribute, step
from settebello.tressette.state import DRAW
from settebello.utility import deal_worth


@kernel
def plausibility(world: Any, replayed: Any, seat: int, doubt: float, policy: Any, word: Any) -> float:
    """Play the deal of a world again and compare what the other seats did with what a policy would have done.

    Args:
        world: a full record.
        replayed: a copy of it, which is played with.
        seat: whose own play says nothing.
        doubt: in 0..1, what each choice that the policy would not have made multiplies the result by.
        policy: address of a kernel ``(record, word) -> action``.
        word: of the random stream that the policy is given.

    Returns:
        ``doubt ** (number of such choices)``. Cards of one suit with equal worth count as the same choice.
    """
    distribute(replayed)
    result = 1.0
    for i in range(world["register_size"]):
        card = np.int64(world["register"][i])
        if card >= DRAW:  # only plays, which are the lowest codes, are choices
            continue
        if replayed["turn"] != seat and popcount(replayed["legal"]) > 1:
            expected = call(policy, replayed, word)
            if suit_of(expected) != suit_of(card) or WORTH[expected] != WORTH[card]:
                result *= doubt
        step(replayed, card)
    return result


@kernel
def play_out(state: Any, action: int, policy: Any, horizon: int, utility: Any, word: Any) -> float:
    """Take an action and play the deal to its end by a policy; what it is worth to side 0.

    Args:
        state: a full record, changed.
        action: legal action of the seat to move.
        policy: address of a kernel ``(record, word) -> action``.
        horizon: not used here.
        utility: see ``settebello.utility``.
        word: of the random stream.
    """
    state["single_deal"] = 1
    step(state, action)
    while not state["over"]:
        word = advance(word)
        step(state, call(policy, state, word))
    return deal_worth(state, utility)
