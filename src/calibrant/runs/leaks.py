"""Looks for facts that stand in files, read when a board is checked, in what their out-halves show."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from calibrant.errors import InputError, Problem, Where, quote
from calibrant.grounding.held import Held, as_written, held, held_text
from calibrant.grounding.leak import stands_in
from calibrant.grounding.options import check_options
from calibrant.grounding.room import missed_by
from calibrant.grounding.tells import forms_of
from calibrant.records.board import BoardHeader, Challenge
from calibrant.runs.waiting import blocking
from calibrant.world.base import Finding, Question, Raw
from calibrant.world.registry import World
from calibrant.world.unsettled import is_shown

READ_WHEN_CHECKED: Final = frozenset({"facts", "file"})
"""Kinds of resolver that only read a file: their facts can be looked for without running anything."""

_AT_ONCE: Final = 64


class _Pair(NamedTuple):
    in_half: Challenge
    out_half: Challenge
    in_place: Where
    place: Where


class FileFacts:
    """The pairs of a board, met half by half, whose in-half is settled by a file.

    The fact of each is read now; where it stands in what the out-half shows, or lies outside of the options or the
    plausible range, that is a problem, as it is for a fact that stands in the board itself.
    """

    def __init__(self, world: World, header: BoardHeader, where: Callable[[int], Where]) -> None:
        self._world, self._header, self._where = world, header, where
        self._open: dict[str, tuple[int, Challenge]] = {}
        self._waiting: list[_Pair] = []
        self.problems: list[Problem] = []

    def take(self, challenge: Challenge, index: int) -> None:
        """Take in the next challenge of the board."""
        if challenge.pair_id is None:
            return
        first = self._open.pop(challenge.pair_id, None)
        if first is None:
            self._open[challenge.pair_id] = (index, challenge)
            return
        halves = {half.half: (place, half) for place, half in (first, (index, challenge))}
        if set(halves) == {"in", "out"} and _reads_a_file(halves["in"][1]):
            (in_place, in_half), (place, out_half) = halves["in"], halves["out"]
            self._waiting.append(_Pair(in_half, out_half, self._where(in_place), self._where(place)))
            if len(self._waiting) >= _AT_ONCE:
                self.finish()

    def finish(self) -> None:
        """Look for the facts of the pairs that were met so far."""
        pairs, self._waiting = self._waiting, []
        if not pairs:
            return
        for pair, finding in zip(pairs, blocking(self._read(pairs)), strict=True):
            if finding is not None and finding.status == "fact" and finding.value is not None:
                self.problems.extend(self._leaks(pair, finding.value))
                self.problems.extend(_missed(pair, finding.value))

    async def _read(self, pairs: list[_Pair]) -> list[Finding | None]:
        return await asyncio.gather(*(self._settle(pair.in_half) for pair in pairs))

    async def _settle(self, in_half: Challenge) -> Finding | None:
        """What the file says; None where the source is refused, which is said of the challenge already."""
        assert in_half.resolver is not None
        try:
            resolver = self._world.resolver(in_half.resolver)
        except InputError:
            return None
        return await resolver.resolve(Question(in_half.id, outcome=in_half.outcome))

    def _leaks(self, pair: _Pair, value: Raw) -> Iterator[Problem]:
        shown = list(_shown(pair.out_half, self._header))
        everything = Question(pair.out_half.id, outcome=pair.out_half.outcome, shown=held_text(shown))
        if not is_shown(value, everything):
            return
        forms = forms_of(pair.out_half.outcome, value, everything.shown)
        hits = (piece.field for piece in shown if any(stands_in(form, piece.text) for form in forms))
        name = next(hits, shown[0].field)
        found = f"the fact of {quote(pair.in_half.id)}, which was read now, in the {name} of its out-half"
        inner = ".".join(part for part in (pair.place.field, name) if part)
        place = Where(pair.place.file, pair.place.line, inner)
        yield Problem(found, f"an out-half whose {name} does not give the fact away", None, place)


def _missed(pair: _Pair, value: Raw) -> Iterator[Problem]:
    """The fact of the in-half where its outcome space does not offer it, or takes it to be implausible."""
    outcome = pair.in_half.outcome
    missed = missed_by(outcome, value) if outcome is not None and not check_options(outcome) else None
    if missed is not None:
        found = f"the fact of {quote(pair.in_half.id)}, which was read now, {missed.found}"
        inner = ".".join(part for part in (pair.in_place.field, "resolver") if part)
        yield Problem(found, missed.expected, missed.fix, Where(pair.in_place.file, pair.in_place.line, inner))


def _reads_a_file(in_half: Challenge) -> bool:
    source = in_half.resolver
    return source is not None and source.kind in READ_WHEN_CHECKED and "file" in source.params


def _shown(out_half: Challenge, header: BoardHeader) -> Iterator[Held]:
    """What the out-half shows that is known without capturing anything.

    What the seat holds in both halves counts where the out-half is the same question (`withheld`). One that asks for
    something else does not ask for this fact, and a word of it that stands in the context gives nothing away.
    """
    seat = header.seat(out_half.seat)
    same = out_half.resolver is not None and out_half.resolver.kind == "withheld"
    for piece in held(out_half, seat, as_written(seat, out_half)):
        if same or not piece.of_seat:
            yield piece
