"""Keeps what approvals were given to, by digest, so that what moved can be shown and not only that it did."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from calibrant import canonical
from calibrant.runs.folder import make_folder, write_whole

FOLDER: Final = "artifacts"
"""The folder of a project's artifacts, beside its project file. It belongs under version control with the grants."""

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_LARGEST: Final = 64 * 1024 * 1024


class Artifacts:
    """The kept bytes of prompts, rubrics, instruments, policies and claims: one file each, named by its digest."""

    def __init__(self, root: Path) -> None:
        """The artifacts of the project in ``root``; nothing need be there yet."""
        self.folder: Final = root / FOLDER

    def keep(self, artifacts: Iterable[bytes]) -> None:
        """Keep each of ``artifacts`` under its digest. What is there already stays as it is.

        Raises:
            MachineError: where the disk does not take it.
        """
        for data in artifacts:
            path = self.folder / canonical.sha256(data)
            if self.get(path.name) is not None:
                continue
            make_folder(self.folder)
            write_whole(path, data)

    def get(self, digest: str) -> bytes | None:
        """What is kept under ``digest``; None where nothing is, or where it is not what its name says."""
        path = self.folder / digest
        if not _DIGEST.fullmatch(digest) or not path.is_file() or path.stat().st_size > _LARGEST:
            return None
        try:
            data = path.read_bytes()
        except OSError:
            return None
        return data if canonical.sha256(data) == digest else None
