"""Documents: what a file means, where in it each field stands, and what is refused, in which words."""

from __future__ import annotations

import json
import re
import time
from contextlib import suppress
from io import StringIO
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from calibrant import canonical
from calibrant.errors import InputError, Problem
from calibrant.records import yaml as yaml_reader
from calibrant.records.documents import read_document, read_jsonl
from calibrant.records.profile import Profile
from calibrant.records.yaml import MOST_ALIASED
from tests.strategies import json_values


def yaml(text: str | bytes) -> Any:
    return read_document(text.encode() if isinstance(text, str) else text, "a.yaml").value


def problem(text: str | bytes, file: str = "a.yaml") -> Problem:
    with pytest.raises(InputError) as refused:
        read_document(text.encode() if isinstance(text, str) else text, file)
    assert len(refused.value.problems) == 1
    assert refused.value.problems[0].where.file == file
    return refused.value.problems[0]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("no", "no"),
        ("NO", "NO"),
        ("on", "on"),
        ("yes", "yes"),
        ("y", "y"),
        ("off", "off"),
        ("2024-01-01", "2024-01-01"),
        ("2024-01-01T10:00:00Z", "2024-01-01T10:00:00Z"),
        ("1_000", "1_000"),
        ("12:30", "12:30"),
        ("1.2.3", "1.2.3"),
        ("1,000", "1,000"),
        ("0b11", "0b11"),
        ("true", True),
        ("True", True),
        ("FALSE", False),
        ("tRue", "tRue"),
        ("null", None),
        ("~", None),
        ("", None),
        ("nULL", "nULL"),
        ("0", 0),
        ("-0", 0),
        ("+7", 7),
        ("-19", -19),
        ("0o17", 15),
        ("0x1F", 31),
        ("0.5", 0.5),
        (".5", 0.5),
        ("1.", 1.0),
        ("1e3", 1000.0),
        ("-1.5E-3", -0.0015),
        ("9007199254740991", 2**53 - 1),
        ("'012'", "012"),
        ('"no"', "no"),
        ("'true'", "true"),
        ("!!str 012", "012"),
        ("! 12", "12"),
        ("!!int '12'", 12),
        ("!!float 3", 3.0),
        ("!!bool 'true'", True),
        ("!!null ''", None),
        ("!!map {b: 1}", {"b": 1}),
        ("!!seq [1]", [1]),
        ("|\n  a\n   b\n", "a\n b\n"),
        (">\n  a\n  b\n", "a b\n"),
        ('"\\x41\\u00e9\\U0001f600\\ud83d\\ude00\\0"', "Aé\U0001f600\U0001f600\0"),
        ("a\u2028b\x85c", "a\u2028b\x85c"),
        ("\u202eabc", "\u202eabc"),
        ("[1, no, {b: on}]", [1, "no", {"b": "on"}]),
        ("c # comment", "c"),
        ("c#d", "c#d"),
        ("http://x", "http://x"),
        ("- b\n- c", None),
    ],
)
def test_a_scalar_means_what_the_core_schema_of_yaml_1_2_says(written: str, value: Any) -> None:
    if written.startswith("- "):
        assert yaml(f"a:\n{written}\n") == {"a": ["b", "c"]}
        return
    read = yaml(f"a: {written}\n")["a"]
    assert read == value
    assert type(read) is type(value)


@given(json_values(12))
def test_json_that_is_read_as_yaml_is_the_same_value(value: Any) -> None:
    long_keys = any(len(key) > 100 for key in _keys(value))  # YAML bounds a key that stands before its colon
    if not long_keys:
        text = json.dumps({"a": canonical.decode(canonical.encode(value))})
        if not any(len(part) >= 16 and part.isdigit() for part in text.replace("-", " ").split()):
            assert yaml(text) == read_document(text.encode(), "a.json").value


def _keys(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(key for item in value.values() for key in _keys(item))]
    return [key for item in value for key in _keys(item)] if isinstance(value, list) else []


plain_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.text("ab: -#'\"\n\\é0no1.,[]{}&*!|>%@`?~", max_size=8),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text("abé: -0", max_size=4), below, max_size=3),
    max_leaves=8,
)


@given(plain_values)
def test_what_another_writer_wrote_is_read_back(value: Any) -> None:
    out = StringIO()
    writer = YAML(typ="safe", pure=True)
    writer.default_flow_style = False
    writer.dump({"a": value}, out)
    assert yaml(out.getvalue()) == {"a": value}


@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
    | st.text("ab:-[]{}&*!|>'\"%@` \n\t#?,~<0.", max_size=40)
)
@settings(max_examples=400)
def test_any_text_is_a_value_or_one_clear_refusal(text: str) -> None:
    for file in ("a.yaml", "a.json"):
        try:
            read_document(text.encode(), file)
        except InputError as refused:
            told = str(refused)
            assert told.startswith(file)
            assert told.isprintable()
            assert "ruamel" not in told
            assert "Traceback" not in told


PIECES = [
    *("a", "b c", "- ", ": ", ":", "\n", "\n  ", "\n    ", "  ", " ", "#", " # c", "'x'", "'it''s'"),
    *('"y z"', '"q\\n"', "[", "]", "{", "}", ", ", "? ", "|\n", "> \n", "---\n", "...\n", "\t", "é"),
    *("*a", "&a ", "!t ", "key: ", "1", "'", '"', "a#b", "a:b", "\n\n", "\n- ", "\nk: ", "\n  m: ", "\n  - ", "%"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
@settings(max_examples=500)
def test_reading_a_line_in_one_step_gives_what_the_parser_gives_by_itself(text: str) -> None:
    def events(*, quick: bool) -> list[Any] | None:
        parser = YAML(typ="safe", pure=True)
        if quick:
            parser.Scanner, parser.Reader = yaml_reader._Scanner, yaml_reader._Reader
        try:
            return [(type(e), vars_of(e), e.start_mark.line, e.start_mark.column) for e in parser.parse(text)]
        except YAMLError:
            return None

    def vars_of(event: Any) -> tuple[Any, ...]:
        return tuple(str(getattr(event, name, None)) for name in ("value", "style", "anchor", "tag", "implicit"))

    assert events(quick=True) == events(quick=False)


@given(st.binary(max_size=40))
def test_any_bytes_are_a_value_or_a_refusal(data: bytes) -> None:
    for file in ("a.yaml", "a.json"):
        with suppress(InputError):
            read_document(data, file)


@pytest.mark.parametrize(
    ("text", "line", "field", "said"),
    [
        (": b", 1, None, "a colon without a key"),
        ("x: 1\na: 012", 2, "a", '"012", which may be text, decimal or octal'),
        ("a: 00.5", 1, "a", "which may be text, decimal or octal"),
        ("a: [1, .nan]", 1, "a[1]", ".nan; expected a finite number"),
        ("a: -.inf", 1, "a", "-.inf; expected a finite number"),
        ("a: 1e400", 1, "a", "a number that fits a double"),
        ("a: 1e-400", 1, "a", "tell from zero"),
        ("a: 9007199254740993", 1, "a", 'Write it as text: "9007199254740993".'),
        ("a:\n  b: !!python/object:os.system x", 2, "a.b", 'the tag "!!python/object:os.system"'),
        ("a: !thing {}", 1, "a", 'the tag "!thing"'),
        ("a: !!int x", 1, "a", '"x" under the tag !!int'),
        ("a: !!binary aGk=", 1, "a", 'the tag "!!binary"'),
        ("a: !!set {b}", 1, "a", 'the tag "!!set"'),
        ("a: 1\nb: 2\na: 3", 3, None, 'the key "a" twice in one map, first in line 1'),
        ("c:\n  d: 1\n  'd': 2", 3, "c", 'the key "d" twice in one map, first in line 2'),
        ("a: 1\n2: b", 2, None, 'the key 2, which is no text; expected text as a key. Quote it: "2".'),
        ("true: b", 1, None, "the key true"),
        ("~: b", 1, None, "the key ~"),
        ("? [b]\n: c", 1, None, "a list or a map as a key"),
        ("a: &x [*x]", 1, "a[0]", "inside of what it stands for"),
        ("a: &x\n  b: *x", 2, "a.b", "inside of what it stands for"),
        ("a: *x", 1, "a", "which no anchor above it has"),
        ("a: b\n---\nc: d", 2, None, "a second document"),
        ("%YAML 1.1\n---\na: no", 2, None, "YAML 1.1; expected YAML 1.2"),
        ("%YAML 2.0\n---\na: no", 1, None, "expected YAML 1.2"),
        ("a: b\nc:\n\td: 1", 3, None, "a tab (column 1)"),
        ("a:\tb", 1, None, "a tab (column 3)"),
        ("a:\n  b: 1\n c: 2", 3, None, "a line indented unlike its neighbours (column 2)"),
        ("a: b\n  c: d", 2, None, "a colon where no key can stand (column 4)"),
        ("a: b: c", 1, None, "a colon where no key can stand (column 5)"),
        ("a:\n- b\nc\nd: e", 3, None, "a line without a colon"),
        ("a: 1\nb: 'x\nc: y", 2, None, "a quotation mark that is never closed (column 4)"),
        ('a: "x', 1, None, "a quotation mark that is never closed"),
        ("a: [1, 2\nb: 3", 1, None, "a list in [ ] that goes on without a comma (column 4)"),
        ("a: {b: 1", 1, None, "a map in { } that goes on without a comma (column 4)"),
        ("a: @x", 1, None, "text that starts with `@`"),
        ("a: `x`", 1, None, "text that starts with ```"),
        ("a: %x", 1, None, "text that starts with `%`"),
        ('a: "\\q"', 1, None, "the escape `\\q`"),
        ('a: "\\x1"', 1, None, "an escape that is cut short"),
        ("a: 'x' y", 1, None, "more text behind a value that had ended"),
        ("a: - b", 1, None, "a list item (`- `) behind other text"),
        ("- a\nb: c", 2, None, "a line that is no item of the list around it"),
        ('a: "\\ud800"', 1, "a", "a lone surrogate"),
        ("a: x\x01", 1, None, 'U+0001 (column 5); expected printable text. Drop it, or write it as "\\x01"'),
        ("a: b\nc: \x7f", 2, None, "U+007F (column 4)"),
        ("a: \ufffe", 1, None, "U+FFFE"),
        ("", None, None, "an empty file"),
        (" \n\n", None, None, "an empty file"),
        ("# nothing\n", 2, None, "a file without a value"),
    ],
)
def test_what_is_wrong_is_told_with_its_place_and_in_plain_words(
    text: str, line: int | None, field: str | None, said: str
) -> None:
    told = problem(text)
    assert (told.where.line, told.where.field) == (line, field)
    assert said in str(told)


@pytest.mark.parametrize(
    ("text", "line", "field", "said"),
    [
        ('{"a": 1,\n"b": {\n"c": 2,\n"c": 3}}', 4, "b.c", 'the key "c" twice in one map, first in line 3'),
        ('{"a": [1,\nNaN]}', 2, "a[1]", "NaN"),
        ('{"a": [1,\n-Infinity]}', 2, "a[1]", "Infinity"),
        ('{"a": [1,\n1e999]}', 2, "a[1]", "fits a double"),
        ('{"a": 1,\n\n"b": "\\ud800"}', 3, "b", "a lone surrogate"),
        ('{"a":\n99999999999999999999}', 2, "a", "the integer"),
        ('{"a": 1,\n}', 2, None, "column 1"),
        ('{"a": "x\ny"}', 1, None, "control character"),
        ("", None, None, "an empty file"),
        ("{'a': 1}", 1, None, "property name enclosed in double quotes"),
    ],
)
def test_what_is_wrong_in_json_is_told_with_its_line(text: str, line: int | None, field: str | None, said: str) -> None:
    told = problem(text, "a.json")
    assert (told.where.line, told.where.field) == (line, field)
    assert said in str(told)


def test_merge_keys_are_keys_like_any_other() -> None:
    assert yaml("a: &x {b: 1}\nc:\n  <<: *x\n") == {"a": {"b": 1}, "c": {"<<": {"b": 1}}}


def test_aliases_are_read_and_each_keeps_its_own_place() -> None:
    read = read_document(b"a: &x\n  b: 1\nc: *x\n&k d: 2\ne: *k\n", "a.yaml")
    assert read.value == {"a": {"b": 1}, "c": {"b": 1}, "d": 2, "e": "d"}
    assert [read.lines(path) for path in [("a",), ("a", "b"), ("c",), ("c", "b")]] == [1, 2, 3, 2]


@pytest.mark.parametrize("width", [2, 10, 100])
def test_aliases_that_explode_are_refused_at_once(width: int) -> None:
    names = [f"n{index}" for index in range(40)]
    lines = [f"{names[0]}: &{names[0]} [{', '.join(['x'] * width)}]"]
    lines += [f"{b}: &{b} [{', '.join([f'*{a}'] * width)}]" for a, b in pairwise(names)]
    started = time.perf_counter()
    assert f"aliases that repeat more than {MOST_ALIASED} values" in problem("\n".join(lines)).found
    assert time.perf_counter() - started < 10


def test_as_many_aliases_as_a_person_writes_are_fine() -> None:
    assert len(yaml("a: &a [1, 2, 3]\nb: [" + ", ".join(["*a"] * 5000) + "]")["b"]) == 5000


@pytest.mark.parametrize("file", ["a.yaml", "a.json"])
def test_nesting_is_bounded_like_that_of_any_record(file: str) -> None:
    deepest = "[" * canonical.MAX_DEPTH + "]" * canonical.MAX_DEPTH
    assert read_document(deepest.encode(), file).value
    assert "nesting deeper than 64" in problem(f"[{deepest}]", file).found
    assert "nesting deeper than 64" in problem('{"a":' * 100_000, file).found


def test_aliases_do_not_nest_deeper_than_what_is_written_out() -> None:
    half = canonical.MAX_DEPTH // 2
    inner, outer = "[" * half + "]" * half, ("[" * (half - 1), "]" * (half - 1))
    assert yaml(f"a: &x {inner}\nb: {outer[0]}*x{outer[1]}")
    assert "nesting deeper" in problem(f"a: &x {inner}\nb: [{outer[0]}*x{outer[1]}]").found


def test_byte_order_mark_and_line_ends_change_nothing() -> None:
    text = 'a: |\n  b\n  c\nd: "e\n  f"\n'
    assert yaml(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()) == yaml(text) == yaml(text.replace("\n", "\r"))
    assert yaml(text) == {"a": "b\nc\n", "d": "e f"}


@pytest.mark.parametrize("data", [b"\xff\xfea\x00", b"a: \xed\xa0\x80", b"a: b\nc: \x80"])
def test_bytes_that_are_not_utf_8_are_refused_with_their_line(data: bytes) -> None:
    told = problem(data)
    assert "not UTF-8" in told.found
    assert told.where.line == data[: data.find(b"\x80")].count(b"\n") + 1


def test_private_characters_survive_beside_line_separators() -> None:
    text = "\U000f0000\u2028\U000f0001\u2029\x85\U000f0002"
    assert yaml(f"a: '{text}'") == {"a": text}


@pytest.mark.parametrize("make", ["plain", "block", "quoted"])
def test_a_text_of_ten_megabytes_is_read(make: str) -> None:
    text = "x yz" * 2_500_000
    written = {"plain": f"a: {text}", "block": f"a: |-\n  {text}", "quoted": f"a: '{text}'"}[make]
    assert yaml(written) == {"a": text}


@pytest.mark.parametrize("file", ["a", "a.txt", "a.yaml.bak", "yaml"])
def test_another_ending_is_refused(file: str) -> None:
    assert ".yaml, .yml or .json" in problem("a: 1", file).expected


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("a.yaml", "a:\n- 1\n-\n  b:\n    2\nc: {d: 3,\n  e: 4}\n"),
        ("a.json", '{"a":\n[1,\n{\n"b":\n2}],\n"c": {"d": 3,\n"e": 4}}'),
    ],
)
def test_each_field_knows_its_line_and_what_is_not_there_the_line_around_it(file: str, text: str) -> None:
    read = read_document(text.encode(), file)
    paths = [("a", 0), ("a", 1, "b"), ("c", "d"), ("c", "e"), ("a", 9), ("c", "x", 1), ("z",), (), (0,), ("a", "b")]
    first = {"a.yaml": [2, 4, 6, 7, 1, 6, 1, 1, 1, 1], "a.json": [2, 4, 6, 7, 1, 6, 1, 1, 1, 1]}[file]
    assert [read.lines(path) for path in paths] == first
    assert str(read.where("c", "e")) == f"{file}:7: c.e"


def test_a_record_is_read_with_every_problem_at_its_line() -> None:
    text = b"schema: calibrant.profile.v1\nid: a b\nlabel_sets: []\ntest_types:\n- id: x\n  labelset: y\n"
    with pytest.raises(InputError) as refused:
        read_document(text, "p.yaml").record(Profile)
    places = {(p.where.line, p.where.field) for p in refused.value.problems}
    assert {(2, "id"), (6, "test_types[0].labelset"), (5, "test_types[0].label_set")} <= places
    for wrong, said in [(b"- a", "the list"), (b"text", '"text"'), (b"null", "no value"), (b"true", "true")]:
        with pytest.raises(InputError, match=re.escape("expected a map, the fields of calibrant.profile.v1")) as other:
            read_document(wrong, "p.yaml").record(Profile)
        assert said in str(other.value)


def test_json_lines_are_read_one_by_one_with_their_numbers() -> None:
    lines = [b'\xef\xbb\xbf{"a": 1}\r\n', b"\n", b"  \n", b"[2]\n", b'"x"']
    assert list(read_jsonl(lines, "a.jsonl")) == [(1, {"a": 1}), (4, [2]), (5, "x")]


@pytest.mark.parametrize("bad", [b"{", b'{"a": 1, "a": 2}', b"NaN", b'"\\ud800"', b'"\xff"', b"1 2"])
def test_a_bad_line_is_refused_with_its_number(bad: bytes) -> None:
    reading = read_jsonl([b"1\n", b"\n", bad], "a.jsonl")
    assert next(reading) == (1, 1)
    with pytest.raises(InputError) as refused:
        next(reading)
    assert (refused.value.problems[0].where.file, refused.value.problems[0].where.line) == ("a.jsonl", 3)
