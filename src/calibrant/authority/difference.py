"""What moved, readably: from two digests to the fields and the words that differ, as deep as the texts are kept."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from calibrant.errors import InputError, quote
from calibrant.records.base import read_stored

Kept: TypeAlias = Callable[[str], bytes | None]
"""Gives the bytes that were kept under a digest, or None where they were not."""

_WORD: Final = re.compile(r"\s+|\w+|[^\w\s]")
_MOST_LINES: Final = 40
_DEEPEST: Final = 8


def difference(blessed: str, current: str, kept: Kept) -> tuple[str, ...]:
    """What moved between the artifacts of two digests, in lines for people.

    A record is compared field by field; where a field is a digest, what it names is compared in turn, so that a
    changed word in a prompt is shown and not only the digest that it moved. Changed words stand as ``[-old-]`` and
    ``{+new+}``.
    """
    return tuple(_between(blessed, current, kept, "", _DEEPEST))


def _between(blessed: str, current: str, kept: Kept, path: str, depth: int) -> Iterator[str]:
    old, new = kept(blessed), kept(current)
    if old is None or new is None:
        missing = " and ".join(name for name, data in (("the blessed", old), ("the current", new)) if data is None)
        yield f"{_at(path)}{blessed[:12]}… → {current[:12]}… ({missing} text was not kept, so no words can be shown)"
        return
    before, after = _fields(old), _fields(new)
    if before is None or after is None:
        yield from (f"{_at(path)}{line}" for line in words_changed(_text(old), _text(new)))
        return
    yield from _of_fields(before, after, kept, path, depth)


def _of_fields(before: Mapping[str, Any], after: Mapping[str, Any], kept: Kept, path: str, depth: int) -> Iterator[str]:
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        here = f"{path}.{name}" if path else name
        if depth and name.endswith("_sha256") and isinstance(old, str) and isinstance(new, str):
            yield from _between(old, new, kept, here, depth - 1)
        elif depth and isinstance(old, dict) and isinstance(new, dict):
            yield from _of_fields(old, new, kept, here, depth - 1)
        else:
            yield f"{here}: {_shown(old)} → {_shown(new)}"


def words_changed(old: str, new: str) -> Iterator[str]:
    """The lines that differ between two texts, with the words that changed marked; a long list is cut and counted."""
    lines = list(_changed_lines(old.splitlines(), new.splitlines()))
    yield from lines[:_MOST_LINES]
    if len(lines) > _MOST_LINES:
        yield f"and {len(lines) - _MOST_LINES} more lines"
    if not lines:
        yield "only the ends of lines or the end of the text differ"


def _changed_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for kind, i, j, k, m in matcher.get_opcodes():
        if kind == "equal":
            continue
        if kind == "replace" and j - i == m - k:
            yield from (
                f"line {number}: {_marked(before, after)}"
                for number, before, after in zip(range(k + 1, m + 1), old[i:j], new[k:m], strict=True)
                if before != after
            )
        else:
            yield from (f"line {i + n}: [-{line}-]" for n, line in enumerate(old[i:j], 1))
            yield from (f"line {k + n}: {{+{line}+}}" for n, line in enumerate(new[k:m], 1))


def _marked(old: str, new: str) -> str:
    """One line with its changed words marked, a few words around them."""
    before, after = _WORD.findall(old), _WORD.findall(new)
    parts: list[str] = []
    for kind, i, j, k, m in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            parts.append(_shortened("".join(before[i:j])))
            continue
        gone, come = "".join(before[i:j]), "".join(after[k:m])
        parts.append((f"[-{gone}-]" if gone else "") + (f"{{+{come}+}}" if come else ""))
    return "".join(parts)


def _shortened(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:35]} … {text[-35:]}"


def _fields(data: bytes) -> Mapping[str, Any] | None:
    """The fields of a kept record; None for a text."""
    if not data.startswith(b"{"):
        return None
    try:
        value = read_stored(data)
    except (ValueError, InputError):
        return None
    return value if isinstance(value, dict) and "schema" in value else None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _at(path: str) -> str:
    return f"{path}: " if path else ""


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    return quote(value) if not isinstance(value, bool) else str(value).lower()
