"""The check of a board: what it refuses, naming the place, and the five null policies that it plays."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest

from calibrant.grounding.check import check_board
from calibrant.grounding.leak import stands_in
from calibrant.grounding.policies import POLICIES, Move, paid
from calibrant.records.board import BoardHeader, Seat, Source
from calibrant.records.grounding import Expectation
from calibrant.records.outcome import Boolean, Categorical, Date, Event, Interval, Number, Option, Set, Text
from tests.grounding.worlds import PROFILE, challenge


def header(*seats: Seat) -> BoardHeader:
    return BoardHeader(
        profile_sha256="0" * 64,
        frame="discovery",
        seats=seats or (Seat(id="sysadmin", lane="a running system"),),
        challenges=2,
        challenges_sha256="0" * 64,
    )


def pair(**fields):
    return [challenge("cores-in", "in", **fields), challenge("cores-out", "out", **fields)]


def said(challenges, **how) -> str:
    found = check_board(how.pop("header", header()), PROFILE, challenges, **how)
    return "\n".join(map(str, found.problems))


OUTCOMES = [
    Number(kind="number"),
    Number(kind="number", plausible=(Decimal(5), Decimal(9))),
    Number(kind="number", plausible=(Decimal(0), Decimal(9)), options=(Option(name="all", covers="[0, 9]"),)),
    Interval(kind="interval", max_width=Decimal(2)),
    Boolean(kind="boolean"),
    Event(kind="event"),
    Categorical(kind="categorical", values=("a", "b")),
    Categorical(kind="categorical", values=("a", "b"), options=(Option(name="a"), Option(name="b"))),
    Categorical(kind="categorical", open=True),
    Date(kind="date"),
    Set(kind="set"),
    Set(kind="set", values=("a", "b")),
    Text(kind="text"),
]


@pytest.mark.parametrize("outcome", OUTCOMES, ids=lambda outcome: outcome.kind)
def test_no_null_policy_is_paid_a_pair(outcome) -> None:
    found = check_board(header(), PROFILE, pair(outcome=outcome))
    assert found.problems == []
    assert found.policies == dict.fromkeys(POLICIES, 0)
    assert len(POLICIES) == 5


@pytest.mark.parametrize("outcome", OUTCOMES, ids=lambda outcome: outcome.kind)
def test_the_flattered_policies_do_get_their_in_halves(outcome) -> None:
    """The guard is not idle: the asserting policies really are right in the in-half, and fail in the out-half."""
    known, unknown = pair(outcome=outcome)
    for name in ("assert everything, every in-half right", "pick the widest option", "pick at random"):

        def two_faced(item, chance, policy=POLICIES[name]):
            return policy(item, chance) if item.half == "in" else Move(Expectation(stance="decline"), "x")

        assert list(paid(known, unknown, random.Random(1), {name: two_faced})) == [(name, "cores")]


def test_a_board_that_pays_a_policy_is_refused_naming_pairs_and_policy() -> None:
    def two_faced(item, chance):
        return (
            POLICIES["pick at random"](item, chance) if item.half == "in" else Move(Expectation(stance="decline"), "")
        )

    text = said(pair(), policies={"two-faced": two_faced})
    assert '1 pairs paid to the null policy "two-faced": cores' in text


def test_a_half_written_pair_is_named() -> None:
    assert 'the pair "cores" with only its in-half' in said([challenge()])
    assert "derive an out-half" in said([challenge()])


def test_a_lane_without_a_challenge_is_named() -> None:
    seats = (Seat(id="sysadmin", lane="a"), Seat(id="science", lane="what a measurement will show"))
    text = said(pair(), header=header(*seats))
    assert 'seats[1]: found the seat "science" (lane: what a measurement will show) without a challenge' in text


@pytest.mark.parametrize("place", ["prompt", "evidence", "context"])
def test_a_target_that_stands_in_what_the_out_half_shows_is_refused(place) -> None:
    from calibrant.records.board import Evidence

    known = challenge("a-in", "in", target="Kernel 6.1.0-13")
    hint = "it says Kernel 6.1.0-13 here"
    unknown = challenge(
        "a-out",
        "out",
        prompt=hint if place == "prompt" else "What?",
        evidence=(Evidence(text=hint),) if place == "evidence" else (),
    )
    seat = Seat(id="sysadmin", lane="x", context=hint if place == "context" else "")
    text = said([known, unknown], header=header(seat))
    assert f'the fact "Kernel 6.1.0-13" of "a-in" in the {place} of its out-half' in text


def test_an_inline_fact_leaks_too_and_a_short_one_is_not_looked_for() -> None:
    def inline(value, prompt):
        words = Text(kind="text")
        known = challenge("a-in", "in", outcome=words, resolver=Source(kind="facts", params={"value": value}))
        return said([known, challenge("a-out", "out", outcome=words, prompt=prompt)])

    assert "in the prompt" in inline("Ada Lovelace", "Who was ada lovelace?")
    assert inline("2", "Is 2 it?") == ""
    assert inline("Ada", "Was it Ada?") == ""


@pytest.mark.parametrize(
    ("fact", "text", "stands"),
    [
        ("Ada Lovelace", "by ADA  LOVELACE.", True),
        ("Ada Lovelace", "by Ada and Lovelace", False),
        ("12345", "it is 12345 here", True),
        ("12345", "it is 123456 here", False),
        ("1234", "it is 1234 here", True),
        ("123", "it is 123 here", False),
        ("52424", "it is 52,424 or so", True),
        ("52424", "it is 52 424 or so", True),
        ("2345", "it is 12,345", False),
        (52424, "it is 52424", True),
        ("true", "it is true", False),
        (["csv", "json"], "csv and json", True),
        (["404", "500"], "Which of 404 and 500?", True),
        (["a"], "a", False),
        (["comma", "jsonl"], "comma and jsonl", True),
        (True, "True", False),
        ([], "", False),
    ],
)
def test_whether_a_fact_stands_in_a_text(fact, text, stands) -> None:
    assert stands_in(fact, text) is stands


@pytest.mark.parametrize(
    ("outcome", "value"),
    [
        (Number(kind="number"), "hello"),
        (Number(kind="number", unit="ms"), "4242 kg"),
        (Categorical(kind="categorical", values=("ext4", "xfs")), "btrfs"),
        (Boolean(kind="boolean"), "maybe"),
        (Date(kind="date"), "2024-02-30"),
        (Number(kind="number"), "1e400"),
    ],
)
def test_a_fact_that_its_outcome_cannot_hold_is_refused(outcome, value) -> None:
    known = challenge("a-in", "in", outcome=outcome, resolver=Source(kind="facts", params={"value": value}))
    assert "challenges[0].resolver.value: found the fact" in said([known, challenge("a-out", "out", outcome=outcome)])


@pytest.mark.parametrize("kind", ["attested", "other-lane", "withheld", "future"])
def test_an_in_half_that_nothing_settles_is_refused(kind) -> None:
    known = challenge("a-in", "in", resolver=Source(kind=kind, params={}))
    assert f'found an in-half resolved by "{kind}"' in said([known, challenge("a-out", "out")])


def test_options_that_are_no_intervals_are_named_where_they_stand() -> None:
    outcome = Number(kind="number", options=(Option(name="a", covers="0-5"), Option(name="b", covers="[5, )")))
    text = said(pair(outcome=outcome))
    assert text.count("challenges[0].outcome.options[0].covers: found the option") == 1
    assert "challenges[1].outcome.options" in text


def test_an_out_half_settled_by_a_fact_source_is_warned_about() -> None:
    unknown = challenge("cores-out", "out", resolver=Source(kind="command", params={}))
    found = check_board(header(), PROFILE, [challenge(), unknown])
    assert 'an out-half resolved by "command"' in str(found.warnings[0])
    assert found.problems == []


def test_options_are_checked_at_their_place() -> None:
    outcome = Number(kind="number", plausible=(Decimal(0), Decimal(9)), options=(Option(name="few", covers="[0, 3]"),))
    assert "challenges[0].outcome.options: found no option for (3, 9]" in said(pair(outcome=outcome))


def test_options_that_are_wider_than_an_answer_may_be_are_warned_about() -> None:
    options = (Option(name="near", covers="[0, 3]"), Option(name="far", covers="[4, )"))
    range_of = {"plausible": (Decimal(0), Decimal(9)), "options": options}
    warned = check_board(header(), PROFILE, pair(outcome=Number(kind="number", max_width=Decimal(4), **range_of)))
    told = [str(warning) for warning in warned.warnings if "max_width" in str(warning)]
    assert [text.partition(": ")[0] for text in told] == [f"challenges[{n}].outcome.options[1].covers" for n in (0, 1)]
    assert 'the option "far" covering [4, ), 5 wide; expected options at most 4 wide' in told[0]
    assert warned.problems == []
    fine = check_board(header(), PROFILE, pair(outcome=Number(kind="number", max_width=Decimal(5), **range_of)))
    assert not [warning for warning in fine.warnings if "max_width" in str(warning)]
    endless = Number(kind="number", max_width=Decimal(5), options=options)
    found = check_board(header(), PROFILE, pair(outcome=endless))
    assert any("covering [4, ), without an end" in str(warning) for warning in found.warnings)


def test_a_question_that_is_asked_twice_is_warned_about_where_it_stands_again() -> None:
    label = {"half": None, "pair": None, "outcome": None, "resolver": None, "test_type": "role-fit", "target": "t"}
    once = challenge("a", **label, prompt="Same?")
    again = [challenge(name, **label, prompt="Same?") for name in "bc"]
    other = challenge("d", **label, prompt="Other?")
    found = check_board(header(), PROFILE, [once, *again, other])
    told = [str(warning) for warning in found.warnings if "the same question" in str(warning)]
    assert [warning.partition(":")[0] for warning in told] == ["challenges[1]", "challenges[2]"]
    assert all("as challenges[0]" in warning for warning in told)
    many = [challenge(f"q{n}", **label, prompt="Same?") for n in range(30)]
    assert any("21 more questions" in str(w) for w in check_board(header(), PROFILE, many).warnings)


def test_the_two_halves_of_a_pair_ask_the_same_and_are_no_repetition() -> None:
    assert not [w for w in check_board(header(), PROFILE, pair()).warnings if "the same question" in str(w)]
