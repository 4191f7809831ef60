"""Adds up a seeded list of floats with sum() and with math.fsum(); says whether the two agree to the last bit.

They do where sum() compensates for rounding (CPython from 3.12), and do not where it adds naively.
"""

from __future__ import annotations

import math
import random
import sys

if __name__ == "__main__":
    draw = random.Random(int(sys.argv[1]))
    numbers = [draw.uniform(-1e6, 1e6) for _ in range(int(sys.argv[2]))]
    print(f"sum:  {sum(numbers)!r}")
    print(f"fsum: {math.fsum(numbers)!r}")
    print(f"equal: {'yes' if sum(numbers) == math.fsum(numbers) else 'no'}")
