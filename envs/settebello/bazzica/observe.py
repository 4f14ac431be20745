"""What a seat sees of a Scopa-bazzica game, as an int8 row; and the record without what that seat cannot know.

Seats in a row are relative: `own` is the seat that looks, `next` the other one. Every kernel here reads only what the seat
knows, so that a redacted record gives the same row as the true one.
"""

from typing import Any, Final

import numpy as np

from settebello.bazzica.capture import choice, value_of
from settebello.bazzica.rules import BEST_PRIMIERA, dealt_cards, hand_start
from settebello.bazzica.state import (
    HAND_SIZE,
    MAX_DECLARATION_POINTS,
    MAX_LOW_SUM,
    MAX_TARGET,
    MIN_LOW_SUM,
    NO_CARD,
    NUM_HANDS,
    NUM_SEATS,
    STOCK_START,
    TABLE_START,
)
from settebello.bits import SPREAD, popcount, spread, write_bits
from settebello.cards import (
    DENARI_MASK,
    FULL_DECK,
    NUM_CARDS,
    NUM_RANKS,
    NUM_SUITS,
    RE_DI_DENARI,
    SETTEBELLO,
    UNKNOWN,
    bit_of,
    suit_of,
)
from settebello.jit import kernel
from settebello.spec import Field, row_size

MAX_SCORE: Final = 127  # scores are clipped to int8
PLAYS: Final = 2 * HAND_SIZE * NUM_HANDS  # of a deal

FIELDS: Final = (
    Field("hand", NUM_CARDS, "own cards"),
    Field("table", NUM_CARDS, "cards on the table"),
    Field("taken_own", NUM_CARDS, "cards taken this deal by the own seat"),
    Field("taken_next", NUM_CARDS, "cards taken this deal by the other seat"),
    Field("played_own", NUM_CARDS, "cards played this deal by the own seat"),
    Field("played_next", NUM_CARDS, "cards played this deal by the other seat"),
    Field("hand_played_next", NUM_CARDS, "cards the other seat played in this hand"),
    Field("pickable", NUM_CARDS, "while a capture is chosen, by either seat: table cards that may be picked"),
    Field("certain", NUM_CARDS, "while a capture is chosen: table cards in every set still possible"),
    Field("unseen", NUM_CARDS, "cards neither seen nor known: in the other hand or in the stock"),
    Field("turn", NUM_SEATS, "seat to move, one-hot; all zero when the game is over"),
    Field("opener", 1, "the own seat opens the hands of this deal; else it is the dealer"),
    Field("choosing", 1, "a capture is being chosen"),
    Field("over", 1, "the game is over"),
    Field("option_last_card_scopa", 1, "option last_card_scopa is on"),
    Field("option_deal", 1, "episode is a single deal"),
    Field("option_points", 1, "reward is points"),
    Field("pending_value", NUM_RANKS, "value 1..10 of the card whose capture is being chosen, one-hot"),
    Field("pending_suit", NUM_SUITS, "suit of that card, one-hot", by_suit=True),
    Field("last_taker", NUM_SEATS, "seat that captured last this deal, one-hot; all zero before the first capture"),
    Field("settebello_value", NUM_RANKS, "value settebello was baptised as, one-hot; all zero while it is itself"),
    Field("re_value", NUM_RANKS, "value re di denari was baptised as, one-hot; all zero while it is itself"),
    Field("declared_own", 4, "own declaration in force, one-hot: pariglia, meno di nove, pariglia meno di nove, bazzicotto"),
    Field("declared_next", 4, "declaration in force of the other seat, one-hot"),
    Field("known_next", 2, "settebello, re di denari: baptised and in the other hand"),
    Field("settebello_taken", NUM_SEATS, "who took settebello: own seat, other seat"),
    Field("table_values", NUM_RANKS, "cards on the table by value 1..10, baptised ones as given", NUM_SUITS + 2),
    Field("hand_number", 1, "hand of this deal, from 1", NUM_HANDS, low=1),
    Field("stock", 1, "cards left in the stock", NUM_CARDS - STOCK_START),
    Field("plays_left", 1, "cards still to be played this deal, by both seats", PLAYS),
    Field("table_size", 1, "cards on the table", NUM_CARDS),
    Field("hand_sizes", NUM_SEATS, "cards in hand: own seat, other seat", HAND_SIZE),
    Field("cards_taken", NUM_SEATS, "cards taken this deal: own seat, other seat", NUM_CARDS),
    Field("denari_taken", NUM_SEATS, "denari taken this deal: own seat, other seat", NUM_RANKS),
    Field(
        "primiera_own",
        NUM_SUITS,
        "primiera points of the own seat's best card taken of each suit, 0 without one",
        21,
        by_suit=True,
    ),
    Field("primiera_next", NUM_SUITS, "primiera of the other seat's best card taken of each suit", 21, by_suit=True),
    Field("scope", NUM_SEATS, "scope this deal: own seat, other seat", PLAYS // 2),
    Field("declarations", NUM_SEATS, "points of this deal's declarations: own seat, other seat; clipped to 127", MAX_SCORE),
    Field("score", NUM_SEATS, "match points: own seat, other seat; clipped to 127", MAX_SCORE),
    Field("target", 1, "points that end the match", MAX_TARGET, low=1),
    Field("low_sum_max", 1, "option low_sum_max", MAX_LOW_SUM, low=MIN_LOW_SUM),
    Field("declaration_points", 4, "option declaration_points, in the order of `declared_own`", MAX_DECLARATION_POINTS),
)
OBS_SIZE: Final = row_size(FIELDS)


@kernel(inline=True)
def one_hot(value: int) -> int:
    """Bit value - 1; 0 for 0."""
    return (np.int64(1) << np.int64(value)) >> 1


@kernel(inline=True)
def write_nibbles(nibbles: int, row64: Any, word: int) -> None:
    """Write eight nibbles of an int64 as eight int8."""
    spread_out = np.uint64(nibbles & 0xFFFFFFFF)
    spread_out = (spread_out | (spread_out << np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
    spread_out = (spread_out | (spread_out << np.uint64(8))) & np.uint64(0x00FF00FF00FF00FF)
    spread_out = (spread_out | (spread_out << np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    row64[word] = spread_out


@kernel(inline=True)
def unseen_cards(state: Any, seat: int) -> int:
    """Cards that a seat has neither seen nor knows: in the other hand or in the stock."""
    seen = state["hand"][seat] | state["known"][1 - seat] | state["table"] | state["taken"][0] | state["taken"][1]
    if state["pending"] != NO_CARD:
        seen |= bit_of(np.int64(state["pending"]))
    return FULL_DECK & ~seen


@kernel(inline=True)
def observe(state: Any, seat: int, row8: Any, row64: Any) -> None:
    """Write the observation of a seat into a row, given as int8 and as uint64 view of the same memory."""
    other = 1 - seat
    hand = state["hand"][seat]
    table = state["table"]
    taken_own = state["taken"][seat]
    taken_next = state["taken"][other]
    known_next = state["known"][other]
    pending = np.int64(state["pending"])
    pickable = np.int64(0)
    certain = np.int64(0)
    pending_bits = np.int64(0)
    if pending != NO_CARD:
        pickable, certain = choice(state)
        pending_bits = one_hot(value_of(state, pending)) | np.int64(1) << (NUM_RANKS + suit_of(pending))
    spread(hand, row64, 0)
    spread(table, row64, 5)
    spread(taken_own, row64, 10)
    spread(taken_next, row64, 15)
    spread(state["played"][seat], row64, 20)
    spread(state["played"][other], row64, 25)
    spread(state["hand_played"][other], row64, 30)
    spread(pickable, row64, 35)
    spread(certain, row64, 40)
    spread(unseen_cards(state, seat), row64, 45)

    turn = np.int64(state["turn"])
    last_taker = np.int64(state["last_taker"])
    bits = (
        np.int64(turn == seat)
        | np.int64(turn == other) << 1
        | np.int64(state["dealer"] == other) << 2
        | np.int64(pending != NO_CARD) << 3
        | np.int64(state["over"]) << 4
        | np.int64(state["last_card_scopa"]) << 5
        | np.int64(state["single_deal"]) << 6
        | np.int64(state["points_reward"]) << 7
        | pending_bits << 8
        | np.int64(last_taker == seat) << 22
        | np.int64(last_taker == other) << 23
        | one_hot(state["jolly"][0]) << 24
        | one_hot(state["jolly"][1]) << 34
        | one_hot(state["declared"][seat]) << 44
        | one_hot(state["declared"][other]) << 48
        | ((known_next >> SETTEBELLO) & 1) << 52
        | ((known_next >> RE_DI_DENARI) & 1) << 53
        | ((taken_own >> SETTEBELLO) & 1) << 54
        | ((taken_next >> SETTEBELLO) & 1) << 55
    )
    for i in range(7):
        row64[50 + i] = SPREAD[(bits >> (8 * i)) & 255]

    counts = state["table_counts"]
    hand_number = np.int64(state["hand_number"])
    size_own = HAND_SIZE - popcount(state["hand_played"][seat])
    size_next = HAND_SIZE - popcount(state["hand_played"][other])
    stock = 2 * HAND_SIZE * (NUM_HANDS - hand_number)
    write_nibbles(counts, row64, 57)
    row8[464] = (counts >> 32) & 15
    row8[465] = counts >> 36
    row8[466] = hand_number
    row8[467] = stock
    row8[468] = stock + size_own + size_next
    row8[469] = popcount(table)
    row8[470] = size_own
    row8[471] = size_next
    row8[472] = popcount(taken_own)
    row8[473] = popcount(taken_next)
    row8[474] = popcount(taken_own & DENARI_MASK)
    row8[475] = popcount(taken_next & DENARI_MASK)
    for suit in range(NUM_SUITS):
        row8[476 + suit] = BEST_PRIMIERA[(taken_own >> (NUM_RANKS * suit)) & DENARI_MASK]
        row8[480 + suit] = BEST_PRIMIERA[(taken_next >> (NUM_RANKS * suit)) & DENARI_MASK]
    row8[484] = state["scope"][seat]
    row8[485] = state["scope"][other]
    row8[486] = min(MAX_SCORE, np.int64(state["declarations"][seat]))
    row8[487] = min(MAX_SCORE, np.int64(state["declarations"][other]))
    row8[488] = min(MAX_SCORE, np.int64(state["score"][seat]))
    row8[489] = min(MAX_SCORE, np.int64(state["score"][other]))
    row8[490] = state["target"]
    row8[491] = state["low_sum_max"]
    for i in range(4):
        row8[492 + i] = state["declaration_points"][i]


@kernel(inline=True)
def write_mask(state: Any, row64: Any) -> None:
    """Write the mask of the seat to move (all zero when over) into a row of 104 int8 viewed as uint64."""
    spread(state["legal"][0], row64, 0)
    spread(state["legal"][1], row64, 5)
    options = state["legal"][2]
    for i in range(3):
        row64[10 + i] = SPREAD[(options >> (8 * i)) & 255]


@kernel(inline=True)
def write_state(state: Any, seat: int, row8: Any, row64: Any) -> None:
    """Write the whole state for a centralised critic: the observation of a seat, the other hand, the order of the stock.

    The last 40 elements are, by card, its place in the stock counted from 1, or 0.
    """
    observe(state, seat, row8, row64)
    word = OBS_SIZE // 8
    spread(state["hand"][1 - seat], row64, word)
    for i in range(5):
        row64[word + 5 + i] = 0
    start = hand_start(np.int64(state["hand_number"]) + 1)
    for i in range(start, NUM_CARDS):
        row8[OBS_SIZE + NUM_CARDS + np.int64(state["deck"][i])] = i - start + 1


@kernel(inline=True)
def write_deck(state: Any) -> None:
    """Put the deck in the order that tells nothing: each three cards and the first table cards sorted, the stock UNKNOWN.

    The current hands are written as the record has them, with UNKNOWN for what it has not.
    """
    hand_number = np.int64(state["hand_number"])
    first_table = dealt_cards(state, TABLE_START) | bit_of(np.int64(state["deck"][STOCK_START - 1]))
    write_bits(state["deck"], TABLE_START, STOCK_START, first_table, UNKNOWN)
    for number in range(1, hand_number):
        for k in range(NUM_SEATS):
            start = hand_start(number) + HAND_SIZE * k
            write_bits(state["deck"], start, start + HAND_SIZE, dealt_cards(state, start), UNKNOWN)
    for k in range(NUM_SEATS):
        seat = (state["dealer"] + 1 + k) % NUM_SEATS
        start = hand_start(hand_number) + HAND_SIZE * k
        write_bits(state["deck"], start, start + HAND_SIZE, state["hand"][seat] | state["hand_played"][seat], UNKNOWN)
    write_bits(state["deck"], hand_start(hand_number + 1), NUM_CARDS, 0, UNKNOWN)


@kernel(inline=True)
def redact(state: Any, seat: int) -> None:
    """Take out of a record all that a seat cannot know; what is left is the same for every world the seat cannot tell apart."""
    state["rng"] = 0
    state["hand"][1 - seat] = state["known"][1 - seat]
    if state["turn"] != seat:
        for i in range(3):
            state["legal"][i] = 0
    for i in range(NUM_SEATS):
        state["reward"][i] = 0
    write_deck(state)
