"""Makes a project that runs at once: whole, or not at all."""

from __future__ import annotations

import contextlib
import importlib.resources
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from calibrant.errors import InputError, MachineError, Problem, Where
from calibrant.runs.project import PROJECT_FILE

BOARD: Final = "boards/this-machine.yaml"
"""The board that a new project has."""

FILES: Final = {
    BOARD: "six pairs about the machine that this runs on",
    "seats/sysadmin.md": "the system prompt of one seat",
    "seats/platform.md": "that of the other",
    ".gitignore": "keeps runs/ out of version control",
    PROJECT_FILE: "the project: boards, runs, and what boards may reach",
}
"""The files of a new project, each with what it is; the one that makes it a project comes last."""


def init_project(folder: Path) -> dict[str, str]:
    """Make a project in ``folder``, which is new or empty, and give its files with what each is.

    Raises:
        InputError: for a folder that holds something, or a path that is no folder.
        MachineError: where it cannot be written; nothing is left behind then.
    """
    _refuse_occupied(folder)
    try:
        with contextlib.ExitStack() as undo:
            for missing in _missing(folder):
                missing.mkdir()
                undo.callback(missing.rmdir)
            staging = Path(tempfile.mkdtemp(prefix=".calibrant-init-", dir=folder))
            undo.callback(shutil.rmtree, staging, ignore_errors=True)
            _write_into(staging)
            for part in _parts():
                (staging / part).rename(folder / part)
                undo.callback(_remove, folder / part)
            undo.pop_all()
            staging.rmdir()
    except OSError as failed:
        reason = failed.strerror or str(failed)
        raise MachineError(f"{folder}: the project could not be written ({reason}). Nothing was left there.") from None
    return dict(FILES)


def _refuse_occupied(folder: Path) -> None:
    where = Where(str(folder))
    try:
        found = sorted(path.name for path in folder.iterdir())
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise InputError(Problem("a file", "a new or an empty folder", "Name another.", where)) from None
    except (OSError, ValueError) as failed:
        reason = getattr(failed, "strerror", None) or str(failed)
        raise InputError(Problem(f"a path that cannot be read ({reason})", "a new folder", None, where)) from None
    if PROJECT_FILE in found:
        raise InputError(Problem("a project already", "a new or an empty folder", "Name another folder.", where))
    if found:
        what = f"a folder with {len(found)} entries in it" if len(found) > 1 else "a folder with something in it"
        raise InputError(Problem(what, "a new or an empty folder", "Name another folder.", where))


def _missing(folder: Path) -> list[Path]:
    """The folders that have to be made so that ``folder`` is there, from the top down."""
    every = [folder, *folder.parents]
    return [path for path in reversed(every) if not path.exists()]


def _write_into(staging: Path) -> None:
    scaffold = importlib.resources.files("calibrant.runs") / "scaffold"
    for name in FILES:
        path = staging / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes((scaffold / name.lstrip(".")).read_bytes())


def _parts() -> Iterator[str]:
    """The entries of a project's folder, in the order of `FILES`."""
    yield from dict.fromkeys(name.partition("/")[0] for name in FILES)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
