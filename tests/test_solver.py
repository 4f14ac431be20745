"""The exact solver of two-player Tressette endings: against brute force, against itself, and on endings from the engine."""

import dataclasses
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from settebello.batch import BatchEnv
from settebello.cards import NUM_CARDS, cards_in, mask_of, parse_card
from settebello.errors import OptionError
from settebello.jit import kernel
from settebello.tressette.rules import WORTH, step
from settebello.tressette.solver import LAST_TRICK, Ending, ending_value, ending_values, new_table, solve, solve_batch
from tests.reference.endings import EndingReference

Array = np.ndarray[Any, Any]
Position = tuple[list[list[int]], int, int | None, tuple[int, int]]

SHARED = new_table()


def cards(text: str) -> list[int]:
    """Card indices of short text forms."""
    return [parse_card(part) for part in text.split()]


def random_position(rng: random.Random, size: int, deck: Sequence[int] = range(NUM_CARDS)) -> Position:
    """Hands of up to ``size`` cards of a deck, half of the time with a card led, and thirds that the rest allows."""
    drawn = rng.sample(list(deck), 2 * size)
    hands, leader = [drawn[:size], drawn[size:]], rng.randrange(2)
    spare = 32 - int(WORTH[drawn].sum())
    first = rng.randint(0, spare)
    led_card = hands[leader].pop() if rng.random() < 0.5 else None
    return hands, leader, led_card, (first, rng.choice([spare - first, rng.randint(0, spare - first)]))


def brute_force(position: Position) -> Ending:
    """The ending by trying everything."""
    hands, leader, led_card, thirds = position
    seat = leader if led_card is None else 1 - leader
    results = EndingReference().results(hands, leader, led_card, thirds)
    lead = max(points[seat] - points[1 - seat] for points in results.values())
    best = [card for card, points in results.items() if points[seat] - points[1 - seat] == lead]
    return Ending(results[best[0]], tuple(sorted(best)))


def solved(position: Position, table: Array | None = None) -> Ending:
    """The ending by the solver."""
    hands, leader, led_card, thirds = position
    return solve(hands, leader, led_card=led_card, thirds=thirds, table=table)


@kernel
def values_of(states: Any, table: Any, finals: Any, values: Any) -> None:
    """``ending_value`` and ``ending_values`` of each record."""
    for i in range(len(states)):
        finals[i] = ending_value(states[i], table)
        ending_values(states[i], table, values[i])


@kernel
def play(states: Any, actions: Any) -> None:
    """One move in each record."""
    for i in range(len(states)):
        step(states[i], actions[i])


def evaluate(states: Array, table: Array) -> tuple[Array, Array]:
    """Final thirds of each record, and after each card."""
    finals, values = np.zeros(len(states), np.int64), np.zeros((len(states), NUM_CARDS), np.int64)
    values_of(states, table, finals, values)
    return finals, values


def engine_endings(number: int, seed: int, **options: Any) -> Array:
    """Records of games played at random until the stock is empty."""
    env = BatchEnv("tressette-2p", number, seed=seed, **options)
    rng = np.random.default_rng(seed)
    while (env._states["stock_start"] < env._states["deck_size"]).any():
        env.step((rng.random(env.action_mask.shape) * env.action_mask).argmax(1))
    return env._states.copy()


def rows_of(states: Array) -> tuple[Array, Array, Array]:
    """Hands, leaders and thirds of records as ``solve_batch`` wants them."""
    return states["hand"][:, :2].copy(), states["turn"].astype(np.int64), states["thirds"].astype(np.int64)


# --- by hand -------------------------------------------------------------------------------------------------------------

CASES = [
    # The last trick: the point for it, and the ace that falls.
    ("Ad", "2d", 0, None, (0, 0), Ending((0, 2), (0,))),
    ("Ad", "2c", 0, None, (0, 0), Ending((2, 0), (0,))),
    ("4d", "3c", 0, None, (13, 18), Ending((5, 6), (3,))),
    ("4d", "3d", 1, None, (13, 18), Ending((4, 7), (2,))),
    # RULES 13 thirds are 4 points: 12 taken and one figure more; 19 with what is left, and the last trick.
    ("Rd", "4c", 0, None, (18, 13), Ending((7, 4), (9,))),
    # A card led that nobody in the other hand can follow wins; which card is thrown matters for the last trick.
    ("3d", "Ac 4c", 0, parse_card("7s"), (0, 0), Ending((2, 0), (10, 13))),
    ("4c", "Ac 4d", 0, parse_card("7s"), (0, 0), Ending((0, 2), (3,))),
    # Follow suit: the ace must fall under the two.
    ("3c", "Ad 3s", 0, parse_card("2d"), (0, 0), Ending((3, 0), (0,))),
    # The 3 draws the 2, and then the ace is safe for the last trick.
    ("3d Ad", "2d 4c", 0, None, (0, 0), Ending((2, 0), (2,))),
    ("Rd 4d", "3d Ac", 0, None, (0, 0), Ending((0, 2), (3, 9))),
    # The fraction decides: one third more makes no point here, so both cards are as good ...
    ("3d 4c", "4s 5s", 0, None, (0, 0), Ending((1, 0), (2, 13))),
    # ... and the follower's third counts when the fraction is the other side's.
    ("4d", "Fd 2d", 0, parse_card("5d"), (0, 2), Ending((0, 2), (1, 7))),
]


@pytest.mark.nojit
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} - {case[1]}")
def test_cases_by_hand(case: tuple[str, str, int, int | None, tuple[int, int], Ending]) -> None:
    first, second, leader, led_card, thirds, ending = case
    position = ([cards(first), cards(second)], leader, led_card, thirds)
    assert brute_force(position) == ending
    assert solved(position, SHARED) == ending


# --- against brute force -------------------------------------------------------------------------------------------------

SMALL_DECK = cards("3d 2d Ad Rd Cd 7d 3c 2c Ac Rc 6c 5c 4c As")


@pytest.mark.parametrize(("size", "number"), [(1, 60), (2, 200), (3, 200), (4, 100), (5, 30), (6, 5)])
def test_brute_force(size: int, number: int) -> None:
    rng = random.Random(size)
    for _ in range(number):
        position = random_position(rng, size, rng.choice([range(NUM_CARDS), SMALL_DECK, range(20)]))
        assert solved(position, SHARED) == brute_force(position), position


@pytest.mark.long
def test_brute_force_more() -> None:
    rng = random.Random(0)
    for number in range(3000):
        size = rng.choice([3, 4, 4, 5, 5, 5, 6])
        position = random_position(rng, size, rng.choice([range(NUM_CARDS), SMALL_DECK, range(20)]))
        assert solved(position, SHARED) == brute_force(position), (number, position)


@pytest.mark.nojit
@pytest.mark.parametrize("size", [2, 3])
def test_brute_force_small(size: int) -> None:
    rng = random.Random(-size)
    for _ in range(15):
        position = random_position(rng, size)
        assert solved(position, SHARED) == brute_force(position), position


# --- against itself ------------------------------------------------------------------------------------------------------


def check_shared_table(number: int, fresh_every: int) -> None:
    """Endings of ten cards through one table, again in another order, and with fresh tables."""
    hands, leaders, thirds = rows_of(engine_endings(number, seed=1))
    table = new_table()
    points, best = solve_batch(hands, leaders, thirds, table)
    assert (points.sum(axis=1) == 11).all()
    order = np.random.default_rng(2).permutation(number)
    again = solve_batch(hands[order], leaders[order], thirds[order], table)
    np.testing.assert_array_equal(again[0], points[order])
    np.testing.assert_array_equal(again[1], best[order])
    for i in range(0, number, fresh_every):
        fresh = solve_batch(hands[i : i + 1], leaders[i : i + 1], thirds[i : i + 1], new_table())
        np.testing.assert_array_equal(fresh[0][0], points[i])
        assert fresh[1][0] == best[i]


def test_a_shared_table_changes_nothing() -> None:
    check_shared_table(600, 2)


def check_permuted_suits(number: int) -> None:
    """Suits are alike: with their names changed the points stay, and the best cards change names with them."""
    hands, leaders, thirds = rows_of(engine_endings(number, seed=3))
    points, best = solve_batch(hands, leaders, thirds, SHARED)
    rng = np.random.default_rng(4)
    renamed = np.zeros_like(hands)
    suits = [rng.permutation(4) for _ in range(number)]
    for i in range(number):
        for seat in (0, 1):
            renamed[i, seat] = mask_of(10 * suits[i][card // 10] + card % 10 for card in cards_in(hands[i, seat]))
    new_points, new_best = solve_batch(renamed, leaders, thirds, SHARED)
    np.testing.assert_array_equal(new_points, points)
    for i in range(number):
        assert new_best[i] == mask_of(10 * suits[i][card // 10] + card % 10 for card in cards_in(best[i]))


def test_suits_are_alike() -> None:
    check_permuted_suits(300)


def check_one_move_on(states: Array, table: Array) -> None:
    """The value of a position is the best value after a legal card, and the values after the cards are those of the records."""
    finals, values = evaluate(states, table)
    total = states["thirds"].sum(axis=1) + LAST_TRICK
    in_play = states["hand"][:, 0] | states["hand"][:, 1]
    in_play[states["trick_size"] == 1] |= 1 << states["trick"][states["trick_size"] == 1, 0].astype(np.int64)
    total += (in_play[:, None] >> np.arange(NUM_CARDS) & 1) @ WORTH
    legal = states["legal"][:, None] >> np.arange(NUM_CARDS) & 1 == 1
    np.testing.assert_array_equal(values >= 0, legal)
    np.testing.assert_array_equal(values.max(axis=1), finals)
    rows, actions = np.nonzero(legal)
    after = states[rows].copy()
    play(after, actions)
    going = (after["trick_size"] == 1) | (after["hand"][:, 0] != 0)
    going &= after["deal_number"] == states["deal_number"][rows]
    found, _ = evaluate(after[going], table)
    rows, actions = rows[going], actions[going]
    same_seat = after["turn"][going] == states["turn"][rows]
    expected, whole = values[rows, actions], total[rows]
    own = np.where(same_seat, found, whole - found)
    np.testing.assert_array_equal(expected // 3, np.where(same_seat, found // 3, (whole - found) // 3))
    np.testing.assert_array_equal((whole - expected) // 3, np.where(same_seat, (whole - found) // 3, found // 3))
    assert (np.abs(own - expected) < 3).all()


@pytest.mark.parametrize("moves", [0, 1, 2, 5, 8, 13, 18])
def test_one_move_on(moves: int) -> None:
    states = engine_endings(60, seed=5, episode="deal")
    rng = np.random.default_rng(6)
    for _ in range(moves):
        legal = states["legal"][:, None] >> np.arange(NUM_CARDS) & 1
        play(states, (rng.random(legal.shape) * legal).argmax(axis=1))
    before = states.tobytes()
    check_one_move_on(states, SHARED)
    assert states.tobytes() == before


def test_small_decks_of_the_engine() -> None:
    deck = cards("3d 2d Ad Rd 7d 4d 3c 2c Ac Fc 6c 5c As Rs")
    states = engine_endings(100, seed=7, episode="deal", deck_cards=deck, hand_size=5)
    check_one_move_on(states, SHARED)
    finals, _ = evaluate(states, SHARED)
    for i in range(20):
        turn = int(states["turn"][i])
        hands = [cards_in(states["hand"][i, seat]) for seat in (0, 1)]
        ending = brute_force((hands, turn, None, tuple(states["thirds"][i].tolist())))
        assert finals[i] // 3 == ending.points[turn]


def play_out(states: Array, table: Array) -> Array:
    """Points by side when both play their best cards to the end."""
    while not states["over"].all():
        _, values = evaluate(states, table)
        play(states, values.argmax(axis=1))
    return states["sheet_points"].astype(np.int64)


def test_best_play_gets_what_was_promised() -> None:
    states = engine_endings(100, seed=8, episode="deal")
    points, _ = solve_batch(*rows_of(states), SHARED)
    np.testing.assert_array_equal(play_out(states, SHARED), points)


@pytest.mark.long
def test_ten_thousand_endings() -> None:
    check_shared_table(10_000, 1)
    check_permuted_suits(10_000)
    check_one_move_on(engine_endings(1000, seed=9, episode="deal"), new_table())


# --- the ways in ---------------------------------------------------------------------------------------------------------


def test_solve_and_solve_batch_agree() -> None:
    hands, leaders, thirds = rows_of(engine_endings(40, seed=10))
    points, best = solve_batch(hands, leaders, thirds)
    assert points.dtype == best.dtype == np.int64
    for i in range(len(hands)):
        ending = solve([cards_in(hand) for hand in hands[i]], int(leaders[i]), thirds=thirds[i], table=SHARED)
        assert ending == Ending(tuple(points[i].tolist()), tuple(cards_in(best[i])))
        assert all(type(number) is int for number in ending.points + ending.best)
    without, _ = solve_batch(hands[:1], leaders[:1])
    assert solve([cards_in(hand) for hand in hands[0]], leaders[0]).points == tuple(without[0].tolist())
    with pytest.raises(dataclasses.FrozenInstanceError):
        ending.best = ()  # type: ignore[misc]


def test_any_collection_of_cards() -> None:
    expected = solve([[0, 11], [2, 13]], 0)
    assert solve(({11, 0}, np.array([13, 2])), np.int64(0), thirds=np.array([0, 0])) == expected
    assert solve_batch(np.array([[1 | 1 << 11, 1 << 2 | 1 << 13]], np.uint64), [0])[0].tolist() == [list(expected.points)]


def test_an_empty_batch() -> None:
    points, best = solve_batch(np.zeros((0, 2), np.int64), np.zeros(0, np.int64))
    assert points.shape == (0, 2) and best.shape == (0,)


@pytest.mark.parametrize(
    ("hands", "leader", "options", "message"),
    [
        ([[0], [40]], 0, {}, r"hands\[1\]\[0\]=40: expected a whole number from 0 to 39"),
        ([[0.0], [1]], 0, {}, r"hands\[0\]\[0\]=0.0: expected a whole number"),
        ([[0, 0], [1, 2]], 0, {}, r"hands\[0\]: Ad listed twice"),
        ([[0, 1], [1, 2]], 0, {}, "hands: 2d in both"),
        ([[0, 1], [2]], 0, {}, "hands: 2 and 1 cards; expected as many in each, 1 to 10"),
        ([[], []], 0, {}, "hands: 0 and 0 cards"),
        ([range(11), range(11, 22)], 0, {}, r"hands\[0\]: 11 cards; expected at most 10"),
        ([range(10), range(10, 20)], 0, {"led_card": 20}, "hands: 11 and 10 cards; expected .* the card led counted in hands"),
        ([[0, 1], [2]], 0, {"led_card": 3}, "hands: 3 and 1 cards"),
        ([[0], [2]], 0, {"led_card": 3}, "hands: 2 and 1 cards"),
        ([[0], [2, 3]], 0, {"led_card": 0}, r"led_card=0: still in hands\[0\]"),
        ([[0], [2, 3]], 0, {"led_card": 2}, "hands: 3d in both"),
        ([[0], [2, 3]], 0, {"led_card": -1}, "led_card=-1: expected a whole number from 0 to 39"),
        ([[0], [2]], 2, {}, "leader=2: expected a whole number from 0 to 1"),
        ([[0], [2]], True, {}, "leader=True"),
        ([[0], [2]], 0, {"thirds": (0, 33)}, r"thirds\[1\]=33: expected a whole number from 0 to 32"),
        ([[0], [2]], 0, {"thirds": (15, 14)}, r"thirds=\(15, 14\): with 4 in the hands more than the 32 of the deck"),
        ([[0], [2]], 0, {"thirds": (1, 2, 3)}, r"thirds=\(1, 2, 3\): expected two numbers"),
        ([[0], [2], [3]], 0, {}, "hands=.*: expected two hands"),
        ([0, 2], 0, {}, r"hands\[0\]=0: expected a collection of card indices"),
        (["Ad", "3d"], 0, {}, r"hands\[0\]='Ad': expected a collection"),
        (7, 0, {}, "hands=7: expected two hands"),
        ([[0], [2]], 0, {"table": np.zeros(7, np.int64)}, r"table: expected an array made by new_table\(\)"),
        ([[0], [2]], 0, {"table": np.zeros(SHARED.shape)}, "table: expected"),
        ([[0], [2]], 0, {"table": "none"}, "table: expected"),
    ],
)
def test_bad_endings(hands: Any, leader: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        solve(hands, leader, **options)


@pytest.mark.parametrize(
    ("hands", "leader", "thirds", "message"),
    [
        ([[1, 2], [3, 4]], [0, 0], None, r"hands\[1\]=\[3, 4\]: expected as many cards in each, 1 to 10"),
        ([[0, 0]], [0], None, r"hands\[0\]=\[0, 0\]: expected as many cards"),
        ([[2047, 2047 << 11]], [0], None, "expected as many cards in each, 1 to 10"),
        ([[1, 1]], [0], None, "expected no card in both"),
        ([[1, 1 << 40]], [0], None, r"hands\[0\]=.*: expected card sets, 0 to 1099511627775"),
        ([[-1, 1]], [0], None, "expected card sets"),
        ([[1.0, 2.0]], [0], None, "hands of dtype float64: expected integers"),
        ([[1, 2], [3]], [0, 0], None, "expected whole numbers"),
        ([1, 2], [0], None, r"hands of shape \(2,\): expected \(N, 2\)"),
        (5, [0], None, r"hands of shape \(\): expected \(N, 2\)"),
        ([[1, 2]], [0, 1], None, r"leader of shape \(2,\): expected \(1,\)"),
        ([[1, 2]], [2], None, r"leader\[0\]=2: expected 0 or 1"),
        ([[1, 2]], [0], [[-1, 0]], r"thirds\[0\]=\[-1, 0\]: expected two numbers from 0 on"),
        ([[1, 2]], [0], [[15, 14]], r"thirds\[0\]=\[15, 14\]"),
        ([[1, 2]], [0], [0, 0], r"thirds of shape \(2,\): expected \(1, 2\)"),
    ],
)
def test_bad_batches(hands: Any, leader: Any, thirds: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        solve_batch(hands, leader, thirds)


CHILD = """
from settebello.tressette.solver import solve, _search
print(solve([[0, 11, 22, 33], [2, 13, 24, 35]], 0), len(_search.stats.cache_hits), len(_search.stats.cache_misses))
"""


def test_a_second_process_runs_from_the_cache() -> None:
    # A kernel that calls itself can compile, run, and then crash every later process that loads it from the cache.
    expected = solve([[0, 11, 22, 33], [2, 13, 24, 35]], 0)  # in the cache from here on
    child_env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, check=False, env=child_env)
    assert child.returncode == 0, child.stderr
    assert child.stdout == f"{expected} 1 0\n"
