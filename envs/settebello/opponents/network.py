"""Networks on the CPU without torch: compiled layers that pass over zeros, of which rows and hidden layers are mostly made."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from settebello.errors import OptionError
from settebello.jit import kernel

Float32Array = npt.NDArray[np.float32]

ANEW_EVERY: Final = 64  # rows; what rounding adds up to over so many changes stays far below 1e-5 of a value


def layers_to(weights: Mapping[str, Float32Array], head: str) -> list[tuple[Float32Array, Float32Array]]:
    """Weight and bias of each layer from the input to a head ("policy" or "value") of what ``read_weights`` gives."""
    depth = sum(name.startswith("trunk.") and name.endswith(".bias") for name in weights)
    names = (*(f"trunk.{k}" for k in range(depth)), head)
    return [(weights[f"{name}.weight"], weights[f"{name}.bias"]) for name in names]


def input_scale(high: npt.NDArray[Any]) -> Float32Array:
    """What networks multiply a row by: each element by 1 over the most it can be, those that are always 0 by 0."""
    most = high.astype(np.float32)
    scale: Float32Array = np.where(most > 0, 1 / np.maximum(most, 1), 0).astype(np.float32)
    return scale


@kernel(inline=True)
def _add_rows(total: Any, weight: Any, places: Any, amounts: Any, count: Any) -> None:
    """Add to a vector these rows of a matrix, each times its amount; four at a time, as the vector's traffic costs most."""
    k = np.int64(0)
    while k + 4 <= count:
        row0, row1, row2, row3 = weight[places[k]], weight[places[k + 1]], weight[places[k + 2]], weight[places[k + 3]]
        by0, by1, by2, by3 = amounts[k], amounts[k + 1], amounts[k + 2], amounts[k + 3]
        for i in range(len(total)):
            total[i] += by0 * row0[i] + by1 * row1[i] + by2 * row2[i] + by3 * row3[i]
        k += 4
    while k < count:
        row0, by0 = weight[places[k]], amounts[k]
        for i in range(len(total)):
            total[i] += by0 * row0[i]
        k += 1


@kernel
def _first_layer(rows: Any, weight: Any, bias: Any, anew_every: int, outputs: Any) -> None:
    """Outputs of int8 rows: each is that of the row before and what has changed, every so many rows made anew."""
    size = rows.shape[1]
    places, amounts = np.empty(size, np.int64), np.empty(size, np.float32)
    for r in range(len(rows)):
        anew = r % anew_every == 0
        outputs[r] = bias if anew else outputs[r - 1]
        count = np.int64(0)
        for j in range(size):
            change = np.int64(rows[r, j])
            if not anew:
                change -= np.int64(rows[r - 1, j])
            if change != 0:
                places[count] = j
                amounts[count] = change
                count += 1
        _add_rows(outputs[r], weight, places, amounts, count)


@kernel
def _next_layer(inputs: Any, weight: Any, bias: Any, outputs: Any) -> None:
    """Outputs of the rectified outputs of the layer before."""
    size = inputs.shape[1]
    places, amounts = np.empty(size, np.int64), np.empty(size, np.float32)
    for r in range(len(inputs)):
        count = np.int64(0)
        for j in range(size):  # no branch: which are above 0 cannot be foreseen
            places[count] = j
            amounts[count] = inputs[r, j]
            count += np.int64(inputs[r, j] > 0)
        outputs[r] = bias
        _add_rows(outputs[r], weight, places, amounts, count)


class Network:
    """A multi-layer perceptron from a row to one of its heads.

    Args:
        weights: as ``read_weights`` gives them.
        head: "policy" or "value".
        high: the most each element of a row can be.
        alike: rows of one call differ little, so that each is computed from the one before, which is quicker; without it
            one row gives one result to the last bit, whatever the other rows are.
    """

    def __init__(self, weights: Mapping[str, Float32Array], head: str, high: npt.NDArray[Any], *, alike: bool = False) -> None:
        layers = layers_to(weights, head)
        self._weights = [np.array(weight.T, order="C") for weight, _ in layers]
        self._weights[0] = self._weights[0] * input_scale(high)[:, None]
        self._biases = [np.array(bias) for _, bias in layers]
        self._anew_every = ANEW_EVERY if alike else 1

    def __call__(self, rows: npt.NDArray[np.int8]) -> Float32Array:
        """Outputs float32 ``(n, outputs)`` of rows int8 ``(n, size)``, logits not yet masked.

        Raises:
            OptionError: the rows are of another type or size.
        """
        size = len(self._weights[0])
        if rows.dtype != np.int8 or rows.ndim != 2 or rows.shape[1] != size:
            raise OptionError(f"rows: expected int8 of shape (n, {size}), got {rows.dtype} of shape {rows.shape}")
        outputs = np.empty((len(rows), len(self._biases[0])), np.float32)
        _first_layer(np.ascontiguousarray(rows), self._weights[0], self._biases[0], self._anew_every, outputs)
        for weight, bias in zip(self._weights[1:], self._biases[1:], strict=True):
            inputs, outputs = outputs, np.empty((len(rows), len(bias)), np.float32)
            _next_layer(inputs, weight, bias, outputs)
        return outputs
