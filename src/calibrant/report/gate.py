"""Verdicts of gates, and what a grant is worth, as pages and as plain JSON values."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from calibrant.authority.claims import limits, meaning
from calibrant.authority.gate import Ruling, Verdict, overall
from calibrant.authority.grants import BINDS, GrantReading, Moved, Rig
from calibrant.errors import quote
from calibrant.records.authority import ClaimSpec
from calibrant.records.base import Record
from calibrant.records.figures import percent, rate
from calibrant.report.view import Commands, Facts, Points, Section, Table, View
from calibrant.runs.gating import Gating

_SAYS: Final[Mapping[Ruling, str]] = {
    "pass": "passes",
    "fail": "fails",
    "blocked": "is blocked: it is meant to gate, and the evidence cannot carry an honest claim",
    "informational": "gates nothing: authority was not earned, so its figure is informational",
}

_IN_LINE: Final = re.compile(r"line (\d+): (.*)", re.DOTALL)


def gating_view(found: Gating, reference: str, judges: Mapping[str, str] = MappingProxyType({})) -> View:
    """The page of what the gates of a project say about a run; ``judges`` are the files of the judges of gates."""
    sentence = _sentence(found.verdicts, reference)
    sections: list[Section] = [_table(found.verdicts)]
    for verdict in found.verdicts:
        sections += _of_gate(verdict)
    sections += _readings(found)
    warnings = dict.fromkeys((*found.told, *_dropped(found), *(w for told in found.warnings.values() for w in told)))
    return View(sentence, tuple(warnings), (*sections, _next(found.verdicts, reference, judges)))


def _dropped(found: Gating) -> Iterator[str]:
    """What is said where a gate that was there when the run started is there no more."""
    for name in found.dropped:
        yield f"The run was started under the policy {quote(name)} too, which no gate has now: its verdict is not here."


def _sentence(verdicts: Sequence[Verdict], reference: str) -> str:
    if len(verdicts) == 1:
        return f"Run {reference}: the gate {verdicts[0].gate} {_says(verdicts[0])}."
    said = overall(verdicts)
    counts = ", ".join(f"{n} {ruling}" for ruling in _SAYS if (n := sum(found.verdict == ruling for found in verdicts)))
    without = unearned(verdicts)
    if not without:
        return f"Run {reference}: {said}, of {len(verdicts)} gates ({counts})."
    have = "has" if without == 1 else "have"
    return f"Run {reference}: {said}; {without} of {len(verdicts)} gates {have} no authority ({counts})."


def _says(found: Verdict) -> str:
    said = _SAYS[found.verdict]
    if found.verdict == "informational" and found.grant.status == "mismatched":
        return said.replace("was not earned", "was not earned, or something moved")
    return said


def unearned(verdicts: Iterable[Verdict]) -> int:
    """How many gates have no authority, so that nothing is known of what they would say."""
    return sum(found.verdict == "informational" for found in verdicts)


def _table(verdicts: Sequence[Verdict]) -> Section:
    columns = ("gate", "verdict", "authority", "grant", "judge", "rate", "interval", "asked", "units", "missing")
    worst = any(found.measure is not None and found.estimate and found.estimate.missing for found in verdicts)
    cells = tuple(map(_row, verdicts))
    if not worst:
        return Table("Gates", columns, cells, frozenset({5, 7, 8, 9}))
    rows = tuple((*row, _worst(found)) for row, found in zip(cells, verdicts, strict=True))
    return Table("Gates", (*columns, "worst case"), rows, frozenset({5, 7, 8, 9, 10}))


def _row(found: Verdict) -> tuple[str, ...]:
    policy, estimate = found.policy, found.estimate
    sign = "≥" if policy.direction == "at-least" else "≤"
    return (
        found.gate,
        found.verdict,
        found.authority,
        found.grant.status,
        found.calibration.status if found.calibration is not None else "–",
        _rate(found),
        found.measure.method if found.measure is not None else "–",
        f"{policy.statistic} {sign} {percent(policy.threshold)}",
        str(estimate.clusters) if estimate is not None else "–",
        str(estimate.missing) if estimate is not None else "–",
    )


def _rate(found: Verdict) -> str:
    """The rate and the interval that decide; where nothing is compared, why there is no rate."""
    measured = found.measure
    if measured is not None:
        return f"{percent(measured.value)} [{percent(measured.low)}, {percent(measured.high)}]"
    return rate(found.estimate) if found.estimate is not None else "–"


def _worst(found: Verdict) -> str:
    return percent(found.measure.worst) if found.measure is not None else "–"


def _of_gate(found: Verdict) -> Iterator[Section]:
    yield Points(f"Why {found.gate} is {found.verdict}", found.reasons)
    if found.raters:
        yield Points(f"Whose labels count for {found.gate}", found.raters)
    moved = tuple(lines_moved(found.grant.moved))
    if moved:
        yield Points(f"What moved under the grant of {found.gate}", moved)
    if found.grant.unbound:
        yield Points(
            f"What {found.gate} depends on and its grant does not name",
            tuple(f"{name}: it can change, and the grant still matches" for name in found.grant.unbound),
        )


def _readings(found: Gating) -> Iterator[Section]:
    """What the figures may be read to mean: each claim once, with all its limits and the gates that it is of."""
    gates: dict[str | None, list[str]] = {}
    claims: dict[str | None, ClaimSpec | None] = {}
    for verdict in found.verdicts:
        claim = found.claims.get(verdict.gate)
        digest = claim.digest() if claim is not None else None
        gates.setdefault(digest, []).append(verdict.gate)
        claims[digest] = claim
    for digest, names in gates.items():
        yield Facts(f"What {_listed(names)} may be read to mean", tuple(_claimed(claims[digest])))


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _claimed(claim: ClaimSpec | None) -> Iterator[tuple[str, str]]:
    yield ("reading", meaning(claim))
    if claim is not None:
        yield from limits(claim)


class _Place(NamedTuple):
    """Where a difference was found: the field of the grant, the way from there, and the line of a text."""

    field: str
    path: str
    line: str | None


def lines_moved(moved: Iterable[Moved]) -> Iterator[str]:
    """What moved, each difference once with every field of the grant that it moved, and where in it.

    A word of a rubric stands in the prompt as well, and both behind the instrument and behind the study of it.
    """
    found: dict[tuple[str, str], list[_Place]] = {}
    for move in moved:
        for said in move.changes:
            path, there, change = said.partition(": ")
            words = _IN_LINE.fullmatch(change)
            if words is not None:
                found.setdefault(("words", words[2]), []).append(_Place(move.field, path, words[1]))
            else:
                key = (path.rpartition(".")[2], change) if there else (move.field, "")
                found.setdefault(key, []).append(_Place(move.field, path, None))
    return (_moved_at(places, change) for (_, change), places in found.items())


def _moved_at(places: Sequence[_Place], change: str) -> str:
    line = places[0].line
    same = all(place.line == line for place in places)
    what = f"line {line}: {change}" if same and line is not None else change
    if len(places) == 1:
        return ": ".join(part for part in (places[0].field, places[0].path, what) if part)
    by_field: dict[str, list[str]] = {}
    for place in places:
        within = "" if same else f" in line {place.line}"
        by_field.setdefault(place.field, []).append(f"{place.path}{within}")
    return f"{_listed([f'{field} ({_listed(paths)})' for field, paths in by_field.items()])}: {what}"


def _next(verdicts: Sequence[Verdict], reference: str, judges: Mapping[str, str]) -> Section:
    run = shlex.quote(reference)
    rows = []
    for found in verdicts:
        if found.grant.status in ("missing", "mismatched"):
            gate = shlex.quote(found.gate)
            rows.append((f"calibrant grant digests --gate {gate} --run {run}", "what a grant for it must carry"))
        if found.calibration is not None and found.calibration.status != "calibrated":
            judge = shlex.quote(judges.get(found.gate, "JUDGE"))
            rows.append((f"calibrant judge study --judge {judge} --gold gold/", "hold the judge against human gold"))
    rows.append((f"calibrant show {run}", "the scorecard"))
    return Commands("Next", tuple(dict.fromkeys(rows)))


def gating_json(found: Gating) -> dict[str, Any]:
    """What the gates say as plain JSON values."""
    return {
        "run": found.run,
        "verdict": overall(found.verdicts),
        "unearned": unearned(found.verdicts),
        "warnings": list(found.told),
        "dropped": list(found.dropped),
        "gates": [
            {**_verdict_json(verdict), "claim": _record_json(found.claims.get(verdict.gate)), "warnings": told}
            for verdict in found.verdicts
            for told in [list(found.warnings.get(verdict.gate, ()))]
        ],
    }


def unread_json(run: str, reasons: Sequence[str]) -> dict[str, Any]:
    """What is said of a run that no gate can be checked on, as plain JSON values."""
    return {"run": run, "verdict": "blocked", "gates": [], "reasons": list(reasons)}


def _verdict_json(found: Verdict) -> dict[str, Any]:
    measured = found.measure
    return {
        "gate": found.gate,
        "verdict": found.verdict,
        "authority": found.authority,
        "reasons": list(found.reasons),
        "policy": found.policy.to_dict(),
        "policy_sha256": found.policy.digest(),
        "estimate": _record_json(found.estimate),
        **{name: getattr(measured, name, None) for name in ("value", "low", "high", "worst", "figure", "method")},
        "raters": list(found.raters),
        "grant": grant_json(found.grant),
        "calibration": None
        if found.calibration is None
        else {"status": found.calibration.status, "reasons": list(found.calibration.reasons)},
    }


def _record_json(record: Record | None) -> dict[str, Any] | None:
    return record.to_dict() if record is not None else None


def grant_json(found: GrantReading) -> dict[str, Any]:
    """What a grant is worth as plain JSON values."""
    return {
        "status": found.status,
        "reasons": list(found.reasons),
        "moved": [
            {
                "field": move.field,
                "blessed": move.blessed,
                "current": move.current,
                "reason": move.reason,
                "changes": list(move.changes),
            }
            for move in found.moved
        ],
        "unbound": list(found.unbound),
    }


def grant_view(found: GrantReading, name: str, gate: str, rig: Rig, warnings: Iterable[str] = ()) -> View:
    """The page of what a grant is worth."""
    sections: list[Section] = []
    if found.reasons:
        sections.append(Points("Why", found.reasons))
    moved = tuple(lines_moved(found.moved))
    if moved:
        sections.append(Points("What moved", moved))
    if found.unbound:
        told = tuple(f"{part}: it can change, and the grant still matches" for part in found.unbound)
        sections.append(Points("What the gate depends on and the grant does not name", told))
    sections.append(_digests(rig, "The rig of today"))
    rows = ((f"calibrant grant digests --gate {shlex.quote(gate)}", "what a grant must carry now"),)
    sections.append(Commands("Next", rows if found.status != "matched" else (("calibrant gate", "the verdict"),)))
    return View(f"{name} is {found.status} for the gate {gate}.", tuple(warnings), tuple(sections))


def digests_view(gate: str, rig: Rig, wanting: Iterable[str], grant: str | None) -> View:
    """The page of what a grant must carry. Nothing is written: a person does that."""
    named = Facts("", (("metric", rig.policy.metric),))
    file = shlex.quote(grant or f"grants/{gate}.yaml")
    steps = (
        (f"$EDITOR {file}", "write the grant: these digests, your name, the time and your reasons"),
        (
            f"ssh-keygen -Y sign -n calibrant-grant -f ~/.ssh/id_ed25519 {file}",
            "sign it, where allowed_signers is kept",
        ),
        (f"calibrant grant check {file}", "what it is worth"),
    )
    return View(
        f"A grant for the gate {gate} must carry these digests. Read what they are of before you approve them.",
        tuple(wanting),
        (named, _digests(rig, "Digests"), Commands("Next", steps)),
    )


def _digests(rig: Rig, title: str) -> Section:
    rows = [(field, record.digest() if record is not None else "–") for field, record in rig.bound().items()]
    return Facts(title, tuple(rows))


def digests_json(gate: str, rig: Rig, wanting: Iterable[str] = ()) -> dict[str, Any]:
    """What a grant must carry as plain JSON values, with the records that the digests are of."""
    return {
        "gate": gate,
        "metric": rig.policy.metric,
        **{field: record.digest() if record is not None else None for field, record in rig.bound().items()},
        "warnings": list(wanting),
        "of": {BINDS[field]: _record_json(record) for field, record in rig.bound().items()},
    }
