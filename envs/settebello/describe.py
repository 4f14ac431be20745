"""An observation row in plain Python: what every element says, for people and for tests."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from settebello.bazzica.state import DECLARATION_NAMES
from settebello.cards import JOLLIES, NUM_CARDS, SUIT_NAMES, cards_text
from settebello.errors import OptionError
from settebello.game import Game, get_game

RELATIVE_SEATS: Final[Mapping[int, tuple[str, ...]]] = MappingProxyType(
    {2: ("own", "next"), 4: ("own", "next", "partner", "previous")}
)
RELATIVE_SIDES: Final = ("own", "other")

Numbers = list[int]
Decoder = Callable[[Numbers], Any]


def describe(game_id: str, observation: npt.ArrayLike) -> dict[str, Any]:
    """What an observation (or a ``state()`` row) says.

    Args:
        game_id: ``tressette-2p``, ``tressette-4p`` or ``bazzica``.
        observation: int8 ``(obs_size,)``, or ``(state_size,)``.

    Returns:
        A value for each field of ``obs_spec()``, in its order. Card sets are sorted lists of card indices (``stock_order``
        in draw order); seats are ``own``, ``next``, ``partner``, ``previous``, sides ``own`` and ``other``, None where it is
        nobody; suits and declarations have their names; several numbers are a dict from what each belongs to.

    Raises:
        OptionError: unknown game, a row of the wrong length or dtype, an element outside the bounds of its field, or two in
            a field that names one.
    """
    game, row, is_state = _checked(game_id, observation)
    decoders = _decoders(game)
    result: dict[str, Any] = {}
    for name, start, stop, low, high, _ in game.obs_spec(state=is_state):
        numbers = [int(number) for number in row[start:stop]]
        if not all(low <= number <= high for number in numbers):
            raise OptionError(f"observation of {game.id}: {name} is {numbers}, expected numbers from {low} to {high}")
        try:
            result[name] = decoders[name](numbers)
        except _TwoAtOnceError as error:
            raise OptionError(f"observation of {game.id}: {name} is {numbers}, expected at most one 1") from error
    return result


def describe_text(game_id: str, observation: npt.ArrayLike) -> str:
    """What an observation (or a ``state()`` row) says, a line for each field: its name, what it says, what that means.

    Raises:
        OptionError: as ``describe``.
    """
    game, row, is_state = _checked(game_id, observation)
    values = describe(game_id, row)
    spec = game.obs_spec(state=is_state)
    width = max(len(name) for name, *_ in spec)
    card_fields = {name for name, start, stop, *_ in spec if _is_cards(start, stop)}
    texts = {name: cards_text(value) if name in card_fields else _plain(value) for name, value in values.items()}
    return "\n".join(f"{name:<{width}}  {texts[name] or '-'}  ({meaning})" for name, *_, meaning in spec)


def _plain(value: Any) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case dict():
            return ", ".join(f"{name} {_plain(item)}" for name, item in value.items())
        case list():
            return ", ".join(map(str, value))
        case _:
            return str(value)


def _checked(game_id: str, observation: npt.ArrayLike) -> tuple[Game, npt.NDArray[Any], bool]:
    """The game, the row, and whether it is a ``state()`` row."""
    game = get_game(game_id)
    row = np.asarray(observation)
    if row.dtype.kind not in "iu" or row.shape not in ((game.obs_size,), (game.state_size,)):
        raise OptionError(
            f"observation of dtype {row.dtype} and shape {row.shape}: expected integers, ({game.obs_size},) for {game.id}, "
            f"or ({game.state_size},) with its state"
        )
    return game, row, row.shape == (game.state_size,)


# --- one field -------------------------------------------------------------------------------------------------------------


class _TwoAtOnceError(Exception):
    """A field that names one thing names two."""


def _one(names: tuple[Any, ...]) -> Decoder:
    """One-hot over these names; None when all are zero."""

    def decode(numbers: Numbers) -> Any:
        if sum(numbers) > 1:
            raise _TwoAtOnceError
        return names[numbers.index(1)] if 1 in numbers else None

    return decode


def _some(names: tuple[Any, ...]) -> Decoder:
    """Those of the names that are marked."""
    return lambda numbers: [name for name, number in zip(names, numbers, strict=True) if number]


def _each(names: tuple[Any, ...]) -> Decoder:
    """A number for each name."""
    return lambda numbers: dict(zip(names, numbers, strict=True))


def _flag(numbers: Numbers) -> bool:
    return bool(numbers[0])


def _number(numbers: Numbers) -> int:
    return numbers[0]


def _cards(numbers: Numbers) -> list[int]:
    return [card for card, number in enumerate(numbers) if number]


def _draw_order(numbers: Numbers) -> list[int]:
    return sorted(_cards(numbers), key=lambda card: numbers[card])


def _is_cards(start: int, stop: int) -> bool:
    return stop - start == NUM_CARDS


def _decoders(game: Game) -> dict[str, Decoder]:
    """How each field of a game is read; those not listed by their width and bound."""
    decoders: dict[str, Decoder] = {}
    for name, start, stop, _, high, _ in game.obs_spec(state=True):
        single = _flag if high == 1 else _number
        decoders[name] = _cards if _is_cards(start, stop) else single if stop - start == 1 else list
    decoders["stock_order"] = _draw_order
    special = _bazzica_decoders() if game.id == "bazzica" else _tressette_decoders(RELATIVE_SEATS[game.num_seats])
    return decoders | special


def _tressette_decoders(seats: tuple[str, ...]) -> dict[str, Decoder]:
    return {
        **dict.fromkeys(("turn", "leader", "dealer", "winning"), _one(seats)),
        "led_suit": _one(SUIT_NAMES),
        **{f"{name}_{seat}": _some(SUIT_NAMES) for name in ("void", "napoletane") for seat in seats},
        "hand_sizes": _each(seats),
        **dict.fromkeys(("thirds", "cards_taken", "score", "deal_points"), _each(RELATIVE_SIDES)),
    }


def _bazzica_decoders() -> dict[str, Decoder]:
    seats, values = RELATIVE_SEATS[2], tuple(range(1, 11))
    return {
        **dict.fromkeys(("turn", "last_taker", "settebello_taken"), _one(seats)),
        **dict.fromkeys(("pending_value", "settebello_value", "re_value"), _one(values)),
        "pending_suit": _one(SUIT_NAMES),
        **dict.fromkeys(("declared_own", "declared_next"), _one(DECLARATION_NAMES)),
        "known_next": _some(JOLLIES),
        "table_values": _each(values),
        **dict.fromkeys(("primiera_own", "primiera_next"), _each(SUIT_NAMES)),
        **dict.fromkeys(("hand_sizes", "cards_taken", "denari_taken", "scope", "declarations", "score"), _each(seats)),
        "declaration_points": _each(DECLARATION_NAMES),
    }
