"""Tressette for two or four, by the letter of the rules."""

from collections.abc import Sequence
from typing import Any

from tests.reference.match import MatchReference, Sheet, rank_of, side_of, suit_of

WEAKEST_FIRST = [4, 5, 6, 7, 8, 9, 10, 1, 2, 3]  # RULES strength: 3 2 A R C F 7 6 5 4, strongest first
THIRDS = {1: 3, 2: 1, 3: 1, 4: 0, 5: 0, 6: 0, 7: 0, 8: 1, 9: 1, 10: 1}  # RULES worth, by rank
NAPOLETANA_POINTS = 3


def strength_of(card: int) -> int:
    """0 (a 4) to 9 (a 3): compares cards of one suit."""
    return WEAKEST_FIRST.index(rank_of(card))


def thirds_of(cards: Sequence[int]) -> int:
    """What cards are worth together, in thirds of a point."""
    return sum(THIRDS[rank_of(card)] for card in cards)


def napoletana_cards(suit: int) -> list[int]:
    """Ace, 2 and 3 of a suit."""
    return [suit * 10, suit * 10 + 1, suit * 10 + 2]


class TressetteReference(MatchReference):
    """`deck_cards`: the cards of a smaller deck; two players draw what is left after `hand_size` cards each."""

    def __init__(
        self,
        players: int = 2,
        target: int = 21,
        napoletana: bool = False,
        deck_cards: Sequence[int] | None = None,
        hand_size: int = 10,
        episode: str = "match",
        reward: str = "win",
    ) -> None:
        cards = list(range(40)) if deck_cards is None else sorted(deck_cards)
        if players not in (2, 4):
            raise ValueError(f"players must be 2 or 4, not {players!r}")
        if len(set(cards)) != len(cards) or not set(cards) <= set(range(40)):
            raise ValueError(f"deck_cards must be different cards from 0..39, not {deck_cards!r}")
        leftover = len(cards) - players * hand_size
        if hand_size < 1 or leftover < 0:
            raise ValueError(f"{len(cards)} cards are not enough for {players} hands of {hand_size}")
        if players == 4 and leftover != 0:
            raise ValueError(f"four players have no stock: {len(cards)} cards are not 4 hands of {hand_size}")
        if leftover % 2 != 0:
            raise ValueError(f"a stock of {leftover} cards cannot be drawn two at a time")
        options = {"players": players, "napoletana": napoletana, "deck_cards": deck_cards, "hand_size": hand_size}
        super().__init__(options | {"target": target, "episode": episode, "reward": reward}, cards)
        self.game = f"tressette-{players}p"
        self.seats = players
        self.hand_size = hand_size
        self.napoletana = napoletana

    def _begin_deal(self, deck: list[int]) -> None:
        # RULES deal: the seat after the dealer gets the first ten cards, the next seat the next ten, and so on.
        seat = self.dealer
        for number in range(self.seats):
            seat = self._seat_after(seat)
            self.hands[seat] = deck[number * self.hand_size : (number + 1) * self.hand_size]
        self.stock = deck[self.seats * self.hand_size :]
        self.trick: list[list[int]] = []
        self.known: list[set[int]] = [set() for _ in range(self.seats)]
        self.napoletane: list[list[int]] = []
        self._opened: set[int] = set()  # seats that played their first card
        self.turn = self._seat_after(self.dealer)
        self._emit("deal", self.dealer)

    def _legal(self, seat: int) -> list[int]:
        hand = self.hands[seat]
        if not self.trick:
            return list(hand)
        led_suit = suit_of(self.trick[0][1])
        # RULES lead: follow suit if you can, otherwise any card.
        return [card for card in hand if suit_of(card) == led_suit] or list(hand)

    def _play(self, seat: int, card: int) -> None:
        if seat not in self._opened:
            # RULES napoletana: at the first card of the deal, checked before that card leaves the hand, in suit order.
            self._opened.add(seat)
            for suit in range(4):
                self._announce_if_held(seat, suit)
        self.hands[seat].remove(card)
        self.known[seat].discard(card)
        self._emit("follow" if self.trick else "lead", seat, card=card)
        self.trick.append([seat, card])
        if len(self.trick) < self.seats:
            self.turn = self._seat_after(seat)
        else:
            self._finish_trick()

    def _announce_if_held(self, seat: int, suit: int) -> None:
        three = napoletana_cards(suit)
        if not self.napoletana or not set(three) <= set(self.hands[seat]):
            return
        self.napoletane.append([seat, suit])
        self.known[seat].update(three)
        self._emit("napoletana", seat, cards=three, points=NAPOLETANA_POINTS)
        points = [0, 0]
        points[side_of(seat)] = NAPOLETANA_POINTS
        self._add_to_score(points)  # RULES napoletana: to the match score at once

    def _finish_trick(self) -> None:
        # RULES lead: the strongest card of the suit led wins; its player leads the next trick.
        led_suit = suit_of(self.trick[0][1])
        followers = [(strength_of(card), seat) for seat, card in self.trick if suit_of(card) == led_suit]
        winner = max(followers)[1]
        cards = [card for _, card in self.trick]
        self.taken[side_of(winner)] += cards
        self._emit("trick", winner, cards=cards)
        self.trick = []
        self.turn = winner
        if self.stock:
            # RULES two players: the winner draws first, then the other; each drawn card is shown.
            for seat in (winner, self._seat_after(winner)):
                self._draw(seat)
        if not any(self.hands):
            self._finish_deal(self._count(side_of(winner)))

    def _draw(self, seat: int) -> None:
        card = self.stock.pop(0)
        self.hands[seat].append(card)
        self.known[seat].add(card)
        self._emit("draw", seat, card=card)
        if card in napoletana_cards(suit_of(card)):
            # RULES napoletana: with two players also when a drawn card completes one.
            self._announce_if_held(seat, suit_of(card))

    def _count(self, last_trick: int) -> Sheet:
        # RULES end of the deal: thirds of each side, the fraction dropped; the last trick is one point more.
        thirds = [thirds_of(cards) for cards in self.taken]
        points = [thirds[side] // 3 + (1 if side == last_trick else 0) for side in (0, 1)]
        return {"points": points, "thirds": thirds, "last_trick": last_trick, "napoletane": [list(n) for n in self.napoletane]}

    def _deal_result(self, sheet: Sheet) -> list[int]:
        # RULES napoletana: the result of a single deal is its points plus its napoletane.
        result = list(sheet["points"])
        for seat, _ in sheet["napoletane"]:
            result[side_of(seat)] += NAPOLETANA_POINTS
        return result

    def _snapshot(self) -> dict[str, Any]:
        return {"trick": self.trick, "known": [sorted(cards) for cards in self.known], "napoletane": self.napoletane}
