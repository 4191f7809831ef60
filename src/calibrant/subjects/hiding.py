"""Keeps keys and passwords out of whatever is kept: identities, failures, messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

HIDDEN: Final = "[secret]"

_KEY: Final = re.compile(
    r"\b(?:sk|pk|rk|xai|gsk|ghp|hf)[-_][\w-]{8,}|\bAIza[\w-]{20,}"
    r"|(?<=Bearer )[\w.~+/=-]{6,}|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
)
_FLAG: Final = re.compile(r"--?[\w-]*(?:key|token(?!s)|secret|password|passwd|auth)[\w-]*", re.IGNORECASE)
_ASSIGNED: Final = re.compile(
    r"((?:api[-_]?key|token|secret|password|passwd|authorization)\s*[=:]\s*)[^\s&]+", re.IGNORECASE
)


def hide_secrets(text: str, known: Iterable[str] = ()) -> str:
    """``text`` without the ``known`` secrets, and without what looks like a key, a token or a password."""
    for secret in known:
        text = text.replace(secret, HIDDEN)
    return _ASSIGNED.sub(rf"\1{HIDDEN}", _KEY.sub(HIDDEN, text))


def hide_in_argv(argv: Sequence[str]) -> list[str]:
    """The words of a command without what looks like a secret, and without what follows a flag like ``--api-key``."""
    shown: list[str] = []
    for before, word in zip(("", *argv), argv, strict=False):
        follows_flag = _FLAG.fullmatch(before) is not None and not word.startswith("-")
        shown.append(HIDDEN if follows_flag else hide_secrets(word))
    return shown
