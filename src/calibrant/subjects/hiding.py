"""Keeps keys and passwords out of whatever is kept: identities, failures, messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from calibrant.records.secrets import HIDDEN, hide_secrets

__all__ = ["HIDDEN", "hide_in_argv", "hide_secrets"]

_FLAG: Final = re.compile(r"--?[\w-]*(?:key|token(?!s)|secret|password|passwd|auth)[\w-]*", re.IGNORECASE)


def hide_in_argv(argv: Sequence[str]) -> list[str]:
    """The words of a command without what looks like a secret, and without what follows a flag like ``--api-key``."""
    shown: list[str] = []
    for before, word in zip(("", *argv), argv, strict=False):
        follows_flag = _FLAG.fullmatch(before) is not None and not word.startswith("-")
        shown.append(HIDDEN if follows_flag else hide_secrets(word))
    return shown
