"""Whether a fact stands in what a seat was shown: then an out-half is no out-half."""

from __future__ import annotations

from calibrant.grounding.folding import fold, holds_words

_LEAST = 4
"""Shortest fact that is looked for: ``2`` or ``yes`` stands in half of all prompts and shows nothing."""

_COMMON = frozenset({"true", "false", "none", "null", "zero", "text", "list", "dict"})


def is_distinctive(fact: object) -> bool:
    """Whether finding ``fact`` in a text would mean anything."""
    text = fold(fact) if isinstance(fact, str) else ""
    return len(text) >= _LEAST and text not in _COMMON and not (text.isdigit() and len(text) < _LEAST + 1)


def stands_in(fact: object, text: str) -> bool:
    """Whether ``fact`` (text, or a list of which each member must stand there) can be read off ``text``.

    Only a distinctive fact counts; for one that is not, the answer is no.
    """
    if isinstance(fact, list | tuple):
        return bool(fact) and all(stands_in(member, text) for member in fact)
    return isinstance(fact, str) and is_distinctive(fact) and holds_words(text, fact)
