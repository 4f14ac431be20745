"""The easy and medium players of bazzica: legal, blind to what is hidden, and doing what players know."""

import math
from typing import Any

import numpy as np
import pytest

from settebello.arena import duel
from settebello.bazzica.heuristic import likely_values, medium_action
from settebello.bazzica.observe import unseen_cards
from settebello.bazzica.options import BazzicaOptions
from settebello.bazzica.rules import set_legal, step
from settebello.bazzica.state import DECLARATION_NAMES, HAND_SIZE, NUM_HANDS
from settebello.cards import mask_of, parse_card
from tests.info_tools import ask_level
from tests.worked_cases import action_index

OPTIONS: list[dict[str, Any]] = [
    {},
    {"low_sum_max": 9},
    {"low_sum_max": 30, "last_card_scopa": True},
    {"low_sum_max": 3, "declaration_points": dict.fromkeys(DECLARATION_NAMES, 0)},
    {"low_sum_max": 14, "declaration_points": {"pariglia": 9, "bazzicotto": 0}},
]


@pytest.mark.parametrize("level", ["easy", "medium"])
@pytest.mark.parametrize("options", OPTIONS)
def test_legal_repeatable_and_blind(level: str, options: dict[str, Any]) -> None:
    found = ask_level("bazzica", level, 300, 100, episode="deal", **options)
    assert found["asked"] > 10_000
    assert found["unlike random"] > 2000
    assert (found["illegal"], found["looked"]) == (0, 0)
    assert found["by chance"] == 0 or level == "easy"


@pytest.mark.nojit
@pytest.mark.parametrize("level", ["easy", "medium"])
def test_a_few_games_uncompiled(level: str) -> None:
    found = ask_level("bazzica", level, 2, 5, target=3)
    assert (found["illegal"], found["looked"]) == (0, 0)
    assert found["by chance"] == 0 or level == "easy"


# --- what it knows -----------------------------------------------------------------------------------------------------------


def position(
    hand: str,
    table: str,
    *,
    taken: tuple[str, str] = ("", ""),
    played: tuple[str, str] = ("", ""),
    declared: int = 0,
    known: str = "",
    jolly: tuple[int, int] = (0, 0),
    hand_number: int = 3,
    dealer: int = 1,
    **options: Any,
) -> Any:
    """A record with seat 0 to move: its hand, the table, what each seat took, what each played in this hand.

    declared, known: of the other seat. The other seat's hidden cards are the first ones left.
    """

    def cards(text: str) -> int:
        return mask_of(parse_card(word) for word in text.split())

    state = BazzicaOptions(episode="deal", **options).record()[0]
    state["hand_number"] = hand_number
    state["dealer"] = dealer
    state["hand"][0] = cards(hand)
    state["known"][1] = cards(known)
    state["table"] = cards(table)
    for seat in range(2):  # what was played in this hand was captured, unless it is still on the table
        state["taken"][seat] = (cards(taken[seat]) | cards(played[seat])) & ~cards(table)
    state["hand_played"] = cards(played[0]), cards(played[1])
    state["played"] = state["hand_played"]
    state["jolly"] = jolly
    state["declared"][1] = declared
    counts = 0
    for word in table.split():
        card = parse_card(word)
        value = {6: jolly[0], 9: jolly[1]}.get(card, 0) or card % 10 + 1
        counts += 1 << 4 * (value - 1)
    state["table_counts"] = counts
    unseen = int(unseen_cards(state, 0))
    hidden = HAND_SIZE - int(state["hand_played"][1]).bit_count() - int(state["known"][1]).bit_count()
    chosen = [card for card in range(40) if unseen >> card & 1][:hidden]
    state["hand"][1] = cards(known) | mask_of(chosen)
    set_legal(state)
    return state


def medium(state: Any) -> int:
    """The action of medium."""
    return int(medium_action(state, np.uint64(0)))


def everything_but(text: str) -> str:
    """All cards but these, as text."""
    kept = {parse_card(word) for word in text.split()}
    return " ".join("A234567FCR"[card % 10] + "dcsb"[card // 10] for card in range(40) if card not in kept)


@pytest.mark.parametrize(
    ("hand", "table", "wanted"),
    [
        ("7d 4c", "7s Fc", "7d"),  # settebello and a seven
        ("7c 4c", "7d 4s Fc", "7c"),  # settebello rather than two small cards
        ("Cd Cs", "Cc 2s", "Cd"),  # denari: the nine of denari takes the nine
        ("Fc Rc", "3s 5b", "Fc"),  # a scopa rather than nothing
        ("3c Rb", "6s As Rc", "3c"),  # most cards: 3 + 1 + 6 = 10
    ],
)
def test_takes_what_is_worth_most(hand: str, table: str, wanted: str) -> None:
    assert medium(position(hand, table, played=("2d", "5d"))) == action_index(wanted)


@pytest.mark.parametrize(("open_card", "closed_card"), [("4", "F"), ("2", "6"), ("C", "5")])
def test_leaves_what_the_other_cannot_sweep(open_card: str, closed_card: str) -> None:
    """The table is empty: it lays the card whose equals are all out."""
    out = " ".join(closed_card + suit for suit in "dsb")
    state = position(f"{open_card}c {closed_card}c", "", taken=(out, ""), played=("Ad", "3d"))
    assert medium(state) == action_index(closed_card + "c")


def test_counts_sweeping_by_subtraction() -> None:
    """A 9 is on the table: a 4 beside it is swept by a 5, a 6 by a 3, and all threes are out."""
    taken = "3d 3c 3s 3b Cd Cs Cb Rc Rs Rb 5d"
    state = position("4c 6c", "Cc", taken=(taken, ""), played=("Ad", "2d"))
    assert medium(state) == action_index("6c")


def test_the_last_hand_is_counted_exactly() -> None:
    """The other seat's last card is the 5, which would sweep the 9 and a 4 beside it."""
    kept = "4c 2c 5s Cc"
    state = position(
        "4c 2c", "Cc", taken=(everything_but(kept + " Ad 3d 3c"), ""), played=("Ad", "3d 3c"), hand_number=NUM_HANDS, dealer=0
    )
    assert int(state["hand"][1]) == mask_of([parse_card("5s")])
    assert medium(state) == action_index("2c")


def test_declares_when_it_pays() -> None:
    assert medium(position("4c 4s Rb", "2s")) == action_index("declare")
    nothing = {"declaration_points": {"pariglia": 0}}
    assert medium(position("4c 4s Rb", "2s", **nothing)) != action_index("declare")


@pytest.mark.parametrize(
    ("hand", "wanted"),
    [
        ("6c 6s 7d", {"baptise 7d 6"}),  # bazzicotto rather than pariglia
        ("3c 2s 7d", {"baptise 7d 2", "baptise 7d 3"}),  # pariglia meno di nove rather than meno di nove
        ("Ac Fs 7d", set()),  # nothing to be had
        ("4c 4s Rd", {"baptise Rd 4"}),
    ],
)
def test_baptises_for_the_best_declaration(hand: str, wanted: set[str]) -> None:
    state = position(hand, "Rs Rb")
    action = medium(state)
    if wanted:
        assert action in {action_index(text) for text in wanted}
        step(state, action)
        assert medium(state) == action_index("declare")
    else:
        assert action < 40


def test_a_baptism_may_be_worth_more_than_its_declaration() -> None:
    """As an ace settebello takes itself and all the table (9 = 8 + 1), and that is more than the better declaration."""
    assert medium(position("3c 2s 7d", "Cs Fb")) == action_index("baptise 7d 1")


def test_both_jollies_make_a_bazzicotto() -> None:
    state = position("7d Rd Ac", "Rs Rb")
    for _ in range(2):
        action = medium(state)
        assert action in {action_index("baptise 7d 1"), action_index("baptise Rd 1")}
        step(state, action)
    assert medium(state) == action_index("declare")


def test_picks_the_better_of_equal_cards() -> None:
    state = position("4c As", "4d 4s 4b", played=("Ad", "2d"))
    assert medium(state) == action_index("4c")
    step(state, action_index("4c"))
    assert medium(state) == action_index("pick 4d")


def test_picks_the_better_set() -> None:
    """7 takes 2+5 or 3+4: the denari decide."""
    state = position("7c Fs", "2s 3d 4d 5s", played=("Ad", "2d"))
    step(state, action_index("7c"))
    assert medium(state) in {action_index("pick 3d"), action_index("pick 4d")}


def values_held(state: Any) -> set[int]:
    """Values that the other seat may still hold hidden, as medium sees it."""
    likely = int(likely_values(state, np.int64(0), unseen_cards(state, np.int64(0))))
    return {value for value in range(1, 11) if likely >> 6 * (value - 1) & 63}


def test_reads_the_other_declaration() -> None:
    everything = set(range(1, 11))
    pariglia, low, low_pair, bazzicotto = range(1, 5)
    hand = {"hand": "6c Fc", "table": "Rs"}
    assert values_held(position(**hand, played=("Ad", "3d"))) == everything
    assert values_held(position(**hand, played=("Ad", "3d"), declared=low)) == {1, 2, 4}  # others, 8 - 3 - 1 at most
    assert values_held(position(**hand, played=("Ad", "3d"), declared=low_pair)) == {1, 2, 3, 4}
    assert values_held(position(**hand, played=("Ad", "3d"), declared=bazzicotto)) == {3}
    assert values_held(position("6c", "Rs", played=("Ad Ac", "3d 2c"), declared=low)) == {1}
    assert values_held(position("6c", "Rs", played=("Ad Ac", "3d 2c"), declared=low_pair)) == {2, 3}
    assert values_held(position("6c", "Rs", played=("Ad Ac", "3d Fd"), declared=pariglia)) == {3, 8}
    assert values_held(position("6c", "Rs", played=("Ad Ac", "3d 3c"), declared=pariglia)) == everything - {3}
    known = {"known": "7d", "jolly": (2, 0)}
    assert values_held(position("6c", "Rs", played=("Ad Ac", "3d"), declared=low, **known)) == {1}


def test_reads_the_declaration_before_it_plays() -> None:
    """The other seat showed a bazzicotto and played an 8: it holds two more, so the 8 stays in hand."""
    taken = "2d 2s 2b"
    state = position("Fc 2c", "", taken=(taken, ""), played=("Ad", "Fd"), declared=4)
    assert medium(state) == action_index("2c")


# --- how well they play ------------------------------------------------------------------------------------------------------


def interval(first: str, second: str) -> tuple[float, float]:
    """99.9% interval of the points per deal, of 3000 mirrored deals."""
    result = duel("bazzica", first, second, 3000, 1)
    margin = 3.29 * result.std / math.sqrt(result.deals)
    return result.points_per_deal - margin, result.points_per_deal + margin


def test_levels_are_in_order() -> None:
    assert interval("medium", "random")[0] > 6.0
    low, high = interval("easy", "random")
    assert low > 2.5
    assert high < 4.5
    assert interval("medium", "easy")[0] > 2.5
