"""Says one thing about the host it runs on, as `name: value`: `host.py memory`, `host.py digest FILE`."""

from __future__ import annotations

import hashlib
import os
import re
import resource
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path


def memory() -> str:
    """All memory that the kernel manages."""
    return f"total memory: {os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') // 2**20} MiB"


def open_files() -> str:
    """The soft limit that this process was started with."""
    return f"open files: {resource.getrlimit(resource.RLIMIT_NOFILE)[0]}"


def processes() -> str:
    """All processes that can be seen: Linux tells them in /proc, other systems through ps."""
    proc = Path("/proc")
    if (proc / "1").exists():
        count = sum(entry.name.isdigit() for entry in proc.iterdir())
    else:
        listed = subprocess.run(["ps", "-A", "-o", "pid="], capture_output=True, text=True, check=True)
        count = len(listed.stdout.split())
    return f"processes: {count}"


def changed(path: str) -> str:
    """The day on which a file was last changed, in UTC."""
    moment = datetime.fromtimestamp(Path(path).stat().st_mtime, UTC)
    return f"last changed: {moment:%Y-%m-%d}"


def lines(path: str) -> str:
    """How many lines a file has."""
    return f"lines: {len(Path(path).read_text(encoding='utf-8').splitlines())}"


def digest(path: str) -> str:
    """The first eight hexadecimal digits of a file's SHA-256."""
    return f"sha256 begins with: {hashlib.sha256(Path(path).read_bytes()).hexdigest()[:8]}"


def statuses(path: str) -> str:
    """The status codes in a log of requests, without 200."""
    codes = set(re.findall(r'" (\d{3}) ', Path(path).read_text(encoding="utf-8"))) - {"200"}
    return f"status codes other than 200: {', '.join(sorted(codes))}"


ASKS = {
    "memory": memory,
    "open-files": open_files,
    "processes": processes,
    "changed": changed,
    "lines": lines,
    "digest": digest,
    "statuses": statuses,
}

if __name__ == "__main__":
    print(ASKS[sys.argv[1]](*sys.argv[2:]))
