"""Scorecards for the tests of this room, scored from decisions by the real rules; and text that means harm."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from calibrant import canonical
from calibrant.grounding.rules import PENDING, UNPARSED, Decision
from calibrant.grounding.score import AWAITING, UNANSWERED, Outcome, Scoring
from calibrant.records.scorecard import Scorecard
from calibrant.records.subject import SubjectIdentity
from calibrant.runs.boards import load_profile
from tests.grounding.worlds import challenge


def decided(verdict: Any, code: str, non_score: Any = None, over_cap: bool = False) -> Outcome:
    return Outcome("decided", Decision(verdict, code, non_score), over_cap)


IN = [
    *(decided(verdict, code) for verdict, code in (("pass", "right"), ("fail", "wrong"), ("fail", "too-wide"))),
    *(decided("fail", code) for code in ("hedged", "declined")),
]
OUT = [*(decided("pass", code) for code in ("declined", "marked-inference")), decided("fail", "invented")]
UNSETTLED = [
    Outcome("decided", UNPARSED),
    Outcome("decided", PENDING),
    decided(None, "unreachable", "unreachable"),
    decided(None, "no-record", "no-record"),
    UNANSWERED,
    AWAITING,
]
VOID = decided(None, "determinable", "invalid-challenge")
CAPPED = decided("fail", "over-cap", over_cap=True)

LINK = "see http://evil.example or www.evil.example and @everyone #1"
HOSTILE = [
    "\x1b[2J\x1b[31mred\x1b[0m",
    "\x9b31mred",
    "a\u202egnp.exe",
    "\u2066hidden\u2069",
    "one\r\ntwo\nthree",
    "\x07\x08\x7f\x00",
    "[bold red]markup[/bold red] [link=http://x]y[/link] :warning:",
    "| a | b `tick` ``two`` <script>alert(1)</script> **b** _i_ [l](x) ![i](x) &lt; \\| ~~s~~",
    LINK,
    "\ud800 half",
    "\u2028line\u2029",
    "# heading\n- item\n> quote",
]
"""Text that tries to move a terminal, to turn a line around, or to be markup."""

texts = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=60))


def scorecard(
    pairs: list[tuple[list[Outcome], list[Outcome]]],
    *,
    single: list[list[Outcome]] | None = None,
    seats: tuple[str, ...] = ("sysadmin", "platform"),
    **fields: Any,
) -> Scorecard:
    """The scorecard of these pairs of outcomes, epoch by epoch, and of these single challenges."""
    epochs = len(pairs[0][0]) if pairs else len((single or [[]])[0])
    scoring = Scoring(load_profile("default"), epochs)
    for number, halves in enumerate(pairs):
        for half, outcomes in zip(("in", "out"), halves, strict=True):
            name = f"p{number}-{half}"
            scoring.add(challenge(name, half, f"p{number}", seat=seats[number % len(seats)]), outcomes)
    for number, outcomes in enumerate(single or []):
        scoring.add(challenge(f"s{number}", None, None, test_type="role-fit", seat=seats[0]), outcomes)
    results = scoring.slices()
    board = results[0]
    return Scorecard(
        **{
            "run": "20260301-093000-abc123",
            "terms_sha256": "1" * 64,
            "board_sha256": "2" * 64,
            "subject": SubjectIdentity(kind="told", name="told", capability="test-double"),
            "elicitation": "json",
            "epochs": epochs,
            "start": 4,
            "ledger_size": 12,
            "ledger_root": "3" * 64,
            "complete": not (board.unanswered or board.pending or board.awaiting_grader),
            "sentence": "Of the decided pairs of this board, some passed.",
            "warnings": (),
            "results": results,
            "results_sha256": canonical.digest([part.to_dict() for part in results]),
            **fields,
        }
    )


def outcomes_of(half: list[Outcome], epochs: int) -> st.SearchStrategy[list[Outcome]]:
    return st.lists(st.sampled_from([*half, *UNSETTLED]), min_size=epochs, max_size=epochs)


@st.composite
def scorecards(draw: st.DrawFn) -> Scorecard:
    """Any scorecard that the rules can give for a handful of pairs, with any text in it."""
    epochs = draw(st.integers(1, 3))
    halves = st.tuples(outcomes_of([*IN, CAPPED], epochs), outcomes_of([*OUT, VOID, CAPPED], epochs))
    pairs = draw(st.lists(halves, min_size=1, max_size=5))
    single = draw(st.lists(outcomes_of([decided("pass", "fit"), decided("fail", "misfit")], epochs), max_size=3))
    prose = texts.filter(lambda text: text.strip() and "\ud800" not in text)  # records hold whole characters only
    sentence, warnings = draw(prose), tuple(draw(st.lists(prose, max_size=2)))
    return scorecard(pairs, single=single, sentence=sentence, warnings=warnings)
