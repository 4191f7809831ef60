"""Every answer of a run as a row: what was asked, what was committed to, what the world said, and what it is worth."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from calibrant.errors import InputError, Problem, Where, nearest, one_of, quote
from calibrant.grounding.rules import CODES
from calibrant.records.grounding import Expectation, Fact, Resolution
from calibrant.records.types import write_quantity
from calibrant.report.view import Commands, Facts, View
from calibrant.runs.items import Item

COLUMNS: Final = ("challenge", "epoch", "half", "stance", "answer", "confidence", "fact", "decision", "verdict")
NUMBERS: Final = frozenset({1, 5})


_NAMED: Final = 10
_STATES: Final = frozenset({"awaiting-grader", "unanswered"})


class Filter(NamedTuple):
    """Which rows are wanted; what is None does not matter."""

    code: str | None = None
    half: str | None = None
    pair: str | None = None

    def takes(self, item: Item) -> bool:
        """Whether the row of ``item`` is wanted."""
        wanted = (self.half, item.challenge.half), (self.pair, item.challenge.pair_id), (self.code, code_of(item))
        return all(asked is None or asked == found for asked, found in wanted)

    def none_found(self, seen: Mapping[str, int], labels: Iterable[str], pairs: Iterable[str], run: str) -> View:
        """The page of a run that has no such answer: ``seen`` counts its decisions, ``pairs`` are those of its board.

        Raises:
            InputError: for a code that no rule and none of ``labels`` gives, and for a pair that the board lacks.
        """
        has = ", ".join(f"{code} {times}" for code, times in sorted(seen.items())) or "none"
        if self.code is not None and self.code not in CODES | _STATES | {*seen, *labels}:
            fix = nearest(self.code, [*seen, *CODES, *labels]) or f"This run has: {has}."
            raise InputError(_unknown("decision", self.code, "--code", one_of(sorted(seen)), fix))
        if self.pair is not None and self.pair not in (known := list(pairs)):
            some = one_of(known[:_NAMED]) + (f", or another of {len(known)}" if len(known) > _NAMED else "")
            raise InputError(_unknown("pair", self.pair, "--pair", some, nearest(self.pair, known)))
        wanted = [f"the decision {self.code}"] if self.code is not None else []
        wanted += [f"the half {self.half}"] if self.half is not None else []
        wanted += [f"the pair {self.pair}"] if self.pair is not None else []
        of = f" has {' and '.join(wanted)}" if wanted else " is there"
        reference = shlex.quote(run)
        steps = ((f"calibrant show {reference} --items", "shows every answer with what became of it"),)
        return View(f"No answer of this run{of}.", (), (Facts("", (("decisions", has),)), Commands("Next", steps)))


def _unknown(what: str, name: str, option: str, expected: str, fix: str | None) -> Problem:
    found = f"the {what} {quote(name)}, which this run cannot have"
    return Problem(found, expected or f"a {what} of a run that has any", fix, Where(field=option))


def item_row(item: Item) -> tuple[str, ...]:
    """The cells of an item, under `COLUMNS`."""
    expectation = item.sealed.expectation
    confidence = expectation.confidence if expectation is not None else None
    return (
        item.challenge.id,
        str(item.epoch),
        item.challenge.half or "–",
        expectation.stance if expectation is not None else "–",
        _answer(expectation) if expectation is not None else item.response.text.strip(),
        _confidence(confidence) if confidence is not None else "–",
        _fact(item.resolution),
        code_of(item),
        _verdict(item),
    )


def item_json(item: Item) -> dict[str, Any]:
    """An item as plain JSON values."""
    expectation, resolution, decision = item.sealed.expectation, item.resolution, item.outcome.decision
    return {
        "challenge": item.challenge.id,
        "epoch": item.epoch,
        "pair": item.challenge.pair_id,
        "half": item.challenge.half,
        "seat": item.challenge.seat,
        "test_type": item.challenge.test_type,
        "question": item.challenge.question,
        "response": item.response.text,
        "expectation": expectation.to_dict() if expectation is not None else None,
        "unparsed": item.sealed.unparsed,
        "resolution": resolution.to_dict() if resolution is not None else None,
        "code": code_of(item),
        "verdict": decision.verdict if decision is not None else None,
        "non_score": decision.non_score if decision is not None else None,
        "over_cap": item.outcome.over_cap,
    }


def code_of(item: Item) -> str:
    """The code of what was decided on an item, or the state that it is in without one."""
    return item.outcome.decision.code if item.outcome.decision is not None else item.outcome.state


def _confidence(confidence: float) -> str:
    """Two places; only nothing is ``0.00`` and only all is ``1.00``."""
    if 0 < confidence < 0.005:
        return "<0.01"
    return ">0.99" if 0.995 <= confidence < 1 else f"{confidence:.2f}"


def _verdict(item: Item) -> str:
    decision = item.outcome.decision
    return "–" if decision is None else decision.verdict or decision.non_score or "–"


def _answer(expectation: Expectation) -> str:
    if expectation.interval is not None:
        low, high = expectation.interval
        return f"{write_quantity(low)} to {write_quantity(high)}"
    given = (expectation.option, expectation.value, expectation.text)
    return next((_written(answer) for answer in given if answer is not None), "–")


def _fact(resolution: Resolution | None) -> str:
    if resolution is None:
        return "–"
    if resolution.value is not None:
        return _written(resolution.value)
    return f"({resolution.basis or resolution.status})"


def _written(fact: Fact) -> str:
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    return fact if isinstance(fact, str) else ", ".join(fact)
