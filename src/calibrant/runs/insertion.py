"""Adds challenges to the file of a board as somebody wrote it: comments, order and line ends stay as they are."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from calibrant.errors import InputError, Problem, Where
from calibrant.records.documents import read_document
from calibrant.runs.scalars import scalar

_DASH: Final = re.compile(r"(?P<indent> *)-(?P<gap> +)\S")
_WIDTH: Final = 120
_LINES: Final = (".jsonl", ".ndjson")


def insert(data: bytes, path: Path, added: Mapping[int, Mapping[str, str]], lines: Sequence[int]) -> bytes:
    """The board file ``data`` with each challenge of ``added`` behind the challenge of that index.

    ``lines`` are the lines of the challenges, from 1. Everything else keeps its bytes; JSON is indented anew.

    Raises:
        InputError: where the challenges do not stand one below the other, so that nothing can be put between them.
    """
    ending = path.suffix.lower()
    if ending in _LINES:
        return _into_lines(data, {lines[index]: fields for index, fields in added.items()})
    if ending == ".json":
        return _into_json(data, added)
    text = data.decode("utf-8")
    changed = _into_yaml(text, path, {lines[index]: fields for index, fields in added.items()})
    _refuse_changed(text, changed, path, added)
    return changed.encode("utf-8")


def snippet(fields: Mapping[str, str], indent: str = "  ", gap: str = " ") -> str:
    """A challenge as a member of a list in YAML, in one line where that is short; lines end with a line feed."""
    rows = [f"{name}: {scalar(value)}" for name, value in fields.items()]
    line = f"{indent}-{gap}{{{', '.join(rows)}}}\n"
    if len(line) <= _WIDTH:
        return line
    starts = [f"{indent}-{gap}", *([f"{indent} {' ' * len(gap)}"] * (len(rows) - 1))]
    return "".join(f"{start}{row}\n" for start, row in zip(starts, rows, strict=True))


def _into_lines(data: bytes, added: Mapping[int, Mapping[str, str]]) -> bytes:
    out: list[bytes] = []
    for number, line in enumerate(io.BytesIO(data), 1):
        out.append(line)
        if number in added:
            end = b"\r\n" if line.endswith(b"\r\n") else b"\n"
            if not line.endswith(b"\n"):
                out.append(end)
            out.append(json.dumps(added[number], ensure_ascii=False).encode() + end)
    return b"".join(out)


def _into_json(data: bytes, added: Mapping[int, Mapping[str, str]]) -> bytes:
    value = json.loads(data.decode("utf-8-sig"))
    value["challenges"] = _with(value["challenges"], added)
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


def _with(challenges: Sequence[Any], added: Mapping[int, Any]) -> list[Any]:
    together: list[Any] = []
    for index, challenge in enumerate(challenges):
        together.append(challenge)
        if index in added:
            together.append(dict(added[index]))
    return together


def _into_yaml(text: str, path: Path, added: Mapping[int, Mapping[str, str]]) -> str:
    rows = text.split("\n")
    for line in sorted(added, reverse=True):
        found = _DASH.match(rows[line - 1]) if line else None
        if found is None:
            raise InputError(_not_below_each_other(path, line))
        end = _end_of(rows, line, len(found["indent"]))
        mark = "\r" if rows[line - 1].endswith("\r") else ""
        new = snippet(added[line], found["indent"], found["gap"]).splitlines()
        rows[end:end] = [f"{row}{mark}" for row in new]
        if end == len(rows) - len(new):  # the file did not end with a line end
            rows.append("")
    return "\n".join(rows)


def _end_of(rows: list[str], line: int, indent: int) -> int:
    """The index behind the last row of the member of a list that begins at ``line``, whose dash is so far in.

    Blank rows, and comments that stand no further in than the dash, belong to what comes next.
    """
    end = line
    for index in range(line, len(rows)):
        row = rows[index].rstrip()
        depth = len(row) - len(row.lstrip(" "))
        if row and depth > indent:
            end = index + 1
        elif row and not row.lstrip().startswith("#"):
            break
    return end


def _refuse_changed(before: str, after: str, path: Path, added: Mapping[int, Mapping[str, str]]) -> None:
    """Refuse what does not read as the same board with the challenges that were added."""
    old, new = (read_document(text.encode("utf-8"), str(path)).value for text in (before, after))
    if new != {**old, "challenges": _with(old["challenges"], added)}:
        raise InputError(_not_below_each_other(path, None))


def _not_below_each_other(path: Path, line: int | None) -> Problem:
    found = "challenges between which nothing can be put without changing the file"
    fix = "Print what is derived (without --out), and paste it."
    return Problem(found, "a list of challenges below each other, each with its dash", fix, Where(str(path), line))
