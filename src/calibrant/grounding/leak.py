"""Whether a fact stands in what a seat was shown: then an out-half is no out-half."""

from __future__ import annotations

import re

from calibrant.grounding.folding import fold, holds_words

_LEAST = 4
"""Shortest fact that is looked for: ``2`` or ``yes`` stands in half of all prompts and shows nothing."""

_COMMON = frozenset({"true", "false", "none", "null", "zero", "text", "list", "dict"})


def is_distinctive(fact: object) -> bool:
    """Whether finding ``fact`` (text, a number, or a list of which each member must be found) would mean anything."""
    if isinstance(fact, list | tuple):
        return len(fact) > 1 and len("".join(map(_written, fact))) >= _LEAST
    text = fold(_written(fact))
    return len(text) >= _LEAST and text not in _COMMON


def stands_in(fact: object, text: str) -> bool:
    """Whether ``fact`` (text, a number, or a list of which each member must stand there) can be read off ``text``.

    Only a distinctive fact counts; for one that is not, the answer is no. A number is found in other written forms
    too, ``52,424`` for ``52424``; the members of a list may be short where together they are distinctive.
    """
    members = fact if isinstance(fact, list | tuple) else [fact]
    return is_distinctive(fact) and all(mentions(text, member) for member in members)


def _written(fact: object) -> str:
    return "" if isinstance(fact, bool) else str(fact) if isinstance(fact, str | int | float) else ""


def mentions(text: str, fact: object) -> bool:
    """Whether a text or number stands in ``text`` as whole words, distinctive or not."""
    written = _written(fact)
    return holds_words(text, written) or (written.isdigit() and holds_words(_GROUPED.sub("", text), written))


_GROUPED = re.compile(r"(?<=\d)[,\u00a0\u202f ](?=\d{3}(?!\d))")
