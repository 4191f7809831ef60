"""What each record refuses by itself, by name: the tables of valid and invalid fields, and the words of the refusal."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.errors import InputError, Where
from calibrant.records.authority import DecisionPolicy
from calibrant.records.base import Record
from calibrant.records.board import BoardHeader, Challenge, Evidence, Seat, Source
from calibrant.records.grounding import Expectation, Label, Resolution, Sealed
from calibrant.records.judge import EvaluatorCapability
from calibrant.records.outcome import Boolean, Categorical, Date, Interval, Number, Option, Set, Text
from calibrant.records.problems import shown
from calibrant.records.profile import LabelChoice, LabelSet, Profile, TestType
from calibrant.records.sealed import SealedAnswer
from calibrant.records.subject import Request, SubjectIdentity
from calibrant.records.terms import Software, Start, Terms
from calibrant.records.types import write_quantity
from tests.records.strategies import quantities
from tests.vectors.records import AT, CHALLENGE, GROUNDING, LABEL_SETS, SEAT, SUBJECT, A

PASS, FAIL = {"name": "p", "counts": "pass"}, {"name": "f", "counts": "fail"}
PROFILE = {"id": "h", "label_sets": LABEL_SETS, "test_types": [{**GROUNDING, "graders": ["mechanical"]}]}
HEADER = {"profile_sha256": A, "frame": "discovery", "seats": [SEAT], "challenges": 1, "challenges_sha256": A}
RESOLVED = {"challenge": "a", "epoch": 1, "sealed_sha256": A, "resolver": {"kind": "k", "version": "1"}, "at": AT}
POLICY = {"id": "p", "metric": "pass_rate", "threshold": 0.5, "min_n": 1}
LABELLED = {"challenge": "a", "epoch": 1, "code": "right", "grader": "mechanical"}


def read(kind: type[Record], fields: dict[str, Any]) -> Record:
    return kind.from_dict({"schema": kind.schema_name, **fields} if kind.schema_name else fields)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (Source, {"kind": "command", "argv": ["a"], "read": "integer"}),
        (Source, {"kind": "command", "params": {"argv": ["a"]}}),
        (Source, {"kind": "pending"}),
        (Evidence, {"text": ""}),
        (Evidence, {"capture": ["nproc"]}),
        (Evidence, {"capture": {"kind": "command", "argv": ["nproc"]}}),
        (Seat, {"id": "é.a:b@c+d-e_1", "lane": "l"}),
        (LabelChoice, {**PASS, "key": "é"}),
        (LabelSet, {"id": "x", "labels": [PASS, FAIL]}),
        (TestType, {"id": "x", "label_set": "y", "graders": []}),
        (Profile, PROFILE),
        (Number, {"kind": "number", "tolerance": 0.1, "relative_tolerance": "1e-3", "plausible": ["−5", "1,024"]}),
        (Categorical, {"kind": "categorical", "open": True}),
        (Categorical, {"kind": "categorical", "values": ["a", "b"], "aliases": {"a": ["c"]}}),
        (Interval, {"kind": "interval", "max_width": 0}),
        (Expectation, {"stance": "assert", "confidence": 0}),
        (Expectation, {"stance": "assert", "confidence": 1}),
        (Expectation, {"stance": "infer", "value": []}),
        (Resolution, {**RESOLVED, "status": "fact", "value": False}),
        (Resolution, {**RESOLVED, "status": "pending"}),
        (Resolution, {**RESOLVED, "status": "error", "reason": "no such program"}),
        (Label, {**LABELLED, "label": "pass"}),
        (EvaluatorCapability, {"kind": "human", "raters": ["Ada", "Björn"]}),
        (SubjectIdentity, {**SUBJECT, "temperature": None, "seed": None}),
        (Start, {"run": "a", "board_sha256": A, "subject_sha256": A, "at": "2026-03-01 11:30:00+02:00"}),
    ],
)
def test_what_is_sound_is_taken(kind: type[Record], fields: dict[str, Any]) -> None:
    assert kind.from_bytes(read(kind, fields).to_bytes()) == read(kind, fields)


@pytest.mark.parametrize(
    ("kind", "fields", "said"),
    [
        (Source, {}, 'found nothing; expected the field "kind". Add it.'),
        (Source, {"kind": "command", "params": {}, "argv": []}, 'unknown key "argv"'),
        (Evidence, {"text": "x", "capture": ["a"]}, "`text` and `capture`"),
        (Evidence, {}, "neither `text`, `file` nor `capture`"),
        (Evidence, {"text": "x", "settles": "yes"}, 'settles: found "yes"; expected true or false'),
        (Evidence, {"capture": "nproc"}, 'capture: found "nproc"; expected a map'),
        (Evidence, {"capture": [float("nan")]}, "expected a finite number"),
        (Seat, {"id": "", "lane": "l"}, 'the id ""'),
        (Seat, {"id": "-a", "lane": "l"}, "a letter or digit first"),
        (Seat, {"id": "a b", "lane": "l"}, 'the id "a b"'),
        (Seat, {"id": "a/b", "lane": "l"}, 'the id "a/b"'),
        (Seat, {"id": "x" * 201, "lane": "l"}, "1 to 200"),
        (Seat, {"id": 12, "lane": "l"}, "id: found 12; expected text. Put it in quotes."),
        (Seat, {"id": "a", "lane": " \n"}, "empty text"),
        (Seat, {"id": "a", "lane": None}, "lane: found no value; expected text."),
        (Seat, {"id": "a", "lane": "l", "name": "two\nlines"}, "a name: printable text in one line"),
        (Seat, {"id": "a", "lane": "l", "name": "\x1b[31m"}, '"\\x1b[31m"'),
        (Seat, {"id": "a", "lane": "l", "evidence": {}}, "evidence: found an empty map; expected a list"),
        (Challenge, {**CHALLENGE, "half": None}, "`pair_id` without `half`"),
        (Challenge, {**CHALLENGE, "turns": [{"role": "system", "content": "x"}]}, '"user" or "assistant"'),
        (BoardHeader, {**HEADER, "seats": [SEAT, SEAT]}, 'the seat "sysadmin" twice'),
        (BoardHeader, {**HEADER, "challenges": 0}, "1 or more"),
        (BoardHeader, {**HEADER, "challenges_sha256": A.upper()}, "64 lower-case hexadecimal digits"),
        (BoardHeader, {**HEADER, "profile_sha256": A[1:]}, "64 lower-case hexadecimal digits"),
        (LabelChoice, {**PASS, "key": "ab"}, "at most 1 characters"),
        (LabelSet, {"id": "x", "labels": [PASS]}, "at least one label that passes and one that fails"),
        (LabelSet, {"id": "x", "labels": [PASS, FAIL, PASS]}, 'the name "p" twice'),
        (LabelSet, {"id": "x", "labels": [{**PASS, "key": "k"}, {**FAIL, "key": "k"}]}, 'the key "k" twice'),
        (TestType, {"id": "x", "label_set": "y", "graders": ["jugde"]}, 'Did you mean "judge"?'),
        (
            TestType,
            {"id": "x", "label_set": "y", "graders": [], "paired": "sometimes"},
            '"required", "optional" or "never"',
        ),
        (TestType, {"id": "x", "label_set": "y", "graders": [], "required": ["targets"]}, 'Did you mean "target"?'),
        (Profile, {**PROFILE, "label_sets": [*LABEL_SETS, *LABEL_SETS]}, 'the label set "pass-fail" twice'),
        (Profile, {**PROFILE, "test_types": []}, "no test type"),
        (Profile, {**PROFILE, "label_sets": []}, "no label set"),
        (Profile, {**PROFILE, "word_cap": 0}, "1 or more"),
        (Profile, {**PROFILE, "word_cap": 99.5}, "99.5; expected a whole number"),
        (Number, {"kind": "number", "tolerance": -1}, "a tolerance of zero or more"),
        (Number, {"kind": "number", "tolerance": True}, "true; expected a number"),
        (Number, {"kind": "number", "tolerance": "1,5"}, '"1,5"; expected a number'),
        (Number, {"kind": "number", "plausible": [4, 1]}, "Swap the ends."),
        (Number, {"kind": "number", "plausible": [1]}, "plausible"),
        (Number, {"kind": "number", "options": [{"name": "a"}, {"name": "a"}]}, 'the option "a" twice'),
        (Number, {"kind": "number", "options": [{"name": "a", "prior": 0.5}, {"name": "b"}]}, "adding up to 1"),
        (Number, {"kind": "number", "options": [{"name": "a", "prior": 0.5}]}, "priors that add up to 0.5"),
        (Categorical, {"kind": "categorical"}, "no values; expected at least two values"),
        (Categorical, {"kind": "categorical", "values": ["a"]}, "one value; expected at least two values"),
        (Interval, {"kind": "interval", "max_width": -0.5}, "a max_width of zero or more"),
        (Date, {"kind": "date", "precision": "hour"}, '"day", "month" or "year"'),
        (
            Expectation,
            {"stance": "assert", "value": "x", "text": "y"},
            "at most one of option, value, interval and text",
        ),
        (Expectation, {"stance": "assert", "confidence": 1.1}, "1 or less"),
        (Expectation, {"stance": "assert", "confidence": -0.1}, "0 or more"),
        (Expectation, {"stance": "assert", "confidence": float("nan")}, "a finite number"),
        (Expectation, {"stance": "claim"}, '"assert", "infer" or "decline"'),
        (Sealed, {"nonce": "0" * 32}, "an expectation, or the reason"),
        (Sealed, {"nonce": "0" * 31, "unparsed": "x"}, "nonce"),
        (Resolution, {**RESOLVED, "status": "fact"}, "a fact without a value"),
        (Resolution, {**RESOLVED, "status": "not-determinable"}, "without a basis"),
        (Resolution, {**RESOLVED, "status": "no-record"}, "no-record without a reason"),
        (Resolution, {**RESOLVED, "status": "pending", "due": "2026-03-01T09:30:00"}, "a time without a zone"),
        (Resolution, {**RESOLVED, "status": "pending", "due": "2026-02-30T09:30:00Z"}, "an instant"),
        (Resolution, {**RESOLVED, "status": "pending", "due": 1772357400}, "due"),
        (Label, LABELLED, "a label, or a non-score"),
        (Label, {**LABELLED, "label": "pass", "non_score": "unparsed"}, "a label, or a non-score"),
        (Label, {**LABELLED, "label": "pass", "epoch": 0}, "1 or more"),
        (EvaluatorCapability, {"kind": "mechanical", "raters": ["Ada"]}, "only people are raters"),
        (EvaluatorCapability, {"kind": "human", "raters": ["b", "a"]}, "each name once, in sorted order"),
        (EvaluatorCapability, {"kind": "human", "raters": ["a", "a"]}, "each name once, in sorted order"),
        (DecisionPolicy, {**POLICY, "metric": "passrate"}, 'Did you mean "pass_rate"?'),
        (DecisionPolicy, {**POLICY, "metric": "kappa"}, ' or "selective_accuracy"'),
        (
            DecisionPolicy,
            {**POLICY, "metric": "invention_rate", "direction": "at-least"},
            "Write `direction: at-most`.",
        ),
        (SealedAnswer, {"challenge": "a", "salt": "0" * 32}, "expected a target, a source or a note"),
        (SealedAnswer, {"challenge": "a", "salt": "0" * 16, "note": "n"}, "salt: found"),
        (Terms, {}, 'run: found nothing; expected the field "run"'),
        (Request, {"challenge": "a", "epoch": 1, "json_schema": {"a": {1: 2}}}, "expected text"),
        (Option, {"name": "a", "prior": 2}, "1 or less"),
        (Software, {"calibrant": "", "python": "3", "platform": "x"}, "a name"),
    ],
)
def test_what_is_unsound_is_refused_in_words_that_say_what_to_do(
    kind: type[Record], fields: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as refused:
        read(kind, fields)
    told = str(refused.value)
    assert said in told
    for jargon in ("Input should", "[type=", "pydantic", "tuple", "dictionary", "NoneType", "ctx"):
        assert jargon not in told


def test_every_wrong_field_is_told_at_once_with_its_path_and_line() -> None:
    fields = {"id": "a b", "lane": 3, "evidence": [{"text": "x"}, {"capture": {}}], "nme": "x"}
    with pytest.raises(InputError) as refused:
        Seat.from_dict(fields, where=Where("s.yaml", 1, "seats[2]"), lines=lambda path: 10 + len(path))
    assert {(str(p.where.file), p.where.line, p.where.field) for p in refused.value.problems} == {
        ("s.yaml", 11, "seats[2].id"),
        ("s.yaml", 11, "seats[2].lane"),
        ("s.yaml", 14, "seats[2].evidence[1].capture.kind"),
        ("s.yaml", 11, "seats[2].nme"),
    }


def test_an_outcome_is_told_apart_by_its_kind() -> None:
    kinds = (Categorical, Boolean, Number, Interval, Date, Set, Text)
    more = {"categorical": {"open": True}, "interval": {"max_width": 1}}
    for kind in kinds:
        name = kind.__name__.lower()
        challenge = read(Challenge, {**CHALLENGE, "outcome": {"kind": name, **more.get(name, {})}})
        assert type(challenge.outcome) is kind
    for outcome, said in [({}, 'no "kind"'), ({"kind": "nubmer"}, 'Did you mean "number"?'), ("number", '"number"')]:
        with pytest.raises(InputError) as refused:
            read(Challenge, {**CHALLENGE, "outcome": outcome})
        assert said in str(refused.value)


def test_names_are_normalised_and_evidence_is_not() -> None:
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    seat = {
        "id": decomposed,
        "lane": "l",
        "name": decomposed,
        "evidence": [{"text": decomposed}],
        "context": decomposed,
    }
    made = Seat.from_dict(seat)
    assert (made.id, made.name, made.context, made.evidence[0].text) == (composed, composed, decomposed, decomposed)


@given(quantities.map(abs))
def test_a_quantity_has_one_written_form(value: Decimal) -> None:
    digits = format(value, "f")
    forms: list[Any] = [value, digits, f"{digits}00" if "." in digits else f"{digits}.00", f"+{digits}"]
    if value == int(value):
        forms += [int(value), float(value), f"{int(value):,}", f"{int(value)}e0"]
    assert len({Interval.model_validate({"kind": "interval", "max_width": form}).digest() for form in forms}) == 1
    written = write_quantity(value)
    assert Decimal(written) == value
    assert "E" not in written
    assert not ("." in written and written.endswith("0"))


@given(st.floats(1e-60, 1e60) | st.just(0.0))
def test_a_double_is_the_number_that_its_shortest_digits_say(value: float) -> None:
    made = Interval.model_validate({"kind": "interval", "max_width": value})
    assert made.max_width == Decimal(repr(value))


@pytest.mark.parametrize("field", ["plausible", "max_width", "tolerance", "relative_tolerance"])
@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("2 s", "a number without a unit. Write the number alone: in the `unit` of the outcome, a share as 0.05."),
        ("10kB", "a number without a unit"),
        ("−3 °C", "a number without a unit"),
        ("5%", "a number without a unit"),
        ("1e400", "a number from 1e-60 to 1e60 in size, of at most 60 digits"),
        ("1e-400", "a number from 1e-60 to 1e60 in size"),
        ("9" * 61, "of at most 60 digits"),
        (10**61, "of at most 60 digits"),
        ("1,5", "a number."),
        ("5 to 10", "a number."),
        ("soon", "a number."),
        (True, "a number."),
    ],
)
def test_what_is_no_quantity_is_refused_with_why(field: str, value: Any, said: str) -> None:
    given = [value, value] if field == "plausible" else value
    with pytest.raises(InputError) as refused:
        Number.from_dict({"kind": "number", field: given})
    assert said in str(refused.value)
    assert str(refused.value.problems[0].where.field).startswith(field)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "no value"),
        (True, "true"),
        (False, "false"),
        ({}, "an empty map"),
        ({"a": 1}, "a map"),
        ([], "an empty list"),
        ([1], "the list [1]"),
        ("a", '"a"'),
        (1.5, "1.5"),
        ("\x1b[2J", '"\\x1b[2J"'),
    ],
)
def test_a_value_is_shown_in_the_words_of_the_files(value: Any, said: str) -> None:
    assert shown(value) == said
