"""What is waited for, as the board says it: by whom, until when, and whether it can come about by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from calibrant.errors import InputError
from calibrant.records.board import Source
from calibrant.values import parse_instant
from calibrant.world.base import line
from calibrant.world.measurement import MeasurementParams


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
    if source.kind == "sealed":
        return Awaited("the answers of the board", due, automatic=False)
    if source.kind == "withheld" and isinstance(params.get("source"), Mapping):
        return awaited(Source.model_validate(params["source"]))
    return Awaited(f"what a resolver of kind {line(source.kind)} says", due)


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
    try:
        return MeasurementParams.from_dict(params).place.named()
    except InputError:
        return "a measurement"


def _instant(written: object) -> datetime | None:
    try:
        return parse_instant(written) if isinstance(written, str) else None
    except InputError:
        return None
