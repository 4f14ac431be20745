"""Networks without torch: what they compute, against the same in float64 by dense products."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from settebello.errors import OptionError
from settebello.opponents.network import ANEW_EVERY, Network

SIZE, HIDDEN, ACTIONS = 37, (23, 10), 6


def random_weights(rng: np.random.Generator) -> dict[str, npt.NDArray[np.float32]]:
    sizes = {f"trunk.{k}": size for k, size in enumerate(zip(HIDDEN, (SIZE, *HIDDEN), strict=False))}
    sizes |= {"policy": (ACTIONS, HIDDEN[-1]), "value": (1, HIDDEN[-1])}
    weights = {f"{name}.weight": rng.normal(size=size).astype(np.float32) for name, size in sizes.items()}
    return weights | {f"{name}.bias": rng.normal(size=size[0]).astype(np.float32) for name, size in sizes.items()}


def expected(weights: Any, head: str, high: Any, rows: Any) -> npt.NDArray[np.float64]:
    hidden: npt.NDArray[np.float64] = np.where(high > 0, rows / np.maximum(high, 1), 0.0)
    for name in (*(f"trunk.{k}" for k in range(len(HIDDEN))), head):
        hidden = hidden @ weights[f"{name}.weight"].T.astype(np.float64) + weights[f"{name}.bias"]
        if name != head:
            hidden = np.maximum(hidden, 0)
    return hidden


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("count", [0, 1, 3 * ANEW_EVERY + 5])
def test_computes_what_dense_products_do(count: int, alike: bool) -> None:
    """Rows are partly zeros, partly the same as the row before, and reach over all of int8."""
    rng = np.random.default_rng(count)
    weights, high = random_weights(rng), rng.integers(0, 127, SIZE)
    rows = rng.integers(-128, 128, (count, SIZE)).astype(np.int8) * (rng.random((count, SIZE)) < 0.3)
    for k in range(1, count):
        rows[k] = np.where(rng.random(SIZE) < 0.5, rows[k - 1], rows[k])
    for head, outputs in (("policy", ACTIONS), ("value", 1)):
        found = Network(weights, head, high, alike=alike)(rows)
        assert found.shape == (count, outputs)
        assert found.dtype == np.float32
        wanted = expected(weights, head, high, rows)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * max(1.0, np.abs(wanted).max(initial=0)))


def test_one_row_gives_one_result_whatever_the_others_are() -> None:
    """To the last bit, unless rows are said to be alike."""
    rng = np.random.default_rng(5)
    network = Network(random_weights(rng), "policy", np.ones(SIZE))
    rows = rng.integers(0, 2, (200, SIZE)).astype(np.int8)
    together = network(rows)
    for k in range(len(rows)):
        assert network(rows[k : k + 1]).tobytes() == together[k].tobytes()
    np.testing.assert_array_equal(network(np.asfortranarray(rows)[::-1]), together[::-1])


@pytest.mark.parametrize(
    "rows", [np.zeros(SIZE, np.int8), np.zeros((2, SIZE + 1), np.int8), np.zeros((2, SIZE - 1), np.int8), np.zeros((2, SIZE))]
)
def test_refuses_other_rows(rows: npt.NDArray[Any]) -> None:
    network = Network(random_weights(np.random.default_rng(1)), "value", np.ones(SIZE))
    with pytest.raises(OptionError, match=r"rows: expected int8 of shape \(n, 37\), got"):
        network(rows)
