"""Replies to verdicts: versioned parsers, total over all text, closed in vocabulary. What is unread is no verdict.

A reply holds exactly one verdict, and it stands where a verdict stands: a judge that repeats what it was shown, or
quotes a response that plays the judge, is not read as having said so itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from calibrant import canonical
from calibrant.errors import InputError, Problem, Where, nearest, one_of, quote
from calibrant.grounding.folding import fold
from calibrant.grounding.jsontext import locate_objects

LONGEST: Final = 1_000_000
"""Characters of a reply that are looked at; a longer reply is unread."""


class Read(NamedTuple):
    """A verdict of the judge's vocabulary, with what the judge said about it."""

    verdict: str
    critique: str | None = None
    evidence_span: str | None = None


class Unread(NamedTuple):
    """Why a reply gives no verdict."""

    reason: str


Vocabulary: TypeAlias = Mapping[str, str]
"""The labels by their folded form."""

Parser: TypeAlias = Callable[[str, Vocabulary], Read | Unread]


def vocabulary(labels: Sequence[str], where: Where = Where(field="labels")) -> Vocabulary:
    """``labels`` by their folded form.

    Raises:
        InputError: for two labels that a reply could not tell apart, and for one that folds to nothing.
    """
    known: dict[str, str] = {}
    for label in labels:
        form = fold(label)
        if not form:
            raise InputError(Problem(f"the label {quote(label)}", "a label of letters or digits", where=where))
        if form in known:
            found = f"the labels {quote(known[form])} and {quote(label)}, which read alike"
            raise InputError(Problem(found, "labels that differ in letters or digits", where=where))
        known[form] = label
    return known


def find_parser(name: str, where: Where = Where(field="parser")) -> Parser:
    """The parser of that name and version.

    Raises:
        InputError: where there is none, with the nearest name.
    """
    if name not in PARSERS:
        problem = Problem(f"the parser {quote(name)}", one_of(PARSERS), nearest(name, PARSERS), where)
        raise InputError(problem)
    return PARSERS[name]


def parse(parser: str, text: str, labels: Sequence[str]) -> Read | Unread:
    """The verdict in ``text`` by the parser of that name, or why there is none.

    Raises:
        InputError: for an unknown parser, and for labels that cannot be told apart.
    """
    read = find_parser(parser)
    words = vocabulary(labels)
    if len(text) > LONGEST:
        return Unread(f"a reply of {len(text):,} characters")
    return read(text, words) if text.strip() else Unread("an empty reply")


def schema_of(labels: Sequence[str]) -> dict[str, Any]:
    """The JSON schema of a reply that `verdict-json.v1` reads. The critique comes first: it is no excuse then."""
    return {
        "type": "object",
        "properties": {
            "critique": {"type": "string"},
            "evidence": {"type": "string"},
            "verdict": {"type": "string", "enum": list(labels)},
        },
        "required": ["critique", "verdict"],
        "additionalProperties": False,
    }


def _label(said: object, words: Vocabulary) -> str | None:
    """The label that ``said`` is, whole; a question mark is no answer."""
    if isinstance(said, int) and not isinstance(said, bool):
        said = str(said)
    if not isinstance(said, str) or len(said) > 1000 or "?" in said:
        return None
    return next((label for label in words.values() if said.strip() == label), words.get(fold(said)))


def _no_label(said: object, words: Vocabulary) -> Unread:
    return Unread(f"the verdict {quote(said)}, which is not one of {one_of(words.values())}")


def _prose(said: object) -> str | None:
    """Text that a record can carry, or None."""
    if not isinstance(said, str) or not said.strip():
        return None
    return said.encode("utf-8", "replace").decode("utf-8")


def _parse_json(text: str, words: Vocabulary) -> Read | Unread:
    """``verdict-json.v1``: the reply ends with one JSON object (bare or in a fence) that carries the verdict.

    Before it may stand reasoning that gives no verdict of its own, in either form. Raw newlines and stray backslashes
    in strings are read. The object stands on a line of its own: one within a sentence or a list is a quotation.
    """
    objects, whole = locate_objects(text)
    carrying = [found for found in objects if "verdict" in map(fold, found.fields)]
    if not carrying:
        return Unread(_why_no_object(text, bool(objects)))
    last = carrying[-1]
    before, after = whole[: last.start], whole[last.end :]
    if len(carrying) > 1 or any(_KEY.search(part) or _marked_elsewhere(part) for part in (before, after)):
        return Unread("more than one verdict")
    if not _OPENS.fullmatch(before.rpartition("\n")[2][:_LONGEST_LINE]) or after.strip() not in ("", "```"):
        return Unread("a verdict that does not stand alone at the end of the reply")
    fields = {fold(key): value for key, value in last.fields.items()}
    if len(fields) != len(last.fields):
        return Unread("a JSON object that says one thing twice")
    verdict = _label(fields["verdict"], words)
    if verdict is None:
        return _no_label(fields["verdict"], words)
    return Read(verdict, _prose(fields.get("critique")), _prose(fields.get("evidence")))


def _why_no_object(text: str, others: bool) -> str:
    if others:
        return "a JSON object without a verdict"
    try:
        value = canonical.decode(text.strip().strip("`").removeprefix("json").strip())
    except InputError:
        return "no JSON object"
    names = {str: "text", list: "a list", bool: "true or false", type(None): "null"}
    return f"JSON that is {names.get(type(value), 'a number')}, not an object"


_KEY: Final = re.compile(r"""(["'])\s*verdict\s*\\?\1\s*:""", re.IGNORECASE)
_OPENS: Final = re.compile(r"[ \t]*(?:```\w*[ \t]*)?")
_LONGEST_LINE: Final = 10_000


_MARKED: Final = re.compile(r"^[ \t*_#-]*(verdict|critique|evidence)[ \t*_]*:[ \t*_]*(.*)$", re.IGNORECASE)
_QUOTED: Final = re.compile(r"^\W*verdict\W*?:", re.IGNORECASE)
_FENCE: Final = re.compile(r"[ \t]*```\w{0,20}[ \t]*")


def _parse_marked(text: str, words: Vocabulary) -> Read | Unread:
    """``verdict-marked.v1``: one line ``VERDICT: label``; lines ``CRITIQUE:`` and ``EVIDENCE:`` with what follows them.

    Reasoning may stand before the first of these lines. The verdict is its line alone: text that goes on below it and
    belongs to no other mark makes it a quotation. A quoted verdict (``> VERDICT: …``), or one in JSON, makes the reply
    unread.
    """
    sections: list[tuple[str, list[str]]] = []
    if _KEY.search(text):
        return Unread("a verdict in JSON")
    for line in filter(lambda line: not _FENCE.fullmatch(line), text.splitlines()):
        mark = _MARKED.match(line) if len(line) <= _LONGEST_LINE else None
        if mark is not None:
            sections.append((mark[1].lower(), [mark[2]]))
        elif _QUOTED.match(line[:_LONGEST_LINE]):
            return Unread("a quoted verdict")
        elif sections:
            sections[-1][1].append(line)
    said = {name: ["\n".join(lines) for other, lines in sections if other == name] for name in _MARKS}
    if len(said["verdict"]) != 1:
        return Unread("more than one line VERDICT" if said["verdict"] else "no line VERDICT: " + one_of(words.values()))
    line, *rest = said["verdict"][0].strip().splitlines() or [""]
    if any(map(str.strip, rest)):
        return Unread("a verdict that does not stand alone")
    verdict = _label(line, words)
    if verdict is None:
        return _no_label(line.strip(), words)
    return Read(verdict, _only(said["critique"]), _only(said["evidence"]))


def _marked_elsewhere(text: str) -> bool:
    """Whether a line in ``text`` says ``VERDICT:`` and something."""
    return any(
        _QUOTED.match(line[:_LONGEST_LINE]) and line.rpartition(":")[2].strip(" *_\t") for line in text.splitlines()
    )


_MARKS: Final = ("verdict", "critique", "evidence")


def _only(said: Sequence[str]) -> str | None:
    return _prose(said[0].strip()) if len(said) == 1 else None


def _parse_label(text: str, words: Vocabulary) -> Read | Unread:
    """``label.v1``: the first line that says anything is a label and nothing else. For models that continue a text."""
    line = text.strip().splitlines()[0]
    verdict = _label(line, words)
    return Read(verdict) if verdict is not None else _no_label(line.strip(), words)


PARSERS: Final[Mapping[str, Parser]] = {
    "verdict-json.v1": _parse_json,
    "verdict-marked.v1": _parse_marked,
    "label.v1": _parse_label,
}
"""The parsers by name and version. A change that moves any verdict is a new version."""
