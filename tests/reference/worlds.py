"""The worlds that one seat cannot tell apart, found by trying out every way the unseen cards may lie.

A world agrees if the deal, played again from it with the same actions, shows the same: every action was legal there (so a
hand that failed to follow has none of that suit, and a baptism was allowed by the whole hand) and the public register comes
out word for word (so nothing was announced that was not, and nothing not announced that the rules would have).
Only for small positions: the time grows with the number of ways.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations

from tests.reference.bazzica import BazzicaReference
from tests.reference.tressette import TressetteReference

Reference = TressetteReference | BazzicaReference
Hands = tuple[tuple[int, ...], ...]
World = tuple[Hands, tuple[int, ...]]


def agreeing_worlds(reference: Reference, seat: int, stock_as_set: bool = False) -> list[World]:
    """All worlds that agree with what `seat` knows now, as (sorted hands by seat, stock in draw order), in sorted order.

    The order of the stock decides nothing that has happened, so every order of it agrees. With `stock_as_set` it is left out:
    one world for each way the hands may lie, its stock sorted. Either way all worlds are equally likely.
    """
    worlds = []
    for hands, stock in _deals_of_the_unseen(reference, seat):
        if _agrees(reference, hands, stock):
            worlds += [(hands, order) for order in ([stock] if stock_as_set else permutations(stock))]
    return sorted(worlds)


def known_in_hand(reference: Reference, seat: int) -> list[int]:
    """The cards in a seat's hand that everybody knows, sorted."""
    if isinstance(reference, TressetteReference):
        return sorted(reference.known[seat])
    return sorted(card for card in reference.hands[seat] if card in reference.baptised)


def _deals_of_the_unseen(reference: Reference, seat: int) -> Iterator[World]:
    """Every way to lay what the seat has not seen into the other hands and the stock, as sorted tuples."""
    others = [other for other in range(reference.seats) if other != seat]
    known = [reference.hands[other] if other == seat else known_in_hand(reference, other) for other in range(reference.seats)]
    hidden_sizes = {other: len(reference.hands[other]) - len(known[other]) for other in others}
    unseen = sorted({card for hand in reference.hands for card in hand} | set(reference.stock))
    unseen = [card for card in unseen if not any(card in hand for hand in known)]

    def lay(seats: Sequence[int], left: Sequence[int], hands: dict[int, tuple[int, ...]]) -> Iterator[World]:
        if not seats:
            yield tuple(hands[other] for other in range(reference.seats)), tuple(left)
            return
        other = seats[0]
        for hidden in combinations(left, hidden_sizes[other]):
            hand = tuple(sorted([*known[other], *hidden]))
            yield from lay(seats[1:], [card for card in left if card not in hidden], {**hands, other: hand})

    yield from lay(others, unseen, {seat: tuple(sorted(known[seat]))})


def _agrees(reference: Reference, hands: Hands, stock: Sequence[int]) -> bool:
    """Whether this deal's actions are legal from this world and give the same public register."""
    if isinstance(reference, TressetteReference):
        replay: Reference = TressetteReference(**reference.options | {"episode": "deal"})
        deck = _tressette_deck(reference, hands, stock)
    else:
        replay = BazzicaReference(**reference.options | {"episode": "deal"})
        deck = _bazzica_deck(reference, hands, stock)
    replay.start([deck], reference.dealer)
    for mover, action in reference.actions:
        if replay.turn != mover or action not in replay.legal_actions():
            return False
        replay.step(action)
    return replay.events() == reference.events()


def _tressette_deck(reference: TressetteReference, hands: Hands, stock: Sequence[int]) -> list[int]:
    """The deck of this deal, had the hands and the stock now been these."""
    dealt = [list(hand) for hand in hands]
    drawn: list[int] = []
    for event in reversed(reference.events()):
        if event["kind"] in ("lead", "follow"):
            dealt[event["seat"]].append(event["card"])
        elif event["kind"] == "draw":
            dealt[event["seat"]].remove(event["card"])
            drawn.insert(0, event["card"])
    deck = []
    for number in range(reference.seats):
        deck += dealt[(reference.dealer + 1 + number) % reference.seats]
    return deck + drawn + list(stock)


def _bazzica_deck(reference: BazzicaReference, hands: Hands, stock: Sequence[int]) -> list[int]:
    """The deck of this deal, had the hands and the stock now been these."""
    events = reference.events()
    dealt = [[event["card"] for event in events if event["kind"] == "play" and event["seat"] == seat] for seat in (0, 1)]
    opener, dealer = ([*dealt[seat], *hands[seat]] for seat in (reference.opener, reference.dealer))
    deck = []
    for hand_number in range(reference.hand_number):
        three = slice(3 * hand_number, 3 * hand_number + 3)
        deck += opener[three] + dealer[three]
        if hand_number == 0:
            deck += events[0]["cards"]  # the four table cards, turned up after the first hands
    return deck + list(stock)
