"""Scopa-bazzica, by the letter of the rules."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

from tests.reference.match import MatchReference, Sheet, rank_of, side_of, suit_of

SETTEBELLO, RE_DI_DENARI = 6, 9
BAPTISE_SETTEBELLO, BAPTISE_RE, PICK, DECLARE = 80, 90, 40, 100  # first action of each kind; 0..39 plays a card
FIRST_BAPTISM = {SETTEBELLO: BAPTISE_SETTEBELLO, RE_DI_DENARI: BAPTISE_RE}
HANDS_IN_A_DEAL = 6
DEFAULT_POINTS = {"pariglia": 1, "meno_di_nove": 2, "pariglia_meno_di_nove": 3, "bazzicotto": 7}
BAPTISM_AIMS = ("meno_di_nove", "pariglia_meno_di_nove", "bazzicotto")  # RULES baptism: never for a plain pariglia
PRIMIERA = {7: 21, 6: 18, 1: 16, 5: 15, 4: 14, 3: 13, 2: 12, 8: 10, 9: 10, 10: 10}  # by rank


def nonempty_subsets(cards: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every subset of one card or more."""
    for size in range(1, len(cards) + 1):
        yield from combinations(cards, size)


def captures(table: Mapping[int, int], value: int) -> list[list[int]]:
    """The sets of table cards a played `value` may take, each sorted, the list sorted. `table`: value by card."""
    # RULES capture 1: an equal card is taken alone, nothing else.
    equal = [[card] for card in table if table[card] == value]
    if equal:
        return sorted(equal)
    found: set[tuple[int, ...]] = set()
    for group in nonempty_subsets(list(table)):
        total = sum(table[card] for card in group)
        # RULES capture 2, sum: two or more table cards adding up to the played value.
        if len(group) >= 2 and total == value:
            found.add(tuple(sorted(group)))
        # RULES capture 2, subtraction: one table card equal to the played value plus the sum of other table cards.
        for single in table:
            if single not in group and table[single] == value + total:
                found.add(tuple(sorted((single, *group))))
    # RULES capture 3: most cards only.
    most = max((len(cards) for cards in found), default=0)
    return sorted(list(cards) for cards in found if len(cards) == most)


def shown_by(values: Sequence[int], low_sum_max: int) -> str | None:
    """The best declaration three values show, or None."""
    different = len(set(values))
    low = sum(values) <= low_sum_max
    if different == 1:
        return "bazzicotto"
    if different == 2 and low:
        return "pariglia_meno_di_nove"
    if low:
        return "meno_di_nove"
    if different == 2:
        return "pariglia"
    return None


def primiera_of(cards: Sequence[int]) -> int | None:
    """Best card of each suit added up; None when a suit is missing."""
    suits = [[PRIMIERA[rank_of(card)] for card in cards if suit_of(card) == suit] for suit in range(4)]
    return sum(max(suit) for suit in suits) if all(suits) else None


def side_with_more(amounts: Sequence[int]) -> int | None:
    """RULES count: equal means nobody gets that point."""
    return None if amounts[0] == amounts[1] else (0 if amounts[0] > amounts[1] else 1)


class BazzicaReference(MatchReference):
    """`declaration_points`: None for the default table, else the points of all four declarations by name."""

    game = "bazzica"

    def __init__(
        self,
        target: int = 31,
        declaration_points: Mapping[str, int] | None = None,
        low_sum_max: int = 8,
        last_card_scopa: bool = False,
        episode: str = "match",
        reward: str = "win",
    ) -> None:
        if declaration_points is not None and set(declaration_points) != set(DEFAULT_POINTS):
            raise ValueError(f"declaration_points must name exactly {sorted(DEFAULT_POINTS)}, not {declaration_points!r}")
        options = {"declaration_points": declaration_points, "low_sum_max": low_sum_max, "last_card_scopa": last_card_scopa}
        super().__init__(options | {"target": target, "episode": episode, "reward": reward}, range(40))
        self.declaration_points = dict(DEFAULT_POINTS if declaration_points is None else declaration_points)
        self.low_sum_max = low_sum_max
        self.last_card_scopa = last_card_scopa

    def _begin_deal(self, deck: list[int]) -> None:
        # RULES deal: opener deck[0:3], dealer deck[3:6], table deck[6:10].
        self.opener = self._seat_after(self.dealer)
        self.table = deck[6:10]
        self.stock = deck[:6] + deck[10:]
        self.baptised: dict[int, int] = {}
        self.pending: int | None = None
        self.candidates: list[list[int]] = []
        self.scope = [0, 0]
        self.declaration_scores = [0, 0]
        self.last_taker: int | None = None
        self.hand_number = 0
        self._emit("deal", self.dealer, cards=sorted(self.table))
        self._deal_hands()

    def _deal_hands(self) -> None:
        # RULES deal: three each, opener first, from the front; the opener plays first in every hand.
        for seat in (self.opener, self.dealer):
            self.hands[seat] = self.stock[:3]
            self.stock = self.stock[3:]
        self.hand_number += 1
        self.declared: list[str | None] = [None, None]  # shown until the next three cards are dealt
        self.turn = self.opener

    def value_of(self, card: int) -> int:
        """RULES values: the rank number, unless the card is baptised."""
        return self.baptised.get(card, rank_of(card))

    def _shown(self, seat: int) -> str | None:
        return shown_by([self.value_of(card) for card in self.hands[seat]], self.low_sum_max)

    def _legal(self, seat: int) -> list[int]:
        if self.pending is not None:
            # RULES choosing: a card in some but not all of the sets still possible.
            in_some = set().union(*self.candidates)
            in_all = in_some.intersection(*self.candidates)
            return [PICK + card for card in in_some - in_all]
        hand = self.hands[seat]
        if len(hand) < 3 or self.declared[seat] is not None:
            return list(hand)
        shown = self._shown(seat)
        if any(card in self.baptised for card in hand) and shown not in BAPTISM_AIMS:
            # RULES baptism: a baptism that has not yet made one of the three allows only further baptisms that can.
            return self._baptisms(seat)
        return list(hand) + self._baptisms(seat) + ([DECLARE] if shown is not None else [])

    def _baptisms(self, seat: int) -> list[int]:
        """RULES baptism: the values from which the hand can reach one of the three, every way of going on tried out."""
        hand = self.hands[seat]
        free = [card for card in hand if card in FIRST_BAPTISM and card not in self.baptised]
        actions = []
        for jolly in free:
            for value in range(1, 11):
                if value == rank_of(jolly):
                    continue  # a value other than its own
                # The other jolly, if free, may still become anything, or stay what it is.
                choices = [
                    [value] if card == jolly else list(range(1, 11)) if card in free else [self.value_of(card)] for card in hand
                ]
                if any(shown_by(values, self.low_sum_max) in BAPTISM_AIMS for values in product(*choices)):
                    actions.append(FIRST_BAPTISM[jolly] + value - 1)
        return actions

    def _play(self, seat: int, action: int) -> None:
        if action == DECLARE:
            self._declare(seat)
        elif action >= BAPTISE_RE:
            self._baptise(seat, RE_DI_DENARI, action - BAPTISE_RE + 1)
        elif action >= BAPTISE_SETTEBELLO:
            self._baptise(seat, SETTEBELLO, action - BAPTISE_SETTEBELLO + 1)
        elif action >= PICK:
            self._pick(seat, action - PICK)
        else:
            self._play_card(seat, action)

    def _declare(self, seat: int) -> None:
        name = self._shown(seat)
        assert name is not None
        points = self.declaration_points[name]
        self.declared[seat] = name
        self.declaration_scores[side_of(seat)] += points
        self._emit("declare", seat, value=name, points=points)

    def _baptise(self, seat: int, card: int, value: int) -> None:
        self.baptised[card] = value
        self._emit("baptise", seat, card=card, value=value)

    def _play_card(self, seat: int, card: int) -> None:
        self.hands[seat].remove(card)
        self._emit("play", seat, card=card, value=self.value_of(card))
        candidates = captures({other: self.value_of(other) for other in self.table}, self.value_of(card))
        if not candidates:
            self.table.append(card)  # RULES capture 4: no candidate, the card stays on the table
            self._finish_turn(seat)
        elif len(candidates) == 1:
            self._capture(seat, card, candidates[0])
        else:
            self.pending = card
            self.candidates = candidates

    def _pick(self, seat: int, picked: int) -> None:
        # RULES choosing: each pick keeps the sets that contain it; when one set is left it is taken.
        self.candidates = [cards for cards in self.candidates if picked in cards]
        if len(self.candidates) == 1:
            assert self.pending is not None
            card, cards = self.pending, self.candidates[0]
            self.pending, self.candidates = None, []
            self._capture(seat, card, cards)

    def _capture(self, seat: int, card: int, cards: list[int]) -> None:
        self.table = [other for other in self.table if other not in cards]
        self.taken[side_of(seat)] += [card, *cards]
        self.last_taker = seat
        self._emit("capture", seat, card=card, cards=sorted(cards))
        # RULES scopa: a capture that empties the table; the very last card of the deal makes one only by option.
        last_card = self.hand_number == HANDS_IN_A_DEAL and not any(self.hands)
        if not self.table and (self.last_card_scopa or not last_card):
            self.scope[side_of(seat)] += 1
            self._emit("scopa", seat, points=1)
        self._finish_turn(seat)

    def _finish_turn(self, seat: int) -> None:
        self.turn = self._seat_after(seat)
        if any(self.hands):
            return
        if self.hand_number < HANDS_IN_A_DEAL:
            self._deal_hands()
            return
        # RULES end of the deal: the cards left go to whoever captured last; that is never a scopa.
        if self.table and self.last_taker is not None:
            self._emit("sweep", self.last_taker, cards=sorted(self.table))
            self.taken[side_of(self.last_taker)] += self.table
            self.table = []
        self._finish_deal(self._count())

    def _count(self) -> Sheet:
        # RULES baptism: for denari, settebello and primiera the card is itself again.
        items = {
            "carte": side_with_more([len(cards) for cards in self.taken]),
            "denari": side_with_more([sum(suit_of(card) == 0 for card in cards) for cards in self.taken]),
            "settebello": side_with_more([cards.count(SETTEBELLO) for cards in self.taken]),
            # RULES count: a side with no card of some suit has no primiera.
            "primiera": side_with_more([primiera_of(cards) or 0 for cards in self.taken]),
        }
        points = [list(items.values()).count(side) + self.scope[side] + self.declaration_scores[side] for side in (0, 1)]
        return {"points": points, **items, "scope": list(self.scope), "declarations": list(self.declaration_scores)}

    def _snapshot(self) -> dict[str, Any]:
        return {
            "opener": self.opener,
            "hand_number": self.hand_number,
            "table": [[card, self.value_of(card)] for card in sorted(self.table)],
            "baptised": self.baptised,
            "pending": self.pending,
            "candidates": self.candidates,
            "declared": self.declared,
            "scope": self.scope,
            "last_taker": self.last_taker,
        }
