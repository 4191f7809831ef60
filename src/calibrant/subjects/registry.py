"""Opens a subject from what a user wrote: `SCHEME:REST`, a bare scheme, a function; others add schemes of their own."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from calibrant.errors import InputError, Problem, nearest, one_of, quote
from calibrant.subjects.base import Options, Subject, SubjectFactory

ENTRY_POINTS: Final = "calibrant.subjects"
"""The group of entry points under which a package adds a scheme: its name, and a `SubjectFactory`."""

# Each part is imported when somebody names it: a model's libraries take seconds, and a replay needs none of them.


def _command(rest: str, options: Options) -> Subject:
    from calibrant.subjects.command import open_command

    return open_command(rest, options)


def _lines(rest: str, options: Options) -> Subject:
    from calibrant.subjects.lines import open_lines

    return open_lines(rest, options)


def _local(rest: str, options: Options) -> Subject:
    from calibrant.subjects.local import open_local

    return open_local(rest, options)


def _model(rest: str, options: Options) -> Subject:
    from calibrant.subjects.model import open_model

    return open_model(rest, options)


def _python(rest: str, options: Options) -> Subject:
    from calibrant.subjects.python import open_python

    return open_python(rest, options)


def _replay(rest: str, options: Options) -> Subject:
    from calibrant.subjects.replay import open_replay

    return open_replay(rest, options)


BUILT_IN: Final[dict[str, SubjectFactory]] = {
    "command": _command,
    "command-lines": _lines,
    "local": _local,
    "model": _model,
    "python": _python,
    "replay": _replay,
}
"""The schemes that ship."""


def open_subject(spec: str | Callable[..., Any], *, options: Options | None = None) -> Subject:
    """The subject that ``spec`` names: ``local``, ``replay:FILE``, ``command:ARGV``, or a Python function itself.

    Raises:
        InputError: for an unknown scheme (with the nearest known one), and for whatever the scheme refuses.
        MachineError: where the machine fails while the subject is got ready.
    """
    given = options if options is not None else {}
    if not isinstance(spec, str):
        from calibrant.subjects.python import function_subject

        return function_subject(spec, given)
    scheme, _, rest = spec.strip().partition(":")
    factory = BUILT_IN.get(scheme)
    if factory is not None:
        return factory(rest.strip(), given)
    point = _others().get(scheme)
    if point is None:
        known = sorted({*BUILT_IN, *_others()})
        fix = nearest(scheme, known) or _as_a_file_or_model(spec)
        raise InputError(Problem(f"the subject {quote(spec)}", f"one of {one_of(known)}, and what it is", fix))
    return _made_by_others(point, rest, given)


def _as_a_file_or_model(spec: str) -> str | None:
    if spec.endswith(".jsonl"):
        return f"Recorded responses are replay:{spec}."
    return f"A model is model:{spec}." if "/" in spec and ":" not in spec else None


@cache
def _others() -> dict[str, EntryPoint]:
    """The schemes that installed packages add; of two with one name the first."""
    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=ENTRY_POINTS):
        found.setdefault(point.name, point)
    return found


def _made_by_others(point: EntryPoint, rest: str, options: Options) -> Subject:
    try:
        factory: SubjectFactory = point.load()
        made = factory(rest, options)
    except InputError:
        raise
    except Exception as broken:
        found = f"the subject {quote(point.name)} of {quote(point.value)}, which broke: {type(broken).__name__}: "
        raise InputError(Problem(found + quote(str(broken)), "a subject", "Ask whoever wrote it.")) from broken
    if not isinstance(made, Subject):
        found = f"a {type(made).__name__} from {quote(point.value)}"
        raise InputError(Problem(found, "a subject (identity, elicitation, concurrency, ask, close)"))
    return made
