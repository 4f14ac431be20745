"""Exact play of two-player Tressette once the stock is empty: both hands are known, and the rest is a finite game.

A side scores ``taken // 3`` points and 1 for the last trick, and ``taken // 3 + 1 == (taken + 3) // 3``: so the last trick is
worth three thirds more, thirds are searched, and only the final sum is divided. What is sought are points, so the search only
asks whether a side reaches the sums at which somebody's points change.

The search is alpha-beta with null windows and a table of positions (Knuth and Moore, 1975; Slagle and Dixon, 1969; Plaat,
Schaeffer, Pijls and de Bruin, 1996, for the series of null windows). It stops early on sure tricks, and of neighbouring cards
of the same worth in one hand it tries one.
"""

import dataclasses
from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numba import int64

from settebello.bits import lowest_bit, popcount
from settebello.cards import FULL_DECK, NUM_CARDS, NUM_RANKS, NUM_SUITS, cards_in, cards_text, mask_of, suit_of
from settebello.errors import OptionError
from settebello.jit import kernel
from settebello.options import check_int
from settebello.tressette.rules import (
    DECK_THIRDS,
    LAST_TRICK,
    STRENGTH,
    WORTH,
    all_thirds,
    finish_deal,
    score_points,
    side_of,
)

MAX_HAND: Final = 10

# Inside, a card set has a lane of 16 bits for each suit, weakest card lowest: 4 5 6 7 - F C R A 2 3. The bit between 7 and F
# is never set, so what spreads from a card to its neighbour of equal worth stops there by itself.
_GAP: Final = 4
_PLACE: Final = np.array(
    [16 * suit_of(card) + STRENGTH[card] + (STRENGTH[card] >= _GAP) for card in range(NUM_CARDS)], np.int64
)


def _places(cards: Iterable[int]) -> int:
    """A card set in lanes, of card indices."""
    return mask_of(_PLACE[list(cards)])


_ZEROS, _ONES, _ACES = (_places(np.flatnonzero(worth == WORTH)) for worth in (0, 1, 3))
_CARDS: Final = _ZEROS | _ONES | _ACES
_LANE: Final = 0x7FF
_LANES: Final = sum(_LANE << 16 * suit for suit in range(NUM_SUITS))
_SUIT_CARDS: Final = (1 << NUM_RANKS) - 1
_SPREAD: Final = np.array([_places(cards_in(cards)) for cards in range(1 << NUM_RANKS)], np.int64)
_CARD_AT: Final = np.full(64, -1, np.int64)
_CARD_AT[_PLACE] = np.arange(NUM_CARDS)

_SLOTS: Final = 1 << 14  # of two words: 256 KB, which stays in a core's second-level cache; more slots save few nodes


def _sequence_codes(width: int, ace: int) -> npt.NDArray[np.int16]:
    """Number of the sequence of owners that a part of a lane holds, by ``leader | other << width``; bit ``ace`` is the ace.

    Cards out of play leave no hole: what decides the rest of the play is who owns the cards in order of strength, and which
    of them is the ace. Different sequences have different numbers, so equal keys are equal positions.
    """
    codes = np.zeros(1 << (2 * width), np.int16)
    numbers: dict[tuple[tuple[int, bool], ...], int] = {}
    for own in range(1 << width):
        for other in range(1 << width):
            if own & other == 0:
                sequence = tuple((own >> i & 1, i == ace) for i in range(width) if (own | other) >> i & 1)
                codes[own | other << width] = numbers.setdefault(sequence, len(numbers))
    return codes


_LOW_CODES: Final = _sequence_codes(_GAP, -1)  # 31 numbers, 5 bits
_HIGH_CODES: Final = _sequence_codes(6, 3)  # 273 numbers, 9 bits


def new_table() -> npt.NDArray[np.int64]:
    """An empty table of positions, int64 ``(32768,)``: scratch memory of the solver, 256 KB.

    It may serve any number of solves, of any deals, one after the other: what it holds changes the time, never a result. Two
    threads need a table each.
    """
    return np.full(2 * _SLOTS, -1, np.int64)


@kernel(inline=True)
def _worth(cards: int) -> int:
    """Thirds that a card set (in lanes) is worth."""
    return popcount(cards & ~_ZEROS) + 2 * popcount(cards & _ACES)


@kernel(inline=True)
def _lanes_of(hand: int) -> int:
    """A card set in lanes."""
    cards = np.int64(0)
    for suit in range(NUM_SUITS):
        cards |= _SPREAD[(hand >> (NUM_RANKS * suit)) & _SUIT_CARDS] << (16 * suit)
    return cards


@kernel(inline=True)
def _lane_of(card: int) -> int:
    """All places of the suit of a card (one bit)."""
    return np.int64(_LANE) << (lowest_bit(card) & 48)


@kernel(inline=True)
def _down(cards: int) -> int:
    """The places in each lane up to the strongest of the cards there."""
    cards |= (cards >> 1) & _LANES
    cards |= (cards >> 2) & _LANES
    cards |= (cards >> 4) & _LANES
    return cards | ((cards >> 3) & _LANES)


@kernel(inline=True)
def _equal_above(cards: int, in_play: int) -> int:
    """The places right above each card, cards out of play not counted, as far as they are of equal worth."""
    filled = cards & ~_ACES
    empty = _CARDS & ~in_play
    filled |= empty & (filled << 1)
    empty &= empty << 1
    filled |= empty & (filled << 2)
    empty &= empty << 2
    filled |= empty & (filled << 4)
    return (filled << 1) & ~_ACES


@kernel(inline=True)
def _different(hand: int, in_play: int) -> int:
    """One card, the weakest, of each run of neighbours of equal worth: the others are played to the same effect."""
    return hand & ~_equal_above(hand, in_play)


@kernel(inline=True)
def _run_of(card: int, hand: int, in_play: int) -> int:
    """The run of the hand whose weakest card this is."""
    run = card
    more = card
    while more:
        more = _equal_above(run, in_play) & hand & ~run
        run |= more
    return run


@kernel(inline=True)
def _suit_code(leader: int, other: int) -> int:
    """Number below 2**14 of what is in play of the lowest lane, by owner."""
    high = np.int64(_HIGH_CODES[((leader >> 5) & 63) | ((other >> 5) & 63) << 6])
    return high << 5 | np.int64(_LOW_CODES[(leader & 15) | (other & 15) << 4])


@kernel
def _sure(leader: int, other: int) -> int:
    """Thirds that the leader gets by cashing its sure tricks, -1 if it takes all there is.

    Sure are the cards above all of the other hand's in their suit, and the whole suit if they draw the other hand's last one.
    The other hand loses at least its cheapest cards to them. A follower whose strongest card beats the leader's in every suit
    can have as much, whatever is led: it takes the first trick with a sure card.
    """
    top = leader & ~_down(other)
    tricks = top
    forced = 0
    for suit in range(NUM_SUITS):
        lane = np.int64(_LANE) << (16 * suit)
        drawn = popcount(top & lane)
        if drawn:
            follows = other & lane
            if drawn >= popcount(follows):
                tricks |= leader & lane
                forced += _worth(follows)
            else:
                forced += max(0, drawn - popcount(follows & _ZEROS))
    if tricks == leader:
        return -1
    return _worth(tricks) + max(forced, popcount(tricks) - popcount(other & _ZEROS))


@kernel(signature=int64(int64, int64, int64, int64, int64, int64[::1]))
def _search(leader: int, other: int, left: int, need: int, led: int, table: Any) -> int:
    """A bound on the thirds that the leader's side still gets, the last trick included, from hands (in lanes) of equal size.

    Args:
        leader: hand of the seat to lead.
        other: hand of the other seat.
        left: thirds that are left to get, from 1 on.
        need: what is asked for, 1..left.
        led: 0, or the one card that may be led.
        table: of ``new_table``.

    Returns:
        A lower bound if it is at least ``need``, else an upper bound.
    """
    if leader & (leader - 1) == 0:
        return 0 if other > leader and other & _lane_of(leader) else left
    lower = np.int64(0)
    upper = left
    key = np.int64(0)
    slot = np.int64(0)
    best_lead = np.int64(0)
    top = leader & ~_down(other)
    if led == 0:
        if top:
            sure = _sure(leader, other)
            if sure < 0:
                return left
            if sure >= need:
                return sure
            lower = sure
        else:
            sure = _sure(other, leader)
            if sure < 0:
                return 0
            if left - sure < need:
                return left - sure
            upper = left - sure
        first = _suit_code(leader, other)
        second = _suit_code(leader >> 16, other >> 16)
        third = _suit_code(leader >> 32, other >> 32)
        fourth = _suit_code(leader >> 48, other >> 48)
        # Suits are alike: sorted, positions that differ in their names alone share an entry.
        first, second = min(first, second), max(first, second)
        third, fourth = min(third, fourth), max(third, fourth)
        first, third = min(first, third), max(first, third)
        second, fourth = min(second, fourth), max(second, fourth)
        second, third = min(second, third), max(second, third)
        key = first | second << 14 | third << 28 | fourth << 42
        slot = first * 0x9E3779B1 + second * 0x85EBCA77 + third * 0xC2B2AE3D + fourth * 0x27D4EB2F
        slot = (slot >> 15) & (2 * _SLOTS - 2)
        if table[slot] == key:
            entry = table[slot + 1]
            lower = max(lower, entry & 63)
            upper = min(upper, (entry >> 6) & 63)
            if lower >= need:
                return lower
            if upper < need:
                return upper
            best_lead = np.int64(1) << (entry >> 12)  # a hint: maybe of another suit's name, or not even in hand
    in_play = leader | other
    # Calls below: a plain 0 has a type of its own, would be compiled again for it, and then crash when loaded from the cache.
    leads = led if led else _different(leader, in_play)
    answers = _different(other, in_play)
    preferred = best_lead & leads
    sure_aces = top & _ACES
    fresh = ~_down(top)
    best = np.int64(-1)
    while leads:
        pick = preferred
        preferred = np.int64(0)
        if pick == 0:
            pick = leads & sure_aces
        if pick == 0:
            pick = leads & top
        if pick == 0:
            pick = leads & fresh  # from suits without a sure trick
        if pick == 0:
            pick = leads
        lead = pick & -pick
        leads &= ~lead
        lane = _lane_of(lead)
        beating = answers & lane & ~(lead - 1)
        # RULES lead: follow suit if you can, otherwise any card, which cannot win.
        replies = answers & lane if other & lane else answers
        worst = left
        while replies:
            pick = replies & beating & _ACES
            if pick == 0:
                pick = replies & beating
            if pick == 0:
                pick = replies & _ZEROS
            if pick == 0:
                pick = replies & _ONES
            if pick == 0:
                pick = replies
            reply = pick & -pick
            replies &= ~reply
            taken = _worth(lead | reply)
            rest = left - taken
            if reply & beating:
                value = rest
                if rest >= need:
                    value = rest - _search(other & ~reply, leader & ~lead, rest, rest - need + 1, np.int64(0), table)
            else:
                value = taken
                if taken < need:
                    value = taken + _search(leader & ~lead, other & ~reply, rest, need - taken, np.int64(0), table)
            worst = min(worst, value)
            if worst < need:
                break
        if worst > best:
            best = worst
            best_lead = lead
            if best >= need:
                break
    if led == 0:
        if best >= need:
            lower = max(lower, best)
        else:
            upper = min(upper, best)
        table[slot] = key
        table[slot + 1] = lower | upper << 6 | lowest_bit(best_lead) << 12
    return best


@kernel(inline=True)
def _floor(final: int, total: int) -> int:
    """The least final thirds of a side with which both sides have the same points, of ``total`` for both."""
    return final - min(final % 3, (final + 2 - total % 3) % 3)


@kernel
def _settle(leader: int, other: int, led: int, taken: int, total: int, table: Any) -> int:
    """Final thirds of the leader's side under perfect play, floored as by ``_floor``; arguments as of ``_search``.

    ``taken``: what the leader's side has; ``total``: thirds of both sides at the end, the last trick included.
    """
    left = _worth(leader | other) + LAST_TRICK
    low = _floor(taken, total)
    high = _floor(taken + left, total)
    while low < high:
        aim = _floor((low + high + 1) // 2, total)
        if aim <= low:
            aim = high
        final = taken + _search(leader, other, left, aim - taken, led, table)
        if final >= aim:
            low = _floor(final, total)
        else:
            high = _floor(final, total)
    return low


@kernel
def _after_reply(leader: int, other: int, lead: int, reply: int, taken: int, other_taken: int, total: int, table: Any) -> int:
    """Final thirds of the other side, floored, once the other seat has replied to a lead; both hands still hold the card."""
    wins = reply > lead and reply & _lane_of(lead)
    worth = _worth(lead | reply)
    leader &= ~lead
    other &= ~reply
    if leader == 0:
        return _floor(other_taken + (worth + LAST_TRICK if wins else 0), total)
    if wins:
        return _settle(other, leader, np.int64(0), other_taken + worth, total, table)
    return _floor(total - _settle(leader, other, np.int64(0), taken + worth, total, table), total)


@kernel(inline=True)
def _legal_replies(other: int, lead: int) -> int:
    """RULES lead: follow suit if you can, otherwise any card."""
    lane = _lane_of(lead)
    return other & lane if other & lane else other


@kernel
def _card_values(leader: int, other: int, led: int, taken: int, other_taken: int, table: Any, values: Any) -> None:
    """Final thirds, floored, of the side to move after each of its legal cards, -1 elsewhere.

    The other seat is to move if there is a card ``led``, which the leader's hand still holds.
    """
    in_play = leader | other
    total = taken + other_taken + _worth(in_play) + LAST_TRICK
    for card in range(NUM_CARDS):
        values[card] = -1
    hand = _legal_replies(other, led) if led else leader
    different = _different(hand, in_play)
    while different:
        card = different & -different
        different &= ~card
        if led:
            value = _after_reply(leader, other, led, card, taken, other_taken, total, table)
        else:
            value = _settle(leader, other, card, taken, total, table)
        run = _run_of(card, hand, in_play)
        while run:
            values[_CARD_AT[lowest_bit(run)]] = value
            run &= run - 1


@kernel
def _best_leads(leader: int, other: int, taken: int, total: int, final: int, table: Any) -> int:
    """The cards (a card set) with which the leader's side gets ``final``, the value of the position."""
    in_play = leader | other
    left = _worth(in_play) + LAST_TRICK
    best = np.int64(0)
    different = _different(leader, in_play)
    while different:
        card = different & -different
        different &= ~card
        if final <= taken or _search(leader, other, left, final - taken, card, table) >= final - taken:
            run = _run_of(card, leader, in_play)
            while run:
                best |= np.int64(1) << _CARD_AT[lowest_bit(run)]
                run &= run - 1
    return best


@kernel
def ending_value(state: Any, table: Any) -> int:
    """Final thirds of the side to move under perfect play of both, the last trick counted as three thirds.

    Args:
        state: record of a two-player game that is not over, with no stock left; it is not changed.
        table: of ``new_table``.

    Returns:
        Thirds, taken ones included, floored to the least number with which both sides have the same deal points: exact are
        ``value // 3`` for the side to move and ``(total - value) // 3`` for the other, where ``total`` counts the cards of
        the deal and the last trick, 35 with all forty cards. Napoletane are not in it.
    """
    seat = np.int64(state["turn"])
    hand = _lanes_of(state["hand"][seat])
    other = _lanes_of(state["hand"][1 - seat])
    taken = np.int64(state["thirds"][seat])
    other_taken = np.int64(state["thirds"][1 - seat])
    if state["trick_size"] == 0:
        total = taken + other_taken + _worth(hand | other) + LAST_TRICK
        return _settle(hand, other, np.int64(0), taken, total, table)
    led = np.int64(1) << np.int64(_PLACE[state["trick"][0]])
    other |= led
    total = taken + other_taken + _worth(hand | other) + LAST_TRICK
    return _floor(total - _settle(other, hand, led, other_taken, total, table), total)


@kernel(inline=True)
def is_ending(state: Any) -> bool:
    """Whether a game of two players goes on with no stock left and few enough cards to be solved: both hands are known."""
    open_hands = state["players"] == 2 and state["stock_start"] == state["deck_size"] and state["over"] == 0
    return open_hands and popcount(state["hand"][state["turn"]]) <= MAX_HAND


@kernel
def settle(state: Any, table: Any) -> None:
    """Count a single deal as if both had played on perfectly from where ``is_ending`` holds; it is over then.

    Score and deal points are those of the count, and the reward of the step before is increased by it; hands, taken cards and
    the register stay as they are.
    """
    side = side_of(np.int64(state["turn"]))
    final = ending_value(state, table)
    score_points(state, side, final // 3)
    score_points(state, 1 - side, (all_thirds(state) - final) // 3)
    finish_deal(state)


@kernel
def ending_values(state: Any, table: Any, values: Any) -> None:
    """What ``ending_value`` says, after each legal card of the seat to move.

    Args:
        state: record of a two-player game that is not over, with no stock left; it is not changed.
        table: of ``new_table``.
        values: int64 ``(40,)``, overwritten: by card index the final thirds of the side to move, floored as those of
            ``ending_value``, and -1 for cards that are not legal. The cards with the highest number are the best ones.
    """
    seat = np.int64(state["turn"])
    hand = _lanes_of(state["hand"][seat])
    other = _lanes_of(state["hand"][1 - seat])
    taken = np.int64(state["thirds"][seat])
    other_taken = np.int64(state["thirds"][1 - seat])
    if state["trick_size"] == 0:
        _card_values(hand, other, np.int64(0), taken, other_taken, table, values)
    else:
        led = np.int64(1) << np.int64(_PLACE[state["trick"][0]])
        _card_values(other | led, hand, led, other_taken, taken, table, values)


@kernel
def _solve_rows(hands: Any, leaders: Any, thirds: Any, table: Any, points: Any, best: Any) -> None:
    """Solve each row, at the start of a trick, into ``points`` and ``best``."""
    for i in range(len(hands)):
        seat = leaders[i]
        leader = _lanes_of(hands[i, seat])
        other = _lanes_of(hands[i, 1 - seat])
        taken = thirds[i, seat]
        total = taken + thirds[i, 1 - seat] + _worth(leader | other) + LAST_TRICK
        final = _settle(leader, other, np.int64(0), taken, total, table)
        points[i, seat] = final // 3
        points[i, 1 - seat] = (total - final) // 3
        best[i] = _best_leads(leader, other, taken, total, final, table)


@dataclasses.dataclass(frozen=True)
class Ending:
    """What perfect play of both sides makes of a position.

    Attributes:
        points: deal points of side 0 and side 1 at the end, thirds taken before and the last trick included, napoletane not.
        best: the cards, sorted, with which the seat to move gets these points; it has no other way to a better result.
    """

    points: tuple[int, int]
    best: tuple[int, ...]


def _check_hand(name: str, cards: object) -> list[int]:
    """The cards of a hand, each once and not more than ten."""
    if not isinstance(cards, Iterable) or isinstance(cards, str | bytes):
        raise OptionError(f"{name}={cards!r}: expected a collection of card indices")
    hand = [check_int(f"{name}[{i}]", card, 0, NUM_CARDS - 1) for i, card in enumerate(cards)]
    doubled = sorted({card for card in hand if hand.count(card) > 1})
    if doubled:
        raise OptionError(f"{name}: {cards_text(doubled)} listed twice; expected each card once")
    if len(hand) > MAX_HAND:
        raise OptionError(f"{name}: {len(hand)} cards; expected at most {MAX_HAND}")
    return hand


def _check_pair(name: str, pair: object, what: str) -> list[Any]:
    """The two members of a pair, one for each seat or side."""
    members = list(pair) if isinstance(pair, Iterable) and not isinstance(pair, str | bytes) else []
    if len(members) != 2:
        raise OptionError(f"{name}={pair!r}: expected two {what}")
    return members


def _check_table(table: npt.NDArray[np.int64] | None) -> npt.NDArray[np.int64]:
    """The table given, or a new one."""
    if table is None:
        return new_table()
    if not isinstance(table, np.ndarray) or table.dtype != np.int64 or table.shape != (2 * _SLOTS,) or not table.flags.carray:
        raise OptionError("table: expected an array made by new_table()")
    return table


def solve(
    hands: Iterable[Iterable[int]],
    leader: int,
    *,
    led_card: int | None = None,
    thirds: Iterable[int] = (0, 0),
    table: npt.NDArray[np.int64] | None = None,
) -> Ending:
    """Solve one ending.

    Args:
        hands: the cards of seat 0 and of seat 1, up to ten each, of any deck.
        leader: the seat that leads this trick, or has led it.
        led_card: the card the leader has just led, which is no longer in its hand; then the other seat is to move.
        thirds: what side 0 and side 1 have taken before this trick.
        table: of ``new_table``, to be used again in other solves (None: a new one); never changes the result.

    Raises:
        OptionError: a card is no card index or is in two places, the hands do not fit each other, there is nothing to play, or
            the thirds are more than the deck has.
    """
    first, second = _check_pair("hands", hands, "hands")
    held = [_check_hand("hands[0]", first), _check_hand("hands[1]", second)]
    seat = check_int("leader", leader, 0, 1)
    taken = [check_int(f"thirds[{i}]", side, 0, DECK_THIRDS) for i, side in enumerate(_check_pair("thirds", thirds, "numbers"))]
    if led_card is not None:
        led_card = check_int("led_card", led_card, 0, NUM_CARDS - 1)
        if led_card in held[seat]:
            raise OptionError(f"led_card={led_card}: still in hands[{seat}]; expected it on the table alone")
        held[seat].append(led_card)
    shared = sorted(set(held[0]) & set(held[1]))
    if shared:
        raise OptionError(f"hands: {cards_text(shared)} in both; expected each card once")
    if len(held[0]) != len(held[1]) or not held[0]:
        wanted = f"as many in each, 1 to {MAX_HAND}"
        if led_card is not None:
            wanted += f", the card led counted in hands[{seat}]"
        raise OptionError(f"hands: {len(held[0])} and {len(held[1])} cards; expected {wanted}")
    worth = int(WORTH[held[0] + held[1]].sum())
    if sum(taken) + worth > DECK_THIRDS:
        raise OptionError(f"thirds={tuple(taken)}: with {worth} in the hands more than the {DECK_THIRDS} of the deck")
    table = _check_table(table)
    values = np.zeros(NUM_CARDS, np.int64)
    lanes = [_places(hand) for hand in held]
    led = 0 if led_card is None else _places([led_card])
    _card_values(lanes[seat], lanes[1 - seat], led, taken[seat], taken[1 - seat], table, values)
    final = int(values.max())
    side = seat if led_card is None else 1 - seat
    points = (final // 3, (sum(taken) + worth + LAST_TRICK - final) // 3)
    return Ending(points if side == 0 else points[::-1], tuple(np.flatnonzero(values == final).tolist()))


def _check_rows(name: str, rows: npt.ArrayLike, shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Whole numbers as int64 of a shape; -1 there stands for any number of rows."""
    try:
        array = np.asarray(rows)
    except ValueError as error:
        raise OptionError(f"{name}={rows!r}: expected whole numbers of shape {shape}") from error
    if array.dtype.kind not in "iu" and array.size:
        raise OptionError(f"{name} of dtype {array.dtype}: expected integers")
    expected = (len(array) if array.ndim else 0, *shape[1:]) if shape[0] < 0 else shape
    if array.shape != expected:
        raise OptionError(f"{name} of shape {array.shape}: expected {str(shape).replace('-1', 'N')}")
    return np.ascontiguousarray(array, np.int64)


def _refuse_rows(name: str, bad: npt.NDArray[np.bool_], rows: npt.NDArray[np.int64], wanted: str) -> None:
    """Raise OptionError for the first bad row, if there is one."""
    if bad.any():
        row = int(bad.argmax())
        raise OptionError(f"{name}[{row}]={rows[row].tolist()}: expected {wanted}")


def solve_batch(
    hands: npt.ArrayLike,
    leader: npt.ArrayLike,
    thirds: npt.ArrayLike | None = None,
    table: npt.NDArray[np.int64] | None = None,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Solve many endings, each at the start of a trick, in one compiled call.

    Args:
        hands: int64 ``(N, 2)``, card sets of seat 0 and seat 1.
        leader: int64 ``(N,)``, the seat to lead.
        thirds: int64 ``(N, 2)``, what each side has taken before (None: nothing).
        table: as for ``solve``.

    Returns:
        Points by side, int64 ``(N, 2)``, and the best cards as a card set, int64 ``(N,)``, as ``Ending`` has them.

    Raises:
        OptionError: as for ``solve``, or arrays of wrong shape or dtype.
    """
    held = _check_rows("hands", hands, (-1, 2))
    leaders = _check_rows("leader", leader, (len(held),))
    taken = np.zeros_like(held) if thirds is None else _check_rows("thirds", thirds, (len(held), 2))
    _refuse_rows("hands", ((held < 0) | (held > FULL_DECK)).any(axis=1), held, f"card sets, 0 to {FULL_DECK}")
    _refuse_rows("hands", held[:, 0] & held[:, 1] != 0, held, "no card in both")
    sizes = np.bitwise_count(held)
    odd = (sizes[:, 0] != sizes[:, 1]) | (sizes[:, 0] < 1) | (sizes[:, 0] > MAX_HAND)
    _refuse_rows("hands", odd, held, f"as many cards in each, 1 to {MAX_HAND}")
    _refuse_rows("leader", (leaders < 0) | (leaders > 1), leaders, "0 or 1")
    in_play = (held[:, 0] | held[:, 1])[:, None] >> np.arange(NUM_CARDS) & 1
    most = DECK_THIRDS - in_play @ WORTH
    wrong = (taken < 0).any(axis=1) | (taken > DECK_THIRDS).any(axis=1) | (taken.sum(axis=1) > most)
    _refuse_rows("thirds", wrong, taken, f"two numbers from 0 on, with the cards in the hands not over {DECK_THIRDS}")
    points = np.zeros_like(held)
    best = np.zeros(len(held), np.int64)
    _solve_rows(held, leaders, taken, _check_table(table), points, best)
    return points, best
