"""What moved, readably: fields, words, lists, and texts of people who mean no good."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import canonical
from calibrant.authority.difference import changes, difference, words_changed
from calibrant.records.judge import EvaluatorCapability, PanelInstrument
from tests.authority import rigs
from tests.authority.rigs import JUDGE, OTHER, PROMPT, sha


class Shelf(dict[str, bytes]):
    """Bytes by their digest."""

    def put(self, data: bytes | str) -> str:
        data = data.encode() if isinstance(data, str) else data
        self[canonical.sha256(data)] = data
        return canonical.sha256(data)

    def compare(self, old: Any, new: Any) -> tuple[str, ...]:
        """What moved between two values, as fields of records."""
        before, after = (
            self.put(canonical.encode({"schema": "calibrant.example.v1", "it": value})) for value in (old, new)
        )
        return difference(before, after, self.get)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (0.9, 0.5, "it: 0.9 → 0.5"),
        (None, "x", 'it: nothing → "x"'),
        (True, False, "it: true → false"),
        (True, 1, "it: true → 1"),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "it.a.b: 1 → 2"),
        ({}, {"a": 1}, "it.a: nothing → 1"),
        (["claim"], [], "it: ['claim'] → []"),
        ([{"a": 1}, {"a": 2}], [{"a": 1}, {"a": 3}], "it[1].a: 2 → 3"),
        ([{"a": 1}], [{"a": 1}, {"a": 2}], "it: 1 entries → 2; the first that differs is [1]"),
        (list(range(9)), list(range(1, 9)), "it: 9 entries → 8; the first that differs is [0]"),
    ],
)
def test_a_field_is_shown_with_what_it_was_and_is(old: Any, new: Any, said: str) -> None:
    assert Shelf().compare(old, new) == (said,)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("Be strict.\n", "Be lenient.\n", ["line 1: Be [-strict-]{+lenient+}."]),
        ("a\nb\nc\n", "a\nc\n", ["line 2: [-b-]"]),
        ("a\nc\n", "a\nb\nc\n", ["line 2: {+b+}"]),
        ("a  b\n", "a b\n", ["line 1: a[-  -]{+ +}b"]),
        ("", "hello", ["line 1: {+hello+}"]),
        ("a\n", "a", ["only the ends of lines or the end of the text differ"]),
        ("a\r\nb", "a\nb", ["only the ends of lines or the end of the text differ"]),
        ("never say no", "say no", ["line 1: [-never -]say no"]),
        ("élan", "elan", ["line 1: [-élan-]{+elan+}"]),
    ],
)
def test_changed_words_are_marked(old: str, new: str, said: list[str]) -> None:
    assert list(words_changed(old, new)) == said


words = st.text("ab \n", max_size=30)


@given(words, words)
def test_something_is_said_of_every_two_texts_and_only_of_what_differs(old: str, new: str) -> None:
    if old == new:
        return
    told = list(words_changed(old, new))
    assert told
    assert ("only the ends" in told[0]) is (old.splitlines() == new.splitlines())


@given(st.lists(st.sampled_from(["strict", "kind", "fair", "short"]), min_size=1, max_size=30), st.data())
def test_the_words_that_are_marked_give_both_texts_back(text: list[str], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(text) - 1))
    after = [*text[:place], "other", *text[place + 1 :]]
    (line,) = words_changed(" ".join(text), " ".join(after))
    assert f"[-{text[place]}-]{{+other+}}" in line


def test_a_long_list_of_lines_is_cut_and_counted() -> None:
    told = list(words_changed("\n".join("a" * 100), "\n".join("b" * 100)))
    assert len(told) == 41
    assert told[-1] == "and 60 more lines"


def test_a_long_list_of_fields_is_cut_and_counted() -> None:
    told = Shelf().compare({f"f{n}": n for n in range(100)}, {f"f{n}": -1 - n for n in range(100)})
    assert len(told) == 41
    assert told[-1] == "and 60 more"


def test_a_member_of_a_panel_is_compared_as_deep_as_a_judge() -> None:
    shelf = Shelf()
    lenient = PROMPT.replace("strict", "lenient")
    for text in (PROMPT, lenient):
        shelf.put(text)
    now = rigs.instrument(prompt_sha256=sha(lenient))
    panels = [
        PanelInstrument(members=(OTHER.digest(), judge.digest()), rule="majority", rubric_sha256=JUDGE.rubric_sha256)
        for judge in (JUDGE, now)
    ]
    named = [EvaluatorCapability(kind="judge", instrument_sha256=panel.digest()) for panel in panels]
    for record in (JUDGE, now, OTHER, *panels, *named):
        shelf.put(record.identity_bytes())
    told = difference(named[0].digest(), named[1].digest(), shelf.get)
    path = "instrument_sha256.members[1].prompt_sha256"
    assert told == (f"{path}: line 1: You are a [-strict-]{{+lenient+}} judge.",)
    assert changes(named[0], named[1], shelf.get) == told


@pytest.mark.parametrize("gone", [0, 1, 2])
def test_what_was_not_kept_is_said(gone: int) -> None:
    shelf = Shelf()
    digests = [shelf.put("a"), shelf.put("b")]
    for digest in digests[:gone] if gone < 2 else digests:
        del shelf[digest]
    (told,) = difference(*digests, shelf.get)
    if gone:
        assert {1: "the blessed text", 2: "the blessed and current text"}[gone] in told
        assert digests[0][:12] in told
    else:
        assert told == "line 1: [-a-]{+b+}"


# --- hostile artifacts ----------------------------------------------------------------------------------------------


def test_digests_that_lead_in_a_circle_come_to_an_end() -> None:
    one, two = sha("1"), sha("2")
    fields = {one: {"schema": "x", "next": one}, two: {"schema": "x", "next": two}}
    told = difference(one, two, {name: canonical.encode(value) for name, value in fields.items()}.get)
    assert len(told) == 1


@pytest.mark.parametrize("data", [b"{", b"{}", b'{"schema": ', b'{"a": NaN}', b"\xff\xfe", b"", b"[1]"])
def test_bytes_that_are_no_record_are_compared_as_text(data: bytes) -> None:
    shelf = Shelf()
    assert difference(shelf.put(b"plain"), shelf.put(data), shelf.get)


def _hostile(alphabet: str, words_: int, lines: int, step: int) -> str:
    return "\n".join(
        " ".join(alphabet[(n * step + line) * 7919 % len(alphabet)] for n in range(words_)) for line in range(lines)
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a " * 100_000, "b a " * 50_000),
        ("a\n" * 50_000, "b\na\n" * 25_000),
        (_hostile("abcde", 70, 40, 1), _hostile("abcde", 70, 40, 3)),
        (_hostile("abcdefghijklmnopqrstuvwxyz", 340, 40, 5), _hostile("abcdefghijklmnopqrstuvwxyz", 340, 40, 9)),
        ("(" * 100_000, ")" * 100_000),
    ],
)
def test_no_text_takes_long_or_fills_a_page(old: str, new: str) -> None:
    begun = time.process_time()
    told = list(words_changed(old, new))
    assert time.process_time() - begun < 3
    assert len(told) <= 41
    assert max(map(len, told)) < 5_000
