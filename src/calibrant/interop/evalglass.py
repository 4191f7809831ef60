"""Reads EvalGlass's studies, instruments, grants and claims (JSON): re-verifies them, and says what they lack here.

Its files carry no schema, so a reader says what it reads. What Calibrant wants and a file does not hold is listed in
`Read.lacks`, never filled in by a guess.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from calibrant.authority.study import Confusion, JudgeAgreementStudy, figures_of
from calibrant.errors import InputError, Problem, Where, quote
from calibrant.records.authority import AuthorityGrant, ClaimSpec
from calibrant.records.base import Record
from calibrant.records.documents import Document
from calibrant.records.judge import JudgeInstrument
from calibrant.runs.files import open_document
from calibrant.stats.table import Table

R = TypeVar("R", bound=Record)

_PLACES: Final = 4
_HALF_A_UNIT: Final = 0.5 * 10**-_PLACES
_SLACK: Final = 1e-9
_OTHER_FORM: Final = (
    "{}: EvalGlass digests another form of the record, so no digest in the file is one of a record here"
)


@dataclass(frozen=True, slots=True)
class Read(Generic[R]):
    """A record that was read from another tool's file, and what the file lacks of what Calibrant wants of such one.

    ``sha256`` is, of an instrument, the digest that EvalGlass gives it: what a study there names it by.
    """

    record: R
    lacks: tuple[str, ...]
    sha256: str | None = None


def read_study(
    path: str | PathLike[str], *, positive: str = "pass", negative: str = "fail"
) -> Read[JudgeAgreementStudy]:
    """A study whose figures follow from its table of four counts, as a table-only study: it calibrates no judge here.

    Figures that are given to four places are taken where they are the exact ones rounded, and replaced by the exact
    ones. The table names no labels: ``positive`` and ``negative`` are what its classes are called here.

    Raises:
        InputError: naming file, line and field of what is wrong; of a figure that does not follow, both values.
    """
    document = _document(path)
    fields = _fields(document, "a study")
    counts = _confusion(fields, document)
    table = Table((positive, negative), ((counts.tp, counts.fn), (counts.fp, counts.tn)))
    follows = figures_of(table, positive)
    for name in ("percent_agreement", "kappa"):
        _hold_to(name, fields.get(name), follows[name], follows["kappa_undefined"], document)
    written = {
        **fields,
        "schema": JudgeAgreementStudy.schema_name,
        "labels": [positive, negative],
        "positive": positive,
        "table": [list(row) for row in table.counts],
        **{name: value for name, value in follows.items() if name != "confusion"},
    }
    study = _record(JudgeAgreementStudy, written, document)
    return Read(study, tuple(_study_lacks(study)))


def read_instrument(path: str | PathLike[str]) -> Read[JudgeInstrument]:
    """An instrument. Its fields are those of one here, and its digest is another: it is in another form.

    Raises:
        InputError: naming file, line and field of everything that is wrong.
    """
    document = _document(path)
    fields = _fields(document, "an instrument")
    instrument = _record(JudgeInstrument, {"schema": JudgeInstrument.schema_name, **fields}, document)
    lacks = [f"{name}: not stated" for name in ("seed", "temperature") if getattr(instrument, name) is None]
    lacks += ["decoding: not stated; labels, mode and sampling of the judge are not known"] * (not instrument.decoding)
    return Read(instrument, (*lacks, _OTHER_FORM.format("digests")), _their_digest(instrument))


def read_grant(path: str | PathLike[str]) -> Read[AuthorityGrant]:
    """A grant. What it approved is named by digests of EvalGlass's form: here it matches nothing, as it should.

    Raises:
        InputError: naming file, line and field of everything that is wrong, a digest in upper case and a time without a
            zone among it.
    """
    document = _document(path)
    fields = dict(_fields(document, "a grant"))
    if "study_evidence_sha256" in fields and "study_sha256" not in fields:
        fields["study_sha256"] = fields.pop("study_evidence_sha256")
    grant = _record(AuthorityGrant, {"schema": AuthorityGrant.schema_name, **fields}, document)
    lacks = [f"{name}: not bound" for name in _BOUND if getattr(grant, name) is None]
    lacks += ["expires_at: it never expires"] * (grant.expires_at is None)
    return Read(grant, (*lacks, "signature: EvalGlass signs nothing", _OTHER_FORM.format("digests")))


_BOUND: Final = ("dataset_validation_sha256", "evaluator_capability_sha256", "study_sha256", "claim_sha256")


def read_claim(path: str | PathLike[str], *, id: str | None = None) -> Read[ClaimSpec]:  # noqa: A002 - the field's name
    """A claim; ``id`` is what it is called here, by default what its file is called.

    Raises:
        InputError: naming file, line and field of everything that is wrong.
    """
    document = _document(path)
    fields = dict(_fields(document, "a claim"))
    facets = fields.pop("coverage_facets", None)
    name = id if id is not None else re.sub(r"[^\w.:@+-]", "-", Path(path).stem)
    claim = _record(ClaimSpec, {"schema": ClaimSpec.schema_name, "id": name, **fields}, document)
    lacks = ["frame: whether the items are a discovery set or representative is not stated"]
    lacks += ["boards: the boards that it is about are not named", "seats: the seats that it is about are not named"]
    lacks += [f"reviewer: {'nobody' if claim.reviewer is None else 'without an expiry of the review'}"] * (
        claim.reviewer is None or claim.review_expires_at is None
    )
    lacks += [f"coverage_facets: {quote(facets)} has no field here and was left out"] * bool(facets)
    return Read(claim, (*lacks, _OTHER_FORM.format("digests")))


def _fields(document: Document, what: str) -> dict[str, Any]:
    """The fields of the file, which says nothing of a schema: one that does is another tool's."""
    fields = document.fields(what)
    if "schema" in fields:
        found = f"the schema {quote(fields['schema'])}"
        fix = "Read it as what its schema says."
        raise InputError(Problem(found, "a file of EvalGlass, which has none", fix, document.where("schema")))
    return fields


def _document(path: str | PathLike[str]) -> Document:
    path = Path(path)
    return open_document(path)


def _record(kind: type[R], written: Mapping[str, Any], document: Document) -> R:
    try:
        return kind.from_dict(written, where=Where(document.file, document.lines(())), lines=document.lines)
    except InputError as refused:
        raise InputError([_clearer(problem) for problem in refused.problems]) from None


def _clearer(problem: Problem) -> Problem:
    """What to do about a digest in capitals, which reads as a digest and is another text."""
    shown = problem.found.strip('"')
    if re.fullmatch(r"[0-9a-fA-F]{64}", shown) and problem.fix is None:
        fix = "Write it in lower case, if it is the digest that was approved."
        return Problem(problem.found, problem.expected, fix, problem.where)
    return problem


def _confusion(fields: Mapping[str, Any], document: Document) -> Confusion:
    written = fields.get("confusion")
    if not isinstance(written, dict):
        found = "no table" if written is None else quote(written)
        raise InputError(Problem(found, "the counts tp, fp, fn and tn", where=document.where("confusion")))
    lines: Callable[[tuple[str | int, ...]], int | None] = lambda path: document.lines(("confusion", *path))  # noqa: E731
    return Confusion.from_dict(written, where=document.where("confusion"), lines=lines)


def _hold_to(name: str, given: Any, follows: float | None, undefined: str | None, document: Document) -> None:
    """Refuse a figure that is neither what follows from the table nor that rounded to four places."""
    where = document.where(name)
    if isinstance(given, bool) or not isinstance(given, int | float | None):
        raise InputError(Problem(quote(given), "a number", where=where))
    fix = "The figure does not follow from the table: make the study anew."
    if follows is None or given is None:
        if given is not follows:
            why = undefined if name == "kappa" else "there is no item"
            expected = f"null: {why}" if follows is None else f"{follows!r}, which follows from the table"
            raise InputError(Problem("no value" if given is None else repr(given), expected, fix, where))
        return
    is_rounded = round(given, _PLACES) == given and abs(given - follows) <= _HALF_A_UNIT + _SLACK
    if abs(given - follows) > _SLACK and not is_rounded:
        raise InputError(Problem(repr(given), f"{follows!r}, which follows from the table", fix, where))


def _study_lacks(study: JudgeAgreementStudy) -> Iterator[str]:
    yield "ratings: its table cannot be derived again, so it is table-only and calibrates no judge"
    yield "gold: neither the digest of the gold set, nor its frame, raters and whether it tuned the judge"
    yield f"labels: its two classes are not named; they are called {quote(study.positive)} and {_other(study)} here"
    yield "unread: how many replies gave no verdict, and what became of them"
    yield "made_at: when it was made"
    if study.approver is None:
        yield "approver: nobody has approved it"
    elif study.rationale is None:
        yield "rationale: its approver says no reason"
    yield _OTHER_FORM.format("judge_instrument_sha256")


def _other(study: JudgeAgreementStudy) -> str:
    return quote(next(label for label in study.labels if label != study.positive))


def _their_digest(instrument: JudgeInstrument) -> str:
    """The digest that EvalGlass gives to an instrument: SHA-256 of JSON with sorted keys, no spaces, ASCII."""
    fields = {name: value for name, value in instrument.to_dict().items() if name != "schema"}
    return hashlib.sha256(json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
