"""A Tressette record as plain Python: snapshot and register of events."""

from typing import Any

from settebello.cards import NUM_CARDS, NUM_SUITS, card_text, cards_in
from settebello.registers import counted_register, current_register
from settebello.tressette.observe import hand_size
from settebello.tressette.rules import NAPOLETANA_MASK, NAPOLETANA_POINTS
from settebello.tressette.state import COUNT, DEAL, DRAW, NAPOLETANA, NOBODY, NOT_COUNTED, PLAY, TRICK


def action_text(action: int) -> str:
    """An action in words, for messages."""
    return card_text(action) if 0 <= action < NUM_CARDS else "no such action"


def napoletane(register: bytes) -> list[list[int]]:
    """Announced ``[seat, suit]`` in a register, in order."""
    return [list(divmod(code - NAPOLETANA, NUM_SUITS)) for code in register if NAPOLETANA <= code < DEAL]


def snapshot(state: Any, seat: int | None = None) -> dict[str, Any]:
    """The record as a plain dict. With a seat the record is a redacted one: hidden hands are sizes and known cards."""
    players = int(state["players"])
    hands: list[Any] = [cards_in(state["hand"][other]) for other in range(players)]
    known = [cards_in(state["known"][other]) for other in range(players)]
    stock: Any = [int(card) for card in state["deck"][state["stock_start"] : state["deck_size"]]]
    if seat is not None:
        stock = len(stock)
        for other in range(players):
            if other != seat:
                hands[other] = {"size": int(hand_size(state, other)), "known": known[other]}
    last_deal = None
    if state["sheet_last_trick"] != NOT_COUNTED:
        last_deal = {
            "points": [int(points) for points in state["sheet_points"]],
            "thirds": [int(thirds) for thirds in state["sheet_thirds"]],
            "last_trick": int(state["sheet_last_trick"]),
            "napoletane": napoletane(counted_register(state, COUNT)),
        }
    return {
        "game": f"tressette-{players}p",
        "dealer": int(state["dealer"]),
        "turn": None if state["over"] else int(state["turn"]),
        "over": bool(state["over"]),
        "hands": hands,
        "stock": stock,
        "taken": [cards_in(mask) for mask in state["taken"]],
        "score": [int(points) for points in state["score"]],
        "deal_number": int(state["deal_number"]),
        "winner": None if state["winner"] == NOBODY else int(state["winner"]),
        "last_deal": last_deal,
        "trick": [[(int(state["leader"]) + i) % players, int(state["trick"][i])] for i in range(state["trick_size"])],
        "known": known,
        "napoletane": napoletane(current_register(state)),
    }


def events(state: Any, deal: int) -> list[dict[str, Any]]:
    """The public events of a deal, in order: 0 the deal on the table, -1 the deal counted last."""
    register = current_register(state) if deal == 0 else counted_register(state, COUNT)
    players = int(state["players"])
    result: list[dict[str, Any]] = []
    trick: list[int] = []
    seat = drawing = 0
    for code in register:
        if code < DRAW:
            result.append({"kind": "follow" if trick else "lead", "seat": seat, "card": code - PLAY})
            trick.append(code - PLAY)
            seat = (seat + 1) % players
        elif code < TRICK:
            result.append({"kind": "draw", "seat": drawing, "card": code - DRAW})
            drawing = 1 - drawing
        elif code < NAPOLETANA:
            seat = drawing = code - TRICK  # RULES: the winner draws first and leads
            result.append({"kind": "trick", "seat": seat, "cards": trick})
            trick = []
        elif code < DEAL:
            announcer, suit = divmod(code - NAPOLETANA, NUM_SUITS)
            cards = cards_in(NAPOLETANA_MASK[suit])
            result.append({"kind": "napoletana", "seat": announcer, "cards": cards, "points": NAPOLETANA_POINTS})
        elif code < COUNT:
            result.append({"kind": "deal", "seat": code - DEAL})
            seat = (code - DEAL + 1) % players
        else:
            result.append({"kind": "count", "seat": None, "points": [int(points) for points in state["sheet_points"]]})
    return result
