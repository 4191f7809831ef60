"""What a run's judgements follow from, derived the same way when they are made and when they are checked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from calibrant import canonical
from calibrant.errors import InputError, Problem, quote
from calibrant.judging.capability import capability_of
from calibrant.judging.judge import Judged, misread
from calibrant.judging.panel import combined
from calibrant.ledger.store import Ledger
from calibrant.records.base import read_stored
from calibrant.records.board import Challenge
from calibrant.records.gold import JudgedItem
from calibrant.records.grounding import Label
from calibrant.records.judge import Instrument, JudgeInstrument, Judgement, PanelInstrument
from calibrant.records.subject import Response
from calibrant.runs.source import RunSource

FIELDS: Final = ("question", "response", "target", "seat", "lane", "context", "earlier", "evidence")
"""The texts that an item made from a run may have; the first two are always there, and ``seat`` and ``lane``."""

_LONGEST_ID: Final = 180


def item_of(source: RunSource, challenge: Challenge, epoch: int, response: Response) -> JudgedItem:
    """One answer of a run as an item to be judged.

    Its fields: ``question``, ``response``, ``seat`` (the id), ``lane``; and where there is one, ``target`` (what
    passing means), ``context`` (the seat's system prompt), ``earlier`` (the turns before the question) and
    ``evidence`` (what the seat was shown). Its slice is the challenge's attribute, its author the subject's name.

    Raises:
        InputError: where the target is sealed.
    """
    if challenge.sealed is not None and challenge.target is None:
        fix = "Open the board (`calibrant board open`) and run that, with the answers of this run replayed."
        raise InputError(Problem(f"the sealed target of {quote(challenge.id)}", "a target that can be judged by", fix))
    seat = source.header.seat(challenge.seat)
    shown = (f"{title}:\n{text}" if title else text for title, text in source.shown(challenge))
    texts = {
        "question": challenge.question,
        "response": response.text,
        "seat": seat.id,
        "lane": seat.lane,
        "target": challenge.target,
        "context": seat.context.strip(),
        "earlier": "\n\n".join(f"{turn.role}: {turn.content}" for turn in challenge.turns[:-1]),
        "evidence": "\n\n".join(shown),
    }
    always = ("question", "response", "seat", "lane")
    return JudgedItem(
        id=item_id(challenge.id, epoch),
        fields={name: text or "" for name, text in texts.items() if text or name in always},
        slice=challenge.attribute,
        author=source.terms.subject.name,
    )


def item_id(challenge: str, epoch: int) -> str:
    """How an answer is called as an item: ``greeting@1``; a very long id is cut and told apart by its digest."""
    if len(challenge) > _LONGEST_ID:
        challenge = f"{challenge[: _LONGEST_ID - 9]}+{canonical.sha256(challenge.encode('utf-8'))[:8]}"
    return f"{challenge}@{epoch}"


def label_of(judgement: Judgement, challenge: Challenge, epoch: int, response: Response, **given: Any) -> Label:
    """The label that a judgement gives to a response.

    A judgement without a verdict is the non-score ``unparsed``, with its own word as the code. The evidence stands in
    the label only where it stands word for word in the response.
    """
    span = judgement.evidence_span
    return Label(
        challenge=challenge.id,
        epoch=epoch,
        label=judgement.verdict,
        non_score="unparsed" if judgement.verdict is None else None,
        code=judgement.verdict or str(judgement.absent),
        grader="judge",
        instrument_sha256=judgement.instrument_sha256,
        critique=judgement.critique or judgement.reason,
        evidence_span=span if span is not None and span in response.text else None,
        **given,
    )


def read_instrument(data: bytes) -> Instrument:
    """The instrument, of a judge or of a panel, in its canonical bytes.

    Raises:
        InputError, ValueError: for bytes that are neither.
    """
    fields = read_stored(data)
    panel = isinstance(fields, dict) and fields.get("schema") == PanelInstrument.schema_name
    return (PanelInstrument if panel else JudgeInstrument).from_dict(fields)


def why_a_double(ledger: Ledger, digest: str) -> str | None:
    """Why the instrument of that digest is a test double, or None where it is not, or is not kept in the ledger."""
    if not ledger.has_blob(digest):
        return None
    instrument = read_instrument(ledger.blob(digest))
    if isinstance(instrument, JudgeInstrument):
        return capability_of(instrument).because
    whys = (why_a_double(ledger, member) for member in instrument.members)
    return next((f"of a member: {why}" for why in whys if why is not None), None)


def wrong_with(ledger: Ledger, judgement: Judgement, item: JudgedItem) -> Iterator[str]:
    """What in a judgement of ``item`` does not follow from what the ledger keeps.

    Raises:
        CalibrantError, ValueError: where something that it names is not there, or not what it should be.
    """
    if judgement.item_sha256 != item.content_sha256():
        yield "it judged another text than the answer"
    if judgement.absent == "failed":
        yield "it is a failure, which is no judgement"
        return
    instrument = _instrument(ledger, judgement.instrument_sha256)
    if isinstance(instrument, PanelInstrument):
        yield from _wrong_with_panel(ledger, judgement, instrument, item)
    else:
        yield from _wrong_with_one(ledger, judgement, instrument)


def _instrument(ledger: Ledger, digest: str) -> Instrument:
    """The instrument of that digest, with the texts that it names looked at."""
    instrument = read_instrument(ledger.blob(digest))
    ledger.blob(instrument.rubric_sha256)
    if isinstance(instrument, JudgeInstrument):
        ledger.blob(instrument.prompt_sha256)
    return instrument


def _wrong_with_one(ledger: Ledger, judgement: Judgement, instrument: JudgeInstrument) -> Iterator[str]:
    wrong = misread(instrument, judgement, tuple(map(ledger.blob, judgement.replies)))
    if wrong is not None:
        yield wrong


def _wrong_with_panel(ledger: Ledger, judgement: Judgement, panel: PanelInstrument, item: JudgedItem) -> Iterator[str]:
    members = [Judgement.from_stored(ledger.blob(digest)) for digest in judgement.members]
    if tuple(member.instrument_sha256 for member in members) != panel.members:
        yield "its members are not those of its panel"
        return
    for member in members:
        if member.repeat != judgement.repeat:
            yield f"a member judged for another time ({member.repeat})"
        yield from wrong_with(ledger, member, item)
    again = combined(panel, [Judged(member) for member in members], judgement.at).judgement
    if again != judgement:
        yield f"its members come to {quote(again.verdict or again.absent)}, it says {quote(judgement.verdict)}"
