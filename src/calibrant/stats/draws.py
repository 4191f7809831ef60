"""Random draws that are the same on every machine and with every version: whole numbers out of a generator's raw bits.

The stream of raw bits of a seeded PCG64 is fixed; how a library turns bits into binomials may change with its version
and rounds with the machine's logarithms. So binomials are counted here from the bits themselves, which is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.random import PCG64
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]


_BLOCK = 2**18
"""Words of random bits that are held at once."""


def source(seed: int) -> PCG64:
    """The seeded stream of bits that the functions here draw from.

    Raises:
        ValueError: for a negative seed.
    """
    from numpy.random import PCG64

    return PCG64(seed)


def multinomials(bits: PCG64, weights: Sequence[int], n: int, draws: int) -> Counts:
    """``draws`` times ``n`` items over cells with probabilities proportional to ``weights``: (draws, cells).

    The items are parted in two, and each part again, down to the cells. The lightest cells are put together first
    (Huffman's tree), so that the fewest items are parted.

    Raises:
        ValueError: for weights of which none is above zero, or one below.
    """
    import numpy as np

    if min(weights) < 0 or sum(weights) == 0:
        raise ValueError("the weights of a multinomial are not negative, and not all zero")
    heap = [(weight, cell) for cell, weight in enumerate(weights) if weight]
    heapify(heap)
    parts: list[tuple[int, int, int, int]] = []
    while len(heap) > 1:
        (light, one), (heavy, other) = heappop(heap), heappop(heap)
        parts.append((one, other, heavy, light + heavy))
        heappush(heap, (light + heavy, len(weights) + len(parts) - 1))
    held = {heap[0][1]: np.full(draws, n, dtype=np.int64)}
    while parts:
        one, other, heavy, whole = parts.pop()
        both = held.pop(len(weights) + len(parts))
        held[other] = binomials(bits, both, heavy, whole)
        held[one] = both - held[other]
    nothing = np.zeros(draws, dtype=np.int64)
    return np.stack([held.get(cell, nothing) for cell in range(len(weights))], axis=1)


def binomials(bits: PCG64, trials: Counts, part: int, whole: int) -> Counts:
    """For each number of ``trials``, how many succeed with probability ``part`` / ``whole``.

    A trial succeeds where a uniform number is below the probability. Both are compared digit by digit in base two:
    where the digits differ the trial is decided, else it waits for the next digit, so each digit decides half of them.
    """
    import numpy as np

    if part == whole:
        return trials.copy()
    passed, waiting, at = np.zeros_like(trials), trials, np.arange(len(trials))
    while part and at.size:
        part *= 2
        ones = halves(bits, waiting)
        if part >= whole:
            part -= whole
            passed[at] += waiting - ones
            waiting = ones
        else:
            waiting = waiting - ones
        still = waiting > 0
        waiting, at = waiting[still], at[still]
    return passed


def halves(bits: PCG64, trials: Counts) -> Counts:
    """For each number of ``trials``, how many of so many fair coins show heads: the ones among so many fresh bits."""
    import numpy as np

    heads, size = np.zeros_like(trials), len(trials)
    filled, words = int(trials.min(initial=0)) // 64, -(-int(trials.max(initial=0)) // 64)
    block = max(1, _BLOCK // max(size, 1))
    for first in range(0, words, block):
        last = min(first + block, words)
        raw = bits.random_raw((last - first) * size).reshape(last - first, size)
        partly = max(filled, first)
        if partly < last:
            surplus = np.maximum(64 * np.arange(partly + 1, last + 1)[:, None] - trials, 0)
            raw[partly - first :] >>= np.minimum(surplus, 64, out=surplus).view(np.uint64)  # by all 64 leaves none
        heads += np.bitwise_count(raw).sum(axis=0, dtype=np.uint32)
    return heads


def resampled(bits: PCG64, items: int, draws: int) -> Counts:
    """``draws`` times as many of ``items`` as there are, with replacement: how often each was taken, (draws, items).

    Each place is the upper half of 32 bits times ``items``; no item is favoured by more than items / 2^32.
    """
    import numpy as np

    raw = bits.random_raw(draws * -(-items // 2)).reshape(draws, -1)
    halved = np.concatenate([raw >> np.uint64(32), raw & np.uint64(0xFFFFFFFF)], axis=1)[:, :items]
    places = (halved * np.uint64(items) >> np.uint64(32)).astype(np.int64)
    flat = places + items * np.arange(draws)[:, None]
    return np.bincount(flat.ravel(), minlength=draws * items).reshape(draws, items)
