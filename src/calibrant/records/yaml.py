"""YAML 1.2 as plain values and their lines: ruamel.yaml's parser for the form, the core schema for the meaning."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamStartEvent,
)
from ruamel.yaml.reader import Reader
from ruamel.yaml.scanner import Scanner
from ruamel.yaml.tokens import ScalarToken

from calibrant.canonical import MAX_DEPTH, MAX_INTEGER
from calibrant.errors import InputError, Problem, Where, field_name, quote
from calibrant.records.spots import Spot, too_deep, twice
from calibrant.records.yamlwords import in_plain_words

MOST_ALIASED: Final = 100_000
"""How many values the aliases of one document may repeat in all."""

_CORE = "tag:yaml.org,2002:"
_UNPRINTABLE = re.compile("[^\t\n\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_OTHER_BREAKS = "\x85\u2028\u2029"

_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_BOOLEAN = {word: value for value in (True, False) for word in (str(value), str(value).lower(), str(value).upper())}
_NUMBER_START = frozenset("+-.0123456789")
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]")
_QUOTED = {'"': re.compile(r'"([^"\\\n\0]*)"'), "'": re.compile(r"'([^'\n\0]*)'(?!')")}
_WORD = r"(?:[^ \t\n\0:#]|:(?![ \t\n\0]))(?:[^ \t\n\0:]|:(?![ \t\n\0]))*"
_PLAIN = re.compile(rf"({_WORD}(?: +{_WORD})*)")
_BEHIND_PLAIN = re.compile(r" *(?: #|:[ \t\n\0]|\0|\n(?: *\n)*( *)(.))", re.DOTALL)
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


def read_yaml(text: str, file: str) -> tuple[Any, Spot]:
    """The value of the one document in ``text`` (line ends LF, no byte-order mark) and the lines of its parts.

    Raises:
        InputError: at its line, for anything that is not YAML, that two readers would read differently, or that
            JSON cannot carry.
    """
    _refuse_unprintable(text, file)
    hidden = _hide_other_breaks(text)
    try:
        return _Builder(hidden.text, file, hidden.back).document()
    except MarkedYAMLError as broken:
        raise InputError(in_plain_words(broken, file)) from None
    except YAMLError as broken:
        raise InputError(Problem(quote(str(broken)), "YAML", where=Where(file))) from None


def _refuse_unprintable(text: str, file: str) -> None:
    bad = _UNPRINTABLE.search(text)
    if bad is None:
        return
    at, code = bad.start(), ord(bad[0])
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    fix = f'Drop it, or write it as "\\x{code:02x}" in double quotes.' if code < 256 else "Drop it."
    found = f"the control character U+{code:04X} (column {column})"
    raise InputError(Problem(found, "printable text", fix, Where(file, line)))


@dataclass(frozen=True, slots=True)
class _Hidden:
    text: str
    back: dict[int, int]


def _hide_other_breaks(text: str) -> _Hidden:
    """``text`` with U+0085, U+2028 and U+2029 as private characters: text in YAML 1.2, breaks to the parser."""
    there = [c for c in _OTHER_BREAKS if c in text]
    private = (chr(code) for code in range(0xF0000, 0xFFFFD) if chr(code) not in text)
    hide = dict(zip(map(ord, there), map(ord, private), strict=False)) if there else {}
    return _Hidden(text.translate(hide) if hide else text, {new: old for old, new in hide.items()})


class _Reader(Reader):
    """ruamel.yaml's reader over text that is whole and has LF alone as line end, without its loop over characters."""

    def forward(self, length: int = 1) -> None:
        start = self.pointer
        self.pointer = end = min(start + length, len(self.buffer))
        self.index += length
        breaks = self.buffer.count("\n", start, end)
        if breaks:
            self.line += breaks
            self.column = end - self.buffer.rfind("\n", start, end) - 1
        else:
            self.column += length


class _Scanner(Scanner):
    """ruamel.yaml's scanner, but a text that stands in one line is taken in one step, not character by character."""

    def scan_flow_scalar(self, style: Any) -> Any:
        match = _QUOTED[style].match(self.reader.buffer, self.reader.pointer)
        return super().scan_flow_scalar(style) if match is None else self._taken(match, plain=False, style=style)

    def scan_plain(self) -> Any:
        match = None if self.flow_level else _PLAIN.match(self.reader.buffer, self.reader.pointer)
        if match is None or not self._ends_with(match.end()):
            return super().scan_plain()
        self.allow_simple_key = False
        return self._taken(match, plain=True)

    def _ends_with(self, line: int) -> bool:
        """Whether a plain text ends where its words in this line do, and is not continued in the next one."""
        rest = _BEHIND_PLAIN.match(self.reader.buffer, line)
        return rest is not None and (rest[1] is None or len(rest[1]) <= self.indent or rest[2] == "\0")

    def _taken(self, match: re.Match[str], *, plain: bool, style: Any = None) -> ScalarToken:
        start = self.reader.get_mark()
        self.reader.forward(match.end() - match.start())
        return ScalarToken(match[1], plain, start, self.reader.get_mark(), style)


@dataclass(slots=True)
class _Node:
    """A value with its spot, how many values it holds with itself, and how deeply they are nested."""

    value: Any
    spot: Spot
    size: int = 1
    height: int = 0


class _Builder:
    """Builds the value of one document from the events of the parser."""

    def __init__(self, text: str, file: str, back: dict[int, int]) -> None:
        parser = YAML(typ="safe", pure=True)
        parser.Reader = _Reader
        parser.Scanner = _Scanner
        self._events: Iterator[Event] = parser.parse(text)
        self._file, self._back = file, back
        self._anchors: dict[str, _Node | None] = {}
        self._aliased = 0
        self._path: list[str | int] = []

    def document(self) -> tuple[Any, Spot]:
        start = next(event for event in self._events if not isinstance(event, StreamStartEvent))
        if not isinstance(start, DocumentStartEvent):
            self._refuse(start, "a file without a value", "a document")
        if start.version not in (None, (1, 2)):
            said = ".".join(map(str, start.version))
            self._refuse(start, f"YAML {said}", "YAML 1.2", "Drop the %YAML line: `no` and `on` are text here.")
        node = self._node(next(self._events))
        next(self._events)
        after = next(self._events)
        if isinstance(after, DocumentStartEvent):
            self._refuse(after, "a second document", "one document in a file", "Drop the line `---` and what follows.")
        return node.value, node.spot

    def _refuse(self, event: Event, found: str, expected: str, fix: str | None = None) -> NoReturn:
        raise InputError(Problem(found, expected, fix, self._where(event)))

    def _where(self, event: Event) -> Where:
        return Where(self._file, event.start_mark.line + 1, field_name(tuple(self._path)) or None)

    def _node(self, event: Event) -> _Node:
        if isinstance(event, ScalarEvent):
            node = _Node(self._scalar(event), Spot(event.start_mark.line + 1))
        elif isinstance(event, AliasEvent):
            return self._alias(event)
        else:
            assert isinstance(event, MappingStartEvent | SequenceStartEvent)
            node = self._collection(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _alias(self, event: AliasEvent) -> _Node:
        name = quote(f"*{event.anchor}")
        if event.anchor not in self._anchors:
            fix = "Quote it, if the asterisk is meant as text."
            self._refuse(event, f"the alias {name}, which no anchor above it has", "a known alias", fix)
        known = self._anchors[event.anchor]
        if known is None:
            self._refuse(event, f"the alias {name} inside of what it stands for", "a value that does not hold itself")
        self._aliased += known.size
        if self._aliased > MOST_ALIASED:
            self._refuse(
                event, f"aliases that repeat more than {MOST_ALIASED} values", "fewer", "Write the values out."
            )
        if len(self._path) + known.height > MAX_DEPTH:
            raise InputError(too_deep(self._where(event)))
        return _Node(known.value, Spot(event.start_mark.line + 1, known.spot.below), known.size, known.height)

    def _collection(self, event: MappingStartEvent | SequenceStartEvent) -> _Node:
        if len(self._path) >= MAX_DEPTH:
            raise InputError(too_deep(self._where(event)))
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        mapping = isinstance(event, MappingStartEvent)
        if event.tag is not None and event.tag not in ("!", _CORE + ("map" if mapping else "seq")):
            self._refuse_tag(event, event.tag)
        return self._mapping(event) if mapping else self._sequence(event)

    def _sequence(self, start: Event) -> _Node:
        values: list[Any] = []
        spots: list[Spot] = []
        node = _Node(values, Spot(start.start_mark.line + 1, spots), height=1)
        while not isinstance(event := next(self._events), SequenceEndEvent):
            self._path.append(len(values))
            item = self._node(event)
            self._path.pop()
            values.append(item.value)
            spots.append(item.spot)
            _add(node, item)
        return node

    def _mapping(self, start: Event) -> _Node:
        values: dict[str, Any] = {}
        spots: dict[str, Spot] = {}
        node = _Node(values, Spot(start.start_mark.line + 1, spots), height=1)
        while not isinstance(event := next(self._events), MappingEndEvent):
            key, line = self._key(event), event.start_mark.line + 1
            if key in values:
                raise InputError(twice(key, spots[key].line, self._where(event)))
            self._path.append(key)
            item = self._node(next(self._events))
            self._path.pop()
            values[key] = item.value
            spots[key] = Spot(line, item.spot.below)
            _add(node, item)
        return node

    def _key(self, event: Event) -> str:
        if isinstance(event, AliasEvent):
            key = self._alias(event).value
        elif isinstance(event, ScalarEvent):
            key = self._scalar(event)
            if event.anchor is not None:
                self._anchors[event.anchor] = _Node(key, Spot(event.start_mark.line + 1))
        else:
            self._refuse(event, "a list or a map as a key", "text as a key")
        if key is None and isinstance(event, ScalarEvent) and not event.value:
            self._refuse(event, "a colon without a key", "text as a key", "Write the key before it.")
        if not isinstance(key, str):
            written = event.value if isinstance(event, ScalarEvent) else str(key)
            self._refuse(
                event, f"the key {written or 'null'}, which is no text", "text as a key", f'Quote it: "{written}".'
            )
        return key

    def _scalar(self, event: ScalarEvent) -> Any:
        text: str = event.value
        tag = event.tag
        plain = event.style in (None, "")
        if tag is None and plain:
            value = self._plain(event, text)
            if value is not text:
                return value
        elif tag is not None and tag not in ("!", f"{_CORE}str"):
            return self._tagged(event, text, tag)
        return self._text(event, text)

    def _text(self, event: ScalarEvent, text: str) -> str:
        """``text`` as it was written: private characters back, the two halves of a \\u escape as one character."""
        if text.isascii():
            return text
        if self._back:
            text = text.translate(self._back)
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            self._refuse(event, "a lone surrogate (half of a character)", "whole Unicode text")

    def _plain(self, event: ScalarEvent, text: str) -> Any:
        """What a scalar without quotes and without a tag means; ``text`` itself where it means text."""
        if text in _NULL:
            return None
        if text in _BOOLEAN:
            return _BOOLEAN[text]
        return self._number(event, text) if text[0] in _NUMBER_START else text

    def _number(self, event: ScalarEvent, text: str) -> Any:
        whole = _INTEGER.fullmatch(text) is not None
        if not whole and not _FLOAT.fullmatch(text):
            if _NOT_FINITE.fullmatch(text):
                self._refuse(event, text, "a finite number", f'Quote it, if it is meant as text: "{text}".')
            return text
        if _LEADING_ZERO.match(text):
            fix = f'Quote it for text ("{text}"), or drop the leading zeros for the number.'
            self._refuse(event, f"{quote(text)}, which may be text, decimal or octal", "one meaning", fix)
        value = _integer(text) if whole else float(text)
        if abs(value) > MAX_INTEGER and whole:
            fix = f'Write it as text: "{text}".' if len(text) < 40 else "Write it as text, in quotes."
            self._refuse(event, f"the integer {quote(text)}", "an integer within ±(2^53 - 1)", fix)
        if value in (float("inf"), float("-inf")):
            self._refuse(event, quote(text), "a number that fits a double", "Write it as text, in quotes.")
        if value == 0 and text.lower().partition("e")[0].strip("+-0.x"):
            self._refuse(
                event, quote(text), "a number that a double can tell from zero", "Write it as text, in quotes."
            )
        return value

    def _tagged(self, event: ScalarEvent, text: str, tag: str) -> Any:
        """The value of a scalar with one of the core schema's tags, quoted or not."""
        kinds = {"null": type(None), "bool": bool, "int": int, "float": float}
        kind = kinds.get(tag.removeprefix(_CORE)) if tag.startswith(_CORE) else None
        if kind is None:
            self._refuse_tag(event, tag)
        value = self._plain(event, text)
        if kind is float and type(value) is int:
            return float(value)
        if type(value) is not kind:
            self._refuse(event, f"{quote(text)} under the tag !!{tag.removeprefix(_CORE)}", "a value of that kind")
        return value

    def _refuse_tag(self, event: Event, tag: str) -> NoReturn:
        short = f"!!{tag.removeprefix(_CORE)}" if tag.startswith(_CORE) else tag
        self._refuse(event, f"the tag {quote(short)}", "plain values without tags", "Drop the tag.")


def _add(node: _Node, item: _Node) -> None:
    node.size += item.size
    node.height = max(node.height, item.height + 1)


def _integer(text: str) -> int:
    if text[:2] in ("0o", "0x"):
        return int(text, 0) if len(text) < 40 else MAX_INTEGER + 1
    return int(text) if len(text) < 40 else MAX_INTEGER + 1
