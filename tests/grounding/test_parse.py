"""Parsers are total: any text gives a stance, or unparsed with the reason; nothing is read that was not said."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.grounding.elicitation import EARLIER, TEMPLATES
from calibrant.grounding.parse import LONGEST, PARSERS, Unparsed, parse
from calibrant.records.grounding import Expectation
from calibrant.records.outcome import Boolean, Number, Text
from calibrant.records.subject import Response

COUNT, BOOL, WORDS = Number(kind="number"), Boolean(kind="boolean"), Text(kind="text")
JSON, LINES, PLAIN, FEW = (TEMPLATES[name] for name in ("json", "lines", "plain", "few-shot"))


def read(template, text, outcome=COUNT, **fields):
    return parse(template, outcome, Response(text=text, **fields))


def short(found):
    if isinstance(found, Unparsed):
        return "unparsed"
    committed = [v for v in (found.option, found.value, found.interval, found.text) if v is not None]
    return (found.stance, *committed)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"stance": "assert", "answer": 2}', ("assert", "2")),
        ('{"stance": "ASSERT", "answer": "two"}', ("assert", "2")),
        ('{"stance": "infer", "answer": 2}', ("infer", "2")),
        ('{"stance": "infer", "answer": "a few"}', ("infer", "a few")),
        ('{"stance": "decline", "answer": null}', ("decline",)),
        ('{"stance": "decline", "answer": 2}', ("decline",)),
        ('Sure!\n```json\n{"stance": "assert", "answer": 2}\n```\nDone.', ("assert", "2")),
        ('{"stance": "assert", "answer": "2\n", "how": "a\tb\nc"}', ("assert", "2")),
        ('{"stance": "assert", "answer": 2, "how": "by \\alpha and C:\\temp"}', ("assert", "2")),
        ('{"stance": "assert", "answer": {"low": 1, "high": 3}}', ("assert", (1, 3))),
        ('{"answer": 2}', "unparsed"),
        ('{"stance": "maybe", "answer": 2}', "unparsed"),
        ('{"stance": "assertive", "answer": 2}', "unparsed"),
        ('{"stance": ["assert"], "answer": 2}', "unparsed"),
        ('{"stance": "assert", "stance": "decline", "answer": 2}', "unparsed"),
        ('{"stance": "assert", "Stance": "decline", "answer": 2}', "unparsed"),
        ('{"stance": "assert", "answer": 2} {"stance": "decline"}', "unparsed"),
        ('{"stance": "assert", "answer": null}', "unparsed"),
        ('{"stance": "assert", "answer": "many"}', ("assert", "many")),
        ('{"stance": "assert", "answer": NaN}', ("assert", "NaN")),
        ('"assert"', "unparsed"),
        ("[1, 2]", "unparsed"),
        ("7", "unparsed"),
        ("assert 2", "unparsed"),
        ("{" * 5000, "unparsed"),
        ('{"a":' * 5000, "unparsed"),
    ],
)
def test_json(text, expected) -> None:
    assert short(read(JSON, text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("STANCE: assert\nANSWER: 2\nCONFIDENCE: 80%\nHOW: nproc", ("assert", "2")),
        ("**Stance:** assert\n**Answer:** 2", ("assert", "2")),
        ("- stance : decline", ("decline",)),
        ("Stance: assert\nAnswer: 2\nStance: assert", ("assert", "2")),
        ("STANCE: assert\nSTANCE: decline\nANSWER: 2", "unparsed"),
        ("STANCE: not assert\nANSWER: 2", "unparsed"),
        ("ANSWER: 2", "unparsed"),
        ("My stance is that STANCE: assert", "unparsed"),
    ],
)
def test_lines(text, expected) -> None:
    assert short(read(LINES, text)) == expected


@pytest.mark.parametrize(
    ("stated", "expected"),
    [("80", 0.8), ("80%", 0.8), ("0.8%", 0.008), ("8/10", 0.8), ("0", 0.0), ("1.5", 0.015)]
    + [(either, None) for either in ("0.8", "1", ".95", "1.0", "95.5.1", "nan", "101", "-1")],
)
def test_a_bare_number_that_may_be_a_share_or_per_cent_is_neither(stated: str, expected: float | None) -> None:
    said = read(LINES, f"STANCE: assert\nANSWER: 2\nCONFIDENCE: {stated}")
    assert (said.confidence, said.confidence_stated) == (expected, stated)


def test_runs_of_the_earlier_lines_are_read_as_they_were() -> None:
    earlier = LINES.model_copy(update={"parser": "lines.v1"})
    said = read(earlier, "STANCE: assert\nANSWER: 2\nCONFIDENCE: 0.8")
    assert said.confidence == 0.008


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" 8\n\nQ: next", ("assert", "8")),
        (" 8.", ("assert", "8")),
        (" I do not know.", ("decline",)),
        (" I don’t know, but perhaps 8.", ("decline",)),
        (" Unknown.", ("decline",)),
        (" Unknownville", "unparsed"),
        (" Probably 8.", ("infer", "8")),
        (" I think it is 8", ("infer", "8")),
        (" Likely", ("infer",)),
        (" eight or nine", "unparsed"),
        (" Yes, I do not know.", "unparsed"),
        (" Cow: I do not know. Chicken: I do not know.", "unparsed"),
        ("\n\n", "unparsed"),
    ],
)
def test_few_shot(text, expected) -> None:
    assert short(read(FEW, text)) == expected


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
@given(text=st.text() | st.text(alphabet='{}[]":,\\ \nastncelirdf0123456789.'))
def test_every_parser_is_total(template, text) -> None:
    for outcome in (COUNT, BOOL, WORDS):
        found = read(template, text, outcome)
        assert isinstance(found, Expectation) or found.reason


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_any_json_at_all_is_read_or_unparsed(value) -> None:
    assert isinstance(read(JSON, json.dumps(value)), Expectation | Unparsed)
    assert isinstance(
        read(JSON, json.dumps({"stance": "assert", "answer": value, "confidence": value})), Expectation | Unparsed
    )


CONFIDENCES = [
    (JSON, 0.8, 0.8),
    (JSON, "80%", 0.8),
    (JSON, "8/10", 0.8),
    (JSON, "8 out of 10", 0.8),
    (JSON, 0, 0.0),
    (JSON, 1, 1.0),
    (JSON, 95, None),
    (JSON, 1000000000000000, None),
    (JSON, -0.1, None),
    (JSON, "110%", None),
    (JSON, "likely", None),
    (JSON, "1/0", None),
    (JSON, True, None),
    (JSON, [0.5], None),
    (LINES, "likely", 0.75),
    (LINES, "Very likely", 0.9),
    (LINES, "unlikely", 0.25),
    (LINES, "95", 0.95),
    (LINES, "0.5", None),
    (LINES, "certainly", None),
]


@pytest.mark.parametrize(("template", "stated", "expected"), CONFIDENCES)
def test_confidence_is_read_by_the_template_and_never_clamped(template, stated, expected) -> None:
    if template is JSON:
        text = json.dumps({"stance": "assert", "answer": 2, "confidence": stated})
    else:
        text = f"STANCE: assert\nANSWER: 2\nCONFIDENCE: {stated}"
    found = read(template, text)
    assert found.confidence == expected
    assert found.confidence_stated == str(stated)
    assert (found.confidence_source == "stated") == (expected is not None)
    assert found.stance == "assert"


def test_the_probability_of_the_tokens_counts_only_where_nothing_was_stated() -> None:
    assert read(FEW, " 8", probability=0.25).confidence == 0.25
    assert read(FEW, " 8", probability=0.25).confidence_source == "token-probability"
    stated = read(JSON, '{"stance": "assert", "answer": 2, "confidence": 95}', probability=0.25)
    assert (stated.confidence, stated.confidence_stated) == (None, "95")


def test_a_reply_beyond_the_limit_is_unparsed() -> None:
    assert isinstance(read(JSON, "x" * (LONGEST + 1)), Unparsed)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
@pytest.mark.parametrize("unit", ["{", '{"a":', "\\", "STANCE: ", "*", "i do not know ", '"', "A:", "\n"])
def test_a_hostile_reply_takes_no_time(template, unit) -> None:
    assert read(template, unit * (LONGEST // len(unit))) is not None


def test_every_template_names_a_parser_and_every_parser_a_version() -> None:
    assert {template.parser for template in (*TEMPLATES.values(), *EARLIER)} == set(PARSERS)
    assert all(name.rpartition(".v")[2].isdigit() for name in PARSERS)
