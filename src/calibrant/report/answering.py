"""The decision to answer on the page of a scorecard, with what seats that know nothing would have got beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from calibrant.grounding.answering import ANSWERING
from calibrant.records.figures import interval, percent
from calibrant.records.scorecard import Estimate, NullPolicy, Scorecard, Slice
from calibrant.report.view import Section, Table

NAMES: Final = {
    "false_abstention_rate": "false abstention",
    "correct_abstention_rate": "correct abstention",
    "invention_rate": "invention",
    "coverage": "coverage",
    "selective_accuracy": "selective accuracy",
}
"""What each rate of the decision to answer is called on a page."""

RATE_COLUMNS: Final = ("", "rate", "interval", "decided", "units", "missing", "worst case")
RATE_NUMBERS: Final = frozenset({1, 3, 4, 5, 6})

_COMPARED: Final = (
    "in_half_pass_rate",
    "out_half_pass_rate",
    "pair_pass_rate",
    "false_abstention_rate",
    "invention_rate",
)
_COLUMNS: Final = ("", "in-halves", "out-halves", "pairs", "false abst.", "invention")


def rate_row(name: str, estimate: Estimate) -> tuple[str, ...]:
    """An estimate with all that it stands on, under `RATE_COLUMNS`."""
    value = percent(estimate.value) if estimate.value is not None else "–"
    between = interval(estimate) if estimate.value is not None else f"undefined: {estimate.undefined}"
    worst = percent(estimate.worst_case) if estimate.worst_case is not None else "–"
    counts = (str(estimate.n), str(estimate.clusters), str(estimate.missing))
    return (name, value, between, *counts, worst)


def answering_sections(scorecard: Scorecard) -> Iterator[Section]:
    """Who answered where, and beside it what needs no knowledge; nothing for a board without grounding pairs."""
    board = scorecard.results[0]
    rows = tuple(rate_row(NAMES[e.metric], e) for e in board.estimates if e.metric in ANSWERING)
    if rows:
        yield Table("The decision to answer", RATE_COLUMNS, rows, RATE_NUMBERS)
        yield from _by_seat(scorecard)
    if scorecard.null_policies:
        shown = (
            ("the subject of this run", *_of_subject(_grounding_part(scorecard))),
            *map(_of_policy, scorecard.null_policies),
        )
        yield Table("Beside seats that know nothing", _COLUMNS, shown, frozenset(range(1, 6)))


def _by_seat(scorecard: Scorecard) -> Iterator[Section]:
    parts = [part for part in scorecard.results if part.by == "seat" and _rates(part).keys() >= set(ANSWERING)]
    if len(parts) > 1:
        rows = tuple((part.name, *(_share(_rates(part)[metric].value) for metric in ANSWERING)) for part in parts)
        columns = ("", "false abst.", "correct abst.", "invention", "coverage", "sel. accuracy")
        yield Table("The decision to answer, by seat", columns, rows, frozenset(range(1, 6)))


def _grounding_part(scorecard: Scorecard) -> Slice:
    """The part of the board that the policies are played on: its one test type that is settled by the world, or all."""
    typed = [part for part in scorecard.results if part.by == "test_type" and "coverage" in _rates(part)]
    return typed[0] if len(typed) == 1 else scorecard.results[0]


def _rates(part: Slice) -> dict[str, Estimate]:
    return {estimate.metric: estimate for estimate in part.estimates}


def _of_subject(part: Slice) -> Iterator[str]:
    rates = _rates(part)
    yield from (_share(rates[metric].value if metric in rates else None) for metric in _COMPARED)


def _of_policy(policy: NullPolicy) -> tuple[str, ...]:
    return (policy.policy, *(_share(getattr(policy, metric)) for metric in _COMPARED))


def _share(value: float | None) -> str:
    return "–" if value is None else percent(value)
