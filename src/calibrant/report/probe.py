"""What bias probes showed, as a page and as plain JSON values; every figure is derived from the ratings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from calibrant.authority.probes import Finding, Flips, finding, flips_of
from calibrant.judging.probes import DISTURBS
from calibrant.judging.shifts import Leniency, flip_rate_without_placebo, shifts_of
from calibrant.records.authority import ProbeName
from calibrant.records.figures import percent
from calibrant.records.probe import ProbeReport, ProbeResult
from calibrant.report.view import Bar, Bars, Facts, Points, Section, Table, View
from calibrant.stats.interval import Interval
from calibrant.stats.proportions import Proportion
from calibrant.values import Undefined, format_instant

ALLOWED: Final = 0.1
"""The excess flip rate that counts as clear, where no standard says another."""

Allowed = float | Mapping[ProbeName, float]
"""The greatest excess flip rate that is tolerated: one for all probes, or those of a standard by name."""


def probe_view(
    report: ProbeReport,
    allowed: Allowed = ALLOWED,
    *,
    judge: str | None = None,
    level: float = 0.95,
    lenient: Leniency | Undefined | None = None,
) -> View:
    """The page of a report; ``judge`` is what people call the judge, ``lenient`` what its own items show beside it.

    Raises:
        ValueError: for a level outside (0, 1).
    """
    name = judge if judge is not None else f"{report.judge_instrument_sha256[:12]}…"
    findings = {result.probe: finding(result, _allowed(allowed, result), level=level) for result in report.results}
    sections: list[Section] = []
    made = [result for result in report.results if isinstance(flips_of(result, level=level), Flips)]
    if made:
        bars = tuple(_bar(result, findings[result.probe], level) for result in made)
        sections.append(Bars("Verdicts that flipped under each probe", bars))
        sections.append(_figures(made, findings, allowed, level))
    directions = _directions(made)
    if directions.rows:
        sections.append(directions)
    sections += _undone(report, level)
    if lenient is not None:
        sections.append(Facts("Passed by the judge and failed in gold", tuple(_lenient_rows(lenient))))
    sections.append(Facts("What each probe disturbs", tuple((r.probe, DISTURBS[r.probe]) for r in report.results)))
    sections.append(_report_facts(report))
    return View(_sentence(name, findings), tuple(_warnings(made, findings, level)), tuple(sections))


def _sentence(judge: str, findings: Mapping[ProbeName, Finding]) -> str:
    names: dict[Finding, list[ProbeName]] = {}
    for name, found in findings.items():
        names.setdefault(found, []).append(name)
    parts = [
        f"{found}: {', '.join(names[found])}" for found in ("bias", "unclear", "clear", "not made") if found in names
    ]
    count = "one probe" if len(findings) == 1 else f"{len(findings)} probes"
    return f"The judge {judge} under {count}. {'; '.join(parts).capitalize()}."


def _bar(result: ProbeResult, found: Finding, level: float) -> Bar:
    flips = _flips(result, level)
    count = sum(shift.probed for shift in shifts_of(result))
    meaning = f"{found}; only asked again {percent(flips.placebo.value)}, excess {signed(flips.excess)}"
    return Bar(result.probe, count, flips.probed.value, meaning)


def _figures(made: list[ProbeResult], findings: Mapping[ProbeName, Finding], allowed: Allowed, level: float) -> Table:
    columns = ("probe", "finding", "items", "missing", "flipped", "only asked again", "excess", "allowed")
    rows = []
    for result in made:
        flips = _flips(result, level)
        counts = (str(flips.probed.n), str(flips.missing))
        rates = (_rate(flips.probed), _rate(flips.placebo), signed(flips.excess), percent(_allowed(allowed, result)))
        rows.append((result.probe, findings[result.probe], *counts, *rates))
    return Table(
        f"Flips beyond the placebo, at {100 * level:g}% confidence", columns, tuple(rows), frozenset(range(2, 8))
    )


def _directions(made: list[ProbeResult]) -> Table:
    rows = tuple(
        (result.probe, f"{shift.before} → {shift.after}", str(shift.probed), str(shift.placebo))
        for result in made
        for shift in shifts_of(result)
    )
    return Table(
        "Which way they flipped", ("probe", "verdicts", "flipped", "only asked again"), rows, frozenset({2, 3})
    )


def _undone(report: ProbeReport, level: float) -> Iterator[Section]:
    """What was not made, and what has a flip rate and no excess."""
    points = []
    for result in report.results:
        flips = flips_of(result, level=level)
        if not isinstance(flips, Undefined):
            continue
        alone = flip_rate_without_placebo(result, level=level)
        if isinstance(alone, Undefined):
            points.append(f"{result.probe}: {result.skipped or f'{flips.reason} ({_verdicts(result)})'}")
        else:
            flipped = f"{_rate(alone)} of {alone.n} verdicts flipped"
            points.append(
                f"{result.probe}: {flipped}; nothing was asked again, so how many would have anyway is unknown"
            )
    if points:
        yield Points("Not made", tuple(points))


def _verdicts(result: ProbeResult) -> str:
    """How many of the items have a verdict in each asking."""
    names = {"verdict": "as it is", "again": "asked again", "probed": "under the probe"}
    counts = (f"{sum(getattr(r, field) is not None for r in result.ratings)} {name}" for field, name in names.items())
    return f"of {len(result.ratings)}: {', '.join(counts)}"


def _warnings(made: list[ProbeResult], findings: Mapping[ProbeName, Finding], level: float) -> Iterator[str]:
    for result in made:
        flips = _flips(result, level)
        total = flips.missing + flips.probed.n
        if flips.missing * 10 > total:
            yield (
                f"{result.probe}: {flips.missing} of {total} items have no verdict in one of the three askings "
                "and are in none of its rates."
            )
    unclear = [name for name, found in findings.items() if found == "unclear"]
    if unclear:
        yield f"Too few items to call {', '.join(unclear)} either clear or biased: add items."


def _lenient_rows(lenient: Leniency | Undefined) -> Iterator[tuple[str, str]]:
    if isinstance(lenient, Undefined):
        yield ("not computed", lenient.reason)
        return
    for name, rate in ((f"items by {lenient.author}", lenient.own), ("items by others", lenient.others)):
        yield (name, rate.reason if isinstance(rate, Undefined) else f"{_rate(rate)} of {rate.n}")
    yield ("reading", "the two are different items: a difference may be theirs and not the judge's")


def _report_facts(report: ProbeReport) -> Section:
    rows = (
        ("instrument", report.judge_instrument_sha256),
        ("made at", format_instant(report.made_at)),
        ("digest", report.digest()),
    )
    return Facts("Report", rows)


def signed(excess: Interval) -> str:
    """A difference of two rates in per cent, with its sign: ``+12.0% [+4.1%, +21.3%]``."""
    value, low, high = (f"{100 * share:+.1f}%" for share in (excess.value, excess.low, excess.high))
    return f"{value} [{low}, {high}]"


def _rate(rate: Proportion) -> str:
    return f"{percent(rate.value)} [{percent(rate.low)}, {percent(rate.high)}]"


def _flips(result: ProbeResult, level: float) -> Flips:
    flips = flips_of(result, level=level)
    assert isinstance(flips, Flips)  # only the probes that were made come here
    return flips


def _allowed(allowed: Allowed, result: ProbeResult) -> float:
    return allowed.get(result.probe, ALLOWED) if isinstance(allowed, Mapping) else allowed


def probe_json(
    report: ProbeReport,
    allowed: Allowed = ALLOWED,
    *,
    level: float = 0.95,
    lenient: Leniency | Undefined | None = None,
) -> dict[str, Any]:
    """The figures of a report as plain JSON values; the ratings are in the report itself.

    Raises:
        ValueError: for a level outside (0, 1).
    """
    return {
        "judge_instrument_sha256": report.judge_instrument_sha256,
        "report_sha256": report.digest(),
        "made_at": format_instant(report.made_at),
        "level": level,
        "probes": [_result_json(result, _allowed(allowed, result), level) for result in report.results],
        "leniency": _leniency_json(lenient),
    }


def _result_json(result: ProbeResult, allowed: float, level: float) -> dict[str, Any]:
    flips = flips_of(result, level=level)
    known = flips if isinstance(flips, Flips) else None
    return {
        "probe": result.probe,
        "disturbs": DISTURBS[result.probe],
        "finding": finding(result, allowed, level=level),
        "allowed": allowed,
        "skipped": result.skipped,
        "undefined": flips.reason if isinstance(flips, Undefined) else None,
        "items": known.probed.n if known is not None else 0,
        "missing": known.missing if known is not None else len(result.ratings),
        "flipped": _interval_json(known.probed if known is not None else None),
        "only_asked_again": _interval_json(known.placebo if known is not None else None),
        "excess": _interval_json(known.excess if known is not None else None),
        "flipped_without_placebo": _interval_json(flip_rate_without_placebo(result, level=level)),
        "directions": [shift._asdict() for shift in shifts_of(result)],
    }


def _interval_json(rate: Interval | Undefined | None) -> dict[str, Any] | None:
    if rate is None or isinstance(rate, Undefined):
        return None
    return {"value": rate.value, "low": rate.low, "high": rate.high, "method": rate.method, "n": rate.n}


def _leniency_json(lenient: Leniency | Undefined | None) -> dict[str, Any] | None:
    if lenient is None:
        return None
    if isinstance(lenient, Undefined):
        return {"undefined": lenient.reason}
    return {
        "author": lenient.author,
        "own": _interval_json(lenient.own),
        "others": _interval_json(lenient.others),
    }
