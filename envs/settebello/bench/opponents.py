"""How fast the opponents are: exact play where a game is open, rules of thumb, search, the learned one, a duel in the arena.

Positions come from deals played at random, the same ones in each round. The solvers start each position with an empty table:
what they remember of it from the round before would be all they need.
"""

import dataclasses
from collections.abc import Callable, Iterator
from functools import partial
from time import process_time
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from settebello.arena import duel
from settebello.batch import BatchEnv, random_actions
from settebello.bazzica.state import NUM_HANDS
from settebello.bench.loops import CPU_MILLISECONDS, CPU_NANOSECONDS, CPU_SECONDS, SEED, Workload
from settebello.game import get_game
from settebello.opponents import load

LEVELS: Final = ("random", "easy", "medium")
BATCH_SIZE: Final = 1024
# Key and title of those that think about each move, their level and its parameters.
THINKERS: Final[tuple[tuple[str, str, str, dict[str, int]], ...]] = (
    ("search_16", "search, 16 worlds", "search", {"worlds": 16}),
    ("search_128", "search, 128 worlds", "search", {"worlds": 128}),
    ("hard", "hard", "hard", {}),
    ("hard_network", "hard, the network alone", "hard", {"worlds": 0}),
)
OPEN_CARDS: Final = (6, 7, 8)
DUEL_DEALS: Final = 20_000
SEARCHED_DEALS: Final = 16

Records = npt.NDArray[Any]
Labels = tuple[tuple[str, str, str], ...]
Play = Callable[[], tuple[float, ...]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Measure:
    """One or more figures that come of the same play.

    Attributes:
        game: id of the game.
        figures: key, title and unit of each.
        prepare: returns what is called once a round and returns one value for each figure.
    """

    game: str
    figures: Labels
    prepare: Callable[[Workload], Play]


def measures(game: str) -> list[Measure]:
    """Everything that is measured of a game's opponents."""
    exact: list[tuple[Labels, Callable[[Workload], Play]]]
    if game == "bazzica":
        exact = [(_median_and_p95("last_hand", "last hand"), last_hands)]
    elif get_game(game).num_seats == 2:
        batch = (("ending_batch", "solve_batch", "endings"),)
        exact = [(_median_and_p95("ending", "ending"), endings), (batch, endings_at_once)]
    else:
        exact = [
            (((f"open_{cards}", f"open hands, {cards} cards", CPU_MILLISECONDS),), partial(open_hands, cards))
            for cards in OPEN_CARDS
        ]
    return [
        *(Measure(game=game, figures=figures, prepare=prepare) for figures, prepare in exact),
        *(
            Measure(
                game=game,
                figures=((f"act_{level}", f"{level}, a decision", CPU_NANOSECONDS),),
                prepare=partial(decisions, game, level),
            )
            for level in LEVELS
        ),
        *(
            Measure(
                game=game,
                figures=((key, title, CPU_MILLISECONDS),),
                prepare=partial(thoughts, game, level, parameters),
            )
            for key, title, level, parameters in THINKERS
        ),
        Measure(
            game=game,
            figures=(("duel", f"duel, {DUEL_DEALS:,} deals", CPU_SECONDS),),
            prepare=partial(duels, game),
        ),
    ]


def _median_and_p95(key: str, title: str) -> Labels:
    return (key, f"{title}, median", CPU_MILLISECONDS), (f"{key}_p95", f"{title}, 95th percentile", CPU_MILLISECONDS)


# --- positions -----------------------------------------------------------------------------------------------------------


def random_play(game: str, deals: int) -> Iterator[tuple[BatchEnv, npt.NDArray[np.bool_]]]:
    """Deals played at random, before each move, and which of them are not over yet; rows of the others play on."""
    env = BatchEnv(game, deals, seed=SEED, episode="deal")
    words, actions = np.arange(1, deals + 1, dtype=np.uint64), np.zeros(deals, np.int64)
    playing = np.ones(deals, np.bool_)
    while playing.any():
        yield env, playing
        random_actions(env._states, words, actions)
        _, done = env.step(actions)
        playing &= ~done


def first_where(game: str, deals: int, wanted: Callable[[Records], npt.NDArray[np.bool_]]) -> Records:
    """The first position of each deal that is wanted: ``wanted`` says it of each record, and once in each deal."""
    found, missing = np.zeros(deals, get_game(game).dtype), np.ones(deals, np.bool_)
    for env, _ in random_play(game, deals):
        now = missing & wanted(env._states)
        found[now] = env._states[now]
        missing &= ~now
    return found


def unforced(game: str, number: int) -> Records:
    """Positions with more than one legal action, from all stages of a deal."""
    found = np.concatenate(
        [env._states[playing & (env.action_mask.sum(axis=1) > 1)] for env, playing in random_play(game, SEARCHED_DEALS)]
    )
    return found[np.linspace(0, len(found) - 1, number).astype(np.int64)]


# --- exact play; the solvers compile for some seconds, so they are imported where they are measured --------------------------


def ending_rows(number: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Two-player endings of ten tricks, as ``solve_batch`` wants them: hands, leaders and thirds."""
    states = first_where("tressette-2p", number, lambda states: states["stock_start"] == states["deck_size"])
    return states["hand"][:, :2].copy(), states["turn"].astype(np.int64), states["thirds"].astype(np.int64)


def endings(workload: Workload) -> Play:
    """Value and best cards of one ending at a time, in the kernel."""
    from settebello.tressette.solver import _solve_rows, new_table

    hands, leaders, thirds = ending_rows(workload.endings)
    table, points, best = new_table(), np.zeros((1, 2), np.int64), np.zeros(1, np.int64)

    def solve(i: int) -> None:
        _solve_rows(hands[i : i + 1], leaders[i : i + 1], thirds[i : i + 1], table, points, best)

    return partial(_percentiles, len(hands), solve, table, (50, 95))


def endings_at_once(workload: Workload) -> Play:
    """Endings per CPU-second in one call."""
    from settebello.tressette.solver import solve_batch

    rows = ending_rows(workload.endings)

    def play() -> tuple[float, ...]:
        start = process_time()
        solve_batch(*rows)
        return (workload.endings / (process_time() - start),)

    return play


def open_hands(cards: int, workload: Workload) -> Play:
    """Value of one four-player position at a time, with so many cards in each hand and none on the table."""
    from settebello.tressette.open_hands import new_table, open_value

    def wanted(states: Records) -> npt.NDArray[np.bool_]:
        held: npt.NDArray[np.bool_] = (np.bitwise_count(states["hand"]) == cards).all(axis=1)
        return held

    states, table = first_where("tressette-4p", workload.open_hands, wanted), new_table()
    return partial(_percentiles, len(states), lambda i: open_value(states[i], table), table, (50,))


def last_hands(workload: Workload) -> Play:
    """Values of all actions at the start of one last hand at a time, in the kernel."""
    from settebello.bazzica.rules import NUM_ACTIONS
    from settebello.bazzica.solver import _solve, new_scratch

    states = first_where("bazzica", workload.endings, lambda states: states["hand_number"] == NUM_HANDS)
    scratch, points, values = new_scratch(), np.zeros((0, 0)), np.empty(NUM_ACTIONS)

    def solve(i: int) -> None:
        _solve(states[i : i + 1], scratch, points, values)  # to hand over a single record takes as long as to solve it

    return partial(_percentiles, len(states), solve, scratch, (50, 95))


def _percentiles(number: int, solve: Callable[[int], object], memory: Records, wanted: tuple[int, ...]) -> tuple[float, ...]:
    """Percentiles, over the positions, of the CPU-milliseconds it takes to solve one with the solver's memory empty."""
    spent = np.zeros(number)
    for i in range(number):
        memory.fill(0)
        start = process_time()
        solve(i)
        spent[i] = process_time() - start
    return tuple(float(value) * 1e3 for value in np.percentile(spent, wanted))


# --- levels and the arena ----------------------------------------------------------------------------------------------------


def decisions(game: str, level: str, workload: Workload) -> Play:
    """CPU-nanoseconds for each decision of a level that plays itself, many games in one call; forced ones are counted."""
    opponent: Any = load(game, level, SEED)
    env, rows = BatchEnv(game, BATCH_SIZE, seed=SEED), np.arange(BATCH_SIZE)
    steps = max(1, workload.batch_moves // BATCH_SIZE)

    def play() -> tuple[float, ...]:
        spent = 0.0
        env.reset(SEED)
        opponent.reseed(SEED)
        for _ in range(steps):
            start = process_time()
            actions = opponent.act_batch(env, rows)
            spent += process_time() - start
            env.step(actions)
        return (spent / (steps * BATCH_SIZE) * 1e9,)

    return play


def thoughts(game: str, level: str, parameters: dict[str, int], workload: Workload) -> Play:
    """CPU-milliseconds for each move of a level that is not forced."""
    opponent: Any = load(game, level, SEED, **parameters)
    states = unforced(game, workload.searches)
    env, rows = BatchEnv(game, len(states), episode="deal"), np.arange(len(states))
    env._states[:] = states

    def play() -> tuple[float, ...]:
        start = process_time()
        opponent.act_batch(env, rows)
        return ((process_time() - start) / len(rows) * 1e3,)

    return play


def duels(game: str, workload: Workload) -> Play:
    """CPU-seconds of a duel between easy and medium, from one of fewer deals."""

    def play() -> tuple[float, ...]:
        start = process_time()
        duel(game, "easy", "medium", workload.duel_deals, SEED)
        return ((process_time() - start) / workload.duel_deals * DUEL_DEALS,)

    return play
