"""The loops over settebello's own environments."""

from functools import partial
from time import process_time
from typing import Final

import gymnasium
import numpy as np
import numpy.typing as npt

from settebello.aec import AECEnv
from settebello.batch import BatchEnv, playouts, random_actions, seed_games, start_games
from settebello.bench.loops import SEED, Loop, Replay, Workload, aec_replay, gymnasium_replay, tried, vector_replay
from settebello.game import get_game
from settebello.registration import gymnasium_id

LIBRARY: Final = "settebello"
BATCH_SIZES: Final = (1, 256, 1024, 4096)
VECTOR_SIZE: Final = 1024
MAX_BATCH_STEPS: Final = 20_000  # with few games a step costs the call, and fewer moves tell as much


def loops(game: str) -> list[Loop]:
    """Every loop over a game's environments."""
    moves = partial(Loop, library=LIBRARY, game=game, unit="moves")
    agent_steps = partial(Loop, library=LIBRARY, game=game, unit="agent steps")
    return [
        moves(key="playouts", title="random playouts", prepare=partial(playouts_replay, game)),
        *(
            moves(key=f"batch_{size}", title=f"BatchEnv, N={size}", prepare=partial(batch_replay, game, size))
            for size in BATCH_SIZES
        ),
        moves(key="aec", title="PettingZoo env", prepare=partial(pettingzoo_replay, game, True)),
        moves(key="aec_no_copy", title="PettingZoo, copy=False", prepare=partial(pettingzoo_replay, game, False)),
        agent_steps(key="gym", title="Gymnasium env", prepare=partial(gym_replay, game)),
        agent_steps(
            key=f"vector_{VECTOR_SIZE}", title=f"VectorEnv, N={VECTOR_SIZE}", prepare=partial(native_vector_replay, game)
        ),
    ]


def playouts_replay(game: str, workload: Workload) -> Replay:
    """Random games in one compiled call, without observations: choosing, stepping, dealing anew."""
    states = get_game(game).options().record()
    seed_games(states, np.array([SEED], np.int64))
    start_games(states)
    word = np.uint64(SEED)

    def replay() -> tuple[int, float]:
        nonlocal word
        start = process_time()
        word = np.uint64(playouts(states, word, workload.batch_moves))
        return workload.batch_moves, process_time() - start

    return tried(replay)


def batch_replay(game: str, num_envs: int, workload: Workload) -> Replay:
    """``BatchEnv.step``: check, step, observation, mask and auto-reset of all games."""
    env = BatchEnv(game, num_envs, seed=SEED)
    actions = record_batch(env, max(1, min(MAX_BATCH_STEPS, workload.batch_moves // num_envs)))

    def replay() -> tuple[int, float]:
        env.reset(SEED)
        start = process_time()
        for chosen in actions:
            _reward, _done = env.step(chosen)
        return actions.size, process_time() - start

    return tried(replay)


def record_batch(env: BatchEnv, steps: int) -> npt.NDArray[np.int64]:
    """Random legal actions ``(steps, N)``, drawn by a compiled call."""
    words = np.arange(1, env.num_envs + 1, dtype=np.uint64)
    actions = np.zeros((steps, env.num_envs), np.int64)
    for chosen in actions:
        random_actions(env._states, words, chosen)
        env.step(chosen)
    return actions


def pettingzoo_replay(game: str, copy: bool, workload: Workload) -> Replay:
    """The PettingZoo environment, with fresh arrays each step or (``copy=False``) one set of them."""
    return aec_replay(AECEnv(game, copy=copy), workload)


def gym_replay(game: str, workload: Workload) -> Replay:
    """The Gymnasium environment; the opponents' moves are in the step."""
    env = gymnasium.make(gymnasium_id(get_game(game)), opponent="random", illegal="raise")
    return gymnasium_replay(env, workload)


def native_vector_replay(game: str, workload: Workload) -> Replay:
    """The native Gymnasium vector environment, resetting itself, with fresh arrays each step."""
    env = gymnasium.make_vec(
        gymnasium_id(get_game(game)),
        num_envs=VECTOR_SIZE,
        vectorization_mode="vector_entry_point",
        opponent="random",
        illegal="raise",
    )
    return vector_replay(env, workload)


def sizes(game: str) -> dict[str, int]:
    """Bytes of an observation row and of a game's state."""
    return {"row_bytes": get_game(game).obs_size, "state_bytes": get_game(game).dtype.itemsize}
