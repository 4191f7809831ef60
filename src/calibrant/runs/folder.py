"""Where runs live: their names, their folders, and what a run needs to be taken up again."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Final

from pydantic import Field

from calibrant.canonical import encode
from calibrant.errors import InputError, MachineError, Problem, Where, nearest, quote
from calibrant.records.base import Record
from calibrant.runs.files import read_input
from calibrant.subjects.base import Options

RUN_DB: Final = "run.db"
SCORECARD: Final = "scorecard.json"
ORIGIN: Final = "origin.json"
LATEST: Final = "latest"


class Origin(Record):
    """Where a run came from on this machine. A convenience for resuming; not sealed, and nothing rests on it."""

    schema_name: ClassVar[str] = "calibrant.origin.v1"

    folder: str
    """The folder that the board's relative paths start from, relative to the run's own."""
    subject: str | None = None
    """What was asked for as the subject, where that was a text."""
    options: Options = Field(default_factory=dict)
    """The subject's options, but for those that look like a secret."""
    mark: str | None = None
    """The mark of the person who started the run here; see `mark_of`."""


def run_folders(runs: Path) -> Iterator[Path]:
    """The folders of all runs in ``runs``, oldest first."""
    if runs.is_dir():
        yield from sorted(path.parent for path in runs.glob(f"*/{RUN_DB}"))


def find_run(reference: str | Path, runs: Path) -> Path:
    """The folder of the run that ``reference`` names: a path, an id, the start or end of an id, or ``latest``.

    Raises:
        InputError: where it names none, or more than one.
    """
    direct = Path(reference)
    if direct.name == RUN_DB:
        direct = direct.parent
    if (direct / RUN_DB).is_file():
        return direct
    folders = list(run_folders(runs))
    if not folders:
        found = f"no run named {quote(str(reference))}: {quote(str(runs))} holds none"
        raise InputError(Problem(found, "a run", "Start one with `calibrant run BOARD`."))
    if str(reference) == LATEST:
        return folders[-1]
    named = [f for f in folders if f.name.startswith(str(reference)) or f.name.endswith(str(reference))]
    if len(named) == 1:
        return named[0]
    names = [folder.name for folder in folders]
    expected = f"one of the {len(names)} runs in {quote(str(runs))}, or `latest`"
    if named:
        both = ", ".join(folder.name for folder in named[:5])
        raise InputError(Problem(f"{quote(str(reference))}, which names {len(named)} runs ({both})", expected))
    raise InputError(Problem(f"no run named {quote(str(reference))}", expected, nearest(str(reference), names)))


def make_folder(folder: Path) -> None:
    """Make a folder and those around it, where they are not there.

    Raises:
        MachineError: where the machine does not let it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as failed:
        reason = failed.strerror or str(failed)
        raise MachineError(f"{folder}: the folder could not be made ({reason}). Nothing was written.") from failed


def json_in(folder: Path, name: str) -> Path:
    """The file ``NAME.json`` in a folder.

    Raises:
        InputError: for a name that is no file name.
    """
    if not name or Path(name).name != name or name.startswith("."):
        raise InputError(Problem(f"the name {quote(name)}", "the name of a file, without a folder"))
    return folder / f"{name}.json"


def is_same_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, links followed; of files that are not there yet, whether they would."""
    try:
        return one.samefile(other)
    except OSError:
        return one.resolve() == other.resolve()


def refuse_overwriting(out: Path, sources: Mapping[str, Path | None]) -> None:
    """Refuse to write to a file that is read here; ``sources`` says by their paths what they are.

    Raises:
        InputError: naming what would be lost.
    """
    for what, source in sources.items():
        if source is not None and is_same_file(out, source):
            same = "" if out == source else f" (it is {quote(str(source))})"
            found = f"{quote(str(out))} to write to, which is {what}{same}"
            raise InputError(Problem(found, "another file", "Nothing was written.", Where(str(out))))


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all.

    Raises:
        MachineError: where the disk does not take it; what was there before is kept.
    """
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).chmod(0o644)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as failed:
        reason = failed.strerror or str(failed)
        raise MachineError(f"{path}: could not be written ({reason}). What was there before is kept.") from failed


def mark_of(origin: Origin, run: str) -> str | None:
    """The mark by which a person's own runs are known: an HMAC under a key that stays in that person's home.

    A run that came from elsewhere may name any program as its subject and any folder as its board's; without the mark
    neither is taken at its word. None where no key can be kept.
    """
    key = _own_key()
    claim = encode([run, origin.folder, origin.subject, dict(origin.options)])
    return None if key is None else hmac.new(key, claim, hashlib.sha256).hexdigest()


def is_own(origin: Origin, run: str) -> bool:
    """Whether the run was started here, by this person, just as ``origin`` says."""
    expected = mark_of(origin, run)
    return expected is not None and origin.mark is not None and hmac.compare_digest(expected, origin.mark)


def _own_key() -> bytes | None:
    """The key of `mark_of`, made when it is first wanted."""
    home = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    path = Path(home).expanduser() / "calibrant" / "started-here.key"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_bytes(32))
        key = path.read_bytes()
    except (OSError, RuntimeError):
        return None
    return key if len(key) == 32 else None


def read_origin(folder: Path) -> Origin:
    """Where a run came from.

    Raises:
        InputError: where the run's folder does not say.
    """
    path = folder / ORIGIN
    if not path.exists():
        found = "a run that does not say where its board is"
        raise InputError(
            Problem(found, f"the file {ORIGIN} beside {RUN_DB}", "Name the folder of its board.", Where(str(folder)))
        )
    return Origin.from_bytes(read_input(path), where=Where(str(path)))
