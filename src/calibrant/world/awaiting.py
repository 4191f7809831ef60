"""What is waited for, as the board says it: by whom, until when, and whether it can come about by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from calibrant.errors import InputError
from calibrant.records.board import Source
from calibrant.values import format_instant, parse_instant
from calibrant.world.base import Surroundings, line


@dataclass(frozen=True, slots=True)
class Awaited:
    """What a source waits for.

    ``what`` is who or what will settle it, ``due`` when that is expected. ``automatic`` tells that asking again may
    settle it without anybody doing anything for it; ``opens`` is the instant before which asking is in vain.
    """

    what: str
    due: datetime | None = None
    automatic: bool = True
    opens: datetime | None = None


def awaited(source: Source) -> Awaited:
    """What ``source`` waits for, read off its parameters; nothing is asked and nothing is opened.

    A source of a kind that is not known here is asked again: who knows what it waits for.
    """
    params = source.params
    due = _instant(params.get("due"))
    if source.kind == "pending":
        return Awaited(line(params.get("awaits")), due, automatic=False)
    if source.kind == "measurement":
        return Awaited(line(params.get("awaits") or _measured(params)), due)
    if source.kind == "future":
        return _future(params, due)
    return Awaited(f"what a resolver of kind {line(source.kind)} says", due)


def overdue_since(due: datetime | None, surroundings: Surroundings) -> str:
    """What a reason says of what is overdue; nothing before it is."""
    late = due is not None and surroundings.clock() > due
    return f" (overdue: it was due {format_instant(due)[:19]}Z)" if late and due is not None else ""


def _future(params: Mapping[str, Any], due: datetime | None) -> Awaited:
    """A future fact: its own source says it once it is due; without one, nobody can be asked."""
    inner = params.get("source")
    if not isinstance(inner, Mapping):
        return Awaited(line(params.get("reason") or "a later day"), due, automatic=False)
    kind, rest = inner.get("kind"), {name: value for name, value in inner.items() if name != "kind"}
    within = awaited(Source(kind=str(kind), params=dict(rest.get("params", rest))))
    return Awaited(line(params.get("reason") or within.what), due, within.automatic, due)


def _measured(params: Mapping[str, Any]) -> str:
    """A measurement without a name of its own: where it is read."""
    for name, place in params.items():
        if isinstance(place, Mapping):
            said = (place.get("metric"), place.get("name"), place.get("task"), place.get("file"), place.get("folder"))
            return f"{name}: {' '.join(str(part) for part in (*said, place.get('store')) if part is not None)}"
    return "a measurement"


def _instant(written: object) -> datetime | None:
    try:
        return parse_instant(written) if isinstance(written, str) else None
    except InputError:
        return None
