"""What the result of a deal is worth to side 0: a table by the points of both sides."""

from typing import Any, Final

import numpy as np

from settebello.jit import kernel

MAX_POINTS: Final = 63  # deal points beyond count as this many
_POINTS = np.arange(MAX_POINTS + 1, dtype=np.float64)
POINT_UTILITY: Final = _POINTS[:, None] - _POINTS  # points of side 0 minus those of side 1


@kernel(inline=True)
def deal_worth(state: Any, utility: Any) -> float:
    """``utility[points of side 0, points of side 1]`` of a finished deal."""
    return utility[min(MAX_POINTS, np.int64(state["deal_points"][0])), min(MAX_POINTS, np.int64(state["deal_points"][1]))]


@kernel
def expected_worth(first: float, second: float, utility: Any) -> float:
    """The table at expected points of both sides, linear in between."""
    first = min(first, MAX_POINTS - 1.0)
    second = min(second, MAX_POINTS - 1.0)
    i = np.int64(first)
    j = np.int64(second)
    u = first - i
    v = second - j
    low = (1.0 - v) * utility[i, j] + v * utility[i, j + 1]
    high = (1.0 - v) * utility[i + 1, j] + v * utility[i + 1, j + 1]
    return (1.0 - u) * low + u * high
