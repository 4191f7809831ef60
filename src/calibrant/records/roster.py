"""Rosters: roles with their lanes, the boundaries between them, and whose lanes are easily confused."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Final

from pydantic import AfterValidator, BeforeValidator, model_validator

from calibrant.canonical import normal_name
from calibrant.errors import nearest, one_of, quote
from calibrant.records.base import Record
from calibrant.records.problems import Fault, refuse, refuse_each, shown
from calibrant.records.types import Id, Many, Name, Prose

_PART = re.compile(r"[\w][\w@+-]{0,59}")

RESERVED: Final = ("lane", "beside", "granted")
"""Parts of the ids that are derived: no boundary is called so."""

_A_LANE: Final = "a lane: the class of fact that the role's work depends on, and that it can know from what it holds"
_ADD_A_LANE: Final = "Write one, such as `lane: the current state of a running system`."
_MOST_LISTED: Final = 12


def _part(text: str) -> str:
    name = normal_name(text)
    if not _PART.fullmatch(name):
        expected = "1 to 60 letters, digits and _ @ + -, a letter or digit first"
        refuse(f"the id {quote(text)}", expected, "Points join the parts of the ids that are derived from it.")
    return name


Part = Annotated[str, AfterValidator(_part)]
"""The id of a role or a boundary: without a point, because derived ids are put together with points."""


def _couple(value: Any) -> Any:
    """Two neighbours in one order, whichever way they were written."""
    if not isinstance(value, list | tuple):
        return value
    if len(value) != 2:
        refuse(shown(list(value)), "two roles, such as [sysadmin, platform]")
    return tuple(sorted(map(normal_name, value))) if all(isinstance(name, str) for name in value) else tuple(value)


Couple = Annotated[tuple[Part, Part], BeforeValidator(_couple)]
"""Two roles whose lanes are easily confused; which stands first means nothing."""


class Role(Record):
    """A role: what it is for, and its lane, the class of fact that its work depends on."""

    presentation: ClassVar[frozenset[str]] = frozenset({"name"})

    id: Part
    name: Name | None = None
    purpose: Prose | None = None
    lane: Prose

    @model_validator(mode="before")
    @classmethod
    def _has_a_lane(cls, value: Any) -> Any:
        if isinstance(value, Mapping):
            lane = value.get("lane")
            if lane is None or (isinstance(lane, str) and not lane.strip()):
                named = f"the role {quote(value['id'])}" if isinstance(value.get("id"), str) else "a role"
                refuse(f"{named} without a lane", _A_LANE, _ADD_A_LANE, field="lane" if "lane" in value else None)
        return value


class ScopedGrant(Record):
    """A scope within which a role that hands a matter over may settle it all the same."""

    role: Part
    scope: Prose


class Boundary(Record):
    """A class of act or fact (``matter``) that is one role's: who owns it, who hands it over, and where not.

    ``test_type`` is the test type of the challenges that come of it, where it is not that of the roster.
    """

    id: Part
    matter: Prose
    owner: Part
    defers: Many[Part]
    grants: Many[ScopedGrant] = ()
    test_type: Id | None = None


class Roster(Record):
    """The roles of a deployment, what is whose, and whose lanes are easily confused.

    A board that holds a roster to its word is derived from it. ``test_type`` is the test type of the challenges that
    come of lanes and neighbours, and of boundaries that name none.
    """

    schema_name: ClassVar[str] = "calibrant.roster.v1"
    presentation: ClassVar[frozenset[str]] = frozenset({"title"})

    title: Name | None = None
    test_type: Id = "grounding"
    roles: Many[Role]
    boundaries: Many[Boundary] = ()
    adjacent: Many[Couple] = ()

    @model_validator(mode="after")
    def _holds_together(self) -> Roster:
        refuse_each([*_odd_roles(self.roles), *_odd_boundaries(self), *_odd_couples(self)])
        return self

    @property
    def role_ids(self) -> tuple[str, ...]:
        """The ids of the roles, in order."""
        return tuple(role.id for role in self.roles)

    def role(self, name: str) -> Role | None:
        """The role of that id, or None."""
        return next((role for role in self.roles if role.id == name), None)

    def boundary(self, name: str) -> Boundary | None:
        """The boundary of that id, or None."""
        return next((boundary for boundary in self.boundaries if boundary.id == name), None)


def folded_lane(lane: str) -> str:
    """A lane as it compares: without regard to capitals, spaces, and a full stop at its end."""
    return " ".join(normal_name(lane).casefold().split()).rstrip(".")


def _odd_roles(roles: tuple[Role, ...]) -> Iterator[Fault]:
    if not roles:
        yield Fault(("roles",), "no role", "at least one role, with its lane", _ADD_A_LANE)
    yield from _repeated([role.id for role in roles], "the role", lambda at: ("roles", at, "id"))
    lanes: dict[str, Role] = {}
    for index, role in enumerate(roles):
        first = lanes.setdefault(folded_lane(role.lane), role)
        if first.id != role.id:
            found = f"the lane of {quote(first.id)} again, {quote(role.lane)}"
            fix = "Say what the one can know and the other cannot, or make them one role."
            yield Fault(("roles", index, "lane"), found, "a lane of its own for each role", fix)


def _repeated(names: Iterable[str], what: str, at: Any) -> Iterator[Fault]:
    """Each name that stands a second time; ``at`` gives the path of the name at an index."""
    seen: dict[str, int] = {}
    for index, name in enumerate(names):
        if seen.setdefault(name, index) != index:
            yield Fault(at(index), f"{what} {quote(name)} twice", "each once")


def _unknown(name: str, path: tuple[str | int, ...], roles: tuple[str, ...]) -> Fault:
    more = f" or {len(roles) - _MOST_LISTED} others" if len(roles) > _MOST_LISTED else ""
    expected = f"a role of this roster: {one_of(roles[:_MOST_LISTED])}{more}"
    return Fault(path, f"the unknown role {quote(name)}", expected, nearest(name, roles) or "Check its spelling.")


def _odd_boundaries(roster: Roster) -> Iterator[Fault]:
    ids = [boundary.id for boundary in roster.boundaries]
    yield from _repeated(ids, "the boundary", lambda at: ("boundaries", at, "id"))
    listed = tuple(dict.fromkeys(roster.role_ids))
    roles = frozenset(listed)
    for index, boundary in enumerate(roster.boundaries):
        here = ("boundaries", index)
        if boundary.id in RESERVED:
            yield Fault((*here, "id"), f"the boundary {quote(boundary.id)}", "another id: derived ids use this word")
        named = [("owner", boundary.owner), *(("defers", name) for name in boundary.defers)]
        for place, (field, name) in enumerate(named):
            if name not in roles:
                path = (*here, field) if field == "owner" else (*here, field, place - 1)
                yield _unknown(name, path, listed)
        yield from _odd_deferring(boundary, here)
        yield from _odd_grants(boundary, here, listed, roles)


def _odd_deferring(boundary: Boundary, here: tuple[str | int, ...]) -> Iterator[Fault]:
    if not boundary.defers:
        fix = "A matter that nobody hands over belongs into the owner's lane."
        yield Fault((*here, "defers"), "no role that defers", "at least one that hands it to the owner", fix)
    yield from _repeated(boundary.defers, "the role", lambda at: (*here, "defers", at))
    if boundary.owner in boundary.defers:
        found = f"the owner {quote(boundary.owner)} among those that hand it over"
        path = (*here, "defers", boundary.defers.index(boundary.owner))
        yield Fault(path, found, "roles beside the owner", "Take it out of `defers`, or name another owner.")


def _odd_grants(
    boundary: Boundary, here: tuple[str | int, ...], listed: tuple[str, ...], roles: frozenset[str]
) -> Iterator[Fault]:
    names = [grant.role for grant in boundary.grants]
    yield from _repeated(names, "a grant to", lambda at: (*here, "grants", at, "role"))
    for index, name in enumerate(names):
        path = (*here, "grants", index, "role")
        if name not in roles:
            yield _unknown(name, path, listed)
        elif name == boundary.owner:
            found = f"a grant to the owner {quote(name)}"
            yield Fault(path, found, "a role that defers", "Drop it: the owner needs no grant.")
        elif name not in boundary.defers:
            found = f"a grant to {quote(name)}, which does not defer"
            expected = f"one that does: {one_of(boundary.defers[:_MOST_LISTED])}"
            yield Fault(path, found, expected, f"Add {quote(name)} to `defers`, or drop the grant.")


def _odd_couples(roster: Roster) -> Iterator[Fault]:
    seen: dict[tuple[str, str], int] = {}
    listed = tuple(dict.fromkeys(roster.role_ids))
    roles = frozenset(listed)
    for index, couple in enumerate(roster.adjacent):
        if seen.setdefault(couple, index) != index:
            yield Fault(
                ("adjacent", index), f"the neighbours {quote(list(couple))} twice", "each two once, in any order"
            )
        if couple[0] == couple[1]:
            found = f"{quote(couple[0])} beside itself"
            yield Fault(("adjacent", index), found, "two roles whose lanes are easily confused")
        for name in dict.fromkeys(couple):
            if name not in roles:
                yield _unknown(name, ("adjacent", index), listed)
