"""EvalGlass's files: read as records here, arithmetic verified again, what they lack said and not guessed."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant.authority.calibration import calibration
from calibrant.errors import InputError
from calibrant.interop.evalglass import read_claim, read_grant, read_instrument, read_study
from calibrant.records.authority import CalibrationStandard
from calibrant.records.judge import JudgeInstrument
from calibrant.runs.studies import read_study as read_own_study
from calibrant.runs.studies import write_study
from calibrant.stats.table import Table, cohen_kappa
from calibrant.values import Undefined

A, B, C, D = ("a" * 64, "b" * 64, "c" * 64, "d" * 64)

STUDY: dict[str, Any] = {
    "judge_instrument_sha256": A,
    "rubric_sha256": B,
    "confusion": {"tp": 45, "fp": 25, "fn": 15, "tn": 15},
    "percent_agreement": 0.6,
    "kappa": 0.13043478260869565,
    "variance_runs": 3,
    "protocol_version": "two-raters-v1",
    "approver": "reviewer@example.com",
    "rationale": "Read.",
}
INSTRUMENT: dict[str, Any] = {
    "provider": "p",
    "model": "m",
    "prompt_sha256": A,
    "rubric_sha256": B,
    "parser_version": "1",
    "temperature": 0.0,
}
GRANT: dict[str, Any] = {
    "metric": "faithfulness",
    "approver": "Béa",
    "approved_at": "2026-03-01T09:30:00Z",
    "rationale": "Read.",
    "decision_policy_sha256": A,
    "study_sha256": B,
}
CLAIM: dict[str, Any] = {
    "construct": "Whether it greets.",
    "intended_use": "Releases.",
    "target_population": "Replies.",
    "sampling_frame": "Every tenth.",
    "known_threats": ["One language."],
}


def written(folder: Path, fields: dict[str, Any] | str, name: str = "study.json") -> Path:
    path = folder / name
    path.write_text(fields if isinstance(fields, str) else json.dumps(fields, indent=1), encoding="utf-8")
    return path


def refusal(folder: Path, read: Any, fields: dict[str, Any] | str) -> str:
    with pytest.raises(InputError) as refused:
        read(written(folder, fields))
    return str(refused.value)


def without(fields: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in names}


# --- studies --------------------------------------------------------------------------------------------------------


def test_a_study_is_read_as_table_only_and_says_what_it_lacks(tmp_path: Path) -> None:
    found = read_study(written(tmp_path, STUDY))
    study = found.record
    assert study.table_only
    assert study.table == ((45, 15), (25, 15))
    assert (study.approver, study.made_at, study.gold_sha256) == ("reviewer@example.com", None, None)
    assert [lack.partition(":")[0] for lack in found.lacks] == [
        "ratings",
        "gold",
        "labels",
        "unread",
        "made_at",
        "judge_instrument_sha256",
    ]


def test_a_study_without_approval_says_so_too(tmp_path: Path) -> None:
    lacks = read_study(written(tmp_path, without(STUDY, "approver", "rationale"))).lacks
    assert any(lack.startswith("approver") for lack in lacks)
    assert any(
        lack.startswith("rationale") for lack in read_study(written(tmp_path, without(STUDY, "rationale"))).lacks
    )


def test_an_approved_study_from_elsewhere_calibrates_nothing(tmp_path: Path) -> None:
    instrument = JudgeInstrument.model_validate(INSTRUMENT)
    fields = {
        **STUDY,
        "judge_instrument_sha256": instrument.digest(),
        "confusion": {"tp": 500, "fp": 0, "fn": 0, "tn": 500},
    }
    study = read_study(written(tmp_path, {**fields, "percent_agreement": 1.0, "kappa": 1.0})).record
    standard = CalibrationStandard(min_gold_per_class=1, min_kappa=0.1, gold_frame="any")
    found = calibration(study, instrument, standard, datetime(2026, 4, 1, tzinfo=UTC))
    assert found.status == "uncalibrated"
    assert "table-only" in found.reasons[0]


def test_it_is_written_and_read_here_as_any_study(tmp_path: Path) -> None:
    study = read_study(written(tmp_path, without(STUDY, "approver", "rationale"))).record
    assert read_own_study(write_study(study, tmp_path / "studies")) == study


@pytest.mark.parametrize("off", [2e-4, -2e-4, 6e-5, 1e-8])
def test_a_kappa_that_does_not_follow_is_refused_with_both_values(tmp_path: Path, off: float) -> None:
    kappa = STUDY["kappa"] + off
    message = refusal(tmp_path, read_study, {**STUDY, "kappa": kappa})
    assert f"study.json:11: kappa: found {kappa!r}; expected 0.130434782609, which follows from the table" in message


@pytest.mark.parametrize("kappa", [0.1304, 0.130434782609, 0.13043478260869565])
def test_a_figure_to_four_places_is_taken_and_replaced_by_the_exact_one(tmp_path: Path, kappa: float) -> None:
    assert read_study(written(tmp_path, {**STUDY, "kappa": kappa})).record.kappa == 0.130434782609


@pytest.mark.parametrize("kappa", [0.1305, 0.1303, 0.13, 0.13044])
def test_a_figure_rounded_wrongly_or_to_other_places_is_not(tmp_path: Path, kappa: float) -> None:
    assert "which follows from the table" in refusal(tmp_path, read_study, {**STUDY, "kappa": kappa})


def test_one_class_is_no_full_agreement(tmp_path: Path) -> None:
    """EvalGlass stores 1.0 there: kappa does not exist for such a table."""
    fields = {**STUDY, "confusion": {"tp": 30, "fp": 0, "fn": 0, "tn": 0}, "percent_agreement": 1.0, "kappa": 1.0}
    message = refusal(tmp_path, read_study, fields)
    assert "kappa: found 1.0; expected null: one class only" in message
    assert read_study(written(tmp_path, {**fields, "kappa": None})).record.kappa is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"percent_agreement": 0.99}, "percent_agreement: found 0.99; expected 0.6, which follows from the table"),
        ({"percent_agreement": True}, "expected a number"),
        ({"kappa": "0.13"}, "expected a number"),
        ({"kappa": None}, "kappa: found no value; expected 0.13043"),
        ({"confusion": None}, "confusion: found no table; expected the counts tp, fp, fn and tn"),
        ({"confusion": [45, 25, 15, 15]}, "the counts tp, fp, fn and tn"),
        ({"confusion": {"tp": 45, "fp": 25, "fn": 15}}, "confusion.tn: found nothing"),
        ({"confusion": {"tp": -45, "fp": 25, "fn": 15, "tn": 15}}, "confusion.tp: found -45; expected 0 or more"),
        (
            {"confusion": {"tp": 45.5, "fp": 25, "fn": 15, "tn": 15}},
            "confusion.tp: found 45.5; expected a whole number",
        ),
        ({"judge_instrument_sha256": "A" * 64}, "Write it in lower case"),
        ({"variance_runs": "3"}, "variance_runs"),
        ({"kapa": 2}, "the unknown key"),
        ({"schema": "calibrant.gold.v1"}, "a file of EvalGlass, which has none"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    text = refusal(tmp_path, read_study, {**STUDY, **changes})
    assert message in text
    assert "study.json:" in text


@pytest.mark.parametrize("value", ["NaN", "Infinity", "1e999"])
def test_what_is_no_number_is_refused(tmp_path: Path, value: str) -> None:
    assert "study.json:11" in refusal(
        tmp_path, read_study, json.dumps(STUDY, indent=1).replace(str(STUDY["kappa"]), value)
    )


count = st.integers(0, 200)


@settings(max_examples=50)
@given(tp=count, fp=count, fn=count, tn=count)
def test_any_table_is_read_with_its_figures_exact_or_to_four_places(
    tmp_path_factory: pytest.TempPathFactory, tp: int, fp: int, fn: int, tn: int
) -> None:
    table = Table(("pass", "fail"), ((tp, fn), (fp, tn)))
    kappa = cohen_kappa(table)
    exact = None if isinstance(kappa, Undefined) else kappa.value
    agreement = (tp + tn) / table.n if table.n else None
    for places in (17, 4):
        fields = {
            **STUDY,
            "confusion": {"tp": tp, "fp": fp, "fn": fn, "tn": tn},
            "kappa": None if exact is None else round(exact, places),
            "percent_agreement": None if agreement is None else round(agreement, places),
        }
        found = read_study(written(tmp_path_factory.mktemp("eg"), fields)).record
        assert found.kappa == exact
        assert found.agreement == table


# --- instruments, grants, claims ------------------------------------------------------------------------------------


def test_an_instrument_is_read_with_the_digest_that_its_studies_name_it_by(tmp_path: Path) -> None:
    found = read_instrument(written(tmp_path, INSTRUMENT))
    assert found.record.temperature == 0
    assert found.record.seed is None
    theirs = {**INSTRUMENT, "seed": None, "decoding": {}}
    assert (
        found.sha256 == hashlib.sha256(json.dumps(theirs, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    )
    assert found.sha256 != found.record.digest()
    assert [lack.partition(":")[0] for lack in found.lacks] == ["seed", "decoding", "digests"]


@pytest.mark.parametrize("change", [{"prompt_sha256": "A" * 64}, {"temperature": -1}, {"model": " "}, {"modell": "m"}])
def test_an_instrument_that_is_none_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    assert "study.json:" in refusal(tmp_path, read_instrument, {**INSTRUMENT, **change})


@pytest.mark.parametrize("name", ["study_sha256", "study_evidence_sha256"])
def test_a_grant_is_read_under_both_names_of_its_study(tmp_path: Path, name: str) -> None:
    found = read_grant(written(tmp_path, {**without(GRANT, "study_sha256"), name: B}))
    assert found.record.study_sha256 == B
    lacks = [lack.partition(":")[0] for lack in found.lacks]
    assert "study_sha256" not in lacks
    assert {"dataset_validation_sha256", "claim_sha256", "expires_at", "signature", "digests"} <= set(lacks)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"approved_at": "2026-03-01T09:30:00"}, "a time without a zone; expected an instant"),
        ({"expires_at": "2026-03-01"}, "expected an instant"),
        ({"expires_at": "2026-02-01T00:00:00Z"}, "expires before it is given"),
        ({"decision_policy_sha256": "B" * 64}, "Write it in lower case"),
        ({"rationale": ""}, "empty text"),
    ],
)
def test_a_grant_that_is_none_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    text = refusal(tmp_path, read_grant, {**GRANT, **change})
    assert message in text
    assert "study.json:" in text


def test_a_claim_is_called_by_its_file_and_what_has_no_place_is_told(tmp_path: Path) -> None:
    found = read_claim(written(tmp_path, {**CLAIM, "coverage_facets": ["length"]}, "our claim.json"))
    assert found.record.id == "our-claim"
    assert found.record.known_threats == ("One language.",)
    assert any(lack.startswith("coverage_facets") and "length" in lack for lack in found.lacks)
    assert any(lack.startswith("frame") for lack in found.lacks)
    assert read_claim(written(tmp_path, CLAIM), id="courtesy").record.id == "courtesy"


@pytest.mark.parametrize("change", [{"construct": " "}, {"known_threats": "one"}, {"review_expires_at": "2027-01-01"}])
def test_a_claim_that_is_none_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    assert "study.json:" in refusal(tmp_path, read_claim, {**CLAIM, **change})


@pytest.mark.parametrize("read", [read_study, read_instrument, read_grant, read_claim])
@pytest.mark.parametrize("text", ["[]", "", "{", "\x00"])
def test_what_is_no_map_is_refused(tmp_path: Path, read: Any, text: str) -> None:
    assert "study.json" in refusal(tmp_path, read, text)
