"""Whether a judge is calibrated: every figure at its bound, a person's approval, gold that is fit; each by itself."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.proportion import proportion_confint

from calibrant.authority.calibration import Calibration, calibration, kappa_bound
from calibrant.authority.study import JudgeAgreementStudy, StudyRating
from calibrant.records.authority import CalibrationStandard
from calibrant.records.judge import PanelInstrument
from calibrant.records.probe import ProbeReport, ProbeResult
from calibrant.stats.table import Table, cohen_kappa
from calibrant.values import Undefined
from tests.authority import rigs
from tests.authority.rigs import DAY, JUDGE, NOW, OTHER, probe_report, ratings, sha, study


def standard(**fields: Any) -> CalibrationStandard:
    return CalibrationStandard.model_validate({"min_gold_per_class": 10, "min_kappa": 0.5, **fields})


def status(of: JudgeAgreementStudy | None, **fields: Any) -> Calibration:
    return calibration(of, JUDGE, standard(**fields), NOW)


def test_a_study_that_shows_all_of_it_calibrates() -> None:
    assert status(study()) == Calibration("calibrated")


@pytest.mark.parametrize(
    ("of", "fields", "said"),
    [
        (None, {}, "There is no study"),
        (rigs.table_only(), {}, "table-only"),
        (study(approver=None), {}, "names no `approver`"),
        (study(rationale=None), {}, "gives no `rationale`"),
        (study(gold_tuned=True), {}, "cannot certify it"),
        (study(gold_frame="discovery"), {}, "no representative set"),
        (study(made_at="2026-03-01T12:00:01Z"), {}, "yet to come"),
        (study(ratings(repeats=1)), {}, "1 times; the standard asks 2"),
        (study(), {"min_repeats": 3}, "2 times; the standard asks 3"),
        (study(ratings(9)), {}, "9 gold items are"),
        (study(ratings(8, 2)), {}, "Kappa is"),
        (study(), {"min_kappa": 0.7}, "Kappa is 0.663 at its lower bound"),
        (study(), {"min_sensitivity": 0.7}, "Sensitivity is 69.2% at its lower bound (10 of 10)"),
        (study(), {"min_specificity": 0.7}, "Specificity is 69.2%"),
        (study(), {"max_flip_rate": 0.1}, "flip between repeats up to"),
        (study(), {"probes": {"order": 0.1}}, "The probe order was not made"),
    ],
)
def test_what_is_short_of_the_standard_is_said(of: JudgeAgreementStudy | None, fields: Any, said: str) -> None:
    found = status(of, **fields)
    assert found.status == "uncalibrated"
    assert any(said in reason for reason in found.reasons), found.reasons


def test_without_a_standard_nothing_calibrates() -> None:
    assert calibration(study(), JUDGE, None, NOW).status == "uncalibrated"


def test_any_gold_is_taken_where_the_standard_says_so() -> None:
    assert status(study(gold_frame="discovery"), gold_frame="any").status == "calibrated"


@pytest.mark.parametrize("unread", [1, 2])
def test_verdicts_that_could_not_be_read_are_counted(unread: int) -> None:
    rated = [
        rating.model_copy(update={"verdicts": (None, None)}) if n < unread else rating
        for n, rating in enumerate(ratings(12))
    ]
    found = status(study(rated))
    assert found.status == ("calibrated" if unread == 1 else "uncalibrated")  # 1 of 24 is 4.2%, 2 are 8.3%
    assert unread == 1 or "2 of 24 items have no verdict" in found.reasons[0]


# --- moved, old -----------------------------------------------------------------------------------------------------


def test_another_instrument_or_rubric_is_drift() -> None:
    for moved in (OTHER, rigs.instrument(rubric_sha256=sha("x"))):
        assert calibration(study(), moved, standard(), NOW).status == "drifted"
    panel = PanelInstrument(members=(JUDGE.digest(), OTHER.digest()), rule="majority", rubric_sha256=sha("x"))
    assert calibration(study(), panel, standard(), NOW).status == "drifted"
    named = study(judge_instrument_sha256=panel.digest(), rubric_sha256=panel.rubric_sha256)
    assert calibration(named, panel, standard(), NOW).status == "calibrated"


def test_a_study_under_another_rubric_than_its_instrument_is_drift_too() -> None:
    found = calibration(study(rubric_sha256=sha("x")), JUDGE, standard(), NOW)
    assert found.status == "drifted"
    assert "under the rubric" in found.reasons[0]


def test_drift_is_said_before_what_else_is_short() -> None:
    assert calibration(study(approver=None), OTHER, standard(), NOW).status == "drifted"


@pytest.mark.parametrize(("seconds", "said"), [(0, "calibrated"), (1, "expired")])
def test_a_study_is_too_old_after_its_days(seconds: int, said: str) -> None:
    made = study(made_at=NOW - 30 * DAY - timedelta(seconds=seconds))
    found = calibration(made, JUDGE, standard(max_age_days=30), NOW)
    assert found.status == said
    assert said == "calibrated" or "more than 30 days ago" in found.reasons[0]


def test_what_is_old_and_short_is_uncalibrated() -> None:
    """It never was good enough: there is nothing that could have run out."""
    assert calibration(study(approver=None), JUDGE, standard(max_age_days=1), NOW).status == "uncalibrated"


# --- judges that know nothing ---------------------------------------------------------------------------------------


def rated(pairs: list[tuple[str, str]]) -> list[StudyRating]:
    return [
        StudyRating(item=f"i{n}", item_sha256=sha(str(n)), gold=gold, verdicts=(said, said))
        for n, (gold, said) in enumerate(pairs)
    ]


LENIENT = CalibrationStandard(min_gold_per_class=1, min_kappa=0.0, min_repeats=1)


@pytest.mark.parametrize(
    "pairs",
    [
        [("pass", "pass")] * 50,
        [("pass", "pass"), ("fail", "pass")] * 50,
        [("pass", "fail"), ("fail", "pass")] * 50,
        [("pass", "pass"), ("fail", "fail"), ("pass", "fail"), ("fail", "pass")] * 25,
        [("pass", "pass")] * 99 + [("fail", "pass")],
        [("pass", "pass"), ("fail", "fail")],
    ],
    ids=["one class", "always pass", "always the opposite", "a coin", "a rare failure missed", "two items"],
)
def test_no_judge_that_knows_nothing_is_calibrated_however_little_is_asked(pairs: list[tuple[str, str]]) -> None:
    assert calibration(study(rated(pairs)), JUDGE, LENIENT, NOW).status == "uncalibrated"


@pytest.mark.parametrize(
    "fields",
    [
        {"min_kappa": -1.0},
        {"min_kappa": -0.01},
        {"min_kappa": None, "min_sensitivity": 0.0, "min_specificity": 0.0},
        {"min_kappa": None, "min_sensitivity": 1.0, "min_specificity": 0.0},
        {"min_kappa": None, "min_sensitivity": 0.4, "min_specificity": 0.6},
    ],
)
def test_a_standard_that_chance_meets_certifies_nothing(fields: dict[str, Any]) -> None:
    found = status(study(), **fields)
    assert found.status == "uncalibrated"
    assert found.reasons[0].endswith("it certifies nothing.")


def test_the_two_rates_are_a_standard_too() -> None:
    fields = {"min_kappa": None, "min_sensitivity": 0.6, "min_specificity": 0.6}
    assert status(study(), **fields).status == "calibrated"
    assert status(study(ratings(9, 1)), **fields).status == "uncalibrated"


# --- figures --------------------------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(st.tuples(*[st.integers(0, 40)] * 4))
def test_the_bound_of_kappa_is_never_above_either_of_its_two(cells: tuple[int, int, int, int]) -> None:
    tp, fn, fp, tn = cells
    table = Table(("pass", "fail"), ((tp, fn), (fp, tn)))
    bound, kappa = kappa_bound(table, 0.95), cohen_kappa(table)
    if isinstance(kappa, Undefined):
        assert bound is None
        return
    assert bound is not None
    gold = ["p"] * (tp + fn) + ["f"] * (fp + tn)
    judge = ["p"] * tp + ["f"] * fn + ["p"] * fp + ["f"] * tn
    assert bound <= cohen_kappa_score(gold, judge) + 1e-9
    low, _ = proportion_confint(tp + tn, sum(cells), alpha=0.05, method="beta")
    chance = ((tp + fn) * (tp + fp) + (fp + tn) * (fn + tn)) / sum(cells) ** 2
    agreed = (0.0 if tp + tn == 0 else low) - chance
    assert bound == pytest.approx(min(kappa.low, agreed / (1 - chance)), abs=1e-9)


def test_full_agreement_on_few_items_is_not_certain() -> None:
    """The Fleiss–Cohen–Everitt error is zero there, whatever the number of items."""
    few, many = (kappa_bound(Table(("pass", "fail"), ((n, 0), (0, n))), 0.95) for n in (3, 300))
    assert few is not None
    assert many is not None
    assert few < 0.2 < 0.98 < many < 1


# --- probes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (probe_report(JUDGE), None),
        (probe_report(JUDGE, flipped=1), None),
        (probe_report(JUDGE, flipped=30), "verdicts flip up to"),
        (probe_report(JUDGE, items=5), "verdicts flip up to"),
        (probe_report(OTHER), "was not made"),
        (None, "was not made"),
        (
            ProbeReport(
                judge_instrument_sha256=JUDGE.digest(),
                results=(ProbeResult(probe="order", skipped="it sees one answer"),),
                made_at=NOW,
            ),
            "was not made (it sees one answer)",
        ),
    ],
)
def test_a_probe_that_the_standard_asks_for_has_to_be_clear(report: ProbeReport | None, said: str | None) -> None:
    found = calibration(study(), JUDGE, standard(probes={"order": 0.1}), NOW, probes=report)
    assert found.status == ("calibrated" if said is None else "uncalibrated")
    assert said is None or said in found.reasons[0]


# --- edges, and what does not exist ---------------------------------------------------------------------------------


def nobody_read() -> ProbeReport:
    """A probe whose every item lacks one of its three verdicts."""
    (result,) = probe_report(JUDGE).results
    blind = tuple(rating.model_copy(update={"again": None}) for rating in result.ratings)
    return ProbeReport(
        judge_instrument_sha256=JUDGE.digest(),
        results=(result.model_copy(update={"ratings": blind}),),
        made_at=NOW,
    )


def test_a_figure_that_does_not_exist_meets_nothing() -> None:
    single = status(study(ratings(repeats=1)), min_repeats=1, max_flip_rate=0.5)
    assert single == Calibration("uncalibrated", ("The flip rate is undefined (no item was judged twice).",))
    found = calibration(study(), JUDGE, standard(probes={"order": 1.0}), NOW, probes=nobody_read())
    assert found.status == "uncalibrated"
    assert "The probe order shows nothing" in found.reasons[0]
    one_class = status(study(rated([("pass", "pass")] * 30)), min_kappa=0.0, min_specificity=0.0, min_sensitivity=0.0)
    assert "Specificity is undefined (no observation)." in one_class.reasons


@pytest.mark.parametrize(
    ("of", "fields"),
    [
        (study(made_at=NOW), {}),
        (study(), {"min_kappa": 0.0}),
        (
            study([r.model_copy(update={"verdicts": (None, None)}) if r.item == "i0" else r for r in ratings(10)]),
            {"min_gold_per_class": 9},  # one of twenty is just the share that may be unread
        ),
        (study(), {"min_kappa": kappa_bound(study().agreement, 0.95)}),
    ],
)
def test_what_is_just_enough_is_enough(of: JudgeAgreementStudy, fields: dict[str, Any]) -> None:
    assert status(of, **fields) == Calibration("calibrated")
