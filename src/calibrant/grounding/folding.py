"""Text as it compares: Unicode-normalised, case-folded, spaces and outer punctuation dropped."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_SPACE = re.compile(r"\s+")
_OUTER = " \t\n\r.,;:!?\"'`“”‘’«»()[]{}*_"
_POSSESSIVE = re.compile(r"['’]s$")
_ARTICLE = re.compile(r"^(?:the|a|an)\s+(?=\S)")


@lru_cache(maxsize=65536)
def fold(text: str) -> str:
    """``text`` in its comparing form: NFKC, case-folded, one space between words, no outer punctuation or article."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    folded = _SPACE.sub(" ", unicodedata.normalize("NFKC", folded))
    shorter = _ARTICLE.sub("", folded.strip(_OUTER))
    return shorter if shorter == text else fold(shorter)


def words(text: str) -> list[str]:
    """The words of ``text`` in comparing form: runs of letters and digits, without a possessive s."""
    return [_POSSESSIVE.sub("", word) for word in re.findall(r"[\w%°]+(?:[.'’-][\w]+)*", fold(text))]


def holds_words(text: str, part: str) -> bool:
    """Whether ``part`` stands in ``text`` as whole words: ``11`` does not stand in ``711``, nor ``correct`` in
    ``incorrect``."""
    inner, outer = words(part), words(text)
    if not inner:
        return False
    width = len(inner)
    return any(outer[start : start + width] == inner for start in range(len(outer) - width + 1))


def count_words(text: str) -> int:
    """How many words ``text`` has, as a word cap counts them: runs between spaces."""
    return len(text.split())
