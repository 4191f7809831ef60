"""Says one thing about the host it runs on, as `name: value`: `host.py disk`, `host.py inode FILE`."""

from __future__ import annotations

import os
import pwd
import resource
import sys
from pathlib import Path


def disk() -> str:
    """How large the file system is that holds this file."""
    found = os.statvfs(Path(__file__).parent)
    return f"size of the file system: {found.f_blocks * found.f_frsize // 2**20} MiB"


def accounts() -> str:
    """How many accounts the user database lists."""
    return f"accounts: {len(pwd.getpwall())}"


def open_files() -> str:
    """The soft limit that this process was started with."""
    return f"open files: {resource.getrlimit(resource.RLIMIT_NOFILE)[0]}"


def processors() -> str:
    """How many processors this process may be scheduled on."""
    return f"processors to be scheduled on: {len(os.sched_getaffinity(0))}"


def inode(path: str) -> str:
    """The number by which the file system knows a file."""
    return f"inode: {Path(path).stat().st_ino}"


ASKS = {"disk": disk, "accounts": accounts, "open-files": open_files, "processors": processors, "inode": inode}

if __name__ == "__main__":
    print(ASKS[sys.argv[1]](*sys.argv[2:]))
