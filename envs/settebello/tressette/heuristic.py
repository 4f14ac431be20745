"""Rule-of-thumb opponents for Tressette: what a beginner and what a good club player do, for two and four players.

Both kernels choose for the seat to move and read only what that seat knows. The beginner follows a few fixed rules on the
cards in front of it and often errs. The club player gives every legal card a value and plays the best: what the trick is
likely to bring, by counting who can still hold a higher card, and what the card is worth where it is: an ace with the 3 or 2
of its suit still out, a guard, a sure winner, a long suit, a suit the partner led. No play is searched.

The weights of those terms, in hundredths of a point, were measured: each legal card of random positions was played out by the
club player itself, and the results of the deals were fitted by least squares on the terms, in rounds until the play no longer
changed (least-squares policy iteration: Lagoudakis and Parr, 2003).
"""

from typing import Any, Final

import numpy as np

from settebello.bits import advance, below, lowest_bit, nth_bit, popcount
from settebello.cards import NUM_CARDS, NUM_RANKS, NUM_SUITS, suit_of
from settebello.jit import kernel
from settebello.tressette.observe import hand_size
from settebello.tressette.rules import STRENGTH, WORTH, side_of
from settebello.tressette.state import NAPOLETANA, TRICK

# Card sets here are in strength order: within a suit bit 0 is the 4, then 5 6 7 F C R, and bits 7, 8, 9 the A, 2, 3.
ACE: Final = 7
SUIT: Final = (1 << NUM_RANKS) - 1
_LOW: Final = sum(0x7F << (NUM_RANKS * suit) for suit in range(NUM_SUITS))
_HIGH: Final = sum(0x7 << (NUM_RANKS * suit) for suit in range(NUM_SUITS))
# Strengths with a neighbour below of the same worth: holding both, the lower one stands for the two.
_ALIKE: Final = sum(0b1101110 << (NUM_RANKS * suit) for suit in range(NUM_SUITS))
CARD: Final = np.array(sorted(range(NUM_CARDS), key=lambda card: (suit_of(card), STRENGTH[card])), np.int64)
TOP: Final = np.array([max(cards.bit_length() - 1, 0) for cards in range(SUIT + 1)], np.int64)  # strongest card of a suit's set
CLASS: Final = np.array([0, 0, 0, 0, 1, 1, 1, 2, 3, 3], np.int64)  # by strength: 4-7, figures, ace, 2 and 3
# Kind of a card by its class and how many higher ones are out (more count as three).
KIND_OF: Final = np.array([[9, 10, 10, 11], [5, 6, 7, 8], [0, 1, 2, 2], [3, 4, 4, 4]], np.int64)
KINDS: Final = 12

# The terms of a card's value, and where their weights stand in a row of WEIGHTS.
TABLE: Final = 0  # thirds already on the table, times 2 p - 1 where p is the chance that the own side takes the trick
OWN_WORTH: Final = 1  # the card's own thirds, times 2 p - 1
KIND: Final = 2  # kind of the card; a second set for the late part of the deal
LENGTH: Final = KIND + 2 * KINDS  # cards left of its suit in hand, up to four; a second set for cards of worth
OUT: Final = LENGTH + 10  # which of A, 2, 3 of its suit are out, by class of the card
OWN: Final = OUT + 32  # which of A, 2, 3 of its suit stay in hand; a second set for cards of worth
OUT_COUNT: Final = OWN + 16  # cards of its suit that are out
OUT_COUNT_TOP: Final = OUT_COUNT + 1  # the same, for a card that none of them beats
PARTNER_LED: Final = OUT_COUNT + 2  # the partner led its suit before
PARTNER_LED_SMALL: Final = OUT_COUNT + 3  # the same, for a card without worth
RIVAL_LED: Final = OUT_COUNT + 4  # a rival led its suit before
TERMS: Final = OUT_COUNT + 5

# Situations: the rows of WEIGHTS.
LEAD: Final = 0  # four players; then follow as second, third, last
DISCARD: Final = 4  # four players, no card of the suit led; then the same as last to play
STOCK: Final = 6  # two players with a stock: lead, follow, discard
OPEN: Final = 9  # two players without: lead, follow, discard
SITUATIONS: Final = 12

# The weights, a row for each situation, in hundredths of a point.
# TABLE, OWN_WORTH
_TRICK: Final = (
    (0, 41),  # lead
    (35, 39),  # second
    (58, 34),  # third
    (38, 34),  # last
    (0, 28),  # discard
    (0, 28),  # discard, last
    (0, 19),  # stock: lead
    (32, 31),  # stock: follow
    (0, 47),  # stock: discard
    (0, 14),  # open: lead
    (32, 34),  # open: follow
    (0, 27),  # open: discard
)
# KIND: ace with none, one, both of 2 and 3 out; 2 or 3 with none, one higher out; figure with none, one, two, more; 4-7
# with none, one or two, more
_KIND_EARLY: Final = (
    (6, -42, -15, 24, -4, 134, -34, -36, -33, 106, -64, -41),  # lead
    (-2, 0, -7, 8, 7, -57, 9, 27, 37, -66, 11, 33),  # second
    (-2, -22, -12, 37, 37, 17, -12, -15, -29, -10, 13, -1),  # third
    (-13, -5, 27, -33, 9, -119, 34, 50, 58, -107, 39, 60),  # last
    (-29, -6, 12, -69, 9, -18, 15, 30, 37, -21, 10, 31),  # discard
    (-28, -14, 3, -59, 7, -17, 12, 30, 40, -19, 13, 31),  # discard, last
    (-17, -16, -6, -14, 10, 19, 5, 6, 10, -5, 1, 7),  # stock: lead
    (-14, -11, -21, -17, 8, -24, -3, 20, 42, -6, 5, 22),  # stock: follow
    (-21, -10, 4, -38, -3, -10, 5, 16, 42, -5, 4, 17),  # stock: discard
    (10, -21, -6, -6, -2, 74, -1, -9, -22, 4, -16, -4),  # open: lead
    (6, -29, 0, -21, 15, -65, -4, 36, 65, -32, -1, 31),  # open: follow
    (-55, -9, 20, -56, -4, -24, 9, 37, 68, -22, 4, 32),  # open: discard
)
# the same late in the deal
_KIND_LATE: Final = (
    (17, -26, 1, 62, -30, 146, -69, -44, -36, 123, -94, -50),  # lead
    (-37, -11, 32, -16, 32, -118, 2, 47, 69, -115, 42, 72),  # second
    (1, 40, 70, 65, 26, -65, -20, -4, -7, -125, -12, 32),  # third
    (-71, 74, 21, -69, 84, -198, 65, 65, 58, -181, 82, 71),  # last
    (-1, 18, 10, -71, 9, -20, 16, 22, 21, -29, 6, 17),  # discard
    (-4, 21, 16, -79, 7, -30, 18, 29, 27, -34, 11, 17),  # discard, last
    (-9, -13, 8, -30, -1, 33, 0, 5, 7, 11, -4, -7),  # stock: lead
    (-32, 1, 15, -41, -3, -37, 11, 31, 49, -18, 7, 15),  # stock: follow
    (-25, 10, 27, -65, -11, -15, 6, 25, 45, -12, 2, 12),  # stock: discard
    (-21, 39, 10, -46, -30, 42, 8, 11, -3, -10, -32, 32),  # open: lead
    (-100, 45, 66, -96, 1, -167, 24, 88, 123, -147, 39, 123),  # open: follow
    (7, 28, 11, -121, -25, -33, 21, 55, 41, -36, 18, 35),  # open: discard
)
# LENGTH: none, one, two, three, more left; 4-7 first, then cards of worth
_LENGTH: Final = (
    (-58, -31, -9, 22, 56, -29, -19, -10, 16, 63),  # lead
    (0, -18, -1, -1, -3, 0, 18, 1, 1, 3),  # second
    (0, -29, -23, -21, -30, 0, 29, 23, 21, 30),  # third
    (0, -18, -7, -2, -9, 0, 18, 7, 2, 9),  # last
    (15, 4, -1, -1, -1, 11, -1, -11, -11, -4),  # discard
    (9, 1, 3, 4, 3, 6, -3, -7, -10, -5),  # discard, last
    (-9, -6, 0, 7, 11, -3, -11, -5, 3, 13),  # stock: lead
    (0, -2, 8, 11, 8, 0, 2, -8, -11, -8),  # stock: follow
    (1, -1, 3, 7, 9, -5, -14, -7, 0, 8),  # stock: discard
    (-25, -17, -13, 2, 29, -2, -5, -3, 6, 30),  # open: lead
    (0, -12, 14, 5, 6, 0, 12, -14, -5, -6),  # open: follow
    (0, -12, -2, 22, 23, -6, -17, -16, -1, 9),  # open: discard
)
# OUT: which of A (1), 2 (2) and 3 (4) are out, 0..7; 4-7 first, then figures
_OUT_LOW: Final = (
    (-32, -18, 17, 2, 34, 7, -4, -28, -59, -37, 7, 16, 38, 23, 24, 15),  # lead
    (-8, 24, -7, -1, -4, -14, -11, -2, 12, 10, -5, -1, 4, 8, -14, 2),  # second
    (-5, -7, 6, -11, 2, -36, -41, -12, -23, -30, -12, -24, -20, -22, -16, 12),  # third
    (23, 26, -5, 4, -31, -25, -24, -4, 42, 35, 2, 6, -30, -22, -23, 4),  # last
    (5, 5, -10, 9, -11, -3, 0, 20, 14, 6, -3, 15, 4, 3, 18, 45),  # discard
    (8, 6, -11, 7, -14, -3, 3, 23, 15, 17, 0, 22, 1, 6, 9, 41),  # discard, last
    (-9, -26, 8, -3, 12, 10, 4, 8, -24, -37, 12, 2, 32, 21, 40, 40),  # stock: lead
    (8, 12, -1, 5, -6, 0, 3, 4, 14, 28, 19, 18, 6, 6, 2, -4),  # stock: follow
    (0, -1, 3, 4, -6, 1, 0, 16, 2, 12, 17, 10, 17, 17, 16, 23),  # stock: discard
    (-25, -42, 7, -12, 24, 19, -16, 21, -64, -78, 12, 12, 38, 36, 42, 99),  # open: lead
    (17, 34, -1, 30, -22, 2, -46, -1, 42, 39, 10, 20, 3, 7, -20, 1),  # open: follow
    (-7, -6, 4, 6, 0, 15, -4, 24, 4, 19, 21, 23, 24, 31, 6, 45),  # open: discard
)
# the same for the ace, then for 2 and 3
_OUT_HIGH: Final = (
    (23, 0, -85, 0, 16, 0, -15, 0, 44, 52, -20, 10, -4, -30, 0, 0),  # lead
    (-39, 0, 23, 0, -34, 0, 25, 0, 35, -34, -11, 2, 34, 6, 0, 0),  # second
    (-1, 0, 5, 0, 12, 0, 58, 0, 29, 37, 0, 35, 5, 58, 0, 0),  # third
    (-83, 0, 53, 0, 16, 0, 47, 0, 18, -60, -50, -10, 45, 47, 0, 0),  # last
    (-30, 0, 4, 0, 8, 0, 22, 0, 37, -26, -61, -91, 25, -7, 0, 0),  # discard
    (-32, 0, -1, 0, 8, 0, 19, 0, 34, -2, -75, -95, 16, -2, 0, 0),  # discard, last
    (-26, 0, -30, 0, 1, 0, 1, 0, 27, -9, -26, -36, 21, -11, 0, 0),  # stock: lead
    (-46, 0, 0, 0, -11, 0, -5, 0, 25, -40, -19, -23, 11, -6, 0, 0),  # stock: follow
    (-46, 0, -12, 0, 12, 0, 31, 0, 37, -19, -49, -72, 8, -22, 0, 0),  # stock: discard
    (-11, 0, -16, 0, 34, 0, 4, 0, 16, -16, -5, -48, 16, -48, 0, 0),  # open: lead
    (-94, 0, 21, 0, -5, 0, 66, 0, 34, -73, -29, -49, 25, -9, 0, 0),  # open: follow
    (-48, 0, -2, 0, 21, 0, 31, 0, 44, -40, -70, -111, 24, -54, 0, 0),  # open: discard
)
# OWN: which of A (1), 2 (2) and 3 (4) stay in hand, 0..7; 4-7 first, then cards of worth
_OWN: Final = (
    (61, 46, 21, -18, 13, 4, -28, -118, 13, 27, 12, 31, -12, 25, -37, -37),  # lead
    (-32, 7, 42, 15, 19, 65, -17, -121, -65, -9, 17, 36, -2, 38, 14, -5),  # second
    (-20, 28, 43, -12, 39, 11, -15, -177, -44, 12, 38, 49, 18, 26, 15, -10),  # third
    (-35, -5, 33, 36, 31, 37, 14, -146, -54, -15, 10, 35, 7, 22, 28, 3),  # last
    (13, 4, 16, 10, 21, 15, -10, -54, -5, 0, 13, 11, 16, 14, -13, -51),  # discard
    (16, -1, 12, 9, 25, 15, -8, -48, 1, 3, 5, 12, 6, 14, -20, -40),  # discard, last
    (28, 5, 14, 0, 0, -14, 1, -31, 11, 2, 13, 3, -5, -4, -7, -18),  # stock: lead
    (-22, -3, 8, 19, 15, 40, -16, -16, -28, -21, -1, -1, -1, 17, -17, 28),  # stock: follow
    (-1, 4, 17, 13, -4, -1, 2, -13, 1, -7, 12, -4, -2, -7, 3, -14),  # stock: discard
    (66, 25, 26, -13, 12, -16, -60, -66, 21, 17, 23, 17, -10, 17, -38, -21),  # open: lead
    (-40, 17, 30, 2, 4, 23, -12, -10, -43, -38, 30, 0, 10, 8, 9, 10),  # open: follow
    (10, -4, 22, 16, 9, 3, -8, -16, -10, -14, 15, 3, -8, -2, -1, -14),  # open: discard
)
# OUT_COUNT, OUT_COUNT_TOP, PARTNER_LED, PARTNER_LED_SMALL, RIVAL_LED
_LEADS: Final = (
    (2, -24, 60, -5, -3),  # lead
    (0, -9, 0, 0, 0),  # second
    (0, -28, 0, 0, 0),  # third
    (0, 2, 0, 0, 0),  # last
    (-6, -1, 0, 0, 0),  # discard
    (-6, 0, 0, 0, 0),  # discard, last
    (-8, -2, 0, 0, 0),  # stock: lead
    (0, 3, 0, 0, 0),  # stock: follow
    (-5, 2, 0, 0, 0),  # stock: discard
    (-13, -21, 0, 0, 0),  # open: lead
    (0, -4, 0, 0, 0),  # open: follow
    (-19, -5, 0, 0, 0),  # open: discard
)
WEIGHTS: Final = np.hstack([_TRICK, _KIND_EARLY, _KIND_LATE, _LENGTH, _OUT_LOW, _OUT_HIGH, _OWN, _LEADS]) / 100.0
SLIP: Final = 6  # a beginner plays one card in so many at random


@kernel(inline=True)
def by_strength(cards: int) -> int:
    """A card set with each suit's bits in strength order."""
    return ((cards >> 3) & _LOW) | ((cards & _HIGH) << 7)


@kernel(inline=True)
def suit_part(cards: int, suit: int) -> int:
    """The ten bits of one suit."""
    return (cards >> (NUM_RANKS * suit)) & SUIT


@kernel(inline=True)
def share_of(hidden: int, void: int, suit: int) -> float:
    """Hidden cards of a hand that may be of this suit: none after a failure to follow it."""
    return 0.0 if (void >> suit) & 1 else 1.0 * hidden


@kernel(inline=True)
def chance_none(share: float, cards: int) -> float:
    """Chance that none of these hidden cards lies where each one lies with this chance."""
    chance = 1.0
    for _ in range(popcount(cards)):
        chance *= 1.0 - share
    return chance


@kernel
def best_card(state: Any, weights: Any) -> int:
    """The legal card of highest value; of equal ones the first in strength order, weakest first.

    Args:
        state: a record; only what the seat to move knows is read.
        weights: float64 ``(SITUATIONS, TERMS)``.
    """
    legal = np.int64(state["legal"])
    if legal & (legal - 1) == 0:
        return lowest_bit(legal)
    players = np.int64(state["players"])
    seat = np.int64(state["turn"])
    size = np.int64(state["trick_size"])
    stock = np.int64(state["deck_size"]) - np.int64(state["stock_start"])
    hand = np.int64(state["hand"][seat])
    seen = hand
    for other in range(players):
        seen |= state["played"][other]
    out = by_strength(state["deck_cards"] & ~seen)  # in the other hands and the stock
    hand = by_strength(hand)
    legal = by_strength(legal)
    held = popcount(hand)

    # What is known of the others: seat to play next, partner, seat to play last. Where none is, nothing is held.
    after = (seat + 1) % players
    known_after = by_strength(state["known"][after])
    hidden_after = hand_size(state, after) - popcount(known_after)
    void_after = np.int64(state["void"][after])
    known_partner = np.int64(0)
    hidden_partner = np.int64(0)
    void_partner = np.int64(0)
    known_before = np.int64(0)
    hidden_before = np.int64(0)
    void_before = np.int64(0)
    if players == 4:
        partner = (seat + 2) % 4
        before = (seat + 3) % 4
        known_partner = by_strength(state["known"][partner])
        hidden_partner = hand_size(state, partner) - popcount(known_partner)
        void_partner = np.int64(state["void"][partner])
        known_before = by_strength(state["known"][before])
        hidden_before = hand_size(state, before) - popcount(known_before)
        void_before = np.int64(state["void"][before])
        late = held <= 3
    elif stock > 0:
        late = stock <= 6
    else:
        known_after = out  # without a stock what is out is the other hand
        hidden_after = np.int64(0)
        late = held <= 4
    unseen = out & ~(known_after | known_partner | known_before)

    table = np.int64(0)
    led = np.int64(0)
    best = np.int64(-1)
    ours = False
    for i in range(size):
        table += WORTH[np.int64(state["trick"][i])]
    if size > 0:
        led = suit_of(np.int64(state["trick"][0]))
        best = STRENGTH[np.int64(state["best_card"])]
        ours = side_of(np.int64(state["best_seat"])) == side_of(seat)
    follows = size > 0 and suit_part(legal, led) != 0
    if players == 4:
        situation = LEAD + size if size == 0 or follows else DISCARD if size < 3 else DISCARD + 1
    else:
        situation = (STOCK if stock > 0 else OPEN) + (0 if size == 0 else 1 if follows else 2)

    partner_led = np.int64(0)
    rival_led = np.int64(0)
    if players == 4 and size == 0:  # the leads so far, last first; each trick is five codes, the first may hold napoletane
        tricks = (np.int64(state["cards_taken"][0]) + np.int64(state["cards_taken"][1])) // 4
        for k in range(1, tricks + 1):
            at = np.int64(state["register_size"]) - 5 * k
            if k < tricks:
                leader = np.int64(state["register"][at - 1]) - TRICK
            else:
                leader = np.int64(state["dealer"]) + 1
                at = 1
                while state["register"][at] >= NAPOLETANA:
                    at += 1
            suit_bit = np.int64(1) << suit_of(np.int64(state["register"][at]))
            if side_of(leader) != side_of(seat):
                rival_led |= suit_bit
            elif (leader - seat) % 4 != 0:
                partner_led |= suit_bit

    choice = np.int64(0)
    highest = -1e9
    left = legal & ~((legal << 1) & _ALIKE)
    while left != 0:
        place = lowest_bit(left)
        left &= left - 1
        suit = place // NUM_RANKS
        strength = place - NUM_RANKS * suit
        own_suit = suit_part(hand, suit) & ~(np.int64(1) << strength)
        out_suit = suit_part(out, suit)
        higher = popcount(out_suit >> (strength + 1))
        card_class = CLASS[strength]
        worth = WORTH[CARD[place]]

        # Chance that the own side takes the trick: no rival yet to play beats the best card, or the partner beats all.
        trick_suit = suit if size == 0 else led
        wins = size == 0 or (suit == led and strength > best)
        chance = 1.0 if wins or ours else 0.0
        if size < players - 1:
            beats = strength + 1 if wins else best + 1
            above = suit_part(out, trick_suit) >> beats << beats
            if above != 0:
                hidden = above & suit_part(unseen, trick_suit)
                share_after = share_of(hidden_after, void_after, trick_suit)
                share_partner = share_of(hidden_partner, void_partner, trick_suit)
                share_before = share_of(hidden_before, void_before, trick_suit)
                total = max(1.0, share_after + share_partner + share_before + (stock if players == 2 else 0))
                rivals = suit_part(known_after, trick_suit)
                share_rivals = share_after / total
                if size == 0:
                    rivals |= suit_part(known_before, trick_suit)
                    share_rivals += share_before / total
                beaten = 1.0 if rivals & above != 0 else 1.0 - chance_none(share_rivals, hidden)
                rescued = 0.0
                if size < 2:
                    top = np.int64(1) << TOP[above]
                    if suit_part(known_partner, trick_suit) & top != 0:
                        rescued = 1.0
                    elif hidden & top != 0:
                        rescued = share_partner / total
                chance = 1.0 - beaten * (1.0 - rescued) if wins or ours else rescued
        swing = 2.0 * chance - 1.0

        value = 0.0
        value += weights[situation, TABLE] * (swing * table)
        value += weights[situation, OWN_WORTH] * (swing * worth)
        value += weights[situation, KIND + (KINDS if late else 0) + KIND_OF[card_class, min(higher, 3)]]
        value += weights[situation, LENGTH + (5 if card_class > 0 else 0) + min(popcount(own_suit), 4)]
        value += weights[situation, OUT + 8 * card_class + (out_suit >> ACE)]
        value += weights[situation, OWN + (8 if card_class > 0 else 0) + (own_suit >> ACE)]
        value += weights[situation, OUT_COUNT] * popcount(out_suit)
        if higher == 0:
            value += weights[situation, OUT_COUNT_TOP] * popcount(out_suit)
        if (partner_led >> suit) & 1:
            value += weights[situation, PARTNER_LED]
            if card_class == 0:
                value += weights[situation, PARTNER_LED_SMALL]
        if (rival_led >> suit) & 1:
            value += weights[situation, RIVAL_LED]
        if value > highest:
            highest = value
            choice = place
    return CARD[choice]


@kernel
def easy_action(state: Any, word: Any) -> int:
    """What a beginner plays: by the cards on the table and in hand, with no memory of what is out, and often a slip.

    Args:
        state: a record of a game that is not over; only what the seat to move knows is read.
        word: uint64 word of a random stream, for the slips.

    Returns:
        A legal card.
    """
    legal = np.int64(state["legal"])
    if below(word, SLIP) == 0:
        return nth_bit(legal, below(advance(word), popcount(legal)))
    size = np.int64(state["trick_size"])
    ours = size > 0 and side_of(np.int64(state["best_seat"])) == side_of(np.int64(state["turn"]))
    choice = np.int64(0)
    highest = -1000
    while legal != 0:
        card = lowest_bit(legal)
        legal &= legal - 1
        # Throws the cheapest card, of equal ones the weakest; leads so too.
        value = -10 * WORTH[card] - STRENGTH[card]
        if ours:  # gives the partner worth
            value = 10 * WORTH[card] - STRENGTH[card]
        elif size > 0:
            wins = (
                suit_of(card) == suit_of(np.int64(state["trick"][0]))
                and STRENGTH[card] > STRENGTH[np.int64(state["best_card"])]
            )
            if wins:  # takes whatever it can, as cheaply as it can
                value = 100 - STRENGTH[card]
        if value > highest:
            highest = value
            choice = card
    return choice


@kernel
def medium_action(state: Any, word: Any) -> int:
    """What a good club player plays; the same whenever the seat knows the same.

    Args:
        state: a record of a game that is not over; only what the seat to move knows is read.
        word: not used: nothing is left to chance.

    Returns:
        A legal card.
    """
    return best_card(state, WEIGHTS)
