"""Options of Tressette, and the record that carries them."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from settebello.cards import FULL_DECK, NUM_CARDS, cards_in, mask_of
from settebello.errors import OptionError
from settebello.options import Options, check_choice, check_int
from settebello.tressette.state import STATE_DTYPE


@dataclasses.dataclass(frozen=True, kw_only=True)
class TressetteOptions(Options):
    """Options of Tressette.

    Attributes:
        players: 2 (a side each, with stock) or 4 (seats 0+2 against 1+3).
        target: points that end the match, 1..100.
        napoletana: whether 3, 2 and A of one suit score 3 points.
        deck_cards: the cards to play with (None: all 40), for small games that can be enumerated.
        hand_size: cards dealt to each seat; what is left over is the stock (two players), an even number of cards.
        episode: "match", or "deal" for one deal.
        reward: "win" (+1/-1 at the end) or "points" (own points minus the other side's, when scored).
    """

    players: int = 2
    napoletana: bool = False
    deck_cards: Sequence[int] | None = None
    hand_size: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("players", self.players, (2, 4))
        check_choice("napoletana", self.napoletana, (False, True))
        size = NUM_CARDS
        if self.deck_cards is not None:
            try:
                cards = [check_int("deck_cards", card, 0, NUM_CARDS - 1) for card in self.deck_cards]
            except TypeError as error:
                raise OptionError(f"deck_cards={self.deck_cards!r}: expected a list of card indices") from error
            if len(set(cards)) != len(cards):
                raise OptionError(f"deck_cards={cards}: a card is listed twice")
            size = len(cards)
            object.__setattr__(self, "deck_cards", None if size == NUM_CARDS else tuple(sorted(cards)))
        most = size // self.players
        object.__setattr__(self, "hand_size", check_int("hand_size", self.hand_size, 1, max(1, most)))
        left = size - self.players * self.hand_size
        if left < 0 or left % 2 or (left and self.players == 4):
            wanted = "an even number left for the stock" if self.players == 2 else "none left over"
            raise OptionError(
                f"hand_size={self.hand_size}: {size} cards for {self.players} players leave {left}; expected {wanted}"
            )

    @property
    def cards(self) -> list[int]:
        """The cards of the game, sorted."""
        return cards_in(FULL_DECK) if self.deck_cards is None else list(self.deck_cards)

    def record(self) -> npt.NDArray[Any]:
        """An array of one state record that carries these options, no game begun."""
        states = np.zeros(1, STATE_DTYPE)
        state = states[0]
        cards = self.cards
        state["players"] = self.players
        state["hand_size"] = self.hand_size
        state["deck_size"] = len(cards)
        state["deck_cards"] = mask_of(cards)
        state["target"] = self.target
        state["napoletana"] = self.napoletana
        state["single_deal"] = self.episode == "deal"
        state["points_reward"] = self.reward == "points"
        return states
