"""The open-hands solver against brute force, against itself, and against the engine's steps."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from settebello.batch import BatchEnv
from settebello.cards import NUM_CARDS, cards_in, mask_of, parse_card
from settebello.errors import OptionError
from settebello.tressette import open_hands
from settebello.tressette.open_hands import OpenHands, new_table, open_value, open_values, solve_open
from settebello.tressette.rules import WORTH
from settebello.tressette.state import STATE_DTYPE
from tests.reference import open_hands as reference

Hands = list[list[int]]

# Without compilation NumPy says that the random stream's 64-bit words wrap around, as they are to.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in scalar:RuntimeWarning")


def cards(text: str) -> list[int]:
    return [parse_card(name) for name in text.split()]


def random_deal(rng: np.random.Generator, size: int) -> Hands:
    """Four hands; one deal in three is of few suits or ranks, so that long suits and empty ones are common."""
    deck = rng.permutation(NUM_CARDS)
    kind = rng.integers(6)
    if kind == 0 and size <= 5:
        deck = deck[deck < 20]
    elif kind == 1 and size <= 4:
        deck = deck[np.isin(deck % 10, [0, 1, 2, 9])]
    return [sorted(int(card) for card in deck[k * size : (k + 1) * size]) for k in range(4)]


def random_position(rng: np.random.Generator, size: int) -> tuple[Hands, int, list[int], list[int]]:
    """Hands, leader, trick and thirds: up to three cards of the first trick are on the table."""
    hands = random_deal(rng, size)
    leader = int(rng.integers(4))
    trick: list[int] = []
    for k in range(rng.integers(4) if rng.integers(2) else 0):
        hand = hands[(leader + k) % 4]
        legal = [card for card in hand if trick and card // 10 == trick[0] // 10] or hand
        trick.append(legal[rng.integers(len(legal))])
        hand.remove(trick[-1])
    left = 32 - int(WORTH[sum(hands, trick)].sum())
    first = int(rng.integers(left + 1))
    return hands, leader, trick, [first, int(rng.integers(left - first + 1))]


def expected(hands: Hands, leader: int, trick: list[int], thirds: list[int]) -> tuple[OpenHands, dict[int, int]]:
    """What brute force finds, and the points of the side to move by card."""
    values = reference.final_thirds(hands, leader, trick, thirds)
    reference.forget()
    side = (leader + len(trick)) % 2
    most = max(values.values())
    rest = sum(thirds) + int(WORTH[sum(hands, trick)].sum()) + 3 - most
    points = (most // 3, rest // 3)
    best = tuple(card for card in sorted(values) if values[card] // 3 == most // 3)
    return OpenHands(points if side == 0 else points[::-1], best), {card: value // 3 for card, value in values.items()}


def state_of(hands: Hands, leader: int, trick: list[int], thirds: list[int]) -> Any:
    """An array of one record with what a solver looks at."""
    states = np.zeros(1, STATE_DTYPE)
    state = states[0]
    state["players"] = 4
    for seat in range(4):
        state["hand"][seat] = mask_of(hands[seat])
    state["turn"] = (leader + len(trick)) % 4
    state["leader"] = leader
    state["trick_size"] = len(trick)
    state["trick"][: len(trick)] = trick
    state["thirds"] = thirds
    if trick:
        in_suit = [k for k in range(len(trick)) if trick[k] // 10 == trick[0] // 10]
        best = max(in_suit, key=lambda k: "4567FCRA23".index("A234567FCR"[trick[k] % 10]))
        state["best_seat"] = (leader + best) % 4
        state["best_card"] = trick[best]
    return states


def points_by_card(states: Any, table: Any) -> dict[int, int]:
    """What ``open_values`` writes, as points of the legal cards; the record must stay as it was."""
    values = np.full(NUM_CARDS, -7, np.int64)
    before = states.tobytes()
    open_values(states[0], table, values)
    value = open_value(states[0], table)
    assert states.tobytes() == before
    assert value == values.max() and ((values == -1) | (values % 3 == 0) & (values >= 0)).all()
    return {card: int(values[card]) // 3 for card in range(NUM_CARDS) if values[card] >= 0}


def compare_with_brute_force(seed: int, size: int, count: int) -> None:
    rng = np.random.default_rng([seed, size])
    table = new_table()
    for _ in range(count):
        position = random_position(rng, size)
        solution, points = expected(*position)
        hands, leader, trick, thirds = position
        assert solve_open(hands, leader, trick=trick, thirds=thirds, table=table) == solution, position
        assert points_by_card(state_of(*position), table) == points, position


@pytest.mark.parametrize(("size", "count"), [(1, 60), (2, 200), (3, 150), (4, 25)])
def test_brute_force_agrees(size: int, count: int) -> None:
    compare_with_brute_force(1, size, count)


@pytest.mark.nojit
def test_brute_force_agrees_uncompiled() -> None:
    for size in (1, 2, 3):
        compare_with_brute_force(2, size, 6)


@pytest.mark.long
@pytest.mark.parametrize("shard", range(8))
def test_brute_force_agrees_long(shard: int) -> None:
    for size, count in ((2, 3000), (3, 1500), (4, 250), (5, 4)):
        compare_with_brute_force(10 + shard, size, count)


def compare_tables(seed: int, size: int, count: int, shared: Any) -> None:
    """Values with a table that other deals have filled are those with a fresh one."""
    rng = np.random.default_rng([seed, size])
    for _ in range(count):
        hands, leader, trick, thirds = random_position(rng, size)
        states = state_of(hands, leader, trick, thirds)
        assert points_by_card(states, shared) == points_by_card(states, new_table())
        assert solve_open(hands, leader, trick=trick, thirds=thirds, table=shared) == solve_open(
            hands, leader, trick=trick, thirds=thirds
        )


def test_a_table_is_shared() -> None:
    shared = new_table()
    for size, count in ((6, 150), (7, 60), (8, 15), (3, 100)):
        compare_tables(3, size, count, shared)
    assert np.count_nonzero(shared) > len(shared) / 4


@pytest.mark.long
def test_a_table_is_shared_long() -> None:
    shared = new_table()
    for size, count in ((8, 400), (9, 60), (10, 10), (7, 1000), (6, 2000), (4, 3000)):
        compare_tables(4, size, count, shared)


def test_suits_and_seats_are_alike() -> None:
    """Other suits change nothing but the names of the cards, one seat on turns the sides around, and two seats nothing."""
    rng = np.random.default_rng(5)
    table = new_table()
    for _ in range(60):
        hands, leader, trick, thirds = random_position(rng, int(rng.integers(4, 7)))
        solution = solve_open(hands, leader, trick=trick, thirds=thirds, table=table)
        suits = [int(suit) for suit in rng.permutation(4)]
        other = [[suits[card // 10] * 10 + card % 10 for card in hand] for hand in [*hands, trick, solution.best]]
        renamed = solve_open(other[:4], leader, trick=other[4], thirds=thirds, table=table)
        assert renamed == OpenHands(solution.points, tuple(sorted(other[5])))
        for turn in (1, 2):
            moved = solve_open(
                [hands[(seat - turn) % 4] for seat in range(4)],
                (leader + turn) % 4,
                trick=trick,
                thirds=thirds if turn == 2 else thirds[::-1],
                table=table,
            )
            assert moved == OpenHands(solution.points if turn == 2 else solution.points[::-1], solution.best)


def engine_positions(seed: int, most_cards: int, count: int) -> Any:
    """Arrays of one record each, met in random play of the real engine: the last tricks of deals."""
    env = BatchEnv("tressette-4p", num_envs=16, seed=seed, target=100)
    rng = np.random.default_rng(seed)
    found = 0
    while found < count:
        for state in env._states:
            left = len(cards_in(state["hand"][state["turn"]]))
            if found < count and left <= most_cards and rng.random() < 0.3:
                found += 1
                yield np.array([state])
        env.step(np.array([rng.choice(cards_in(state["legal"])) for state in env._states]))


def test_values_fit_the_steps_of_the_engine() -> None:
    """The value of a position is the best of those its cards lead to; the last card of a deal gives what is counted."""
    table = new_table()
    env = BatchEnv("tressette-4p", num_envs=1, seed=0, target=100)
    after = env._states[0]
    counted = 0
    for states in engine_positions(6, 6, 250):
        state = states[0]
        side = int(state["turn"]) % 2
        points = points_by_card(states, table)
        assert sorted(points) == cards_in(state["legal"])
        for card, value in points.items():
            env._states[0] = state
            _, dones = env.step([card])
            if dones[0]:
                continue
            if after["deal_number"] != state["deal_number"]:
                counted += 1
                assert value == after["sheet_points"][side]
            else:
                child = open_value(after, table) // 3
                assert value == (child if after["turn"] % 2 == side else 11 - child)
    assert counted > 5


def test_python_and_kernel_agree_on_positions_of_the_engine() -> None:
    table = new_table()
    for states in engine_positions(7, 7, 60):
        state = states[0]
        size = int(state["trick_size"])
        solution = solve_open(
            [cards_in(hand) for hand in state["hand"]],
            int(state["leader"]),
            trick=[int(card) for card in state["trick"][:size]],
            thirds=[int(count) for count in state["thirds"]],
        )
        points = points_by_card(states, table)
        most = max(points.values())
        assert sum(solution.points) == 11 and solution.points[int(state["turn"]) % 2] == most
        assert solution.best == tuple(card for card in points if points[card] == most)


def test_a_whole_deal() -> None:
    """Ten cards each, dealt by the engine: the value of the opening is what comes of perfect play."""
    env = BatchEnv("tressette-4p", num_envs=1, seed=8, target=100)
    state = env._states[0]
    side = int(state["turn"]) % 2
    table = new_table()
    promised = open_value(state, table) // 3
    values = np.zeros(NUM_CARDS, np.int64)
    while state["deal_number"] == 1:
        open_values(state, table, values)
        env.step([int(values.argmax())])
    assert state["sheet_points"][side] == promised


def test_hand_made_cases() -> None:
    def solve(hands: str, leader: int, trick: str = "", thirds: tuple[int, int] = (0, 0)) -> tuple[tuple[int, int], list[int]]:
        result = solve_open([cards(hand) for hand in hands.split("|")], leader, trick=cards(trick), thirds=thirds)
        return result.points, list(result.best)

    assert solve("4d|5d|Ad|6d", 0) == ((2, 0), cards("4d"))  # 3 thirds and the last trick
    assert solve("4d|5d|Ad|3d", 0) == ((0, 2), cards("4d"))  # 3 + 1 thirds and the last trick
    assert solve("4d|5d|Ad|3d", 0, thirds=(5, 8)) == ((1, 5), cards("4d"))  # 8 + 4 + 3 = 15
    assert solve("4d|3c|2c|Ac", 0) == ((2, 0), cards("4d"))  # what does not follow suit cannot win
    # The 3 first: four thirds each, since the king takes the last trick. The 4 first: the ace falls to the 3 in the last.
    assert solve("3d 4c|4d Rc|Ad 5c|5d 6c", 0) == ((2, 0), cards("4c"))
    # Third seat, the partner's 3 lies: the ace is safe there and lost later.
    assert solve("4c|2c|Ad 5d|4s 5s", 0, "3d 4d") == ((1, 1), cards("Ad"))


@pytest.mark.nojit
def test_equal_cards_have_equal_values() -> None:
    """The 3 and the 2 in one hand play alike, so do the figures; an ace between two figures does not join them."""
    states = state_of([cards("3d 2d 4s"), cards("Rc Cc Fs"), cards("7b 6b 5b"), cards("Ad Ac Ab")], 0, [], [0, 0])
    points = points_by_card(states, new_table())
    assert points[parse_card("3d")] == points[parse_card("2d")]
    assert list(points) == sorted(cards("3d 2d 4s"))


SECOND_PROCESS = """
from settebello.tressette.open_hands import solve_open
print(solve_open([[0, 12, 25], [3, 17, 29], [1, 10, 33], [5, 20, 38]], 2))
"""


def test_second_process_uses_the_cache() -> None:
    wanted = repr(solve_open([[0, 12, 25], [3, 17, 29], [1, 10, 33], [5, 20, 38]], 2))
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", SECOND_PROCESS], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == wanted


GOOD: dict[str, Any] = {"hands": [[0, 10], [1, 11], [2, 12], [3, 13]], "leader": 0}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"hands": [[0], [1], [2]]}, "hands"),
        ({"hands": 7}, "hands"),
        ({"hands": [[0], [1], [2], 3]}, r"hands\[3\]"),
        ({"hands": [[0], [1], [2], "3"]}, r"hands\[3\]"),
        ({"hands": [[0], [1], [2], [40]]}, r"hands\[3\]"),
        ({"hands": [[0], [1], [2], [-1]]}, r"hands\[3\]"),
        ({"hands": [[0], [1], [2], [1.0]]}, r"hands\[3\]"),
        ({"hands": [[0], [1], [2], [True]]}, r"hands\[3\]"),
        ({"hands": [[0, 10], [1, 11], [2, 12], [3, 10]]}, r"doubled \[10\]"),
        ({"hands": [[0], [1], [2], [3, 4]]}, "sizes"),
        ({"hands": [[], [], [], []]}, "sizes"),
        ({"trick": [20]}, "sizes"),
        ({"hands": [[0], [1], [2], [3]], "trick": [20]}, "sizes"),
        ({"hands": [[0], [1, 4], [2, 5], [3, 6]], "leader": 1, "trick": [20]}, "sizes"),
        ({"hands": [[0], [1, 4], [2, 5], [3, 6]], "trick": [6]}, r"doubled \[6\]"),
        ({"trick": [20, 21, 22, 23]}, "trick"),
        ({"trick": 20}, "trick"),
        ({"trick": [99]}, "trick"),
        ({"leader": 4}, "leader=4"),
        ({"leader": -1}, "leader=-1"),
        ({"leader": None}, "leader=None"),
        ({"thirds": (0,)}, "thirds"),
        ({"thirds": 5}, "thirds"),
        ({"thirds": (-1, 0)}, r"thirds\[0\]"),
        ({"thirds": (0, 33)}, r"thirds\[1\]"),
        ({"thirds": (12, 13)}, "thirds"),  # 8 are in play
        ({"table": [0]}, "table"),
        ({"table": np.zeros(5, np.int64)}, "table"),
        ({"table": new_table().astype(np.float64)}, "table"),
        ({"table": np.zeros(2 * open_hands.TABLE_SIZE, np.int64)[::2]}, "table"),
    ],
)
def test_bad_input(change: dict[str, Any], named: str) -> None:
    arguments = GOOD | change
    with pytest.raises(OptionError, match=named):
        solve_open(arguments.pop("hands"), arguments.pop("leader"), **arguments)


def test_good_input_of_other_kinds() -> None:
    """Sets and NumPy arrays are hands too, and a table given is used."""
    table = new_table()
    plain = solve_open(GOOD["hands"], 0)
    assert solve_open(np.array(GOOD["hands"]), np.int64(0), table=table) == plain
    assert solve_open([set(hand) for hand in GOOD["hands"]], 0, thirds=np.array([0, 0])) == plain
    hands = random_deal(np.random.default_rng(9), 6)
    assert solve_open(hands, 1, table=table) == solve_open(hands, 1) and table.any()
