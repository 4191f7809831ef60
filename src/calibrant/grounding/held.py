"""What a seat holds and is asked, piece by piece: all in which a fact could be read before anyone looks.

How a question is put counts for nothing here. The words of a template, its examples, and the outcome space that it
lists (values, options, a plausible range, `max_width`) are the same whatever the fact is, so they give none away.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from calibrant.grounding.leak import is_distinctive, mentions, stands_in
from calibrant.records.board import Challenge, Evidence, Seat

TOGETHER: Final = "all of it, taken together"
"""The place of a fact that is spread over several pieces."""


class Held(NamedTuple):
    """A piece of what a seat holds or is asked.

    ``field`` is where it is written on the board, in the challenge or, where it is ``of_seat``, in the seat; ``place``
    says the same to people.
    """

    field: str
    place: str
    text: str
    of_seat: bool = False


def held(challenge: Challenge, seat: Seat, evidence: Sequence[tuple[str, str]]) -> Iterator[Held]:
    """All that ``seat`` holds and is asked with ``challenge``, under every template alike.

    ``evidence`` is that of the seat and then that of the challenge, each piece as its title and the text that the seat
    is shown: a capture as it was taken, or nothing while it was not.
    """
    if challenge.prompt is not None:
        yield Held("prompt", "its question", challenge.prompt)
    for number, turn in enumerate(challenge.turns):
        yield Held(f"turns[{number}]", f"its turn {number + 1}", turn.content)
    yield Held("context", "its seat's context", seat.context, of_seat=True)
    for number, (title, text) in enumerate(evidence):
        of_seat = number < len(seat.evidence)
        name = "its seat's evidence" if of_seat else "its evidence"
        place = f"{name} {title!r}" if title else name
        yield from (Held("evidence", place, part, of_seat) for part in (title, text) if part)


def as_written(seat: Seat, challenge: Challenge) -> list[tuple[str, str]]:
    """The evidence that `held` takes, as it stands on the board: what is captured has no text yet."""
    return [(title_of(piece), piece.text or "") for piece in (*seat.evidence, *challenge.evidence)]


def held_text(pieces: Iterable[Held]) -> str:
    """All pieces as one text."""
    return "\n".join(piece.text for piece in pieces if piece.text)


def places_of(facts: Iterable[object], pieces: Sequence[Held]) -> tuple[str, ...]:
    """In which places one of ``facts``, the forms of a fact, can be read; each once, in the order of ``pieces``.

    Where it can be read off all pieces together alone, those that hold a member of it, else `TOGETHER`; none where it
    cannot be read.
    """
    forms = [fact for fact in facts if is_distinctive(fact)]
    whole = [piece.place for piece in pieces if any(stands_in(form, piece.text) for form in forms)]
    if whole:
        return tuple(dict.fromkeys(whole))
    together = held_text(pieces)
    spread = [form for form in forms if stands_in(form, together)]
    members = [member for form in spread if isinstance(form, list | tuple) for member in form]
    parts = [piece.place for piece in pieces if any(mentions(piece.text, member) for member in members)]
    return tuple(dict.fromkeys(parts or [TOGETHER])) if spread else ()


def title_of(piece: Evidence) -> str:
    """What a piece of evidence is called where it is shown: its title, or the command that gave it."""
    if piece.title is not None or piece.capture is None:
        return piece.title or ""
    argv = piece.capture.params.get("argv")
    return "$ " + " ".join(map(str, argv)) if isinstance(argv, list) else piece.capture.kind
