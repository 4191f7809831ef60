"""Canonical bytes: RFC 8785's own vectors, an outside writer of doubles, every refusal, and input that means harm."""

from __future__ import annotations

import hashlib
import json
import random
import struct
import time
from collections import OrderedDict
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from hypothesis import assume, example, given
from hypothesis import strategies as st

from calibrant import canonical
from calibrant.canonical import MAX_DEPTH, MAX_INTEGER, decode, decode_utf8, digest, encode, normal_name, sha256
from calibrant.errors import InputError, Where, quote
from tests.strategies import json_floats, json_maps, json_text, json_values

VECTORS = Path(__file__).parent / "vectors"
RFC: dict[str, Any] = json.loads((VECTORS / "rfc8785.json").read_text(encoding="utf-8"))
ES6: dict[str, str] = json.loads((VECTORS / "es6_numbers.json").read_text(encoding="utf-8"))["numbers"]


def double(bits: str) -> float:
    return struct.unpack(">d", bytes.fromhex(bits))[0]


def refusal(act: Any, *args: Any, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        act(*args, **options)
    assert len(caught.value.problems) == 1
    return str(caught.value)


class Colour(StrEnum):
    RED = "red"


# --- what RFC 8785 says ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("vector", RFC["values"], ids=lambda v: v["section"])
def test_the_rfcs_example_has_the_rfcs_bytes(vector: dict[str, str]) -> None:
    assert encode(json.loads(vector["text"])).hex() == vector["canonical_hex"]


def test_keys_are_ordered_as_in_the_rfc() -> None:
    encoded = encode(decode(RFC["order"]["text"]))
    assert list(json.loads(encoded).values()) == RFC["order"]["values"]


@pytest.mark.parametrize("sample", RFC["numbers"], ids=lambda s: s["ieee_754"])
def test_numbers_are_written_as_in_appendix_b(sample: dict[str, str | None]) -> None:
    number = double(str(sample["ieee_754"]))
    if sample["json"] is None:
        assert "expected a finite number" in refusal(encode, number)
    else:
        assert encode(number).decode() == sample["json"]


def test_numbers_are_written_as_ecmascript_writes_them() -> None:
    wrong = {bits: text for bits, text in ES6.items() if encode(double(bits)).decode() != text}
    assert len(ES6) > 400 and not wrong


def test_what_ecmascript_writes_is_read_as_the_same_double() -> None:
    assert all(decode(text) == double(bits) for bits, text in ES6.items())


# --- properties -----------------------------------------------------------------------------------------------------


@given(json_values())
@example([float(2**53), -float(2**53), 1e16, 1e20, 1e21, 1e-4, 9.999e-5, -0.0])
@example({"\ue000": 1, "\U00010000": 2})
def test_the_fast_encoder_gives_the_bytes_of_rfc8785(value: Any) -> None:
    assert encode(value) == rfc8785.dumps(value)


@given(json_values())
@example(float(2**53))
@example(1e20)
def test_what_is_encoded_decodes_to_an_equal_value(value: Any) -> None:
    encoded = encode(value)
    assert decode(encoded) == value
    assert encode(decode(encoded)) == encoded


@given(json_floats)
def test_every_double_comes_back_with_all_its_bits(number: float) -> None:
    back = decode(encode(number))
    assert back == number and struct.pack(">d", float(back)) == struct.pack(">d", number + 0.0)


@given(json_maps, st.randoms(use_true_random=False))
def test_the_order_of_keys_moves_no_digest(value: dict[str, Any], chance: random.Random) -> None:
    items = list(value.items())
    chance.shuffle(items)
    assert digest(dict(items)) == digest(value)


@given(json_maps, st.sampled_from(["\n", "\r\n", "\r"]), st.booleans(), st.integers(0, 4))
def test_layout_line_ends_and_a_byte_order_mark_move_no_digest(value: Any, end: str, mark: bool, indent: int) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False).replace("\n", end)
    data = (b"\xef\xbb\xbf" if mark else b"") + text.encode()
    assert digest(decode(data)) == digest(value)


@given(json_values(), json_values())
def test_two_values_have_one_digest_only_where_they_are_equal(one: Any, other: Any) -> None:
    assume(rfc8785.dumps(one) != rfc8785.dumps(other))
    assert digest(one) != digest(other)


def test_zero_is_one_number_and_unset_is_not_zero() -> None:
    assert encode(0) == encode(0.0) == encode(-0.0) == b"0"
    assert digest({"temperature": 0}) == digest({"temperature": 0.0}) != digest({"temperature": None})


def test_tuples_are_lists_and_true_is_not_one() -> None:
    assert encode((1, (2, "x"))) == b'[1,[2,"x"]]'
    assert encode([True, 1, False, 0, None]) == b"[true,1,false,0,null]"


def test_the_digest_is_sha256_of_the_bytes() -> None:
    assert digest({"b": 1, "a": 2}) == hashlib.sha256(b'{"a":2,"b":1}').hexdigest() == sha256(b'{"a":2,"b":1}')


# --- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (float("nan"), "found nan; expected a finite number"),
        (float("inf"), "found inf; expected a finite number"),
        (float("-inf"), "found -inf; expected a finite number"),
        (2**53, "found the integer 9007199254740992; expected an integer within"),
        (-(2**53), "found the integer -9007199254740992; expected an integer within"),
        (10**5000, "found the integer <about 5001 digits>"),
        ("a\ud800", "found a lone surrogate"),
        ("\udc00\ud800", "found a lone surrogate"),
        ({1: 2}, "found the key 1; expected text as a key"),
        ({None: 2}, "found the key None; expected text as a key"),
        ({True: 2}, "found the key True; expected text as a key"),
        ({"a\ud800": 1}, "found a lone surrogate"),
        (b"bytes", "found a value of type bytes"),
        ({1, 2}, "found a value of type set"),
        (Decimal("1.5"), "found a value of type Decimal"),
        (OrderedDict(a=1), "found a value of type OrderedDict"),
        (Colour.RED, "found a value of type Colour"),
        (1 + 2j, "found a value of type complex"),
        (len, "found a value of type builtin_function_or_method"),
    ],
    ids=quote,
)
@pytest.mark.parametrize("place", ["alone", "in a map", "in a list", "beside an odd key"])
def test_what_json_cannot_carry_is_refused_by_its_place(value: Any, found: str, place: str) -> None:
    inside, at = {
        "alone": (value, ""),
        "in a map": ({"fine": 1, "here": value}, "here: "),
        "in a list": ({"list": [0, "fine", {"deep": value}]}, "list[2].deep: "),
        "beside an odd key": ({"é": 1, "here": value}, "here: "),
    }[place]
    message = refusal(encode, inside)
    assert message.startswith(at + found)


def test_a_hostile_key_is_quoted_where_it_leads_to_the_fault() -> None:
    message = refusal(encode, {"\x1b[31m\n": {"a b": [float("nan")]}})
    assert message.startswith(r'["\x1b[31m\n"]["a b"][0]: found nan')


@given(json_values(5), st.sampled_from(["NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e-400"]))
def test_numbers_that_are_none_are_refused_when_read(beside: Any, number: str) -> None:
    refusal(decode, f"[{json.dumps(beside)}, {number}]")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("NaN", "found NaN; expected a finite number"),
        ("[-Infinity]", "found -Infinity; expected a finite number"),
        ("1e400", 'found the number "1e400"; expected a number that fits a double'),
        ("-1e999999999999", "expected a number that fits a double"),
        ("2.5e-400", "expected a number that a double can tell from zero"),
        ("9007199254740993", 'found the integer "9007199254740993"; expected an integer within'),
        ("-9007199254740993", "expected an integer within"),
        ("1152921504606846976", "expected an integer within"),  # 2^60: RFC 8785 writes 1152921504606847000
        ("1000000000000000000000", "expected an integer within"),  # 1e21 has its own spelling
        ('{"a": 1, "b": 2, "a": 3}', 'found the key "a" twice in one map; expected each key once'),
        (r'{"a": 1, "\u0061": 3}', 'found the key "a" twice in one map'),
        (r'["\ud800"]', "[0]: found a lone surrogate"),
        (r'{"x": {"y": "\uDC00\uD800"}}', "x.y: found a lone surrogate"),
        (r'{"\ud800": 1}', "found a lone surrogate"),
        ('["\ud800"]', "[0]: found a lone surrogate"),
        ("", "found the end at column 1; expected JSON, here a value"),
        ("[1, 2", "found the end at column 6; expected JSON, here a ',' delimiter"),
        ("{a: 1}", 'found "a: 1}" at column 2; expected JSON, here a property name enclosed in double quotes'),
        ("[1]]", "found extra data at column 4; expected JSON"),
        ('["a', "found unterminated string starting at column 2; expected JSON"),
        ('["a\x00"]', "found invalid control character at column 4; expected JSON"),
        ("['a']", "expected JSON, here a value"),
        ("[01]", "expected JSON"),
        ("[+1]", "expected JSON"),
        ("[.5]", "expected JSON"),
        ("[1.]", "expected JSON"),
        ("[0x10]", "expected JSON"),
        ("[1_000]", "expected JSON"),
        ("[1,]", "expected JSON"),
        ("// a comment\n1", "expected JSON"),
        ("\u0661", "expected JSON"),  # a digit, and not one of JSON's
    ],
)
def test_text_that_is_not_exact_json_is_refused_in_words(text: str, found: str) -> None:
    assert found in refusal(decode, text)


def test_a_refusal_names_file_line_and_field() -> None:
    where = Where("board.json", 10, "challenges[3]")
    assert refusal(decode, '{\n "a": 1,\n "b" 2}', where=where).startswith(
        'board.json:12: challenges[3]: found "2}" at'
    )
    assert refusal(decode, r'{"a": "\ud800"}', where=where).startswith("board.json:10: challenges[3].a: found a lone")
    assert refusal(decode, "[NaN]", where=where).startswith("board.json:10: challenges[3]: found NaN")
    assert refusal(decode, b'[1,\n"\xff"]', where=Where("x.json")).startswith("x.json:2: found the byte 0xff, which is")


def test_whole_numbers_are_read_up_to_the_largest_exact_one() -> None:
    assert decode(str(MAX_INTEGER)) == MAX_INTEGER and decode(str(-MAX_INTEGER)) == -MAX_INTEGER
    assert decode("-0") == 0
    read = decode("100000000000000000000")
    assert read == 1e20 and type(read) is float


def test_nesting_is_read_and_written_to_the_stated_depth_and_no_further() -> None:
    for kind in ("list", "map"):
        value: Any = 1
        for _ in range(MAX_DEPTH):
            value = [value] if kind == "list" else {"a": value}
        assert decode(encode(value)) == value
        too_deep = [value] if kind == "list" else {"é": value}
        assert "nesting deeper than 64 levels" in refusal(encode, too_deep)
        assert "nesting deeper than 64 levels" in refusal(decode, json.dumps(too_deep))


def test_a_value_that_holds_itself_is_too_deep() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert "nesting deeper than 64 levels" in refusal(encode, loop)


# --- input that means harm: bounded in time, one clear message, never a foreign exception ----------------------------


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[" * 100_000 + "]" * 100_000,
        '{"a":' * 100_000 + "1" + "}" * 100_000,
        "1" * 1_000_000,
        "-" + "9" * 1_000_000,
        "1e" + "9" * 1_000_000,
        "0." + "0" * 1_000_000 + "1",
        "1" * 1_000_000 + ".5",
        '"' + "\\ud800" * 100_000 + '"',
        "[" + "NaN," * 100_000 + "1]",
        "{" + ",".join(f'"k{n}":1' for n in range(100_000)) + ',"k99999":2}',
        '"' + "x" * 10_000_000,
        "\x00" * 1_000_000,
        "\u202e" * 100_000,
        "]" * 100_000,
    ],
    ids=lambda text: f"{text[:8]!r} and {len(text)} characters",
)
def test_hostile_text_is_refused_soon_and_in_one_short_line(text: str) -> None:
    start = time.process_time()
    message = refusal(decode, text)
    assert time.process_time() - start < 5
    assert len(message) < 300 and message.isprintable()


def test_ten_megabytes_of_text_are_carried() -> None:
    text = "né\n" * 3_400_000
    start = time.process_time()
    assert decode(encode({"prompt": text})) == {"prompt": text}
    assert time.process_time() - start < 5


def test_deep_and_wide_values_are_refused_soon() -> None:
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    wide = [[{"a": n} for n in range(1000)] for _ in range(100)] + [float("nan")]
    start = time.process_time()
    assert "nesting deeper" in refusal(encode, deep)
    assert refusal(encode, wide).startswith("[100]: found nan")
    assert time.process_time() - start < 5
    while isinstance(deep, list):  # taken apart by hand: the interpreter would recurse
        deep = deep.pop()


@given(st.binary())
@example(b"\xff")
@example(b"\xef\xbb\xbf\xef\xbb\xbf1")
def test_any_bytes_are_a_value_or_an_input_error(data: bytes) -> None:
    try:
        value = decode(data)
    except InputError:
        return
    assert decode(encode(value)) == value


@given(st.text(alphabet=st.sampled_from('{}[]":,\\/ud80eE+-.0123456789truefalsn \n\x00é\ud800'), max_size=40))
def test_any_text_is_a_value_or_an_input_error(text: str) -> None:
    try:
        value = decode(text)
    except InputError:
        return
    assert decode(encode(value)) == value


# --- text -----------------------------------------------------------------------------------------------------------


@given(json_text, st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_a_files_text_is_one_whatever_its_line_ends_and_byte_order_mark(text: str, end: str, mark: bool) -> None:
    text = text.replace("\r", "").removeprefix("\ufeff")
    data = (b"\xef\xbb\xbf" if mark else b"") + text.replace("\n", end).encode()
    assert decode_utf8(data) == text


@pytest.mark.parametrize(
    ("data", "line", "byte"),
    [(b"a\nb\xe9\n", 2, "0xe9"), (b"\xef\xbb\xbfab\n\n\xff", 3, "0xff"), (b"\xff\xfea", 1, "0xff")],
)
def test_bytes_that_are_not_utf8_are_named_with_their_line(data: bytes, line: int, byte: str) -> None:
    message = refusal(decode_utf8, data, where=Where("seat.md"))
    assert (
        message
        == f"seat.md:{line}: found the byte {byte}, which is not UTF-8; expected UTF-8 text. Save the file as UTF-8."
    )


def test_a_composed_and_a_decomposed_accent_are_one_name() -> None:
    assert normal_name("Zoe\u0308") == normal_name("Zo\u00eb") == "Zo\u00eb"
    assert normal_name("plain-id") == "plain-id"


@given(json_text)
def test_a_normal_name_stays_as_it_is(text: str) -> None:
    assert normal_name(normal_name(text)) == normal_name(text)


def test_evidence_is_never_normalised() -> None:
    assert encode("e\u0301") != encode("\u00e9")
    assert canonical.decode(encode("a\r\nb")) == "a\r\nb"
