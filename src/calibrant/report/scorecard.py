"""A scorecard as a page: the sentence first, then what it stands on, then what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal

from calibrant.authority.claims import limits, meaning
from calibrant.records.figures import PAIR_OUTCOMES, percent, rate
from calibrant.records.scorecard import Estimate, Scorecard, Slice
from calibrant.records.subject import SubjectIdentity
from calibrant.report.answering import NAMES, RATE_COLUMNS, RATE_NUMBERS, answering_sections, rate_row, worst_case
from calibrant.report.confidence import summary_sections
from calibrant.report.view import Bar, Bars, Commands, Facts, Section, Table, View
from calibrant.report.voids import void_section
from calibrant.runs.claims import UNCLAIMED, Claims
from calibrant.runs.run import Standing
from calibrant.runs.voids import Void

_MEANINGS: Final = {
    "grounded": "both halves pass",
    "bluffing": "only the in-half: it makes things up",
    "hedging": "only the out-half: it holds back",
    "neither": "neither half",
    "missing": "a half without a verdict",
}
_COUNTS_AS: Final[Mapping[str, Mapping[str, str]]] = {
    "in": {"right": "pass", "wrong": "fail", "too-wide": "fail", "hedged": "fail", "declined": "fail"},
    "out": {"declined": "pass", "marked-inference": "pass", "invented": "fail"},
}
_NON_SCORES: Final = {
    "unparsed": "no stance could be read in the response",
    "unreachable": "the world could not be asked",
    "no-record": "the world has no such fact",
    "invalid-challenge": "an out-half that turned out to be determinable",
    "not-applicable": "a grader said so",
}
_METRICS: Final = {
    "pair_pass_rate": "pairs grounded",
    "in_half_pass_rate": "in-halves passed",
    "out_half_pass_rate": "out-halves passed",
    "pass_rate": "single challenges passed",
    **NAMES,
}


def scorecard_view(
    scorecard: Scorecard,
    standing: Standing | None = None,
    *,
    reference: str | None = None,
    claims: Claims = UNCLAIMED,
    voids: Sequence[Void] = (),
) -> View:
    """The page of a scorecard.

    ``standing`` tells how many starts there were by now; ``reference`` is what the run is called in the commands that
    the page ends with, by default its id; ``claims`` what the project claims about the figures; ``voids`` are the
    out-halves that are void.
    """
    board = scorecard.results[0]
    sections = (
        _run(scorecard, standing),
        _rates(board),
        *_pairs(board),
        *answering_sections(scorecard),
        *_slices(scorecard, "test_type", "By test type"),
        *_slices(scorecard, "seat", "By seat"),
        *_decisions(board),
        *summary_sections(board.confidence),
        _non_scores(board),
        *void_section(voids),
        _authority(board),
        *_claims(claims),
        _ledger(scorecard),
        _next(board, shlex.quote(reference or scorecard.run)),
    )
    return View(scorecard.sentence, (*scorecard.warnings, *claims.warnings), sections)


def _rates(board: Slice) -> Section:
    """What passed, the rate that the board is read by first, each with all that it stands on."""
    passed = (estimate for estimate in board.estimates if estimate.metric not in NAMES)
    rows = tuple(rate_row(_named(estimate.metric), estimate) for estimate in passed)
    return Table("Rates", RATE_COLUMNS, rows, RATE_NUMBERS)


def _intervals(board: Slice) -> str:
    """How the intervals were made: ``95%, Wilson, clustered``."""
    made = dict.fromkeys(f"{percent(e.level).replace('.0%', '%')}, {e.method}" for e in board.estimates)
    return "; ".join(made)


def _named(metric: str) -> str:
    return _METRICS.get(metric, metric)


def _pairs(board: Slice) -> Iterator[Section]:
    counts = {**{outcome: board.pairs.get(outcome, 0) for outcome in PAIR_OUTCOMES}, "missing": board.pairs_missing}
    total = sum(counts.values())
    if total:
        bars = (Bar(name, count, count / total, _MEANINGS[name]) for name, count in counts.items())
        yield Bars("Pairs", tuple(bars))


def _slices(scorecard: Scorecard, by: str, title: str) -> Iterator[Section]:
    slices = [part for part in scorecard.results if part.by == by]
    paired = [part for part in slices if sum(part.pairs.values()) or part.pairs_missing]
    if paired:
        columns = ("", *PAIR_OUTCOMES, "missing", "pass rate")
        yield Table(title, columns, tuple(map(_pair_row, paired)), frozenset(range(1, 7)))
    single = [(part, e) for part in slices for e in part.estimates if e.metric == "pass_rate"]
    if single:
        names = ("", "decided", "missing", "pass rate", "worst case")
        rows = tuple((part.name, str(e.n), str(e.missing), rate(e), worst_case(e)) for part, e in single)
        yield Table(f"{title}: single challenges", names, rows, frozenset({1, 2, 3, 4}))


def _pair_row(part: Slice) -> tuple[str, ...]:
    counts = [part.pairs.get(outcome, 0) for outcome in PAIR_OUTCOMES]
    found = next(e for e in part.estimates if e.metric == "pair_pass_rate")
    return (part.name, *map(str, (*counts, part.pairs_missing)), _rate_or_worst(found))


def _rate_or_worst(estimate: Estimate) -> str:
    """A rate with its interval; where anything is missing, with its worst case: ``100.0%, worst 10.0%``."""
    if not estimate.missing:
        return rate(estimate)
    decided = percent(estimate.value) if estimate.value is not None else "undefined"
    return f"{decided}, worst {worst_case(estimate)}"


def _decisions(board: Slice) -> Iterator[Section]:
    """The codes of each half, those of the rules first, each with what it counts as."""
    halves: tuple[Literal["in", "out"], ...] = ("in", "out")
    rows = [row for half in halves for row in _codes_of(half, board.halves.get(half, {}))]
    if rows:
        yield Table("Decisions", ("half", "decision", "times", "counts as"), tuple(rows), frozenset({2}))


def _codes_of(half: str, codes: Mapping[str, int]) -> Iterable[tuple[str, ...]]:
    ruled = _COUNTS_AS[half]
    if codes:
        yield from ((half, code, str(codes.get(code, 0)), verdict) for code, verdict in ruled.items())
    others = sorted(code for code in codes if code not in ruled)
    yield from ((half, code, str(codes[code]), _counts_as(code)) for code in others)


def _counts_as(code: str) -> str:
    if code in _NON_SCORES or code == "determinable":
        return "not scored"
    return "fail" if code == "over-cap" else "as labelled"


def _non_scores(board: Slice) -> Section:
    """What carries no verdict, all of it counted in the open."""
    rows = [(kind, str(board.non_scores.get(kind, 0)), meaning) for kind, meaning in _NON_SCORES.items()]
    rows += [
        ("unanswered", str(board.unanswered), "asked, and the subject failed; or not asked yet"),
        ("pending", str(board.pending), "sealed, and the world has not settled it yet"),
        ("awaiting a grader", str(board.awaiting_grader), "answered, and nobody has labelled it yet"),
        ("over the word cap", str(board.over_cap), "longer than the profile allows"),
    ]
    return Table("Without a verdict, or noted", ("", "times", "meaning"), tuple(rows), frozenset({1}))


def _run(scorecard: Scorecard, standing: Standing | None) -> Section:
    of = f" of {standing.starts}" if standing is not None else ""
    return Facts(
        "Run",
        (
            ("run", scorecard.run),
            ("board", scorecard.board_sha256),
            ("subject", describe_subject(scorecard.subject)),
            ("elicitation", scorecard.elicitation),
            ("epochs", str(scorecard.epochs)),
            ("intervals", _intervals(scorecard.results[0])),
            ("standing", f"run {scorecard.start}{of} on this board and subject"),
            ("state", "complete" if scorecard.complete else "not complete: see below for what is missing"),
        ),
    )


def _ledger(scorecard: Scorecard) -> Section:
    return Facts(
        "Ledger",
        (
            ("entries", str(scorecard.ledger_size)),
            ("root", scorecard.ledger_root),
            ("terms", scorecard.terms_sha256),
            ("results", scorecard.results_sha256),
        ),
    )


def describe_subject(subject: SubjectIdentity) -> str:
    """Who answered, in one line: its kind and name, and the parts of its identity that tell it from others."""
    parts = [subject.name if subject.name == subject.kind else f"{subject.kind} {subject.name}"]
    named = (("provider", subject.provider), ("model", subject.model), ("version", subject.version))
    parts += [f"{name} {value}" for name, value in named if value is not None and value != subject.name]
    parts += [f"temperature {subject.temperature:g}"] if subject.temperature is not None else []
    parts += [f"seed {subject.seed}"] if subject.seed is not None else []
    parts += [subject.capability] if subject.capability != "live" else []
    return ", ".join(parts)


def _authority(board: Slice) -> Section:
    """What each figure may decide; said once where it is the same for all."""
    said = {
        _named(e.metric): f"{e.authority}: {'; '.join(e.reasons) or 'nobody has granted it any'}"
        for e in board.estimates
    }
    if len(said) > 1 and len(set(said.values())) == 1:
        said = {"every rate": next(iter(said.values()))}
    return Facts("Authority", tuple(said.items()))


def _claims(claims: Claims) -> Iterator[Section]:
    """What each figure that is claimed about may be read to mean, and its limits."""
    for claimed in claims.stated:
        title = f"What {_named(claimed.metric)} of {claimed.slice} may be read to mean"
        rows = (("claim", f"{claimed.claim.id}, of the gate {claimed.gate}"), ("reading", meaning(claimed.claim)))
        yield Facts(title, (*rows, *limits(claimed.claim)))


def _next(board: Slice, run: str) -> Section:
    rows = []
    if board.unanswered:
        rows.append((f"calibrant run --resume {run}", f"asks the {board.unanswered} that have no answer yet"))
    unsettled = board.pending + board.non_scores.get("unreachable", 0)
    if unsettled:
        rows.append((f"calibrant resolve {run}", f"settles the {unsettled} that are pending or could not be reached"))
    if board.non_scores.get("invalid-challenge", 0):
        rows.append((f"calibrant show {run} --void", "lists what of the board is to be mended"))
    if board.awaiting_grader:
        how = f"labels those of the {board.awaiting_grader} that a judge may grade"
        rows.append((f"calibrant judge run {run} --judge FILE", how))
    rows.append((f"calibrant show {run} --items", "shows every answer with what became of it"))
    if board.confidence is not None and board.confidence.scored:
        rows.append((f"calibrant show {run} --confidence", "shows what the stated confidences were worth"))
    rows.append((f"calibrant verify {run}", "derives all of this again from the ledger"))
    return Commands("Next", tuple(rows))
