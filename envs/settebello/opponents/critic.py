"""The critic in NumPy: its layers do to each equal suit the same, and so take a third of the arithmetic of dense ones."""

import itertools
from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from settebello.errors import CheckpointError
from settebello.opponents.exported import input_scale, layers_to
from settebello.opponents.inputs import inputs_of

Float32Array = npt.NDArray[np.float32]

SUITS_AND_REST: Final = 5  # a hidden layer's width has a fifth for each equal suit, and what is left for everything else
TOLERANCE: Final = 1e-5  # of weights that should be equal, in units of the largest: they were added up in float32


def suit_widths(width: int, suits: int) -> tuple[int, int]:
    """Features of each suit and of the rest in a hidden layer of a width; suits come first, one after the other."""
    each = max(1, width // SUITS_AND_REST)
    return each, max(1, width - suits * each)


def dense_layer(own: Float32Array, shared: Float32Array, bias: Float32Array, suits: int) -> tuple[Float32Array, Float32Array]:
    """Weight (outputs, inputs) and bias (outputs,) of the ordinary layer that does what a ``TiedLayer`` of these does."""
    k, width = own.shape
    weight = np.concatenate([np.tile(shared.T[:, :k], suits), shared.T[:, k:]], axis=1)
    weight = np.concatenate([np.tile(weight[:width], (suits, 1)), weight[width:]])
    for suit in range(suits):
        weight[suit * width : (suit + 1) * width, suit * k : (suit + 1) * k] += own.T
    return weight, np.concatenate([np.tile(bias[:width], suits), bias[width:]])


class TiedLayer:
    """A layer that does to each of S suits the same: its output is its own input times one matrix, plus what the sum over suits
    and the rest give to every suit; the rest's output comes from the latter two.

    Args:
        weight, bias: of the ordinary layer that does this; suits come first in input and output, one after the other.
        suits: S.
        inputs, outputs: features of a suit and features of the rest, each.

    Attributes:
        own: ``(k, k')``, what a suit's own input is multiplied by.
        shared: ``(k + m, k' + m')``, what the sum over suits and the rest are multiplied by.
        bias: ``(k' + m',)``.

    Raises:
        CheckpointError: the ordinary layer does not treat suits alike.
    """

    def __init__(
        self, weight: Float32Array, bias: Float32Array, suits: int, inputs: tuple[int, int], outputs: tuple[int, int]
    ) -> None:
        k, width = inputs[0], outputs[0]
        if weight.shape != (suits * width + outputs[1], suits * k + inputs[1]):
            raise CheckpointError(f"the network has a layer of shape {weight.shape}, too narrow for {suits} equal suits")
        other = weight[:width, k : 2 * k]  # what a suit takes from another one
        to_suits = np.concatenate([other, weight[:width, suits * k :]], axis=1)
        to_rest = np.concatenate([weight[suits * width :, :k], weight[suits * width :, suits * k :]], axis=1)
        self.own = np.ascontiguousarray((weight[:width, :k] - other).T)
        self.shared = np.ascontiguousarray(np.concatenate([to_suits, to_rest]).T)
        self.bias = np.concatenate([bias[:width], bias[suits * width :]])
        for ours, theirs in zip(dense_layer(self.own, self.shared, self.bias, suits), (weight, bias), strict=True):
            if not np.allclose(ours, theirs, rtol=0, atol=TOLERANCE * np.abs(theirs).max()):
                raise CheckpointError("the network does not treat equal suits alike, as those of settebello-train do")

    def __call__(self, by_suit: Float32Array, rest: Float32Array) -> tuple[Float32Array, Float32Array]:
        """Outputs (n, S, k') and (n, m') of inputs (n, S, k) and (n, m)."""
        (suits, k), width = by_suit.shape[1:], self.own.shape[1]
        shared = np.concatenate([by_suit.sum(axis=1), rest], axis=1) @ self.shared
        shared += self.bias
        own = by_suit.reshape(-1, k) @ self.own  # one product: with three dimensions NumPy would make one of each row
        to_suits = own.reshape(len(rest), suits, width)
        to_suits += shared[:, None, :width]
        return to_suits, shared[:, width:]


class Critic:
    """Values positions with all hands in sight.

    Args:
        game: id of the game.
        weights: as ``read_weights`` gives a critic's.

    Raises:
        CheckpointError: they do not treat equal suits alike.
    """

    def __init__(self, game: str, weights: Mapping[str, Float32Array]) -> None:
        inputs = inputs_of(game)
        self._places = places = inputs.suits(critic=True)
        suits, per_suit = places.by_suit.shape
        dense, order = layers_to(weights, "value"), np.concatenate([places.by_suit.reshape(-1), places.rest])
        dense[0] = (dense[0][0] * input_scale(inputs.bounds(critic=True)[1]))[:, order], dense[0][1]
        hidden = (suit_widths(len(bias), suits) for _, bias in dense[:-1])
        widths = itertools.pairwise([(per_suit, len(places.rest)), *hidden, (0, 1)])
        self._layers = [TiedLayer(*of, suits, *sizes) for of, sizes in zip(dense, widths, strict=True)]

    def __call__(self, rows: npt.NDArray[np.int8]) -> Float32Array:
        """Values float32 ``(n,)`` of critics' rows int8 ``(n, size)``, see ``settebello.opponents.inputs``."""
        by_suit, rest = (rows.take(part, axis=1).astype(np.float32) for part in (self._places.by_suit, self._places.rest))
        for layer in self._layers[:-1]:
            by_suit, rest = layer(by_suit, rest)
            np.maximum(by_suit, 0, out=by_suit)
            np.maximum(rest, 0, out=rest)
        return self._layers[-1](by_suit, rest)[1][:, 0]
