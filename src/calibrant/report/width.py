"""What the option-width probe shows, as a page and as plain JSON values; every figure is derived from the two runs."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from typing import Any, Final

from calibrant.grounding.drift import LACKS, STATES, Asked, Finding, Side, SideFigures, Widths
from calibrant.grounding.options import write_covering
from calibrant.records.figures import percent
from calibrant.records.types import write_quantity
from calibrant.report.probe import signed
from calibrant.report.view import Axis, Commands, Facts, Mark, Plot, Points, Section, Series, Table, View
from calibrant.runs.widths import WidthProbe
from calibrant.stats.interval import Interval
from calibrant.stats.location import Located
from calibrant.stats.proportions import Proportion
from calibrant.values import Undefined

FEW: Final = 20
"""Questions on both sides below which the figures are called anecdotal."""

_MOST_ROWS: Final = 50
_FINDINGS: Final[dict[Finding, str]] = {
    "wider": "it writes its own options wider than the grid's",
    "narrower": "it writes its own options narrower than the grid's",
    "as wide": "it writes its own options as wide as the grid's",
    "unclear": "whether its own options are wider than the grid's is unclear",
}


def width_view(probe: WidthProbe, widths: Widths, *, grid: str | None = None, own: str | None = None) -> View:
    """The page of a probe; ``grid`` and ``own`` are what the runs are called in the commands that it ends with."""
    names = (shlex.quote(grid or probe.grid.id), shlex.quote(own or probe.own.id))
    sections: tuple[Section, ...] = (
        _drift(widths),
        _hits(widths),
        _bits(widths),
        *_plot(widths),
        _states(widths),
        *_reasons(probe, widths),
        *_questions(widths),
        _runs(probe),
        _next(*names),
    )
    return View(_sentence(probe, widths), tuple(_warnings(probe, widths)), sections)


def _sentence(probe: WidthProbe, widths: Widths) -> str:
    who = probe.grid.terms.subject.name
    if not widths.compared:
        return f"{who}: nothing compares; of {_count(len(widths.asked), 'question')}, {_lacks(widths)}."
    found = widths.drift_median
    assert isinstance(found, Located)  # something compares
    return (
        f"{who}, {_count(widths.compared, 'question')} put with the author's grid and with its own options: "
        f"{_FINDINGS[widths.finding]} ({_times(found.value)} as wide in the median); "
        f"at equal width they hit {_pointed(widths.equal_width)} where the grid hits {_pointed(widths.grid_hits)}."
    )


def _lacks(widths: Widths) -> str:
    """Why questions are in no comparison."""
    return "; ".join(f"{count} {LACKS[lack]}" for lack, count in widths.lacks.items())


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _times(doublings: float) -> str:
    return f"{2**doublings:.3g} times"


def _pointed(rate: Proportion | Undefined) -> str:
    return rate.reason if isinstance(rate, Undefined) else percent(rate.value)


def _warnings(probe: WidthProbe, widths: Widths) -> Iterator[str]:
    if probe.grid.terms.subject.capability == "test-double":
        yield "The subject is a test double: these figures say nothing about any model."
    if 0 < widths.compared < FEW:
        yield f"Anecdotal: {_count(widths.compared, 'question')} compared, below {FEW}."
    lost = len(widths.asked) - widths.compared
    if lost:
        asked = _count(len(widths.asked), "question")
        yield f"{lost} of {asked} {'is' if lost == 1 else 'are'} in no comparison: {_lacks(widths)}."
    for name, side in (("grid", widths.grid), ("own options", widths.own)):
        if side.states["implausible"]:
            some = side.states["implausible"]
            yield f"{name}: {_count(some, 'fact')} outside the plausible range. The board's range is wrong there."
    if widths.facts_moved:
        yield (
            f"The world answered {_count(widths.facts_moved, 'question')} otherwise on the two sides; "
            "each side is held to its own answer."
        )
    if max(probe.grid.terms.epochs, probe.own.terms.epochs) > 1:
        yield "Only the first epoch of each run is compared: further epochs of a question are not independent of it."


def _drift(widths: Widths) -> Section:
    rows = (
        ("median", *_doublings(widths.drift_median)),
        ("mean", *_doublings(widths.drift_mean)),
        ("wider, as wide, narrower", f"{widths.wider}, {widths.same}, {widths.narrower}", "", "", ""),
    )
    columns = ("own width against the grid's", "doublings", "interval", "times as wide", "method")
    return Table(f"Drift, at {100 * widths.level:g}% confidence", columns, rows)


def _doublings(found: Located | Undefined) -> tuple[str, ...]:
    if isinstance(found, Undefined):
        return ("–", "", "", found.reason)
    interval = found.interval
    if isinstance(interval, Undefined):
        return (f"{found.value:+.2f}", "", f"{2**found.value:.3g}", f"no interval: {interval.reason}")
    times = f"{2**found.value:.3g} [{2**interval.low:.3g}, {2**interval.high:.3g}]"
    return (f"{found.value:+.2f}", f"[{interval.low:+.2f}, {interval.high:+.2f}]", times, interval.method)


def _hits(widths: Widths) -> Section:
    rates = (
        ("grid", widths.grid_hits),
        ("own options, as they are", widths.own_hits),
        ("own options, at the grid's width", widths.equal_width),
    )
    rows = [(name, *_rate(found)) for name, found in rates]
    rows.append(("difference at equal width (own less grid)", *_difference(widths)))
    columns = ("fact in the option, of those compared", "rate", "n", "method")
    return Table(f"Hits, at {100 * widths.level:g}% confidence", columns, tuple(rows), frozenset({2}))


def _rate(found: Proportion | Undefined) -> tuple[str, str, str]:
    if isinstance(found, Undefined):
        return ("–", "0", found.reason)
    return (f"{percent(found.value)} [{percent(found.low)}, {percent(found.high)}]", str(found.n), found.method)


def _difference(widths: Widths) -> tuple[str, str, str]:
    found = widths.difference
    if isinstance(found, Undefined):
        return ("–", "0", found.reason)
    tested = f", McNemar p = {widths.p_value:.3g}" if not isinstance(widths.p_value, Undefined) else ""
    return (signed(found), str(found.n), f"{found.method}, paired{tested}")


def _bits(widths: Widths) -> Section:
    rows = []
    for name, side in (("grid", widths.grid), ("own options", widths.own)):
        for what, found in (
            ("given", side.bits),
            ("given when right", side.bits_when_right),
            ("earned (nothing when wrong)", side.bits_earned),
        ):
            rows.append((name, what, *_amount(found)))
    columns = ("side", "bits a question", "mean", "n", "method")
    return Table(f"Information, at {100 * widths.level:g}% confidence", columns, tuple(rows), frozenset({3}))


def _amount(found: Located | Undefined) -> tuple[str, str, str]:
    if isinstance(found, Undefined):
        return ("–", "0", found.reason)
    if isinstance(found.interval, Undefined):
        return (f"{found.value:.2f}", str(found.n), f"no interval: {found.interval.reason}")
    interval = found.interval
    return (f"{found.value:.2f} [{interval.low:.2f}, {interval.high:.2f}]", str(found.n), interval.method)


def _plot(widths: Widths) -> Iterator[Section]:
    both = [row for row in widths.asked if row.compares]
    if not both:
        return
    most = max(1.0, *(math.ceil(max(row.grid.bits, row.own.bits)) for row in both))
    series = (
        Series("as wide as on the grid", (Mark(0, 0), Mark(most, most)), "line"),
        *(
            Series(name, tuple(Mark(row.grid.bits, row.own.bits) for row in both if row.own.hit == held))
            for name, held in (("its own option holds the fact", True), ("its own option misses it", False))
            if any(row.own.hit == held for row in both)
        ),
    )
    reading = "Each mark is a question; below the line its own option is wider than the grid's and says less."
    x, y = Axis("bits on the grid", 0, most), Axis("bits of its own option", 0, most)
    yield Plot("Information on both sides", x, y, series, reading)


def _states(widths: Widths) -> Section:
    rows = tuple(
        (str(widths.grid.states[state]), str(widths.own.states[state]), meaning)
        for state, meaning in STATES.items()
        if widths.grid.states[state] or widths.own.states[state]
    )
    return Table("What became of each question", ("grid", "own", ""), rows, frozenset({0, 1}))


def _reasons(probe: WidthProbe, widths: Widths) -> Iterator[Section]:
    """Why a side got no answers, why options were not sound, or answers not read, the commonest first."""
    unanswered = {"grid": widths.grid.states["unanswered"], "own": widths.own.states["unanswered"]}
    failed = [
        f"{unanswered[arm]} × {arm}, unanswered; last failure: {text}"
        for arm, text in probe.failures.items()
        if unanswered[arm]
    ]
    seen: dict[str, int] = {}
    for row in widths.asked:
        for name, side in (("grid", row.grid), ("own", row.own)):
            if side.reason is not None and side.state != "settled":
                text = f"{name}, {side.state}: {side.reason}"
                seen[text] = seen.get(text, 0) + 1
    ordered = sorted(seen, key=lambda text: -seen[text])
    points = failed + [f"{seen[text]} × {text}" for text in ordered[:10]]
    if len(ordered) > 10:
        points.append(f"and {len(ordered) - 10} more reasons")
    if points:
        yield Points("Why not", tuple(points))


def _questions(widths: Widths) -> Iterator[Section]:
    rows = [_question(row) for row in widths.asked if row.compares]
    if rows:
        title = "Questions compared" + (f" (the first {_MOST_ROWS} of {len(rows)})" if len(rows) > _MOST_ROWS else "")
        columns = ("challenge", "fact", "on the grid", "", "its own option", "", "at equal width")
        yield Table(title, columns, tuple(rows[:_MOST_ROWS]))


def _question(row: Asked) -> tuple[str, ...]:
    facts = " or ".join(map(write_quantity, row.own.facts))
    moved = "hit" if row.own_moved_hits else "miss"
    return (row.challenge, facts, *_committed(row.grid), *_committed(row.own), moved)


def _committed(side: Side) -> tuple[str, str]:
    return (f"{write_covering(side.covers)} ({100 * (side.width or 0):.3g}%)", "hit" if side.hit else "miss")


def _runs(probe: WidthProbe) -> Section:
    rows = (
        ("subject", probe.grid.terms.subject.name),
        ("board", probe.grid.terms.board_sha256),
        ("with the grid", f"{probe.grid.id}, elicitation {probe.grid.elicitation}"),
        ("with own options", f"{probe.own.id}, elicitation {probe.own.elicitation}"),
    )
    return Facts("Runs", rows)


def _next(grid: str, own: str) -> Section:
    rows = (
        (f"calibrant probe width {grid} {own}", "reads this page again from the two runs"),
        (f"calibrant show {own} --items --half in", "what it wrote, answer by answer"),
        (f"calibrant verify {own}", "derives the run again; the other likewise"),
    )
    return Commands("Next", rows)


def width_json(probe: WidthProbe, widths: Widths) -> dict[str, Any]:
    """The figures of a probe as plain JSON values, with every question."""
    return {
        "grid_run": probe.grid.id,
        "own_run": probe.own.id,
        "board_sha256": probe.grid.terms.board_sha256,
        "subject": probe.grid.terms.subject.to_dict(),
        "elicitations": {"grid": probe.grid.elicitation, "own": probe.own.elicitation},
        "level": widths.level,
        "asked": len(widths.asked),
        "compared": widths.compared,
        "finding": widths.finding,
        "drift": {
            "unit": "doublings of the width on the grid",
            "median": _located_json(widths.drift_median),
            "mean": _located_json(widths.drift_mean),
            "wider": widths.wider,
            "same": widths.same,
            "narrower": widths.narrower,
        },
        "hits": {
            "grid": _interval_json(widths.grid_hits),
            "own": _interval_json(widths.own_hits),
            "equal_width": _interval_json(widths.equal_width),
            "difference": _interval_json(widths.difference),
            "mcnemar_p": None if isinstance(widths.p_value, Undefined) else widths.p_value,
        },
        "grid": _side_json(widths.grid),
        "own": _side_json(widths.own),
        "facts_moved": widths.facts_moved,
        "questions": [_question_json(row) for row in widths.asked],
    }


def _located_json(found: Located | Undefined) -> dict[str, Any]:
    if isinstance(found, Undefined):
        return {"undefined": found.reason}
    return {"value": found.value, "n": found.n, "interval": _interval_json(found.interval)}


def _interval_json(found: Interval | Undefined) -> dict[str, Any]:
    if isinstance(found, Undefined):
        return {"undefined": found.reason}
    return {"value": found.value, "low": found.low, "high": found.high, "method": found.method, "n": found.n}


def _side_json(side: SideFigures) -> dict[str, Any]:
    return {
        "states": dict(side.states),
        "hits": _interval_json(side.hits),
        "bits": _located_json(side.bits),
        "bits_when_right": _located_json(side.bits_when_right),
        "bits_earned": _located_json(side.bits_earned),
    }


def _question_json(row: Asked) -> dict[str, Any]:
    compares = row.compares
    return {
        "challenge": row.challenge,
        "grid": _committed_json(row.grid),
        "own": _committed_json(row.own),
        "drift": row.drift if compares else None,
        "equal_width_hit": row.own_moved_hits if compares else None,
    }


def _committed_json(side: Side) -> dict[str, Any]:
    return {
        "state": side.state,
        "covers": None if side.covers is None else write_covering(side.covers),
        "width": side.width,
        "facts": [write_quantity(fact) for fact in side.facts],
        "hit": side.hit if side.facts else None,
        "reason": side.reason,
    }
