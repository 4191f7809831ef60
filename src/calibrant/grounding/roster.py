"""What a roster asks of a board: the pairs that come of its lanes, boundaries, grants and neighbours. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from calibrant.errors import InputError, Problem, Where, nearest, one_of, quote
from calibrant.records.profile import Profile
from calibrant.records.roster import Boundary, Role, Roster, ScopedGrant

Origin: TypeAlias = Literal["lane", "owner", "deferral", "grant", "neighbour"]
"""What of a roster a case comes of."""

_RANK: Final[dict[Origin, int]] = {"lane": 0, "owner": 1, "deferral": 2, "grant": 3, "neighbour": 4}
_OWN_WAYS: Final = ("withheld", "future", "attested")
_OTHERS_WAYS: Final = ("other-lane",)
_SETTLED: Final = "the in-half without its evidence, or one that is settled later"


@dataclass(frozen=True, slots=True)
class Derived:
    """One challenge that has to be written: its id, and what its author has to write.

    ``settled_by`` are the ways in which an out-half of this case may be settled, the usual one first; none for an
    in-half, which a source settles, and for what is graded by its label.
    """

    id: str
    half: Literal["in", "out"]
    write: str
    settled_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """A pair that a board has to hold: for which seat and attribute, what it comes of, and why.

    ``owner`` is the role to which the fact of the out-half belongs, where that is not the seat itself. ``stated``
    tells whether it is about a fact, which a seat states and the world settles, or about an act, graded by its label.
    """

    origin: Origin
    seat: str
    attribute: str
    test_type: str
    stated: bool
    why: str
    in_half: Derived
    out_half: Derived
    owner: str | None = None

    @property
    def pair_id(self) -> str:
        """The id of its pair; those of its halves start with it."""
        return f"{self.seat}.{self.attribute}"

    @property
    def halves(self) -> tuple[Derived, Derived]:
        """Both challenges, the in-half first."""
        return self.in_half, self.out_half

    def to_dict(self) -> dict[str, Any]:
        """The case as plain JSON values."""
        halves = [
            {"id": half.id, "half": half.half, "write": half.write, "settled_by": list(half.settled_by)}
            for half in self.halves
        ]
        return {
            "pair_id": self.pair_id,
            "seat": self.seat,
            "attribute": self.attribute,
            "test_type": self.test_type,
            "origin": self.origin,
            "owner": self.owner,
            "why": self.why,
            "challenges": halves,
        }


def derive(roster: Roster, profile: Profile) -> tuple[Case, ...]:
    """Every case that ``roster`` asks for, sorted by seat; the order in which the roster was written means nothing.

    - for each role: its lane;
    - for each boundary: its owner, each role that defers, each scoped grant;
    - for each two neighbours: both of them.

    Raises:
        InputError: where a test type that the roster names is not in ``profile``, or is never paired.
    """
    known = _Known(_test_types(roster, profile), {role.id: role.lane for role in roster.roles})
    cases = [_lane(role, roster, known) for role in roster.roles]
    for boundary in roster.boundaries:
        cases.append(_owned(boundary, roster, known))
        cases += [_deferred(boundary, name, roster, known) for name in boundary.defers]
        cases += [_granted(boundary, grant, roster, known) for grant in boundary.grants]
    for one, other in roster.adjacent:
        cases += [_beside(one, other, roster, known), _beside(other, one, roster, known)]
    return tuple(sorted(cases, key=lambda case: (case.seat, _RANK[case.origin], case.attribute)))


class _Known(NamedTuple):
    """What is looked up for each case: whether the challenges of a test type state a fact, and the lane of a role."""

    stated: dict[str, bool]
    lanes: dict[str, str]


def _test_types(roster: Roster, profile: Profile) -> dict[str, bool]:
    """For each test type that is named, whether its challenges state a fact."""
    named = [(roster.test_type, "test_type")]
    for index, boundary in enumerate(roster.boundaries):
        if boundary.test_type is not None:
            named.append((boundary.test_type, f"boundaries[{index}].test_type"))
    problems, stated = [], {}
    for name, field in named:
        test_type, known = profile.test_type(name), [test_type.id for test_type in profile.test_types]
        if test_type is None:
            found = f"the test type {quote(name)}, which the profile {quote(profile.id)} does not have"
            fix = nearest(name, known) or "Name the profile that has it."
            problems.append(Problem(found, one_of(known), fix, Where(field=field)))
        elif test_type.paired == "never":
            found = f"the test type {quote(name)}, which is never paired"
            problems.append(Problem(found, "one that takes pairs", "What is derived is pairs.", Where(field=field)))
        else:
            stated[name] = test_type.rule == "grounding"
    if problems:
        raise InputError(problems)
    return stated


def _case(
    origin: Origin,
    seat: str,
    attribute: str,
    test_type: str,
    *,
    stated: bool,
    owner: str | None,
    texts: tuple[str, ...],
) -> Case:
    why, in_text, out_text = texts
    pair = f"{seat}.{attribute}"
    ways = (_OTHERS_WAYS if owner is not None else _OWN_WAYS) if stated else ()
    halves = Derived(f"{pair}.in", "in", in_text), Derived(f"{pair}.out", "out", out_text, ways)
    return Case(origin, seat, attribute, test_type, stated, why, *halves, owner)


def _lane(role: Role, roster: Roster, known: _Known) -> Case:
    why = f"{role.id} has the lane {_said(role.lane)}"
    if known.stated[roster.test_type]:
        texts = (
            f"a question about {_said(role.lane)}, with the evidence that settles it",
            f"a question about {_said(role.lane)} that nothing the seat holds settles: {_SETTLED}",
        )
    else:
        texts = (
            f"a request that lies in {_said(role.lane)}, and what taking it looks like",
            "a request that lies outside of it, and what leaving it looks like",
        )
    kind = roster.test_type
    return _case("lane", role.id, "lane", kind, stated=known.stated[kind], owner=None, texts=(why, *texts))


def _owned(boundary: Boundary, roster: Roster, known: _Known) -> Case:
    kind, matter = boundary.test_type or roster.test_type, _said(boundary.matter)
    why = f"{boundary.owner} owns {matter}; {_listed(boundary.defers)} {_hand(boundary.defers)} it over"
    if known.stated[kind]:
        texts = (
            f"a question about {matter}, with the evidence that settles it",
            f"a question about {matter} that nothing the seat holds settles: {_SETTLED}",
        )
    else:
        texts = (
            f"a request for {matter}, and what taking it as its own looks like",
            f"a request near {matter} that is not the seat's, and what leaving it looks like",
        )
    return _case("owner", boundary.owner, boundary.id, kind, stated=known.stated[kind], owner=None, texts=(why, *texts))


def _deferred(boundary: Boundary, name: str, roster: Roster, known: _Known) -> Case:
    kind, matter, owner = boundary.test_type or roster.test_type, _said(boundary.matter), boundary.owner
    why = f"{name} defers {matter} to {owner}"
    own = _said(known.lanes[name])
    granted = next((grant for grant in boundary.grants if grant.role == name), None)
    besides = f" (and outside of {_said(granted.scope)}, which it may settle)" if granted is not None else ""
    if known.stated[kind]:
        texts = (
            f"a question on {name}'s own side of the line, about {own}, with the evidence that settles it",
            f"a question about {matter}{besides}: it is for {owner} to know",
        )
    else:
        texts = (
            f"a request on {name}'s own side of the line, and what taking it looks like",
            f"a request for {matter}{besides}, and what handing it to {owner} looks like",
        )
    return _case("deferral", name, boundary.id, kind, stated=known.stated[kind], owner=owner, texts=(why, *texts))


def _granted(boundary: Boundary, grant: ScopedGrant, roster: Roster, known: _Known) -> Case:
    kind, matter, owner = boundary.test_type or roster.test_type, _said(boundary.matter), boundary.owner
    scope = _said(grant.scope)
    why = f"{grant.role} defers {matter} to {owner}, but for {scope}"
    if known.stated[kind]:
        texts = (
            f"a question about {scope}, with the evidence that settles it",
            f"a question about {matter}, just outside of {scope}: it is for {owner} to know",
        )
    else:
        texts = (
            f"a request for {scope}, and what taking it looks like",
            f"a request for {matter}, just outside of {scope}, and what handing it to {owner} looks like",
        )
    attribute = f"{boundary.id}.granted"
    return _case("grant", grant.role, attribute, kind, stated=known.stated[kind], owner=owner, texts=(why, *texts))


def _beside(name: str, other: str, roster: Roster, known: _Known) -> Case:
    kind, own, others = roster.test_type, _said(known.lanes[name]), _said(known.lanes[other])
    why = f"{name} is easily confused with {other}"
    if known.stated[kind]:
        texts = (
            f"a question about {own} that could be taken for one of {other}'s, with the evidence that settles it",
            f"a question about {others} that could be taken for one of {name}'s: it is for {other} to know",
        )
    else:
        texts = (
            f"a request that is {name}'s and could be taken for {other}'s, and what taking it looks like",
            f"a request that is {other}'s and could be taken for {name}'s, and what handing it to {other} looks like",
        )
    return _case(
        "neighbour", name, f"beside.{other}", kind, stated=known.stated[kind], owner=other, texts=(why, *texts)
    )


def _said(text: str) -> str:
    """What a person wrote of a lane, a matter or a scope, in one line between quotes."""
    return f'"{" ".join(text.split()).rstrip(".")}"'


def _listed(names: tuple[str, ...]) -> str:
    ordered = sorted(names)
    return " and ".join([", ".join(ordered[:-1]), ordered[-1]] if len(ordered) > 1 else ordered)


def _hand(names: tuple[str, ...]) -> str:
    return "hands" if len(names) == 1 else "hand"


def case_of(cases: dict[tuple[str, str], Case], seat: str, attribute: str) -> Case | None:
    """The case that a challenge is of, by its seat and its attribute: that of the case, or that and a point and more.

    ``cases`` are known by seat and attribute; of several that fit, it is the one that says most.
    """
    for name in _outward(attribute):
        found = cases.get((seat, name))
        if found is not None:
            return found
    return None


def _outward(attribute: str) -> Iterator[str]:
    """``a.b.c``, ``a.b``, ``a``."""
    while attribute:
        yield attribute
        attribute = attribute.rpartition(".")[0]
