"""Stated confidences: read where the template says what they mean, recorded as stated, never clamped."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal, DivisionByZero, InvalidOperation
from typing import Literal, TypeAlias

from calibrant.grounding.folding import fold
from calibrant.units import read_number

Scale: TypeAlias = Literal["probability", "percent", "percent-or-share"] | None
"""What a bare number means: a probability from 0 to 1, a percentage, or nothing.

A bare number up to 1 that is asked for in per cent may be meant either way, and has no probability; the last of the
scales, which earlier runs were read with, takes it as a percentage too.
"""

_LONGEST = 100
_FRACTION = re.compile(r"(\S+)\s*(?:/|out of)\s*(\S+)")


def read_confidence(stated: object, scale: Scale, words: Mapping[str, float]) -> tuple[float | None, str | None]:
    """The probability that ``stated`` means, and ``stated`` as it was written.

    ``0.8``, ``80%`` and ``8/10`` are one confidence. A bare number is read by the template's ``scale``, a word only
    where the template defined it. What is out of range or unreadable has no probability; its text is kept.
    """
    if stated is None:
        return None, None
    written = str(stated)[:_LONGEST]
    if isinstance(stated, bool) or not isinstance(stated, str | int | float) or len(str(stated)) > _LONGEST:
        return None, written
    if words:
        meant = {fold(word): value for word, value in words.items()}.get(fold(written))
        if meant is not None:
            return meant, written
    number = _probability(written.strip().rstrip("."), scale)
    return (float(number) if number is not None and 0 <= number <= 1 else None), written


def _probability(written: str, scale: Scale) -> Decimal | None:
    if written.endswith("%"):
        number = read_number(written[:-1])
        return None if number is None else number / 100
    if form := _FRACTION.fullmatch(written):
        above, below = read_number(form[1]), read_number(form[2])
        try:
            return None if above is None or below is None else above / below
        except (DivisionByZero, InvalidOperation):
            return None
    number = read_number(written)
    if number is None or scale is None:
        return None
    if scale == "percent" and 0 < number <= 1:
        return None
    return number if scale == "probability" else number / 100
