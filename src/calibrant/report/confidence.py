"""Stated confidences as a page and as JSON: the four cells first, then every figure, the curves, who said what."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from typing import Any, Final

from calibrant.errors import quote
from calibrant.records.confidence import ConfidenceFigures, ConfidenceGroup, ConfidenceSummary, Figure, IntervalFigures
from calibrant.records.figures import percent
from calibrant.report.view import Axis, Commands, Facts, Mark, Plot, Section, Series, Table, View

_SHARES: Final = Axis("confidence", 0, 1)
_FIGURES: Final = (
    ("rate", "right", "how much of the answers was right"),
    ("mean_confidence", "mean confidence", "equal to the line above where confidence is right on the whole"),
    ("brier", "Brier score", "mean squared distance from what came about; 0 is best, 0.25 is always saying one half"),
    ("skill", "Brier skill", "the part of the uncertainty explained; 0 is what always saying the base rate gets"),
    ("log_score", "log score", "mean surprise in nats; 0 is best, 0.693 is always saying one half"),
    ("clipped_log_score", "log score, clipped", "the same with no confidence nearer to 0 or 1 than {clip:g}"),
    ("ece", "calibration error", "as it is usually computed: chance alone makes it more than 0"),
    ("ece_debiased", "calibration error, debiased", "without what chance adds; an interval from 0 shows no fault"),
    ("auroc", "AUROC", "how often a right answer is surer than a wrong one; 0.5 is chance"),
    ("aurc", "area under risk-coverage", "the mean share of wrong answers among the surest; less is better"),
    ("excess_aurc", "its excess", "what lies above the best order of these answers"),
)


def confidence_view(figures: ConfidenceFigures, subject: str, *, reference: str) -> View:
    """The page of a run's figures; ``reference`` is what the run is called in the commands that it ends with."""
    sections = (*confidence_sections(figures), _next(figures, shlex.quote(reference)))
    return View(confidence_sentence(figures, subject), confidence_warnings(figures), sections)


def confidence_sentence(figures: ConfidenceFigures, subject: str) -> str:
    """What the figures come down to: how often who was sure, and right."""
    if not figures.stated:
        return f"No resolved answer of {subject} states a confidence."
    if not figures.n:
        return f"No confidence that {subject} stated can be held against a fact."
    cells = figures.cells
    sure, unsure = cells.sure_right + cells.sure_wrong, cells.unsure_right + cells.unsure_wrong
    parts = [f"sure of {sure} and right in {cells.sure_right}"] if sure else ["sure of none"]
    parts += [f"unsure of {unsure} and right in {cells.unsure_right}"] if unsure else []
    parts += [f"partly right in {cells.partly}"] if cells.partly else []
    answers = "the one answer" if figures.n == 1 else f"{figures.n} answers"
    return f"Of {answers} with a confidence and a known fact, {subject} was {', '.join(parts)}."


def confidence_warnings(figures: ConfidenceFigures) -> tuple[str, ...]:
    """What a reader has to know before the figures."""
    return tuple(_warnings(figures))


def confidence_sections(figures: ConfidenceFigures) -> tuple[Section, ...]:
    """Every section about the figures: the four cells, the figures, the two curves, intervals, and who said what.

    Figures of too few answers are marked in the titles, so that no section can be quoted without it.
    """
    return (
        *_stated(figures),
        *((_cells(figures), _table(figures), *_curve(figures), *_risk(figures)) if figures.n else ()),
        *(() if figures.intervals is None else (_intervals(figures, figures.intervals),)),
        *_groups(figures),
    )


def confidence_json(figures: ConfidenceFigures) -> dict[str, Any]:
    """The figures as JSON values: the record itself."""
    return figures.to_dict()


def summary_sections(summary: ConfidenceSummary | None) -> Iterator[Section]:
    """What a scorecard's page says of confidences, where any was stated."""
    if summary is None or not summary.stated:
        return
    brier = f"{summary.brier:.4f}" if summary.brier is not None else f"undefined: {summary.undefined}"
    rows = [
        ("stated", _of_stated(summary, summary.scored)),
        ("sure and right", f"{summary.sure_right}  (sure: {summary.sure:g} or more)"),
        ("sure and wrong", str(summary.sure_wrong)),
        ("unsure and right", str(summary.unsure_right)),
        ("unsure and wrong", str(summary.unsure_wrong)),
        *([("partly right", str(summary.partly))] if summary.partly else []),
        ("Brier score", f"{brier}  (0 is best; 0.25 is always saying one half)"),
    ]
    rows[1:1] = [_by_model(summary.by_model, summary.stated)] if summary.by_model else []
    yield Facts("Confidence", tuple(rows))


def _of_stated(told: ConfidenceSummary | ConfidenceFigures, scored: int) -> str:
    """``12: 9 scored, 1 no probability as asked for, 2 declined or with no fact to hold it against``."""
    parts = [f"{scored} scored"]
    parts += [f"{told.unread} no probability as asked for"] if told.unread else []
    parts += [f"{told.unreadable} with an answer that could not be read"] if told.unreadable else []
    parts += [f"{told.unscored} declined or with no fact to hold it against"] if told.unscored else []
    return f"{told.stated}: {', '.join(parts)}"


def _warnings(figures: ConfidenceFigures) -> Iterator[str]:
    if figures.n and figures.anecdotal:
        few = f"{figures.units} independent {'answer is' if figures.units == 1 else 'answers are'}"
        yield f"Anecdotal: {few} fewer than {figures.anecdotal_below}. Read no rate out of the figures below."
    if figures.unread:
        said = "1 stated confidence is" if figures.unread == 1 else f"{figures.unread} stated confidences are"
        examples = ", ".join(map(quote, figures.unread_examples))
        asked = f"; {figures.asked_for}" if figures.asked_for else ""
        yield f"{said} no probability as it was asked for and not scored{asked}. Said: {examples}."


def _by_model(count: int, of: int) -> tuple[str, str]:
    """What a probability of tokens is: none of the answer, whatever the figures make of it."""
    return "not stated", f"{count} of {of} are the probability that the model gave to its own words"


def _marked(title: str, figures: ConfidenceFigures) -> str:
    return f"{title} (anecdotal)" if figures.anecdotal else title


def _stated(figures: ConfidenceFigures) -> Iterator[Section]:
    rows = [("stated", _of_stated(figures, figures.n))]
    if figures.n:
        rows.append(("independent", "1 question" if figures.units == 1 else f"{figures.units} questions"))
        rows += [_by_model(figures.by_model, figures.n)] if figures.by_model else []
        rows.append(("intervals", f"{percent(figures.level).replace('.0%', '%')}, seed {figures.seed}"))
    yield Facts("Confidences", tuple(rows))


def _cells(figures: ConfidenceFigures) -> Section:
    cells = figures.cells
    rows = (
        (f"sure ({cells.sure:g} or more)", cells.sure_right, cells.sure_wrong),
        (f"unsure (below {cells.sure:g})", cells.unsure_right, cells.unsure_wrong),
    )
    shown = [(name, str(right), str(wrong), _share(right, right + wrong)) for name, right, wrong in rows]
    if cells.partly:
        shown.append((f"partly right: {cells.partly}, in no cell", "", "", ""))
    title = "Sure and right" + (", each from the side that it favours" if figures.two_sided else "")
    return Table(_marked(title, figures), ("", "right", "wrong", "of these, right"), tuple(shown), frozenset({1, 2, 3}))


def _share(part: int, whole: int) -> str:
    return percent(part / whole) if whole else "–"


def _table(figures: ConfidenceFigures) -> Section:
    rows = [_row(name, getattr(figures, field), reading.format(clip=figures.clip)) for field, name, reading in _FIGURES]
    if figures.parts is not None:
        parts = figures.parts
        said = (
            ("  its reliability", parts.reliability, "squared distance of the bins from their rates; 0 is best"),
            ("  its resolution", parts.resolution, "squared distance of the rates from the base rate; more is better"),
            ("  its uncertainty", parts.uncertainty, "how varied the answers are; nobody's merit"),
            ("  within bins", parts.within_variance - parts.within_covariance, "what the bins hide of it"),
        )
        rows[3:3] = [(name, _number(value), "", "", reading) for name, value, reading in said]
    return Table(_marked("Figures", figures), ("", "value", "interval", "n", "reading"), tuple(rows), frozenset({1, 3}))


def _row(name: str, figure: Figure, reading: str) -> tuple[str, ...]:
    if figure.value is None:
        return (name, "–", "", str(figure.n), f"undefined: {figure.undefined}")
    return (name, _number(figure.value), _between(figure), str(figure.n), reading)


def _between(figure: Figure) -> str:
    return "" if figure.low is None or figure.high is None else f"[{_number(figure.low)}, {_number(figure.high)}]"


def _number(value: float) -> str:
    """Four places, and nothing that is there shown as nothing."""
    return f"{value:.4f}" if abs(value) >= 0.00005 or value == 0 else f"{value:.1e}"


def _curve(figures: ConfidenceFigures) -> Iterator[Section]:
    """The bins as a table and as a curve: where they lie, and where they would if the confidences were right."""
    rows = tuple(
        (
            f"{b.low:.3g} to {b.high:.3g}",
            str(b.n),
            f"{b.confidence:.3f}",
            f"{b.rate:.3f}",
            f"[{b.rate_low:.3f}, {b.rate_high:.3f}]",
            f"[{b.band_low:.3f}, {b.band_high:.3f}]",
            "" if b.band_low <= b.rate <= b.band_high else ("too sure" if b.rate < b.confidence else "too unsure"),
        )
        for b in figures.curve
    )
    title = _marked(f"Reliability, up to {figures.bins} bins of {figures.binning}", figures)
    columns = ("confidence", "n", "mean", "right", "interval", "if calibrated", "reading")
    yield Table(title, columns, rows, frozenset({1, 2, 3}))
    marks = tuple(Mark(b.confidence, b.rate, b.band_low, b.band_high, f"n = {b.n}") for b in figures.curve)
    diagonal = Series("as right as sure", (Mark(0, 0), Mark(1, 1)), "line")
    reading = "Bars: where a point would lie if the confidences were right. Below the line: too sure."
    seen = Series("answers", marks)
    yield Plot(_marked("Reliability curve", figures), _SHARES, Axis("share right", 0, 1), (diagonal, seen), reading)


def _risk(figures: ConfidenceFigures) -> Iterator[Section]:
    steps = figures.risk_coverage
    if len(steps) < 2:
        return  # one confidence for all: there is no curve, only the rate
    marks = tuple(Mark(s.coverage, s.risk, note=f"confidence {s.threshold:.3g} or more") for s in steps)
    base = steps[-1].risk
    series = (
        Series("wrong among the surest", marks, "line"),
        Series("wrong among all", (Mark(0, base), Mark(1, base)), "line"),
    )
    highest = math.ceil(20 * max(0.05, *(s.risk for s in steps))) / 20
    reading = (
        "Each point keeps only the surest answers. A curve that rises to the right: confidence tells right from wrong."
    )
    axes = (Axis("share of answers kept, the surest first", 0, 1), Axis("share wrong", 0, highest))
    yield Plot(_marked("Risk and coverage", figures), *axes, series, reading)


def _intervals(figures: ConfidenceFigures, found: IntervalFigures) -> Section:
    held, score = found.held, found.score
    told = f"{percent(held.value)} {_percents(held)}" if held.value is not None else f"undefined: {held.undefined}"
    scored = _number(score.value) if score.value is not None else f"undefined: {score.undefined}"
    rows = (
        ("intervals", str(found.n)),
        ("said to hold", f"{percent(found.nominal)} of the numbers"),
        ("held", f"{told}  ({held.method})" if held.method else told),
        ("interval score", f"{scored}  (mean share of the plausible range, of {score.n}; less is better)"),
    )
    return Facts(_marked("Intervals", figures), rows)


def _percents(figure: Figure) -> str:
    return "" if figure.low is None or figure.high is None else f"[{percent(figure.low)}, {percent(figure.high)}]"


def _groups(figures: ConfidenceFigures) -> Iterator[Section]:
    columns = ("", "n", "mean confidence", "right", "sure and wrong", "Brier score", "")
    for by in dict.fromkeys(group.by for group in figures.groups):
        rows = tuple(_group(group) for group in figures.groups if group.by == by)
        yield Table(f"By {by}", columns, rows, frozenset({1, 2, 3, 4}))


def _group(group: ConfidenceGroup) -> tuple[str, ...]:
    rate, brier = group.rate, group.brier
    return (
        group.name,
        str(group.n),
        f"{group.mean_confidence:.3f}",
        "–" if rate.value is None else f"{rate.value:.3f}",
        str(group.sure_wrong),
        "–" if brier.value is None else f"{_number(brier.value)} {_between(brier)}",
        "anecdotal" if group.anecdotal else "",
    )


def _next(figures: ConfidenceFigures, run: str) -> Section:
    rows = []
    if not figures.stated:
        rows.append(("calibrant run BOARD --subject S --elicitation json", "asks for a confidence with every answer"))
    if figures.cells.sure_wrong:
        rows.append((f"calibrant show {run} --items --code wrong", "shows the wrong answers, the sure ones among them"))
    rows.append((f"calibrant show {run} --confidence --json", "prints every figure, unrounded"))
    rows.append((f"calibrant show {run}", "shows the scorecard"))
    return Commands("Next", tuple(rows))
