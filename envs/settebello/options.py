"""Options of the games: frozen dataclasses that check themselves, and the checks they share."""

import dataclasses
import difflib
import numbers
import operator
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from settebello.cards import NUM_CARDS
from settebello.errors import OptionError

Episode = Literal["match", "deal"]
Reward = Literal["win", "points"]


def check_choice(name: str, value: object, allowed: Collection[object]) -> None:
    """Refuse a value that is not one of those allowed.

    Raises:
        OptionError: naming the option, the value and what is allowed.
    """
    plain = value.item() if isinstance(value, np.generic) else value
    if not any(plain is choice or (type(plain) is type(choice) and plain == choice) for choice in allowed):
        raise OptionError(f"{name}={value!r}: allowed are {', '.join(repr(choice) for choice in allowed)}")


def near_name(name: object, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the known one that was meant, if one is near."""
    near = difflib.get_close_matches(str(name), known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def whole_number(value: object) -> int | None:
    """The value as int if it is of an integer type, NumPy's included; None for bools and everything else."""
    if isinstance(value, bool | np.bool_):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def check_int(name: str, value: object, low: int, high: int) -> int:
    """The value as int, if it is a whole number in low..high.

    Raises:
        OptionError: naming the option, the value and what is allowed.
    """
    number = whole_number(value)
    if number is None or not low <= number <= high:
        raise OptionError(f"{name}={value!r}: expected a whole number from {low} to {high}")
    return number


def check_real(name: str, value: object, low: float, high: float) -> float:
    """The value as float, if it is a number in low..high.

    Raises:
        OptionError: naming the option, the value and what is allowed.
    """
    number = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    if not number or not low <= value <= high:  # type: ignore[operator]
        raise OptionError(f"{name}={value!r}: expected a number from {low:g} to {high:g}")
    return float(value)  # type: ignore[arg-type]


def is_list(value: object) -> bool:
    """Whether a value is a sequence of values: a list, a tuple or an array with at least one dimension, not text."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def check_cards(name: str, cards: Iterable[Any], expected: Collection[int]) -> list[int]:
    """The cards as ints, if they are exactly the expected ones, each once.

    Raises:
        OptionError: naming cards that are missing, doubled or foreign.
    """
    try:
        listed = [check_int(f"{name}[{i}]", card, 0, NUM_CARDS - 1) for i, card in enumerate(cards)]
    except TypeError as error:
        raise OptionError(f"{name}={cards!r}: expected a list of card indices") from error
    doubled = sorted({card for card in listed if listed.count(card) > 1})
    missing = sorted(set(expected) - set(listed))
    foreign = sorted(set(listed) - set(expected))
    if doubled or missing or foreign or len(listed) != len(expected):
        raise OptionError(
            f"{name}: expected each of {len(expected)} cards once, got {len(listed)}; "
            f"doubled {doubled}, missing {missing}, not in this game {foreign}"
        )
    return listed


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Options that every game has."""

    target: int = 21
    episode: Episode = "match"
    reward: Reward = "win"

    def __post_init__(self) -> None:
        object.__setattr__(self, "target", check_int("target", self.target, 1, 100))
        check_choice("episode", self.episode, ("match", "deal"))
        check_choice("reward", self.reward, ("win", "points"))

    def record(self) -> npt.NDArray[Any]:
        """An array of one state record that carries these options, no game begun."""
        raise NotImplementedError

    @classmethod
    def create(cls, border: Collection[str] = (), /, **options: Any) -> Self:
        """Options from keyword arguments; ``border`` names what an environment takes besides, for the message.

        Raises:
            OptionError: an option is unknown (a near name is suggested) or its value is not allowed.
        """
        names = [field.name for field in dataclasses.fields(cls)]
        known = [*names, *border]
        for name in options:
            if name not in names:
                raise OptionError(f"unknown option {name!r}{near_name(name, known)} (options: {', '.join(known)})")
        return cls(**options)
