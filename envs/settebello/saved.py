"""Saved games: one state record as bytes with a header, checked on the way in. Nothing in them is executable."""

import struct
import zlib
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from settebello.errors import StateError
from settebello.game import Game

MAGIC: Final = b"SETTEBEL"
FORMAT: Final = 1
# magic, format, game version, game id, bytes of the record, decks to come, CRC-32 of all that follows the header
_HEADER: Final = struct.Struct("<8sHH16sIII")


def pack(game: Game, states: np.ndarray[Any, Any], decks: Sequence[Sequence[int]] = ()) -> bytes:
    """The bytes of an array of one record, with decks given for later deals."""
    record = states.copy()
    record["reward"] = 0
    deck_bytes = [bytes(deck) for deck in decks]
    body = record.tobytes() + b"".join(bytes([len(deck)]) + deck for deck in deck_bytes)
    header = _HEADER.pack(MAGIC, FORMAT, game.version, game.id.encode(), game.dtype.itemsize, len(deck_bytes), zlib.crc32(body))
    return header + body


def unpack(game: Game, options: np.ndarray[Any, Any], data: bytes) -> tuple[np.ndarray[Any, Any], list[list[int]]]:
    """The record (an array of one) and the decks to come in saved bytes.

    Args:
        game: the game they must be of.
        options: array of a record with the options they must have been made with.
        data: what ``pack`` made.

    Raises:
        StateError: the bytes are truncated or damaged, or of another game, version or options.
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise StateError(f"saved state: expected bytes, got {type(data).__name__}")
    data = bytes(data)
    if len(data) < _HEADER.size or not data.startswith(MAGIC):
        raise StateError(f"saved state: {len(data)} bytes that do not begin like a settebello state")
    _, form, version, name, size, num_decks, checksum = _HEADER.unpack_from(data)
    name = name.rstrip(b"\0").decode("ascii", "replace")
    if form != FORMAT:
        raise StateError(f"saved state: format {form}, this release reads format {FORMAT}")
    if name != game.id:
        raise StateError(f"saved state: of the game {name!r}, expected {game.id!r}")
    if version != game.version:
        raise StateError(f"saved state: of {name} version {version}, this release plays version {game.version}")
    body = data[_HEADER.size :]
    if size != game.dtype.itemsize or len(body) < size:
        raise StateError(f"saved state: truncated, {len(body)} bytes where {game.dtype.itemsize} were expected")
    if zlib.crc32(body) != checksum:
        raise StateError("saved state: damaged or truncated (its checksum does not match)")
    states = np.frombuffer(body, game.dtype, count=1).copy()
    for field in game.option_fields:
        if not np.array_equal(states[0][field], options[0][field]):
            raise StateError(f"saved state: option {field} was {states[0][field]}, expected {options[0][field]}")
    if not game.valid(states[0]):
        raise StateError("saved state: not a position of the game (its cards or numbers do not fit together)")
    damaged = StateError("saved state: the decks for later deals are damaged")
    if num_decks > len(body) - size:
        raise damaged
    decks, at = [], size
    for _ in range(num_decks):
        length = body[at] if at < len(body) else 0
        decks.append(list(body[at + 1 : at + 1 + length]))
        at += 1 + length
    cards = sorted(states[0]["deck"][: game.deck_size(states[0])].tolist())
    if at != len(body) or any(sorted(deck) != cards for deck in decks):
        raise damaged
    return states, decks
