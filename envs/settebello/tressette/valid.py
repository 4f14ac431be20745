"""Whether the bytes of a record are a game that can be: each deal in it is played again by its register.

Records from outside (saved games) are checked by this before any other kernel sees them. No value of a record is used as an
index before its range is known.
"""

from typing import Any, Final

import numpy as np

from settebello.bits import lowest_bit, popcount
from settebello.cards import NUM_CARDS, bit_of
from settebello.jit import kernel
from settebello.tressette.rules import distribute, finish, is_legal, step
from settebello.tressette.state import COUNT, DEAL, DRAW, MAX_SEATS, NOBODY, NOT_COUNTED, REGISTER_SIZE, STATE_DTYPE, TRICK

MAX_SCORE: Final = 20_000
MAX_DEAL_NUMBER: Final = 2**30


@kernel(inline=True)
def is_deck(deck: Any, size: int, expected_cards: int) -> bool:
    """Whether a deck holds each of the expected cards once, and nothing behind them."""
    cards = np.int64(0)
    for i in range(size):
        if deck[i] >= NUM_CARDS:
            return False
        cards |= bit_of(deck[i])
    for i in range(size, NUM_CARDS):
        if deck[i] != 0:
            return False
    return cards == expected_cards


@kernel
def replay(game: Any, register: Any, size: int) -> bool:
    """Play a deal by its register on a record with its deck, dealer and options; False where the rules do not allow it.

    Stops at the end of the register or after the count. ``game`` is to be a single deal.
    """
    distribute(game)
    while not game["over"] and game["register_size"] < size:
        # The next card played; what stands before it (its player's napoletane) the rules must write again.
        at = np.int64(game["register_size"])
        while at < size and register[at] >= DRAW:
            at += 1
        if at == size or not is_legal(game, np.int64(register[at])):
            return False
        step(game, np.int64(register[at]))
    if game["register_size"] != size:
        return False
    for i in range(size):
        if game["register"][i] != register[i]:
            return False
    return True


@kernel
def read_deck(game: Any, register: Any, size: int) -> bool:
    """Set dealer and deck of a record from the register of a whole deal; False if it is none."""
    players = np.int64(game["players"])
    hand_size = np.int64(game["hand_size"])
    deck_size = np.int64(game["deck_size"])
    if size < 2 or not DEAL <= register[0] < DEAL + players or register[size - 1] != COUNT:
        return False
    dealer = np.int64(register[0]) - DEAL
    seat = (dealer + 1) % players
    drawn = np.int64(0)
    stock = players * hand_size
    for seat_after in range(players):
        game["played"][seat_after] = 0
    for i in range(1, size - 1):
        code = np.int64(register[i])
        if code < DRAW:
            game["played"][seat] |= bit_of(code)
            seat = (seat + 1) % players
        elif code < TRICK:
            if stock == deck_size:
                return False
            game["deck"][stock] = code - DRAW
            drawn |= bit_of(code - DRAW)
            stock += 1
        elif code < TRICK + players:
            seat = code - TRICK
    if stock != deck_size:
        return False
    for k in range(players):
        dealt = game["played"][(dealer + 1 + k) % players] & ~drawn
        if popcount(dealt) != hand_size:
            return False
        for i in range(hand_size):
            game["deck"][k * hand_size + i] = lowest_bit(dealt)
            dealt &= dealt - 1
    game["dealer"] = dealer
    return is_deck(game["deck"], deck_size, np.int64(game["deck_cards"]))


@kernel(inline=True)
def has_sheet(state: Any, game: Any) -> bool:
    """Whether the score sheet is that of a counted deal."""
    for side in range(2):
        if (
            state["sheet_points"][side] != game["sheet_points"][side]
            or state["sheet_thirds"][side] != game["sheet_thirds"][side]
        ):
            return False
    return state["sheet_last_trick"] == game["sheet_last_trick"]


@kernel(inline=True)
def has_no_sheet(state: Any) -> bool:
    """Whether no deal has been counted yet."""
    for side in range(2):
        if state["sheet_points"][side] != 0 or state["sheet_thirds"][side] != 0:
            return False
    return state["sheet_last_trick"] == NOT_COUNTED


@kernel(inline=True)
def same_deal(state: Any, game: Any) -> bool:
    """Whether two records agree in everything that belongs to the deal on the table."""
    for seat in range(MAX_SEATS):
        if (
            state["hand"][seat] != game["hand"][seat]
            or state["known"][seat] != game["known"][seat]
            or state["played"][seat] != game["played"][seat]
            or state["void"][seat] != game["void"][seat]
            or (seat < game["trick_size"] and state["trick"][seat] != game["trick"][seat])
        ):
            return False
    for side in range(2):
        if (
            state["taken"][side] != game["taken"][side]
            or state["thirds"][side] != game["thirds"][side]
            or state["cards_taken"][side] != game["cards_taken"][side]
            or state["deal_points"][side] != game["deal_points"][side]
        ):
            return False
    if game["trick_size"] > 0 and (state["best_seat"] != game["best_seat"] or state["best_card"] != game["best_card"]):
        return False
    return (
        state["legal"] == game["legal"]
        and state["announced"] == game["announced"]
        and state["turn"] == game["turn"]
        and state["leader"] == game["leader"]
        and state["trick_size"] == game["trick_size"]
        and state["stock_start"] == game["stock_start"]
        and state["opened"] == game["opened"]
    )


@kernel
def valid(state: Any) -> bool:
    """Whether a record with known options is one that play could have reached; its ``rng`` and ``reward`` may be anything."""
    players = np.int64(state["players"])
    for side in range(2):
        if not 0 <= state["score"][side] <= MAX_SCORE:
            return False
    if not (0 <= state["over"] <= 1 and 0 <= state["dealer"] < players and 1 <= state["deal_number"] <= MAX_DEAL_NUMBER):
        return False
    if not (0 <= state["register_size"] <= REGISTER_SIZE and 0 <= state["last_register_size"] <= REGISTER_SIZE):
        return False
    if not is_deck(state["deck"], np.int64(state["deck_size"]), np.int64(state["deck_cards"])):
        return False
    games = np.zeros(1, STATE_DTYPE)
    game = games[0]
    game["players"] = state["players"]
    game["hand_size"] = state["hand_size"]
    game["deck_size"] = state["deck_size"]
    game["deck_cards"] = state["deck_cards"]
    game["napoletana"] = state["napoletana"]
    game["single_deal"] = 1

    # The deal before: none before the first count, else its whole register, and its sheet unless this deal was counted too.
    counted = state["register_size"] > 0 and state["register"][state["register_size"] - 1] == COUNT
    if state["deal_number"] == 1:
        if state["last_register_size"] != 0 or not (counted or has_no_sheet(state)):
            return False
    else:
        size = np.int64(state["last_register_size"])
        if state["single_deal"] or not read_deck(game, state["last_register"], size):
            return False
        if (game["dealer"] + 1) % players != state["dealer"] or not replay(game, state["last_register"], size):
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
    for side in range(2):
        if state["score"][side] < game["deal_points"][side]:
            return False
    if counted:
        lead = np.int64(state["score"][0]) - np.int64(state["score"][1])
        winner = np.int64(game["winner"])
        if not state["single_deal"]:
            winner = 0 if lead > 0 else 1
            if lead == 0 or max(np.int64(state["score"][0]), np.int64(state["score"][1])) < state["target"]:
                return False
        if not state["over"] or state["winner"] != winner or not has_sheet(state, game):
            return False
    elif state["winner"] != NOBODY:
        return False
    elif state["over"]:  # given up in the middle of the deal
        finish(game, NOBODY)
    return same_deal(state, game)
