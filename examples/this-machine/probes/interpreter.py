"""Says one thing about the Python that runs it: when it was built, how many modules it has, whether it has a hash."""

from __future__ import annotations

import hashlib
import platform
import sys
from datetime import datetime


def built() -> str:
    """The day on which this interpreter was compiled."""
    stamp = " ".join(platform.python_build()[1].split()[:3])
    return f"built on: {datetime.strptime(stamp, '%b %d %Y'):%Y-%m-%d}"  # noqa: DTZ007 - a day, not a moment


def modules() -> str:
    """How many top-level modules belong to its standard library."""
    return f"modules in the standard library: {len(sys.stdlib_module_names)}"


def offers(name: str) -> str:
    """Whether hashlib offers the algorithm, of its own or by the OpenSSL that it was linked with."""
    return f"{name} in hashlib.algorithms_available: {'yes' if name in hashlib.algorithms_available else 'no'}"


ASKS = {"built": built, "modules": modules, "offers": offers}

if __name__ == "__main__":
    print(ASKS[sys.argv[1]](*sys.argv[2:]))
