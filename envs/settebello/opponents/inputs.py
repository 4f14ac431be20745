"""What networks are shown: the observation, for a critic also the hidden cards, and in bazzica hints on what a card would do.

A row for a policy is the observation and the hints; a row for a critic has the hidden cards (as ``state()``) between them.
"""

import dataclasses
import functools
import hashlib
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from settebello.batch import BatchEnv
from settebello.bazzica.hints import FIELDS, write_hints
from settebello.game import Game, Int8Array, ObsSpec, SuitLayout, bounds_of, get_game, spec_of
from settebello.information import Information
from settebello.jit import kernel
from settebello.opponents.compiled import check_rows
from settebello.spec import Field, row_size

HINTS: Final = {"bazzica": FIELDS}


@kernel
def _write_hints(states: Any, places: Any, rows: Any) -> None:
    for k in range(len(places)):
        write_hints(states[places[k]], rows[k])


@dataclasses.dataclass(frozen=True)
class Inputs:
    """Rows for the networks of one game.

    Attributes:
        game: the game.
        hints: parts that follow what the environments show.
    """

    game: Game
    hints: tuple[Field, ...]

    def fields(self, *, critic: bool = False) -> tuple[Field, ...]:
        """Parts of a row, in order."""
        return self.game.fields + (self.game.state_fields if critic else ()) + self.hints

    def spec(self, *, critic: bool = False) -> ObsSpec:
        """Named slices of a row: ``(name, start, stop, low, high, meaning)``."""
        return spec_of(self.fields(critic=critic))

    def bounds(self, *, critic: bool = False) -> tuple[Int8Array, Int8Array]:
        """Lowest and highest value of each element."""
        return bounds_of(self.fields(critic=critic))

    def size(self, *, critic: bool = False) -> int:
        """int8 elements of a row."""
        return row_size(self.fields(critic=critic))

    def suits(self, *, critic: bool = False) -> SuitLayout:
        """Which elements belong to suits that the rules do not tell apart."""
        return self.game.suit_layout(self.fields(critic=critic))

    def policy_part(self) -> npt.NDArray[np.int64]:
        """int64 ``(size,)``: where the elements of a policy's row stand in a critic's."""
        hints = row_size(self.hints)
        return np.concatenate([np.arange(self.game.obs_size), np.arange(self.game.state_size, self.game.state_size + hints)])

    def spec_hash(self) -> str:
        """SHA-256 of what a network depends on: version, number of actions, and names, places and bounds of its input."""
        text = repr((self.game.id, self.game.version, self.game.num_actions, [entry[:5] for entry in self.spec()]))
        return hashlib.sha256(text.encode()).hexdigest()

    def with_hints(self, shown: Int8Array, states: npt.NDArray[Any], places: npt.NDArray[np.int64]) -> Int8Array:
        """Rows (n, size) of rows of an environment (n, k) and the hints for the seats to move of the states at these places."""
        if not self.hints:
            return shown
        hints = np.zeros((len(places), row_size(self.hints)), np.int8)
        _write_hints(states, places, hints)
        return np.concatenate([shown, hints], axis=1)

    def of_batch(self, batch: BatchEnv, rows: npt.NDArray[np.integer[Any]] | None = None, *, critic: bool = False) -> Int8Array:
        """Rows int8 ``(n, size)`` for the seats to move of a batch, a fresh array.

        Raises:
            OptionError: rows are not whole numbers in 0..N-1.
        """
        chosen = np.arange(batch.num_envs) if rows is None else check_rows(batch, rows)
        shown: Int8Array = batch.state() if critic else batch.observation
        return self.with_hints(shown[chosen], batch._states, chosen)

    def of_information(self, information: Information) -> Int8Array:
        """Row int8 ``(size,)`` for the seat that knows this; its hints are 0 where it is not to move."""
        record, row = information.record(), np.zeros(self.size(), np.int8)
        row[: self.game.obs_size] = information.observation()
        if record[0]["turn"] == information.seat:
            row[:] = self.with_hints(row[None, : self.game.obs_size], record, np.zeros(1, np.int64))[0]
        return row


@functools.cache
def inputs_of(game_id: str) -> Inputs:
    """What the networks of a game are shown.

    Raises:
        OptionError: there is no such game.
    """
    game = get_game(game_id)
    return Inputs(game, HINTS.get(game.id, ()))
