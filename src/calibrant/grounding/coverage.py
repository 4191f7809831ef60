"""Holds a board against a roster: which cases it lacks, which are half written, and what nothing derives."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from calibrant.errors import Problem, Where, nearest, one_of, quote
from calibrant.grounding.roster import Case, case_of
from calibrant.records.board import Challenge, Seat
from calibrant.records.roster import Roster, folded_lane


@dataclass(slots=True)
class Covered:
    """A case with what a board holds of it: its complete pairs, and the pairs of which it has one half."""

    case: Case
    pairs: int = 0
    half_written: dict[str, int] = field(default_factory=dict)
    """By pair, the index of the half that is there."""
    misowned: dict[str, int] = field(default_factory=dict)
    """By pair that does not count, the index of its out-half, which is given to a wrong owner."""

    @property
    def missing(self) -> bool:
        """Whether the board has no complete pair of this case."""
        return self.pairs == 0


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a board holds of a roster. ``problems`` refuse the board; ``warnings`` do not."""

    roster_sha256: str
    covered: tuple[Covered, ...]
    extra: int
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]

    @property
    def missing(self) -> tuple[Case, ...]:
        """The cases of which the board has no complete pair."""
        return tuple(found.case for found in self.covered if found.missing)

    def to_dict(self) -> dict[str, Any]:
        """The coverage as plain JSON values."""
        cases = [
            {
                **found.case.to_dict(),
                "pairs": found.pairs,
                "half_written": sorted(found.half_written),
                "misowned": sorted(found.misowned),
            }
            for found in self.covered
        ]
        return {"roster_sha256": self.roster_sha256, "extra": self.extra, "cases": cases}


@dataclass(slots=True)
class _Extra:
    """Challenges of one seat and attribute that nothing derives: why, where the first stands, and how many."""

    problem: Problem
    count: int = 0


class CoverageChecker:
    """Holds a board against a roster, in one pass over its challenges. A challenge is of a case by its seat, its
    attribute (that of the case, or that and a point and more), its test type and its half; its pair joins the halves.

    1. every role has a seat, every seat is a role, and both have one lane;
    2. every case of a role that has a seat has a complete pair;
    3. no pair of a case is half written;
    4. whatever is said to be another's is said to be the owner's, or its pair does not count;
    5. nothing is there that no case derives (a warning).

    ``where`` tells in which place a challenge was written, by its index; ``file`` is the board's.
    """

    def __init__(
        self,
        roster: Roster,
        cases: Iterable[Case],
        seats: Iterable[Seat],
        where: Callable[[int], Where],
        file: str | None = None,
    ) -> None:
        self._roster, self._where, self._file = roster, where, file
        self._seats = tuple(seats)
        self._covered = {(case.seat, case.attribute): Covered(case) for case in cases}
        self._cases = {key: found.case for key, found in self._covered.items()}
        self._extra: dict[tuple[object, ...], _Extra] = {}
        self._owners: list[Problem] = []
        self._unusual: list[Problem] = []
        self._taken = 0
        self._roles = {role.id: role for role in roster.roles}
        self._named = {name: role.id for role in reversed(roster.roles) for name in (role.name, role.id) if name}
        self._attributes: dict[str, list[str]] = {}
        for seat, attribute in self._cases:
            self._attributes.setdefault(seat, []).append(attribute)

    def take(self, challenge: Challenge) -> None:
        """Take in the next challenge of the board."""
        index, self._taken = self._taken, self._taken + 1
        case = case_of(self._cases, challenge.seat, challenge.attribute)
        is_owned = self._take_owner(challenge, case, index)
        if case is None or challenge.test_type != case.test_type or challenge.half is None:
            key = (challenge.seat, challenge.attribute, challenge.test_type, challenge.half is None)
            if key not in self._extra:
                self._extra[key] = _Extra(_at(self._why_extra(challenge, case), self._where(index)))
            self._extra[key].count += 1
            return
        found, pair = self._covered[case.seat, case.attribute], str(challenge.pair_id)
        if not is_owned:
            found.misowned[pair] = index
        if found.half_written.pop(pair, None) is not None:
            found.pairs += pair not in found.misowned
        else:
            found.half_written[pair] = index

    def finish(self, alone: Collection[int] = ()) -> Coverage:
        """What was found; ``alone`` are the indexes of halves of which it is said already that the other is missing."""
        problems = [*self._odd_seats(), *self._missing(), *self._half_written(alone), *self._owners]
        extra = sum(found.count for found in self._extra.values())
        warnings = [_counted(found) for found in self._extra.values()]
        covered = tuple(self._covered.values())
        return Coverage(self._roster.digest(), covered, extra, tuple(problems), (*self._unusual, *warnings))

    def _odd_seats(self) -> Iterator[Problem]:
        seats = {seat.id for seat in self._seats}
        for role in self._roster.roles:
            if role.id not in seats:
                count = len(self._attributes.get(role.id, ()))
                found = f"no seat for the role {quote(role.id)}, and so none of its {count} cases"
                yield Problem(found, "a seat for each role of the roster", "Add it.", Where(self._file, field="seats"))
        for index, seat in enumerate(self._seats):
            role_of_seat = self._roles.get(seat.id)
            if role_of_seat is None:
                known = self._roster.role_ids
                expected = f"a role of the roster: {one_of(known[:12])}"
                place = Where(self._file, field=f"seats[{index}].id")
                fix = nearest(seat.id, known) or "Add the role to the roster, or drop the seat."
                yield Problem(f"the seat {quote(seat.id)}, which is no role", expected, fix, place)
            elif folded_lane(seat.lane) != folded_lane(role_of_seat.lane):
                place = Where(self._file, field=f"seats[{index}].lane")
                found = f"the lane {quote(seat.lane)} of the seat {quote(seat.id)}"
                expected = f"that of the role, {quote(role_of_seat.lane)}"
                yield Problem(found, expected, "Write one of them in both.", place)

    def _missing(self) -> Iterator[Problem]:
        seats = {seat.id for seat in self._seats}
        for found in self._covered.values():
            case = found.case
            if found.missing and not found.half_written and not found.misowned and case.seat in seats:
                said = f"no pair of the case {case.pair_id} ({case.why})"
                expected = f"one with the seat {quote(case.seat)} and the attribute {quote(case.attribute)}"
                fix = "Write it; `calibrant derive ROSTER --missing-from BOARD` gives its outline."
                yield Problem(said, expected, fix, Where(self._file, field="challenges"))

    def _half_written(self, alone: Collection[int]) -> Iterator[Problem]:
        for found in self._covered.values():
            for pair, index in found.half_written.items():
                if index in alone:
                    continue
                said = f"one half of the pair {quote(pair)} of the case {found.case.pair_id}, alone"
                expected = f"both halves, with the attribute {quote(found.case.attribute)}"
                yield Problem(said, expected, "Write the other.", self._where(index))

    def _why_extra(self, challenge: Challenge, case: Case | None) -> Problem:
        if case is None:
            if challenge.seat not in self._roles:
                return Problem(f"a challenge of {quote(challenge.seat)}, which is no role", "one that a case derives")
            known = self._attributes.get(challenge.seat, [])
            found = f"the attribute {quote(challenge.attribute)}, which no case of {quote(challenge.seat)} has"
            fix = nearest(challenge.attribute, known) or "Add what it comes of to the roster, or leave it: it is extra."
            return Problem(found, f"{one_of(known)}, or that and a point and more", fix, Where(field="attribute"))
        if challenge.test_type != case.test_type:
            found = f"the test type {quote(challenge.test_type)} in the case {case.pair_id}"
            return Problem(found, quote(case.test_type), "It does not count for the case.", Where(field="test_type"))
        found = f"a challenge without a half in the case {case.pair_id}"
        return Problem(found, "the half of a pair", "It does not count for the case.", Where(field="half"))

    def _take_owner(self, challenge: Challenge, case: Case | None, index: int) -> bool:
        """Whose a fact is said to be, held against whose it is: whether it is not given to a wrong owner."""
        if challenge.half != "out" or challenge.resolver is None:
            return True
        if challenge.resolver.kind != "other-lane":
            if case is not None and case.stated and case.owner is not None:
                found = f"an out-half of the case {case.pair_id} settled by {quote(challenge.resolver.kind)}"
                expected = f"other-lane, with the owner {quote(case.owner)}"
                problem = Problem(found, expected, f"In the roster, {case.why}.", Where(field="resolver.kind"))
                self._unusual.append(_at(problem, self._where(index)))
            return True
        named = str(challenge.resolver.params.get("owner", ""))
        owner = self._named.get(named)
        wrong = _wrong_owner(named, owner, challenge, case, self._roster.role_ids)
        if wrong is not None:
            self._owners.append(_at(wrong, self._where(index)))
        return wrong is None


def _wrong_owner(
    named: str, owner: str | None, challenge: Challenge, case: Case | None, known: tuple[str, ...]
) -> Problem | None:
    place = Where(field="resolver.owner")
    if owner is None:
        found = f"the owner {quote(named)}, which is no role of the roster"
        return Problem(found, one_of(known[:12]), nearest(named, known), place)
    if owner == challenge.seat:
        found = f"the owner {quote(named)}, which is the seat itself"
        return Problem(
            found, "another role", "What is the seat's own is settled by withheld, future or attested.", place
        )
    if case is not None and case.owner is not None and owner != case.owner:
        return Problem(f"the owner {quote(named)}", quote(case.owner), f"In the roster, {case.why}.", place)
    return None


def _counted(found: _Extra) -> Problem:
    if found.count == 1:
        return found.problem
    problem = found.problem
    said = f"{problem.found} ({found.count} challenges, the first here)"
    return Problem(said, problem.expected, problem.fix, problem.where)


def _at(problem: Problem, place: Where) -> Problem:
    inner = ".".join(part for part in (place.field, problem.where.field) if part) or None
    return Problem(problem.found, problem.expected, problem.fix, Where(place.file, place.line, inner))
