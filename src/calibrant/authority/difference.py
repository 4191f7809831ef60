"""What moved, readably: from two digests to the fields and the words that differ, as deep as the texts are kept."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from calibrant.errors import InputError, quote
from calibrant.records.base import Record, read_stored

Kept: TypeAlias = Callable[[str], bytes | None]
"""Gives the bytes that were kept under a digest, or None where they were not."""

_WORD: Final = re.compile(r"\s+|\w+|[^\w\s]")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_MOST_LINES: Final = 40
_DEEPEST: Final = 8
_MOST_COMPARED: Final = 500_000
_MOST_COMPARED_EXACTLY: Final = 20_000


def difference(blessed: str, current: str, kept: Kept, path: str = "") -> tuple[str, ...]:
    """What moved between the artifacts of two digests, in lines for people; a long list is cut and counted.

    A record is compared field by field; where a field is a digest, what it names is compared in turn, so that a
    changed word in a prompt is shown and not only the digest that it moved. Changed words stand as ``[-old-]`` and
    ``{+new+}``; ``path`` is the field that the digests stand in.
    """
    return _cut(_between(blessed, current, kept, path, _DEEPEST))


def changes(before: Record, after: Record, kept: Kept) -> tuple[str, ...]:
    """What moved between two records of one kind, as `difference` says it."""
    return _cut(_of_fields(before.to_dict(), after.to_dict(), kept, "", _DEEPEST))


def _cut(lines: Iterable[str]) -> tuple[str, ...]:
    listed = list(lines)
    more = len(listed) - _MOST_LINES
    return (*listed[:_MOST_LINES], f"and {more} more") if more > 0 else tuple(listed)


def _between(blessed: str, current: str, kept: Kept, path: str, depth: int) -> Iterator[str]:
    old, new = kept(blessed), kept(current)
    if old is None or new is None:
        gone = " and ".join(name for name, data in (("blessed", old), ("current", new)) if data is None)
        yield f"{_at(path)}{blessed[:12]}… → {current[:12]}… (the {gone} text was not kept, so no words can be shown)"
        return
    before, after = _fields(old), _fields(new)
    if before is None or after is None:
        yield from (f"{_at(path)}{line}" for line in words_changed(_text(old), _text(new)))
        return
    yield from _of_fields(before, after, kept, path, depth)


def _of_fields(before: Mapping[str, Any], after: Mapping[str, Any], kept: Kept, path: str, depth: int) -> Iterator[str]:
    for name in sorted(before.keys() | after.keys()):
        yield from _of_values(before.get(name), after.get(name), kept, f"{path}.{name}" if path else name, depth)


def _of_values(old: Any, new: Any, kept: Kept, path: str, depth: int) -> Iterator[str]:
    if old == new and type(old) is type(new):
        return
    if depth and _is_digest(old) and _is_digest(new):
        yield from _between(old, new, kept, path, depth - 1)
    elif depth and isinstance(old, dict) and isinstance(new, dict):
        yield from _of_fields(old, new, kept, path, depth - 1)
    elif depth and isinstance(old, list) and isinstance(new, list) and _are_long(old, new):
        yield from _of_lists(old, new, kept, path, depth - 1)
    else:
        yield f"{path}: {_shown(old)} → {_shown(new)}"


def _of_lists(old: list[Any], new: list[Any], kept: Kept, path: str, depth: int) -> Iterator[str]:
    """Entry by entry, where there are as many; else how many there are, and the first that differs."""
    if len(old) != len(new):
        first = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
        yield f"{path}: {len(old)} entries → {len(new)}; the first that differs is [{first}]"
        return
    for number, (before, after) in enumerate(zip(old, new, strict=True)):
        yield from _of_values(before, after, kept, f"{path}[{number}]", depth)


def _are_long(*lists: list[Any]) -> bool:
    """Whether lists are better compared than shown: of records, of digests, or of more than a line holds."""
    return any(
        len(entries) > 8 or any(isinstance(e, dict | list) or _is_digest(e) for e in entries) for entries in lists
    )


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def words_changed(old: str, new: str) -> Iterator[str]:
    """The lines that differ between two texts, with the words that changed marked; a long list is cut and counted."""
    changed = list(_changed_lines(old.splitlines(), new.splitlines()))
    for number, before, after in changed[:_MOST_LINES]:
        yield f"line {number}: {_marked(before, after)}"
    if len(changed) > _MOST_LINES:
        yield f"and {len(changed) - _MOST_LINES} more lines"
    if not changed:
        yield "only the ends of lines or the end of the text differ"


def _changed_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Each line that differs: its number, and what it was and is; a line that is gone is numbered as it was."""
    for i, j, k, m in _replaced(old, new):
        if j - i == m - k:
            lines = zip(range(k + 1, m + 1), old[i:j], new[k:m], strict=True)
            yield from (line for line in lines if line[1] != line[2])
        else:
            yield from ((i + n, line, "") for n, line in enumerate(old[i:j], 1))
            yield from ((k + n, "", line) for n, line in enumerate(new[k:m], 1))


def _marked(old: str, new: str) -> str:
    """One line with its changed words marked, a few words around them."""
    before, after = _WORD.findall(old), _WORD.findall(new)
    parts: list[str] = []
    done = 0
    for i, j, k, m in _replaced(before, after):
        gone, come = _shortened("".join(before[i:j])), _shortened("".join(after[k:m]))
        parts.append(_shortened("".join(before[done:i])))
        parts.append((f"[-{gone}-]" if gone else "") + (f"{{+{come}+}}" if come else ""))
        done = j
    return "".join((*parts, _shortened("".join(before[done:]))))


def _replaced(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """What of ``old`` (from, to) stands in ``new`` (from, to) as something else.

    Between a common beginning and a common end, texts are compared piece by piece only as far as that is quick:
    somebody else wrote them.
    """
    shorter = min(len(old), len(new))
    start = next((n for n in range(shorter) if old[n] != new[n]), shorter)
    end = next((n for n in range(shorter - start) if old[-1 - n] != new[-1 - n]), shorter - start)
    before, after = old[start : len(old) - end], new[start : len(new) - end]
    size = len(before) * len(after)
    if size > _MOST_COMPARED:
        yield start, len(old) - end, start, len(new) - end
        return
    exactly = size <= _MOST_COMPARED_EXACTLY
    for kind, i, j, k, m in difflib.SequenceMatcher(None, before, after, autojunk=not exactly).get_opcodes():
        if kind != "equal":
            yield start + i, start + j, start + k, start + m


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
