"""The register of a project's runs: every start of a run is noted in it, so that a discarded run leaves a trace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from calibrant.ledger.chain import Damage
from calibrant.ledger.store import Draft, Entry, Ledger

FILE_NAME: Final = "register.db"
"""The register's file in the folder of runs."""

KIND: Final = "start"
"""The kind of every entry of a register."""

WAIT_SECONDS: Final = 30.0
"""How long a start waits for others that are being noted."""


class Register:
    """An append-only ledger beside the runs. Nothing stays open between calls, so that many processes can share it."""

    def __init__(self, path: Path) -> None:
        """The register in the file ``path``, which need not exist yet. See `at`."""
        self.path: Final = path
        """Where the register is."""

    @classmethod
    def at(cls, runs_dir: Path) -> Register:
        """The register of the folder ``runs_dir``, which exists. A file is made at the first note."""
        return cls(runs_dir / FILE_NAME)

    def note(self, body: bytes, key: str, *, wait: float = WAIT_SECONDS) -> int:
        """Note a start under ``key`` (the run's id), and give its number, from 0; on the disk when this returns.

        Starts that other processes note at the same moment are waited for, up to ``wait`` seconds.

        Raises:
            MachineError: when it cannot be noted: others kept it busy for too long, or the disk does not let it.
            InputError, CheckFailed: where the file is no register, or a damaged one.
        """
        with Ledger.open(self.path, write=True, wait=wait, create=True) as ledger:
            return ledger.append([Draft(KIND, key, body)]).size - 1

    def entries(self, after: int = -1) -> Iterator[Entry]:
        """Every start that was noted after number ``after``, in order; none where there is no register yet."""
        if self.path.exists():
            with Ledger.open(self.path, write=False) as ledger:
                yield from ledger.entries(after)

    def audit(self) -> Iterator[Damage]:
        """Everything in the register that is not as it was noted; nothing where there is no register yet."""
        if self.path.exists():
            with Ledger.open(self.path, write=False) as ledger:
                yield from ledger.audit()
