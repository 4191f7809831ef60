"""What is wrong with a YAML file, in the words of somebody who writes one rather than a parser."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from ruamel.yaml.error import MarkedYAMLError

from calibrant.errors import Problem, Where, quote


class _Words(NamedTuple):
    """What the parser's message says (a regular expression over its context and problem), and how to say it."""

    pattern: str
    found: str
    expected: str
    fix: str | None = None
    at_start: bool = False
    """Whether the place is where the construct starts rather than where the parser gave up."""


_TABLE: Final = (
    _Words(r"found character '\\t'", "a tab", "spaces: YAML indents with spaces only", "Replace the tab by spaces."),
    _Words(
        r"found character '(.)' that cannot start",
        "text that starts with `{0}`",
        "text that starts otherwise, or in quotes",
        "Put the text in quotes.",
    ),
    _Words(
        r"mapping values are not allowed",
        "a colon where no key can stand",
        "one `key: value` in a line, indented like its neighbours",
        "Put text that holds a colon and a space in quotes, or mend the indentation.",
    ),
    _Words(
        r"sequence entries are not allowed", "a list item (`- `) behind other text", "each item on a line of its own"
    ),
    _Words(
        r"block mapping.*expected <block end>, but found '(?:<block mapping start>|<block sequence start>|-|\?)'",
        "a line indented unlike its neighbours",
        "the fields of one map at one depth",
        "Indent it as far as the line above that it belongs to.",
    ),
    _Words(
        r"block mapping.*expected <block end>",
        "more text behind a value that had ended",
        "one value for a key",
        "Put the whole value in quotes.",
    ),
    _Words(
        r"block collection.*expected <block end>",
        "a line that is no item of the list around it",
        "items that start with `- ` at one depth",
        "Indent it under its item, or start it with `- `.",
    ),
    _Words(
        r"could not find expected ':'",
        "a line without a colon",
        "`key: value`",
        "Add the colon, or indent the text.",
        True,
    ),
    _Words(r"quoted scalar.*unexpected end", "a quotation mark that is never closed", "its partner", "Close it.", True),
    _Words(
        r"quoted scalar.*document separator", "a quotation mark that is never closed", "its partner", "Close it.", True
    ),
    _Words(
        r"unknown escape character '(.*)'",
        "the escape `\\{0}` in double quotes",
        "one that YAML knows, such as \\n or \\\\",
        "Write the backslash twice, or use single quotes.",
    ),
    _Words(r"expected escape sequence of (\d+)", "an escape that is cut short", "{0} hexadecimal digits"),
    _Words(
        r"flow sequence.*expected ',' or '\]'",
        "a list in [ ] that goes on without a comma",
        "`,` or `]`",
        "Close it.",
        True,
    ),
    _Words(
        r"flow mapping.*expected ',' or '\}'",
        "a map in {{ }} that goes on without a comma",
        "`,` or `}}`",
        "Close it.",
        True,
    ),
    _Words(
        r"expected the node content",
        "no value where one must stand",
        "a value",
        "Put text that starts with a special character in quotes.",
    ),
    _Words(
        r"scanning an (?:alias|anchor)", "a bare `*` or `&`", "text in quotes, or a name", "Put the text in quotes."
    ),
    _Words(
        r"(?:scanning|parsing) an? tag|undefined tag",
        "text that starts with `!`",
        "text in quotes",
        "Put the text in quotes.",
    ),
    _Words(r"incompatible YAML", "a %YAML line of another version", "YAML 1.2", "Drop the line."),
    _Words(r"directive", "a line that starts with %", "text in quotes", "Put the text in quotes."),
    _Words(r"scanning a block scalar", "more behind `|` or `>` than YAML allows", "a line break"),
    _Words(r"more indented follow up line", "a first line indented less than the next ones", "text at one depth"),
    _Words(
        r"expected '<document start>'", "more text after the value of the file", "one value", "Mend the indentation."
    ),
    _Words(r"mapping keys are not allowed", "a `?` where no key can stand", "`key: value`", "Put the text in quotes."),
)


def in_plain_words(broken: MarkedYAMLError, file: str) -> Problem:
    """The problem that the parser met, at its line and column."""
    said = " ".join(part for part in (broken.context, broken.problem) if part)
    for words in _TABLE:
        match = re.search(words.pattern, said, re.DOTALL)
        if match is not None:
            parts = [quote(part)[1:-1] for part in match.groups()]
            mark = (broken.context_mark if words.at_start else None) or broken.problem_mark or broken.context_mark
            found, expected = words.found.format(*parts), words.expected.format(*parts)
            return _placed(found, expected, words.fix, mark, file)
    return _placed(
        f"what is no YAML ({quote(said)})", "YAML 1.2", None, broken.problem_mark or broken.context_mark, file
    )


def _placed(found: str, expected: str, fix: str | None, mark: object, file: str) -> Problem:
    line, column = getattr(mark, "line", None), getattr(mark, "column", None)
    if line is None or column is None:
        return Problem(found, expected, fix, Where(file))
    return Problem(f"{found} (column {column + 1})", expected, fix, Where(file, line + 1))
