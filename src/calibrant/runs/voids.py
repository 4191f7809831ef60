"""Void out-halves: questions that turned out to have an answer that could be known, told to whoever wrote the board."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from calibrant.grounding.held import held_text, places_of
from calibrant.grounding.tells import forms_of
from calibrant.ledger.store import Ledger
from calibrant.records.board import Challenge
from calibrant.records.grounding import Fact, Label, Resolution
from calibrant.runs.folder import RUN_DB
from calibrant.runs.plan import Task, task_of
from calibrant.runs.source import RunSource
from calibrant.world.base import Raw
from calibrant.world.unsettled import value_on_record


@dataclass(frozen=True, slots=True)
class Void:
    """An out-half that is void, in some epochs, for one reason.

    ``fact`` is what was found, where something was; ``places`` are those of what the seat was shown in which it
    stands; ``by`` is the kind of resolver that found it, or the person who said so, and ``why`` what was said.
    """

    challenge: str
    pair: str | None
    seat: str
    epochs: tuple[int, ...]
    fact: Fact | None
    places: tuple[str, ...]
    by: str
    why: str


@dataclass(frozen=True, slots=True)
class _Found:
    by: str
    why: str
    fact: Fact | None = None
    raw: Raw | None = None
    """The fact as its source wrote it, where a withheld half is void because it was shown."""


def voids_in(folder: Path) -> list[Void]:
    """The void out-halves of the run in a folder, in the order of its board."""
    with Ledger.open(folder / RUN_DB, write=False) as ledger:
        return list(voids(ledger, RunSource(ledger)))


def voids(ledger: Ledger, source: RunSource) -> Iterator[Void]:
    """The void out-halves of a run, in the order of its board; only they are kept in memory."""
    found: dict[Task, _Found] = {}
    for kind in ("resolution", "label"):
        for entry in ledger.entries(kind=kind):
            task = task_of(entry.key)
            reason = _by_world(entry.body, ledger, source, task) if kind == "resolution" else _by_person(entry.body)
            if reason is not None:
                found[task] = reason
    groups: dict[tuple[int, str, str, str], list[Task]] = {}
    for task in sorted(found):
        each = found[task]
        groups.setdefault((task.number, each.by, each.why, repr(each.fact)), []).append(task)
    for (number, *_), tasks in groups.items():
        yield _void(source, source.challenge(number), tasks, found[tasks[0]])


def _by_world(body: bytes, ledger: Ledger, source: RunSource, task: Task) -> _Found | None:
    resolution = Resolution.from_stored(body)
    if resolution.status != "fact" or source.challenge(task.number).half != "out":
        return None
    why = resolution.reason or "a source found its fact"
    on_record = resolution.evidence[-1:] if resolution.resolver.kind == "withheld" else ()
    raw = next((value_on_record(ledger.blob(digest)) for digest in on_record), None)
    return _Found(resolution.resolver.kind, why, resolution.value, raw)


def _by_person(body: bytes) -> _Found | None:
    label = Label.from_stored(body)
    if label.non_score != "invalid-challenge":
        return None
    return _Found(label.rater or "a person", label.critique or "said to be void")


def _void(source: RunSource, challenge: Challenge, tasks: Iterable[Task], found: _Found) -> Void:
    return Void(
        challenge=challenge.id,
        pair=challenge.pair_id,
        seat=challenge.seat,
        epochs=tuple(task.epoch for task in tasks),
        fact=found.fact,
        places=_places(source, challenge, found),
        by=found.by,
        why=found.why,
    )


def _places(source: RunSource, challenge: Challenge, found: _Found) -> tuple[str, ...]:
    """Where in what the seat was shown the fact can be read, in any form in which it is right."""
    pieces = source.held(challenge)
    together = held_text(pieces)
    forms = [form for fact in (found.raw, found.fact) for form in forms_of(challenge.outcome, fact, together)]
    return places_of(forms, pieces)
