"""What is scored of a confidence, half by half and stance by stance; and that it never touches the label."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.grounding.rules import grade
from calibrant.grounding.staking import INFINITE, NO_FACT, Stake, Staking, stake_of
from calibrant.records.grounding import Expectation, Resolution
from calibrant.records.outcome import Event, Interval, Outcome
from calibrant.stats.forecasts import Forecasts, brier, four_cells, log_score
from calibrant.stats.interval import Interval as Figure
from calibrant.stats.sums import Sum
from tests.grounding.worlds import NUMBER, resolution

PENDING = resolution("pending")
WITHHELD = resolution("not-determinable")
SETTLED = resolution("not-determinable").model_copy(update={"basis": "future", "value": "2"})


def staked(
    stance: str = "assert", confidence: float | None = 0.7, said: str | None = "0.7", **fields: object
) -> Expectation:
    value = None if stance == "decline" or fields else "2"
    return Expectation.model_validate(
        {"stance": stance, "value": value, "confidence": confidence, "confidence_stated": said, **fields}
    )


@pytest.mark.parametrize(
    ("half", "stance", "found", "right"),
    [
        ("in", "assert", resolution(), 1.0),
        ("in", "assert", resolution(value="3"), 0.0),
        ("in", "infer", resolution(), 1.0),
        ("in", "infer", resolution(value="3"), 0.0),
        ("in", "decline", resolution(), None),
        ("in", "assert", PENDING, None),
        ("in", "assert", resolution("error"), None),
        ("in", "assert", resolution("no-record"), None),
        ("out", "infer", WITHHELD, None),
        ("out", "infer", SETTLED, 1.0),
        ("out", "assert", SETTLED, 1.0),
        ("out", "decline", SETTLED, None),
        ("out", "infer", resolution(), None),
    ],
    ids=[
        "right",
        "wrong",
        "inferred and right",
        "inferred and wrong",
        "declined",
        "pending",
        "unreachable",
        "no record",
        "withheld has no value",
        "future, settled",
        "invented, and settled",
        "declined, and settled",
        "a void half",
    ],
)
def test_what_is_scored(half: str, stance: str, found: Resolution, right: float | None) -> None:
    expectation = staked(stance)
    stake = stake_of(half, NUMBER, expectation, found)  # type: ignore[arg-type]
    assert stake == Stake(0.7, right, stance)  # type: ignore[arg-type]
    plain = expectation.model_copy(update={"confidence": None, "confidence_stated": None})
    assert grade(half, NUMBER, expectation, found) == grade(half, NUMBER, plain, found)  # type: ignore[arg-type]
    assert stake_of(half, NUMBER, plain, found) is None  # type: ignore[arg-type]


def test_what_is_no_probability_is_kept_apart() -> None:
    stake = stake_of("in", NUMBER, staked(confidence=None, said="95"), resolution())
    assert stake == Stake(None, 1.0, "assert")
    assert stake_of("in", NUMBER, None, resolution()) is None


@pytest.mark.parametrize(
    ("outcome", "fields", "value", "right"),
    [
        (Event(kind="event"), {"value": True}, "0.5", 0.5),
        (Event(kind="event"), {"value": False}, "0", 1.0),
        (Interval(kind="interval", max_width=Decimal(5)), {"interval": ("1", "4")}, "2", 1.0),
        (Interval(kind="interval", max_width=Decimal(5)), {"interval": ("3", "4")}, "2", 0.0),
        (Interval(kind="interval", max_width=Decimal(5)), {"interval": ("1", "100")}, "2", 0.0),
        (NUMBER, {"text": "a few"}, "2", None),
        (NUMBER, {"procedure": "count them"}, "2", None),
    ],
    ids=["a tie", "no, and it was not", "held", "missed", "too wide is not right", "unread", "nothing claimed"],
)
def test_how_right(outcome: Outcome, fields: dict[str, object], value: str, right: float | None) -> None:
    stake = stake_of("in", outcome, staked(**fields), resolution(value=value))
    assert stake is not None
    assert stake.right == right


@pytest.mark.parametrize(
    ("half", "found", "fields", "unreadable"),
    [
        ("in", resolution(), {"text": "a few"}, True),
        ("in", resolution(), {"text": "a few", "stance": "infer"}, True),
        ("in", PENDING, {"text": "a few"}, False),
        ("out", WITHHELD, {"text": "a few", "stance": "infer"}, False),
        ("out", SETTLED, {"text": "a few", "stance": "infer"}, True),
        ("in", resolution(), {"value": "2"}, False),
    ],
)
def test_an_answer_that_could_not_be_read_is_told_from_one_without_a_fact(half, found, fields, unreadable) -> None:
    stake = stake_of(half, NUMBER, staked(**fields), found)
    assert stake is not None
    assert stake.unreadable == unreadable
    told = Staking()
    told.add(stake)
    summary = told.summary()
    assert summary is not None
    assert (summary.stated, summary.unreadable) == (1, int(unreadable))
    assert summary.unscored == int(not unreadable and stake.right is None)


def test_a_models_own_probability_is_told_apart() -> None:
    stake = stake_of("in", NUMBER, staked(confidence_source="token-probability", value="2"), resolution())
    assert stake is not None
    assert stake.by_model


STAKES = st.lists(
    st.none()
    | st.builds(
        Stake,
        st.none() | st.floats(0, 1) | st.sampled_from([0.0, 0.8, 1.0]),
        st.none() | st.sampled_from([0.0, 0.5, 1.0]),
        st.sampled_from(["assert", "infer", "decline"]),
    ),
    max_size=30,
)


@given(STAKES, st.randoms())
def test_a_summary_is_what_the_statistics_give_in_any_order(stakes: list[Stake | None], chance) -> None:  # type: ignore[no-untyped-def]
    one, other = Staking(), Staking()
    for stake in stakes:
        one.add(stake)
    chance.shuffle(stakes)
    for stake in stakes:
        other.add(stake)
    found = one.summary()
    assert found == other.summary()
    given_ = [stake for stake in stakes if stake is not None]
    if not given_:
        assert found is None
        return
    assert found is not None
    scored = [(s.confidence, s.right) for s in given_ if s.confidence is not None and s.right is not None]
    assert (found.stated, found.scored) == (len(given_), len(scored))
    assert found.unread == sum(s.confidence is None for s in given_)
    unheld = [s for s in given_ if s.confidence is not None and s.right is None]
    assert found.unreadable == sum(s.unreadable for s in unheld)
    assert found.unscored == len(unheld) - found.unreadable
    made = Forecasts([p for p, _ in scored], [y for _, y in scored])
    cells, score, surprise = four_cells(made), brier(made), log_score(made)
    assert (found.sure_right, found.sure_wrong) == (cells.sure_right, cells.sure_wrong)
    assert (found.unsure_right, found.unsure_wrong, found.partly) == (
        cells.unsure_right,
        cells.unsure_wrong,
        cells.partly,
    )
    assert found.brier == (pytest.approx(score.value, abs=1e-11) if isinstance(score, Figure) else None)
    assert found.log_score == (pytest.approx(surprise, abs=1e-9) if isinstance(surprise, float) else None)
    assert found.undefined == (NO_FACT if not scored else None if isinstance(surprise, float) else INFINITE)


@given(st.lists(st.floats(-1e15, 1e15) | st.sampled_from([1e-300, 1e300, -1e300, 0.1]), max_size=40), st.randoms())
def test_a_sum_is_right_to_the_last_digit(values: list[float], chance) -> None:  # type: ignore[no-untyped-def]
    expected = math.fsum(values)
    chance.shuffle(values)
    total = Sum()
    for value in values:
        total.add(value)
    assert total.value == expected
