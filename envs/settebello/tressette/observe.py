"""What a seat sees of a Tressette game, as an int8 row; and the record without what that seat cannot know.

Seats in a row are relative: 0 is the seat that looks, 1 the next to play, and so on. Every kernel here reads only what the
seat knows, so that a redacted record gives the same row as the true one.
"""

from typing import Any, Final

import numpy as np

from settebello.bits import SPREAD, popcount, spread, write_bits
from settebello.cards import NUM_CARDS, NUM_SUITS, UNKNOWN, bit_of, suit_of
from settebello.jit import kernel
from settebello.spec import Field, row_size
from settebello.tressette.rules import DEAL_POINTS, NAPOLETANA_POINTS, WORTH, side_of
from settebello.tressette.state import NOBODY

MAX_SCORE: Final = 127  # scores are clipped to int8
MAX_TARGET: Final = 100


def fields(players: int) -> tuple[Field, ...]:
    """The parts of an observation row for two or four players, in order."""
    relative = ("own", "next") if players == 2 else ("own", "next", "partner", "previous")
    known = (
        (
            Field("known_own", NUM_CARDS, "own cards that the other seat knows (drawn, or of a napoletana)"),
            Field("known_next", NUM_CARDS, "cards known to be in the other hand (drawn, or of a napoletana)"),
        )
        if players == 2
        else (Field("known", NUM_CARDS, "cards in hand that a napoletana made public; `napoletane` tells whose"),)
    )
    return (
        Field("hand", NUM_CARDS, "own cards"),
        *known,
        *(Field(f"played_{name}", NUM_CARDS, f"cards played this deal by the seat `{name}`") for name in relative),
        Field("trick", NUM_CARDS, "cards of the trick on the table"),
        Field("unseen", NUM_CARDS, "cards of the game neither seen nor known: in a hidden hand or in the stock"),
        Field("turn", players, "seat to move, one-hot; all zero when the game is over"),
        Field("leader", players, "seat that led this trick or is to lead it, one-hot"),
        Field("dealer", players, "dealer, one-hot"),
        Field("winning", players, "seat whose card is winning the trick, one-hot; all zero before the lead"),
        Field("led_suit", NUM_SUITS, "suit led, one-hot; all zero before the lead", by_suit=True),
        Field("option_napoletana", 1, "option napoletana is on"),
        Field("option_deal", 1, "episode is a single deal"),
        Field("option_points", 1, "reward is points"),
        Field("over", 1, "the game is over"),
        *(
            Field(f"void_{name}", NUM_SUITS, f"suits that the hidden hand of `{name}` lacks: it failed to follow", by_suit=True)
            for name in relative
        ),
        *(
            Field(f"napoletane_{name}", NUM_SUITS, f"suits of which `{name}` announced a napoletana this deal", by_suit=True)
            for name in relative
        ),
        Field("hand_sizes", players, "cards in each hand", NUM_CARDS // players),
        *((Field("stock", 1, "cards left in the stock", NUM_CARDS - players),) if players == 2 else ()),
        Field("tricks", 1, "tricks finished this deal", NUM_CARDS // players),
        Field("trick_thirds", 1, "worth of the trick on the table, in thirds of a point", int(WORTH.max()) * (players - 1)),
        Field("thirds", 2, "thirds taken this deal: own side, other side", int(WORTH.sum())),
        Field("cards_taken", 2, "cards taken this deal: own side, other side", NUM_CARDS),
        Field("score", 2, "match points: own side, other side; clipped to 127", MAX_SCORE),
        Field("target", 1, "points that end the match", MAX_TARGET, low=1),
        Field(
            "deal_points",
            2,
            "points of this deal so far (its napoletane; once over, its whole result): own side, other side",
            DEAL_POINTS + NUM_SUITS * NAPOLETANA_POINTS,
        ),
        Field("deal_number", 1, "deal of the match, from 1; clipped to 127", MAX_SCORE, low=1),
        *((Field("option_hand_size", 1, "cards dealt to each seat", NUM_CARDS // players, low=1),) if players == 2 else ()),
    )


FIELDS_2P: Final = fields(2)
FIELDS_4P: Final = fields(4)
OBS_SIZE_2P: Final = row_size(FIELDS_2P)
OBS_SIZE_4P: Final = row_size(FIELDS_4P)


@kernel(inline=True)
def hand_size(state: Any, seat: int) -> int:
    """Cards in a seat's hand, from what is public: dealt, drawn and played."""
    drawn = (state["stock_start"] - state["players"] * state["hand_size"]) // state["players"]
    return state["hand_size"] + drawn - popcount(state["played"][seat])


@kernel(inline=True)
def one_hot(seat: int, other: int, players: int) -> int:
    """Bit of the other seat counted from ``seat``; 0 for NOBODY."""
    if other == NOBODY:
        return 0
    return 1 << ((np.int64(other) - seat + players) % players)


@kernel(inline=True)
def observe(state: Any, seat: int, row8: Any, row64: Any) -> None:
    """Write the observation of a seat into a row, given as int8 and as uint64 view of the same memory."""
    players = np.int64(state["players"])
    size = np.int64(state["trick_size"])
    two = players == 2
    spread(state["hand"][seat], row64, 0)
    seen = state["hand"][seat]
    known = np.int64(0)
    voids = np.int64(0)
    napoletane = np.int64(0)
    word = 15 if two else 10
    for relative in range(players):
        other = seat + relative
        if other >= players:
            other -= players
        played = state["played"][other]
        seen |= played
        known |= state["known"][other]
        spread(played, row64, word)
        word += 5
        voids |= np.int64(state["void"][other]) << (NUM_SUITS * relative)
        napoletane |= (np.int64(state["announced"]) >> (NUM_SUITS * other) & 15) << (NUM_SUITS * relative)
    if two:
        spread(state["known"][seat], row64, 5)
        spread(state["known"][1 - seat], row64, 10)
    else:
        spread(known, row64, 5)
    trick = np.int64(0)
    trick_thirds = np.int64(0)
    suits = np.int64(0)
    winning = NOBODY
    if size > 0:
        for i in range(size):
            card = np.int64(state["trick"][i])
            trick |= bit_of(card)
            trick_thirds += WORTH[card]
        suits = np.int64(1) << suit_of(np.int64(state["trick"][0]))
        winning = np.int64(state["best_seat"])
    spread(trick, row64, word)
    spread(state["deck_cards"] & ~(seen | known), row64, word + 5)
    word += 10
    seats = (
        one_hot(seat, state["turn"], players)
        | one_hot(seat, state["leader"], players) << players
        | one_hot(seat, state["dealer"], players) << (2 * players)
        | one_hot(seat, winning, players) << (3 * players)
    )
    flags = suits | state["napoletana"] << 4 | state["single_deal"] << 5 | state["points_reward"] << 6 | state["over"] << 7
    row64[word] = SPREAD[seats & 255]
    if two:
        word += 1
    else:
        row64[word + 1] = SPREAD[seats >> 8]
        word += 2
    row64[word] = SPREAD[flags]
    row64[word + 1] = SPREAD[voids & 255]
    if two:
        row64[word + 2] = SPREAD[napoletane]
        word += 3
    else:
        row64[word + 2] = SPREAD[voids >> 8]
        row64[word + 3] = SPREAD[napoletane & 255]
        row64[word + 4] = SPREAD[napoletane >> 8]
        word += 5
    at = 8 * word
    in_hands = np.int64(0)
    for relative in range(players):
        other = seat + relative
        if other >= players:
            other -= players
        cards = hand_size(state, other)
        in_hands += cards
        row8[at + relative] = cards
    at += players
    own = side_of(seat)
    taken = state["cards_taken"][0] + state["cards_taken"][1]
    if two:
        row8[at] = state["deck_size"] - state["stock_start"]
        row8[at + 13] = state["hand_size"]
        at += 1
    row8[at] = taken // players
    row8[at + 1] = trick_thirds
    for k in range(2):
        side = own if k == 0 else 1 - own
        row8[at + 2 + k] = state["thirds"][side]
        row8[at + 4 + k] = state["cards_taken"][side]
        row8[at + 6 + k] = min(MAX_SCORE, np.int64(state["score"][side]))
        row8[at + 9 + k] = state["deal_points"][side]
    row8[at + 8] = state["target"]
    row8[at + 11] = min(MAX_SCORE, np.int64(state["deal_number"]))


@kernel(inline=True)
def write_mask(state: Any, row64: Any) -> None:
    """Write the mask of the seat to move (all zero when over) into a row of 40 int8 viewed as uint64."""
    spread(state["legal"], row64, 0)


@kernel(inline=True)
def write_state(state: Any, seat: int, row8: Any, row64: Any) -> None:
    """Write the whole state for a centralised critic: the observation of a seat, the other hands, the order of the stock."""
    observe(state, seat, row8, row64)
    players = np.int64(state["players"])
    word = (OBS_SIZE_2P if players == 2 else OBS_SIZE_4P) // 8
    for relative in range(1, players):
        spread(state["hand"][(seat + relative) % players], row64, word)
        word += 5
    for i in range(5):
        row64[word + i] = 0
    for i in range(state["stock_start"], state["deck_size"]):
        row8[8 * word + np.int64(state["deck"][i])] = i - state["stock_start"] + 1


@kernel(inline=True)
def write_deck(state: Any) -> None:
    """Make the deck what the record's hands tell: each dealt hand in card order, the undrawn stock UNKNOWN."""
    players = np.int64(state["players"])
    size = np.int64(state["hand_size"])
    drawn = np.int64(0)
    for i in range(players * size, state["stock_start"]):
        drawn |= bit_of(np.int64(state["deck"][i]))
    for k in range(players):
        seat = (state["dealer"] + 1 + k) % players
        dealt = (state["hand"][seat] | state["played"][seat]) & ~drawn
        write_bits(state["deck"], k * size, (k + 1) * size, dealt, UNKNOWN)
    write_bits(state["deck"], np.int64(state["stock_start"]), np.int64(state["deck_size"]), 0, UNKNOWN)


@kernel(inline=True)
def redact(state: Any, seat: int) -> None:
    """Take out of a record all that a seat cannot know; what is left is the same for every world the seat cannot tell apart."""
    state["rng"] = 0
    for other in range(state["players"]):
        if other != seat:
            state["hand"][other] = state["known"][other]
    if state["turn"] != seat:
        state["legal"] = 0
    state["reward"][0] = 0
    state["reward"][1] = 0
    write_deck(state)
