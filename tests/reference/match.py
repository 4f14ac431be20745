"""What both games share: a match of deals, its score, its rewards, its register of events."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

Event = dict[str, Any]
Sheet = dict[str, Any]
Deck = Sequence[int]
Decks = Sequence[Deck] | Callable[[int], Deck]


def suit_of(card: int) -> int:
    """0..3 for denari, coppe, spade, bastoni."""
    return card // 10


def rank_of(card: int) -> int:
    """1..10: asso, 2..7, fante, cavallo, re."""
    return card % 10 + 1


def side_of(seat: int) -> int:
    """Two seats are a side each; of four, 0 and 2 play against 1 and 3."""
    return seat % 2


class MatchReference:
    """Deals until the match (or the single deal) is over. The games fill in `_begin_deal`, `_play`, `_legal`, `_snapshot`."""

    game = ""
    seats = 2

    def __init__(self, options: dict[str, Any], cards: Sequence[int]) -> None:
        """`options`: the constructor's own, so that an equal reference can be built; `cards`: what a deck holds, sorted."""
        if not 1 <= options["target"] <= 100:
            raise ValueError(f"target must be 1..100, not {options['target']!r}")
        if options["episode"] not in ("match", "deal"):
            raise ValueError(f"episode must be 'match' or 'deal', not {options['episode']!r}")
        if options["reward"] not in ("win", "points"):
            raise ValueError(f"reward must be 'win' or 'points', not {options['reward']!r}")
        self.options = options
        self.cards = list(cards)
        self.turn: int | None = None
        self.over = False

    # What each game says for itself.

    def _begin_deal(self, deck: list[int]) -> None:
        raise NotImplementedError

    def _play(self, seat: int, action: int) -> None:
        raise NotImplementedError

    def _legal(self, seat: int) -> list[int]:
        raise NotImplementedError

    def _snapshot(self) -> dict[str, Any]:
        raise NotImplementedError

    def _deal_result(self, sheet: Sheet) -> list[int]:
        """Points by side that decide who won a single deal."""
        return list(sheet["points"])

    # The match.

    def start(self, decks: Decks, dealer: int, score: Sequence[int] = (0, 0)) -> None:
        """Start a match. `decks`: one deck for each deal, in order, or a function from a deal's number (from 1) to its deck."""
        if dealer not in range(self.seats):
            raise ValueError(f"dealer must be 0..{self.seats - 1}, not {dealer!r}")
        self._decks = decks
        self.dealer = dealer
        self.score = list(score)
        self.deal_number = 0
        self.over = False
        self.winner: int | None = None
        self.last_deal: Sheet | None = None
        self._last_events: list[Event] = []
        self._rewards = [0, 0]
        self._next_deal()

    def legal_actions(self) -> list[int]:
        """The actions open to the seat to move, sorted; empty when the game is over."""
        return [] if self.turn is None else sorted(self._legal(self.turn))

    def step(self, action: int) -> list[int]:
        """Play one action of the seat to move. Returns this step's reward by side."""
        if self.turn is None:
            raise ValueError("nobody is to move: start a match first" if not self.over else "the game is over")
        if action not in self.legal_actions():
            raise ValueError(f"seat {self.turn} may not do {action}: legal are {self.legal_actions()}")
        self._rewards = [0, 0]
        self.actions.append((self.turn, action))
        self._play(self.turn, action)
        return list(self._rewards)

    def snapshot(self) -> dict[str, Any]:
        """The whole truth, in plain Python."""
        common = {
            "game": self.game,
            "dealer": self.dealer,
            "turn": self.turn,
            "over": self.over,
            "hands": [sorted(hand) for hand in self.hands],
            "stock": self.stock,
            "taken": [sorted(cards) for cards in self.taken],
            "score": self.score,
            "deal_number": self.deal_number,
            "winner": self.winner,
            "last_deal": self.last_deal,
        }
        return copy.deepcopy(common | self._snapshot())

    def events(self) -> list[Event]:
        """The public register of this deal; once the game is over, of the deal that ended it."""
        return copy.deepcopy(self._events)

    def last_events(self) -> list[Event]:
        """The public register of the deal counted last, count included; empty before the first count."""
        return copy.deepcopy(self._last_events)

    def _next_deal(self) -> None:
        number = self.deal_number + 1
        if callable(self._decks):
            deck = list(self._decks(number))
        elif number <= len(self._decks):
            deck = list(self._decks[number - 1])
        else:
            raise ValueError(f"deal {number} begins, but only {len(self._decks)} decks were given")
        if sorted(deck) != self.cards:
            raise ValueError(f"the deck of deal {number} does not hold exactly the cards {self.cards}: {deck}")
        self.deal_number = number
        self.actions: list[tuple[int, int]] = []  # this deal's, as (seat, action)
        self._events: list[Event] = []
        self.hands: list[list[int]] = [[] for _ in range(self.seats)]
        self.taken: list[list[int]] = [[], []]
        self.stock: list[int] = []
        self._begin_deal(deck)

    def _seat_after(self, seat: int) -> int:
        return (seat + 1) % self.seats

    def _emit(self, kind: str, seat: int | None, **details: Any) -> None:
        self._events.append({"kind": kind, "seat": seat, **details})

    def _add_to_score(self, points: Sequence[int]) -> None:
        for side in (0, 1):
            self.score[side] += points[side]
        if self.options["reward"] == "points":
            self._rewards[0] += points[0] - points[1]
            self._rewards[1] += points[1] - points[0]

    def _finish_deal(self, sheet: Sheet) -> None:
        """Count the deal; then the game is over, or the next seat deals."""
        self.last_deal = sheet
        self._add_to_score(sheet["points"])
        self._emit("count", None, points=list(sheet["points"]))
        self._last_events = self._events
        if self.options["episode"] == "deal":
            self._finish_game(self._deal_result(sheet))
        elif max(self.score) >= self.options["target"] and self.score[0] != self.score[1]:
            # RULES match: looked at only at the end of a deal; the higher score wins; if equal, another deal.
            self._finish_game(self.score)
        else:
            self.dealer = self._seat_after(self.dealer)
            self._next_deal()

    def _finish_game(self, result: Sequence[int]) -> None:
        self.over = True
        self.turn = None
        self.winner = None if result[0] == result[1] else (0 if result[0] > result[1] else 1)
        if self.options["reward"] == "win" and self.winner is not None:
            self._rewards[self.winner] += 1
            self._rewards[1 - self.winner] -= 1
