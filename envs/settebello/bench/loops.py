"""The timed loops, and how their actions are drawn beforehand.

A library is asked for random legal actions through its own interface first; the timed part plays the same games again from
the same seed. So choosing costs nothing in any of the timed loops, and all libraries get the same treatment.
"""

import dataclasses
import random
from collections.abc import Callable, Iterator
from time import process_time
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from settebello.errors import SettebelloError

SEED: Final = 1

# Units of which less is better.
CPU_SECONDS: Final = "CPU-seconds"
CPU_MILLISECONDS: Final = "CPU-milliseconds"
CPU_NANOSECONDS: Final = "CPU-nanoseconds"
BYTES: Final = "bytes"

# Plays a prepared session once; returns the units done and the CPU seconds they took.
Replay = Callable[[], tuple[int, float]]
Games = list[list[int]]


class ReplayError(SettebelloError):
    """A session did not play out as it was recorded, so its timing would mean nothing."""


@dataclasses.dataclass(frozen=True)
class Workload:
    """How much is measured.

    Attributes:
        moves: recorded moves of a session that plays one game at a time.
        batch_moves: recorded moves of a session that plays many games at once, over all games; also the decisions of a level.
        block_seconds: CPU seconds of each loop in each round.
        repeats: rounds.
        endings: positions that are solved exactly: two-player endings, last hands of bazzica.
        open_hands: positions of four open hands, for each number of cards.
        searches: moves of the search opponent.
        duel_deals: mirrored deals of the duel.
    """

    moves: int = 5_000
    batch_moves: int = 1 << 20
    block_seconds: float = 0.4
    repeats: int = 5
    endings: int = 400
    open_hands: int = 100
    searches: int = 80
    duel_deals: int = 1280


@dataclasses.dataclass(frozen=True, kw_only=True)
class Loop:
    """One speed to measure.

    Attributes:
        key: name in the results, for example ``batch_1024``.
        library: whose environment it is.
        game: id of the game, or the other library's name for its game.
        title: what the loop does, in a few words.
        unit: what is counted.
        prepare: records a session and returns what replays it; ImportError if the library is not installed.
    """

    key: str
    library: str
    game: str
    title: str
    unit: str
    prepare: Callable[[Workload], Replay]


def speed(replay: Replay, seconds: float) -> float:
    """Units per CPU-second over as many replays as take so many CPU seconds."""
    done, spent = 0, 0.0
    while spent < seconds:
        units, cpu_seconds = replay()
        done += units
        spent += cpu_seconds
    return done / spent


def pick(rng: random.Random, mask: Any) -> int:
    """A uniform legal action of a mask."""
    return int(rng.choice(np.flatnonzero(mask)))


def finished(chosen: Iterator[int]) -> None:
    """Check that a recorded game's actions are used up at its end.

    Raises:
        ReplayError: they are not.
    """
    for action in chosen:
        raise ReplayError(f"a game ended before its recorded action {action}")


def tried(replay: Replay) -> Replay:
    """The replay, after playing it once: this compiles, fills the caches, and shows that it plays as recorded."""
    try:
        replay()
    except StopIteration as error:
        raise ReplayError("a game went on after its recorded actions") from error
    return replay


# --- PettingZoo: one agent at a time -----------------------------------------------------------------------------------


def play_aec(env: Any, games: Games) -> None:
    """PettingZoo's own loop over recorded games, resets included."""
    for actions in games:
        chosen = iter(actions)
        env.reset()
        for _agent in env.agent_iter():
            _observation, _reward, termination, truncation, _info = env.last()
            env.step(None if termination or truncation else next(chosen))
        finished(chosen)


def record_aec(env: Any, moves: int) -> Games:
    """Random games that ``play_aec`` repeats after ``env.reset(seed=SEED)``."""
    rng = random.Random(SEED)
    games: Games = []
    env.reset(seed=SEED)
    while sum(map(len, games)) < moves:
        actions: list[int] = []
        env.reset()
        for _agent in env.agent_iter():
            observation, _reward, termination, truncation, _info = env.last()
            if termination or truncation:
                env.step(None)
            else:
                actions.append(pick(rng, observation["action_mask"]))
                env.step(actions[-1])
        games.append(actions)
    return games


def aec_replay(env: Any, workload: Workload) -> Replay:
    """Replay of a PettingZoo environment, ours or another."""
    games = record_aec(env, workload.moves)
    moves = sum(map(len, games))

    def replay() -> tuple[int, float]:
        env.reset(seed=SEED)
        start = process_time()
        play_aec(env, games)
        return moves, process_time() - start

    return tried(replay)


# --- Gymnasium: one agent, the others played by the environment ----------------------------------------------------------


def play_gymnasium(env: Any, games: Games) -> None:
    """Gymnasium's own loop over recorded games, resets included."""
    for actions in games:
        chosen = iter(actions)
        env.reset()
        over = False
        while not over:
            _observation, _reward, terminated, truncated, _info = env.step(next(chosen))
            over = terminated or truncated
        finished(chosen)


def record_gymnasium(env: Any, moves: int) -> Games:
    """Random games that ``play_gymnasium`` repeats after ``env.reset(seed=SEED)``."""
    rng = random.Random(SEED)
    games: Games = []
    env.reset(seed=SEED)
    while sum(map(len, games)) < moves:
        actions: list[int] = []
        _observation, info = env.reset()
        over = False
        while not over:
            actions.append(pick(rng, info["action_mask"]))
            _observation, _reward, terminated, truncated, info = env.step(actions[-1])
            over = terminated or truncated
        games.append(actions)
    return games


def gymnasium_replay(env: Any, workload: Workload) -> Replay:
    """Replay of a Gymnasium environment whose infos hold the action mask."""
    games = record_gymnasium(env, workload.moves)
    moves = sum(map(len, games))

    def replay() -> tuple[int, float]:
        env.reset(seed=SEED)
        start = process_time()
        play_gymnasium(env, games)
        return moves, process_time() - start

    return tried(replay)


# --- Gymnasium's vector interface ----------------------------------------------------------------------------------------


def play_vector(env: Any, actions: npt.NDArray[np.int64]) -> None:
    """Steps of all environments at once; finished ones reset themselves."""
    for chosen in actions:
        _observations, _rewards, _terminations, _truncations, _infos = env.step(chosen)


def record_vector(env: Any, steps: int) -> tuple[npt.NDArray[np.int64], int]:
    """Random actions ``(steps, N)`` after ``env.reset(seed=SEED)``, and the agent's moves among them.

    The step with which an environment resets itself (autoreset mode NEXT_STEP) is not a move and not counted.
    """
    rng = np.random.default_rng(SEED)
    actions = np.zeros((steps, env.num_envs), np.int64)
    _observations, infos = env.reset(seed=SEED)
    resets = np.zeros(env.num_envs, np.bool_)
    moves = 0
    for chosen in actions:
        mask = infos["action_mask"]
        chosen[:] = (rng.random(mask.shape, np.float32) * mask).argmax(axis=1)
        _observations, _rewards, terminations, truncations, infos = env.step(chosen)
        moves += int(env.num_envs - resets.sum())
        resets = terminations | truncations
    return actions, moves


def vector_replay(env: Any, workload: Workload) -> Replay:
    """Replay of a Gymnasium vector environment whose infos hold the action masks."""
    actions, moves = record_vector(env, max(1, workload.batch_moves // env.num_envs))

    def replay() -> tuple[int, float]:
        env.reset(seed=SEED)
        start = process_time()
        play_vector(env, actions)
        return moves, process_time() - start

    return tried(replay)
