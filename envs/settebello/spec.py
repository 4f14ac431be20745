"""Named parts of an observation row."""

from collections.abc import Iterable
from typing import NamedTuple


class Field(NamedTuple):
    """One named part of an observation row: ``width`` int8 elements from ``low`` to ``high``.

    Where ``by_suit``, the elements come in the order of the suits; in parts with one for each card they do anyway.
    """

    name: str
    width: int
    meaning: str
    high: int = 1
    low: int = 0
    by_suit: bool = False


def row_size(fields: Iterable[Field]) -> int:
    """Number of int8 elements of a row made of these fields."""
    return sum(field.width for field in fields)
