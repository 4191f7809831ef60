"""Puts the challenges of a board together one by one, and refuses those that do not fit the profile or each other."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby, takewhile
from typing import Any, Final, Literal

from calibrant.canonical import normal_name
from calibrant.errors import InputError, Problem, Where, nearest, one_of, quote
from calibrant.records.base import Record
from calibrant.records.board import Challenge, Seat, Source
from calibrant.records.problems import Lines, no_lines
from calibrant.records.profile import Profile, TestType
from calibrant.records.types import Id
from calibrant.runs.challenges import Challenges, Packed, Spool

MOST_PROBLEMS: Final = 50
"""How many problems of one file are listed; the rest is counted."""

_HALVES: Final = (None, "in", "out")
_UNKNOWN = 2**32 - 1
_REFUSED, _SOUND, _WAITING = range(3)


class Withheld(Record):
    """An out-half as a board writes it: the challenge that it withholds the evidence of; the rest is taken from it."""

    id: Id
    half: Literal["out"]
    pair_id: Id
    withhold: Id
    note: str | None = None


class Findings:
    """The problems found so far: the first ones kept, the rest counted."""

    def __init__(self) -> None:
        self._kept: list[Problem] = []
        self._count = 0

    def add(self, *problems: Problem) -> None:
        """Take in more problems."""
        self._count += len(problems)
        self._kept.extend(problems[: MOST_PROBLEMS - len(self._kept)])

    def __bool__(self) -> bool:
        """Whether anything was found."""
        return self._count > 0

    def refuse_if_any(self) -> None:
        """Raise InputError with what was found, if anything was."""
        rest = self._count - len(self._kept)
        more = [Problem(f"{rest} more problems", "none", "Mend those above first.")] if rest else []
        if self._kept:
            self._kept.sort(key=lambda problem: problem.where.line or 0)
            raise InputError([*self._kept, *more])


def withhold(in_half: Challenge, name: str, note: str | None = None) -> Challenge:
    """The out-half ``name`` of ``in_half``: the same question to the same seat, without the evidence that settles it.

    Raises:
        InputError: where ``in_half`` is none, or holds no evidence that settles it.
    """
    if in_half.half != "in":
        found = f"{quote(in_half.id)}, which is no in-half"
        raise InputError(Problem(found, "an in-half, whose evidence can be withheld", where=Where(field="withhold")))
    kept = tuple(piece for piece in in_half.evidence if not piece.settles)
    if len(kept) == len(in_half.evidence):
        found = f"{quote(in_half.id)}, which holds no evidence that settles it"
        fix = "Give it `evidence`, or write this half out with a resolver of its own."
        raise InputError(Problem(found, "an in-half with evidence to withhold", fix, Where(field="withhold")))
    source = None if in_half.resolver is None else in_half.resolver.model_dump(mode="json")
    taken = {name: getattr(in_half, name) for name in Challenge.model_fields}
    own: dict[str, Any] = {"id": name, "half": "out", "target": None, "evidence": kept, "note": note}
    settled_by = Source(kind="withheld", params={"of": in_half.id, "source": source})
    return Challenge.model_validate({**taken, **own, "resolver": settled_by})


class Assembly:
    """A board in the making. Beside the challenges themselves it keeps some thirty bytes of each, however many."""

    def __init__(self, profile: Profile, seats: Iterable[Seat], place: Callable[[int], Where]) -> None:
        """``place`` gives the place of the challenge of that index, with its field, for a message."""
        self._place = place
        self._seats = {seat.id: index for index, seat in enumerate(seats)}
        self._types = {test_type.id: index for index, test_type in enumerate(profile.test_types)}
        self._test_types = {test_type.id: (test_type, _needs(test_type)) for test_type in profile.test_types}
        self.findings = Findings()
        self._challenges = Challenges()
        self._ids, self._pairs = array("q"), array("q")
        self._halves = bytearray()
        self._state = bytearray()
        self._seat_of, self._type_of = array("I"), array("I")
        self._withheld = array("Q")
        self._waiting = Spool()

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, fields: Mapping[str, Any], lines: Lines = no_lines) -> None:
        """Take in the next challenge as it is written; ``lines`` gives the line of a field in it."""
        where = self._place(len(self))
        try:
            if "withhold" in fields:
                self._add_withheld(_read_withheld(fields, where, lines))
            else:
                written = {"schema": Challenge.schema_name, **fields}
                self._add_challenge(Challenge.from_dict(written, where=where, lines=lines), lines)
        except InputError as refused:
            self.add_refused(fields.get("id"), *refused.problems)

    def add_built(self, challenge: Challenge) -> None:
        """Take in the next challenge, made in Python."""
        where = self._place(len(self))
        try:
            self._add_challenge(challenge, no_lines)
        except InputError as refused:  # it holds what JSON cannot carry
            self.add_refused(challenge.id, *(_inside(problem, where) for problem in refused.problems))

    def add_refused(self, name: object, *problems: Problem) -> None:
        """Take in the problems of a challenge and remember its name, so that others that name it are not blamed."""
        self.findings.add(*problems)
        self._note(normal_name(name) if isinstance(name, str) else "", None, None, _REFUSED)

    def _add_challenge(self, challenge: Challenge, lines: Lines) -> None:
        where, packed = self._place(len(self)), Packed.of(challenge)
        self.findings.add(*(_inside(problem, where, lines) for problem in self._unfit(challenge)))
        self._note(challenge.id, challenge.pair_id, challenge.half, _SOUND)
        self._seat_of[-1] = self._seats.get(challenge.seat, _UNKNOWN)
        self._type_of[-1] = self._types.get(challenge.test_type, _UNKNOWN)
        self._challenges.put(len(self) - 1, packed)

    def _add_withheld(self, written: Withheld) -> None:
        waiting = written.to_bytes()
        self._withheld.extend((len(self), self._waiting.append(waiting), len(waiting)))
        self._note(written.id, written.pair_id, "out", _WAITING)

    def _note(self, name: str, pair: str | None, half: str | None, state: int) -> None:
        self._ids.append(hash(name))
        self._pairs.append(hash(pair))
        self._halves.append(_HALVES.index(half))
        self._state.append(state)
        self._seat_of.append(_UNKNOWN)
        self._type_of.append(_UNKNOWN)
        self._challenges.reserve()

    def finish(self) -> Challenges:
        """All challenges, once they fit together.

        Raises:
            InputError: with everything that was found wrong.
        """
        by_name = sorted(range(len(self)), key=self._ids.__getitem__)
        self._derive_withheld(by_name)
        self._refuse_same_names(by_name)
        self._refuse_odd_pairs()
        self.findings.refuse_if_any()
        return self._challenges

    def _derive_withheld(self, by_name: list[int]) -> None:
        three = iter(self._withheld)
        for index, start, length in zip(three, three, three, strict=True):
            written = Withheld.model_validate_json(self._waiting.read(start, length))
            try:
                found = self._find(written.withhold, by_name)
                if found is not None:
                    self._derive(index, written, *found)
            except InputError as refused:
                self.findings.add(*(_inside(problem, self._place(index)) for problem in refused.problems))

    def _find(self, name: str, by_name: list[int]) -> tuple[int, Challenge] | None:
        """The challenge ``name`` and its index; None where it was refused itself.

        Raises:
            InputError: where there is none.
        """
        wanted = hash(name)
        start = bisect_left(by_name, wanted, key=self._ids.__getitem__)
        same = list(
            takewhile(lambda index: self._ids[index] == wanted, map(by_name.__getitem__, range(start, len(by_name))))
        )
        for index in same:
            if self._state[index] == _SOUND and (challenge := self._challenges[index]).id == name:
                return index, challenge
        if any(self._state[index] == _REFUSED for index in same):
            return None
        why = "which is an out-half itself" if same else "which no challenge of this board is named"
        problem = Problem(f"{quote(name)}, {why}", "the id of an in-half", "Check its spelling.")
        raise InputError(replace(problem, where=Where(field="withhold")))

    def _derive(self, index: int, written: Withheld, target: int, in_half: Challenge) -> None:
        if in_half.pair_id != written.pair_id:
            found = f"{quote(in_half.id)}, which is in the pair {quote(in_half.pair_id)}"
            expected = f"an in-half of the pair {quote(written.pair_id)}"
            raise InputError(Problem(found, expected, "Give both the same `pair_id`.", Where(field="withhold")))
        self._challenges.put(index, Packed.of(withhold(in_half, written.id, written.note)))
        self._seat_of[index], self._type_of[index] = self._seat_of[target], self._type_of[target]
        self._state[index] = _SOUND

    def _refuse_same_names(self, by_name: list[int]) -> None:
        for name, indexes in self._groups(by_name, self._ids, lambda challenge: challenge.id):
            for again in indexes[1:]:
                first = _at(self._place(indexes[0]))
                found = f"the id {quote(name)} again, first {first}"
                self.findings.add(_inside(Problem(found, "each id once", where=Where(field="id")), self._place(again)))

    def _refuse_odd_pairs(self) -> None:
        paired = (index for index in range(len(self)) if self._halves[index])
        by_pair = sorted(paired, key=self._pairs.__getitem__)
        for name, indexes in self._groups(by_pair, self._pairs, lambda challenge: challenge.pair_id, self._is_even):
            for half in _HALVES[1:]:
                same = [index for index in indexes if _HALVES[self._halves[index]] == half]
                for again in same[1:]:
                    found = (
                        f"a second {half}-half of the pair {quote(name)}, whose first is {_at(self._place(same[0]))}"
                    )
                    self._refuse_member(again, "pair_id", found, "one in-half and one out-half")
            if len(indexes) == 2:
                self._refuse_unlike(name, *indexes)

    def _refuse_unlike(self, name: str, first: int, second: int) -> None:
        for field, of in (("seat", self._seat_of), ("test_type", self._type_of)):
            if of[first] != of[second]:
                found = (
                    f"another `{field}` than the other half of the pair {quote(name)} has, {_at(self._place(first))}"
                )
                self._refuse_member(second, field, found, f"one `{field}` for both halves")

    def _refuse_member(self, index: int, field: str, found: str, expected: str) -> None:
        self.findings.add(_inside(Problem(found, expected, where=Where(field=field)), self._place(index)))

    def _is_even(self, indexes: list[int]) -> bool:
        """Whether these are at most one in-half and one out-half of one seat and test type."""
        if len(indexes) == 1:
            return True
        first, second, *rest = indexes
        return (
            not rest
            and self._halves[first] != self._halves[second]
            and self._seat_of[first] == self._seat_of[second]
            and self._type_of[first] == self._type_of[second]
        )

    def _groups(
        self,
        indexes: list[int],
        hashes: array[int],
        name_of: Callable[[Challenge], str | None],
        regular: Callable[[list[int]], bool] = lambda indexes: len(indexes) == 1,
    ) -> Iterator[tuple[str, list[int]]]:
        """The sound challenges that share a name, for each name whose group is not ``regular``."""
        for _, sharing in groupby(indexes, key=hashes.__getitem__):
            sound = [index for index in sharing if self._state[index] == _SOUND]
            if not sound or regular(sound):
                continue
            named: dict[str, list[int]] = {}
            for index in sound:
                named.setdefault(name_of(self._challenges[index]) or "", []).append(index)
            yield from ((name, same) for name, same in named.items() if not regular(same))

    def _unfit(self, challenge: Challenge) -> Iterator[Problem]:
        """What of ``challenge`` does not fit the seats and the profile; fields are relative to the challenge."""
        if challenge.seat not in self._seats:
            yield _unknown("seat", challenge.seat, self._seats)
        if challenge.test_type not in self._test_types:
            yield _unknown("test_type", challenge.test_type, self._types)
            return
        test_type, needs = self._test_types[challenge.test_type]
        label = f"the test type {quote(test_type.id)}"
        if challenge.sealed is not None and challenge.target is not None:
            found, fix = "a `target` beside `sealed`", "Drop it: it is kept back."
            yield Problem(found, "one of the two", fix, Where(field="target"))
        for field in needs:
            if field == "target" and challenge.sealed is not None:
                continue  # it is kept back
            if getattr(challenge, field) in (None, ()):
                yield Problem(f"no `{field}`", f"one: {label} requires it", "Add it.", Where(field=field))
        if test_type.paired == "never" and challenge.half is not None:
            fix = "Drop `half` and `pair_id`."
            yield Problem("a `half`", f"none: {label} is never paired", fix, Where(field="half"))


def _needs(test_type: TestType) -> list[str]:
    """The fields that a challenge of this test type must have."""
    grounding = ["half", "outcome", "resolver"] if test_type.rule == "grounding" else []
    paired = ["half"] if test_type.paired == "required" else []
    return list(dict.fromkeys([*test_type.required, *grounding, *paired]))


def _unknown(field: str, name: str, known: Iterable[str]) -> Problem:
    found = f"the unknown {field.replace('_', ' ')} {quote(name)}"
    names = list(known)
    expected = one_of(names[:12]) + (f" or {len(names) - 12} others" if names[12:] else "")
    return Problem(found, expected, nearest(name, names), Where(field=field))


def _read_withheld(fields: Mapping[str, Any], where: Where, lines: Lines) -> Withheld:
    beside = [name for name in fields if name in Challenge.model_fields and name not in Withheld.model_fields]
    if beside:
        said = " and ".join(f"`{name}`" for name in beside[:5])
        fix = "Drop what is taken from the in-half, or drop `withhold` and write the half out."
        problem = Problem(f"{said} beside `withhold`", "id, half, pair_id, withhold and note alone", fix)
        raise InputError(_inside(replace(problem, where=Where(field=beside[0])), where, lines))
    return Withheld.from_dict({k: v for k, v in fields.items() if k != "schema"}, where=where, lines=lines)


def _inside(problem: Problem, where: Where, lines: Lines = no_lines) -> Problem:
    """``problem`` of a field of the challenge that stands at ``where``."""
    field = problem.where.field
    line = lines((field,)) if field is not None and lines is not no_lines else None
    named = ".".join(part for part in (where.field, field) if part) or None
    return replace(problem, where=Where(where.file, line or where.line, named))


def _at(where: Where) -> str:
    return f"in line {where.line}" if where.line is not None else f"at {where.field}"
