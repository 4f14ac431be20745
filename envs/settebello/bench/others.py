"""The same kind of loop over other libraries' card and board games: random legal actions through their own interface.

In their favour: as with ours, actions are drawn beforehand (with OpenSpiel those of its chance nodes too, which deal the
cards, so neither ``chance_outcomes`` nor the draw costs it anything), legal actions are asked for but not turned into a mask,
and of OpenSpiel's two ways to an observation the faster is taken, which writes into a NumPy buffer.
"""

import importlib
import os
import random
from functools import partial
from time import process_time
from typing import Any, Final

from settebello.bench.loops import SEED, Games, Loop, Replay, Workload, aec_replay, finished, tried

PACKAGES: Final = ("pettingzoo", "rlcard", "open_spiel", "pygame-ce", "pygame")


def loops() -> list[Loop]:
    """Every loop over another library."""
    moves = partial(Loop, unit="moves")
    openspiel = partial(moves, library="OpenSpiel")
    return [
        *(
            moves(
                key="aec",
                library="PettingZoo",
                game=game,
                title=f"PettingZoo {game}",
                prepare=partial(classic_replay, f"{game}_v{version}"),
            )
            for game, version in (("connect_four", 3), ("leduc_holdem", 4))
        ),
        moves(
            key="loop",
            library="RLCard",
            game="gin-rummy",
            title="RLCard gin-rummy",
            prepare=partial(rlcard_replay, "gin-rummy"),
        ),
        *(
            openspiel(key=key, game=game, title=f"OpenSpiel {game}{note}", prepare=partial(openspiel_replay, game, tensors))
            for game in ("hearts", "spades")
            for key, note, tensors in (("loop", "", False), ("loop_tensors", ", tensors", True))
        ),
    ]


# --- PettingZoo classic ------------------------------------------------------------------------------------------------


def classic_replay(module: str, workload: Workload) -> Replay:
    """A PettingZoo classic game in the loop that ours runs in."""
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    return aec_replay(importlib.import_module(f"pettingzoo.classic.{module}").env(), workload)


# --- RLCard --------------------------------------------------------------------------------------------------------------


def rlcard_replay(game: str, workload: Workload) -> Replay:
    """RLCard's ``reset`` and ``step``; the states they return hold observation and legal actions."""
    rlcard = importlib.import_module("rlcard")
    games = rlcard_record(rlcard.make(game, config={"seed": SEED}), workload.moves)
    moves = sum(map(len, games))

    def replay() -> tuple[int, float]:
        env = rlcard.make(game, config={"seed": SEED})
        start = process_time()
        rlcard_play(env, games)
        return moves, process_time() - start

    return tried(replay)


def rlcard_play(env: Any, games: Games) -> None:
    """RLCard's loop over recorded games, resets included."""
    for actions in games:
        chosen = iter(actions)
        _state, _player = env.reset()
        while not env.is_over():
            _state, _player = env.step(next(chosen))
        env.get_payoffs()
        finished(chosen)


def rlcard_record(env: Any, moves: int) -> Games:
    """Random games of an RLCard environment just made."""
    rng = random.Random(SEED)
    games: Games = []
    while sum(map(len, games)) < moves:
        actions: list[int] = []
        state, _player = env.reset()
        while not env.is_over():
            actions.append(rng.choice(list(state["legal_actions"])))
            state, _player = env.step(actions[-1])
        games.append(actions)
    return games


# --- OpenSpiel -----------------------------------------------------------------------------------------------------------


def openspiel_replay(name: str, tensors: bool, workload: Workload) -> Replay:
    """OpenSpiel's states through its Python interface, legal actions asked for at each move."""
    pyspiel = importlib.import_module("pyspiel")
    game = pyspiel.load_game(name)
    observer = openspiel_observer(pyspiel, game) if tensors else None
    games, moves = openspiel_record(game, workload.moves)

    def replay() -> tuple[int, float]:
        start = process_time()
        openspiel_play(game, games, observer)
        return moves, process_time() - start

    return tried(replay)


def openspiel_play(game: Any, games: Games, observer: Any) -> None:
    """OpenSpiel's loop over recorded games; with an observer it writes the tensor of the player to move at each move."""
    for actions in games:
        chosen = iter(actions)
        state = game.new_initial_state()
        while not state.is_terminal():
            if not state.is_chance_node():
                state.legal_actions()
                if observer is not None:
                    observer.set_from(state, state.current_player())
            state.apply_action(next(chosen))
        state.returns()
        finished(chosen)


def openspiel_record(game: Any, moves: int) -> tuple[Games, int]:
    """Random games, the actions of chance nodes included, and the number of players' moves in them."""
    rng = random.Random(SEED)
    games: Games = []
    played = 0
    while played < moves:
        actions: list[int] = []
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                outcomes, chances = zip(*state.chance_outcomes(), strict=True)
                actions.append(rng.choices(outcomes, chances)[0])
            else:
                actions.append(rng.choice(state.legal_actions()))
                played += 1
            state.apply_action(actions[-1])
        games.append(actions)
    return games, played


def openspiel_observer(pyspiel: Any, game: Any) -> Any:
    """OpenSpiel's observer into a NumPy buffer, of the observation or, where a game has none, the information state."""
    make_observation = importlib.import_module("open_spiel.python.observation").make_observation
    if game.get_type().provides_observation_tensor:
        return make_observation(game)
    return make_observation(game, pyspiel.IIGObservationType(perfect_recall=True))
