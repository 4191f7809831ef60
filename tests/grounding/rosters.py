"""Generators of rosters, and a small one."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from calibrant.records.roster import Roster

SMALL: dict[str, Any] = {
    "schema": "calibrant.roster.v1",
    "title": "A small team",
    "roles": [
        {"id": "sysadmin", "lane": "the current state of a running system"},
        {"id": "platform", "lane": "what an interface guarantees"},
        {"id": "science", "lane": "what a measurement will show"},
    ],
    "boundaries": [
        {
            "id": "guarantees",
            "matter": "what a library promises",
            "owner": "platform",
            "defers": ["sysadmin", "science"],
            "grants": [{"role": "sysadmin", "scope": "which version is installed here"}],
        }
    ],
    "adjacent": [["sysadmin", "platform"]],
}


def small(**changed: Any) -> Roster:
    return Roster.from_dict({**SMALL, **changed})


_names = st.text("abcdefghijé0_@+-", min_size=1, max_size=6).filter(lambda text: text[0] not in "@+-")


@st.composite
def rosters(draw: st.DrawFn) -> dict[str, Any]:
    """The fields of any sound roster of up to six roles."""
    ids = draw(st.lists(_names, min_size=1, max_size=6, unique=True))
    roles = [{"id": name, "lane": f"the lane of {number}"} for number, name in enumerate(ids)]
    couples = [[a, b] for i, a in enumerate(ids) for b in ids[i + 1 :]]
    adjacent = draw(st.lists(st.sampled_from(couples), unique_by=tuple, max_size=5)) if couples else []
    boundaries = []
    if len(ids) > 1:
        reserved = ("lane", "beside", "granted")
        for name in draw(st.lists(_names.filter(lambda text: text not in reserved), max_size=3, unique=True)):
            owner, *others = draw(st.permutations(ids))
            defers = others[: draw(st.integers(1, len(others)))]
            granted = defers[: draw(st.integers(0, len(defers)))]
            grants = [{"role": role, "scope": f"the scope of {role}"} for role in granted]
            boundary = {"id": name, "matter": f"matter {name}", "owner": owner, "defers": defers, "grants": grants}
            boundaries.append(boundary)
    fields = {"schema": "calibrant.roster.v1", "roles": roles, "boundaries": boundaries, "adjacent": adjacent}
    return draw(st.just(fields))


def shuffled(draw: st.DrawFn, fields: dict[str, Any]) -> dict[str, Any]:
    """The same roster in another order."""
    boundaries = [
        {**b, "defers": draw(st.permutations(b["defers"])), "grants": draw(st.permutations(b["grants"]))}
        for b in draw(st.permutations(fields["boundaries"]))
    ]
    adjacent = [draw(st.permutations(couple)) for couple in draw(st.permutations(fields["adjacent"]))]
    return {
        **fields,
        "roles": draw(st.permutations(fields["roles"])),
        "boundaries": boundaries,
        "adjacent": adjacent,
    }
