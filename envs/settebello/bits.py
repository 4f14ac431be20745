"""Compiled bit operations on int64 card sets (bits 0..62), and the random stream kept inside a state."""

from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from settebello.jit import DISABLED, kernel

# Byte b as eight little-endian int8 zeros and ones: a plane of 40 cards is five table look-ups.
SPREAD: Final = np.array([sum((b >> i & 1) << (8 * i) for i in range(8)) for b in range(256)], np.uint64)

if DISABLED:

    def popcount(mask: int) -> int:
        """Number of set bits."""
        return int(mask).bit_count()

    def lowest_bit(mask: int) -> int:
        """Index of the lowest set bit of a non-empty mask."""
        return (int(mask) & -int(mask)).bit_length() - 1

else:

    @intrinsic  # type: ignore[untyped-decorator]
    def popcount(typing_context: Any, mask: Any) -> Any:
        """Number of set bits."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.ctpop(arguments[0])

        return types.int64(types.int64), generate

    @intrinsic  # type: ignore[untyped-decorator]
    def lowest_bit(typing_context: Any, mask: Any) -> Any:
        """Index of the lowest set bit of a non-empty mask."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

        return types.int64(types.int64), generate


@kernel(inline=True)
def nth_bit(mask: int, n: int) -> int:
    """Index of the n-th set bit (from 0) of a mask with more than n bits."""
    for _ in range(n):
        mask &= mask - 1
    return lowest_bit(mask)


@kernel(inline=True)
def spread(mask: int, row64: np.ndarray, start: int) -> None:
    """Write a card set as 40 int8 zeros and ones into a row viewed as uint64, from word ``start`` on."""
    for i in range(5):
        row64[start + i] = SPREAD[(mask >> (8 * i)) & 255]


@kernel(inline=True)
def write_bits(row: np.ndarray, start: int, stop: int, mask: int, filler: int) -> None:
    """Write the indices of a mask's bits, lowest first, into a part of a row, and ``filler`` into what is left of it."""
    for i in range(start, stop):
        if mask != 0:
            row[i] = lowest_bit(mask)
            mask &= mask - 1
        else:
            row[i] = filler


@kernel(inline=True)
def mix(word: np.uint64) -> np.uint64:
    """The output function of SplitMix64 (Steele, Lea and Flood, 2014)."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@kernel(inline=True)
def seed_stream(seed: int, stream: int) -> np.uint64:
    """First word of the random stream of a seed; streams of one seed are independent of each other."""
    return mix(mix(np.uint64(seed)) + np.uint64(stream) * np.uint64(0xD1342543DE82EF95) + np.uint64(0x9E3779B97F4A7C15))


@kernel(inline=True)
def advance(word: np.uint64) -> np.uint64:
    """Next word of a SplitMix64 stream; its random bits are ``mix`` of it."""
    return word + np.uint64(0x9E3779B97F4A7C15)


@kernel(inline=True)
def below(word: np.uint64, bound: int) -> int:
    """A number in 0..bound-1 from the random bits of a stream word (bias below bound / 2**32)."""
    return np.int64((mix(word) >> np.uint64(32)) * np.uint64(bound) >> np.uint64(32))


@kernel(inline=True)
def below_wide(word: np.uint64, bound: int) -> int:
    """A number in 0..bound-1 for any bound up to 2**62: each run of them as likely as its share, to 2**-64."""
    half = np.uint64(32)
    low_half = np.uint64(0xFFFFFFFF)
    bits = mix(word)
    high, low = bits >> half, bits & low_half
    bound_high, bound_low = np.uint64(bound) >> half, np.uint64(bound) & low_half
    # The upper 64 bits of the product, by halves; the three middle terms may carry.
    across = high * bound_low
    other_across = low * bound_high
    carry = ((low * bound_low >> half) + (across & low_half) + (other_across & low_half)) >> half
    return np.int64(high * bound_high + (across >> half) + (other_across >> half) + carry)


if DISABLED:  # NumPy warns where scalar words wrap around, which is what the stream is made of
    mix, seed_stream, advance = (np.errstate(over="ignore")(stream) for stream in (mix, seed_stream, advance))
