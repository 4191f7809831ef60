"""What a number may be read to mean: the claim in a sentence, its limits, and where a run falls outside of it.

A claim gates nothing by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from calibrant.errors import quote
from calibrant.records.authority import ClaimSpec
from calibrant.records.board import BoardHeader
from calibrant.values import format_instant


def meaning(claim: ClaimSpec | None) -> str:
    """What a figure may be read to mean: no more than itself, where nobody argued for more."""
    if claim is None:
        return "No claim is made beyond these items, this instrument and this day."
    return (
        f"It may be read as {_inside(claim.construct)}, to {_inside(claim.intended_use)}, "
        f"for {_inside(claim.target_population)} (sampling frame: {_inside(claim.sampling_frame)})."
    )


def limits(claim: ClaimSpec) -> Iterator[tuple[str, str]]:
    """What has to be said with a claim: its threats, what it is not of, and what it must not be stretched to."""
    for kind, texts in (
        ("threat", claim.known_threats),
        ("is not of", claim.excluded_constructs),
        ("must not be stretched to", claim.prohibited_extrapolations),
        ("evidence", claim.validity_evidence_refs),
    ):
        yield from ((kind, " ".join(text.split())) for text in texts)


def outside(claim: ClaimSpec, board_sha256: str, header: BoardHeader, at: datetime) -> Iterator[str]:
    """Where a run falls outside what the claim is stated for, in sentences."""
    name = f"the claim {quote(claim.id)}"
    if claim.boards and board_sha256 not in claim.boards:
        yield f"The board is none of those that {name} is stated for."
    if claim.frame is not None and claim.frame != header.frame:
        yield f"The board is a {header.frame} set, and {name} is stated for {claim.frame} ones."
    strangers = [seat.id for seat in header.seats if claim.seats and seat.id not in claim.seats]
    if strangers:
        listed = ", ".join(map(quote, strangers))
        yield f"Seats of the board are outside of what {name} is stated for: {listed}."
    if claim.review_expires_at is not None and claim.review_expires_at <= at:
        yield f"The review of {name} ran out at {format_instant(claim.review_expires_at)}."


def _inside(text: str) -> str:
    """``text`` as a part of a sentence: in one line, without its own full stop."""
    return " ".join(text.split()).rstrip(".")
