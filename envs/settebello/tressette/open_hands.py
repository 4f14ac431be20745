"""Four-player Tressette with all hands open: exact values of positions, as a double dummy solver finds them in bridge.

One fail-soft null-window search (Fishburn, 1983) answers whether a side reaches so many thirds; a few of them close in on the
value, as in MTD(f) (Plaat et al., 1996). Where a trick begins, positions are looked up in a table by who owns the first,
second, ... card in play of each suit and what that card is worth (Chang, "Building a Fast Double-Dummy Bridge Solver", 1996),
and tricks that the side on lead can simply run bound the value from below.

``floor(thirds / 3)`` plus 1 for the last trick is ``floor((thirds + 3) / 3)``: here the last trick is worth 3 thirds.

Card sets of this module have bit ``10 * suit + strength``: a higher bit of a suit wins. The search knows no seats, only the
hands in playing order: the one to move, the next after it, its mate's, and the one before it.
"""

import dataclasses
from collections.abc import Collection, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from settebello.bits import lowest_bit, mix, popcount
from settebello.cards import NUM_CARDS, NUM_RANKS, NUM_SUITS, mask_of
from settebello.errors import OptionError
from settebello.jit import kernel
from settebello.options import check_int, is_list
from settebello.tressette.rules import DECK_THIRDS, LAST_TRICK, STRENGTH, WORTH
from settebello.tressette.state import MAX_SEATS

SORTED: Final = np.array([card // NUM_RANKS * NUM_RANKS + STRENGTH[card] for card in range(NUM_CARDS)], np.int64)
CARD: Final = np.argsort(SORTED)  # back from a bit's index to the card

# Sets by strength; STEPS of all suits: 4 5 6 7 F C R A 2 3.
SUIT: Final = (1 << NUM_RANKS) - 1
STEPS: Final = 1 | 1 << 10 | 1 << 20 | 1 << 30
ALL: Final = STEPS * SUIT
ACES: Final = STEPS * 0b0010000000
ONES: Final = STEPS * 0b1101110000  # worth a third
FIGURES: Final = STEPS * 0b0001110000
BLANKS: Final = STEPS * 0b0000001111  # worth nothing
HAS_EQUAL_ABOVE: Final = STEPS * 0b0111110111  # not the 3 and the 7: the card one step up is of another worth, or suit
BELOW: Final = tuple(STEPS * (SUIT >> steps) for steps in (1, 2, 4, 8))

# A table entry is two words: who owns the cards (first and second bit of the seat, counted from the leader), two suits'
# patterns, and a bound in thirds for the leader's side, below in the first word and above in the second.
WAYS: Final = 4
BUCKET_BITS: Final = 14
FIRST_BUCKET: Final = 8  # before it: the way to overwrite next
TABLE_SIZE: Final = FIRST_BUCKET + (WAYS * 2 << BUCKET_BITS)
KEY: Final = (1 << 54) - 1
BOUND_SHIFT: Final = 54


def _squeeze_table() -> npt.NDArray[np.int64]:
    """At mask * 32 + bits: the bits at the places of the mask, moved together at the upper end; all of five bits."""
    table = np.zeros((32, 32), np.int64)
    for mask in range(32):
        places = [place for place in reversed(range(5)) if mask >> place & 1]
        for bits in range(32):
            table[mask, bits] = sum((bits >> place & 1) << (4 - i) for i, place in enumerate(places))
    return table.reshape(-1)


def _pattern_table() -> npt.NDArray[np.int64]:
    """For each set of one suit's cards in play a code of what they are worth, strongest first: 90 different ones."""
    codes: dict[tuple[int, ...], int] = {}
    worth_of = WORTH[CARD[:NUM_RANKS]]
    patterns = [tuple(int(worth_of[i]) for i in reversed(range(NUM_RANKS)) if cards >> i & 1) for cards in range(SUIT + 1)]
    return np.array([codes.setdefault(pattern, len(codes)) for pattern in patterns], np.int64)


SQUEEZE: Final = _squeeze_table()
PATTERN: Final = _pattern_table()


def new_table() -> npt.NDArray[np.int64]:
    """A table for the solvers, 1 MB: whatever was solved with it before, values are the same. Not for two threads at a time."""
    return np.zeros(TABLE_SIZE, np.int64)


@kernel
def by_strength(cards: int) -> int:
    """A card set with its bits sorted by strength."""
    result = np.int64(0)
    while cards != 0:
        result |= np.int64(1) << SORTED[lowest_bit(cards)]
        cards &= cards - 1
    return result


@kernel(inline=True)
def worth(cards: int) -> int:
    """Thirds in a card set."""
    return popcount(cards & ONES) + 3 * popcount(cards & ACES)


@kernel(inline=True)
def suit_with(card: int) -> int:
    """All cards of the suit of a card (a bit)."""
    return np.int64(SUIT) << (lowest_bit(card) // NUM_RANKS * NUM_RANKS)


@kernel(inline=True)
def up_to(cards: int) -> int:
    """In each suit the strongest of the cards, and all below it."""
    cards |= (cards >> 1) & BELOW[0]
    cards |= (cards >> 2) & BELOW[1]
    cards |= (cards >> 4) & BELOW[2]
    return cards | (cards >> 8) & BELOW[3]


@kernel(inline=True)
def legal_cards(hand: int, size: int, best: int) -> int:
    """RULES Lead: any card may be led, the others follow suit if they can."""
    if size > 0 and hand & suit_with(best) != 0:
        return hand & suit_with(best)
    return hand


@kernel(inline=True)
def equal_cards(hand: int, in_play: int) -> int:
    """Cards of a hand worth as much as the next stronger card in play, which is in the same hand: they play alike."""
    reach = hand & ~ACES
    gone = ~in_play & HAS_EQUAL_ABOVE
    reach |= gone & (reach >> 1)
    gone &= gone >> 1
    reach |= gone & (reach >> 2)
    gone &= gone >> 2
    reach |= gone & (reach >> 4)
    return (reach >> 1) & HAS_EQUAL_ABOVE & hand & ~ACES


@kernel(inline=True)
def most(cards: int, number: int) -> int:
    """Thirds in the most worthy of some cards, so many of them or all."""
    aces = min(number, popcount(cards & ACES))
    return 3 * aces + min(number - aces, popcount(cards & ONES))


@kernel(inline=True)
def least(cards: int, number: int) -> int:
    """Thirds in the least worthy of some cards of one suit, so many of them or all."""
    number = min(number, popcount(cards)) - popcount(cards & BLANKS)
    ones = popcount(cards & ONES)
    if number <= ones:
        return max(number, 0)
    return ones + 3


@kernel
def running(mine: int, after: int, mate: int, before: int) -> int:
    """Thirds that the side on lead surely takes: the leader runs its best cards, then goes over to its mate's if it can.

    Of each suit the others play at least their least worthy cards, and the partner its most worthy ones.
    """
    tops = mine & ~up_to(after | mate | before)
    far = mate & ~up_to(mine | after | before)
    if up_to(far) & mine == 0:  # no way over
        far = np.int64(0)
    thirds = np.int64(0)
    tricks = np.int64(0)
    ran = np.int64(0)
    my_discards = np.int64(0)
    mates_discards = np.int64(0)
    for suit in range(NUM_SUITS):
        cards = np.int64(SUIT) << (NUM_RANKS * suit)
        winners = (tops | far) & cards
        if winners == 0:
            continue
        ran |= cards
        over = far & cards != 0
        own = (mate if over else mine) & cards
        partners = (mine if over else mate) & cards
        length = popcount(winners)
        if length >= max(popcount(partners), popcount(after & cards), popcount(before & cards)):
            winners = own  # nobody else has any left
            length = popcount(own)
        tricks += length
        thirds += worth(winners) + most(partners, length) + least(after & cards, length) + least(before & cards, length)
        if over:
            my_discards += max(0, length - popcount(partners))
        else:
            mates_discards += max(0, length - popcount(partners))
    if tricks >= popcount(mine):
        return worth(mine | after | mate | before) + LAST_TRICK
    return thirds + most(mine & ~ran, my_discards) + most(mate & ~ran, mates_discards)


@kernel(inline=True)
def squeeze(cards: int, in_play: int, suit: int) -> int:
    """The part of a suit's cards in play that is in a set, by place among those in play: the strongest is the highest bit."""
    shift = NUM_RANKS * suit
    upper = (in_play >> (shift + 5)) & 31
    code = SQUEEZE[upper * 32 + ((cards >> (shift + 5)) & 31)] << 5
    code |= SQUEEZE[((in_play >> shift) & 31) * 32 + ((cards >> shift) & 31)] << 5 >> popcount(upper)
    return code << shift


@kernel(signature="int64(" + "int64, " * 12 + "int64[::1])")
def search(
    mine: int,
    after: int,
    mate: int,
    before: int,
    size: int,
    best: int,
    ago: int,
    pot: int,
    total: int,
    need: int,
    on_table: int,
    allowed: int,
    table: Any,
) -> int:
    """Whether the side of the seat to move gets at least ``need`` of the thirds that are left.

    Args:
        mine, after, mate, before: hands.
        size: cards on the table.
        best: the card that is winning the trick (a bit), 0 if none.
        ago: how many seats ago it was played.
        pot: thirds on the table.
        total: thirds left, those on the table and the last trick's included.
        need: 1..total.
        on_table: cards on the table.
        allowed: cards to choose from; all but ALL for the first move only.
        table: see ``new_table``.

    Returns:
        If it does, a lower bound of what it gets, at least ``need``; if not, an upper bound below ``need``.
    """
    nothing = np.int64(0)  # typed: a kernel that passes itself literals is not found again in the cache
    everything = np.int64(ALL)
    opponents = after | before
    in_play = mine | mate | opponents | on_table
    key0 = nothing
    key1 = nothing
    entry = nothing
    low = nothing
    high = total
    # What to try first: sets, the best of them first.
    first = nothing
    second = nothing
    third = nothing
    fourth = nothing
    if size == 0:
        if mine & (mine - 1) == 0:  # the last trick, or all is played and the leader has won it
            if mine == 0:
                return total
            led = suit_with(mine)
            return nothing if opponents & led > (mine | mate) & led else total
        if allowed == ALL:
            low = min(total, running(mine, after, mate, before))
            if low >= need:
                return low
            for suit in range(NUM_SUITS):
                key0 |= squeeze(opponents, in_play, suit)
                key1 |= squeeze(mate | before, in_play, suit)
            key0 |= PATTERN[in_play & SUIT] << 40 | PATTERN[(in_play >> 10) & SUIT] << 47
            key1 |= PATTERN[(in_play >> 20) & SUIT] << 40 | PATTERN[(in_play >> 30) & SUIT] << 47
            word = mix(np.uint64(key0) ^ mix(np.uint64(key1)))
            bucket = FIRST_BUCKET + np.int64(word >> np.uint64(64 - BUCKET_BITS)) * (WAYS * 2)
            for i in range(bucket, bucket + WAYS * 2, 2):
                if table[i] & KEY == key0 and table[i + 1] & KEY == key1:
                    entry = i
                    low = max(low, table[i] >> BOUND_SHIFT)
                    high = table[i + 1] >> BOUND_SHIFT
                    if low >= need:
                        return low
                    if high < need:
                        return high
                    break
            if entry == 0:
                entry = bucket + table[0] * 2
                table[0] = (table[0] + 1) % WAYS
        lost = up_to(opponents)
        second = mine & ~(lost | up_to(mate))
        first = second & ~ACES
        third = up_to(mate & ~lost) & mine & (~lost | ACES)  # the partner wins it: with an ace if there is one
        fourth = np.int64(BLANKS)
    else:
        led = suit_with(best)
        stronger = -(best << 1)
        theirs = up_to(after & led) if size < 3 else nothing
        safe = mine & led & stronger & ~theirs
        if size == 1:
            partner_wins = mate & led & stronger & ~theirs != 0
        else:
            partner_wins = ago == 2 and theirs < best
        if partner_wins:
            first = np.int64(ACES)
            second = np.int64(FIGURES)
            third = np.int64(ONES)
        else:
            first = safe & ACES
            second = safe
            third = np.int64(BLANKS)
            fourth = np.int64(ONES)
    todo = legal_cards(mine, size, best) & ~equal_cards(mine, in_play) & allowed
    value = nothing
    while todo != 0:
        card = todo & first
        if card == 0:
            card = todo & second
            if card == 0:
                card = todo & third
                if card == 0:
                    card = todo & fourth
                    if card == 0:
                        card = todo
        card &= -card
        todo ^= card
        hand = mine ^ card
        won = pot + worth(card)
        new_best = best
        new_ago = ago + 1
        if size == 0 or (card > best and card & suit_with(best) != 0):
            new_best = card
            new_ago = np.int64(1)
        if size < 3:
            value_after = total - search(
                after,
                mate,
                before,
                hand,
                size + 1,
                new_best,
                new_ago,
                won,
                total,
                total - need + 1,
                on_table | card,
                everything,
                table,
            )
        else:
            left = total - won
            sought = need - won
            turned = left - need + 1
            z = nothing
            if new_ago == 1:
                if sought <= 0:
                    value_after = won
                else:
                    value_after = won + search(hand, after, mate, before, z, z, z, z, left, sought, z, everything, table)
            elif new_ago == 3:
                if sought <= 0:
                    value_after = won
                else:
                    value_after = won + search(mate, before, hand, after, z, z, z, z, left, sought, z, everything, table)
            elif turned <= 0:
                value_after = left
            elif new_ago == 2:
                value_after = left - search(before, hand, after, mate, z, z, z, z, left, turned, z, everything, table)
            else:
                value_after = left - search(after, mate, before, hand, z, z, z, z, left, turned, z, everything, table)
        if value_after > value:
            value = value_after
            if value >= need:
                break
    if entry != 0:
        if value >= need:
            low = value
        else:
            high = value
        table[entry] = key0 | low << BOUND_SHIFT
        table[entry + 1] = key1 | high << BOUND_SHIFT
    return value


@kernel
def close_in(
    mine: int,
    after: int,
    mate: int,
    before: int,
    size: int,
    best: int,
    ago: int,
    on_table: int,
    allowed: int,
    taken: int,
    unit: int,
    guess: int,
    table: Any,
) -> int:
    """Final thirds of the side to move in whole units (1, or 3 for points), with ``taken`` thirds taken before.

    ``guess`` is where to begin, as good as the last value of the like; negative: none. Others as for ``search``.
    """
    total = worth(mine | after | mate | before | on_table) + LAST_TRICK
    low = taken // unit
    high = (taken + total) // unit
    aim = guess if guess >= 0 else (low + high + 1) // 2
    stride = 1
    while low < high:
        aim = min(max(aim, low + 1), high)
        need = aim * unit - taken
        value = search(mine, after, mate, before, size, best, ago, worth(on_table), total, need, on_table, allowed, table)
        if value >= need:
            low = (taken + value) // unit
            aim = low + stride
        else:
            high = (taken + value) // unit
            aim = high + 1 - stride
        stride *= 2
    return low


@kernel
def value_moves(
    mine: int,
    after: int,
    mate: int,
    before: int,
    size: int,
    best: int,
    ago: int,
    on_table: int,
    taken: int,
    unit: int,
    table: Any,
    values: Any,
) -> None:
    """``close_in`` after each legal card, in thirds, by card index; -1 for the others."""
    equal = equal_cards(mine, mine | after | mate | before | on_table)
    legal = legal_cards(mine, size, best)
    value = np.int64(-1)
    for index in range(NUM_CARDS - 1, -1, -1):  # strongest first: what a card equals was valued just before
        card = np.int64(1) << index
        if card & legal & ~equal != 0:
            value = close_in(mine, after, mate, before, size, best, ago, on_table, card, taken, unit, value, table)
        values[CARD[index]] = value * unit if card & legal != 0 else -1


@kernel(inline=True)
def read_position(state: Any) -> Any:
    """What ``close_in`` wants of a record: hands, size, best, ago and on_table."""
    seat = np.int64(state["turn"])
    size = np.int64(state["trick_size"])
    best = np.int64(0)
    ago = np.int64(0)
    on_table = np.int64(0)
    if size > 0:
        best = np.int64(1) << SORTED[state["best_card"]]
        ago = (seat - np.int64(state["best_seat"])) % MAX_SEATS
        for i in range(size):
            on_table |= np.int64(1) << SORTED[state["trick"][i]]
    mine = by_strength(state["hand"][seat])
    after = by_strength(state["hand"][(seat + 1) % MAX_SEATS])
    mate = by_strength(state["hand"][(seat + 2) % MAX_SEATS])
    before = by_strength(state["hand"][(seat + 3) % MAX_SEATS])
    return mine, after, mate, before, size, best, ago, on_table


@kernel
def open_value(state: Any, table: Any) -> int:
    """Deal points of the side of the seat to move under perfect play with all hands open, times 3.

    What the side has taken and the last trick are included, napoletane are not: ``// 3`` is what the count will give.
    Whole points only: the fraction that the count drops is not searched for.

    Args:
        state: full record of a four-player game that is not over, at any point of a trick; not changed.
        table: see ``new_table``.
    """
    mine, after, mate, before, size, best, ago, on_table = read_position(state)
    taken = np.int64(state["thirds"][state["turn"] % 2])
    return 3 * close_in(mine, after, mate, before, size, best, ago, on_table, np.int64(ALL), taken, 3, -1, table)


@kernel
def open_values(state: Any, table: Any, values: Any) -> None:
    """``open_value`` after each legal card of the seat to move, for its side.

    Args:
        state: as for ``open_value``.
        table: see ``new_table``.
        values: int64 (40,), filled in: deal points times 3 by card, -1 for cards that are not legal.
    """
    mine, after, mate, before, size, best, ago, on_table = read_position(state)
    taken = np.int64(state["thirds"][state["turn"] % 2])
    value_moves(mine, after, mate, before, size, best, ago, on_table, taken, 3, table, values)


@dataclasses.dataclass(frozen=True)
class OpenHands:
    """How a deal ends under perfect play with all hands open.

    Attributes:
        points: deal points of side 0 and side 1 at the count, napoletane not counted.
        best: the cards of the seat to move that give its side these points, sorted.
    """

    points: tuple[int, int]
    best: tuple[int, ...]


def _check_card_list(name: str, cards: object) -> list[int]:
    """Card indices, not checked against each other."""
    if isinstance(cards, str | bytes) or not (is_list(cards) or isinstance(cards, Collection)):
        raise OptionError(f"{name}={cards!r}: expected a list of card indices")
    return [check_int(name, card, 0, NUM_CARDS - 1) for card in cards]  # type: ignore[attr-defined]


def solve_open(
    hands: Sequence[Collection[int]],
    leader: int,
    *,
    trick: Sequence[int] = (),
    thirds: Sequence[int] = (0, 0),
    table: npt.NDArray[np.int64] | None = None,
) -> OpenHands:
    """Solve a four-player position with all hands open.

    Args:
        hands: card indices that the seats hold now.
        leader: seat that leads the trick, or led it.
        trick: cards on the table, in play order from the leader.
        thirds: thirds taken so far by side 0 and side 1.
        table: from ``new_table``, to go on with what earlier calls found; None makes one.

    Raises:
        OptionError: cards are doubled or out of range, the hands do not fit the trick, no card is left to play, or the
            leader, the thirds or the table are not what they should be.
    """
    if not is_list(hands) or len(hands) != MAX_SEATS:
        raise OptionError(f"hands={hands!r}: expected {MAX_SEATS} hands")
    held = [_check_card_list(f"hands[{seat}]", hand) for seat, hand in enumerate(hands)]
    leader = check_int("leader", leader, 0, MAX_SEATS - 1)
    played = _check_card_list("trick", trick)
    if len(played) >= MAX_SEATS:
        raise OptionError(f"trick={played}: expected at most {MAX_SEATS - 1} cards")
    cards = [card for hand in [*held, played] for card in hand]
    doubled = sorted({card for card in cards if cards.count(card) > 1})
    if doubled:
        raise OptionError(f"hands and trick: a card lies in one place only, doubled {doubled}")
    order = [(leader + k) % MAX_SEATS for k in range(MAX_SEATS)]
    full = len(held[order[-1]])  # the last to play has not played yet
    sizes = [len(hand) for hand in held]
    wanted = [full - (seat in order[: len(played)]) for seat in range(MAX_SEATS)]
    if sizes != wanted or full == 0:
        raise OptionError(
            f"hands: sizes {sizes} do not fit {len(played)} cards on the table led by seat {leader}; expected equal hands of "
            "a card or more before the trick, and one less for each seat that has played"
        )
    if not is_list(thirds) or len(thirds) != 2:
        raise OptionError(f"thirds={thirds!r}: expected the thirds of side 0 and side 1")
    taken = [check_int(f"thirds[{side}]", count, 0, DECK_THIRDS) for side, count in enumerate(thirds)]
    in_play = int(WORTH[cards].sum())
    if sum(taken) + in_play > DECK_THIRDS:
        raise OptionError(f"thirds={taken}: with {in_play} thirds in play expected at most {DECK_THIRDS - in_play}")
    if table is None:
        table = new_table()
    elif not (
        isinstance(table, np.ndarray) and table.dtype == np.int64 and table.shape == (TABLE_SIZE,) and table.flags.carray
    ):
        raise OptionError("table: expected an array made by new_table()")

    seat = order[len(played)]
    side = seat % 2
    best, ago = 0, 0
    if played:
        followers = [k for k, card in enumerate(played) if card // NUM_RANKS == played[0] // NUM_RANKS]
        winner = max(followers, key=lambda k: int(STRENGTH[played[k]]))
        best, ago = by_strength(1 << played[winner]), len(played) - winner
    mine, after, mate, before = (by_strength(mask_of(held[(seat + k) % MAX_SEATS])) for k in range(MAX_SEATS))
    on_table = by_strength(mask_of(played))
    values = np.zeros(NUM_CARDS, np.int64)
    value_moves(mine, after, mate, before, len(played), best, ago, on_table, taken[side], 1, table, values)
    thirds_won = int(values.max())
    points = [thirds_won // 3, (sum(taken) + in_play + LAST_TRICK - thirds_won) // 3]
    most_points = np.flatnonzero(values // 3 == points[0])
    return OpenHands((points[side], points[1 - side]), tuple(int(card) for card in most_points))
