"""Figures as people read them: a share in per cent, a rate with its interval, a scorecard as a table in a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from calibrant.records.scorecard import Estimate, Scorecard, Slice

PAIR_OUTCOMES: Final = ("grounded", "bluffing", "hedging", "neither")
"""What a complete pair may be, in the order in which it is shown."""


def percent(share: float) -> str:
    """``41.7%``; only nothing is ``0.0%`` and only all is ``100.0%``."""
    if 0 < share < 0.0005:
        return "<0.1%"
    if 0.9995 <= share < 1:
        return ">99.9%"
    return f"{100 * share:.1f}%"


def interval(estimate: Estimate) -> str:
    """``[31.0%, 54.2%]``, or nothing where there is none."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f"[{percent(estimate.low)}, {percent(estimate.high)}]"


def rate(estimate: Estimate) -> str:
    """``41.7% [31.0%, 54.2%]``, or why there is no rate."""
    if estimate.value is None:
        return f"undefined: {estimate.undefined}"
    return f"{percent(estimate.value)} {interval(estimate)}".rstrip()


def scorecard_html(scorecard: Scorecard) -> str:
    """A scorecard as a notebook shows it: its sentence, its warnings, and a row for each slice of the board."""
    subject = f"{scorecard.subject.kind}: {scorecard.subject.name}"
    state = "complete" if scorecard.complete else "not complete"
    facts = f"run {scorecard.run}, start {scorecard.start} on this board and subject, {subject}, {state}"
    warnings = "".join(f"<p>⚠ {html.escape(text)}</p>" for text in scorecard.warnings)
    names = _cells("th", ("", "", *PAIR_OUTCOMES, "missing", "rate", "worst case"))
    rows = "".join(_cells("td", _figures(part)) for part in scorecard.results)
    root = f"ledger of {scorecard.ledger_size} entries, root {scorecard.ledger_root}"
    return (
        f"<p><strong>{html.escape(scorecard.sentence)}</strong></p>{warnings}<p>{html.escape(facts)}</p>"
        f"<table>{names}{rows}</table><p><code>{root}</code></p>"
    )


def _figures(part: Slice) -> Iterable[str]:
    yield part.by.replace("_", " ")
    yield part.name if part.by != "board" else ""
    yield from (str(part.pairs.get(outcome, 0)) for outcome in PAIR_OUTCOMES)
    headline = part.estimates[0] if part.estimates else None
    yield str(headline.missing if headline is not None else 0)
    yield rate(headline) if headline is not None else "no rate"
    worst = headline.worst_case if headline is not None else None
    yield percent(worst) if worst is not None else "–"


def _cells(kind: str, texts: Iterable[str]) -> str:
    return "<tr>" + "".join(f"<{kind}>{html.escape(text)}</{kind}>" for text in texts) + "</tr>"
