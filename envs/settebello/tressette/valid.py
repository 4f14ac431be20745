"""Whether a record from outside can be trusted: every number in range, every card in one place."""

from typing import Any

from settebello.cards import FULL_DECK, NUM_SUITS, SUIT_MASK, cards_in, mask_of, suit_of
from settebello.registers import current_register
from settebello.tressette.observe import hand_size
from settebello.tressette.rules import WORTH
from settebello.tressette.state import COUNT, DEAL, DRAW, MAX_SEATS, NAPOLETANA, NOBODY, NOT_COUNTED, REGISTER_SIZE, TRICK

MAX_SCORE = 20_000


def _codes_valid(codes: bytes, players: int) -> bool:
    """Whether each code names an event of a game with so many players."""
    return all(
        code < TRICK + players
        or NAPOLETANA <= code < NAPOLETANA + players * NUM_SUITS
        or DEAL <= code < DEAL + players
        or code == COUNT
        for code in codes
    )


def _ranges_valid(state: Any) -> bool:
    """Whether every small number lies where the kernels expect it."""
    players = int(state["players"])
    over = int(state["over"])
    ranges = (
        ("over", 0, 1),
        ("turn", NOBODY if over else 0, NOBODY if over else players - 1),
        ("leader", 0, players - 1),
        ("dealer", 0, players - 1),
        ("trick_size", 0, players - 1),
        ("stock_start", players * int(state["hand_size"]), int(state["deck_size"])),
        ("winner", NOBODY, 1 if over else NOBODY),
        ("deal_number", 1, 2**31 - 1),
        ("opened", 0, (1 << players) - 1),
        ("announced", 0, (1 << players * NUM_SUITS) - 1),
        ("sheet_last_trick", NOT_COUNTED, 1),
        ("register_size", 1, REGISTER_SIZE),
        ("last_register_size", 0, REGISTER_SIZE),
    )
    if not all(low <= state[name] <= high for name, low, high in ranges):
        return False
    return all(
        0 <= points <= MAX_SCORE for name in ("score", "deal_points", "sheet_points", "sheet_thirds") for points in state[name]
    )


def _cards_valid(state: Any) -> bool:
    """Whether each card of the game is in one place, and the sums over cards are right."""
    players = int(state["players"])
    cards = int(state["deck_cards"])
    deck = [int(card) for card in state["deck"][: state["deck_size"]]]
    if cards & ~FULL_DECK or sorted(deck) != cards_in(cards) or state["deck"][state["deck_size"] :].any():
        return False
    trick = [int(card) for card in state["trick"][: state["trick_size"]]]
    places = [int(state["hand"][seat]) for seat in range(MAX_SEATS)]
    places += [int(mask) for mask in state["taken"]]
    places += [mask_of(deck[int(state["stock_start"]) :])]
    if not all(0 <= card < 40 for card in trick) or len(set(trick)) != len(trick):
        return False
    places.append(mask_of(trick))
    if sum(places) != cards or any(a & b for i, a in enumerate(places) for b in places[:i]):
        return False
    played = [int(mask) for mask in state["played"]]
    if sum(played) != int(state["taken"][0]) + int(state["taken"][1]) + mask_of(trick):
        return False
    for seat in range(MAX_SEATS):
        hand = int(state["hand"][seat])
        if (
            (seat >= players and (hand or played[seat]))
            or int(state["known"][seat]) & ~hand
            or not 0 <= state["void"][seat] < 16
        ):
            return False
        if seat < players and hand_size(state, seat) != len(cards_in(hand)):
            return False
    return all(
        len(cards_in(state["taken"][side])) == state["cards_taken"][side]
        and sum(int(WORTH[card]) for card in cards_in(state["taken"][side])) == state["thirds"][side]
        for side in range(2)
    )


def _legal_valid(state: Any) -> bool:
    """Whether the legal cards follow from hand and trick, and the best card lies in the trick."""
    if state["over"]:
        return bool(state["legal"] == 0)
    hand = int(state["hand"][state["turn"]])
    size = int(state["trick_size"])
    if (int(state["leader"]) + size) % int(state["players"]) != state["turn"]:
        return False
    if size:
        trick = [int(card) for card in state["trick"][:size]]
        place = (int(state["best_seat"]) - int(state["leader"])) % int(state["players"])
        if state["best_seat"] not in range(int(state["players"])) or place >= size or trick[place] != state["best_card"]:
            return False
        hand = hand & int(SUIT_MASK[suit_of(trick[0])]) or hand
    return bool(state["legal"] == hand)


def _register_valid(state: Any) -> bool:
    """Whether the registers hold the codes of this deal's plays, draws, tricks and napoletane, and so cannot overflow."""
    register = current_register(state)
    last = bytes(state["last_register"][: state["last_register_size"]])
    players = int(state["players"])
    plays = [code for code in register if code < DRAW]
    if not _codes_valid(register + last, players) or mask_of(plays) != sum(int(mask) for mask in state["played"]):
        return False
    drawn = int(state["stock_start"]) - players * int(state["hand_size"])
    counted = int(register[-1] == COUNT and bool(state["over"]))
    return len(register) == 1 + len(plays) + len(plays) // players + drawn + int(state["announced"]).bit_count() + counted


def valid(state: Any) -> bool:
    """Whether a record with known options is that of a game in progress or over, safe for every kernel."""
    return _ranges_valid(state) and _cards_valid(state) and _legal_valid(state) and _register_valid(state)
