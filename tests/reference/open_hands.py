"""What perfect play with all four hands open comes to in Tressette: every line of play tried, none cut short."""

from collections.abc import Collection, Sequence
from functools import cache

from tests.reference.match import side_of, suit_of
from tests.reference.tressette import strength_of, thirds_of

SEATS = 4
LAST_TRICK = 3  # RULES End of the deal: one point, here in thirds


def final_thirds(
    hands: Sequence[Collection[int]], leader: int, trick: Sequence[int] = (), thirds: Sequence[int] = (0, 0)
) -> dict[int, int]:
    """For each legal card of the seat to move: what its side has in the end, thirds taken and the last trick included."""
    seat = (leader + len(trick)) % SEATS
    side = side_of(seat)
    held = tuple(frozenset(hand) for hand in hands)
    values = {}
    for card in _legal(held[seat], trick):
        gains = _play(held, leader, tuple(trick), card)
        values[card] = thirds[side] + (
            gains if side == 0 else thirds_of([*trick, *frozenset().union(*held)]) + LAST_TRICK - gains
        )
    return values


def _legal(hand: Collection[int], trick: Sequence[int]) -> list[int]:
    follow = [card for card in hand if trick and suit_of(card) == suit_of(trick[0])]
    return sorted(follow or hand)


def _play(hands: tuple[frozenset[int], ...], leader: int, trick: tuple[int, ...], card: int) -> int:
    """Thirds that side 0 gets from this card on."""
    seat = (leader + len(trick)) % SEATS
    hands = tuple(hand - {card} for hand in hands)
    trick = (*trick, card)
    if len(trick) < SEATS:
        return _best(hands, leader, trick)
    followed = [k for k in range(SEATS) if suit_of(trick[k]) == suit_of(trick[0])]
    winner = (leader + max(followed, key=lambda k: strength_of(trick[k]))) % SEATS
    gains = thirds_of(trick) if side_of(winner) == 0 else 0
    if hands[seat]:
        return gains + _best(hands, winner, ())
    return gains + (LAST_TRICK if side_of(winner) == 0 else 0)


@cache
def _best(hands: tuple[frozenset[int], ...], leader: int, trick: tuple[int, ...]) -> int:
    """Thirds that side 0 gets from here on: its seats want many, the others few."""
    seat = (leader + len(trick)) % SEATS
    best = max if side_of(seat) == 0 else min
    return best(_play(hands, leader, trick, card) for card in _legal(hands[seat], trick))


def forget() -> None:
    """Drop the positions kept."""
    _best.cache_clear()
