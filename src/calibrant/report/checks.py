"""What a check of a board and a verification of a run found, as pages and as plain JSON values."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from typing import Any, Final

from calibrant.errors import Problem
from calibrant.grounding.coverage import Coverage, Covered
from calibrant.report.view import Commands, Facts, Points, Section, Table, View
from calibrant.runs.boards import Board
from calibrant.runs.check import Check
from calibrant.runs.verify import Step, Verification

MOST_SHOWN: Final = 50
"""How many problems, warnings or executions a page lists; the rest is counted."""

_CHECKED: Final = {
    "file": "entries, blobs and roots, each against its hash",
    "terms": "board, profile, elicitation and challenges, each against its digest",
    "captures": "evidence that was captured before anybody was asked",
    "commitments": "commitments, each once, for the request that the terms give",
    "expectations": "sealed expectations, each read anew from its response",
    "order": "resolutions, each written after its commitment was durable",
    "resolutions": "resolutions, each derived again from its source and its evidence",
    "labels": "labels, each on a response that is there",
    "judgements": "judgements, each read anew from the replies of its judge",
    "scorecard": "scorecard file, against what the ledger gives",
    "register": "register of the project, for this start",
}


def check_view(board: Board, check: Check) -> View:
    """The page of a check: what refuses the board, what to know, what a run would touch, what knowing nothing pays."""
    sections = (
        *problem_points("Problems", check.problems),
        *problem_points("Warnings", check.warnings),
        *([_coverage(check.coverage)] if check.coverage is not None else []),
        _board(board, check),
        *_executes(check),
        _policies(check),
        *_next(board, check),
    )
    return View(_check_sentence(board, check), (), sections)


def _next(board: Board, check: Check) -> Iterator[Section]:
    """What to do with a board that was read from a file."""
    if board.source is None:
        return
    name = shlex.quote(str(board.source))
    row = (f"calibrant run {name} --subject local", "puts it to the embedded model; `--help` lists who else may answer")
    if check.problems:
        row = (f"calibrant check {name}", "once what is listed above is mended")
    yield Commands("Next", (row,))


def _check_sentence(board: Board, check: Check) -> str:
    name = board.header.title or (str(board.source) if board.source is not None else "The board")
    if check.problems:
        return f"{name}: refused, {_count(len(check.problems), 'problem')}."
    warnings = f", {_count(len(check.warnings), 'warning')}" if check.warnings else ""
    return (
        f"{name}: fine, {_count(check.board.challenges, 'challenge')} in {_count(check.board.pairs, 'pair')}{warnings}."
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def problem_points(title: str, problems: list[Problem]) -> Iterator[Section]:
    """Problems as a list, if there are any; the first of many."""
    if problems:
        yield Points(title, _capped(map(str, problems), len(problems)))


def _capped(texts: Iterable[str], total: int) -> tuple[str, ...]:
    shown = [text for text, _ in zip(texts, range(MOST_SHOWN), strict=False)]
    return (*shown, f"and {total - MOST_SHOWN} more") if total > MOST_SHOWN else tuple(shown)


def _board(board: Board, check: Check) -> Section:
    found = check.board
    rows = [
        ("digest", board.digest()),
        ("profile", board.profile.id),
        ("frame", board.header.frame),
        ("challenges", str(found.challenges)),
        ("pairs", str(found.pairs)),
        ("by seat", _tally(found.by_seat)),
        ("by test type", _tally(found.by_test_type)),
    ]
    return Facts("Board", tuple(rows))


def _tally(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _coverage(coverage: Coverage) -> Section:
    """For each role: how many cases the roster asks for, how many a board has, how many pairs, and what is missing."""
    by_role: dict[str, list[Covered]] = {}
    for found in coverage.covered:
        by_role.setdefault(found.case.seat, []).append(found)
    rows = tuple(_role_covered(role, cases) for role, cases in by_role.items())
    columns = ("role", "cases", "covered", "pairs", "missing")
    return Table("Against the roster", columns, rows, frozenset({1, 2, 3}))


def _role_covered(role: str, found: list[Covered]) -> tuple[str, ...]:
    missing = [f"{each.case.attribute}{' (wrong owner)' * bool(each.misowned)}" for each in found if each.missing]
    pairs = sum(each.pairs for each in found)
    return (role, str(len(found)), str(len(found) - len(missing)), str(pairs), ", ".join(_few(missing)) or "–")


def _few(names: list[str], most: int = 8) -> Iterator[str]:
    yield from names[:most]
    if len(names) > most:
        yield f"and {len(names) - most} more"


def _executes(check: Check) -> Iterator[Section]:
    if check.executes:
        yield Points("A run of this board would touch", _capped(check.executes, len(check.executes)))


def _policies(check: Check) -> Section:
    rows = tuple((name, str(pairs)) for name, pairs in check.board.policies.items())
    return Table("Pairs paid to a seat that knows nothing (each has to be 0)", ("", "pairs"), rows, frozenset({1}))


def check_json(board: Board, check: Check) -> dict[str, Any]:
    """A check as plain JSON values."""
    found = check.board
    return {
        "passed": check.passed,
        "board_sha256": board.digest(),
        "challenges": found.challenges,
        "pairs": found.pairs,
        "by_seat": dict(found.by_seat),
        "by_test_type": dict(found.by_test_type),
        "null_policies": dict(found.policies),
        "executes": list(check.executes),
        "coverage": check.coverage.to_dict() if check.coverage is not None else None,
        "problems": problems_json(check.problems),
        "warnings": problems_json(check.warnings),
    }


def problems_json(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    """Problems as plain JSON values, each with its place and as the one text that a person would read."""
    return [
        {
            "text": str(problem),
            "found": problem.found,
            "expected": problem.expected,
            "fix": problem.fix,
            "file": problem.where.file,
            "line": problem.where.line,
            "field": problem.where.field,
        }
        for problem in problems
    ]


def verification_view(found: Verification, reference: str | None = None) -> View:
    """The page of a verification: its steps in order, with what each looked at; then everything that is not so.

    ``reference`` is what a run is called in the commands that its page ends with; without one it ends with none.
    """
    rows = tuple((str(number), *_step(step)) for number, step in enumerate(found.steps.values(), 1))
    steps = Table("", ("", "step", "", "checked", "what"), rows, frozenset({0, 3}))
    ledger = Facts("Ledger", (("entries", str(found.ledger_size)), ("root", found.ledger_root or "–")))
    failures = tuple(_failures(found))
    wrong = [Points("Not as claimed", failures)] if failures else []
    after = _after_verification(found, shlex.quote(reference)) if reference is not None else ()
    return View(_verification_sentence(found), (), (steps, *wrong, ledger, *after))


def _after_verification(found: Verification, run: str) -> Iterator[Section]:
    """What to do with a run that is what it claims, and with one that is not."""
    if found.passed:
        rows = [(f"calibrant show {run}", "shows what it showed")]
        if found.skipped:
            rows.append((f"calibrant verify {run} --strict", "ends with 3 until the rest can be checked too"))
        yield Commands("Next", tuple(rows))
        return
    yield Points("Next", tuple(_advice(found)))


def _advice(found: Verification) -> Iterator[str]:
    """What to do about a run that is not what it claims: of the steps that failed, the ones that tell."""
    failed = {name for name, step in found.steps.items() if step.failures}
    yield "Take no number of this run until it passes: not of its scorecard, and not of `calibrant show`."
    if failed <= {"scorecard", "register"}:
        yield "Its ledger is as it was written; only what lies beside it is not."
        if "scorecard" in failed:
            yield "Of a run of your own: `calibrant resolve` writes the scorecard anew from the ledger."
    else:
        yield "Of a run of your own: take `run.db` from a copy that was made before it was changed."
    yield "Of somebody else's run: ask for its folder again, and for its root as it was noted when the run ended."


def _step(step: Step) -> tuple[str, ...]:
    if step.failures:
        return (step.name, "FAILED", str(step.checked), _count(step.failures, "failure"))
    if step.skipped is not None:
        return (step.name, "not checked", "–", step.skipped)
    return (step.name, "ok", str(step.checked), _CHECKED.get(step.name, ""))


def _failures(found: Verification) -> Iterator[str]:
    for step in found.steps.values():
        yield from (f"{step.name}: {what}" for what in step.named)
        if step.failures > len(step.named):
            yield f"{step.name}: and {step.failures - len(step.named)} more"


def _verification_sentence(found: Verification) -> str:
    name = f"Run {found.run}" if found.run is not None else f"The run in {found.path}"
    failed = [step.name for step in found.steps.values() if step.failures]
    if failed:
        return f"{name} is not what it claims: {', '.join(failed)} failed."
    skipped = [step.name for step in found.skipped]
    rest = f"; {', '.join(skipped)} could not be checked" if skipped else ""
    return f"{name} is what it claims: everything was derived again from its ledger{rest}."


def verification_json(found: Verification) -> dict[str, Any]:
    """A verification as plain JSON values."""
    return {
        "run": found.run,
        "passed": found.passed,
        "ledger_size": found.ledger_size,
        "ledger_root": found.ledger_root or None,
        "results_sha256": found.scorecard.results_sha256 if found.scorecard is not None else None,
        "steps": [
            {
                "step": step.name,
                "checked": step.checked,
                "failures": step.failures,
                "named": step.named,
                "skipped": step.skipped,
            }
            for step in found.steps.values()
        ],
    }
