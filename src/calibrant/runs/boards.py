"""Boards as loaded things: read from the file that a person wrote, or built in Python; checked, content-addressed.

A board file is YAML or JSON with the fields ``schema`` (``calibrant.board.v1``), ``profile``, ``frame``, ``title``,
``seats`` and ``challenges``; or, for a board of any size, JSONL whose first line holds all but the challenges and
whose every further line is a challenge. What people may write more shortly than the records:

- ``profile`` is ``default``, the profile that comes with Calibrant, or the path of a profile file.
- ``context: ../seats/x.md`` on a seat is always the path of a text file; ``context: {text: …}`` is the text itself.
- ``file: path`` in a piece of evidence stands for the ``text`` that is in that file.
- ``capture: [nproc]`` is the command of that argv.
- ``withhold: ID`` on an out-half, beside ``id``, ``half``, ``pair_id`` and ``note`` alone, takes all else from the
  in-half of that id (which may come later), without the evidence that settles it.

Paths start from the folder of the board file and stay within the project.
"""

from __future__ import annotations

import html
import importlib.resources
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal

from calibrant import canonical
from calibrant.errors import InputError, Problem, Where, field_name, quote
from calibrant.records.base import Record, refuse_other_schema
from calibrant.records.board import BoardHeader, Challenge, Seat
from calibrant.records.documents import ENDINGS, decode_line, read_document
from calibrant.records.problems import Lines, no_lines, shown
from calibrant.records.profile import Profile
from calibrant.records.types import Many
from calibrant.runs.assembly import Assembly, Findings, withhold
from calibrant.runs.challenges import Challenges
from calibrant.runs.files import open_input, read_record
from calibrant.runs.project import files_around

__all__ = ["Board", "load_board", "load_profile", "withhold"]

_LINES_ENDINGS: Final = (".jsonl", ".ndjson")
_FRAMES: Final = (
    "`frame: discovery` (the items were picked because they looked bad, so no rate may be quoted) or "
    "`frame: representative` (they were drawn so that a rate may)"
)
_SHOWN: Final = 10


class Head(Record):
    """A board file without its challenges, as it is written."""

    profile: str
    frame: Literal["discovery", "representative"]
    title: str | None = None
    seats: Many[Seat]
    challenges: None = None
    """Read apart; named here so that it is among the known fields."""


@dataclass(frozen=True, eq=False)
class Board:
    """The challenges put to seats, with their profile.

    ``header`` makes the board the board it is; ``folder`` is where its relative paths start from; ``source`` is the
    file that it was read from, if any.
    """

    header: BoardHeader
    profile: Profile
    challenges: Challenges
    folder: Path
    source: Path | None = None
    lines: array[int] | None = None
    seat_lines: Mapping[str, int] = field(default_factory=dict)
    """The lines of the seats, their contexts and pieces of evidence, by field: ``seats[0].evidence[1]``."""

    @classmethod
    def build(
        cls,
        *,
        seats: Iterable[Seat],
        challenges: Iterable[Challenge],
        frame: Literal["discovery", "representative"],
        profile: Profile | str = "default",
        title: str | None = None,
        folder: str | PathLike[str] = ".",
    ) -> Board:
        """A board made in Python, checked as a file is.

        Raises:
            InputError: naming everything that is wrong, by ``challenges[3].half`` and the like.
        """
        known = load_profile(profile, folder) if isinstance(profile, str) else profile
        head = Head(profile=known.id, frame=frame, title=title, seats=tuple(seats))
        _refuse_seats(head, Where())
        assembly = Assembly(known, head.seats, lambda index: Where(field=f"challenges[{index}]"))
        for challenge in challenges:
            assembly.add_built(challenge)
        return _board(head, known, assembly, Where(), Path(folder))

    def digest(self) -> str:
        """The digest of the header, which covers profile, seats and challenges: what the board is known by."""
        return self.header.digest()

    def where(self, index: int) -> Where:
        """The place of the challenge of that index, for a message."""
        file = str(self.source) if self.source is not None else None
        line = self.lines[index] if self.lines is not None else None
        return Where(file, line, f"challenges[{index}]")

    def where_in_seat(self, field: str) -> Where:
        """The place of a field such as ``seats[0].context``, for a message."""
        around = field
        while around and around not in self.seat_lines:
            around = around.rpartition(".")[0]
        return Where(str(self.source) if self.source is not None else None, self.seat_lines.get(around), field)

    def __repr__(self) -> str:
        title = f" {self.header.title!r}" if self.header.title else ""
        return (
            f"<Board{title}: {len(self.challenges)} challenges, {len(self.header.seats)} seats, {self.digest()[:12]}>"
        )

    def _repr_html_(self) -> str:
        """The board as a table, where a notebook shows it."""
        header = self.header
        facts = {
            "title": header.title or "–",
            "digest": self.digest(),
            "profile": self.profile.id,
            "frame": header.frame,
            "seats": ", ".join(seat.id for seat in header.seats),
            "challenges": len(self.challenges),
        }
        rows = "".join(f"<tr><th>{name}</th><td>{html.escape(str(fact))}</td></tr>" for name, fact in facts.items())
        first = "".join(_row(self.challenges[index]) for index in range(min(_SHOWN, len(self.challenges))))
        rest = len(self.challenges) - _SHOWN
        more = f"<p>and {rest} more</p>" if rest > 0 else ""
        names = "".join(f"<th>{name}</th>" for name in ("id", "seat", "test type", "half", "question"))
        return f"<table>{rows}</table><table><tr>{names}</tr>{first}</table>{more}"


def _row(challenge: Challenge) -> str:
    question = challenge.question if len(challenge.question) <= 120 else f"{challenge.question[:119]}…"
    cells = (challenge.id, challenge.seat, challenge.test_type, challenge.half or "–", question)
    return "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>"


def load_profile(name: str | PathLike[str], folder: str | PathLike[str] = ".") -> Profile:
    """The profile ``default``, which comes with Calibrant, or the one in a file (the path starts from ``folder``).

    Raises:
        InputError: naming file, line and field of everything that is wrong.
    """
    return _profile(str(name), Path(folder), None)


def _profile(name: str, folder: Path, where: Where | None) -> Profile:
    if name == "default":
        shipped = importlib.resources.files("calibrant.profiles") / "default.yaml"
        return read_document(shipped.read_bytes(), "default.yaml").record(Profile)
    if not name.lower().endswith(ENDINGS):
        fix = "Name a file, such as ../profiles/house.yaml."
        place = where or Where()
        raise InputError(Problem(f"the profile {quote(name)}", "`default`, or the path of a .yaml file", fix, place))
    path = folder / name
    return read_record(path, Profile, where=where)


def load_board(path: str | PathLike[str], *, profile: Profile | None = None) -> Board:
    """The board in the file at ``path``; ``profile`` stands in for the one that the file names.

    Raises:
        InputError: naming file, line and field of everything that is wrong, the first fifty problems in full.
        MachineError: where the temporary folder does not take a large board.
    """
    path = Path(path)
    ending = path.suffix.lower()
    with open_input(path) as stream:
        reader = _Reader(path, profile)
        if ending in _LINES_ENDINGS:
            return reader.lines(stream)
        if ending in ENDINGS:
            return reader.document(stream.read())
    found = f"a file that ends in {quote(ending)}" if ending else "a file name without an ending"
    raise InputError(Problem(found, "a .yaml, .yml, .json or .jsonl file", where=Where(str(path))))


class _Reader:
    """Reads one board file."""

    def __init__(self, path: Path, profile: Profile | None) -> None:
        folder = path.parent
        self._path, self._file, self._given = path, str(path), profile
        self._beside = files_around(folder, "the board's folder")
        self._lines = array("Q")
        self._seat_lines: dict[str, int] = {}

    def document(self, data: bytes) -> Board:
        """The board in a YAML or JSON file."""
        read = read_document(data, self._file)
        fields = dict(read.fields("a board"))
        challenges = fields.pop("challenges", None)
        head, profile = self._head(fields, Where(self._file, read.lines(())), read.lines)
        if not isinstance(challenges, list):
            found = "no challenges" if challenges is None else shown(challenges)
            raise InputError(Problem(found, "a list of challenges", where=read.where("challenges")))
        assembly = Assembly(profile, head.seats, self._place)
        for index, written in enumerate(challenges):
            self._lines.append(read.lines(("challenges", index)) or 0)
            self._add(assembly, written, _below(read.lines, "challenges", index))
        return self._finish(head, profile, assembly)

    def lines(self, stream: BinaryIO) -> Board:
        """The board in a JSONL file: the head in the first line, a challenge in each further one."""
        numbered = ((number, line) for number, line in enumerate(stream, 1) if not line.isspace())
        number, first = next(numbered, (1, b""))
        if not first:
            raise InputError(Problem("an empty file", "a board", where=Where(self._file)))
        where = Where(self._file, number)
        fields = decode_line(first, where)
        if not isinstance(fields, dict):
            raise InputError(Problem(shown(fields), "a map, all of the board but its challenges", where=where))
        if "challenges" in fields:
            fix = "Write each challenge into a line of its own below, without a list around them."
            place = replace(where, field="challenges")
            raise InputError(Problem("`challenges` in the first line of JSONL", "the other fields alone", fix, place))
        head, profile = self._head(fields, where, _all_in(number))
        assembly = Assembly(profile, head.seats, self._place)
        for number, line in numbered:
            self._lines.append(number)
            self._add_line(assembly, line, Where(self._file, number))
        return self._finish(head, profile, assembly)

    def _add_line(self, assembly: Assembly, line: bytes, where: Where) -> None:
        try:
            written = decode_line(line, where)
        except InputError as refused:
            assembly.findings.add(*refused.problems)
            self._lines.pop()
            return
        self._add(assembly, written, _all_in(where.line))

    def _place(self, index: int) -> Where:
        in_lines = self._path.suffix.lower() in _LINES_ENDINGS
        return Where(self._file, self._lines[index] or None, None if in_lines else f"challenges[{index}]")

    def _add(self, assembly: Assembly, written: Any, lines: Lines) -> None:
        where = self._place(len(assembly))
        if not isinstance(written, dict):
            assembly.add_refused(None, Problem(shown(written), "a map, the fields of a challenge", where=where))
            return
        if "evidence" in written:
            pieces = self._pieces(written["evidence"], where, lines, assembly.findings)
            written = {**written, "evidence": pieces}
        assembly.add(written, lines)

    def _head(self, fields: dict[str, Any], where: Where, lines: Lines) -> tuple[Head, Profile]:
        schema, fields = fields.get("schema"), {name: value for name, value in fields.items() if name != "schema"}
        place = Where(where.file, lines(("schema",)), "schema")
        refuse_other_schema(schema, BoardHeader.schema_name, place)
        findings = Findings()
        seats = fields.get("seats")
        if isinstance(seats, list):
            written = [self._seat(seat, index, where, lines, findings) for index, seat in enumerate(seats)]
            self._seat_lines = dict(_lines_of_seats(seats, lines))
            fields = {**fields, "seats": written}
        head: Head | None = None
        try:
            head = Head.from_dict(fields, where=where, lines=lines)
            _refuse_seats(head, where, lines)
        except InputError as refused:
            findings.add(*(_with_both_frames(problem, fields) for problem in refused.problems))
        findings.refuse_if_any()
        assert head is not None
        place = Where(where.file, lines(("profile",)), "profile")
        return head, self._given or _profile(head.profile, self._path.parent, place)

    def _seat(self, seat: Any, index: int, where: Where, lines: Lines, findings: Findings) -> Any:
        """The seat with the texts that it names in place of their paths."""
        if not isinstance(seat, dict):
            return seat
        below = _below(lines, "seats", index)
        here = Where(where.file, below(()), f"seats[{index}]")
        context = seat.get("context")
        seat = {name: value for name, value in seat.items() if name not in ("context", "evidence")} | {
            "evidence": self._pieces(seat.get("evidence", []), here, below, findings)
        }
        if context is None:
            return seat
        try:
            text = self._context(context, Where(where.file, below(("context",)), f"seats[{index}].context"))
        except InputError as refused:
            findings.add(*refused.problems)
            return seat
        return {**seat, "context": text}

    def _context(self, context: Any, where: Where) -> str:
        if isinstance(context, str):
            try:
                return canonical.decode_utf8(self._beside.read(context, where), where=replace(where, file=context))
            except InputError as refused:
                fix = "To write the prompt itself here, write `context: {text: …}`."
                problems = [p if p.where.file == context else replace(p, fix=fix) for p in refused.problems]
                raise InputError(problems) from None
        if isinstance(context, dict) and set(context) == {"text"} and isinstance(context["text"], str):
            return str(context["text"])
        raise InputError(Problem(shown(context), "the path of a text file, or {text: …}", where=where))

    def _pieces(self, evidence: Any, where: Where, lines: Lines, findings: Findings) -> Any:
        """``evidence`` with the text of each piece that names a file; one whose file is refused is blank."""
        if not isinstance(evidence, list):
            return evidence
        pieces = []
        for index, piece in enumerate(evidence):
            try:
                pieces.append(self._piece(piece, index, where, lines))
            except InputError as refused:
                findings.add(*refused.problems)
                pieces.append({"text": ""})
        return pieces

    def _piece(self, piece: Any, index: int, where: Where, lines: Lines) -> Any:
        if not isinstance(piece, dict) or "file" not in piece:
            return piece
        field = ".".join(part for part in (where.field, f"evidence[{index}].file") if part)
        place = Where(where.file, lines(("evidence", index, "file")) or where.line, field)
        name = piece["file"]
        if not isinstance(name, str):
            raise InputError(Problem(shown(name), "the path of a text file", where=place))
        both = [f"`{other}`" for other in ("text", "capture") if piece.get(other) is not None]
        if both:
            raise InputError(Problem(f"{both[0]} beside `file`", "one of the two", where=place))
        rest = {key: value for key, value in piece.items() if key != "file"}
        return {**rest, "text": _exact_text(self._beside.read(name, place), name, place), "origin": name}

    def _finish(self, head: Head, profile: Profile, assembly: Assembly) -> Board:
        board = _board(head, profile, assembly, Where(self._file), self._path.parent)
        return replace(board, source=self._path, lines=self._lines, seat_lines=self._seat_lines)


def _lines_of_seats(seats: list[Any], lines: Lines) -> Iterator[tuple[str, int]]:
    """The line of each seat, of its context and of each piece of its evidence, by field."""
    for index, seat in enumerate(seats):
        pieces = seat.get("evidence") if isinstance(seat, dict) else None
        count = len(pieces) if isinstance(pieces, list) else 0
        for path in ((), ("context",), *(("evidence", number) for number in range(count))):
            line = lines(("seats", index, *path))
            if line is not None:
                yield field_name(("seats", index, *path)), line


def _exact_text(data: bytes, name: str, where: Where) -> str:
    """Evidence as it is: what a seat holds is never changed, not even its line ends."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        fix = "Give the seat a text that says what is in it."
        raise InputError(Problem(f"{quote(name)}, which is not UTF-8 text", "a text file", fix, where)) from None


def _all_in(line: int | None) -> Lines:
    return lambda _: line


def _below(lines: Lines, *start: str | int) -> Lines:
    return lambda path: lines((*start, *path))


def _with_both_frames(problem: Problem, fields: Mapping[str, Any]) -> Problem:
    """``problem`` as it is; one of the frame with what either frame means."""
    if problem.where.field != "frame":
        return problem
    found = "no `frame`" if fields.get("frame") is None else problem.found
    return Problem(found, _FRAMES, where=problem.where)


def _refuse_seats(head: Head, where: Where, lines: Lines = no_lines) -> None:
    """Refuse a board without a seat, and one with two seats of one id."""
    if not head.seats:
        place = Where(where.file, lines(("seats",)), "seats")
        raise InputError(Problem("no seat", "at least one seat to put the challenges to", where=place))
    seen: dict[str, int] = {}
    for index, seat in enumerate(head.seats):
        first = seen.setdefault(seat.id, index)
        if first != index:
            found = f"the seat {quote(seat.id)} again, first at seats[{first}]"
            place = Where(where.file, lines(("seats", index, "id")), f"seats[{index}].id")
            raise InputError(Problem(found, "each seat once", where=place))


def _board(head: Head, profile: Profile, assembly: Assembly, where: Where, folder: Path) -> Board:
    if not len(assembly):
        assembly.findings.add(
            Problem("an empty board", "at least one challenge", where=replace(where, field="challenges"))
        )
    challenges = assembly.finish()
    fields: Mapping[str, Any] = {
        "profile_sha256": profile.digest(),
        "frame": head.frame,
        "seats": head.seats,
        "challenges": len(challenges),
        "challenges_sha256": challenges.sha256(),
        "title": head.title,
    }
    return Board(BoardHeader.model_validate(fields), profile, challenges, folder)
