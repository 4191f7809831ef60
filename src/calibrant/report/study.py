"""Agreement as a page and as JSON: of a study, of other people's ratings, of people among themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any, Final

from calibrant.authority.agreement import Agreement, Need, PairAgreement, RatersAgreement, Reading, UnreadRule
from calibrant.authority.calibration import Calibration
from calibrant.authority.study import JudgeAgreementStudy
from calibrant.records.figures import percent
from calibrant.report.view import Facts, Points, Section, Table, View
from calibrant.runs.gold import GoldSet
from calibrant.stats import table as tables
from calibrant.stats.interval import Interval
from calibrant.stats.paired import FlipRate
from calibrant.stats.proportions import Proportion
from calibrant.values import Undefined, format_instant

MOST_NAMED: Final = 10
"""How many items a page names before it counts the rest."""

_MUCH, _LITTLE = 0.7, 0.2  # where agreement looks high and kappa says that it is next to nothing

_RULES: Final[Mapping[UnreadRule, str]] = {
    "dropped": "without the unread",
    "wrong": "unread counted wrong",
}


def study_view(
    study: JudgeAgreementStudy,
    agreement: Agreement,
    *,
    gold: GoldSet | None = None,
    calibration: Calibration | None = None,
) -> View:
    """The page of a study: what it comes down to, what it stands on, every figure with its interval, what to do next.

    ``gold`` adds how far people agree with one another, ``calibration`` what the study is worth for a judge now.
    """
    warnings = (*_study_warnings(study), *_agreement_warnings(agreement))
    sections = (
        _study_facts(study),
        *_calibration(calibration),
        *_figures(agreement),
        *_differing(study),
        *(_ceiling(gold) if gold is not None else ()),
        *_steps(tuple(_next(study, agreement, calibration))),
    )
    return View(_sentence("The judge", agreement, "dropped"), warnings, sections)


def ratings_view(
    judge: str, agreement: Agreement, *, notes: tuple[str, ...] = (), unread: UnreadRule = "dropped"
) -> View:
    """The page of other people's ratings of one judge.

    ``notes`` say what they are and what was done with labels outside the set (`RatingTable.notes`): they stand first.
    ``unread`` is the reading that the page comes down to; both stand in it.
    """
    return View(
        _sentence(judge, agreement, unread), (*notes, *_agreement_warnings(agreement)), tuple(_figures(agreement))
    )


def raters_view(agreement: RatersAgreement) -> View:
    """The page of people (or judges) among themselves."""
    alpha = _decimal(agreement.alpha)
    of = f"{len(agreement.raters)} raters, {agreement.items} items, {agreement.twice} of them rated by two or more"
    return View(f"Krippendorff's alpha is {alpha}: {of}.", (), tuple(_raters(agreement)))


# --- what it comes down to ------------------------------------------------------------------------------------------


def _sentence(who: str, agreement: Agreement, rule: UnreadRule) -> str:
    reading = agreement.reading(rule)
    how = f", {_RULES[rule]}" if agreement.unread else ""
    return (
        f"{who} agrees with gold on {_share(reading.percent_agreement)} of {reading.n} items{how}; "
        f"Cohen's kappa is {_decimal(reading.kappa)}."
    )


def _study_warnings(study: JudgeAgreementStudy) -> Iterator[str]:
    if study.table_only:
        yield "This study is table-only: it shows no ratings, its table may have been typed in. It calibrates no judge."
    if study.kappa is None:
        yield f"Kappa does not exist ({study.kappa_undefined}): such a study says nothing about agreement."
    if study.gold_tuned:
        yield "The gold was used to write or tune this judge: it cannot certify it."
    elif study.gold_tuned_for:
        listed = ", ".join(study.gold_tuned_for)
        yield f"The gold was used to tune other judges ({listed}): where this one came of one of them, do not approve."
    if study.gold_frame == "discovery":
        yield "The gold is a discovery set: its items were picked, so its figures are no rates."
    if study.approver is None:
        yield "Nobody has approved this study."


def _agreement_warnings(agreement: Agreement) -> Iterator[str]:
    if agreement.unread:
        yield (
            f"{agreement.unread} of {agreement.items} items have no verdict. Agreement is "
            f"{_share(agreement.dropped.percent_agreement)} without them and "
            f"{_share(agreement.wrong.percent_agreement)} with each counted as wrong."
        )
    kappa = agreement.dropped.kappa
    if not isinstance(kappa, Undefined) and kappa.observed >= _MUCH and kappa.value < _LITTLE:
        by_chance = f"{percent(kappa.expected)} would be expected by chance from labels as unevenly spread"
        yield f"Agreement of {percent(kappa.observed)} says little here: {by_chance}."


# --- sections -------------------------------------------------------------------------------------------------------


def _study_facts(study: JudgeAgreementStudy) -> Section:
    made = format_instant(study.made_at) if study.made_at is not None else "not stated"
    raters = ", ".join(study.gold_raters) or "not stated"
    rows = (
        ("digest", study.digest()),
        ("instrument", study.judge_instrument_sha256),
        ("rubric", study.rubric_sha256),
        ("gold", f"{study.gold_sha256 or 'not stated'}; {study.gold_frame or 'frame not stated'}; by {raters}"),
        ("evidence", study.evidence),
        ("items", f"{study.agreement.n + study.unread}, {study.unread} without a verdict"),
        ("repeats", str(study.variance_runs)),
        ("protocol", study.protocol_version),
        ("made", made),
        ("approved", f"by {study.approver}: {study.rationale or 'no reason given'}" if study.approver else "by nobody"),
    )
    return Facts("Study", rows)


def _calibration(calibration: Calibration | None) -> Iterator[Section]:
    if calibration is not None:
        yield Points(
            f"The judge is {calibration.status}", calibration.reasons or ("everything that it takes is there",)
        )


def _figures(agreement: Agreement) -> Iterator[Section]:
    yield _counts(agreement.table, agreement.unread)
    yield Table("Agreement", ("", "value", "interval", "n", "method"), tuple(_rows(agreement)), frozenset({1, 3}))
    yield _classes(agreement)
    if agreement.slices:
        yield _slices(agreement)
    if agreement.needs is not None:
        yield _needs(agreement.needs)


def _counts(table: tables.Table, unread: int) -> Section:
    """The table itself, each side with its totals."""
    columns = ("gold ↓  judge →", *table.labels, "total")
    rows = [
        (label, *map(str, row), str(total))
        for label, row, total in zip(table.labels, table.counts, table.gold_totals, strict=True)
    ]
    rows.append(("total", *map(str, table.judge_totals), str(table.n)))
    title = f"Items ({unread} without a verdict are not in it)" if unread else "Items"
    return Table(title, columns, tuple(rows), frozenset(range(1, len(columns))))


def _differing(study: JudgeAgreementStudy) -> Iterator[Section]:
    """The items on which the judge and people differ, which whoever approves the study should have read."""
    apart = [rating for rating in study.ratings if rating.verdicts[0] != rating.gold]
    if not apart:
        return
    shown = apart[:MOST_NAMED]
    rows = [(r.item, r.gold, ", ".join(verdict or "(no verdict)" for verdict in r.verdicts)) for r in shown]
    more = f", the first {MOST_NAMED} of them" if len(apart) > MOST_NAMED else ""
    yield Table(
        f"Where they differ: {len(apart)} items{more}", ("item", "gold", "judge, repeat by repeat"), tuple(rows)
    )


def _steps(points: tuple[str, ...]) -> Iterator[Section]:
    if points:
        yield Points("Next", points)


def _rows(agreement: Agreement) -> Iterator[tuple[str, ...]]:
    for rule in ("dropped", "wrong") if agreement.unread else ("dropped",):
        yield from _reading_rows(agreement.reading(rule), agreement)
    yield _row("kappa, by bootstrap", agreement.bootstrap)
    if agreement.weighted_kappa is not None:
        yield _row("weighted kappa (linear)", agreement.weighted_kappa)
    yield _row("AC1", agreement.ac1)
    if agreement.pabak is not None:
        yield _row("PABAK", agreement.pabak)
    yield _row(f"prevalence index of {agreement.positive}", agreement.prevalence_index)
    yield _row(f"bias index of {agreement.positive}", agreement.bias_index)
    flips = agreement.flips
    yield _row("items that flip between repeats", flips.items if isinstance(flips, FlipRate) else flips)


def _reading_rows(reading: Reading, agreement: Agreement) -> Iterator[tuple[str, ...]]:
    how = f", {_RULES[reading.unread]}" if agreement.unread else ""
    yield _row(f"agreement{how}", reading.percent_agreement)
    yield _row(f"kappa{how}", reading.kappa)
    yield _row(f"sensitivity for {agreement.positive}{how}", reading.sensitivity)
    yield _row(f"specificity for {agreement.positive}{how}", reading.specificity)


def _row(name: str, figure: Interval | Undefined | float) -> tuple[str, ...]:
    if isinstance(figure, Undefined):
        return (name, "–", f"undefined: {figure.reason}", "", "")
    if isinstance(figure, float):
        return (name, f"{figure:+.3f}", "", "", "")
    written = percent if isinstance(figure, Proportion) else "{:.3f}".format
    between = f"[{written(figure.low)}, {written(figure.high)}]"
    return (
        name,
        written(figure.value),
        between,
        str(figure.n),
        f"{percent(figure.level).replace('.0%', '%')} {figure.method}",
    )


def _classes(agreement: Agreement) -> Section:
    table = agreement.table
    rows = tuple(
        (label, str(gold), str(judge), _share(agreement.recall[label]), _share(agreement.precision[label]))
        for label, gold, judge in zip(table.labels, table.gold_totals, table.judge_totals, strict=True)
    )
    columns = ("", "gold", "judge", "found of gold (recall)", "right of judge (precision)")
    return Table("By class", columns, rows, frozenset({1, 2}))


def _slices(agreement: Agreement) -> Section:
    rows = tuple(
        (part.name, str(part.items), str(part.unread), _share(part.percent_agreement), _decimal(part.kappa))
        for part in agreement.slices
    )
    return Table("By slice", ("", "items", "unread", "agreement", "kappa"), rows, frozenset({1, 2}))


def _needs(needs: tuple[Need, ...]) -> Section:
    rows = tuple(
        (need.label, str(need.have), _wanted(need.wanted), _wanted(need.more), need.asked_by) for need in needs
    )
    title = "Gold that lets the standard be met 4 times in 5, if the rates above are the true ones"
    return Table(title, ("", "there are", "it takes", "more", "asked by"), rows, frozenset({1, 2, 3}))


def _wanted(number: int | None) -> str:
    return "no number suffices" if number is None else str(number)


def _ceiling(gold: GoldSet) -> Iterator[Section]:
    """How far people agree: no judge can be shown to be better than its gold."""
    if len(gold.raters) > 1:
        yield from _raters(gold.human_agreement())
    undecided = gold.no_consensus
    if undecided:
        rest = (f"and {len(undecided) - MOST_NAMED} more",) if len(undecided) > MOST_NAMED else ()
        yield Points(f"{len(undecided)} items without consensus, in no figure", (*undecided[:MOST_NAMED], *rest))


def _raters(agreement: RatersAgreement) -> Iterator[Section]:
    rows = [
        _row("Krippendorff's alpha", agreement.alpha),
        _row("Fleiss' kappa", agreement.fleiss),
        _row("AC1", agreement.ac1),
    ]
    yield Table("People among themselves", ("", "value", "interval", "n", "method"), tuple(rows), frozenset({1, 3}))
    if agreement.pairs:
        pairs = tuple(map(_pair_row, agreement.pairs))
        yield Table("Each pair", ("", "", "items", "agreement", "kappa"), pairs, frozenset({2}))


def _pair_row(pair: PairAgreement) -> tuple[str, ...]:
    return (pair.one, pair.other, str(pair.table.n), _share(pair.percent_agreement), _decimal(pair.kappa))


def _next(study: JudgeAgreementStudy, agreement: Agreement, calibration: Calibration | None) -> Iterator[str]:
    """What stands between this study and a calibrated judge."""
    if calibration is not None and calibration.status == "calibrated":
        yield "Nothing: the study calibrates the judge as it is now."
        return
    if study.table_only:
        yield "Make the study here, from gold and judgements: a table alone calibrates no judge."
        return
    met = calibration is not None and calibration.figures_met
    for need in () if met else agreement.needs or ():
        if need.more is None:
            what = "at the rates seen here no number of items reaches it. Mend the judge first."
            yield f"{need.asked_by} for {need.label}: {what}"
        elif need.more:
            items = "1 more item that is" if need.more == 1 else f"{need.more} more items that are"
            yield f"Label {items} {need.label} ({need.asked_by} asks for {need.wanted})."
    if agreement.unread:
        yield f"Look at the {agreement.unread} replies without a verdict: a prompt that says how to answer has fewer."
    if study.approver is None:
        yield "A person reads the study and writes `approver` and `rationale` into its file; the program never does."


# --- figures --------------------------------------------------------------------------------------------------------


def _share(figure: Interval | Undefined) -> str:
    if isinstance(figure, Undefined):
        return f"undefined ({figure.reason})"
    return f"{percent(figure.value)} [{percent(figure.low)}, {percent(figure.high)}]"


def _decimal(figure: Interval | Undefined) -> str:
    if isinstance(figure, Undefined):
        return f"undefined ({figure.reason})"
    return f"{figure.value:.3f} [{figure.low:.3f}, {figure.high:.3f}]"


def agreement_json(agreement: Agreement | RatersAgreement) -> dict[str, Any]:
    """An agreement as plain JSON values, each figure whole; one that does not exist is null with its reason."""
    return {name: _plain(getattr(agreement, name)) for name in agreement.__dataclass_fields__}


def study_json(
    study: JudgeAgreementStudy, agreement: Agreement, *, calibration: Calibration | None = None
) -> dict[str, Any]:
    """A study without its ratings, with everything that follows from them, as plain JSON values."""
    stored = {name: value for name, value in study.to_dict().items() if name != "ratings"}
    return {
        **stored,
        "sha256": study.digest(),
        "evidence": study.evidence,
        "agreement": agreement_json(agreement),
        "calibration": None if calibration is None else asdict(calibration),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Undefined):
        return {"value": None, "undefined": value.reason}
    if is_dataclass(value):
        return {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, tuple) else value
