"""Word caps, chosen from data: how many labels would change if responses were cut at so many words.

A response is cut behind its last word under the cap, read again by the parser of the run, and graded against what the
world said. The label that it is compared with is the one that the whole response earns: a profile's own cap plays no
part in it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count, takewhile
from typing import Final, Literal, TypeAlias

from calibrant.grounding.folding import count_words
from calibrant.grounding.parse import Unparsed
from calibrant.grounding.rules import grade
from calibrant.ledger.store import Ledger
from calibrant.records.profile import Profile
from calibrant.records.subject import Response
from calibrant.runs.items import Item, items
from calibrant.runs.session import read_expectation
from calibrant.runs.source import RunSource

State: TypeAlias = Literal["pass", "fail", "unparsed"]
Untold: TypeAlias = Literal["graded", "void", "unsettled"]
"""Why a label cannot be told anew."""

_WORD: Final = re.compile(r"\S+")
_STEPS: Final = (10, 15, 20, 25, 30, 40, 50, 75)


@dataclass(frozen=True, slots=True)
class CapRow:
    """What one cap would do. ``cut`` responses are longer; of them ``unknown`` have no label that could be told anew.

    Labels that would change are counted by direction; ``own`` tells that the profile has this cap.
    """

    cap: int
    cut: int
    unknown: int
    pass_to_fail: int
    fail_to_pass: int
    to_unparsed: int
    from_unparsed: int
    own: bool

    @property
    def changed(self) -> int:
        """How many labels would change."""
        return self.pass_to_fail + self.fail_to_pass + self.to_unparsed + self.from_unparsed


@dataclass(frozen=True, slots=True)
class Caps:
    """The cap-sensitivity table of a run, with the responses it is over and those of them whose label can be told.

    Each of the others is ``graded`` by people or judges, or ``void``, or ``unsettled``: pending, out of reach, or
    without a record.
    """

    responses: int
    labelled: int
    longest: int
    rows: tuple[CapRow, ...]
    graded: int = 0
    void: int = 0
    unsettled: int = 0

    @property
    def harmless_from(self) -> int:
        """The least cap of the table from which up no label changes. The highest cuts nothing, so there is one."""
        return next(iter(reversed([row.cap for row in takewhile(_harmless, reversed(self.rows))])))


def _harmless(row: CapRow) -> bool:
    return not row.changed


def cap_table(ledger: Ledger, source: RunSource) -> Caps:
    """What each cap would do to the labels of a run; one pass over its responses, none of them kept."""
    tally = _Tally(frozenset(own_caps(source.profile)))
    for item in items(ledger, source):
        tally.take(source, item)
    return tally.table()


def own_caps(profile: Profile) -> Iterator[int]:
    """The caps that a profile sets, for all of its test types."""
    yield profile.word_cap
    yield from (test_type.word_cap for test_type in profile.test_types if test_type.word_cap is not None)


def cut_at(text: str, cap: int) -> str:
    """``text`` up to the end of its word number ``cap``; all of it where it has no more words."""
    end = 0
    for number, word in enumerate(_WORD.finditer(text)):
        if number == cap:
            return text[:end]
        end = word.end()
    return text


def steps() -> Iterator[int]:
    """The caps that are tried: 10, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, ... without end."""
    for power in count():
        yield from (step * 10**power for step in _STEPS)


@dataclass(slots=True)
class _Tally:
    """Counts, cap by cap. A cap at or above a response's length changes nothing and is not even tried."""

    own: frozenset[int]
    responses: int = 0
    labelled: int = 0
    longest: int = 0
    counts: Counter[tuple[int, str]] = field(default_factory=Counter)
    untold: Counter[Untold] = field(default_factory=Counter)

    def take(self, source: RunSource, item: Item) -> None:
        length = count_words(item.response.text)
        before = _state_of(source, item, item.response)
        self.responses += 1
        self.labelled += before is not None
        if before is None:
            self.untold[_untold(source, item)] += 1
        self.longest = max(self.longest, length)
        for cap in self._caps(length - 1):
            self.counts[cap, "cut"] += 1
            self.counts[cap, _change(source, item, before, cap)] += 1

    def _caps(self, most: int) -> Iterable[int]:
        """The caps from the first step to ``most``, and those of the profile that are under it."""
        tried = []
        for step in steps():
            if step > most:
                break
            tried.append(step)
        return sorted({*tried, *(cap for cap in self.own if cap <= most)})

    def table(self) -> Caps:
        end = next(step for step in steps() if step >= self.longest)
        caps = sorted({*self._caps(end), *self.own})
        return Caps(self.responses, self.labelled, self.longest, tuple(map(self._row, caps)), *self._untold())

    def _untold(self) -> tuple[int, int, int]:
        return self.untold["graded"], self.untold["void"], self.untold["unsettled"]

    def _row(self, cap: int) -> CapRow:
        counts = self.counts
        return CapRow(
            cap=cap,
            cut=counts[cap, "cut"],
            unknown=counts[cap, "unknown"],
            pass_to_fail=counts[cap, "pass-fail"],
            fail_to_pass=counts[cap, "fail-pass"],
            to_unparsed=counts[cap, "pass-unparsed"] + counts[cap, "fail-unparsed"],
            from_unparsed=counts[cap, "unparsed-pass"] + counts[cap, "unparsed-fail"],
            own=cap in self.own,
        )


def _change(source: RunSource, item: Item, before: State | None, cap: int) -> str:
    if before is None:
        return "unknown"
    after = _state_of(source, item, item.response.model_copy(update={"text": cut_at(item.response.text, cap)}))
    if after is None:
        return "unknown"
    return "same" if after == before else f"{before}-{after}"


def _untold(source: RunSource, item: Item) -> Untold:
    """Why the label of a response cannot be told anew from what was said and what the world said."""
    decision = item.outcome.decision
    if decision is not None and decision.non_score == "invalid-challenge":
        return "void"
    return "unsettled" if source.is_grounding(item.challenge) else "graded"


def _state_of(source: RunSource, item: Item, response: Response) -> State | None:
    """What a response would be worth; None where a person or a judge says so, or the world has not, or cannot."""
    challenge, resolution = item.challenge, item.resolution
    decision = item.outcome.decision
    if challenge.half is None or challenge.outcome is None or resolution is None or not source.is_grounding(challenge):
        return None
    if decision is None or decision.non_score not in (None, "unparsed") or decision.code == "pending":
        return None
    read = read_expectation(source, challenge, response)
    found = grade(challenge.half, challenge.outcome, None if isinstance(read, Unparsed) else read, resolution)
    return found.verdict or ("unparsed" if found.code == "unparsed" else None)
