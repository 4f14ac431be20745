"""The flat record of one Scopa-bazzica game."""

from typing import Final

import numpy as np

NUM_SEATS: Final = 2
HAND_SIZE: Final = 3
NUM_HANDS: Final = 6  # hands of a deal
TABLE_START: Final = 6  # RULES Deal: opener deck[0:3], dealer deck[3:6], table deck[6:10], then three each from the front
STOCK_START: Final = 10

# Declarations by strength (RULES Declarations); also the index + 1 into the option `declaration_points`.
NO_DECLARATION: Final = 0
PARIGLIA: Final = 1
MENO_DI_NOVE: Final = 2
PARIGLIA_MENO_DI_NOVE: Final = 3
BAZZICOTTO: Final = 4
DECLARATION_NAMES: Final = ("pariglia", "meno_di_nove", "pariglia_meno_di_nove", "bazzicotto")
DECLARATION_POINTS: Final = (1, 2, 3, 7)  # the default table, in the same order
LOW_SUM_MAX: Final = 8  # default: "less than nine"

# Codes of the public register: what one event is, in one byte. The seat needs no byte: the opener acts first, and the
# turn passes after each play, all through the deal.
PLAY: Final = 0  # + card
CAPTURED: Final = 40  # + table card that the last play took, lowest card first
SWEPT: Final = 80  # + card left on the table at the end of the deal, lowest first
BAPTISE: Final = 120  # + jolly * 10 + value - 1
DECLARE: Final = 140  # + declaration 1..4
SCOPA: Final = 150
DEAL: Final = 151  # + dealer; the four table cards follow, a byte each, lowest first
COUNT: Final = 153

# 1 deal + 4 table cards + 36 plays + 12 declarations + 2 baptisms + 1 count = 56. A play that stays on the table is taken or
# swept from it once, as are the first four, and a play that captures makes at most one scopa: at most 36 + 4 codes more.
REGISTER_SIZE: Final = 96

NOBODY: Final = -1
NO_CARD: Final = -1  # pending
NOT_COUNTED: Final = -2  # sheet_carte before the first count

# What options may be, so that every number of a game fits its field.
MAX_TARGET: Final = 100
MIN_LOW_SUM: Final = 3  # three aces
MAX_LOW_SUM: Final = 30
MAX_DECLARATION_POINTS: Final = 100
MAX_SCORE: Final = 20_000  # a deal adds at most 4 + 18 scope + 6 * MAX_DECLARATION_POINTS to it

STATE_DTYPE: Final = np.dtype(
    [
        ("rng", np.uint64),  # word of the SplitMix64 stream
        ("legal", np.int64, 3),  # cards to play; table cards to pick; bits 0..9 and 10..19 baptisms, 20 declare. 0 when over
        ("hand", np.int64, NUM_SEATS),
        ("known", np.int64, NUM_SEATS),  # cards in hand that the rules made public: baptised jollies
        ("played", np.int64, NUM_SEATS),  # cards played this deal, by seat
        ("hand_played", np.int64, NUM_SEATS),  # cards played in this hand, by seat
        ("taken", np.int64, NUM_SEATS),  # cards taken this deal
        ("table", np.int64),
        ("table_counts", np.int64),  # table cards by value: value v in bits 4(v-1) .. 4(v-1)+3
        ("picked", np.int64),  # table cards picked while choosing a capture
        ("deal_number", np.int32),
        ("turn", np.int16),
        ("dealer", np.int16),
        ("hand_number", np.int16),  # 1..6
        ("pending", np.int16),  # card played whose capture is being chosen, or NO_CARD
        ("jolly", np.int16, 2),  # given value of settebello and of re di denari, 0 while not baptised
        ("declared", np.int16, NUM_SEATS),  # declaration of this hand
        ("declarations", np.int16, NUM_SEATS),  # points of this deal's declarations
        ("scope", np.int16, NUM_SEATS),
        ("last_taker", np.int16),
        ("score", np.int16, NUM_SEATS),
        ("deal_points", np.int16, NUM_SEATS),  # result of this deal: 0 until its count
        ("reward", np.int16, NUM_SEATS),  # of the last step
        ("over", np.int16),
        ("winner", np.int16),
        ("sheet_points", np.int16, NUM_SEATS),  # last_deal
        ("sheet_carte", np.int16),
        ("sheet_denari", np.int16),
        ("sheet_settebello", np.int16),
        ("sheet_primiera", np.int16),
        ("sheet_scope", np.int16, NUM_SEATS),
        ("sheet_declarations", np.int16, NUM_SEATS),
        ("register_size", np.int16),
        ("last_register_size", np.int16),
        ("target", np.int16),  # options from here
        ("low_sum_max", np.int16),
        ("declaration_points", np.int16, 4),
        ("last_card_scopa", np.int16),
        ("single_deal", np.int16),  # episode="deal"
        ("points_reward", np.int16),  # reward="points"
        ("deck", np.uint8, 40),
        ("register", np.uint8, REGISTER_SIZE),
        ("last_register", np.uint8, REGISTER_SIZE),
    ],
    align=True,
)
