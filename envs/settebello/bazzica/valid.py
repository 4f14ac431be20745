"""Whether the bytes of a record are a game that can be: each deal in it is played again by its register.

Records from outside (saved games) are checked by this before any other kernel sees them. No value of a record is used as an
index before its range is known.
"""

from typing import Any, Final

import numpy as np

from settebello.bazzica.capture import choice
from settebello.bazzica.rules import BAPTISE_ACTION, DECLARE_ACTION, PICK, distribute, finish, hand_start, is_legal, step
from settebello.bazzica.state import (
    BAPTISE,
    CAPTURED,
    COUNT,
    DEAL,
    DECLARE,
    HAND_SIZE,
    MAX_DECLARATION_POINTS,
    MAX_LOW_SUM,
    MAX_SCORE,
    MAX_TARGET,
    NO_CARD,
    NOBODY,
    NOT_COUNTED,
    NUM_HANDS,
    NUM_SEATS,
    PLAY,
    REGISTER_SIZE,
    SCOPA,
    STATE_DTYPE,
    STOCK_START,
    SWEPT,
    TABLE_START,
)
from settebello.bits import lowest_bit
from settebello.cards import FULL_DECK, NUM_CARDS, bit_of
from settebello.jit import kernel

PLAYS: Final = 2 * HAND_SIZE * NUM_HANDS
MAX_DEAL_NUMBER: Final = 2**30


@kernel(inline=True)
def is_flag(value: int) -> bool:
    """Whether a field is 0 or 1."""
    return value == 0 or value == 1


@kernel(inline=True)
def is_deck(deck: Any) -> bool:
    """Whether a deck holds each card once."""
    cards = np.int64(0)
    for i in range(NUM_CARDS):
        if deck[i] >= NUM_CARDS:
            return False
        cards |= bit_of(deck[i])
    return cards == FULL_DECK


@kernel
def replay(game: Any, register: Any, size: int) -> bool:
    """Play a deal by its register on a record with its deck, dealer and options; False where the rules do not allow it.

    Stops at the end of the register or after the count. ``game`` is to be a single deal.
    """
    distribute(game)
    while not game["over"] and game["register_size"] < size:
        at = np.int64(game["register_size"])
        code = np.int64(register[at])
        action = np.int64(-1)
        if game["pending"] != NO_CARD:
            cards = np.int64(0)
            while at < size and CAPTURED <= register[at] < SWEPT:
                cards |= bit_of(register[at] - CAPTURED)
                at += 1
            picks = game["legal"][1] & cards
            if picks != 0:
                action = PICK + lowest_bit(picks)
        elif code < CAPTURED:
            action = code - PLAY
        elif BAPTISE <= code < DECLARE:
            action = BAPTISE_ACTION + code - BAPTISE
        elif DECLARE < code < SCOPA:
            action = np.int64(DECLARE_ACTION)
        if not is_legal(game, action):
            return False
        step(game, action)
    if game["register_size"] != size:
        return False
    for i in range(size):
        if game["register"][i] != register[i]:
            return False
    return True


@kernel
def read_deck(game: Any, register: Any, size: int) -> bool:
    """Set dealer and deck of a record from the register of a whole deal; False if it is none."""
    if size < 1 + STOCK_START - TABLE_START or not DEAL <= register[0] < DEAL + NUM_SEATS:
        return False
    game["dealer"] = register[0] - DEAL
    for i in range(TABLE_START, STOCK_START):
        game["deck"][i] = register[1 + i - TABLE_START]
    plays = np.int64(0)
    for i in range(1 + STOCK_START - TABLE_START, size):
        if register[i] < CAPTURED:
            if plays == PLAYS:
                return False
            # The seats play in turn: of a hand's six cards the opener's are the first, third and fifth.
            hand, k = plays // (2 * HAND_SIZE), plays % (2 * HAND_SIZE)
            game["deck"][hand_start(hand + 1) + HAND_SIZE * (k % 2) + k // 2] = register[i]
            plays += 1
    return plays == PLAYS and register[size - 1] == COUNT and is_deck(game["deck"])


@kernel(inline=True)
def has_sheet(state: Any, game: Any) -> bool:
    """Whether the score sheet is that of a counted deal."""
    for seat in range(NUM_SEATS):
        if state["sheet_points"][seat] != game["sheet_points"][seat] or state["sheet_scope"][seat] != game["sheet_scope"][seat]:
            return False
        if state["sheet_declarations"][seat] != game["sheet_declarations"][seat]:
            return False
    return (
        state["sheet_carte"] == game["sheet_carte"]
        and state["sheet_denari"] == game["sheet_denari"]
        and state["sheet_settebello"] == game["sheet_settebello"]
        and state["sheet_primiera"] == game["sheet_primiera"]
    )


@kernel(inline=True)
def has_no_sheet(state: Any) -> bool:
    """Whether no deal has been counted yet."""
    for seat in range(NUM_SEATS):
        if state["sheet_points"][seat] != 0 or state["sheet_scope"][seat] != 0 or state["sheet_declarations"][seat] != 0:
            return False
    return (
        state["sheet_carte"] == NOT_COUNTED
        and state["sheet_denari"] == NOT_COUNTED
        and state["sheet_settebello"] == NOT_COUNTED
        and state["sheet_primiera"] == NOT_COUNTED
    )


@kernel(inline=True)
def same_deal(state: Any, game: Any) -> bool:
    """Whether two records agree in everything that belongs to the deal on the table."""
    for seat in range(NUM_SEATS):
        if (
            state["hand"][seat] != game["hand"][seat]
            or state["known"][seat] != game["known"][seat]
            or state["played"][seat] != game["played"][seat]
            or state["hand_played"][seat] != game["hand_played"][seat]
            or state["taken"][seat] != game["taken"][seat]
            or state["jolly"][seat] != game["jolly"][seat]
            or state["declared"][seat] != game["declared"][seat]
            or state["declarations"][seat] != game["declarations"][seat]
            or state["scope"][seat] != game["scope"][seat]
            or state["deal_points"][seat] != game["deal_points"][seat]
        ):
            return False
    for i in range(3):
        if state["legal"][i] != game["legal"][i]:
            return False
    return (
        state["table"] == game["table"]
        and state["table_counts"] == game["table_counts"]
        and state["picked"] == game["picked"]
        and state["pending"] == game["pending"]
        and state["turn"] == game["turn"]
        and state["hand_number"] == game["hand_number"]
        and state["last_taker"] == game["last_taker"]
    )


@kernel
def valid(state: Any) -> bool:
    """Whether a record of unknown origin is one that play could have reached; its ``rng`` and ``reward`` may be anything."""
    for seat in range(NUM_SEATS):
        if not 0 <= state["score"][seat] <= MAX_SCORE:
            return False
    for i in range(4):
        if not 0 <= state["declaration_points"][i] <= MAX_DECLARATION_POINTS:
            return False
    if not (1 <= state["target"] <= MAX_TARGET and 0 <= state["low_sum_max"] <= MAX_LOW_SUM):
        return False
    if not (is_flag(state["last_card_scopa"]) and is_flag(state["single_deal"]) and is_flag(state["points_reward"])):
        return False
    if not (is_flag(state["over"]) and is_flag(state["dealer"]) and 1 <= state["deal_number"] <= MAX_DEAL_NUMBER):
        return False
    if not is_deck(state["deck"]):
        return False
    if not (0 <= state["register_size"] <= REGISTER_SIZE and 0 <= state["last_register_size"] <= REGISTER_SIZE):
        return False
    games = np.zeros(1, STATE_DTYPE)
    game = games[0]
    game["low_sum_max"] = state["low_sum_max"]
    game["last_card_scopa"] = state["last_card_scopa"]
    game["single_deal"] = 1
    for i in range(4):
        game["declaration_points"][i] = state["declaration_points"][i]

    # The deal before: none before the first count, else its whole register, and its sheet unless this deal was counted too.
    counted = state["register_size"] > 0 and state["register"][state["register_size"] - 1] == COUNT
    if state["deal_number"] == 1:
        if state["last_register_size"] != 0 or not (counted or has_no_sheet(state)):
            return False
    else:
        size = np.int64(state["last_register_size"])
        if state["single_deal"] or not read_deck(game, state["last_register"], size):
            return False
        if game["dealer"] == state["dealer"] or not replay(game, state["last_register"], size):
            return False
        if not (counted or has_sheet(state, game)):
            return False

    # This deal.
    game["over"] = 0
    game["dealer"] = state["dealer"]
    for i in range(NUM_CARDS):
        game["deck"][i] = state["deck"][i]
    if not replay(game, state["register"], np.int64(state["register_size"])):
        return False
    if counted:
        lead = np.int64(state["score"][0]) - np.int64(state["score"][1])
        winner = np.int64(game["winner"])
        if not state["single_deal"]:
            winner = 0 if lead > 0 else 1
            if lead == 0 or max(np.int64(state["score"][0]), np.int64(state["score"][1])) < state["target"]:
                return False
        for seat in range(NUM_SEATS):
            if state["score"][seat] < game["sheet_points"][seat]:
                return False
        if not state["over"] or state["winner"] != winner or not has_sheet(state, game):
            return False
    elif state["over"]:  # given up in the middle of the deal
        if not NOBODY <= state["winner"] < NUM_SEATS:
            return False
        finish(game, NOBODY)
    elif state["winner"] != NOBODY:
        return False
    if game["pending"] != NO_CARD:  # the picks so far must leave something to choose
        if state["picked"] & ~game["table"] != 0:
            return False
        game["picked"] = state["picked"]
        pickable, _ = choice(game)
        if pickable == 0:
            return False
        if not game["over"]:
            game["legal"][1] = pickable
    return same_deal(state, game)
