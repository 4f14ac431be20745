"""Declarations and baptism: what three cards show, and what a jolly may become."""

from typing import Final

import numpy as np

from settebello.bazzica.state import BAZZICOTTO, MENO_DI_NOVE, NO_DECLARATION, PARIGLIA, PARIGLIA_MENO_DI_NOVE
from settebello.bits import lowest_bit
from settebello.cards import NUM_RANKS, RE_DI_DENARI, SETTEBELLO, rank_of
from settebello.jit import kernel

SETTEBELLO_BIT: Final = 1 << SETTEBELLO
RE_BIT: Final = 1 << RE_DI_DENARI
JOLLY_MASK: Final = SETTEBELLO_BIT | RE_BIT
DECLARE_BIT: Final = 1 << (2 * NUM_RANKS)  # in the third word of legal actions, after both jollies' ten values


@kernel(inline=True)
def hand_value(card: int, settebello_value: int, re_value: int) -> int:
    """Value of a card in hand when the jollies were given these values (0: not baptised)."""
    value = rank_of(card) + 1
    if card == SETTEBELLO and settebello_value != 0:
        value = settebello_value
    if card == RE_DI_DENARI and re_value != 0:
        value = re_value
    return value


@kernel(inline=True)
def best_declaration(first: int, second: int, third: int, low_sum_max: int) -> int:
    """RULES Declarations: the best that three values show, 0 for none."""
    pair = first in (second, third) or second == third
    if first == second and second == third:
        return BAZZICOTTO
    if first + second + third <= low_sum_max:
        return PARIGLIA_MENO_DI_NOVE if pair else MENO_DI_NOVE
    return PARIGLIA if pair else NO_DECLARATION


@kernel(inline=True)
def shown(hand: int, settebello_value: int, re_value: int, low_sum_max: int) -> int:
    """The best declaration of a hand of three cards."""
    first = lowest_bit(hand)
    hand &= hand - 1
    second = lowest_bit(hand)
    third = lowest_bit(hand & (hand - 1))
    return best_declaration(
        hand_value(first, settebello_value, re_value),
        hand_value(second, settebello_value, re_value),
        hand_value(third, settebello_value, re_value),
        low_sum_max,
    )


@kernel(inline=True)
def values_up_to(highest: int) -> int:
    """Bits of the values 1..highest (value v is bit v - 1); any integer."""
    return (np.int64(1) << max(np.int64(0), min(np.int64(NUM_RANKS), highest))) - 1


@kernel(inline=True)
def baptisms(hand: int, settebello_value: int, re_value: int, low_sum_max: int) -> int:
    """RULES Baptism: values that jollies of this three-card hand may get: bits 0..9 settebello 1..10, 10..19 re di denari.

    Only values from which the hand reaches meno di nove, pariglia meno di nove or bazzicotto, and never its own.
    """
    open_settebello = hand & SETTEBELLO_BIT != 0 and settebello_value == 0
    open_re = hand & RE_BIT != 0 and re_value == 0
    result = np.int64(0)
    if open_settebello and open_re:
        # The other one could still become an ace, or equal to the third card by baptism or by staying itself.
        third = rank_of(lowest_bit(hand & ~JOLLY_MASK)) + 1
        reaching = values_up_to(low_sum_max - third - 1) | (np.int64(1) << (third - 1))
        # Value v is bit v - 1, as is the denari card of that value: a jolly's own bit is its own value.
        result = (reaching & ~SETTEBELLO_BIT) | ((reaching & ~RE_BIT) << NUM_RANKS)
    elif open_settebello or open_re:
        others = hand & ~(SETTEBELLO_BIT if open_settebello else RE_BIT)
        first = hand_value(lowest_bit(others), settebello_value, re_value)
        second = hand_value(lowest_bit(others & (others - 1)), settebello_value, re_value)
        reaching = values_up_to(low_sum_max - first - second)
        if first == second:
            reaching |= np.int64(1) << (first - 1)
        result = reaching & ~SETTEBELLO_BIT if open_settebello else (reaching & ~RE_BIT) << NUM_RANKS
    return result


@kernel(inline=True)
def must_baptise(hand: int, settebello_value: int, re_value: int, low_sum_max: int) -> bool:
    """RULES Baptism: a baptism of this three-card hand has not yet made one of the three declarations it is for."""
    baptised = (hand & SETTEBELLO_BIT != 0 and settebello_value != 0) or (hand & RE_BIT != 0 and re_value != 0)
    return baptised and shown(hand, settebello_value, re_value, low_sum_max) < MENO_DI_NOVE


@kernel(inline=True)
def options_before_play(hand: int, settebello_value: int, re_value: int, low_sum_max: int) -> int:
    """What a three-card hand that has not declared may do besides playing: the bits of `baptisms` and DECLARE_BIT."""
    result = np.int64(0)
    if shown(hand, settebello_value, re_value, low_sum_max) != NO_DECLARATION:
        result = np.int64(DECLARE_BIT)
    if hand & JOLLY_MASK != 0:
        if must_baptise(hand, settebello_value, re_value, low_sum_max):
            result = np.int64(0)
        result |= baptisms(hand, settebello_value, re_value, low_sum_max)
    return result
