"""What keys and passwords look like, so that none is kept: by their form and by the name before them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

HIDDEN: Final = "[secret]"

_KEY: Final = re.compile(
    r"\b(?:sk|pk|rk|xai|gsk|ghp|hf)[-_][\w-]{8,}|\bAIza[\w-]{20,}"
    r"|(?<=Bearer )[\w.~+/=-]{6,}|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
)
_ASSIGNED: Final = re.compile(
    r"((?:api[-_]?key|token|secret|password|passwd|authorization)\s*[=:]\s*)[^\s&]+", re.IGNORECASE
)
_NAMED: Final = re.compile(
    r"(?:.*[-_.])?(?:api-?key|(?:access|secret|private|subscription|account|shared|auth)-?key|token|secret"
    r"|password|passwd|pwd|passphrase|authorization|credentials?|signature|sig|jwt|cookie)"
    r"|.*(?:apikey|accesskey|secretkey|(?:access|auth|bearer|id|refresh|private|session)token|clientsecret|password)"
)
_PLACE: Final = re.compile(r"(?:.*-)?(?:page|next|continuation|sync|cursor)-?token")
"""A token that says where a list goes on is no secret."""

_PERHAPS: Final = frozenset({"key", "auth", "code", "session", "sid"})
"""Names that stand before secrets and before much else: the value decides."""

_RANDOM: Final = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[\w.~+/=-]{16,}")


def hide_secrets(text: str, known: Iterable[str] = ()) -> str:
    """``text`` without the ``known`` secrets, and without what looks like a key, a token or a password."""
    for secret in known:
        text = text.replace(secret, HIDDEN)
    return _ASSIGNED.sub(rf"\1{HIDDEN}", _KEY.sub(HIDDEN, text))


def has_key(text: str) -> bool:
    """Whether something in ``text`` has the form of a key, a bearer's token, or an address with a password."""
    return _KEY.search(text) is not None


def is_secret(name: str, value: str) -> bool:
    """Whether a parameter or a header looks like a secret: by its value's form, by its name, or by both."""
    if not value:
        return False
    word = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower().replace("_", "-")
    if has_key(value) or (_NAMED.fullmatch(word) and not _PLACE.fullmatch(word)):
        return True
    return word in _PERHAPS and _RANDOM.fullmatch(value) is not None
