"""Derives out-halves: the question of an in-half without the evidence that settles it, where nothing else tells."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from calibrant.errors import InputError, Problem, Where, nearest, quote
from calibrant.grounding.folding import fold, holds_words
from calibrant.grounding.held import title_of
from calibrant.grounding.leak import is_distinctive, stands_in
from calibrant.grounding.match import also_called, read_fact
from calibrant.grounding.tells import Form, doubtful, forms_of
from calibrant.records.board import Challenge, Evidence, Source
from calibrant.records.outcome import Categorical, Set
from calibrant.runs.assembly import withhold
from calibrant.runs.boards import Board
from calibrant.runs.waiting import blocking
from calibrant.units import Unread
from calibrant.world.base import Finding, Question, Raw
from calibrant.world.registry import World

LONGEST_SAID: Final = 32
"""The most characters of a fact that a message gives; of a longer one it says how it starts."""

_AT_ONCE: Final = 8
_ENDINGS: Final = ("-in", ".in", "_in", ":in")


@dataclass(frozen=True, slots=True)
class OutHalf:
    """An out-half that was derived: its id, its pair, its in-half, and what its author should look at."""

    id: str
    pair_id: str
    withhold: str
    index: int
    """The index of its in-half on the board."""
    notes: tuple[str, ...] = ()

    def written(self) -> dict[str, str]:
        """What a board holds of it."""
        return {"id": self.id, "half": "out", "pair_id": self.pair_id, "withhold": self.withhold}


@dataclass(slots=True)
class Withholding:
    """What was derived from a board: the out-halves, and the problems of those that are refused."""

    out_halves: list[OutHalf] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The in-halves whose out-half is wanted, by their index, and what settling them now would run or read."""

    in_halves: Mapping[int, Challenge]
    executes: tuple[str, ...]


class Piece(NamedTuple):
    """Something that an out-half still shows: where it is written (a field), what to call it, its text or source."""

    field: str
    name: str
    text: str | None
    source: Source | None = None


def find_wanted(board: Board, ids: Sequence[str], world: World) -> Wanted:
    """The in-halves of those ids; without any, all that have no out-half yet. Asks nothing.

    Raises:
        InputError: for an id that no challenge has, for one that is no in-half or has its out-half, where nothing is
            left to derive, and for a source that may not be asked.
    """
    paired = {challenge.pair_id for challenge in board.challenges if challenge.half == "out"}
    named = dict.fromkeys(ids)
    found: dict[int, Challenge] = {}
    problems: list[Problem] = []
    for index, challenge in enumerate(board.challenges):
        if named and challenge.id not in named:
            continue
        named.pop(challenge.id, None) if ids else None
        obstacle = _unwanted(challenge, paired)
        if obstacle is None:
            found[index] = challenge
        elif ids:
            problems.append(replace(obstacle, where=board.where(index)))
        if ids and not named:
            break
    problems += [_no_challenge(name, board) for name in named]
    if problems:
        raise InputError(problems)
    if not found:
        expected = "an in-half without its out-half"
        raise InputError(Problem("a board on which every in-half has one", expected, where=_file(board)))
    return Wanted(found, tuple(_executes(board, found, world)))


def _unwanted(challenge: Challenge, paired: set[str | None]) -> Problem | None:
    if challenge.half != "in":
        half = "an out-half" if challenge.half == "out" else "in no pair"
        return Problem(f"{quote(challenge.id)}, which is {half}", "an in-half, whose evidence can be withheld")
    if challenge.pair_id in paired:
        return Problem(f"{quote(challenge.id)}, which has its out-half", "an in-half without one", "Drop that first.")
    return None


def _no_challenge(name: str, board: Board) -> Problem:
    known = [challenge.id for challenge in board.challenges if challenge.half == "in"]
    found = f"the id {quote(name)}, which no challenge of this board has"
    return Problem(found, "the id of an in-half", nearest(name, known) or "Check its spelling.", _file(board))


def _file(board: Board) -> Where:
    return Where(str(board.source) if board.source is not None else None)


def _executes(board: Board, wanted: Mapping[int, Challenge], world: World) -> Iterator[str]:
    """A line for each thing that settling would run or read, each once.

    Raises:
        InputError: for a source that is wrong or not allowed, with its place.
    """
    said: dict[str, None] = {}
    problems: list[Problem] = []
    for index, challenge in wanted.items():
        for name, source in _sources(challenge, board):
            try:
                said.update(dict.fromkeys(world.executes(source, name)))
            except InputError as refused:
                problems += [_at(problem, board, index) for problem in refused.problems]
    if problems:
        raise InputError(problems)
    yield from said


def _sources(challenge: Challenge, board: Board) -> Iterator[tuple[str, Source]]:
    """What has to be asked: what settles the in-half, and each capture that its out-half still shows."""
    if challenge.resolver is not None:
        yield "resolver", challenge.resolver
    for piece in shown(challenge, board):
        if piece.source is not None:
            yield piece.field, piece.source


def shown(challenge: Challenge, board: Board) -> Iterator[Piece]:
    """All that the out-half of this in-half would still show, piece by piece."""
    if challenge.prompt is not None:
        yield Piece("prompt", "the prompt", challenge.prompt)
    for number, turn in enumerate(challenge.turns):
        yield Piece(f"turns[{number}]", f"turn {number + 1}", turn.content)
    seat, index = next((seat, i) for i, seat in enumerate(board.header.seats) if seat.id == challenge.seat)
    yield Piece(f"seats[{index}].context", "the seat's context", seat.context)
    yield from _pieces(seat.evidence, f"seats[{index}].evidence", "the seat's evidence")
    kept = {number: piece for number, piece in enumerate(challenge.evidence) if not piece.settles}
    for number, piece in kept.items():
        yield from _pieces([piece], "evidence", "the evidence that is kept", number)


def _pieces(evidence: Iterable[Evidence], field: str, name: str, start: int = 0) -> Iterator[Piece]:
    for number, piece in enumerate(evidence, start):
        title = title_of(piece)
        if title:
            part = "title" if piece.title is not None else "capture"
            yield Piece(f"{field}[{number}].{part}", f"the title of {name}", title)
        yield Piece(f"{field}[{number}]", f"{name} ({title})" if title else name, piece.text, piece.capture)


def derive_out_halves(board: Board, wanted: Wanted, world: World) -> Withholding:
    """The out-half of each wanted in-half: the same question without the evidence that settles it.

    Each in-half is settled now, and its fact is looked for in all that its out-half would still show (`shown`), in
    captures as they are now. Where it stands there, the out-half is refused.
    """
    found = Withholding()
    names = {challenge.id for challenge in board.challenges}
    said = blocking(_ask(board, wanted, world))
    for index, in_half in wanted.in_halves.items():
        looked = _look(in_half, board, said)
        found.problems += [_at(problem, board, index) for problem in looked.problems]
        if not looked.problems:
            name = _name_for(in_half.id, names)
            withhold(in_half, name)
            names.add(name)
            found.out_halves.append(OutHalf(name, in_half.pair_id or "", in_half.id, index, tuple(looked.notes)))
    return found


async def _ask(board: Board, wanted: Wanted, world: World) -> dict[str, Finding]:
    """What every source says now, by the digest of the source, captures apart from what settles."""
    slots = asyncio.Semaphore(_AT_ONCE)
    asked: dict[str, tuple[Source, Challenge | None]] = {}
    for challenge in wanted.in_halves.values():
        for field_name, source in _sources(challenge, board):
            settles = field_name == "resolver"
            asked.setdefault(_key(source, challenge if settles else None), (source, challenge if settles else None))

    async def one(source: Source, challenge: Challenge | None) -> Finding:
        async with slots:
            if challenge is None:
                return await world.capture(source)
            return await world.resolver(source).resolve(Question(challenge.id, outcome=challenge.outcome))

    findings = await asyncio.gather(*(one(source, challenge) for source, challenge in asked.values()))
    return dict(zip(asked, findings, strict=True))


def _key(source: Source, challenge: Challenge | None) -> str:
    return f"{challenge.id if challenge is not None else ''} {source.digest()}"


@dataclass(slots=True)
class _Looked:
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def _look(in_half: Challenge, board: Board, said: Mapping[str, Finding]) -> _Looked:
    """What stands against deriving this out-half, and what is left to its author to look at."""
    looked = _Looked(list(_without_evidence(in_half)))
    if looked.problems:
        return looked
    assert in_half.resolver is not None
    finding = said[_key(in_half.resolver, in_half)]
    if finding.status == "pending":
        looked.notes.append("its fact is not known yet, so it could not be looked for: look yourself")
        return looked
    value = _value(in_half, finding)
    if isinstance(value, Problem):
        looked.problems.append(value)
        return looked
    _look_for(in_half, value, list(_texts(in_half, board, said, looked)), looked)
    return looked


def _look_for(in_half: Challenge, value: Raw, pieces: Sequence[Piece], looked: _Looked) -> None:
    """Look for a fact in what is still shown; what no search can tell is left to the author."""
    assert in_half.outcome is not None
    together = "\n".join(piece.text or "" for piece in pieces)
    forms = forms_of(in_half.outcome, value, together)
    if not any(map(is_distinctive, forms)):
        looked.notes.append(f"its fact, {_masked(value)}, is not distinctive: look yourself")
        return
    _search(in_half, forms, pieces, together, looked)
    for said in doubtful(in_half.outcome, value, together) if not looked.problems else ():
        looked.notes.append(f"{_masked(said)} is still shown and may be its fact: look yourself")
    _see_whether_it_settles(in_half, value, looked)


def _without_evidence(in_half: Challenge) -> Iterator[Problem]:
    place = Where(field="evidence")
    if in_half.resolver is None or in_half.outcome is None:
        found = f"{quote(in_half.id)}, which nothing settles (no `resolver` or no `outcome`)"
        yield Problem(found, "an in-half of a fact", "Write its out-half yourself.", Where())
    elif not in_half.evidence:
        found = f"{quote(in_half.id)}, which holds no evidence of its own"
        fix = "List the evidence that settles it under `evidence`, or write its out-half yourself."
        yield Problem(found, "evidence that can be withheld", fix, place)
    elif not any(piece.settles for piece in in_half.evidence):
        found = f"{quote(in_half.id)}, whose evidence is all marked `settles: false`"
        yield Problem(found, "evidence that settles it", "Take the mark from the piece that does.", place)


def _value(in_half: Challenge, finding: Finding) -> Raw | Problem:
    """The fact as its source wrote it, or why there is none that can be looked for."""
    assert in_half.outcome is not None
    if finding.status != "fact" or finding.value is None:
        found = f"{quote(in_half.id)}, which is not settled here ({finding.reason or finding.status})"
        fix = "Derive it where its source can be asked."
        return Problem(found, "a fact that can be looked for", fix, Where(field="resolver"))
    read = read_fact(in_half.outcome, finding.value)
    if isinstance(read, Unread):
        found = f"a fact that does not fit the outcome ({read.reason})"
        return Problem(found, f"a fact of the outcome {quote(in_half.outcome.kind)}", None, Where(field="resolver"))
    return finding.value


def _texts(in_half: Challenge, board: Board, said: Mapping[str, Finding], looked: _Looked) -> Iterator[Piece]:
    """Each piece that is still shown with its text, captures as they are now; one that could not be taken is noted."""
    for piece in shown(in_half, board):
        if piece.source is None:
            yield piece
            continue
        captured = said[_key(piece.source, None)]
        if captured.status == "fact" and captured.evidence:
            yield piece._replace(text=captured.evidence[0].decode("utf-8", "replace"))
            continue
        why = captured.reason or captured.status
        looked.notes.append(f"{piece.name} could not be taken now ({why}), so it was not searched: look yourself")


def _search(in_half: Challenge, facts: Sequence[Form], pieces: Sequence[Piece], together: str, looked: _Looked) -> None:
    """Look for the fact in each piece that is still shown, then in all of them together."""
    for piece in pieces:
        _hold(in_half, facts, piece, looked)
    if not looked.problems and not looked.notes:
        _hold(in_half, facts, Piece("", "what is still shown, taken together", together), looked)


def _hold(in_half: Challenge, facts: Sequence[Form], piece: Piece, looked: _Looked) -> None:
    text = piece.text or ""
    fact = next((fact for fact in facts if stands_in(fact, text)), None)
    if fact is None:
        return
    others = _other_choices(in_half, fact)
    if others is not None:
        if not any(holds_words(text, form) for other in others for form in other):
            looked.notes.append(
                f"its fact is one of the answers to choose from and stands in {piece.name}: look yourself"
            )
        return
    found = f"the fact {_masked(fact)} of {quote(in_half.id)} in {piece.name}"
    expected = "an out-half in which nothing gives the fact away"
    looked.problems.append(Problem(found, expected, _fix(piece.field), Where(field=piece.field or None)))


def _fix(field: str) -> str:
    if field.startswith("seats") and "evidence" in field:
        return "A seat's evidence is shown in both halves: move it to the evidence of the in-half."
    if field.startswith("evidence"):
        return "Take `settles: false` from it: it settles the question."
    return "Take it out there, or ask for a fact that does not stand there."


def _other_choices(in_half: Challenge, fact: Form) -> list[tuple[str, ...]] | None:
    """Where the question lists the answers to choose from, and the fact is one of them: the others, in each form."""
    outcome = in_half.outcome
    listed = outcome.values if isinstance(outcome, Categorical | Set) else ()
    assert outcome is not None
    called = [(value, *also_called(outcome, value)) for value in listed]
    members = {fold(str(member)) for member in (fact if isinstance(fact, list) else [fact])}
    others = [forms for forms in called if members.isdisjoint(map(fold, forms))]
    return others if len(others) + len(members) == len(listed) else None


def _see_whether_it_settles(in_half: Challenge, value: Raw, looked: _Looked) -> None:
    withheld = [piece for piece in in_half.evidence if piece.settles]
    texts = [piece.text for piece in withheld if piece.text is not None]
    forms = forms_of(in_half.outcome, value, "\n".join(texts))
    if len(texts) == len(withheld) and not any(stands_in(form, text) for form in forms for text in texts):
        looked.notes.append(
            "its fact does not stand word for word in the evidence that is withheld: does it settle it?"
        )


def _masked(fact: Form) -> str:
    """The fact as a message may give it: how it starts, where it is long."""
    text = ("yes" if fact else "no") if isinstance(fact, bool) else str(fact)
    if len(text) <= LONGEST_SAID:
        return quote(text)
    return f"{quote(text[:12])}… ({len(text)} characters)"


def _name_for(name: str, taken: set[str]) -> str:
    """The id of the out-half: that of the in-half with ``out`` in place of ``in``, and a number where it is taken."""
    stem = name[:-2] if name.endswith(_ENDINGS) else f"{name}-"
    wanted, number = f"{stem[:190]}out", 2
    while wanted in taken:
        wanted, number = f"{stem[:190]}out-{number}", number + 1
    return wanted


def _at(problem: Problem, board: Board, index: int) -> Problem:
    """``problem`` of the challenge of that index, or of a seat, whose field is whole already."""
    place, field_name = board.where(index), problem.where.field
    if field_name is not None and field_name.startswith("seats["):
        return replace(problem, where=board.where_in_seat(field_name))
    inner = ".".join(part for part in (place.field, field_name) if part) or None
    return replace(problem, where=Where(place.file, place.line, inner))
