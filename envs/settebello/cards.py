"""The deck: card index, names, text form and card sets. The only place that knows the encoding.

A card is an int in 0..39, ``suit * 10 + rank - 1``. A card set is an int64 mask with bit ``card`` set.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np

from settebello.errors import OptionError
from settebello.jit import kernel

NUM_CARDS: Final = 40
NUM_SUITS: Final = 4
NUM_RANKS: Final = 10
SUIT_NAMES: Final = ("denari", "coppe", "spade", "bastoni")
SUIT_LETTERS: Final = "dcsb"
RANK_LETTERS: Final = "A234567FCR"

SETTEBELLO: Final = 6
RE_DI_DENARI: Final = 9
JOLLIES: Final = (SETTEBELLO, RE_DI_DENARI)

UNKNOWN: Final = 255  # in a deck: a card that the seat cannot know

FULL_DECK: Final = (1 << NUM_CARDS) - 1
SUIT_MASK: Final = np.array([0x3FF << (10 * suit) for suit in range(NUM_SUITS)], np.int64)
RANK_MASK: Final = np.array([sum(1 << (10 * suit + rank) for suit in range(NUM_SUITS)) for rank in range(NUM_RANKS)], np.int64)
DENARI_MASK: Final = 0x3FF


@kernel(inline=True)
def suit_of(card: int) -> int:
    """Suit 0..3 of a card."""
    return card // NUM_RANKS


@kernel(inline=True)
def rank_of(card: int) -> int:
    """Rank index 0..9 of a card (0 is the ace, 9 the king)."""
    return card % NUM_RANKS


@kernel(inline=True)
def bit_of(card: int) -> int:
    """The card set that holds this card alone."""
    return np.int64(1) << np.int64(card)


def card_at(suit: int, rank: int) -> int:
    """Card of a suit 0..3 and a rank index 0..9."""
    return suit * NUM_RANKS + rank


def card_text(card: int) -> str:
    """Short text form, for example ``7d``."""
    return RANK_LETTERS[card % NUM_RANKS] + SUIT_LETTERS[card // NUM_RANKS]


def parse_card(text: str) -> int:
    """Card index of a short text form.

    Raises:
        OptionError: the text is not a rank letter followed by a suit letter.
    """
    rank, suit = (RANK_LETTERS.find(text[:1].upper()), SUIT_LETTERS.find(text[1:].lower())) if len(text) == 2 else (-1, -1)
    if rank < 0 or suit < 0:
        raise OptionError(f"card {text!r}: expected a rank of {RANK_LETTERS} and a suit of {SUIT_LETTERS}, as in '7d'")
    return card_at(suit, rank)


def mask_of(cards: Iterable[int]) -> int:
    """Card set of card indices."""
    mask = 0
    for card in cards:
        mask |= 1 << int(card)
    return mask


def cards_in(mask: int) -> list[int]:
    """Sorted card indices of a card set."""
    mask = int(mask)
    return [card for card in range(NUM_CARDS) if mask >> card & 1]


def cards_text(cards: Iterable[int]) -> str:
    """Cards in their short text form, separated by spaces."""
    return " ".join(card_text(card) for card in cards)
