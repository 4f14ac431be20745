"""A Scopa-bazzica record as plain Python: snapshot and register of events."""

from typing import Any

from settebello.bazzica.capture import candidates
from settebello.bazzica.rules import BAPTISE_ACTION, DECLARE_ACTION, NUM_ACTIONS, PICK
from settebello.bazzica.state import (
    BAPTISE,
    CAPTURED,
    COUNT,
    DEAL,
    DECLARATION_NAMES,
    DECLARE,
    HAND_SIZE,
    NO_CARD,
    NO_DECLARATION,
    NOBODY,
    NOT_COUNTED,
    NUM_SEATS,
    PLAY,
    SCOPA,
    STOCK_START,
    SWEPT,
)
from settebello.cards import JOLLIES, NUM_CARDS, NUM_RANKS, card_text, cards_in, rank_of
from settebello.registers import counted_register, current_register


def action_text(action: int) -> str:
    """An action in words, for messages."""
    if not 0 <= action < NUM_ACTIONS:
        return "no such action"
    if action < PICK:
        return f"play {card_text(action)}"
    if action < BAPTISE_ACTION:
        return f"pick {card_text(action - PICK)}"
    if action < DECLARE_ACTION:
        jolly, value = divmod(action - BAPTISE_ACTION, NUM_RANKS)
        return f"baptise {card_text(JOLLIES[jolly])} as {value + 1}"
    return "declare"


def _nobody(seat: Any) -> int | None:
    return None if seat == NOBODY else int(seat)


def _declaration(declared: Any) -> str | None:
    return None if declared == NO_DECLARATION else DECLARATION_NAMES[declared - 1]


def snapshot(state: Any, seat: int | None = None) -> dict[str, Any]:
    """The record as a plain dict. With a seat the record is a redacted one: hidden hands are sizes and known cards."""
    baptised = {card: int(value) for card, value in zip(JOLLIES, state["jolly"], strict=True) if value}
    hands: list[Any] = [cards_in(mask) for mask in state["hand"]]
    stock_start = STOCK_START + 2 * HAND_SIZE * (int(state["hand_number"]) - 1)
    stock: Any = [int(card) for card in state["deck"][stock_start:]]
    if seat is not None:
        stock = len(stock)
        size = HAND_SIZE - len(cards_in(state["hand_played"][1 - seat]))
        hands[1 - seat] = {"size": size, "known": cards_in(state["known"][1 - seat])}
    last_deal = None
    if state["sheet_carte"] != NOT_COUNTED:
        last_deal = {
            "points": [int(points) for points in state["sheet_points"]],
            **{item: _nobody(state[f"sheet_{item}"]) for item in ("carte", "denari", "settebello", "primiera")},
            "scope": [int(scope) for scope in state["sheet_scope"]],
            "declarations": [int(points) for points in state["sheet_declarations"]],
        }
    return {
        "game": "bazzica",
        "dealer": int(state["dealer"]),
        "turn": None if state["over"] else int(state["turn"]),
        "over": bool(state["over"]),
        "hands": hands,
        "stock": stock,
        "taken": [cards_in(mask) for mask in state["taken"]],
        "score": [int(points) for points in state["score"]],
        "deal_number": int(state["deal_number"]),
        "winner": _nobody(state["winner"]),
        "last_deal": last_deal,
        "opener": 1 - int(state["dealer"]),
        "hand_number": int(state["hand_number"]),
        "table": [[card, baptised.get(card, rank_of(card) + 1)] for card in cards_in(state["table"])],
        "baptised": baptised,
        "pending": None if state["pending"] == NO_CARD else int(state["pending"]),
        "candidates": candidates(state),
        "declared": [_declaration(declared) for declared in state["declared"]],
        "scope": [int(scope) for scope in state["scope"]],
        "last_taker": _nobody(state["last_taker"]),
    }


def events(state: Any, deal: int) -> list[dict[str, Any]]:
    """The public events of a deal, in order: 0 the deal on the table, -1 the deal counted last."""
    register = current_register(state) if deal == 0 else counted_register(state, COUNT)
    result: list[dict[str, Any]] = []
    values = {card: rank_of(card) + 1 for card in range(NUM_CARDS)}
    turn = NOBODY  # seat to act; it passes after each play
    taker = NOBODY
    at = 0
    while at < len(register):
        code = register[at]
        at += 1
        player = (turn + 1) % NUM_SEATS  # seat of the last play
        if code < CAPTURED:
            card = code - PLAY
            result.append({"kind": "play", "seat": turn, "card": card, "value": values[card]})
            turn = player
        elif code < SWEPT:
            if result[-1]["kind"] != "capture":
                taker = player
                result.append({"kind": "capture", "seat": player, "card": result[-1]["card"], "cards": []})
            result[-1]["cards"].append(code - CAPTURED)
        elif code < BAPTISE:
            if result[-1]["kind"] != "sweep":
                result.append({"kind": "sweep", "seat": taker, "cards": []})
            result[-1]["cards"].append(code - SWEPT)
        elif code < DECLARE:
            jolly, value = divmod(code - BAPTISE, NUM_RANKS)
            values[JOLLIES[jolly]] = value + 1
            result.append({"kind": "baptise", "seat": turn, "card": JOLLIES[jolly], "value": value + 1})
        elif code < SCOPA:
            declared = code - DECLARE - 1
            points = int(state["declaration_points"][declared])
            result.append({"kind": "declare", "seat": turn, "value": DECLARATION_NAMES[declared], "points": points})
        elif code == SCOPA:
            result.append({"kind": "scopa", "seat": player, "points": 1})
        elif code < COUNT:
            dealer = code - DEAL
            result.append({"kind": "deal", "seat": dealer, "cards": sorted(register[at : at + 4])})
            at += 4
            turn = 1 - dealer
        else:
            result.append({"kind": "count", "seat": None, "points": [int(points) for points in state["sheet_points"]]})
    return result
