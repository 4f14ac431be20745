"""Opponents whose choice is one compiled call: the random one, and the two that play by rules of thumb."""

import functools
from typing import Any, Final

import numba
import numpy as np
import numpy.typing as npt

import settebello.bazzica.heuristic
import settebello.bazzica.rules
import settebello.tressette.heuristic
import settebello.tressette.rules
from settebello.batch import BatchEnv, check_seed
from settebello.bits import advance, mix, seed_stream
from settebello.errors import OptionError
from settebello.game import get_game
from settebello.information import Information
from settebello.jit import address, call, kernel
from settebello.options import check_choice

COMPILED_LEVELS: Final = ("random", "easy", "medium")
_MODULES: Final = {
    "tressette": (settebello.tressette.rules, settebello.tressette.heuristic),
    "bazzica": (settebello.bazzica.rules, settebello.bazzica.heuristic),
}


@functools.cache
def policy(game: str, level: str) -> Any:
    """The kernel of a compiled level ``(record, word) -> action``, as an address for ``jit.call``; compiled at the first use.

    It plays for the seat to move and reads nothing of the record that this seat does not know. ``word`` is a random uint64.
    """
    rules, heuristic = _MODULES["bazzica" if game == "bazzica" else "tressette"]
    function = rules.random_action if level == "random" else getattr(heuristic, f"{level}_action")
    return address(function, numba.int64(numba.from_dtype(get_game(game).dtype), numba.uint64))


@kernel
def _seed_words(words: Any, seed: int) -> None:
    for i in range(len(words)):
        words[i] = seed_stream(seed, i)


@kernel
def _act_rows(states: Any, rows: Any, policy: Any, words: Any, actions: Any) -> None:
    for k in range(len(rows)):
        row = rows[k]
        words[row] = advance(words[row])
        actions[k] = call(policy, states[row], mix(words[row]))


def seed_or_entropy(seed: int | None) -> int:
    """The seed of an opponent; from the system's entropy for None.

    Raises:
        OptionError: it is not a whole number in 0..2**63-1.
    """
    return int(np.random.default_rng().integers(2**63)) if seed is None else check_seed(seed)


def check_rows(batch: BatchEnv, rows: Any) -> npt.NDArray[np.int64]:
    """Row numbers as int64 ``(n,)``.

    Raises:
        OptionError: they are not whole numbers in 0..N-1.
    """
    chosen = np.asarray(rows)
    whole = chosen.ndim == 1 and (chosen.dtype.kind in "iu" or chosen.size == 0)
    if not whole or not ((chosen >= 0) & (chosen < batch.num_envs)).all():
        raise OptionError(f"rows={rows!r}: expected whole numbers from 0 to {batch.num_envs - 1} in one dimension")
    return chosen.astype(np.int64)


def check_game(loaded: str, asked: str) -> None:
    """Refuse to play another game than the one an opponent was loaded for.

    Raises:
        OptionError: naming both.
    """
    if loaded != asked:
        raise OptionError(f"an opponent loaded for {loaded!r} cannot play {asked!r}: load one for that game")


def check_turn(record: npt.NDArray[Any], seat: int) -> None:
    """Refuse to play for a seat that is not to move.

    Raises:
        OptionError: naming the seat.
    """
    if record["turn"][0] != seat:
        raise OptionError(f"seat {seat} is not to move")


class CompiledOpponent:
    """Plays at one of the levels ``random``, ``easy`` and ``medium``.

    Args:
        game: id of the game.
        level: "random" plays any legal action, each as likely as any other; "easy" plays plausible cards, forgets what is
            out and errs often; "medium" plays by all that good club players know.
        seed: of its own random streams, one for ``act`` and one a row for ``act_batch``; None takes the system's entropy.

    Raises:
        OptionError: unknown game or level, or the seed is not a whole number in 0..2**63-1.
    """

    def __init__(self, game: str, level: str, seed: int | None = None) -> None:
        self.game = get_game(game).id
        check_choice("level", level, COMPILED_LEVELS)
        self.level = level
        self.reseed(seed)

    def reseed(self, seed: int | None) -> None:
        """Start the random streams anew.

        Raises:
            OptionError: the seed is not a whole number in 0..2**63-1.
        """
        self.seed = seed_or_entropy(seed)
        self._words = np.zeros(0, np.uint64)  # by row
        self._word = np.zeros(1, np.uint64)
        _seed_words(self._word, self.seed)

    @property
    def name(self) -> str:
        """What results call it."""
        return self.level

    def __repr__(self) -> str:
        return f"<{self.level} opponent for {self.game}>"

    def act(self, information: Information) -> int:
        """An action of the seat that knows this.

        Raises:
            OptionError: that seat is not to move, or the information is of another game.
        """
        check_game(self.game, information.game)
        record = information.record()
        check_turn(record, information.seat)
        actions = np.empty(1, np.int64)
        _act_rows(record, np.zeros(1, np.int64), policy(self.game, self.level), self._word, actions)
        return int(actions[0])

    def act_batch(self, batch: BatchEnv, rows: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
        """An action for the seat to move of each of these rows.

        Args:
            batch: the games.
            rows: ``(n,)``, any integer dtype, each row once.

        Returns:
            int64 ``(n,)``.

        Raises:
            OptionError: rows are not whole numbers in 0..N-1, or the games are other ones.
        """
        check_game(self.game, batch.game)
        chosen = check_rows(batch, rows)
        if len(self._words) < batch.num_envs:
            words = np.empty(batch.num_envs, np.uint64)
            _seed_words(words, self.seed)
            words[: len(self._words)] = self._words
            self._words = words
        actions = np.empty(len(chosen), np.int64)
        _act_rows(batch._states, chosen, policy(self.game, self.level), self._words, actions)
        return actions
