"""From the replies of a judgement to its verdict: the same steps while a judge is asked and when it is checked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from calibrant.errors import quote
from calibrant.judging.parse import Read, parse
from calibrant.records.judgefile import Decoding


class Reading(NamedTuple):
    """A verdict with what was said about it, or why there is none."""

    verdict: str | None = None
    absent: Literal["unparsed", "undecided"] | None = None
    reason: str | None = None
    critique: str | None = None
    evidence_span: str | None = None


class Turn(NamedTuple):
    """What is to be asked next: in which order of the two answers (0 as given, 1 swapped), for which time (from 0)."""

    order: int
    attempt: int


class Course:
    """The course of one judgement: what to ask next, given the replies so far, and what they say in the end.

    A reply that cannot be read is asked for again as often as the instrument says. A judge of two answers is asked in
    both orders; where its two verdicts are not one, it has none, or calls a tie.
    """

    def __init__(self, parser: str, decoding: Decoding) -> None:
        self._parser, self._decoding = parser, decoding
        self._reads: list[Read] = []
        self._attempt = 0
        self._unread: str | None = None

    def next(self) -> Turn | None:
        """What to ask next, or None where all is said."""
        orders = 1 if self._decoding.pairwise is None else 2
        over = self._attempt > self._decoding.unparsed_retries or len(self._reads) == orders
        return None if over else Turn(len(self._reads), self._attempt)

    def take(self, text: str) -> None:
        """Take in the reply to what `next` gave."""
        read = parse(self._parser, text, self._decoding.labels)
        if isinstance(read, Read):
            self._reads.append(read)
            self._attempt = 0
        else:
            self._unread = read.reason
            self._attempt += 1

    def reading(self) -> Reading:
        """What the replies say, once `next` gives None."""
        if self._attempt:
            return Reading(absent="unparsed", reason=self._unread)
        first = self._reads[0]
        if self._decoding.pairwise is None:
            return Reading(first.verdict, critique=first.critique, evidence_span=first.evidence_span)
        return self._of_both(first, self._decoding.pairwise.mapped_back(self._reads[1].verdict))

    def _of_both(self, first: Read, second: str) -> Reading:
        pairwise = self._decoding.pairwise
        assert pairwise is not None
        if first.verdict == second:
            return Reading(first.verdict, critique=first.critique, evidence_span=first.evidence_span)
        why = f"in the order given {quote(first.verdict)}, in the other order {quote(second)}"
        return Reading(pairwise.tie, reason=why) if pairwise.tie else Reading(absent="undecided", reason=why)


def read_replies(parser: str, decoding: Decoding, texts: Iterable[str]) -> Reading | None:
    """What the replies of a judgement say, in the order in which they came.

    None where they are no whole judgement: one too few, or one after all was said.
    """
    course = Course(parser, decoding)
    for text in texts:
        if course.next() is None:
            return None
        course.take(text)
    return None if course.next() is not None else course.reading()
