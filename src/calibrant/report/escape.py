"""Text from outside made harmless: wherever it is shown it moves no terminal, turns no line around, is no markup."""

from __future__ import annotations

import html
import re
from typing import Final

_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]()#+!|~$^=-])")
_LINKS: Final = re.compile(r"(?i)(?<=:)//|@|(?<=www)\.")


def visible(text: str) -> str:
    """``text`` in one line, with what cannot be printed (controls, escapes, text direction, halves) written out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _written_out(c) for c in text)


def visible_lines(text: str) -> str:
    """``text`` with its line ends kept, and else as `visible`."""
    return "\n".join(map(visible, text.splitlines()))


def for_html(text: str) -> str:
    """``text`` as HTML text or as the value of an attribute."""
    return html.escape(visible(text))


def for_markdown(text: str) -> str:
    """``text`` as Markdown that shows just that text: no markup, no HTML, no link, no mention, no new cell."""
    escaped = _MARKDOWN.sub(r"\\\1", visible(text))
    escaped = escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _LINKS.sub(lambda found: "".join(f"&#{ord(c)};" for c in found.group()), escaped)


def _written_out(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
