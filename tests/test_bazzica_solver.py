"""Exact play of the last hand of bazzica, against plain minimax on the slow reference rules."""

import copy
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import settebello
from settebello.batch import BatchEnv
from settebello.bazzica.options import BazzicaOptions
from settebello.bazzica.rules import NUM_ACTIONS, is_legal
from settebello.bazzica.solver import ILLEGAL, LastHand, _solve, new_scratch, solve
from settebello.bazzica.state import STATE_DTYPE
from settebello.errors import OptionError
from settebello.jit import DISABLED
from settebello.opponents.compiled import CompiledOpponent
from tests.info_tools import Table, biased_deck, split_world
from tests.reference.bazzica import BAPTISE_SETTEBELLO as BAPTISE
from tests.reference.bazzica import DECLARE, DEFAULT_POINTS, PICK, BazzicaReference

LAST_HAND = 6
KINDS = ("baptism", "declaration", "pick")
OPTIONS: list[dict[str, Any]] = [
    {},
    {},
    {"low_sum_max": 9, "last_card_scopa": True},
    {"low_sum_max": 14, "declaration_points": {**DEFAULT_POINTS, "pariglia": 0, "meno_di_nove": 0}},
]
SCRATCH = new_scratch()
Record = np.ndarray[Any, Any]


class TooBigError(Exception):
    """The position has too many lines of play for the reference."""


# --- plain minimax on the reference ------------------------------------------------------------------------------------------


def fork(reference: BazzicaReference) -> BazzicaReference:
    """A copy that can be played on; its events and actions so far are dropped."""
    other = copy.copy(reference)
    other.hands = [list(hand) for hand in reference.hands]
    other.taken = [list(cards) for cards in reference.taken]
    other.table = list(reference.table)
    other.baptised = dict(reference.baptised)
    other.candidates = [list(cards) for cards in reference.candidates]
    other.scope = list(reference.scope)
    other.score = list(reference.score)
    other.declared = list(reference.declared)
    other.declaration_scores = list(reference.declaration_scores)
    other.actions, other._events, other._last_events = [], [], []
    return other


Worth = Callable[[int, int], float]


def points(first: int, second: int) -> float:
    """Playing for points."""
    return first - second


def plain_value(reference: BazzicaReference, worth: Worth, seen: Counter[str]) -> float:
    """What a position is worth to seat 0 with best play."""
    seen["budget"] -= 1
    if seen["budget"] < 0:
        raise TooBigError
    if reference.over:
        assert reference.last_deal is not None
        return worth(*reference.last_deal["points"])
    values = plain_values(reference, worth, seen).values()
    return max(values) if reference.turn == 0 else min(values)


def plain_values(reference: BazzicaReference, worth: Worth, seen: Counter[str]) -> dict[int, float]:
    """What each legal action is worth to seat 0. ``seen``: kinds of actions tried out, and positions still allowed."""
    values = {}
    for action in reference.legal_actions():
        child = fork(reference)
        child.step(action)
        values[action] = plain_value(child, worth, seen)
        seen["play" if action < PICK else "pick" if action < BAPTISE else "baptism" if action < DECLARE else "declaration"] += 1
    return values


# --- positions ---------------------------------------------------------------------------------------------------------------


def last_hand_table(rng: random.Random, steps: int) -> Table:
    """A deal played at random to some steps into its last hand; not over."""
    options = rng.choice(OPTIONS)
    while True:
        table = Table("bazzica", [biased_deck(rng, "bazzica")], rng.randrange(2), episode="deal", **options)
        left = steps
        for _ in table.play(rng):
            if table.reference.turn is not None and table.reference.hand_number == LAST_HAND:
                left -= 1
                if left < 0:
                    return table


def record_of(table: Table, seat: int) -> Record:
    """What a seat knows, as an array of one record."""
    return table.information(seat)._record


def full_record(table: Table) -> Record:
    """The whole truth, as an array of one record."""
    data, _ = split_world(settebello.game.get_game("bazzica"), table.information(0).sample_world(np.random.default_rng(0)))
    return np.frombuffer(data, STATE_DTYPE).copy()


def compare(seed: int, number: int, budget: int, worth: Worth = points, utility: Any = None) -> Counter[str]:
    """Compare the solver with plain minimax on random positions; in how many of them things were seen, by name."""
    rng = random.Random(seed)
    seen: Counter[str] = Counter()
    while seen["positions"] < number:
        table = last_hand_table(rng, rng.choice([0, 0, 0, 1, 2, 4]))
        mover = table.reference.turn
        assert mover is not None
        try:
            tried = Counter({"budget": budget})
            plain = plain_values(table.reference, worth, tried)
        except TooBigError:
            seen["too big"] += 1
            continue
        sign = 1 if mover == 0 else -1
        expected = {action: sign * value for action, value in plain.items()}
        for record in (record_of(table, mover), full_record(table)):
            found = solve(record, mover, utility)
            assert found.values == pytest.approx(expected), table.actions
        best = max(expected.values())
        assert found == LastHand(found.value, tuple(a for a in sorted(plain) if expected[a] == best), found.values)
        assert solve(record_of(table, 1 - mover), 1 - mover, utility) == found  # the other seat knows as much
        seen["positions"] += 1
        seen["a choice matters"] += len(set(plain.values())) > 1
        for kind in KINDS:
            seen[kind] += tried[kind] > 0
    return seen


def test_against_plain_minimax() -> None:
    seen = compare(seed=1, number=40, budget=4000)
    assert min(seen[name] for name in ("a choice matters", *KINDS)) >= 3, seen


@pytest.mark.long
def test_against_plain_minimax_at_length() -> None:
    seen = compare(seed=2, number=3000, budget=100_000)
    assert min(seen[name] for name in ("a choice matters", *KINDS)) >= 100, seen


@pytest.mark.nojit
def test_small_positions_against_plain_minimax() -> None:
    assert compare(seed=3, number=3, budget=100)["positions"] == 3


# --- the utility -------------------------------------------------------------------------------------------------------------


def test_utility_is_used_and_clipped() -> None:
    table = np.random.default_rng(0).normal(size=(7, 9))

    def worth(first: int, second: int) -> float:
        return float(table[min(first, 6), min(second, 8)])

    compare(seed=4, number=20, budget=1500, worth=worth, utility=table)
    compare(seed=5, number=5, budget=1500, worth=worth, utility=table.tolist())


def test_the_score_and_the_match_do_not_matter() -> None:
    rng = random.Random(6)
    for _ in range(20):
        table = last_hand_table(rng, 0)
        record = full_record(table)
        expected = solve(record, 0)
        record[0]["single_deal"] = 0
        record[0]["points_reward"] = 1
        record[0]["score"] = 29, 30
        before = record.tobytes()
        assert solve(record, 0) == expected
        assert record.tobytes() == before


# --- play against medium -----------------------------------------------------------------------------------------------------


def last_hands(deals: int) -> Record:
    """Deals played at random to the beginning of their last hand."""
    batch, rng = BatchEnv("bazzica", deals, seed=1000, episode="deal"), np.random.default_rng(1000)
    records = batch._states.copy()
    while (rows := np.flatnonzero(records["hand_number"] < LAST_HAND)).size:  # what the others play on is not looked at
        batch.step(np.argmax(batch.action_mask * rng.random(batch.action_mask.shape), axis=1))
        records[rows] = batch._states[rows]
    return records


def play_on(records: Record, by_solver: Any) -> tuple[Any, Any]:
    """Play last hands to their end, some seats (bool ``(number, 2)``) by the solver, the others by medium.

    Returns by hand the points of seat 0 minus those of seat 1, and the values that the solver gave seat 0 on the way.
    """
    batch, medium = BatchEnv("bazzica", len(records), episode="deal"), CompiledOpponent("bazzica", "medium", 1)
    batch._states[:] = records
    batch._show()
    lead = np.zeros(len(records))
    values: list[list[float]] = [[] for _ in records]
    playing = np.ones(len(records), np.bool_)
    while playing.any():
        actions = batch.action_mask.argmax(axis=1)
        solved = by_solver[np.arange(len(records)), batch.seat]
        for row in np.flatnonzero(playing & solved):
            found = values_of(batch._states[row : row + 1])
            values[row].append(found.max() if batch.seat[row] == 0 else -found.max())
            actions[row] = found.argmax()
        rows = np.flatnonzero(playing & ~solved)
        actions[rows] = medium.act_batch(batch, rows)
        _, done = batch.step(actions)
        ended = playing & done
        lead[ended] = batch.final_score[ended] @ [1, -1]
        playing &= ~done
    return lead, values


def values_of(record: Record) -> Any:
    """What each action is worth to the seat to move."""
    values = np.zeros(NUM_ACTIONS)
    _solve(record, SCRATCH, np.zeros((0, 0)), values)
    return values


def test_it_keeps_its_promise() -> None:
    """Against medium it gets at least what it promised, sometimes more; against itself exactly that."""
    records = last_hands(1500)
    seats = np.arange(len(records)) % 2
    against_itself, values = play_on(records, np.ones((len(records), 2), np.bool_))
    assert all(set(of_hand) == {lead} for of_hand, lead in zip(values, against_itself, strict=True))
    against_medium, _ = play_on(records, np.arange(2) == seats[:, None])
    better = np.where(seats == 0, 1, -1) * (against_medium - against_itself)
    assert (better >= 0).all()
    assert (better > 0).mean() > 0.05


def test_illegal_actions_have_no_value() -> None:
    rng = random.Random(8)
    for _ in range(10):
        record = full_record(last_hand_table(rng, 0))
        assert [value != ILLEGAL for value in values_of(record)] == [
            is_legal(record[0], action) for action in range(NUM_ACTIONS)
        ]


# --- a second process, bad input ---------------------------------------------------------------------------------------------

CHILD = """
import sys
import numpy as np
from settebello.bazzica.solver import search, solve
from settebello.bazzica.state import STATE_DTYPE
record = np.frombuffer(bytes.fromhex(sys.stdin.read()), STATE_DTYPE)
print(solve(record, 0))
print(sum(search.stats.cache_misses.values()))
"""


@pytest.mark.skipif(DISABLED, reason="nothing is compiled")
def test_a_second_process_loads_it_from_the_cache() -> None:
    record = full_record(last_hand_table(random.Random(9), 0))
    path = os.pathsep.join([str(Path(settebello.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    child = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=record.tobytes().hex(),
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert child.stdout == f"{solve(record, 0)}\n0\n"


def test_bad_input() -> None:
    record = full_record(last_hand_table(random.Random(10), 0))
    begun = BazzicaOptions().record()
    over = record.copy()
    over[0]["over"] = 1
    early = record.copy()
    early[0]["hand_number"] = 5
    for states, message in (
        (begun, "hand 6 of the deal.*it is hand 0"),
        (early, "it is hand 5"),
        (over, "the game is over"),
        (record[0], "an array of one bazzica record"),
        (np.concatenate([record, record]), "an array of one bazzica record"),
        (np.zeros(1), "an array of one bazzica record"),
        (None, "an array of one bazzica record"),
    ):
        with pytest.raises(OptionError, match=message):
            solve(states, 0)  # type: ignore[arg-type]
    for seat in (-1, 2, 0.5, None):
        with pytest.raises(OptionError, match=r"seat=.*0 to 1"):
            solve(record, seat)  # type: ignore[arg-type]
    for utility in ([1.0, 2.0], np.zeros((0, 3)), [[np.nan]], [[np.inf, 0.0]], "much", [["a"]]):
        with pytest.raises(OptionError, match="utility"):
            solve(record, 0, utility)  # type: ignore[arg-type]


def test_a_redacted_record_is_enough_and_is_not_changed() -> None:
    rng = random.Random(11)
    for _ in range(20):
        table = last_hand_table(rng, rng.randrange(3))
        full = full_record(table)
        for seat in (0, 1):
            record = record_of(table, seat)
            before = record.tobytes()
            assert solve(record, seat) == solve(full, seat)
            assert record.tobytes() == before
