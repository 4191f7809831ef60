"""A page as Markdown, for a pull request or a wiki: what the records say stands in it as text, never as markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from calibrant.records.figures import percent
from calibrant.report.escape import for_markdown, visible, visible_lines
from calibrant.report.plot import drawn
from calibrant.report.view import Bars, Commands, Facts, Plot, Points, Section, Table, Verbatim, View


def render_markdown(view: View) -> str:
    """The page in GitHub's Markdown, ending with a line end."""
    blocks = [f"**{for_markdown(view.sentence)}**"] if view.sentence else []
    blocks += [f"> ⚠ {for_markdown(warning)}" for warning in view.warnings]
    blocks += ["\n".join(_section(section)) for section in view.sections]
    return "\n\n".join(blocks) + "\n"


def table(
    columns: Iterable[str], rows: Iterable[Iterable[str]], numbers: frozenset[int] = frozenset()
) -> Iterator[str]:
    """The lines of a table; rows are taken one by one, as they come."""
    names = list(columns)
    yield row(names)
    yield "|" + "|".join("---:" if place in numbers else "---" for place in range(len(names))) + "|"
    yield from map(row, rows)


def row(cells: Iterable[str]) -> str:
    """One row of a table."""
    return "| " + " | ".join(map(for_markdown, cells)) + " |"


def _section(section: Section) -> Iterator[str]:
    if section.title:
        yield f"### {for_markdown(section.title)}\n"
    if isinstance(section, Table):
        yield from table(section.columns, section.rows, section.numbers)
    elif isinstance(section, Bars):
        rows = ((bar.name, str(bar.count), percent(bar.share), bar.meaning) for bar in section.bars)
        yield from table(("", "count", "share", "meaning"), rows, frozenset({1, 2}))
    elif isinstance(section, Points):
        yield from (f"- {for_markdown(point)}" for point in section.points)
    elif isinstance(section, Commands):
        yield from (f"- {_code(command)}: {for_markdown(purpose)}" for command, purpose in section.rows)
    elif isinstance(section, Verbatim):
        yield from _fenced(section.text)
    elif isinstance(section, Plot):
        yield from _fenced("\n".join(drawn(section)))
    elif isinstance(section, Facts):
        yield from table(("", ""), section.rows)


def _code(text: str) -> str:
    """A span of code that ``text`` cannot leave: its fence is longer than any run of ticks inside."""
    inner = visible(text)
    ticks = _longest_ticks(inner)
    fence = "`" * (ticks + 1)
    return f"{fence} {inner} {fence}" if ticks else f"{fence}{inner}{fence}"


def _fenced(text: str) -> Iterator[str]:
    """The lines of a block of code that ``text`` cannot leave."""
    inner = visible_lines(text)
    fence = "`" * max(3, _longest_ticks(inner) + 1)
    yield from (f"{fence}text", *inner.split("\n"), fence)


def _longest_ticks(text: str) -> int:
    return max(map(len, re.findall(r"`+", text)), default=0)
