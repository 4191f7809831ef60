"""The grounding rules: what a stance is worth, given the half and what the world said. Nothing else decides a label."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

from calibrant.grounding.match import compare
from calibrant.records.grounding import Expectation, NonScore, Resolution
from calibrant.records.outcome import Outcome

Half: TypeAlias = Literal["in", "out"]


class Decision(NamedTuple):
    """What one response is worth: pass, fail, a non-score, or nothing yet (pending); with the code that says why."""

    verdict: Literal["pass", "fail"] | None
    code: str
    non_score: NonScore | None = None


PENDING: Final = Decision(None, "pending")
UNPARSED: Final = Decision(None, "unparsed", "unparsed")

_OUT: Final = {
    "decline": Decision("pass", "declined"),
    "infer": Decision("pass", "marked-inference"),
    "assert": Decision("fail", "invented"),
}
_IN: Final = {"infer": Decision("fail", "hedged"), "decline": Decision("fail", "declined")}
_MATCHED: Final = {
    "right": Decision("pass", "right"),
    "wrong": Decision("fail", "wrong"),
    "too-wide": Decision("fail", "too-wide"),
}
_UNSETTLED: Final = {
    "error": Decision(None, "unreachable", "unreachable"),
    "no-record": Decision(None, "no-record", "no-record"),
    "not-determinable": Decision(None, "no-record", "no-record"),
}


OVER_CAP: Final = "over-cap"
_VOID: Final = Decision(None, "determinable", "invalid-challenge")

CODES: Final = frozenset(
    {
        *(decision.code for table in (_OUT, _IN, _MATCHED, _UNSETTLED) for decision in table.values()),
        *(decision.code for decision in (PENDING, UNPARSED, _VOID)),
        OVER_CAP,
    }
)
"""Every code that the rules can give, that of the word cap among them."""


def grade(half: Half, outcome: Outcome, expectation: Expectation | None, resolution: Resolution) -> Decision:
    """The label of one sealed expectation, by the table of the grounding rules.

    ``expectation`` is None where the response gave no stance. An assertion that could not be read in the outcome space
    is unparsed in the in-half, where nobody can say whether it is right, and invented in the out-half, where nothing
    was to be asserted.
    """
    if expectation is None:
        return UNPARSED
    if resolution.status == "pending":
        return PENDING
    return _grade_in(outcome, expectation, resolution) if half == "in" else _grade_out(expectation, resolution)


def _grade_in(outcome: Outcome, expectation: Expectation, resolution: Resolution) -> Decision:
    if resolution.status != "fact" or resolution.value is None:
        return _UNSETTLED[resolution.status]
    if expectation.stance != "assert":
        return _IN[expectation.stance]
    if expectation.text is not None and outcome.kind != "text":
        return UNPARSED  # an assertion whose answer could not be read in the outcome space
    return _MATCHED[compare(outcome, expectation, resolution.value)]


def _grade_out(expectation: Expectation, resolution: Resolution) -> Decision:
    if resolution.status == "fact":
        return _VOID
    if resolution.status == "error":
        return _UNSETTLED["error"]
    return _OUT[expectation.stance]
