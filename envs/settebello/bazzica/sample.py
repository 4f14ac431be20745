"""Worlds that a seat cannot tell from the true one: hidden cards laid out at random on a redacted record.

A world agrees with what a seat knows if all that happened in it was allowed. Cards of earlier hands are all known; so only the
other seat's baptisms and declaration of this hand say anything about its hidden cards.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from settebello.bazzica.capture import choice
from settebello.bazzica.declare import baptisms, must_baptise, shown
from settebello.bazzica.observe import unseen_cards
from settebello.bazzica.rules import hand_start, set_legal
from settebello.bazzica.state import BAPTISE, CAPTURED, DECLARE, HAND_SIZE, NO_CARD, SCOPA, STOCK_START, TABLE_START
from settebello.bits import advance, below, lowest_bit, nth_bit, popcount, write_bits
from settebello.cards import NUM_CARDS, NUM_RANKS, UNKNOWN, bit_of
from settebello.jit import kernel

FIRST_EVENT: Final = 1 + STOCK_START - TABLE_START  # in the register, after the deal and its table cards
TRIES: Final = 64  # hands drawn blindly before all are gone through


@kernel(inline=True)
def acts_of(state: Any, seat: int) -> int:
    """Register codes of a seat's baptisms and declaration of this hand, a byte each, the first one lowest; 0 for none."""
    hand_plays = 2 * HAND_SIZE * (np.int64(state["hand_number"]) - 1)  # plays before this hand
    parity = np.int64(state["dealer"] == seat)  # the opener acts after an even number of plays
    plays = np.int64(0)
    acts = np.int64(0)
    size = np.int64(0)
    for i in range(FIRST_EVENT, state["register_size"]):
        code = np.int64(state["register"][i])
        if code < CAPTURED:
            plays += 1
        elif BAPTISE <= code < SCOPA and plays >= hand_plays and plays & 1 == parity:
            acts |= code << size
            size += 8
    return acts


@kernel(inline=True)
def agrees(hand: int, acts: int, has_played: bool, low_sum_max: int) -> bool:
    """Whether a seat that was dealt these three cards could do what it did: each baptism legal, its declaration the best."""
    settebello_value = np.int64(0)
    re_value = np.int64(0)
    while acts != 0:
        code = acts & 255
        acts >>= 8
        if code < DECLARE:
            if (baptisms(hand, settebello_value, re_value, low_sum_max) >> (code - BAPTISE)) & 1 == 0:
                return False
            if code - BAPTISE < NUM_RANKS:
                settebello_value = code - BAPTISE + 1
            else:
                re_value = code - BAPTISE - NUM_RANKS + 1
        else:
            forced = must_baptise(hand, settebello_value, re_value, low_sum_max)
            if forced or shown(hand, settebello_value, re_value, low_sum_max) != code - DECLARE:
                return False
    return not (has_played and must_baptise(hand, settebello_value, re_value, low_sum_max))


@kernel
def find_hidden(
    unseen: int, size: int, shown_cards: int, acts: int, has_played: bool, low_sum_max: int, n: int
) -> tuple[int, int]:
    """Go through the sets of ``size`` unseen cards that agree, up to the n-th (from 0).

    Returns:
        That set, and how many agreeing sets came before it; (0, their number) if there is no n-th.
    """
    cards = np.zeros(NUM_CARDS, np.int64)
    count = np.int64(0)
    while unseen != 0:
        cards[count] = unseen & -unseen
        unseen &= unseen - 1
        count += 1
    found = np.int64(0)
    places = (np.int64(1) << size) - 1
    while places < np.int64(1) << count:
        hidden = np.int64(0)
        rest = places
        while rest != 0:
            hidden |= cards[lowest_bit(rest)]
            rest &= rest - 1
        if agrees(hidden | shown_cards, acts, has_played, low_sum_max):
            if found == n:
                return hidden, found
            found += 1
        if places == 0:  # nothing is hidden
            break
        # The next larger number with as many bits (Gosper; Hakmem 175).
        lowest = lowest_bit(places)
        carried = places + (np.int64(1) << lowest)
        places = carried | ((places ^ carried) >> (lowest + 2))
    return np.int64(0), found


@kernel(inline=True)
def random_cards(unseen: int, size: int, word: np.uint64) -> tuple[int, np.uint64]:
    """A uniform set of unseen cards, and the stream word it ended with."""
    cards = np.int64(0)
    for _ in range(size):
        word = advance(word)
        bit = bit_of(nth_bit(unseen, below(word, popcount(unseen))))
        cards |= bit
        unseen &= ~bit
    return cards, word


def new_tables() -> npt.NDArray[Any]:
    """What ``prepare`` fills: here nothing needs to be counted before worlds are drawn."""
    return np.zeros(1, np.int8)


@kernel(inline=True)
def prepare(state: Any, seat: int, tables: Any) -> None:
    """As Tressette's; nothing to do."""


@kernel
def fill_unknown(state: Any, seat: int, tables: Any, word: np.uint64) -> np.uint64:
    """Complete a record redacted for a seat to a world, uniform over those that agree with what the seat knows.

    Args:
        state: the redacted record, filled in place; its ``rng`` stays as it is.
        seat: the seat it was redacted for.
        tables: of ``new_tables()``.
        word: word of the random stream to draw from.

    Returns:
        The stream word it ended with.
    """
    other = 1 - seat
    unseen = unseen_cards(state, seat)
    whole = state["known"][other] | state["hand_played"][other]
    size = HAND_SIZE - popcount(whole)
    hidden, word = random_cards(unseen, size, word)
    acts = acts_of(state, other)
    if acts != 0 and size > 0:
        has_played = state["hand_played"][other] != 0
        low_sum_max = np.int64(state["low_sum_max"])
        tries = 1
        while tries < TRIES and not agrees(hidden | whole, acts, has_played, low_sum_max):
            hidden, word = random_cards(unseen, size, word)
            tries += 1
        if not agrees(hidden | whole, acts, has_played, low_sum_max):
            _, number = find_hidden(unseen, size, whole, acts, has_played, low_sum_max, -1)
            word = advance(word)
            hidden, _ = find_hidden(unseen, size, whole, acts, has_played, low_sum_max, below(word, number))
    state["hand"][other] |= hidden
    unseen &= ~hidden
    hand_number = np.int64(state["hand_number"])
    start = hand_start(hand_number) + HAND_SIZE * np.int64(state["dealer"] == other)
    write_bits(state["deck"], start, start + HAND_SIZE, hidden | whole, UNKNOWN)
    stock_start = hand_start(hand_number + 1)
    for i in range(NUM_CARDS - stock_start):
        word = advance(word)
        j = below(word, i + 1)
        state["deck"][stock_start + i] = state["deck"][stock_start + j]
        state["deck"][stock_start + j] = lowest_bit(unseen)
        unseen &= unseen - 1
    if state["turn"] == other:
        if state["pending"] == NO_CARD:
            set_legal(state)
        else:
            state["legal"][1], _ = choice(state)
    return word


@kernel
def fill_first(states: Any, seat: int, word: np.uint64) -> np.uint64:
    """``fill_unknown`` on the first record of an array."""
    return fill_unknown(states[0], seat, 0, word)


class BazzicaWorlds:
    """The worlds that agree with a redacted record of a begun game, seen from one seat.

    Args:
        states: array of one redacted record; it is not changed.
        seat: the seat that knows it.
    """

    def __init__(self, states: np.ndarray[Any, Any], seat: int) -> None:
        self._states = states
        self._seat = np.int64(seat)

    @property
    def count(self) -> int:
        """How many hands of the other seat agree (the order of the stock not counted)."""
        state = self._states[0]
        other = 1 - self._seat
        unseen = np.int64(unseen_cards(state, self._seat))
        whole = state["known"][other] | state["hand_played"][other]
        size = np.int64(HAND_SIZE - int(whole).bit_count())
        has_played = bool(state["hand_played"][other] != 0)
        low_sum_max = np.int64(state["low_sum_max"])
        return int(find_hidden(unseen, size, whole, np.int64(acts_of(state, other)), has_played, low_sum_max, np.int64(-1))[1])

    def sample(self, rng: np.random.Generator) -> np.ndarray[Any, Any]:
        """An array of one full record, uniform over the worlds that agree; its own random stream is a fresh one."""
        states = self._states.copy()
        words = rng.integers(1 << 64, size=2, dtype=np.uint64)
        fill_first(states, self._seat, words[0])
        states[0]["rng"] = words[1]
        return states
