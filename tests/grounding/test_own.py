"""Options that a seat wrote itself: read from any text at all, sound or unparsed with the reason, never guessed at."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.grounding.elicitation import EARLIER, TEMPLATES, build_request, is_known
from calibrant.grounding.options import MOST_OPTIONS, check_options
from calibrant.grounding.parse import Unparsed, parse
from calibrant.records.board import Seat
from calibrant.records.grounding import Expectation
from calibrant.records.outcome import Boolean, Categorical, Date, Number, Text
from calibrant.records.subject import Response
from calibrant.records.terms import Elicitation
from calibrant.subjects.base import question_text
from tests.grounding.worlds import challenge

OWN, FEW = TEMPLATES["options"], TEMPLATES["options-few-shot"]
GRID = [{"name": "low", "covers": "[0, 50)"}, {"name": "high", "covers": "[50, 100]"}]
SPACE = Number.from_dict({"kind": "number", "unit": "ms", "plausible": [0, 100], "options": GRID})
SEAT = Seat(id="sysadmin", lane="x")


def read(text: str, template: Elicitation = OWN, outcome=SPACE) -> Expectation | Unparsed:
    return parse(template, outcome, Response(text=text))


def listed(*covers: str) -> list[dict[str, str]]:
    return [{"name": "abcdefgh"[n], "covers": text} for n, text in enumerate(covers)]


def said(options: object, option: object, **more: object) -> str:
    return json.dumps({"options": options, "stance": "assert", "option": option, **more})


SOUND = listed("[0, 10)", "[10, 20]", "(20, 100]")


@pytest.mark.parametrize(
    ("text", "option"),
    [
        (said(SOUND, "b"), "b"),
        (said(SOUND, " B. "), "b"),
        (said(SOUND, ["b"]), "b"),
        (said(SOUND, {"name": "b", "covers": "[10, 20]"}), "b"),
        (said(SOUND, "[10,20]"), "b"),
        (said({"a": "[0, 10)", "b": "[10, 100]"}, "a"), "a"),
        (said({"under 10": "[0, 10)", "10 and more": "[10, inf)"}, "under 10"), "option-1"),
        (said([{"name": 1, "covers": "[0, 10)"}, {"name": 2, "covers": "[10, 100]"}], 2), "2"),
        (said(listed("[0 s, 10 ms)", "[10 ms, 0.1 s]"), "a"), "a"),
        (said(listed("(, 10)", "[10, )"), "b"), "b"),
        (said(listed("[0, 100]"), "a"), "a"),
        (f"Surely:\n```json\n{said(SOUND, 'c')}\n```\nDone.", "c"),
        (said(SOUND, "b", how="by\nlooking").replace("\\n", "\n"), "b"),
        (said(SOUND, "b", how="\\alpha").replace("\\\\", "\\"), "b"),
        (said(SOUND, "b").replace('"options"', '"Options"'), "b"),
    ],
)
def test_what_is_read(text, option) -> None:
    found = read(text)
    assert isinstance(found, Expectation), found
    assert (found.stance, found.option) == ("assert", option)
    assert option in {one.name for one in found.options}
    assert check_options(SPACE, found.options) == []
    assert (found.value, found.interval, found.text) == (None, None, None)


@pytest.mark.parametrize(
    ("options", "option", "reason"),
    [
        (listed("[0, 5]", "[5, 100]"), "a", 'the options "a" and "b", which both cover 5'),
        (listed("[0, 50)", "(50, 100]"), "a", "no option for 50"),
        (listed("[0, 5)", "[5, 5)", "[5, 100]"), "a", "covers nothing"),
        (listed("[5, 0]", "[5, 100]"), "a", "whose ends are swapped"),
        (listed("[0, 50)", "[50, 100]", "(100, 200]"), "a", "outside the plausible range [0, 100]"),
        (listed("[0, 10 kg)", "[10, 100]"), "a", "'kg' measures mass, 'ms' measures time"),
        (listed("[NaN, 10)", "[10, 100]"), "a", "whose ends are no numbers"),
        (listed("0 to 10", "[10, 100]"), "a", "which is no interval"),
        (listed(*(f"[{n}, {n + 1})" for n in range(8))), "a", "no option for [8, 100]"),
        ([{"name": "a", "covers": "[0, 10)"}, {"name": "A", "covers": "[10, 100]"}], "a", "two options of the name"),
        ([{"name": "x y", "covers": "[0, 9]"}] * 2, "x y", "two options of the name"),
        ([{"name": f"o{n}", "covers": "[0, 1)"} for n in range(MOST_OPTIONS + 1)], "o1", "101 options"),
        ([{"name": "a"}], "a", "an option without a name and what it covers, the 1. of 1"),
        ([{"covers": "[0, 100]"}], "a", "an option without a name"),
        ([{"name": True, "covers": "[0, 100]"}], "a", "an option without a name"),
        (["[0, 100]"], "a", "an option without a name"),
        ("[0, 100]", "a", "options that are no list"),
        ([], "a", "no options of its own"),
        (None, "a", "no options of its own"),
        (SOUND, None, "no commitment to one of its options"),
        (SOUND, "", "no commitment"),
        (SOUND, [], "no commitment"),
        (SOUND, ["a", "b"], '2 commitments ("a", "b")'),
        (SOUND, "a or b", '2 commitments ("a", "b")'),
        (SOUND, "a, b and c", "3 commitments"),
        (SOUND, "z", 'a commitment to "z", which is none of its options'),
        (SOUND, "a or z", "which is none of its options"),
        (SOUND, "low", 'a commitment to "low"'),
        (SOUND, "15", 'a commitment to "15"'),
        (SOUND, True, "no commitment"),
    ],
)
def test_what_is_not_sound_is_unparsed_and_says_why(options, option, reason) -> None:
    for stance in ("assert", "infer"):
        found = read(said(options, option).replace("assert", stance))
        assert isinstance(found, Unparsed), found
        assert reason in found.reason
        assert len(found.reason) < 700


def test_who_declines_needs_no_options() -> None:
    for options in (None, SOUND, "x"):
        found = read(said(options, None).replace("assert", "decline"))
        assert found == Expectation(stance="decline")


@pytest.mark.parametrize(
    "outcome", [Boolean(kind="boolean"), Text(kind="text"), Date(kind="date"), Number(kind="number")]
)
def test_what_has_no_range_is_asked_and_read_as_plain_json(outcome) -> None:
    item = challenge(outcome=outcome)
    asked = [
        question_text(build_request(TEMPLATES[name], item, SEAT, [], epoch=1, word_cap=9))
        for name in ("options", "json")
    ]
    assert asked[0] == asked[1]
    for answer in ("yes", "2024-01-01", 7, None, "a"):
        text = said(SOUND, "b", answer=answer)
        assert read(text, outcome=outcome) == read(text, TEMPLATES["json"], outcome)
    base = [
        question_text(build_request(TEMPLATES[name], item, SEAT, [], epoch=1, word_cap=9))
        for name in ("options-few-shot", "few-shot")
    ]
    assert base[0] == base[1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" a [0, 9), b [9, 100]; I commit to b\n\nQ: next", "b"),
        ("A: a [0, 9), b [9, 100]; I commit to a.", "a"),
        (" I do not know.", "decline"),
        (" a [0, 9], b [9, 100]; I commit to b", "both cover 9"),
        (" a [0, 9), b [9, 100]; I commit to a or b", '2 commitments ("a", "b")'),
        (" a [0, 9), b [9, 100]", "no commitment"),
        (" a [0, 9), b [9, 100]; perhaps", "no commitment"),
        (" a [0, 9), b [9, 1", "no option for [9, 100]"),
        (" 37 ms", "no options of its own"),
        ("", "an empty reply"),
    ],
)
def test_a_continued_line(text, expected) -> None:
    found = read(text, FEW)
    if isinstance(found, Unparsed):
        assert expected in found.reason
    else:
        assert expected in (found.option, found.stance)


ENDS = st.integers(-5, 105) | st.sampled_from(["", "inf", "NaN", "1e9", "3 s", "2 kg", "x"])
COVERS = st.builds("{}{}, {}{}".format, st.sampled_from("[("), ENDS, ENDS, st.sampled_from("])")) | st.text()
OFFERS = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("abcAB ") | st.text(), "covers": COVERS | st.none()}), max_size=5
)
ANY = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
)


@given(OFFERS | ANY, st.sampled_from("abc") | ANY)
def test_any_options_at_all_are_sound_or_unparsed(options, option) -> None:
    found = read(said(options, option))
    if isinstance(found, Expectation):
        assert check_options(SPACE, found.options) == []
        assert found.option in {one.name for one in found.options}


@given(st.text() | st.text(alphabet="abI commit to;,[]() 0123456789.-\n"))
def test_both_parsers_are_total(text) -> None:
    for template in (OWN, FEW):
        assert isinstance(read(text, template), Expectation | Unparsed)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("unit", ["a [0, 1), ", '{"options": [', " [", "a [0", ";", '"covers": "[0, 1)",'])
def test_a_hostile_reply_takes_no_time(unit) -> None:
    for template in (OWN, FEW):
        assert read(unit * (900_000 // len(unit)), template) is not None


@pytest.mark.parametrize("name", ["json", "lines", "options"])
def test_half_a_surrogate_pair_is_unparsed_and_ends_nothing(name) -> None:
    for field in ("answer", "how", "confidence", "option"):
        text = json.dumps({"stance": "assert", "answer": 1, "option": "a", field: "half"}).replace("half", "\\ud800")
        found = read(text, TEMPLATES[name], Number(kind="number"))
        assert isinstance(found, Unparsed)
    whole = '{"stance": "assert", "answer": 1, "how": "\\ud83d\\ude00, in C:\\\\udata"}'
    assert isinstance(read(whole, TEMPLATES["json"], Number(kind="number")), Expectation)


def test_a_grid_is_shown_with_what_each_option_covers() -> None:
    item = challenge(outcome=SPACE)
    for name in ("json", "lines"):
        text = question_text(build_request(TEMPLATES[name], item, SEAT, [], epoch=1, word_cap=9))
        assert "The options, each with what it covers in ms:\nlow: [0, 50)\nhigh: [50, 100]\n" in text
    few = question_text(build_request(TEMPLATES["few-shot"], item, SEAT, [], epoch=1, word_cap=9))
    assert few.endswith("Q: How many?\nOptions: low [0, 50), high [50, 100]\nA:")


def test_own_options_are_asked_for_without_showing_the_grid() -> None:
    limited = challenge(outcome=SPACE.model_copy(update={"max_width": SPACE.plausible[1]}))
    for name in ("options", "options-few-shot"):
        for item in (challenge(outcome=SPACE), limited):
            text = question_text(build_request(TEMPLATES[name], item, SEAT, [], epoch=1, word_cap=9))
            assert "0 to 100 ms" in text
            assert "low" not in text.replace("following", "")
            assert "[0, 50)" not in text
    told = question_text(build_request(OWN, limited, SEAT, [], epoch=1, word_cap=9))
    assert "at most 100 ms wide" in told


def test_names_of_categories_are_shown_as_before() -> None:
    item = challenge(outcome=Categorical(kind="categorical", values=("red", "blue")))
    asked = [
        question_text(build_request(template, item, SEAT, [], epoch=1, word_cap=9))
        for template in (TEMPLATES["json"], EARLIER[0])
    ]
    assert asked[0] == asked[1]


def test_templates_of_the_first_release_are_still_known() -> None:
    assert [template.digest() for template in EARLIER] == [
        "74e54c0fb0e64f220d9b3e08fdf6a2d72245500fa52496a71769c2975d1eb4db",
        "7019b6f6b077f1fb2b43619d0745cb54ce92a040f71ea39537e1389a2c822916",
        "4f5f15bbe6b109fd3e4cb9ab9967baffbab897568da5abcd3af1f2aeb36a8fd9",
    ]
    known = [*EARLIER, *TEMPLATES.values()]
    assert all(is_known(template.digest()) for template in known)
    assert len({template.digest() for template in known}) == len(known)
    assert not is_known("0" * 64)
