"""The rule-of-thumb opponents of Tressette: legal, blind to what is hidden, repeatable, as strong as they claim, and wise."""

import math
from typing import Any

import numpy as np
import pytest

from settebello import tressette_v0
from settebello.arena import duel
from settebello.cards import NUM_CARDS, card_text, parse_card
from settebello.tressette.heuristic import SITUATIONS, TERMS, WEIGHTS, medium_action
from tests.info_tools import SMALL_DECK, SMALL_DECK_4P, ask_level

# Without compilation NumPy says that the random stream's 64-bit words wrap around, as they are to.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in scalar:RuntimeWarning")

OPTIONS: list[tuple[int, dict[str, Any]]] = [
    (2, {"target": 21}),
    (2, {"target": 21, "napoletana": True}),
    (2, {"target": 31, "napoletana": True, "hand_size": 7}),
    (2, {"target": 11, "hand_size": 20}),
    (2, {"target": 5, "hand_size": 1}),
    (2, {"target": 5, "napoletana": True, "deck_cards": SMALL_DECK, "hand_size": 3}),
    (4, {"target": 21}),
    (4, {"target": 21, "napoletana": True}),
    (4, {"target": 5, "napoletana": True, "deck_cards": SMALL_DECK_4P, "hand_size": 4}),
    (4, {"target": 3, "deck_cards": SMALL_DECK, "hand_size": 3}),
]


@pytest.mark.parametrize("level", ["easy", "medium"])
@pytest.mark.parametrize(("players", "options"), OPTIONS)
def test_cards_are_legal_and_chosen_by_what_the_seat_knows(players: int, options: dict[str, Any], level: str) -> None:
    found = ask_level(f"tressette-{players}p", level, 150, 11, **options)
    assert found["asked"] > 800
    assert (found["illegal"], found["looked"]) == (0, 0)
    if level == "medium":
        assert found["by chance"] == 0
    elif options.get("hand_size", 10) > 1:
        assert found["by chance"] > found["asked"] // 100  # its slips


@pytest.mark.nojit
@pytest.mark.parametrize("level", ["easy", "medium"])
@pytest.mark.parametrize("players", [2, 4])
def test_uncompiled(players: int, level: str) -> None:
    options = {"napoletana": True, "episode": "deal"} | ({} if players == 2 else {"deck_cards": SMALL_DECK_4P, "hand_size": 4})
    found = ask_level(f"tressette-{players}p", level, 2, 5, **options)
    assert found["asked"] >= 32
    assert (found["illegal"], found["looked"]) == (0, 0)
    assert found["by chance"] == 0 or level == "easy"


@pytest.mark.parametrize("players", [2, 4])
@pytest.mark.parametrize(
    ("one", "other", "least"), [("easy", "random", 1.5), ("medium", "easy", 2.0), ("medium", "random", 4.5)]
)
def test_strength(players: int, one: str, other: str, least: float) -> None:
    result = duel(f"tressette-{players}p", one, other, 3000, 1)
    assert result.points_per_deal - 3 * result.std / math.sqrt(result.deals) > least


def test_weights_are_complete() -> None:
    assert WEIGHTS.shape == (SITUATIONS, TERMS)


def medium(players: int, hands: list[str], plays: str, leader: int = 0) -> str:
    """What the club player plays in a position.

    Args:
        players: at the table.
        hands: of the seats, seat 0 first. Where one is of ten cards all others are filled up to ten with the cards left
            over; otherwise the game has no more cards.
        plays: cards played so far.
        leader: seat that led the first of them.
    """
    dealt = [[parse_card(text) for text in hand.split()] for hand in hands]
    size = max(len(hand) for hand in dealt)
    left = [card for card in range(NUM_CARDS) if card not in {card for hand in dealt for card in hand}] if size == 10 else []
    for hand in dealt:
        while len(hand) < size:
            hand.append(left.pop())
    deck = [card for k in range(players) for card in dealt[(leader + k) % players]] + left
    env = tressette_v0.env(players=players, deck_cards=deck, hand_size=size)
    env.reset(seed=1, options={"deck": deck, "dealer": (leader - 1) % players})
    for text in plays.split():
        env.step(parse_card(text))
    seat = env.possible_agents.index(env.agent_selection)
    record = env.unwrapped.information(seat)._record
    return card_text(int(medium_action(record[0], np.uint64(1))))


FILLER = "7d 6d 5d 7s 6s 5s 7b 6b 5b"  # cards without worth; seat and suits do not matter where these are used

# What it is, seats at the table, hands, plays, the card expected.
POSITIONS: list[tuple[str, int, list[str], str, str]] = [
    ("aces stay while 3 and 2 are out: leads a figure", 4, ["Ad Rd Cd Ac 6c 5c As 6s 5s 4b", "", "", ""], "", "Cd"),
    ("aces stay while 3 and 2 are out: leads small", 4, ["Ad 7d 4d Fc 7c 5c Cs 6s 7b 4b", "", "", ""], "", "4d"),
    ("two players: leads small", 2, ["Ad 7d 4d Fc 7c 5c Cs 6s 7b 4b", ""], "", "5c"),
    ("leads the sure winners of its long suit", 4, ["Ad 2d 3d Rd 6c 5c 7s 6s 5s 4b", "", "", ""], "", "3d"),
    ("loads the partner's sure trick", 4, ["3c", "5c", "Ac 4c Fc 7d 7s 6s 5s 5b 6b 7b", "6c"], "3c 5c", "Ac"),
    ("loads it from another suit too", 4, ["3c", "5c", "Ad 7d 5d Fb 7s 6s 5s 5b 6b 7b", "6c"], "3c 5c", "Ad"),
    ("loads the partner's trick as last", 4, ["4c", "3c", "5c", f"Ac Fc 6c {FILLER[:20]}"], "4c 3c 5c", "Ac"),
    ("takes as last with the ace", 4, ["Fc", "6c", "Cc", f"Ac 2c 5c 4c {FILLER[:17]}"], "Fc 6c Cc", "Ac"),
    ("two players: takes with the ace", 2, ["5c", "Ac 3c 4c 7d 6d 5d 7s 6s 5s 4s"], "5c", "Ac"),
    ("two players: takes with the cheapest", 2, ["Fc", "Cc Rc 3c 4c 7d 6d 5d 7s 6s 5s"], "Fc", "Cc"),
    ("throws small where it cannot take", 4, ["3c", f"Ac Fc 4c {FILLER[:20]}", "5c", ""], "3c", "4c"),
    ("throws small where it cannot take, as last", 4, ["4c", "5c", "3c", f"Ac Fc 6c {FILLER[:20]}"], "4c 5c 3c", "6c"),
    ("two players: throws small", 2, ["3c", "Ac Fc 4c 7d 6d 5d 7s 6s 5s 4s"], "3c", "4c"),
    ("keeps the guards of its aces", 4, ["3c", "Ad 5d As 4s 7b 6b 5b 4b Fb Cb", "5c", ""], "3c", "4b"),
]


@pytest.mark.parametrize(
    ("players", "hands", "plays", "card"), [row[1:] for row in POSITIONS], ids=[row[0] for row in POSITIONS]
)
def test_what_every_club_player_knows(players: int, hands: list[str], plays: str, card: str) -> None:
    assert medium(players, hands, plays) == card


def test_returns_the_partners_lead() -> None:
    hands = ["4c", "5c", "3c 7c Fc Cs 7s Fs 3d 5d 6d 4b", "6c"]
    assert medium(4, hands, "4c 5c 3c 6c") == "7c"  # seat 0, the partner, led coppe
    assert medium(4, hands, "5c 3c 6c 4c", leader=1) == "7s"  # a rival did


def test_reads_who_is_void() -> None:
    mine = "7c 5s Ac Rc 7d 6d 7b 6b Fb Cb"
    hands = ["5c 6c 3s", "4c Fc 4s", mine, "4d 6s 7s Fs Cs 5d Fd Cd 4b 5b"]
    assert medium(4, hands, "5c 4c 7c 4d 5s 6s 3s 4s 6c Fc") == "Ac"  # the last to play failed to follow coppe
    hands = ["5c 6c 3s", "4c Fc 4s", mine, "3c 6s 7s Fs Cs 5d Fd Cd 4b 5b"]
    assert medium(4, hands, "5c 4c 7c 3c 6s 3s 4s 5s 6c Fc") == "Rc"  # it may hold the 2


def test_keeps_a_strong_card_for_the_last_trick() -> None:
    assert medium(4, ["Fc 4s", "3d 4d", "5c 5s", "6c 6s"], "Fc") == "4d"
    assert medium(2, ["3d 4c 5c", "Ad 6c Fs"], "") == "4c"
