"""The rules of Scopa-bazzica as kernels that change one state record in place."""

from typing import Any, Final

import numpy as np

from settebello.bazzica.capture import (
    NEED,
    NEED_CARDS,
    NEED_FULL,
    choice,
    equal_count,
    largest_groups,
    table_cards,
    value_of,
)
from settebello.bazzica.declare import must_baptise, options_before_play, shown
from settebello.bazzica.state import (
    BAPTISE,
    CAPTURED,
    COUNT,
    DEAL,
    DECLARE,
    HAND_SIZE,
    NO_CARD,
    NOBODY,
    NOT_COUNTED,
    NUM_HANDS,
    NUM_SEATS,
    PLAY,
    REGISTER_SIZE,
    SCOPA,
    STOCK_START,
    SWEPT,
    TABLE_START,
)
from settebello.bits import advance, below, lowest_bit, nth_bit, popcount
from settebello.cards import (
    DENARI_MASK,
    JOLLIES,
    NUM_CARDS,
    NUM_RANKS,
    NUM_SUITS,
    RANK_LETTERS,
    RANK_MASK,
    SETTEBELLO,
    bit_of,
    rank_of,
)
from settebello.jit import kernel

# Actions: play a card, pick a table card, baptise settebello or re di denari as 1..10, declare.
PICK: Final = NUM_CARDS
BAPTISE_ACTION: Final = PICK + NUM_CARDS
DECLARE_ACTION: Final = BAPTISE_ACTION + 2 * NUM_RANKS
NUM_ACTIONS: Final = DECLARE_ACTION + 1

# RULES Count: 7=21 6=18 A=16 5=15 4=14 3=13 2=12 figures=10; the best card of a suit, by the set of its ranks.
PRIMIERA: Final = {"7": 21, "6": 18, "A": 16, "5": 15, "4": 14, "3": 13, "2": 12, "F": 10, "C": 10, "R": 10}
BEST_PRIMIERA: Final = np.array(
    [max([0, *(PRIMIERA[RANK_LETTERS[r]] for r in range(NUM_RANKS) if ranks >> r & 1)]) for ranks in range(1 << NUM_RANKS)],
    np.uint8,
)


@kernel(inline=True)
def write_register(state: Any, code: int) -> None:
    """Append one event code to the public register of the deal."""
    state["register"][state["register_size"]] = code
    state["register_size"] += 1


@kernel(inline=True)
def set_legal(state: Any) -> None:
    """RULES Declarations, Baptism: what the seat to move may do while no capture is pending."""
    seat = np.int64(state["turn"])
    hand = state["hand"][seat]
    options = np.int64(0)
    if state["hand_played"][seat] == 0 and state["declared"][seat] == 0:
        settebello_value = np.int64(state["jolly"][0])
        re_value = np.int64(state["jolly"][1])
        low_sum_max = np.int64(state["low_sum_max"])
        options = options_before_play(hand, settebello_value, re_value, low_sum_max)
        if state["known"][seat] != 0 and must_baptise(hand, settebello_value, re_value, low_sum_max):
            hand = np.int64(0)
    state["legal"][0] = hand
    state["legal"][1] = 0
    state["legal"][2] = options


@kernel(inline=True)
def hand_start(hand_number: int) -> int:
    """Where in the deck the cards of a hand 1..6 start; for 7 the end of the deck."""
    if hand_number == 1:
        return np.int64(0)
    return STOCK_START + 2 * HAND_SIZE * (hand_number - 2)


@kernel(inline=True)
def dealt_cards(state: Any, start: int) -> int:
    """The three cards of the deck from a position on."""
    deck = state["deck"]
    return bit_of(deck[start]) | bit_of(deck[start + 1]) | bit_of(deck[start + 2])


@kernel(inline=True)
def deal_hands(state: Any, hand_number: int) -> None:
    """RULES Deal: three cards to each hand, opener first, and the opener acts first."""
    state["hand_number"] = hand_number
    start = hand_start(hand_number)
    dealer = np.int64(state["dealer"])
    opener = 1 - dealer
    state["hand"][opener] = dealt_cards(state, start)
    state["hand"][dealer] = dealt_cards(state, start + HAND_SIZE)
    for seat in range(NUM_SEATS):
        state["hand_played"][seat] = 0
        state["declared"][seat] = 0  # RULES Declarations: shown until the next three cards are dealt
    state["turn"] = opener
    set_legal(state)


@kernel
def distribute(state: Any) -> None:
    """Deal the first hands and the table from the deck in the record and open the deal."""
    for seat in range(NUM_SEATS):
        state["known"][seat] = 0
        state["played"][seat] = 0
        state["taken"][seat] = 0
        state["scope"][seat] = 0
        state["declarations"][seat] = 0
        state["deal_points"][seat] = 0
    state["jolly"][0] = 0
    state["jolly"][1] = 0
    state["pending"] = NO_CARD
    state["picked"] = 0
    state["last_taker"] = NOBODY
    state["register_size"] = 0
    for i in range(REGISTER_SIZE):  # equal games have equal bytes, whatever was played before them
        state["register"][i] = 0
    write_register(state, DEAL + np.int64(state["dealer"]))
    table = np.int64(0)
    counts = np.int64(0)
    for i in range(TABLE_START, STOCK_START):
        card = np.int64(state["deck"][i])
        table |= bit_of(card)
        counts += np.int64(1) << (4 * rank_of(card))
    rest = table
    while rest != 0:
        write_register(state, lowest_bit(rest))
        rest &= rest - 1
    state["table"] = table
    state["table_counts"] = counts
    deal_hands(state, 1)


@kernel(inline=True)
def shuffle(state: Any) -> None:
    """Put all cards in the deck, in an order drawn from the state's random stream (Fisher-Yates)."""
    deck = state["deck"]
    word = state["rng"]
    for i in range(NUM_CARDS):
        word = advance(word)
        j = below(word, i + 1)
        deck[i] = deck[j]
        deck[j] = i
    state["rng"] = word


@kernel(inline=True)
def new_game(state: Any) -> None:
    """Start a match from the state's random stream: dealer drawn, deck shuffled, 0-0."""
    state["rng"] = advance(state["rng"])
    state["dealer"] = below(state["rng"], NUM_SEATS)
    state["deal_number"] = 1
    state["over"] = 0
    state["winner"] = NOBODY
    state["sheet_carte"] = NOT_COUNTED
    state["sheet_denari"] = NOT_COUNTED
    state["sheet_settebello"] = NOT_COUNTED
    state["sheet_primiera"] = NOT_COUNTED
    state["last_register_size"] = 0
    for i in range(REGISTER_SIZE):
        state["last_register"][i] = 0
    for seat in range(NUM_SEATS):
        state["score"][seat] = 0
        state["reward"][seat] = 0
        state["sheet_points"][seat] = 0
        state["sheet_scope"][seat] = 0
        state["sheet_declarations"][seat] = 0
    shuffle(state)
    distribute(state)


@kernel(inline=True)
def finish(state: Any, seat: int) -> None:
    """The game is over; seat is the winner or NOBODY."""
    state["over"] = 1
    state["winner"] = seat
    state["turn"] = NOBODY
    for i in range(3):
        state["legal"][i] = 0
    if seat != NOBODY and not state["points_reward"]:
        state["reward"][seat] = 1
        state["reward"][1 - seat] = -1


@kernel(inline=True)
def greater(first: int, second: int) -> int:
    """RULES Count: the seat with more; equal means nobody."""
    return 0 if first > second else 1 if second > first else NOBODY


@kernel(inline=True)
def primiera(taken: int) -> int:
    """RULES Count: best card of each suit added up; 0 with no card of some suit."""
    total = np.int64(0)
    for suit in range(NUM_SUITS):
        best = np.int64(BEST_PRIMIERA[(taken >> (NUM_RANKS * suit)) & DENARI_MASK])
        if best == 0:
            return np.int64(0)
        total += best
    return total


@kernel
def count_deal(state: Any) -> None:
    """RULES End of the deal and Count: sweep, score sheet, points; then the match ends or the next seat deals."""
    last_taker = np.int64(state["last_taker"])
    if last_taker != NOBODY:
        rest = state["table"]
        state["taken"][last_taker] |= rest
        state["table"] = 0
        state["table_counts"] = 0
        while rest != 0:
            write_register(state, SWEPT + lowest_bit(rest))
            rest &= rest - 1
    first = state["taken"][0]
    second = state["taken"][1]
    carte = greater(popcount(first), popcount(second))
    denari = greater(popcount(first & DENARI_MASK), popcount(second & DENARI_MASK))
    settebello = greater((first >> SETTEBELLO) & 1, (second >> SETTEBELLO) & 1)
    best = greater(primiera(first), primiera(second))
    state["sheet_carte"] = carte
    state["sheet_denari"] = denari
    state["sheet_settebello"] = settebello
    state["sheet_primiera"] = best
    write_register(state, COUNT)
    for seat in range(NUM_SEATS):
        scope = np.int64(state["scope"][seat])
        declarations = np.int64(state["declarations"][seat])
        points = scope + declarations + (carte == seat) + (denari == seat) + (settebello == seat) + (best == seat)
        state["sheet_points"][seat] = points
        state["sheet_scope"][seat] = scope
        state["sheet_declarations"][seat] = declarations
        state["deal_points"][seat] = points
        state["score"][seat] += points
    result = np.int64(state["deal_points"][0]) - np.int64(state["deal_points"][1])
    if state["points_reward"]:
        state["reward"][0] = result
        state["reward"][1] = -result
    # RULES Match: the target is looked at only at the end of a deal, and level scores play on.
    lead = np.int64(state["score"][0]) - np.int64(state["score"][1])
    if state["single_deal"]:
        finish(state, greater(result, 0))
    elif lead != 0 and max(np.int64(state["score"][0]), np.int64(state["score"][1])) >= state["target"]:
        finish(state, greater(lead, 0))
    else:
        for i in range(REGISTER_SIZE):
            state["last_register"][i] = state["register"][i]
        state["last_register_size"] = state["register_size"]
        state["dealer"] = 1 - state["dealer"]
        state["deal_number"] += 1
        shuffle(state)
        distribute(state)


@kernel(inline=True)
def end_turn(state: Any, seat: int) -> None:
    """The played card is dealt with: the other seat acts, the next hand is dealt, or the deal is counted."""
    other = 1 - seat
    if state["hand"][other] != 0:
        state["turn"] = other
        set_legal(state)
    elif state["hand_number"] < NUM_HANDS:
        deal_hands(state, np.int64(state["hand_number"]) + 1)
    else:
        count_deal(state)


@kernel(inline=True)
def capture(state: Any, seat: int, card: int, cards: int, counts_left: int) -> None:
    """Take table cards with the played card; counts_left is what stays on the table, by value."""
    state["taken"][seat] |= cards | bit_of(card)
    state["table"] &= ~cards
    state["table_counts"] = counts_left
    state["last_taker"] = seat
    while cards != 0:
        write_register(state, CAPTURED + lowest_bit(cards))
        cards &= cards - 1
    if counts_left == 0:
        # RULES Scopa: the very last card played in the deal makes none, unless the option says so.
        last_card = state["hand_number"] == NUM_HANDS and state["hand"][0] | state["hand"][1] == 0
        if not last_card or state["last_card_scopa"]:
            state["scope"][seat] += 1
            write_register(state, SCOPA)


@kernel
def begin_choice(state: Any, card: int) -> None:
    """RULES Choosing: the played card is pending while its player picks table cards."""
    state["pending"] = card
    state["picked"] = 0
    pickable, _ = choice(state)
    state["legal"][0] = 0
    state["legal"][1] = pickable
    state["legal"][2] = 0


@kernel(inline=True)
def play(state: Any, seat: int, card: int) -> None:
    """RULES Capturing: play a card; the capture is automatic, a choice when different sets take the most cards."""
    bit = bit_of(card)
    state["hand"][seat] &= ~bit
    state["known"][seat] &= ~bit
    state["played"][seat] |= bit
    state["hand_played"][seat] |= bit
    write_register(state, PLAY + card)
    value = value_of(state, card)
    counts = state["table_counts"]
    one = np.int64(1) << (4 * (value - 1))
    equal = equal_count(counts, value)
    if equal == 1:
        capture(state, seat, card, table_cards(state, RANK_MASK[value - 1]), counts - one)
    elif equal > 1:
        begin_choice(state, card)
        return
    else:
        groups = largest_groups(counts, value)
        if groups == 0:
            state["table"] |= bit
            state["table_counts"] = counts + one
        else:
            group = lowest_bit(groups)
            need = NEED[value - 1, group]
            if groups & (groups - 1) != 0 or counts & NEED_FULL[value - 1, group] != need:
                begin_choice(state, card)
                return
            capture(state, seat, card, table_cards(state, NEED_CARDS[value - 1, group]), counts - need)
    end_turn(state, seat)


@kernel
def pick(state: Any, seat: int, card: int) -> None:
    """RULES Choosing: each pick keeps the sets that contain it; when one set is left it is taken."""
    state["picked"] |= bit_of(card)
    pickable, certain = choice(state)
    if pickable != 0:
        state["legal"][1] = pickable
        return
    played_card = np.int64(state["pending"])
    state["pending"] = NO_CARD
    state["picked"] = 0
    counts = state["table_counts"]
    rest = certain
    while rest != 0:
        counts -= np.int64(1) << (4 * (value_of(state, lowest_bit(rest)) - 1))
        rest &= rest - 1
    capture(state, seat, played_card, certain, counts)
    end_turn(state, seat)


@kernel
def baptise(state: Any, seat: int, jolly: int, value: int) -> None:
    """RULES Baptism: jolly 0 settebello, 1 re di denari; public, in this hand, for the whole deal."""
    state["jolly"][jolly] = value
    state["known"][seat] |= bit_of(JOLLIES[jolly])
    write_register(state, BAPTISE + NUM_RANKS * jolly + value - 1)
    set_legal(state)


@kernel
def declare(state: Any, seat: int) -> None:
    """RULES Declarations: always the best the hand shows now; its points count at the end of the deal."""
    kind = shown(state["hand"][seat], np.int64(state["jolly"][0]), np.int64(state["jolly"][1]), np.int64(state["low_sum_max"]))
    state["declared"][seat] = kind
    state["declarations"][seat] += state["declaration_points"][kind - 1]
    write_register(state, DECLARE + kind)
    set_legal(state)


@kernel(inline=True)
def is_legal(state: Any, action: int) -> bool:
    """Whether the seat to move may take this action (any integer)."""
    if action < 0 or action >= NUM_ACTIONS:
        return False
    if action < PICK:
        return (state["legal"][0] >> np.int64(action)) & 1 == 1
    if action < BAPTISE_ACTION:
        return (state["legal"][1] >> np.int64(action - PICK)) & 1 == 1
    return (state["legal"][2] >> np.int64(action - BAPTISE_ACTION)) & 1 == 1


@kernel(inline=True)
def random_action(state: Any, word: np.uint64) -> int:
    """A legal action, each as likely as any other, from the word of a random stream; not when over."""
    cards = state["legal"][0]
    picks = state["legal"][1]
    options = state["legal"][2]
    n = below(word, popcount(cards) + popcount(picks) + popcount(options))
    if n < popcount(cards):
        return nth_bit(cards, n)
    n -= popcount(cards)
    if n < popcount(picks):
        return PICK + nth_bit(picks, n)
    return BAPTISE_ACTION + nth_bit(options, n - popcount(picks))


@kernel(inline=True)
def step(state: Any, action: int) -> None:
    """Take one legal action; ``state["reward"]`` then holds the step's reward by seat."""
    state["reward"][0] = 0
    state["reward"][1] = 0
    seat = np.int64(state["turn"])
    action = np.int64(action)
    if action < PICK:
        play(state, seat, action)
    elif action < BAPTISE_ACTION:
        pick(state, seat, action - PICK)
    elif action < DECLARE_ACTION:
        jolly = (action - BAPTISE_ACTION) // NUM_RANKS
        baptise(state, seat, jolly, action - BAPTISE_ACTION - NUM_RANKS * jolly + 1)
    else:
        declare(state, seat)
