"""Writes the outline of a board in the form that people edit: all that is derived, and a comment at each gap."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import Final

from calibrant.grounding.roster import Case, Derived
from calibrant.records.board import BoardHeader
from calibrant.records.roster import Role, Roster
from calibrant.runs.scalars import quoted, scalar

_WIDTH: Final = 110
_EXAMPLES: Final = (
    ("outcome", "what kind of fact it is, such as {kind: number, unit: count} or {kind: text}"),
    ("resolver", "what settles it, such as {kind: command, argv: [nproc], read: integer}"),
)


def outline(roster: Roster, cases: Iterable[Case], profile: str | None = "default") -> str:
    """A board in YAML with every seat of ``roster`` and both halves of every case, but for what has to be written.

    `load_board` names every place that is still empty, with its line. ``profile`` is what stands under ``profile``;
    None leaves that to be written too.
    """
    cases = tuple(cases)
    return "\n".join([*_head(roster, cases, profile), *_seats(roster, cases), *_challenges(cases)]) + "\n"


def _head(roster: Roster, cases: tuple[Case, ...], profile: str | None) -> Iterator[str]:
    name = f" for the roster {quoted(roster.title)}" if roster.title else ""
    pairs = "1 pair" if len(cases) == 1 else f"{len(cases)} pairs"
    yield from _comment(
        f"The outline of a board{name}: {pairs}. Fill in what is empty; the comments say what to write."
    )
    yield f"schema: {BoardHeader.schema_name}"
    yield "profile:  # the path of the profile file" if profile is None else f"profile: {scalar(profile)}"
    yield "frame:  # discovery: the items were picked; representative: they were drawn so that a rate may be quoted"
    if roster.title:
        yield f"title: {quoted(roster.title)}"


def _seats(roster: Roster, cases: tuple[Case, ...]) -> Iterator[str]:
    wanted = {case.seat for case in cases}
    yield "seats:"
    for role in sorted(roster.roles, key=lambda role: role.id):
        if role.id in wanted:
            yield from _seat(role)


def _seat(role: Role) -> Iterator[str]:
    yield f"  - id: {scalar(role.id)}"
    if role.name is not None:
        yield f"    name: {quoted(role.name)}"
    yield f"    lane: {quoted(role.lane)}"
    if role.purpose is not None:
        yield f"    purpose: {quoted(role.purpose)}"
    yield f"    # context: {scalar(f'seats/{role.id}.md')}  (the file of its system prompt, from this folder)"


def _challenges(cases: tuple[Case, ...]) -> Iterator[str]:
    yield "challenges:"
    for case in cases:
        yield ""
        yield from _comment(f"{case.pair_id}: {case.why}.", "  ")
        yield from _half(case, case.in_half)
        if "withheld" in case.out_half.settled_by:
            yield from _withheld(case)
        else:
            yield from _half(case, case.out_half)


def _half(case: Case, half: Derived) -> Iterator[str]:
    fields = {
        "id": half.id,
        "seat": case.seat,
        "test_type": case.test_type,
        "attribute": case.attribute,
        "half": half.half,
        "pair_id": case.pair_id,
    }
    for number, (name, value) in enumerate(fields.items()):
        yield f"  {'-' if number == 0 else ' '} {name}: {scalar(value)}"
    yield from _comment(f"{half.half}-half: {half.write}.", "    ")
    yield "    prompt:"
    if not case.stated:
        yield "    target:  # what passing means, for whoever grades it"
        return
    if half.half == "in":
        yield "    evidence:"
        yield "      - text:  # what settles it; or `file: PATH`, or `capture: [PROGRAM, ARGUMENT]`"
    for name, example in _EXAMPLES:
        if name == "resolver" and half.half == "out":
            yield from _other_lane(case)
        else:
            yield f"    {name}:  # {example}"


def _other_lane(case: Case) -> Iterator[str]:
    yield "    resolver:"
    yield "      kind: other-lane"
    yield f"      owner: {scalar(case.owner or '')}"
    yield f"      reason: {quoted(case.why)}"


def _withheld(case: Case) -> Iterator[str]:
    yield f"  - id: {scalar(case.out_half.id)}"
    yield "    half: out"
    yield f"    pair_id: {scalar(case.pair_id)}"
    others = [f"`{way}`" for way in case.out_half.settled_by if way != "withheld"]
    yield from _comment(
        f"out-half: {case.out_half.write}. In place of `withhold` it can be written out, settled by"
        f" {' or '.join(others)}.",
        "    ",
    )
    yield f"    withhold: {scalar(case.in_half.id)}"


def _comment(text: str, indent: str = "") -> list[str]:
    """``text`` as lines of comment that nothing in it can leave."""
    start = f"{indent}# "
    return textwrap.wrap(
        _printable(text), _WIDTH, initial_indent=start, subsequent_indent=start, break_on_hyphens=False
    )


def _printable(text: str) -> str:
    line = " ".join(text.split())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
