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

_HALVES: Final = ("in_half_pass_rate", "out_half_pass_rate")
_COMPARED: Final = (
    "in_half_pass_rate",
    "out_half_pass_rate",
    "pair_pass_rate",
    "false_abstention_rate",
    "invention_rate",
)
_COLUMNS: Final = ("", "in-halves", "out-halves", "pairs", "false abst.", "invention", "missing")


def rate_row(name: str, estimate: Estimate) -> tuple[str, ...]:
    """An estimate with all that it stands on, under `RATE_COLUMNS`."""
    value = percent(estimate.value) if estimate.value is not None else "–"
    between = interval(estimate) if estimate.value is not None else f"undefined: {estimate.undefined}"
    worst = worst_case(estimate)
    counts = (str(estimate.n), str(estimate.clusters), str(estimate.missing))
    return (name, value, between, *counts, worst)


def worst_case(estimate: Estimate) -> str:
    """What a rate is with all that is missing counted against the seat."""
    return _share(estimate.worst_case)


def answering_sections(scorecard: Scorecard) -> Iterator[Section]:
    """Who answered where, and beside it what needs no knowledge; nothing for a board without grounding pairs."""
    board = scorecard.results[0]
    rows = tuple(rate_row(NAMES[e.metric], e) for e in board.estimates if e.metric in ANSWERING)
    if rows:
        yield Table("The decision to answer", RATE_COLUMNS, rows, RATE_NUMBERS)
        yield from _by_seat(scorecard)
    if scorecard.null_policies:
        subject = _of_subject(_grounding_part(scorecard))
        shown = (subject, *map(_of_policy, scorecard.null_policies))
        yield Table("Beside seats that know nothing", _COLUMNS, shown, frozenset(range(1, 7)))


def _by_seat(scorecard: Scorecard) -> Iterator[Section]:
    parts = [part for part in scorecard.results if part.by == "seat" and _rates(part).keys() >= set(ANSWERING)]
    if len(parts) > 1:
        columns = ("", "false abst.", "correct abst.", "invention", "coverage", "sel. acc.", "missing")
        rows = tuple(map(_seat_row, parts))
        yield Table("The decision to answer, by seat", columns, rows, frozenset(range(1, 7)))


def _grounding_part(scorecard: Scorecard) -> Slice:
    """The part of the board that the policies are played on: its one test type that is settled by the world, or all."""
    typed = [part for part in scorecard.results if part.by == "test_type" and "coverage" in _rates(part)]
    return typed[0] if len(typed) == 1 else scorecard.results[0]


def _rates(part: Slice) -> dict[str, Estimate]:
    return {estimate.metric: estimate for estimate in part.estimates}


def _of_subject(part: Slice) -> tuple[str, ...]:
    """What the subject got with all that is missing held against it, and how many of its halves that is.

    The policies stand on every settled half. A rate over what a seat chose to answer legibly would look better beside
    them than the seat is.
    """
    rates = _rates(part)
    missing = sum(rates[metric].missing for metric in _HALVES if metric in rates)
    name = "the subject" + (", missing as failed" if missing else "")
    shares = (_share(rates[metric].worst_case if metric in rates else None) for metric in _COMPARED)
    return (name, *shares, str(missing))


def _of_policy(policy: NullPolicy) -> tuple[str, ...]:
    return (policy.policy, *(_share(getattr(policy, metric)) for metric in _COMPARED), "0")


def _seat_row(part: Slice) -> tuple[str, ...]:
    """The rates of a seat, what is missing held against it, and how many of its halves that is."""
    rates = _rates(part)
    missing = sum(rates[metric].missing for metric in _HALVES if metric in rates)
    return (part.name, *(worst_case(rates[metric]) for metric in ANSWERING), str(missing))


def _share(value: float | None) -> str:
    return "–" if value is None else percent(value)
