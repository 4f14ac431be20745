"""Worlds that agree with what one seat knows of a Tressette game, drawn uniformly.

The unseen cards lie with three holders: the other hands, or with two players the other hand, nobody, and the stock. A seat that
failed to follow a suit holds none of it unseen, and with napoletana on a hand never held an undeclared 3-2-A at a moment when
it would have been announced. Suits that the same holders may have are one group, in which only numbers matter; the cards of a
3-2-A that some hand cannot hold together are placed one by one. Group by group, then suit by suit, ``prepare`` counts exactly
in how many ways the cards so far give the holders each possible number of cards; ``fill_unknown`` draws a world from back to
front by those counts: no rejection, no bias.
"""

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from settebello.bits import advance, below, below_wide, lowest_bit, popcount
from settebello.cards import NUM_CARDS, NUM_SUITS, SUIT_MASK, bit_of, rank_of, suit_of
from settebello.jit import kernel
from settebello.tressette.observe import hand_size, write_deck
from settebello.tressette.rules import NAPOLETANA_MASK, NAPOLETANA_RANKS, set_legal
from settebello.tressette.state import DRAW, MAX_SEATS, PLAY, TRICK

HOLDERS: Final = 3
ALL_HOLDERS: Final = (1 << HOLDERS) - 1
MOST_HIDDEN: Final = NUM_CARDS // MAX_SEATS  # cards of a hand when there are three of them
MAX_CELLS: Final = (MOST_HIDDEN + 1) ** 2  # two players need fewer: all is with the first and the last holder
MAX_LAYERS: Final = 2 * NUM_SUITS
MAX_CHOICES: Final = NUM_SUITS * (MOST_HIDDEN + 1 + HOLDERS**NAPOLETANA_RANKS)
SUBSETS: Final = 1 << NAPOLETANA_RANKS  # of a 3-2-A

COMBINATIONS: Final = np.array([[math.comb(n, k) for k in range(NUM_CARDS + 1)] for n in range(NUM_CARDS + 1)], np.int64)

# The cards are placed in layers, each of them a group or the 3-2-A of a suit. What the last holder gets is what is left.
TABLES_DTYPE: Final = np.dtype(
    [
        ("count", np.int64),  # agreeing assignments of cards to holders
        ("unseen", np.int64),
        ("size", np.int64, HOLDERS),  # hidden cards by holder
        ("forbidden", np.int64, HOLDERS),  # bit suit * SUBSETS + subset of its 3-2-A: not hidden in this hand
        ("group", np.int64, ALL_HOLDERS + 1),  # cards by the set of holders that may have them
        ("layers", np.int64),  # after layer 0, the cards that everybody may have
        ("cards", np.int64, MAX_LAYERS + 1),  # of a layer, if any may go anywhere in it: then only numbers are chosen
        ("first", np.int64, MAX_LAYERS + 2),  # first choice of a layer
        ("ways", np.int64, MAX_CHOICES),  # of a choice, and what it gives the first two holders:
        ("number", np.int64, (MAX_CHOICES, 2)),  # how many cards
        ("given", np.int64, (MAX_CHOICES, 2)),  # which ones, in a layer of a 3-2-A
        # Ways to place the cards of a layer and those before it, by how many the first two holders get; where it matters.
        ("totals", np.int64, (MAX_LAYERS + 1, MAX_CELLS)),
    ],
    align=True,
)


def new_tables() -> npt.NDArray[Any]:
    """An array of one record for ``prepare`` to fill, as often as wanted."""
    return np.zeros(1, TABLES_DTYPE)


@kernel
def forbidden_subsets(state: Any, seat: int, unseen: int) -> tuple[int, int]:
    """Subsets of each 3-2-A that the hidden hand of a seat cannot hold, since a napoletana would have been announced.

    RULES napoletana: the hand is looked at before the seat plays its first card and whenever it draws one of the three. The
    seat is followed back from now to its first card: what was seen of the hand at a look, it may have played since.

    Returns:
        The subsets, a bit each as in the tables, and all cards in the smallest of them.
    """
    # An announced suit hides nothing, and a hand that failed to follow a suit has none of it hidden anyway.
    free = ~(np.int64(state["announced"]) >> (seat * NUM_SUITS) | np.int64(state["void"][seat]))
    own = state["known"][seat] | state["played"][seat]  # every card of this seat that has been seen
    seen = state["known"][seat]
    sets = np.int64(0)
    special = np.int64(0)
    for i in range(np.int64(state["register_size"]) - 1, -1, -1):
        code = np.int64(state["register"][i])
        card = np.int64(-1)
        looks = np.int64(0)  # suits looked at
        if i == 0:  # back at the deal: what is seen now was in hand at the first card
            looks = free
        elif code < DRAW:
            seen |= own & bit_of(code - PLAY)
        elif code < TRICK and own & bit_of(code - DRAW) != 0:
            card = code - DRAW
            if rank_of(card) < NAPOLETANA_RANKS:
                looks = free & (np.int64(1) << suit_of(card))
        for suit in range(NUM_SUITS):
            missing = NAPOLETANA_MASK[suit] & ~seen
            if (looks >> suit) & 1 == 1 and missing != 0 and missing & ~unseen == 0:
                special |= missing
                part = missing >> lowest_bit(NAPOLETANA_MASK[suit])
                for subset in range(SUBSETS):
                    if part & ~subset == 0:
                        sets |= np.int64(1) << (suit * SUBSETS + subset)
        if card >= 0:
            seen &= ~bit_of(card)
    return sets, special


@kernel
def add_group(tables: Any, layer: int, holders: int, cards: int) -> None:
    """Write the choices of a layer of cards that these holders may have, all alike."""
    total = popcount(cards)
    most_0 = tables["size"][0] * (holders & 1)
    most_1 = tables["size"][1] * (holders >> 1 & 1)
    most_2 = tables["size"][2] * (holders >> 2 & 1)
    at = tables["first"][layer]
    for number_0 in range(max(0, total - most_1 - most_2), min(total, most_0) + 1):
        others = total - number_0
        for number_1 in range(max(0, others - most_2), min(others, most_1) + 1):
            tables["ways"][at] = COMBINATIONS[total, number_0] * COMBINATIONS[others, number_1]
            tables["number"][at, 0] = number_0
            tables["number"][at, 1] = number_1
            tables["given"][at, 0] = 0
            tables["given"][at, 1] = 0
            at += 1
    tables["first"][layer + 1] = at
    tables["cards"][layer] = cards


@kernel
def add_special(tables: Any, layer: int, holders: int, cards: int, suit: int) -> None:
    """Write the choices of a layer of cards that these holders may have, but none of them a forbidden subset."""
    ace = lowest_bit(NAPOLETANA_MASK[suit])
    at = tables["first"][layer]
    for placement in range(HOLDERS ** popcount(cards)):
        given_0 = np.int64(0)
        given_1 = np.int64(0)
        given_2 = np.int64(0)
        code = placement
        rest = cards
        while rest != 0:
            if code % HOLDERS == 0:
                given_0 |= rest & -rest
            elif code % HOLDERS == 1:
                given_1 |= rest & -rest
            else:
                given_2 |= rest & -rest
            code //= HOLDERS
            rest &= rest - 1
        agrees = True
        for holder in range(HOLDERS):
            given = given_0 if holder == 0 else given_1 if holder == 1 else given_2
            if given != 0 and (
                (holders >> holder) & 1 == 0 or (tables["forbidden"][holder] >> (suit * SUBSETS + (given >> ace))) & 1 == 1
            ):
                agrees = False
        if agrees:
            tables["ways"][at] = 1
            tables["number"][at, 0] = popcount(given_0)
            tables["number"][at, 1] = popcount(given_1)
            tables["given"][at, 0] = given_0
            tables["given"][at, 1] = given_1
            at += 1
    tables["first"][layer + 1] = at
    tables["cards"][layer] = 0


@kernel
def add_totals(tables: Any, layer: int, later: int) -> None:
    """Count the ways of a layer from those of the layer before, where ``later`` cards can still fill the holders up."""
    size_0 = tables["size"][0]
    size_1 = tables["size"][1]
    width = size_1 + 1
    before = tables["totals"][layer - 1]
    totals = tables["totals"][layer]
    for number_0 in range(max(0, size_0 - later), size_0 + 1):
        for number_1 in range(max(0, size_1 - later), size_1 + 1):
            total = np.int64(0)
            for i in range(tables["first"][layer], tables["first"][layer + 1]):
                left_0 = number_0 - tables["number"][i, 0]
                left_1 = number_1 - tables["number"][i, 1]
                if left_0 >= 0 and left_1 >= 0:
                    total += tables["ways"][i] * before[left_0 * width + left_1]
            totals[number_0 * width + number_1] = total


@kernel
def prepare(state: Any, seat: int, tables: Any) -> None:
    """Count the worlds that agree with what a seat knows, for ``fill_unknown`` to draw from.

    Args:
        state: record of a begun game; only what the seat knows is read.
        seat: the seat that knows it.
        tables: record of ``new_tables()``, overwritten.
    """
    players = np.int64(state["players"])
    unseen = state["deck_cards"] & ~state["hand"][seat]
    for other in range(players):
        unseen &= ~(state["known"][other] | state["played"][other])
    tables["unseen"] = unseen
    for holder in range(HOLDERS):
        tables["size"][holder] = 0
        tables["forbidden"][holder] = 0
    for holders in range(ALL_HOLDERS + 1):
        tables["group"][holders] = 0
    if players == 2:  # the stock takes what the other hand does not, whatever it is
        tables["size"][HOLDERS - 1] = state["deck_size"] - state["stock_start"]
    void = np.int64(0)  # bit suit * HOLDERS + holder
    special = np.int64(0)  # cards of 3-2-A to be placed one by one
    for holder in range(players - 1):
        other = (seat + 1 + holder) % players
        tables["size"][holder] = hand_size(state, other) - popcount(state["known"][other])
        if state["napoletana"] and (state["opened"] >> other) & 1:
            tables["forbidden"][holder], more = forbidden_subsets(state, other, unseen)
            special |= more
        for suit in range(NUM_SUITS):
            void |= ((np.int64(state["void"][other]) >> suit) & 1) << (suit * HOLDERS + holder)
    for suit in range(NUM_SUITS):
        tables["group"][ALL_HOLDERS & ~(void >> (suit * HOLDERS))] |= unseen & SUIT_MASK[suit] & ~special
    # Layer 0: what is left for cards that may go anywhere.
    everywhere = tables["group"][ALL_HOLDERS]
    size_0 = tables["size"][0]
    size_1 = tables["size"][1]
    total = popcount(everywhere)
    later = popcount(unseen) - total
    for number_0 in range(max(0, size_0 - later), size_0 + 1):
        for number_1 in range(max(0, size_1 - later), size_1 + 1):
            fits = number_0 + number_1 <= total
            ways = COMBINATIONS[total, number_0] * COMBINATIONS[total - number_0, number_1] if fits else 0
            tables["totals"][0, number_0 * (size_1 + 1) + number_1] = ways
    tables["cards"][0] = everywhere
    tables["first"][1] = 0
    layer = 0
    for holders in range(1, ALL_HOLDERS):
        cards = tables["group"][holders]
        if cards != 0:
            layer += 1
            later -= popcount(cards)
            add_group(tables, layer, holders, cards)
            add_totals(tables, layer, later)
    for suit in range(NUM_SUITS):
        cards = special & SUIT_MASK[suit]
        if cards != 0:
            layer += 1
            later -= popcount(cards)
            add_special(tables, layer, ALL_HOLDERS & ~(void >> (suit * HOLDERS)), cards, suit)
            add_totals(tables, layer, later)
    tables["layers"] = layer
    tables["count"] = tables["totals"][layer, size_0 * (size_1 + 1) + size_1]


@kernel(inline=True)
def split(cards: int, number_0: int, number_1: int, word: np.uint64) -> tuple[int, int, np.uint64]:
    """So many of the cards to the first two holders at random, and the stream word it ended with."""
    given_0 = np.int64(0)
    given_1 = np.int64(0)
    for left in range(popcount(cards), 0, -1):
        word = advance(word)
        place = below(word, left)  # of this card among the places that are left
        if place < number_0:
            given_0 |= cards & -cards
            number_0 -= 1
        elif place < number_0 + number_1:
            given_1 |= cards & -cards
            number_1 -= 1
        cards &= cards - 1
    return given_0, given_1, word


@kernel
def fill_unknown(state: Any, seat: int, tables: Any, word: np.uint64) -> np.uint64:
    """Complete a record redacted for a seat to a world, uniform over those that agree with what the seat knows.

    Args:
        state: the redacted record, filled in place; its ``rng`` stays as it is.
        seat: the seat it was redacted for.
        tables: what ``prepare`` wrote for this record and seat; not changed, so that any number of copies can be filled.
        word: word of the random stream to draw from.

    Returns:
        The stream word it ended with.
    """
    given_0 = np.int64(0)
    given_1 = np.int64(0)
    left_0 = tables["size"][0]
    left_1 = tables["size"][1]
    width = left_1 + 1
    for layer in range(tables["layers"], 0, -1):
        word = advance(word)
        place = below_wide(word, tables["totals"][layer, left_0 * width + left_1])
        choice = tables["first"][layer] - 1
        while place >= 0:
            choice += 1
            before_0 = left_0 - tables["number"][choice, 0]
            before_1 = left_1 - tables["number"][choice, 1]
            if before_0 >= 0 and before_1 >= 0:
                place -= tables["ways"][choice] * tables["totals"][layer - 1, before_0 * width + before_1]
        number_0 = tables["number"][choice, 0]
        number_1 = tables["number"][choice, 1]
        cards_0, cards_1, word = split(tables["cards"][layer], number_0, number_1, word)
        given_0 |= cards_0 | tables["given"][choice, 0]
        given_1 |= cards_1 | tables["given"][choice, 1]
        left_0 -= number_0
        left_1 -= number_1
    cards_0, cards_1, word = split(tables["cards"][0], left_0, left_1, word)
    given_0 |= cards_0
    given_1 |= cards_1
    rest = tables["unseen"] & ~(given_0 | given_1)
    players = np.int64(state["players"])
    state["hand"][(seat + 1) % players] |= given_0
    if players == MAX_SEATS:
        state["hand"][(seat + 2) % players] |= given_1
        state["hand"][(seat + 3) % players] |= rest
    write_deck(state)
    if players == 2:
        start = np.int64(state["stock_start"])
        for i in range(np.int64(state["deck_size"]) - start):
            word = advance(word)
            j = below(word, i + 1)
            state["deck"][start + i] = state["deck"][start + j]
            state["deck"][start + j] = lowest_bit(rest)
            rest &= rest - 1
    if not state["over"]:
        set_legal(state)
    return word


@kernel
def prepare_first(states: Any, seat: int, tables: Any) -> None:
    """``prepare`` on the first record of each array."""
    prepare(states[0], seat, tables[0])


@kernel
def fill_first(states: Any, seat: int, tables: Any, word: np.uint64) -> np.uint64:
    """``fill_unknown`` on the first record of each array."""
    return fill_unknown(states[0], seat, tables[0], word)


class TressetteWorlds:
    """The worlds that agree with a redacted record of a begun game, seen from one seat.

    Args:
        states: array of one redacted record; it is not changed.
        seat: the seat that knows it.
    """

    def __init__(self, states: np.ndarray[Any, Any], seat: int) -> None:
        self._states = states
        self._seat = np.int64(seat)
        self._tables = new_tables()
        prepare_first(states.copy(), self._seat, self._tables)  # a copy: a read-only array would compile once more

    @property
    def count(self) -> int:
        """How many assignments of cards to holders agree (the order of the stock not counted)."""
        return int(self._tables[0]["count"])

    def sample(self, rng: np.random.Generator) -> np.ndarray[Any, Any]:
        """An array of one full record, uniform over the worlds that agree; its own random stream is a fresh one."""
        states = self._states.copy()
        words = rng.integers(1 << 64, size=2, dtype=np.uint64)
        fill_first(states, self._seat, self._tables, words[0])
        states[0]["rng"] = words[1]
        return states
