"""The rules of Tressette as kernels that change one state record in place."""

from typing import Any, Final

import numpy as np

from settebello.bits import advance, below, lowest_bit, nth_bit, popcount
from settebello.cards import (
    NUM_CARDS,
    NUM_RANKS,
    NUM_SUITS,
    RANK_LETTERS,
    SUIT_MASK,
    bit_of,
    card_at,
    mask_of,
    rank_of,
    suit_of,
)
from settebello.jit import kernel
from settebello.tressette.state import COUNT, DEAL, DRAW, MAX_SEATS, NAPOLETANA, NOBODY, NOT_COUNTED, PLAY, REGISTER_SIZE, TRICK

NUM_ACTIONS: Final = NUM_CARDS
NAPOLETANA_POINTS: Final = 3
DEAL_POINTS: Final = 11  # of a full deck, last trick included
NAPOLETANA_RANKS: Final = 3  # ranks 0, 1, 2: ace, two, three

# RULES Strength: within a suit, strongest first 3 2 A R C F 7 6 5 4. Worth: A 3 thirds; 3, 2, R, C, F 1 each.
STRENGTH: Final = np.array([9 - "32ARCF7654".index(RANK_LETTERS[card % NUM_RANKS]) for card in range(NUM_CARDS)], np.int64)
WORTH: Final = np.array([{"A": 3}.get(letter, int(letter in "32RCF")) for letter in RANK_LETTERS] * NUM_SUITS, np.int64)
DECK_THIRDS: Final = int(WORTH.sum())
LAST_TRICK: Final = 3  # in thirds: floor(thirds / 3) + 1 == floor((thirds + 3) / 3)
NAPOLETANA_MASK: Final = np.array(
    [mask_of(card_at(suit, rank) for rank in range(NAPOLETANA_RANKS)) for suit in range(NUM_SUITS)], np.int64
)


@kernel(inline=True)
def side_of(seat: int) -> int:
    """Side of a seat: two players are a side each, four are seats 0+2 against 1+3."""
    return seat % 2


@kernel(inline=True)
def all_thirds(state: Any) -> int:
    """Thirds of the deck, the last trick included."""
    total = np.int64(LAST_TRICK)
    for card in range(NUM_CARDS):
        if (state["deck_cards"] >> card) & 1:
            total += WORTH[card]
    return total


@kernel(inline=True)
def write_register(state: Any, code: int) -> None:
    """Append one event code to the public register of the deal."""
    state["register"][state["register_size"]] = code
    state["register_size"] += 1


@kernel(inline=True)
def score_points(state: Any, side: int, points: int) -> None:
    """Give a side points now: on the match score, on the deal's result and, with reward "points", as reward."""
    state["score"][side] += points
    state["deal_points"][side] += points
    if state["points_reward"]:
        state["reward"][side] += points
        state["reward"][1 - side] -= points


@kernel(inline=True)
def announce(state: Any, seat: int, suit: int) -> None:
    """RULES napoletana: 3 points at once; the three cards are public until played."""
    state["announced"] |= 1 << (seat * NUM_SUITS + suit)
    state["known"][seat] |= NAPOLETANA_MASK[suit]
    write_register(state, NAPOLETANA + seat * NUM_SUITS + suit)
    score_points(state, side_of(seat), NAPOLETANA_POINTS)


@kernel(inline=True)
def set_legal(state: Any) -> None:
    """RULES Lead: any card may be led, the others follow suit if they can."""
    hand = state["hand"][state["turn"]]
    if state["trick_size"] > 0:
        follow = hand & SUIT_MASK[suit_of(state["trick"][0])]
        if follow != 0:
            hand = follow
    state["legal"] = hand


@kernel
def distribute(state: Any) -> None:
    """Deal the hands from the deck in the record and open the deal: the seat after the dealer leads."""
    players = np.int64(state["players"])
    hand_size = np.int64(state["hand_size"])
    first_seat = (state["dealer"] + 1) % players
    for k in range(players):
        hand = np.int64(0)
        for i in range(k * hand_size, (k + 1) * hand_size):
            hand |= bit_of(state["deck"][i])
        seat = (first_seat + k) % players
        state["hand"][seat] = hand
        state["known"][seat] = 0
        state["played"][seat] = 0
        state["void"][seat] = 0
    for side in range(2):
        state["taken"][side] = 0
        state["thirds"][side] = 0
        state["cards_taken"][side] = 0
        state["deal_points"][side] = 0
    state["stock_start"] = players * hand_size
    state["announced"] = 0
    state["opened"] = 0
    state["trick_size"] = 0
    state["best_seat"] = 0
    state["best_card"] = 0
    for i in range(MAX_SEATS):
        state["trick"][i] = 0
    state["turn"] = first_seat
    state["leader"] = first_seat
    state["register_size"] = 0
    for i in range(REGISTER_SIZE):  # equal games have equal bytes, whatever was played before them
        state["register"][i] = 0
    write_register(state, DEAL + state["dealer"])
    set_legal(state)


@kernel(inline=True)
def shuffle(state: Any) -> None:
    """Put the option's cards in the deck, in an order drawn from the state's random stream (Fisher-Yates)."""
    deck = state["deck"]
    cards = state["deck_cards"]
    size = np.int64(state["deck_size"])
    word = state["rng"]
    for i in range(size):
        word = advance(word)
        j = below(word, i + 1)
        deck[i] = deck[j]
        deck[j] = lowest_bit(cards)
        cards &= cards - 1
    state["rng"] = word


@kernel(inline=True)
def new_game(state: Any) -> None:
    """Start a match from the state's random stream: dealer drawn, deck shuffled, 0-0."""
    state["rng"] = advance(state["rng"])
    state["dealer"] = below(state["rng"], np.int64(state["players"]))
    state["deal_number"] = 1
    state["over"] = 0
    state["winner"] = NOBODY
    state["sheet_last_trick"] = NOT_COUNTED
    state["last_register_size"] = 0
    for i in range(REGISTER_SIZE):
        state["last_register"][i] = 0
    for side in range(2):
        state["score"][side] = 0
        state["reward"][side] = 0
        state["sheet_points"][side] = 0
        state["sheet_thirds"][side] = 0
    shuffle(state)
    distribute(state)


@kernel(inline=True)
def finish(state: Any, side: int) -> None:
    """The game is over; side is the winner or NOBODY."""
    state["over"] = 1
    state["winner"] = side
    state["turn"] = NOBODY
    state["legal"] = 0
    if side != NOBODY and not state["points_reward"]:
        state["reward"][side] = 1
        state["reward"][1 - side] = -1


@kernel(inline=True)
def finish_deal(state: Any) -> None:
    """A single deal is over; the side with more points, napoletane included, has won."""
    result = state["deal_points"][0] - state["deal_points"][1]
    finish(state, 0 if result > 0 else 1 if result < 0 else NOBODY)


@kernel
def count_deal(state: Any, last_side: int) -> None:
    """RULES End of the deal: thirds without the fraction, 1 for the last trick; then the match ends or a deal follows."""
    for side in range(2):
        points = state["thirds"][side] // 3 + (side == last_side)
        state["sheet_points"][side] = points
        state["sheet_thirds"][side] = state["thirds"][side]
        score_points(state, side, points)
    state["sheet_last_trick"] = last_side
    write_register(state, COUNT)
    # RULES Match: the target is looked at only at the end of a deal, and level scores play on.
    lead = state["score"][0] - state["score"][1]
    if state["single_deal"]:
        finish_deal(state)
    elif lead != 0 and max(state["score"][0], state["score"][1]) >= state["target"]:
        finish(state, 0 if lead > 0 else 1)
    else:
        for i in range(REGISTER_SIZE):
            state["last_register"][i] = state["register"][i]
        state["last_register_size"] = state["register_size"]
        state["dealer"] = (state["dealer"] + 1) % state["players"]
        state["deal_number"] += 1
        shuffle(state)
        distribute(state)


@kernel(inline=True)
def draw(state: Any, seat: int) -> None:
    """RULES Two players: each drawn card is shown, and is public in that hand until played."""
    card = np.int64(state["deck"][state["stock_start"]])
    state["stock_start"] += 1
    state["hand"][seat] |= bit_of(card)
    state["known"][seat] |= bit_of(card)
    write_register(state, DRAW + card)
    if state["napoletana"] and rank_of(card) < NAPOLETANA_RANKS:
        three = NAPOLETANA_MASK[suit_of(card)]
        if state["hand"][seat] & three == three:
            announce(state, seat, suit_of(card))


@kernel(inline=True)
def finish_trick(state: Any) -> None:
    """The strongest card of the suit led takes the trick; with a stock the winner draws first."""
    winner = np.int64(state["best_seat"])
    side = side_of(winner)
    for i in range(state["players"]):
        card = np.int64(state["trick"][i])
        state["taken"][side] |= bit_of(card)
        state["thirds"][side] += WORTH[card]
    state["cards_taken"][side] += state["players"]
    state["trick_size"] = 0
    state["leader"] = winner
    state["turn"] = winner
    write_register(state, TRICK + winner)
    if state["stock_start"] < state["deck_size"]:
        draw(state, winner)
        draw(state, 1 - winner)
    if state["hand"][winner] == 0:
        count_deal(state, side)
    else:
        state["legal"] = state["hand"][winner]


@kernel(inline=True)
def is_legal(state: Any, action: int) -> bool:
    """Whether the seat to move may take this action (any integer)."""
    return 0 <= action < NUM_ACTIONS and (state["legal"] >> np.int64(action)) & 1 == 1


@kernel(inline=True)
def step(state: Any, action: int) -> None:
    """Play one legal card; ``state["reward"]`` then holds the step's reward by side."""
    state["reward"][0] = 0
    state["reward"][1] = 0
    seat = np.int64(state["turn"])
    card = np.int64(action)
    bit = bit_of(card)
    if state["napoletana"] and not (state["opened"] >> seat) & 1:
        state["opened"] |= 1 << seat
        for suit in range(NUM_SUITS):  # RULES napoletana: checked before the first card leaves the hand
            if state["hand"][seat] & NAPOLETANA_MASK[suit] == NAPOLETANA_MASK[suit]:
                announce(state, seat, suit)
    state["hand"][seat] &= ~bit
    state["known"][seat] &= ~bit
    state["played"][seat] |= bit
    write_register(state, PLAY + card)
    size = np.int64(state["trick_size"])
    state["trick"][size] = card
    if size == 0:
        state["best_seat"] = seat
        state["best_card"] = card
    elif suit_of(card) != suit_of(state["trick"][0]):
        state["void"][seat] |= 1 << suit_of(state["trick"][0])
    elif STRENGTH[card] > STRENGTH[state["best_card"]]:
        state["best_seat"] = seat
        state["best_card"] = card
    state["trick_size"] = size + 1
    if size + 1 == state["players"]:
        finish_trick(state)
    else:
        state["turn"] = (seat + 1) % state["players"]
        set_legal(state)


@kernel(inline=True)
def random_action(state: Any, word: Any) -> int:
    """A legal action drawn uniformly with the random bits of a stream word; the game must not be over."""
    legal = state["legal"]
    return nth_bit(legal, below(word, popcount(legal)))
