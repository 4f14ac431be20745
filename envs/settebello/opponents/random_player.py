"""The opponent that plays any legal action, each as likely as any other."""

from typing import Any

import numpy as np
import numpy.typing as npt

from settebello.batch import BatchEnv, check_seed
from settebello.bits import advance, seed_stream
from settebello.errors import OptionError
from settebello.game import random_action
from settebello.information import Information
from settebello.jit import kernel


@kernel
def _seed_words(words: Any, seed: int) -> None:
    for i in range(len(words)):
        words[i] = seed_stream(seed, i)


@kernel
def _random_rows(states: Any, rows: Any, words: Any, actions: Any) -> None:
    for k in range(len(rows)):
        row = rows[k]
        words[row] = advance(words[row])
        actions[k] = random_action(states[row], words[row])


class RandomOpponent:
    """Plays uniformly over the legal actions.

    Args:
        seed: of its own random streams, one for ``act`` and one a row for ``act_batch``; None takes the system's entropy.

    Raises:
        OptionError: the seed is not a whole number in 0..2**63-1.
    """

    def __init__(self, seed: int | None = None) -> None:
        if seed is None:
            seed = int(np.random.default_rng().integers(2**63))
        self.seed = check_seed(seed)
        self._rng = np.random.default_rng(self.seed)
        self._words = np.zeros(0, np.uint64)

    def act(self, information: Information) -> int:
        """A legal action of the seat that knows this.

        Raises:
            OptionError: that seat is not to move.
        """
        legal = information.legal_actions()
        if not legal:
            raise OptionError(f"seat {information.seat} is not to move")
        return legal[int(self._rng.integers(len(legal)))]

    def act_batch(self, batch: BatchEnv, rows: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
        """A legal action for the seat to move of each of these rows.

        Args:
            batch: the games.
            rows: ``(n,)``, any integer dtype, each row once.

        Returns:
            int64 ``(n,)``.

        Raises:
            OptionError: rows are not whole numbers in 0..N-1.
        """
        chosen = np.asarray(rows)
        whole = chosen.ndim == 1 and chosen.dtype.kind in "iu"
        if not whole or not ((chosen >= 0) & (chosen < batch.num_envs)).all():
            raise OptionError(f"rows={rows!r}: expected whole numbers from 0 to {batch.num_envs - 1} in one dimension")
        if len(self._words) < batch.num_envs:
            words = np.empty(batch.num_envs, np.uint64)
            _seed_words(words, self.seed)
            words[: len(self._words)] = self._words
            self._words = words
        actions = np.empty(len(chosen), np.int64)
        _random_rows(batch._states, chosen.astype(np.int64), self._words, actions)
        return actions
