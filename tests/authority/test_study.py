"""Studies prove themselves: whatever is stored follows from the ratings, or the study is refused with both values."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from calibrant import canonical
from calibrant.authority.study import JudgeAgreementStudy, StudyRating, figures_of, make_study, tabulate
from calibrant.errors import InputError
from calibrant.stats.table import Table

LABELS = ("pass", "fail", "unsure")
A, B, C, D = ("a" * 64, "b" * 64, "c" * 64, "d" * 64)
AT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)

verdict = st.sampled_from(LABELS) | st.none()


def rating(n: int, gold: str, *verdicts: str | None) -> StudyRating:
    return StudyRating(item=f"q{n}", item_sha256=canonical.sha256(str(n).encode()), gold=gold, verdicts=verdicts)


def study(ratings: list[StudyRating], **fields: Any) -> JudgeAgreementStudy:
    given: dict[str, Any] = {
        "judge_instrument_sha256": A,
        "rubric_sha256": B,
        "labels": LABELS,
        "positive": "pass",
        "ratings": ratings,
        "gold_sha256": C,
        "gold_frame": "representative",
        "gold_raters": ("anna",),
        "gold_tuned": False,
        "made_at": AT,
        **fields,
    }
    return make_study(**given)


@st.composite
def studies(draw: st.DrawFn) -> JudgeAgreementStudy:
    repeats = draw(st.integers(1, 3))
    said = draw(st.lists(st.tuples(st.sampled_from(LABELS), st.tuples(*[verdict] * repeats)), min_size=1, max_size=8))
    return study([rating(n, gold, *verdicts) for n, (gold, verdicts) in enumerate(said)])


FOUR = [rating(0, "pass", "pass"), rating(1, "pass", "fail"), rating(2, "fail", "fail"), rating(3, "fail", "fail")]


def read(fields: dict[str, Any]) -> JudgeAgreementStudy:
    return JudgeAgreementStudy.from_bytes(json.dumps(fields))


def refusal(fields: dict[str, Any]) -> str:
    with pytest.raises(InputError) as refused:
        read(fields)
    return str(refused.value)


def changed(**changes: Any) -> dict[str, Any]:
    return {**study(FOUR).to_dict(), **changes}


# --- what holds for every study -------------------------------------------------------------------------------------


@given(studies())
def test_a_study_comes_back_from_its_bytes(made: JudgeAgreementStudy) -> None:
    again = JudgeAgreementStudy.from_bytes(made.to_bytes())
    assert again == made
    assert again.digest() == made.digest()


@given(studies())
def test_the_kappa_of_a_study_is_that_of_another_program(made: JudgeAgreementStudy) -> None:
    pairs = [(r.gold, r.verdicts[0]) for r in made.ratings if r.verdicts[0] is not None]
    if made.kappa is None:
        assert len({gold for gold, _ in pairs}) < 2 or len({said for _, said in pairs}) < 2
    else:
        assert made.kappa == pytest.approx(cohen_kappa_score(*zip(*pairs, strict=True), labels=LABELS), abs=1e-11)


@given(studies(), st.data())
def test_a_changed_rating_is_refused_unless_the_figures_follow(made: JudgeAgreementStudy, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(made.ratings) - 1))
    old = made.ratings[index]
    new = old.model_copy(
        update={"gold": data.draw(st.sampled_from(LABELS)), "verdicts": (data.draw(verdict), *old.verdicts[1:])}
    )
    ratings = [*made.ratings[:index], new, *made.ratings[index + 1 :]]
    fields = {**made.to_dict(), "ratings": [r.to_dict() for r in ratings]}
    if tabulate(LABELS, ratings) == tabulate(LABELS, made.ratings):
        assert read(fields).table == made.table
    else:
        assert "follows from the ratings" in refusal(fields)
        assert read({**study(ratings).to_dict(), "made_at": fields["made_at"]}) == study(ratings)


FIELDS: dict[str, Any] = {
    "judge_instrument_sha256": D,
    "rubric_sha256": D,
    "protocol_version": "another",
    "gold_sha256": D,
    "gold_frame": "discovery",
    "gold_raters": ["ben"],
    "gold_tuned": True,
    "made_at": "2026-03-02T09:30:00Z",
    "approver": "Béa",
    "rationale": "Read.",
}


def test_the_digest_moves_with_each_field() -> None:
    base = study(FOUR)
    moved = {name: read(changed(**{name: value})) for name, value in FIELDS.items()}
    others = [
        study([r.model_copy(update={"verdicts": (*r.verdicts, "pass")}) for r in FOUR]),
        study(FOUR, positive="fail"),
        study(FOUR, labels=("pass", "fail")),
        study(FOUR, labels=("fail", "pass", "unsure")),
        study(FOUR[:3]),
        study([*FOUR[:3], rating(3, "fail", None)]),
        study([FOUR[0].model_copy(update={"slice": "s"}), *FOUR[1:]]),
        study([FOUR[0].model_copy(update={"item": "other"}), *FOUR[1:]]),
        study([FOUR[0].model_copy(update={"item_sha256": D}), *FOUR[1:]]),
    ]
    digests = [base.digest(), *(other.digest() for other in (*moved.values(), *others))]
    assert len(set(digests)) == len(digests)


# --- attacks --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("off", [2e-4, -2e-4, 1e-6])
def test_a_kappa_that_is_off_is_refused_with_both_values(off: float) -> None:
    base = study(FOUR)
    assert base.kappa == 0.5
    assert f"`kappa` {0.5 + off!r}; expected 0.5, which follows from the table" in refusal(changed(kappa=0.5 + off))


def test_a_last_digit_of_another_platform_is_no_difference() -> None:
    assert read(changed(kappa=0.5 + 1e-15)).table == study(FOUR).table


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"percent_agreement": 0.99}, "`percent_agreement` 0.99; expected 0.75, which follows from the table"),
        ({"percent_agreement": None}, "`percent_agreement` null; expected 0.75"),
        ({"kappa": None, "kappa_undefined": "too few"}, "`kappa` null; expected 0.5"),
        ({"kappa_undefined": "too few"}, "`kappa` and `kappa_undefined` both or neither"),
        (
            {"confusion": {"tp": 2, "fp": 0, "fn": 0, "tn": 2}},
            "`confusion` tp 2, fp 0, fn 0, tn 2; expected tp 1, fp 0",
        ),
        (
            {"table": [[2, 0, 0], [0, 2, 0], [0, 0, 0]]},
            "expected [[1, 1, 0], [0, 2, 0], [0, 0, 0]], which follows from",
        ),
        ({"table": [[1, 1], [0, 2]]}, "a table of another size; expected 3 rows of 3 counts"),
        ({"unread": 1}, "`unread` 1; expected 0, which follows from the ratings"),
        ({"positive": "good"}, 'the positive label "good"'),
        ({"labels": ["pass", "fail", "pass"]}, "a label twice"),
        ({"variance_runs": 3}, 'the item "q0" with 1 verdicts; expected 3'),
        ({"gold_sha256": None}, "ratings without `gold_sha256` and `gold_frame`"),
        ({"gold_frame": None}, "ratings without `gold_sha256` and `gold_frame`"),
        ({"made_at": None}, "ratings without `made_at`"),
        ({"made_at": "2026-03-01T09:30:00"}, "a time without a zone"),
        ({"judge_instrument_sha256": "A" * 64}, "64 lower-case hexadecimal digits"),
        ({"kappa": 1.5}, "1 or less"),
        ({"unread": -1}, "0 or more"),
        ({"kapa": 0.5}, 'Did you mean "kappa"?'),
    ],
)
def test_a_typed_in_figure_is_refused_with_both_values(changes: dict[str, Any], message: str) -> None:
    assert message in refusal(changed(**changes))


def test_a_table_of_one_class_stores_null_and_never_full_agreement() -> None:
    one = study([rating(n, "pass", "pass") for n in range(30)])
    assert one.kappa is None
    assert one.kappa_undefined is not None
    assert one.kappa_undefined.startswith("one class only")
    assert one.percent_agreement == 1.0
    fields = one.to_dict()
    assert "`kappa` 1.0; expected null" in refusal({**fields, "kappa": 1.0, "kappa_undefined": None})
    assert read(fields) == one


def test_a_judge_that_says_one_thing_only_has_no_kappa_either() -> None:
    lazy = study([rating(n, LABELS[n % 2], "pass") for n in range(30)])
    assert lazy.kappa is None
    assert lazy.percent_agreement == 0.5


def test_no_verdict_at_all_leaves_no_figure() -> None:
    silent = study([rating(n, LABELS[n % 2], None) for n in range(4)])
    assert (silent.unread, silent.percent_agreement, silent.kappa) == (4, None, None)
    assert read(silent.to_dict()) == silent


def with_ratings(ratings: list[dict[str, Any]]) -> str:
    return refusal(changed(ratings=ratings))


def test_an_item_twice_under_one_name_or_two() -> None:
    rows = [r.to_dict() for r in FOUR]
    assert 'the item "q0" twice; expected each item once' in with_ratings([*rows[:3], {**rows[3], "item": "q0"}])
    same = {**rows[3], "item_sha256": rows[0]["item_sha256"]}
    assert 'the item "q3", which has the same content as "q0"; expected each input once' in with_ratings(
        [*rows[:3], same]
    )


@pytest.mark.parametrize("field", [{"gold": "fine"}, {"verdicts": ["fine"]}])
def test_a_label_outside_the_set_is_refused_by_item(field: dict[str, Any]) -> None:
    rows = [r.to_dict() for r in FOUR]
    message = with_ratings([*rows[:2], {**rows[2], **field}, rows[3]])
    assert 'the item "q2" with the label "fine"; expected one of the labels: "pass", "fail" or "unsure"' in message


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e400"])
def test_what_is_no_number_is_no_figure(text: str) -> None:
    written = json.dumps(changed()).replace('"kappa": 0.5', f'"kappa": {text}')
    with pytest.raises(InputError):
        JudgeAgreementStudy.from_bytes(written)


def test_a_study_of_another_kind_is_no_study() -> None:
    assert "expected a judge agreement study" in refusal(changed(schema="calibrant.gold.v1"))
    assert "another version of Calibrant" in refusal(changed(schema="calibrant.judge-agreement-study.v2"))


def test_without_ratings_the_table_has_to_be_believed() -> None:
    bare = read(changed(ratings=[], gold_sha256=None, gold_frame=None, made_at=None))
    assert bare.table_only
    assert bare.evidence == "table-only"
    assert "which follows from the table" in refusal({**bare.to_dict(), "kappa": 0.9})


def test_the_textbooks_figures_follow_from_their_tables(data_folder: Path) -> None:
    """Cohen's examples, and tables of one class, as `agreement_textbook.json` gives them."""
    book = json.loads((data_folder / "agreement_textbook.json").read_text())
    for case in book["cohen_2x2"]:
        table = [[case["tp"], case["fn"]], [case["fp"], case["tn"]]]
        made = table_only(table, case["percent_agreement"])
        assert made.kappa == pytest.approx(case["kappa"], abs=1e-9)
    for case in book["undefined_2x2"]:
        made = table_only([[case["tp"], case["fn"]], [case["fp"], case["tn"]]], 1.0)
        assert made.kappa is None
        assert case["why"] in str(made.kappa_undefined)


def table_only(table: list[list[int]], agreement: float) -> JudgeAgreementStudy:
    follows = figures_of(Table(("pass", "fail"), tuple(map(tuple, table))), "pass")
    assert follows["percent_agreement"] == pytest.approx(agreement)
    written = {name: value.to_dict() if name == "confusion" else value for name, value in follows.items()}
    return read(
        {
            "schema": JudgeAgreementStudy.schema_name,
            "judge_instrument_sha256": A,
            "rubric_sha256": B,
            "labels": ["pass", "fail"],
            "positive": "pass",
            "table": table,
            "variance_runs": 0,
            "protocol_version": "elsewhere",
            **written,
        }
    )


@settings(max_examples=20)
@given(st.lists(st.sampled_from(LABELS), min_size=2, max_size=30))
def test_full_agreement_is_one_or_does_not_exist(labels: list[str]) -> None:
    made = study([rating(n, label, label) for n, label in enumerate(labels)])
    assert made.kappa == (1.0 if len(set(labels)) > 1 else None)
