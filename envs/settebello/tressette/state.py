"""The flat record of one Tressette game, for two or four players and any deck."""

from typing import Final

import numpy as np

MAX_SEATS: Final = 4
# 1 deal + 40 plays + 20 tricks + 38 draws (hands of one card) + 4 napoletane + 1 count = 104; two more leave no padding.
REGISTER_SIZE: Final = 106

# Codes of the public register: what one event is, in one byte.
PLAY: Final = 0  # + card: lead or follow
DRAW: Final = 40  # + card
TRICK: Final = 80  # + seat of the winner
NAPOLETANA: Final = 100  # + seat * 4 + suit
DEAL: Final = 120  # + dealer
COUNT: Final = 130

NOBODY: Final = -1
NOT_COUNTED: Final = -2  # sheet_last_trick before the first count

STATE_DTYPE: Final = np.dtype(
    [
        ("rng", np.uint64),  # word of the SplitMix64 stream
        ("legal", np.int64),  # legal cards of the seat to move, 0 when over
        ("hand", np.int64, MAX_SEATS),
        ("known", np.int64, MAX_SEATS),  # cards in hand that the rules made public
        ("played", np.int64, MAX_SEATS),  # cards played this deal, by seat
        ("taken", np.int64, 2),  # cards taken this deal, by side
        ("deck_cards", np.int64),  # option: the cards the game is played with
        ("deal_number", np.int32),
        ("announced", np.int32),  # napoletane of this deal: bit seat * 4 + suit
        ("turn", np.int16),
        ("leader", np.int16),
        ("dealer", np.int16),
        ("trick", np.int16, MAX_SEATS),  # cards of the trick in play order
        ("trick_size", np.int16),
        ("best_seat", np.int16),  # who is winning the trick, and with what
        ("best_card", np.int16),
        ("stock_start", np.int16),  # index in the deck of the next card to draw
        ("thirds", np.int16, 2),
        ("cards_taken", np.int16, 2),
        ("void", np.int16, MAX_SEATS),  # suits a seat failed to follow: none in the hidden part of its hand
        ("opened", np.int16),  # seats that played their first card of the deal, a bit each
        ("score", np.int16, 2),
        ("deal_points", np.int16, 2),  # result of this deal so far, napoletane included
        ("reward", np.int16, 2),  # of the last step, by side
        ("over", np.int16),
        ("winner", np.int16),
        ("sheet_points", np.int16, 2),  # last_deal
        ("sheet_thirds", np.int16, 2),
        ("sheet_last_trick", np.int16),
        ("register_size", np.int16),
        ("last_register_size", np.int16),
        ("players", np.int16),  # options from here
        ("hand_size", np.int16),
        ("deck_size", np.int16),
        ("target", np.int16),
        ("napoletana", np.int16),
        ("single_deal", np.int16),  # episode="deal"
        ("points_reward", np.int16),  # reward="points"
        ("deck", np.uint8, 40),
        ("register", np.uint8, REGISTER_SIZE),
        ("last_register", np.uint8, REGISTER_SIZE),
    ],
    align=True,
)
