"""The opponents that play Scopa-bazzica by what players know: ``easy`` and ``medium``.

Both look only at what the seat to move knows. ``medium`` counts the cards: every play is judged by what it takes, minus what
the other seat may be expected to take next, given which values it can still hold. Everything is in points of the deal; the
weights were tuned by self-play on mirrored deals.
"""

from typing import Any, Final

import numpy as np

from settebello.bazzica.capture import NEED, NEED_CARDS, equal_count, largest_groups, value_of
from settebello.bazzica.declare import DECLARE_BIT, RE_BIT, SETTEBELLO_BIT, baptisms, hand_value, must_baptise, shown
from settebello.bazzica.observe import unseen_cards
from settebello.bazzica.rules import BAPTISE_ACTION, DECLARE_ACTION, PICK
from settebello.bazzica.state import (
    BAZZICOTTO,
    HAND_SIZE,
    MENO_DI_NOVE,
    NO_CARD,
    NO_DECLARATION,
    NUM_HANDS,
    PARIGLIA,
    PARIGLIA_MENO_DI_NOVE,
)
from settebello.bits import advance, below, lowest_bit, nth_bit, popcount
from settebello.cards import DENARI_MASK, NUM_CARDS, NUM_RANKS, RANK_MASK, SETTEBELLO, bit_of
from settebello.jit import kernel

ACES: Final = int(RANK_MASK[0])
SIXES: Final = int(RANK_MASK[5])
SEVENS: Final = int(RANK_MASK[6])
MOST_CARDS: Final = NUM_CARDS // 2  # with more the point is won
MOST_DENARI: Final = NUM_RANKS // 2

# Places of the weights. A card, a denari, a seven, a six, an ace, settebello, a scopa: in points, to whoever takes them. Then
# how much counts: what the other seat may take next; the own next card, should the other take nothing.
CARD, DENARI, SEVEN, SIX, ACE, SETTEBELLO_POINT, SCOPA_POINT, REPLY, FOLLOW = range(9)
WEIGHTS: Final = np.array([0.09, 0.12, 0.25, 0.08, 0.05, 0.9, 1.0, 1.3, 0.5])


def _may_take() -> np.ndarray:
    """By the set of values on a table: the values that may take something if there are enough cards of each, as sets.

    In a set of values v is bit v - 1.
    """
    result = np.zeros(1 << NUM_RANKS, np.int64)
    present = np.arange(1 << NUM_RANKS)
    for i in range(NUM_RANKS):
        # One suit of the ranks' cards is the set of the values.
        groups = {int(cards) & DENARI_MASK for cards in NEED_CARDS[i]} - {0} | {1 << i}
        for values in groups:
            result[present & values == values] |= 1 << i
    return result


MAY_TAKE: Final = _may_take()
# By played value - 1 and group: how many table cards it takes.
GROUP_SIZE: Final = np.sum([(NEED >> (4 * i)) & 15 for i in range(NUM_RANKS)], axis=0)

# How likely the other seat holds each value: 6 bits a value, UNIT for each card that is as likely as any other.
UNIT: Final = 4
VALUE_BITS: Final = 6
VALUE_ONES: Final = (1 << VALUE_BITS) - 1


# --- what cards are worth ----------------------------------------------------------------------------------------------------

Worths = tuple[float, float, float, float, float, float]


@kernel(inline=True)
def card_worths(state: Any, weights: Any) -> Worths:
    """What a card, a denari, a seven, a six, an ace and settebello are worth now: a point that is decided is worth nothing."""
    card = weights[CARD]
    denari = weights[DENARI]
    first = state["taken"][0]
    second = state["taken"][1]
    if max(popcount(first), popcount(second)) > MOST_CARDS:
        card *= 0.0
    if max(popcount(first & DENARI_MASK), popcount(second & DENARI_MASK)) > MOST_DENARI:
        denari *= 0.0
    return card, denari, weights[SEVEN], weights[SIX], weights[ACE], weights[SETTEBELLO_POINT]


@kernel(inline=True)
def worth(cards: int, worths: Worths) -> float:
    """What a set of cards is worth to whoever takes it."""
    return (
        worths[0] * popcount(cards)
        + worths[1] * popcount(cards & DENARI_MASK)
        + worths[2] * popcount(cards & SEVENS)
        + worths[3] * popcount(cards & SIXES)
        + worths[4] * popcount(cards & ACES)
        + worths[5] * ((cards >> SETTEBELLO) & 1)
    )


@kernel
def best_card(cards: int, worths: Worths) -> int:
    """The card of a set worth most, the lowest of equals."""
    best = lowest_bit(cards)
    cards &= cards - 1
    while cards != 0:
        card = lowest_bit(cards)
        cards &= cards - 1
        if worth(bit_of(card), worths) > worth(bit_of(best), worths):
            best = card
    return best


# --- what a value takes ------------------------------------------------------------------------------------------------------


@kernel(inline=True)
def with_values(table: int, rank_cards: int, settebello_value: int, re_value: int) -> int:
    """Cards of a table with the values of a set of whole ranks, baptised jollies under their given value."""
    cards = table & rank_cards
    if settebello_value != 0:
        cards &= ~SETTEBELLO_BIT
        if (rank_cards >> (settebello_value - 1)) & 1:
            cards |= table & SETTEBELLO_BIT
    if re_value != 0:
        cards &= ~RE_BIT
        if (rank_cards >> (re_value - 1)) & 1:
            cards |= table & RE_BIT
    return cards


@kernel(inline=True)
def values_on(table: int, settebello_value: int, re_value: int) -> int:
    """The set of the values on a table."""
    given = np.int64(0)
    if settebello_value != 0 and table & SETTEBELLO_BIT != 0:
        table &= ~SETTEBELLO_BIT
        given |= np.int64(1) << (settebello_value - 1)
    if re_value != 0 and table & RE_BIT != 0:
        table &= ~RE_BIT
        given |= np.int64(1) << (re_value - 1)
    return (table | (table >> 10) | (table >> 20) | (table >> 30)) & DENARI_MASK | given


@kernel
def best_of_group(table: int, value: int, group: int, settebello_value: int, re_value: int, worths: Worths, picked: int) -> int:
    """The cards worth most that make up a group of values; those picked already come first."""
    need = NEED[value - 1, group]
    cards = with_values(table, NEED_CARDS[value - 1, group], settebello_value, re_value)
    if popcount(cards) == GROUP_SIZE[value - 1, group]:
        return cards
    chosen = np.int64(0)
    for i in range(NUM_RANKS):
        equal = with_values(cards, RANK_MASK[i], settebello_value, re_value)
        for _ in range((need >> (4 * i)) & 15):
            bit = bit_of(best_card(equal & picked if equal & picked != 0 else equal, worths))
            chosen |= bit
            equal &= ~bit
    return chosen


@kernel(inline=True)
def value_gain(
    table: int, counts: int, value: int, settebello_value: int, re_value: int, worths: Worths, scopa: float
) -> float:
    """What a value takes from a table at best, in points, the card played not counted; negative if it takes nothing."""
    if equal_count(counts, value) > 0:
        equal = with_values(table, RANK_MASK[value - 1], settebello_value, re_value)
        cards = equal
        if equal & (equal - 1) != 0:
            cards = bit_of(best_card(equal, worths))
        gain = worth(cards, worths)
        if cards == table:
            gain += scopa
        return gain
    best = -1.0
    groups = largest_groups(counts, value)
    while groups != 0:
        cards = best_of_group(table, value, lowest_bit(groups), settebello_value, re_value, worths, 0)
        groups &= groups - 1
        gain = worth(cards, worths)
        if cards == table:
            gain += scopa
        best = max(best, gain)
    return best


# --- what the other seat may hold --------------------------------------------------------------------------------------------


@kernel(inline=True)
def unseen_values(unseen: int) -> int:
    """UNIT for each unseen card of a value, packed."""
    likely = np.int64(0)
    for i in range(NUM_RANKS):
        likely |= (UNIT * popcount(unseen & RANK_MASK[i])) << (VALUE_BITS * i)
    return likely


@kernel
def likely_values(state: Any, seat: int, unseen: int) -> int:
    """How likely each value is among the hidden cards of the other seat, packed: what it showed this hand narrows it down."""
    other = 1 - seat
    likely = unseen_values(unseen)
    whole = state["hand_played"][other] | state["known"][other]
    hidden = HAND_SIZE - popcount(whole)
    declared = np.int64(state["declared"][other])
    if hidden == 0 or (declared == NO_DECLARATION and state["hand_played"][other] == 0):
        return likely
    shown_values = np.int64(0)  # a bit a value
    total = np.int64(0)
    rest = whole
    while rest != 0:
        value = value_of(state, lowest_bit(rest))
        rest &= rest - 1
        shown_values |= np.int64(1) << value
        total += value
    highest = np.int64(state["low_sum_max"]) - total - (hidden - 1)
    pair_shown = popcount(shown_values) < HAND_SIZE - hidden
    result = np.int64(0)
    for value in range(1, NUM_RANKS + 1):
        weight = (likely >> (VALUE_BITS * (value - 1))) & VALUE_ONES
        is_shown = (shown_values >> value) & 1 != 0
        if declared == NO_DECLARATION:
            if is_shown and state["declaration_points"][PARIGLIA - 1] > 0:
                weight //= UNIT  # it would have declared the pair
        elif declared == BAZZICOTTO:
            if (shown_values != 0 and not is_shown) or weight < hidden * UNIT:
                weight = np.int64(0)
        elif declared == MENO_DI_NOVE:
            if value > highest or is_shown:
                weight = np.int64(0)
        else:
            if declared == PARIGLIA_MENO_DI_NOVE and value > highest:
                weight = np.int64(0)
            if hidden == 1 and is_shown == pair_shown:
                weight = np.int64(0)  # the last card makes the pair, or the pair was shown and it is another
            if hidden == 2 and is_shown:
                weight = min(VALUE_ONES, 4 * weight)  # most pairs are made with the card shown
        result |= weight << (VALUE_BITS * (value - 1))
    return result


@kernel(inline=True)
def chance_of_none(total: int, wanted: int, hidden: int) -> float:
    """Chance that none of the hidden cards is of some values, which make up ``wanted`` of the ``total`` weight."""
    none = 1.0
    for i in range(hidden):
        if total - wanted <= i * UNIT:
            return 0.0
        none *= (total - wanted - i * UNIT) / (total - i * UNIT)
    return none


@kernel(inline=True)
def expected_reply(
    table: int,
    counts: int,
    taking: int,
    likely: int,
    hidden: int,
    known: int,
    unseen: int,
    settebello_value: int,
    re_value: int,
    worths: Worths,
    scopa: float,
    ranked: Any,
) -> tuple[float, float]:
    """What the other seat may be expected to take from this table with its best capture, in points; the chance of no capture.

    Args:
        taking: values that may take something, as ``MAY_TAKE``.
        likely: as ``likely_values``.
        hidden: how many of its cards are hidden.
        known: cards it is known to hold.
        unseen: cards it may hold.
        ranked: float64 (2, 10) to work in.
    """
    size = 0
    known_values = np.int64(0)
    while known != 0:
        known_values |= np.int64(1) << hand_value(lowest_bit(known), settebello_value, re_value)
        known &= known - 1
    total = np.int64(0)
    for i in range(NUM_RANKS):
        total += (likely >> (VALUE_BITS * i)) & VALUE_ONES
    while taking != 0:
        value = lowest_bit(taking) + 1
        taking &= taking - 1
        weight = (likely >> (VALUE_BITS * (value - 1))) & VALUE_ONES
        if weight == 0 and (known_values >> value) & 1 == 0:
            continue
        gain = value_gain(table, counts, value, settebello_value, re_value, worths, scopa)
        if gain < 0.0:
            continue
        own = unseen & RANK_MASK[value - 1]
        if own != 0:
            gain += worth(own, worths) / popcount(own)
        place = size
        while place > 0 and ranked[0, place - 1] < gain:
            ranked[0, place] = ranked[0, place - 1]
            ranked[1, place] = ranked[1, place - 1]
            place -= 1
        ranked[0, place] = gain
        ranked[1, place] = value
        size += 1
    expected = 0.0
    none = 1.0
    wanted = np.int64(0)
    for k in range(size):
        value = np.int64(ranked[1, k])
        wanted += (likely >> (VALUE_BITS * (value - 1))) & VALUE_ONES
        left = 0.0
        if (known_values >> value) & 1 == 0:
            left = chance_of_none(total, wanted, hidden)
        expected += ranked[0, k] * (none - left)
        none = left
        if none <= 0.0:
            break
    return expected, none


# --- medium ------------------------------------------------------------------------------------------------------------------


@kernel
def judge(
    state: Any,
    seat: int,
    card: int,
    cards: int,
    settebello_value: int,
    re_value: int,
    likely: int,
    unseen: int,
    worths: Worths,
    weights: Any,
    ranked: Any,
) -> float:
    """What playing a card is worth when it takes these table cards (0: it stays on the table), in points.

    Args:
        state: the table as it was before; the card may still be in hand.
        settebello_value: given value of settebello, 0 for none; also one that is only thought of.
        re_value: the same of re di denari.
        likely: as ``likely_values``.
        unseen: unseen cards.
    """
    other = 1 - seat
    scopa = weights[SCOPA_POINT]
    table = state["table"]
    counts = state["table_counts"]
    rest = state["hand"][seat] & ~bit_of(card)
    hand_number = np.int64(state["hand_number"])
    others_cards = HAND_SIZE - popcount(state["hand_played"][other])
    known = state["known"][other]
    hidden = others_cards - popcount(known)
    plays_left = others_cards + popcount(rest)
    result = 0.0
    if cards != 0:
        taken = cards
        while taken != 0:
            counts -= np.int64(1) << (4 * (hand_value(lowest_bit(taken), settebello_value, re_value) - 1))
            taken &= taken - 1
        table &= ~cards
        result += worth(cards | bit_of(card), worths)
        if table == 0 and (hand_number < NUM_HANDS or plays_left > 0 or state["last_card_scopa"]):
            result += scopa
    else:
        table |= bit_of(card)
        counts += np.int64(1) << (4 * (hand_value(card, settebello_value, re_value) - 1))
    if others_cards == 0:  # the next three cards of the other seat are any unseen ones
        if hand_number == NUM_HANDS:
            return result
        likely = unseen_values(unseen)
        hidden = np.int64(HAND_SIZE)
    if table != 0:
        taking = MAY_TAKE[values_on(table, settebello_value, re_value)]
        reply, none = expected_reply(
            table, counts, taking, likely, hidden, known, unseen, settebello_value, re_value, worths, scopa, ranked
        )
        result -= weights[REPLY] * reply
        follow = 0.0
        while rest != 0:
            next_card = lowest_bit(rest)
            rest &= rest - 1
            value = hand_value(next_card, settebello_value, re_value)
            if none == 0.0 or (taking >> (value - 1)) & 1 == 0:
                continue
            gain = value_gain(table, counts, value, settebello_value, re_value, worths, scopa)
            if gain >= 0.0:
                follow = max(follow, gain + worth(bit_of(next_card), worths))
        result += weights[FOLLOW] * none * follow
    return result


@kernel(inline=True)
def best_capture(
    state: Any,
    seat: int,
    card: int,
    settebello_value: int,
    re_value: int,
    likely: int,
    unseen: int,
    worths: Worths,
    weights: Any,
    ranked: Any,
) -> tuple[float, int]:
    """What a card is worth when played, and the table cards that it takes then; those picked already are among them."""
    table = state["table"]
    counts = state["table_counts"]
    picked = state["picked"]
    value = hand_value(card, settebello_value, re_value)
    cards = np.int64(0)
    if equal_count(counts, value) > 0:
        equal = with_values(table, RANK_MASK[value - 1], settebello_value, re_value)
        cards = bit_of(best_card(equal, worths))
        return judge(state, seat, card, cards, settebello_value, re_value, likely, unseen, worths, weights, ranked), cards
    groups = largest_groups(counts, value)
    if groups == 0:
        return judge(state, seat, card, cards, settebello_value, re_value, likely, unseen, worths, weights, ranked), cards
    best = -np.inf
    while groups != 0:
        group = best_of_group(table, value, lowest_bit(groups), settebello_value, re_value, worths, picked)
        groups &= groups - 1
        if group & picked != picked:
            continue
        score = judge(state, seat, card, group, settebello_value, re_value, likely, unseen, worths, weights, ranked)
        if score > best:
            best = score
            cards = group
    return best, cards


@kernel
def best_play(
    state: Any,
    seat: int,
    settebello_value: int,
    re_value: int,
    likely: int,
    unseen: int,
    worths: Worths,
    weights: Any,
    ranked: Any,
) -> tuple[float, int]:
    """The card of the hand worth most when played, and what it is worth."""
    hand = state["hand"][seat]
    best = -np.inf
    best_played = NO_CARD
    while hand != 0:
        card = lowest_bit(hand)
        hand &= hand - 1
        score, _ = best_capture(state, seat, card, settebello_value, re_value, likely, unseen, worths, weights, ranked)
        if score > best:
            best = score
            best_played = card
    return best, best_played


@kernel(inline=True)
def declaration_worth(state: Any, hand: int, settebello_value: int, re_value: int) -> int:
    """Points of what a whole hand shows with these given values."""
    kind = shown(hand, settebello_value, re_value, np.int64(state["low_sum_max"]))
    return np.int64(0) if kind == NO_DECLARATION else np.int64(state["declaration_points"][kind - 1])


@kernel
def reachable_points(state: Any, hand: int, settebello_value: int, re_value: int) -> int:
    """Points of the best declaration a whole hand can come to when it goes on being baptised; -1 if it cannot stop."""
    low_sum_max = np.int64(state["low_sum_max"])
    best = np.int64(-1)
    if not must_baptise(hand, settebello_value, re_value, low_sum_max):
        best = declaration_worth(state, hand, settebello_value, re_value)
    further = baptisms(hand, settebello_value, re_value, low_sum_max)
    while further != 0:
        k = lowest_bit(further)
        further &= further - 1
        value = k % NUM_RANKS + 1
        if k < NUM_RANKS:
            best = max(best, declaration_worth(state, hand, value, re_value))
        else:
            best = max(best, declaration_worth(state, hand, settebello_value, value))
    return best


@kernel
def best_before_play(state: Any, seat: int, likely: int, unseen: int, worths: Worths, weights: Any, ranked: Any) -> int:
    """Baptise or declare, whichever is worth most; NO_CARD to play on."""
    options = state["legal"][2]
    hand = state["hand"][seat]
    settebello_value = np.int64(state["jolly"][0])
    re_value = np.int64(state["jolly"][1])
    best = -np.inf
    action = NO_CARD
    if state["legal"][0] != 0:
        points = declaration_worth(state, hand, settebello_value, re_value)
        if options != DECLARE_BIT:  # there is something to compare with
            score, _ = best_play(state, seat, settebello_value, re_value, likely, unseen, worths, weights, ranked)
            best = points + score
        if points > 0:
            action = DECLARE_ACTION
    options &= ~DECLARE_BIT
    while options != 0:
        k = lowest_bit(options)
        options &= options - 1
        value = k % NUM_RANKS + 1
        first = value if k < NUM_RANKS else settebello_value
        second = re_value if k < NUM_RANKS else value
        score, _ = best_play(state, seat, first, second, likely, unseen, worths, weights, ranked)
        score += reachable_points(state, hand, first, second)
        if score > best:
            best = score
            action = BAPTISE_ACTION + k
    return action


@kernel
def decide(state: Any, weights: Any) -> int:
    """The action that these weights find best for the seat to move."""
    cards = state["legal"][0]
    if cards != 0 and cards & (cards - 1) == 0 and state["legal"][2] == 0:
        return lowest_bit(cards)
    seat = np.int64(state["turn"])
    worths = card_worths(state, weights)
    ranked = np.empty((2, NUM_RANKS))
    unseen = unseen_cards(state, seat)
    likely = likely_values(state, seat, unseen)
    settebello_value = np.int64(state["jolly"][0])
    re_value = np.int64(state["jolly"][1])
    picks = state["legal"][1]
    if picks != 0:
        _, wanted = best_capture(
            state, seat, np.int64(state["pending"]), settebello_value, re_value, likely, unseen, worths, weights, ranked
        )
        return PICK + lowest_bit(picks & wanted)
    if state["legal"][2] != 0:
        action = best_before_play(state, seat, likely, unseen, worths, weights, ranked)
        if action != NO_CARD:
            return action
    _, card = best_play(state, seat, settebello_value, re_value, likely, unseen, worths, weights, ranked)
    return card


@kernel
def medium_action(state: Any, word: np.uint64) -> int:
    """A good player's action for the seat to move: counts the cards, looks one reply ahead. It needs no dice.

    Args:
        state: a record, full or redacted for the seat to move; not when over.
        word: not used; levels share their arguments.
    """
    return decide(state, WEIGHTS)


# --- easy --------------------------------------------------------------------------------------------------------------------

# Of so many decisions of a kind a beginner gets one wrong.
EASY_PLAYS: Final = 3
EASY_PICKS: Final = 2
EASY_DECLARATIONS: Final = 4
EASY_BAPTISMS: Final = 2


@kernel
def easy_play(state: Any, seat: int, worths: Worths) -> int:
    """The card that takes most at once, or else the one worth least; what the other seat may do does not matter."""
    hand = state["hand"][seat]
    table = state["table"]
    counts = state["table_counts"]
    settebello_value = np.int64(state["jolly"][0])
    re_value = np.int64(state["jolly"][1])
    best = -np.inf
    best_played = NO_CARD
    while hand != 0:
        card = lowest_bit(hand)
        hand &= hand - 1
        value = hand_value(card, settebello_value, re_value)
        own = worth(bit_of(card), worths)
        gain = value_gain(table, counts, value, settebello_value, re_value, worths, 1.0)
        score = gain + own if gain >= 0.0 else -own
        if score > best:
            best = score
            best_played = card
    return best_played


@kernel
def easy_action(state: Any, word: np.uint64) -> int:
    """A beginner's action for the seat to move: takes what it sees, counts nothing, errs often.

    Args:
        state: a record, full or redacted for the seat to move; not when over.
        word: word of the random stream for its dice.
    """
    seat = np.int64(state["turn"])
    cards = state["legal"][0]
    picks = state["legal"][1]
    options = state["legal"][2]
    given = options & ~DECLARE_BIT
    dice = advance(word)
    worths = card_worths(state, WEIGHTS)
    if picks != 0:
        if below(word, EASY_PICKS) == 0:
            return PICK + nth_bit(picks, below(dice, popcount(picks)))
        return PICK + best_card(picks, worths)
    if given != 0 and (cards == 0 or below(word, EASY_BAPTISMS) != 0):
        return BAPTISE_ACTION + nth_bit(given, below(dice, popcount(given)))
    if options != given and below(dice, EASY_DECLARATIONS) != 0:
        return DECLARE_ACTION
    if below(word, EASY_PLAYS) == 0:
        return nth_bit(cards, below(dice, popcount(cards)))
    return easy_play(state, seat, worths)
