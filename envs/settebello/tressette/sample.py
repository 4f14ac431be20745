"""Worlds that agree with what one seat knows of a Tressette game, drawn uniformly.

The unseen cards lie with up to three holders: the other hands, or with two players the other hand and the stock. A seat that
failed to follow a suit holds none of it unseen, and with napoletana on a hand never held an undeclared 3-2-A at a moment when
it would have been announced. The number of deals of one suit's cards by how many each holder gets is counted exactly, the
suits are convolved, and a world is drawn from back to front by those counts: no rejection, no bias.
"""

import itertools
import math
from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np

from settebello.cards import NUM_SUITS, SUIT_MASK, cards_in, mask_of, suit_of
from settebello.registers import current_register
from settebello.tressette.observe import hand_size, write_deck
from settebello.tressette.rules import NAPOLETANA_MASK, set_legal
from settebello.tressette.state import DRAW, NAPOLETANA, NOBODY, PLAY, TRICK

Counts = tuple[int, ...]  # cards by holder


class _Choice(NamedTuple):
    """A way to place one suit's unseen cards: those that constraints name, and how many of the others each holder gets."""

    special: tuple[int, ...]  # holder of each special card
    free: Counts
    ways: int


def _splits(total: int, open_to: list[bool]) -> list[Counts]:
    """All ways to split ``total`` cards over the holders that may have some."""
    ranges = [range(total + 1) if may else range(1) for may in open_to]
    return [counts for counts in itertools.product(*ranges) if sum(counts) == total]


def _arrangements(counts: Counts) -> int:
    """In how many ways as many cards go to holders in these numbers."""
    ways, left = 1, sum(counts)
    for count in counts:
        ways *= math.comb(left, count)
        left -= count
    return ways


def forbidden_sets(state: Any, seat: int, unseen: int) -> list[int]:
    """Card sets that the hidden hand of a seat cannot hold whole, since a napoletana would have been announced.

    RULES napoletana: the hand is looked at before the seat plays its first card and whenever it draws one of the three.
    """
    if not state["napoletana"] or not int(state["opened"]) >> seat & 1:
        return []
    held = int(state["played"][seat] | state["known"][seat])  # every card of this seat that has been seen
    played_at: dict[int, int] = {}
    drawn_at: dict[int, int] = {}
    drawing = NOBODY
    for moment, code in enumerate(current_register(state)):
        if code < DRAW:
            played_at[code - PLAY] = moment
        elif code < TRICK:
            if drawing == seat:
                drawn_at[code - DRAW] = moment
            drawing = 1 - drawing
        elif code < NAPOLETANA:
            drawing = code - TRICK
    opening = min(played_at[card] for card in cards_in(held) if card in played_at)
    looks = [(opening, suit) for suit in range(NUM_SUITS)]
    looks += [(moment, suit_of(card)) for card, moment in drawn_at.items()]
    result = []
    for moment, suit in looks:
        if int(state["announced"]) >> (seat * NUM_SUITS + suit) & 1:
            continue
        three = int(NAPOLETANA_MASK[suit])
        seen_in_hand = mask_of(
            card for card in cards_in(three & held) if drawn_at.get(card, -1) <= moment <= played_at.get(card, moment)
        )
        missing = three & ~seen_in_hand
        if missing & ~unseen == 0:
            result.append(missing)
    return result


class TressetteWorlds:
    """The worlds that agree with a redacted record of a begun game, seen from one seat.

    Args:
        states: array of one redacted record; it is not changed.
        seat: the seat that knows it.
    """

    def __init__(self, states: np.ndarray[Any, Any], seat: int) -> None:
        self._states = states
        state = states[0]
        players = int(state["players"])
        seen = int(state["hand"][seat])
        for other in range(players):
            seen |= int(state["known"][other] | state["played"][other])
        unseen = int(state["deck_cards"]) & ~seen
        self._holders = [other for other in range(players) if other != seat]
        sizes = [int(hand_size(state, other)) - len(cards_in(state["known"][other])) for other in self._holders]
        voids = [int(state["void"][other]) for other in self._holders]
        forbidden = [forbidden_sets(state, other, unseen) for other in self._holders]
        if players == 2:  # the stock holds what the other hand does not, whatever it is
            sizes.append(int(state["deck_size"] - state["stock_start"]))
            voids.append(0)
            forbidden.append([])
        self._suits = [self._choices(unseen & int(SUIT_MASK[suit]), suit, voids, forbidden) for suit in range(NUM_SUITS)]
        # totals[k][counts]: ways to place the cards of the first k suits so that holders get these numbers.
        self._totals: list[dict[Counts, int]] = [{(0,) * len(sizes): 1}]
        for _, _, by_counts in self._suits:
            total: dict[Counts, int] = defaultdict(int)
            for before, ways in self._totals[-1].items():
                for counts, choices in by_counts.items():
                    after = tuple(a + b for a, b in zip(before, counts, strict=True))
                    if all(have <= size for have, size in zip(after, sizes, strict=True)):
                        total[after] += ways * sum(choice.ways for choice in choices)
            self._totals.append(total)
        self._sizes = tuple(sizes)

    @staticmethod
    def _choices(
        cards: int, suit: int, voids: list[int], forbidden: list[list[int]]
    ) -> tuple[list[int], list[int], dict[Counts, list[_Choice]]]:
        """Special cards, free cards and the ways to place them by how many each holder gets, for one suit."""
        constrained = 0
        for sets in forbidden:
            for cannot in sets:
                constrained |= cannot & cards
        special, free = cards_in(constrained), cards_in(cards & ~constrained)
        may_hold = [not void >> suit & 1 for void in voids]
        result: dict[Counts, list[_Choice]] = defaultdict(list)
        holders = [holder for holder, may in enumerate(may_hold) if may]
        splits = _splits(len(free), may_hold)
        for placed in itertools.product(holders, repeat=len(special)):
            masks = [
                mask_of(card for card, holder in zip(special, placed, strict=True) if holder == h) for h in range(len(voids))
            ]
            if any(
                cannot & cards and cannot & ~mask == 0 for mask, sets in zip(masks, forbidden, strict=True) for cannot in sets
            ):
                continue
            for split in splits:
                counts = tuple(split[h] + placed.count(h) for h in range(len(voids)))
                result[counts].append(_Choice(placed, split, _arrangements(split)))
        return special, free, result

    @property
    def count(self) -> int:
        """How many assignments of cards to holders agree (the order of the stock not counted)."""
        return self._totals[-1].get(self._sizes, 0)

    def sample(self, rng: np.random.Generator) -> np.ndarray[Any, Any]:
        """An array of one full record, uniform over the worlds that agree; its own random stream is a fresh one."""
        states = self._states.copy()
        state = states[0]
        given = [0] * len(self._sizes)
        wanted = self._sizes
        for k in reversed(range(NUM_SUITS)):
            special, free, by_counts = self._suits[k]
            options = []
            for counts, choices in by_counts.items():
                before = tuple(a - b for a, b in zip(wanted, counts, strict=True))
                ways = self._totals[k].get(before, 0)
                if ways:
                    options += [(ways * choice.ways, before, choice) for choice in choices]
            place = int(rng.integers(sum(ways for ways, _, _ in options)))
            reached = itertools.accumulate(ways for ways, _, _ in options)
            _, before, choice = next(option for option, up_to in zip(options, reached, strict=True) if place < up_to)
            for card, holder in zip(special, choice.special, strict=True):
                given[holder] |= 1 << card
            order, at = rng.permutation(free), 0
            for holder, size in enumerate(choice.free):
                given[holder] |= mask_of(order[at : at + size])
                at += size
            wanted = before
        for holder, other in enumerate(self._holders):
            state["hand"][other] |= given[holder]
        write_deck(state)
        if state["players"] == 2:
            start = int(state["stock_start"])
            state["deck"][start : int(state["deck_size"])] = rng.permutation(cards_in(given[1]))
        if not state["over"]:
            set_legal(state)
        state["rng"] = rng.integers(1 << 64, dtype=np.uint64)
        return states
