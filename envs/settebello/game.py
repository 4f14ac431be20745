"""What a game is to the rest of the package: its record, sizes, options, views and kernels; and the registry of ids.

The kernels of both games have the same names and arguments. Kernels that serve any game (in batch.py and above) call the
functions at the end of this file, and Numba picks the game's own at compile time by the type of the record.
"""

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, Protocol

import numba
import numpy as np
import numpy.typing as npt
from numba.extending import overload

import settebello.bazzica.observe
import settebello.bazzica.playout
import settebello.bazzica.rules
import settebello.bazzica.sample
import settebello.bazzica.valid
import settebello.bazzica.views
import settebello.tressette.observe
import settebello.tressette.playout
import settebello.tressette.rules
import settebello.tressette.sample
import settebello.tressette.valid
import settebello.tressette.views
from settebello.bazzica.options import BazzicaOptions
from settebello.bazzica.sample import BazzicaWorlds
from settebello.bazzica.state import STATE_DTYPE as BAZZICA_DTYPE
from settebello.cards import NUM_CARDS, NUM_RANKS, NUM_SUITS
from settebello.errors import OptionError
from settebello.options import Options, near_name
from settebello.spec import Field, row_size
from settebello.tressette.options import TressetteOptions
from settebello.tressette.sample import TressetteWorlds
from settebello.tressette.state import STATE_DTYPE as TRESSETTE_DTYPE

Int8Array = npt.NDArray[np.int8]
ObsSpec = list[tuple[str, int, int, int, int, str]]


class Worlds(Protocol):
    """Draws full records that agree with a redacted one."""

    def sample(self, rng: np.random.Generator) -> np.ndarray[Any, Any]:
        """An array of one full record, uniform over those that agree."""


@dataclasses.dataclass(frozen=True)
class SuitLayout:
    """Which elements of a row, or which actions, belong to suits that the rules do not tell apart.

    Exchanging two rows of ``by_suit`` in an observation gives the observation of the same game with these suits exchanged.

    Attributes:
        by_suit: int64 ``(suits, k)``, a row for each of these suits; the elements of a column mean the same.
        rest: int64 ``(m,)``, all others, in order.
    """

    by_suit: npt.NDArray[np.int64]
    rest: npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class Game:
    """One game. Everything above the rules goes through this.

    Attributes:
        id: name in this package, for example ``tressette-2p``.
        env_name: name in the registries, for example ``tressette_2p``.
        gym_name: name in Gymnasium's registry, for example ``Tressette2p``.
        version: raised when observations, actions or rules change.
        dtype: dtype of one state record.
        num_seats: seats at the table; seat k is of side k % 2.
        num_actions: size of the action space.
        mask_size: int8 elements of a mask row: num_actions rounded up to a multiple of 8.
        fields: parts of an observation row.
        state_fields: parts that ``state()`` adds to the observation row.
        equal_suits: suits that the rules do not tell apart.
    """

    id: str
    env_name: str
    gym_name: str
    version: int
    dtype: np.dtype[Any]
    num_seats: int
    num_actions: int
    fields: tuple[Field, ...]
    state_fields: tuple[Field, ...]
    equal_suits: tuple[int, ...]
    options_type: type[TressetteOptions] | type[BazzicaOptions]
    fixed_options: Mapping[str, Any]
    option_fields: tuple[str, ...]
    snapshot: Callable[..., dict[str, Any]]
    events: Callable[[Any, int], list[dict[str, Any]]]
    action_text: Callable[[int], str]
    valid: Callable[[Any], bool]
    worlds: Callable[[np.ndarray[Any, Any], int], Worlds]
    new_tables: Callable[[], np.ndarray[Any, Any]]

    def __reduce__(self) -> tuple[Callable[[str], "Game"], tuple[str]]:
        return get_game, (self.id,)

    @property
    def agents(self) -> list[str]:
        """Agent names by seat."""
        return [f"player_{seat}" for seat in range(self.num_seats)]

    @property
    def mask_size(self) -> int:
        """int8 elements of a mask row in memory: ``num_actions`` rounded up to whole 64-bit words."""
        return -(-self.num_actions // 8) * 8

    @property
    def obs_size(self) -> int:
        """int8 elements of an observation row."""
        return row_size(self.fields)

    @property
    def state_size(self) -> int:
        """int8 elements of a ``state()`` row."""
        return self.obs_size + row_size(self.state_fields)

    def deck_size(self, state: Any) -> int:
        """Cards of the deck of a record."""
        return int(state["deck_size"]) if "deck_size" in self.option_fields else NUM_CARDS

    def options(self, border: Collection[str] = (), /, **options: Any) -> Options:
        """Checked options of this game; ``border`` names what an environment takes besides, for the message.

        Raises:
            OptionError: an option is unknown, fixed by the game, or its value is not allowed.
        """
        for name in options:
            if name in self.fixed_options:
                raise OptionError(f"option {name!r} is fixed to {self.fixed_options[name]!r} by the game {self.id!r}")
        return self.options_type.create(border, **options, **self.fixed_options)

    def obs_spec(self, *, state: bool = False) -> ObsSpec:
        """Named slices of an observation row (of a ``state()`` row): ``(name, start, stop, low, high, meaning)``."""
        return spec_of(self.fields + (self.state_fields if state else ()))

    def bounds(self, *, state: bool = False) -> tuple[Int8Array, Int8Array]:
        """Lowest and highest value of each element of an observation (of a ``state()``) row."""
        return bounds_of(self.fields + (self.state_fields if state else ()))

    def suit_layout(self, fields: Iterable[Field]) -> SuitLayout:
        """Which elements of a row made of these parts belong to suits that the rules do not tell apart."""
        suits = []
        for field in fields:
            has_suits = field.by_suit or field.width == NUM_CARDS
            suits.append(np.repeat(np.arange(NUM_SUITS), field.width // NUM_SUITS) if has_suits else np.full(field.width, -1))
        return self._suit_layout(np.concatenate(suits))

    def action_suits(self) -> SuitLayout:
        """Which actions are of cards of suits that the rules do not tell apart."""
        of_cards = np.tile(np.repeat(np.arange(NUM_SUITS), NUM_RANKS), self.num_actions // NUM_CARDS)  # in bazzica twice
        return self._suit_layout(np.concatenate([of_cards, np.full(self.num_actions % NUM_CARDS, -1)]))

    def _suit_layout(self, suits: npt.NDArray[Any]) -> SuitLayout:
        by_suit = np.stack([np.flatnonzero(suits == suit) for suit in self.equal_suits])
        return SuitLayout(by_suit, np.flatnonzero(~np.isin(suits, self.equal_suits)))


def spec_of(fields: Iterable[Field]) -> ObsSpec:
    """Named slices of a row made of these parts: ``(name, start, stop, low, high, meaning)``."""
    spec, start = [], 0
    for field in fields:
        spec.append((field.name, start, start + field.width, field.low, field.high, field.meaning))
        start += field.width
    return spec


def bounds_of(fields: Iterable[Field]) -> tuple[Int8Array, Int8Array]:
    """Lowest and highest value of each element of a row made of these parts."""
    parts = tuple(fields)
    widths = [field.width for field in parts]
    low = np.repeat(np.array([field.low for field in parts], np.int8), widths)
    high = np.repeat(np.array([field.high for field in parts], np.int8), widths)
    return low, high


def _critic_fields(*hands: str) -> tuple[Field, ...]:
    return (
        *(Field(f"hand_{name}", NUM_CARDS, f"cards in the hand of the seat `{name}`") for name in hands),
        Field("stock_order", NUM_CARDS, "place of each card in the stock, from 1 (drawn next); 0 elsewhere", NUM_CARDS),
    )


def _tressette(players: int) -> Game:
    hands = ("next",) if players == 2 else ("next", "partner", "previous")
    return Game(
        id=f"tressette-{players}p",
        env_name=f"tressette_{players}p",
        gym_name=f"Tressette{players}p",
        version=0,
        dtype=TRESSETTE_DTYPE,
        num_seats=players,
        num_actions=settebello.tressette.rules.NUM_ACTIONS,
        fields=settebello.tressette.observe.fields(players),
        state_fields=_critic_fields(*hands),
        equal_suits=(0, 1, 2, 3),
        options_type=TressetteOptions,
        fixed_options=MappingProxyType({"players": players}),
        option_fields=(
            *("players", "target", "napoletana", "deck_cards", "deck_size", "hand_size"),
            *("single_deal", "points_reward"),
        ),
        snapshot=settebello.tressette.views.snapshot,
        events=settebello.tressette.views.events,
        action_text=settebello.tressette.views.action_text,
        valid=settebello.tressette.valid.valid,
        worlds=TressetteWorlds,
        new_tables=settebello.tressette.sample.new_tables,
    )


_BAZZICA: Final = Game(
    id="bazzica",
    env_name="bazzica",
    gym_name="Bazzica",
    version=0,
    dtype=BAZZICA_DTYPE,
    num_seats=2,
    num_actions=settebello.bazzica.rules.NUM_ACTIONS,
    fields=settebello.bazzica.observe.FIELDS,
    state_fields=_critic_fields("next"),
    equal_suits=(1, 2, 3),  # denari count, and have the jollies
    options_type=BazzicaOptions,
    fixed_options=MappingProxyType({}),
    option_fields=("target", "low_sum_max", "declaration_points", "last_card_scopa", "single_deal", "points_reward"),
    snapshot=settebello.bazzica.views.snapshot,
    events=settebello.bazzica.views.events,
    action_text=settebello.bazzica.views.action_text,
    valid=settebello.bazzica.valid.valid,
    worlds=BazzicaWorlds,
    new_tables=settebello.bazzica.sample.new_tables,
)

GAMES: Final[Mapping[str, Game]] = MappingProxyType({game.id: game for game in (_tressette(2), _tressette(4), _BAZZICA)})


def get_game(game_id: str) -> Game:
    """The game of an id.

    Raises:
        OptionError: there is no such game.
    """
    if not isinstance(game_id, str) or game_id not in GAMES:
        raise OptionError(f"unknown game {game_id!r}{near_name(game_id, GAMES)} (games: {', '.join(GAMES)})")
    return GAMES[game_id]


# --- kernels of whichever game a record belongs to -------------------------------------------------------------------------

_KERNELS: Final = (
    (
        TRESSETTE_DTYPE,
        numba.from_dtype(TRESSETTE_DTYPE),
        (
            settebello.tressette.rules,
            settebello.tressette.observe,
            settebello.tressette.sample,
            settebello.tressette.playout,
        ),
    ),
    (
        BAZZICA_DTYPE,
        numba.from_dtype(BAZZICA_DTYPE),
        (
            settebello.bazzica.rules,
            settebello.bazzica.observe,
            settebello.bazzica.sample,
            settebello.bazzica.playout,
        ),
    ),
)


def _by_record(name: str, *, inline: bool = True) -> Callable[..., Any]:
    """A function that calls the kernel ``name`` of the game whose record is its first argument, compiled or not."""

    def find(dtype: object) -> Any:
        for plain_type, compiled_type, modules in _KERNELS:
            if dtype in (plain_type, compiled_type):
                return next(getattr(module, name) for module in modules if hasattr(module, name))
        return None

    def kernel_of(state: Any, *arguments: Any) -> Any:
        return find(state.dtype)(state, *arguments)

    def compiled(state: Any, *arguments: Any) -> Any:
        kernel = find(state)
        return None if kernel is None else kernel.py_func

    options = {"error_model": "numpy", "forceinline": inline, "nogil": True}
    overload(kernel_of, jit_options=options, strict=False)(compiled)
    return kernel_of


new_game: Final = _by_record("new_game")
distribute: Final = _by_record("distribute")
step: Final = _by_record("step")
finish: Final = _by_record("finish")
is_legal: Final = _by_record("is_legal")
random_action: Final = _by_record("random_action")
observe: Final = _by_record("observe")
write_mask: Final = _by_record("write_mask")
write_state: Final = _by_record("write_state")
redact: Final = _by_record("redact")
prepare: Final = _by_record("prepare", inline=False)
fill_unknown: Final = _by_record("fill_unknown", inline=False)
plausibility: Final = _by_record("plausibility", inline=False)
play_out: Final = _by_record("play_out", inline=False)
