"""Writes text as a YAML scalar that every reader takes for this text."""

from __future__ import annotations

import json
import re
from typing import Final

_PLAIN: Final = re.compile(r"[A-Za-z][\w.@+-]*", re.ASCII)
_WORDS: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
"""Words that some readers take for something else than text."""


def scalar(text: str) -> str:
    """``text`` bare where that is safe, else in double quotes."""
    return text if _PLAIN.fullmatch(text) and text.lower() not in _WORDS else quoted(text)


def quoted(text: str) -> str:
    """``text`` in the double quotes of JSON, which are YAML's too; what does not print is escaped."""
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in json.dumps(text, ensure_ascii=False))
