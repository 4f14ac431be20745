"""What one seat knows of a game: an immutable copy, the same for every world the seat cannot tell apart."""

from typing import Any

import numpy as np

from settebello.errors import OptionError
from settebello.game import Game, Int8Array, Worlds, get_game, observe, redact, write_mask
from settebello.jit import kernel
from settebello.options import Options, whole_number
from settebello.saved import pack


@kernel
def redact_first(states: Any, seat: int) -> None:
    """Take out of the first record all that a seat cannot know."""
    redact(states[0], seat)


@kernel
def _observe(states: Any, seat: int, rows8: Any, rows64: Any, masks64: Any) -> None:
    state = states[0]
    observe(state, seat, rows8[0], rows64[0])
    if state["turn"] == seat:
        write_mask(state, masks64[0])


class Information:
    """What one seat knows. Opponents are given this and nothing else.

    It holds a record from which all that the seat cannot know was taken out; everything is read from that record.

    Args:
        game: the game.
        options: its options.
        states: array of one record; a redacted copy is kept.
        seat: the seat that knows.
    """

    __slots__ = ("_game", "_options", "_record", "_seat", "_worlds")

    def __init__(self, game: Game, options: Options, states: np.ndarray[Any, Any], seat: int) -> None:
        if not 0 <= seat < game.num_seats:
            raise OptionError(f"seat={seat!r}: {game.id} has seats 0..{game.num_seats - 1}")
        self._game = game
        self._options = options
        self._seat = int(seat)
        self._worlds: Worlds | None = None
        self._record = states.copy()
        redact_first(self._record, self._seat)
        self._record.setflags(write=False)

    @property
    def game(self) -> str:
        """Id of the game."""
        return self._game.id

    @property
    def seat(self) -> int:
        """The seat that knows this."""
        return self._seat

    @property
    def options(self) -> Options:
        """Options of the game."""
        return self._options

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Information):
            return NotImplemented
        return (self.game, self._seat, self.to_bytes()) == (other.game, other._seat, other.to_bytes())

    def __hash__(self) -> int:
        return hash((self.game, self._seat, self.to_bytes()))

    def __repr__(self) -> str:
        return f"<Information of seat {self._seat} in {self.game}, deal {self._record[0]['deal_number']}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.game, self._options, self.to_bytes(), self._seat)

    def to_bytes(self) -> bytes:
        """All that the seat knows, as bytes: equal exactly for positions the seat cannot tell apart."""
        return self._record.tobytes()

    def record(self) -> np.ndarray[Any, Any]:
        """An array of one state record without what the seat cannot know, for compiled opponents; a copy each time."""
        return self._record.copy()

    def snapshot(self) -> dict[str, Any]:
        """As ``snapshot()`` of the environment, with hidden hands as ``{"size", "known"}`` and the stock as its size."""
        return self._game.snapshot(self._record[0], self._seat)

    def _rows(self) -> tuple[Int8Array, Int8Array]:
        row = np.zeros((1, self._game.obs_size), np.int8)
        mask = np.zeros((1, self._game.mask_size), np.int8)
        _observe(self.record(), self._seat, row, row.view(np.uint64), mask.view(np.uint64))
        return row[0], mask[0, : self._game.num_actions]

    def observation(self) -> Int8Array:
        """The observation of the seat, int8 ``(obs_size,)``."""
        return self._rows()[0]

    def action_mask(self) -> Int8Array:
        """1 for each legal action, int8 ``(num_actions,)``; all zero when the seat is not to move."""
        return self._rows()[1]

    def legal_actions(self) -> list[int]:
        """Legal actions, sorted; empty when the seat is not to move."""
        return [int(action) for action in np.flatnonzero(self.action_mask())]

    def events(self, deal: int = 0) -> list[dict[str, Any]]:
        """Public events of the deal on the table, or with ``deal=-1`` of the deal counted last."""
        check_deal(deal)
        return self._game.events(self._record[0], deal)

    def sample_world(self, rng: np.random.Generator) -> bytes:
        """A state for ``set_state``, uniform over the worlds that agree with what the seat knows.

        Args:
            rng: the bytes depend on what the seat knows and on this alone.

        Raises:
            OptionError: rng is not a NumPy Generator.
        """
        if not isinstance(rng, np.random.Generator):
            raise OptionError(f"rng={rng!r}: expected a NumPy Generator, as numpy.random.default_rng(seed) makes")
        if self._worlds is None:
            self._worlds = self._game.worlds(self._record, self._seat)
        return pack(self._game, self._worlds.sample(rng))


def check_deal(deal: int) -> None:
    """Refuse a deal other than 0 (on the table) and -1 (counted last).

    Raises:
        OptionError: naming what is allowed.
    """
    if whole_number(deal) not in (0, -1):
        raise OptionError(f"deal={deal!r}: allowed are 0 (the deal on the table) and -1 (the deal counted last)")


def _restore(game_id: str, options: Options, record: bytes, seat: int) -> Information:
    game = get_game(game_id)
    return Information(game, options, np.frombuffer(record, game.dtype), seat)
