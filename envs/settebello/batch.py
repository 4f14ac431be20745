"""BatchEnv: many games stepped by one compiled call. The other environments are thin over the kernels here."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from settebello.bits import advance, seed_stream
from settebello.cards import cards_text
from settebello.errors import IllegalActionError, OptionError, StateError
from settebello.game import (
    Game,
    Int8Array,
    ObsSpec,
    finish,
    get_game,
    is_legal,
    new_game,
    observe,
    random_action,
    step,
    write_mask,
    write_state,
)
from settebello.information import Information
from settebello.jit import kernel
from settebello.options import check_choice, check_int, is_list
from settebello.saved import pack, unpack

GAME_STREAM: Final = 0  # deals and dealers
MAX_SEED: Final = 2**63 - 1
NOBODY: Final = -1


@kernel
def seed_games(states: Any, seeds: Any) -> None:
    """Set the random stream of each game from its seed."""
    for i in range(len(states)):
        states[i]["rng"] = seed_stream(seeds[i], GAME_STREAM)


@kernel
def start_games(states: Any) -> None:
    """Start a new game in each row from the row's own random stream."""
    for i in range(len(states)):
        new_game(states[i])


@kernel(inline=True)
def forfeit(state: Any) -> None:
    """End a game in which the seat to move took an illegal action: its side pays, nobody wins."""
    side = state["turn"] % 2
    finish(state, NOBODY)
    state["reward"][side] = -state["target"] if state["points_reward"] else -1
    state["reward"][1 - side] = 0


@kernel(inline=True)
def show(state: Any, row8: Any, row64: Any, mask64: Any) -> None:
    """Write observation and mask of the seat to move."""
    observe(state, np.int64(state["turn"]), row8, row64)
    write_mask(state, mask64)


@kernel
def show_games(states: Any, seats: Any, rows8: Any, rows64: Any, masks64: Any) -> None:
    """Write seat to move, observation and mask of each row."""
    for i in range(len(states)):
        seats[i] = states[i]["turn"]
        show(states[i], rows8[i], rows64[i], masks64[i])


@kernel
def first_illegal(states: Any, actions: Any) -> int:
    """The first row whose action is illegal, or -1."""
    for i in range(len(states)):
        if not is_legal(states[i], actions[i]):
            return i
    return -1


@kernel(inline=True)
def end_step(state: Any, i: int, rewards: Any, dones: Any, scores: Any) -> None:
    """Write what a step of row i brought; if the game is over, keep its score and start the row's next one."""
    rewards[i, 0] = state["reward"][0]
    rewards[i, 1] = state["reward"][1]
    over = state["over"] != 0
    dones[i] = over
    if over:
        scores[i, 0] = state["score"][0]
        scores[i, 1] = state["score"][1]
        new_game(state)


@kernel
def step_games(
    states: Any, actions: Any, rewards: Any, dones: Any, scores: Any, seats: Any, rows8: Any, rows64: Any, masks64: Any
) -> None:
    """One step in each row, with auto-reset; an illegal action forfeits."""
    for i in range(len(states)):
        state = states[i]
        if is_legal(state, actions[i]):
            step(state, actions[i])
        else:
            forfeit(state)
        end_step(state, i, rewards, dones, scores)
        seats[i] = state["turn"]
        show(state, rows8[i], rows64[i], masks64[i])


@kernel
def state_rows(states: Any, seats: Any, rows8: Any, rows64: Any) -> None:
    """Write the full state of each row, as its seat to move looks at it."""
    for i in range(len(states)):
        write_state(states[i], seats[i], rows8[i], rows64[i])


@kernel
def random_actions(states: Any, words: Any, actions: Any) -> None:
    """A uniform legal action for each row, from a random stream a row."""
    for i in range(len(states)):
        words[i] = advance(words[i])
        actions[i] = random_action(states[i], words[i])


@kernel
def playouts(states: Any, word: Any, moves: int) -> Any:
    """Play so many random moves in the first row, game after game; returns the stream word reached."""
    state = states[0]
    for _ in range(moves):
        word = advance(word)
        step(state, random_action(state, word))
        if state["over"]:
            new_game(state)
    return word


def check_seed(seed: Any) -> int:
    """The seed as int.

    Raises:
        OptionError: it is not a whole number in 0..2**63-1.
    """
    return check_int("seed", seed, 0, MAX_SEED)


def check_seeds(seed: Any, num_envs: int) -> list[int]:
    """A seed for each environment: ``seed + i`` of one number, or the numbers of a list.

    Raises:
        OptionError: the seed is neither a whole number nor one for each environment.
    """
    if not is_list(seed):
        first = check_int("seed", seed, 0, MAX_SEED - num_envs + 1)
        return list(range(first, first + num_envs))
    if len(seed) != num_envs:
        raise OptionError(f"seed: {len(seed)} seeds for {num_envs} environments")
    return [check_seed(one) for one in seed]


def check_actions(actions: npt.ArrayLike, num_envs: int) -> npt.NDArray[np.int64]:
    """Actions as int64 ``(num_envs,)``.

    Raises:
        OptionError: wrong shape or dtype.
    """
    try:
        chosen = np.asarray(actions)
    except ValueError as error:
        raise OptionError(f"actions={actions!r}: expected {num_envs} whole numbers") from error
    if chosen.dtype.kind not in "iu":
        raise OptionError(f"actions of dtype {chosen.dtype}: expected integers")
    if chosen.shape != (num_envs,):
        raise OptionError(f"actions of shape {chosen.shape}: expected ({num_envs},)")
    if chosen.dtype == np.uint64:  # beyond int64 nothing is legal, and a wrapped number must not become so
        chosen = np.minimum(chosen, np.uint64(MAX_SEED))
    return np.ascontiguousarray(chosen, np.int64)


def illegal_action(game: Game, state: Any, action: Any, where: str = "") -> IllegalActionError:
    """The error for an illegal action: names the action, what the seat holds and what is legal."""
    seat = int(state["turn"])
    information = game.snapshot(state)
    mask = np.zeros((1, game.mask_size), np.int8)
    write_mask(state, mask.view(np.uint64)[0])
    legal = [int(legal) for legal in np.flatnonzero(mask[0])]
    return IllegalActionError(
        f"{where}illegal action {action!r} ({game.action_text(action)}) by player_{seat}, who holds "
        f"{cards_text(information['hands'][seat])}; legal: "
        + ", ".join(f"{legal_action} ({game.action_text(legal_action)})" for legal_action in legal)
    )


class BatchEnv:
    """Many games of one kind, stepped together, each starting anew when it is over.

    Row i plays exactly the games of the AEC environment with seed ``seed + i``. All arrays are the same objects, overwritten
    by each step.

    Args:
        game: ``tressette-2p``, ``tressette-4p`` or ``bazzica``.
        num_envs: number of rows N.
        seed: row i is seeded with ``seed + i``; or N seeds.
        illegal: "raise" raises IllegalActionError and moves nothing; "terminate" ends that row's game, the offender's side
            gets -1 (or -target with reward "points").
        **options: options of the game.

    Attributes:
        observation: int8 ``(N, obs_size)``, of the seat to move.
        action_mask: int8 ``(N, num_actions)``, 1 for each legal action.
        seat: int64 ``(N,)``, the seat to move.
        final_score: int32 ``(N, 2)``, match score by side of the game just finished, valid where done.

    Raises:
        OptionError: unknown game or option, or a value that is not allowed.
    """

    def __init__(
        self, game: str, num_envs: int, seed: int | Sequence[int] | npt.NDArray[Any] = 0, illegal: str = "raise", **options: Any
    ) -> None:
        self._game = get_game(game)
        self.num_envs = check_int("num_envs", num_envs, 1, 2**31)
        check_choice("illegal", illegal, ("raise", "terminate"))
        self.illegal = illegal
        self.options = self._game.options(("num_envs", "seed", "illegal"), **options)
        self._template = self.options.record()
        self._states = np.repeat(self._template, self.num_envs)
        rows = (self.num_envs, self._game.obs_size)
        self.observation: Int8Array = np.zeros(rows, np.int8)
        self._masks = np.zeros((self.num_envs, self._game.mask_size), np.int8)
        self.seat = np.zeros(self.num_envs, np.int64)
        self.final_score = np.zeros((self.num_envs, 2), np.int32)
        self._reward = np.zeros((self.num_envs, 2), np.float32)
        self._done = np.zeros(self.num_envs, np.bool_)
        self._state_rows: Int8Array | None = None
        self._make_views()
        if seed is None:
            raise OptionError("seed=None: expected a whole number or one for each environment")
        self.reset(seed)

    def _make_views(self) -> None:
        self.action_mask: Int8Array = self._masks[:, : self._game.num_actions]
        self._rows64 = self.observation.view(np.uint64)
        self._masks64 = self._masks.view(np.uint64)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_views()  # pickle and deepcopy make arrays of their own of what were views

    @property
    def game(self) -> str:
        """Id of the game."""
        return self._game.id

    @property
    def num_seats(self) -> int:
        """Seats at the table; seat k is of side k % 2."""
        return self._game.num_seats

    @property
    def num_actions(self) -> int:
        """Size of the action space."""
        return self._game.num_actions

    @property
    def obs_size(self) -> int:
        """int8 elements of an observation row."""
        return self._game.obs_size

    @property
    def state_bytes(self) -> int:
        """Bytes of one game's state record."""
        return self._game.dtype.itemsize

    def obs_spec(self) -> ObsSpec:
        """Named slices of an observation row: ``(name, start, stop, low, high, meaning)``."""
        return self._game.obs_spec()

    def reset(self, seed: int | Sequence[int] | npt.NDArray[Any] | None = None) -> None:
        """Start a new game in every row; without a seed each row's random stream goes on.

        Raises:
            OptionError: the seed is neither a whole number nor one for each row.
        """
        if seed is not None:
            seed_games(self._states, np.array(check_seeds(seed, self.num_envs), np.int64))
        start_games(self._states)
        self._reward[:] = 0
        self._done[:] = False
        self._show()

    def _show(self) -> None:
        show_games(self._states, self.seat, self.observation, self._rows64, self._masks64)

    def step(self, actions: npt.ArrayLike) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """Take one action in each row.

        Args:
            actions: ``(N,)``, any integer dtype.

        Returns:
            The reward of this step by side, float32 ``(N, 2)``, and whether the game is over, bool ``(N,)``. Where it is, the
            row already shows its next game.

        Raises:
            IllegalActionError: an action is illegal (with ``illegal="raise"``); nothing was moved in any row.
            OptionError: wrong shape or dtype; nothing was moved.
        """
        chosen = check_actions(actions, self.num_envs)
        if self.illegal == "raise":
            row = first_illegal(self._states, chosen)
            if row >= 0:
                raise illegal_action(self._game, self._states[row], int(chosen[row]), f"environment {row}: ")
        step_games(
            self._states,
            chosen,
            self._reward,
            self._done,
            self.final_score,
            self.seat,
            self.observation,
            self._rows64,
            self._masks64,
        )
        return self._reward, self._done

    def state(self) -> Int8Array:
        """The full state of each row as the seat to move looks at it, int8 ``(N, state_size)``, for a centralised critic.

        The same array each time, overwritten by the next call.
        """
        if self._state_rows is None:
            self._state_rows = np.zeros((self.num_envs, self._game.state_size), np.int8)
        state_rows(self._states, self.seat, self._state_rows, self._state_rows.view(np.uint64))
        return self._state_rows

    def state_spec(self) -> ObsSpec:
        """Named slices of a ``state()`` row: those of the observation, then the hidden cards."""
        return self._game.obs_spec(state=True)

    def _row(self, i: int) -> int:
        return check_int("i", i, 0, self.num_envs - 1)

    def get_state(self, i: int) -> bytes:
        """The game in row i as bytes."""
        row = self._row(i)
        return pack(self._game, self._states[row : row + 1])

    def set_state(self, i: int, data: bytes) -> None:
        """Put a saved game into row i.

        Raises:
            StateError: the bytes are damaged, of another game, version or options, or of a game that is over.
        """
        row = self._row(i)
        states, decks = unpack(self._game, self._template, data)
        if states[0]["over"] or decks:
            what = "a game that is over" if states[0]["over"] else "a game with decks given for later deals"
            raise StateError(f"saved state: {what} cannot be played on in a BatchEnv")
        self._states[row] = states[0]
        self._show()

    def information(self, i: int, seat: int) -> Information:
        """What a seat of row i knows."""
        row = self._row(i)
        return Information(
            self._game, self.options, self._states[row : row + 1], check_int("seat", seat, 0, self.num_seats - 1)
        )
