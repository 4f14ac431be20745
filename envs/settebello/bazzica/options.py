"""Options of Scopa-bazzica, and the record that carries them."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from settebello.bazzica.state import (
    DECLARATION_NAMES,
    DECLARATION_POINTS,
    LOW_SUM_MAX,
    MAX_DECLARATION_POINTS,
    MAX_LOW_SUM,
    MIN_LOW_SUM,
    NO_CARD,
    NOBODY,
    STATE_DTYPE,
)
from settebello.errors import OptionError
from settebello.options import Options, check_choice, check_int


class DeclarationPoints(Mapping[str, int]):
    """Points by declaration name, weakest declaration first. Like a dict, but hashable and not to be changed."""

    def __init__(self, points: Mapping[str, int]) -> None:
        self._points = tuple(points.items())

    def __getitem__(self, name: str) -> int:
        return dict(self._points)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict(self._points))

    def __len__(self) -> int:
        return len(self._points)

    def __hash__(self) -> int:
        return hash(self._points)

    def __repr__(self) -> str:
        return repr(dict(self._points))


@dataclasses.dataclass(frozen=True, kw_only=True)
class BazzicaOptions(Options):
    """Options of Scopa-bazzica.

    Attributes:
        target: points that end the match, 1..100.
        declaration_points: points by declaration name (None: pariglia 1, meno_di_nove 2, pariglia_meno_di_nove 3,
            bazzicotto 7); names left out keep their default.
        low_sum_max: the three cards of a meno di nove add up to at most this, 3..30.
        last_card_scopa: whether the last card played in a deal may make a scopa.
        episode: "match", or "deal" for one deal.
        reward: "win" (+1/-1 at the end) or "points" (own points minus the other side's, when scored).
    """

    target: int = 31
    declaration_points: Mapping[str, int] | None = None
    low_sum_max: int = LOW_SUM_MAX
    last_card_scopa: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "low_sum_max", check_int("low_sum_max", self.low_sum_max, MIN_LOW_SUM, MAX_LOW_SUM))
        check_choice("last_card_scopa", self.last_card_scopa, (False, True))
        if self.declaration_points is None:
            return
        if not isinstance(self.declaration_points, Mapping):
            raise OptionError(f"declaration_points={self.declaration_points!r}: expected a dict from name to points")
        points = dict(zip(DECLARATION_NAMES, DECLARATION_POINTS, strict=True))
        for name, value in self.declaration_points.items():
            check_choice("a name in declaration_points", name, DECLARATION_NAMES)
            points[name] = check_int(f"declaration_points[{name!r}]", value, 0, MAX_DECLARATION_POINTS)
        is_default = tuple(points.values()) == DECLARATION_POINTS
        object.__setattr__(self, "declaration_points", None if is_default else DeclarationPoints(points))

    def record(self) -> npt.NDArray[Any]:
        """An array of one state record that carries these options, no game begun."""
        states = np.zeros(1, STATE_DTYPE)
        state = states[0]
        points = DECLARATION_POINTS if self.declaration_points is None else tuple(self.declaration_points.values())
        state["pending"] = NO_CARD
        state["last_taker"] = NOBODY
        state["target"] = self.target
        state["low_sum_max"] = self.low_sum_max
        state["declaration_points"] = points
        state["last_card_scopa"] = self.last_card_scopa
        state["single_deal"] = self.episode == "deal"
        state["points_reward"] = self.reward == "points"
        return states
