"""Two-player Tressette endings by trying every line of play, by the letter of the rules."""

from collections.abc import Sequence

from tests.reference.match import side_of, suit_of
from tests.reference.tressette import strength_of, thirds_of

Result = tuple[int, int]  # deal points of side 0 and side 1


class EndingReference:
    """One ending; positions met before are remembered, with the thirds taken as part of them."""

    def __init__(self) -> None:
        self._known: dict[tuple[frozenset[int], frozenset[int], int, int | None, Result], Result] = {}

    def results(self, hands: Sequence[Sequence[int]], leader: int, led_card: int | None, thirds: Result) -> dict[int, Result]:
        """Points at the end of the deal for each legal card of the seat to move, both sides playing for the difference.

        A card led is no longer in the leader's hand.
        """
        seat = leader if led_card is None else 1 - leader
        legal = list(hands[seat])
        if led_card is not None:  # RULES lead: follow suit if you can, otherwise any card
            legal = [card for card in legal if suit_of(card) == suit_of(led_card)] or legal
        results = {}
        for card in legal:
            left = [[held for held in hand if held != card] for hand in hands]
            if led_card is None:
                results[card] = self._best(left, leader, card, thirds)
                continue
            takes = suit_of(card) == suit_of(led_card) and strength_of(card) > strength_of(led_card)
            winner = seat if takes else leader
            taken = list(thirds)
            taken[side_of(winner)] += thirds_of([led_card, card])
            if left[0]:
                results[card] = self._best(left, winner, None, (taken[0], taken[1]))
            else:  # RULES end of the deal: thirds without the fraction, 1 for the last trick
                last = side_of(winner)
                results[card] = (taken[0] // 3 + (last == 0), taken[1] // 3 + (last == 1))
        return results

    def _best(self, hands: Sequence[Sequence[int]], leader: int, led_card: int | None, thirds: Result) -> Result:
        key = (frozenset(hands[0]), frozenset(hands[1]), leader, led_card, thirds)
        if key not in self._known:
            seat = leader if led_card is None else 1 - leader
            results = self.results(hands, leader, led_card, thirds).values()
            self._known[key] = max(results, key=lambda points: points[seat] - points[1 - seat])
        return self._known[key]
