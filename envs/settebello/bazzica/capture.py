"""What a played card captures: the sets of table cards that RULES "Capturing" leaves, and the choice between them.

The table is looked at as counts of cards by value, a nibble each in one int64. All groups of values that a played value can
take are worked out at import, larger groups first, at most 63 for a value; which of them are on the table is then ten table
look-ups joined by AND. While a player chooses, the picked cards say which sets are left: no other memory is needed.
"""

from itertools import combinations
from typing import Any, Final

import numpy as np

from settebello.bazzica.state import NO_CARD
from settebello.bits import lowest_bit
from settebello.cards import JOLLIES, NUM_RANKS, NUM_SUITS, RANK_MASK, RE_DI_DENARI, SETTEBELLO, bit_of, cards_in, rank_of
from settebello.jit import kernel

NIBBLE_ONES: Final = sum(1 << (4 * i) for i in range(NUM_RANKS))
NIBBLE_TOPS: Final = 8 * NIBBLE_ONES  # counts are at most 6: four cards and both jollies
MAX_COUNT: Final = NUM_SUITS + len(JOLLIES)


def _partitions(total: int, largest: int) -> list[list[int]]:
    """All ways to write a total as a sum of values 1..largest, order aside."""
    if total == 0:
        return [[]]
    return [[part, *rest] for part in range(min(total, largest), 0, -1) for rest in _partitions(total - part, part)]


def _groups(value: int) -> list[list[int]]:
    """The groups of table values that a played value takes when none equals it, larger groups first.

    No two equations give the same group: in a sum all are below the value, in a subtraction the largest is the single card.
    """
    sums = [parts for parts in _partitions(value, value) if len(parts) >= 2]
    subtractions = [
        [single, *parts] for single in range(value + 1, NUM_RANKS + 1) for parts in _partitions(single - value, single)
    ]
    groups = [g for g in sums + subtractions if value not in g and max(g.count(v) for v in g) <= MAX_COUNT]
    return sorted(groups, key=len, reverse=True)


_GROUPS: Final = [_groups(value) for value in range(1, NUM_RANKS + 1)]
MAX_GROUPS: Final = max(len(groups) for groups in _GROUPS)
assert MAX_GROUPS <= 63, "a set of groups is the bits of an int64"


def _by_group(function: Any) -> np.ndarray:
    """Table [value - 1, group] of a number for each group."""
    table = np.zeros((NUM_RANKS, MAX_GROUPS), np.int64)
    for i, groups in enumerate(_GROUPS):
        for k, group in enumerate(groups):
            table[i, k] = function(groups, group)
    return table


# By played value - 1 and group: how many cards of each value it takes, the same nibbles full, the ranks' cards, and the
# groups that take as many cards as it does.
NEED: Final = _by_group(lambda groups, group: sum(1 << (4 * (v - 1)) for v in group))
NEED_FULL: Final = _by_group(lambda groups, group: sum(15 << (4 * (v - 1)) for v in set(group)))
NEED_CARDS: Final = _by_group(lambda groups, group: sum(int(RANK_MASK[v - 1]) for v in set(group)))
SAME_SIZE: Final = _by_group(lambda groups, group: sum(1 << k for k, g in enumerate(groups) if len(g) == len(group)))

# By played value - 1, table value - 1 and how many of it are on the table: the groups that need no more of that value.
FITS: Final = np.array(
    [
        [
            [sum(1 << k for k, g in enumerate(groups) if g.count(v) <= count) for count in range(8)]
            for v in range(1, NUM_RANKS + 1)
        ]
        for groups in _GROUPS
    ],
    np.int64,
)


@kernel(inline=True)
def value_of(state: Any, card: int) -> int:
    """RULES Values: the rank number, or what the card was baptised as, which holds all deal."""
    given = np.int64(0)
    if card == SETTEBELLO:
        given = np.int64(state["jolly"][0])
    elif card == RE_DI_DENARI:
        given = np.int64(state["jolly"][1])
    return given if given != 0 else rank_of(card) + 1


@kernel(inline=True)
def table_cards(state: Any, rank_cards: int) -> int:
    """Table cards with the values of a set of whole ranks; a baptised card counts under its given value."""
    table = state["table"]
    cards = table & rank_cards
    for k in range(2):
        given = np.int64(state["jolly"][k])
        if given != 0:
            bit = bit_of(JOLLIES[k])
            cards &= ~bit
            if (rank_cards >> (given - 1)) & 1:
                cards |= table & bit
    return cards


@kernel(inline=True)
def equal_count(counts: int, value: int) -> int:
    """How many table cards equal a value."""
    return (counts >> (4 * (value - 1))) & 7


@kernel(inline=True)
def largest_groups(counts: int, value: int) -> int:
    """RULES Capturing 2 and 3: the groups on the table that a value takes and that take most cards, as bits; 0 if none."""
    fitting = FITS[value - 1, 0, counts & 7]
    for i in range(1, NUM_RANKS):
        fitting &= FITS[value - 1, i, (counts >> (4 * i)) & 7]
    if fitting != 0:
        fitting &= SAME_SIZE[value - 1, lowest_bit(fitting)]
    return fitting


@kernel
def choice(state: Any) -> tuple[int, int]:
    """While a capture is pending: the cards that may be picked, and the cards in every set still possible.

    RULES Choosing: a card may be picked if it is in some but not all of the sets still possible; these are the ones that
    hold the cards picked before. With nothing to pick one set is left, and the second mask is that set.
    """
    value = value_of(state, np.int64(state["pending"]))
    counts = state["table_counts"]
    picked = state["picked"]
    if equal_count(counts, value) > 0:  # RULES Capturing 1: exactly one of the equal ones
        equal = table_cards(state, RANK_MASK[value - 1])
        if picked != 0:
            return np.int64(0), picked
        if equal & (equal - 1) == 0:
            return np.int64(0), equal
        return equal, np.int64(0)
    picked_counts = np.int64(0)
    rest = picked
    while rest != 0:
        picked_counts += np.int64(1) << (4 * (value_of(state, lowest_bit(rest)) - 1))
        rest &= rest - 1
    some = np.int64(0)  # top bits of the values of which some set takes more than the picked ones
    every = np.int64(NIBBLE_TOPS)  # top bits of the values of which every set takes all cards
    groups = largest_groups(counts, value)
    while groups != 0:
        need = NEED[value - 1, lowest_bit(groups)]
        groups &= groups - 1
        if ((need | NIBBLE_TOPS) - picked_counts) & NIBBLE_TOPS == NIBBLE_TOPS:  # it holds the picked cards
            some |= ((need | NIBBLE_TOPS) - picked_counts - NIBBLE_ONES) & NIBBLE_TOPS
            every &= ((need | NIBBLE_TOPS) - counts) & NIBBLE_TOPS
    some &= ~every
    some_cards = np.int64(0)
    every_cards = np.int64(0)
    for i in range(NUM_RANKS):
        if (some >> (4 * i + 3)) & 1:
            some_cards |= RANK_MASK[i]
        if (every >> (4 * i + 3)) & 1:
            every_cards |= RANK_MASK[i]
    return table_cards(state, some_cards) & ~picked, table_cards(state, every_cards) | picked


def candidates(state: Any) -> list[list[int]]:
    """The sets of table cards still possible while choosing a capture, each sorted, in sorted order; else empty."""
    if state["pending"] == NO_CARD:
        return []
    value = int(value_of(state, np.int64(state["pending"])))
    by_value: dict[int, list[int]] = {v: [] for v in range(1, NUM_RANKS + 1)}
    for card in cards_in(state["table"]):
        by_value[int(value_of(state, np.int64(card)))].append(card)
    groups = [[value]]
    if not by_value[value]:
        bits = int(largest_groups(np.int64(state["table_counts"]), value))
        groups = [group for k, group in enumerate(_GROUPS[value - 1]) if bits >> k & 1]
    sets: list[list[int]] = []
    for group in groups:
        partial: list[list[int]] = [[]]
        for v in set(group):
            partial = [[*cards, *more] for cards in partial for more in combinations(by_value[v], group.count(v))]
        sets += partial
    picked = set(cards_in(state["picked"]))
    return sorted(sorted(cards) for cards in sets if picked <= set(cards))
