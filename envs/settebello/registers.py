"""The public registers that both games keep in their records, one byte or more an event."""

from typing import Any


def current_register(state: Any) -> bytes:
    """Codes of the deal on the table (of the last deal when the game is over)."""
    return bytes(state["register"][: state["register_size"]])


def counted_register(state: Any, count: int) -> bytes:
    """Codes of the deal counted last, which end with the code ``count``; empty before the first count."""
    register = current_register(state)
    if register and register[-1] == count:  # only when the game is over is the counted deal still on the table
        return register
    return bytes(state["last_register"][: state["last_register_size"]])
