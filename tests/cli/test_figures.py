"""What the commands of judges show without asking one: files of EvalGlass, and plans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.rigs import invoke

SHA = "ab" * 32
AGREED = {"confusion": {"tp": 20, "fp": 10, "fn": 5, "tn": 15}, "percent_agreement": 0.7, "kappa": 0.4}
STUDY = {
    "judge_instrument_sha256": SHA,
    "rubric_sha256": SHA,
    **AGREED,
    "variance_runs": 3,
    "protocol_version": "1",
}
FILES: dict[str, dict[str, Any]] = {
    "study": STUDY,
    "instrument": {
        "provider": "openai",
        "model": "gpt-4o-2024-08-06",
        "prompt_sha256": SHA,
        "rubric_sha256": SHA,
        "parser_version": "v1",
        "seed": None,
        "temperature": 0.0,
        "decoding": {},
    },
    "grant": {
        "metric": "pass_rate",
        "approver": "ada",
        "approved_at": "2026-01-01T00:00:00Z",
        "rationale": "It agrees.",
        "decision_policy_sha256": SHA,
    },
    "claim": {
        "construct": "courtesy",
        "intended_use": "a release gate",
        "target_population": "replies of the desk",
        "sampling_frame": "last week's",
    },
}


def written(fields: Any) -> str:
    Path("file.json").write_text(json.dumps(fields), encoding="utf-8")
    return "file.json"


@pytest.mark.parametrize("kind", FILES)
def test_each_file_of_evalglass_is_known_by_its_fields_and_told_with_what_it_lacks(kind: str) -> None:
    done = invoke("judge", "read", written(FILES[kind]))
    assert done.code == 0
    assert f"file.json is a {kind} of EvalGlass." in done.out
    assert "What it lacks here" in done.out
    told = json.loads(invoke("judge", "read", "file.json", "--json").out)
    assert (told["kind"], bool(told["lacks"])) == (kind, True)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({**STUDY, "kappa": 0.4002}, "kappa"),
        ({**FILES["grant"], "decision_policy_sha256": SHA.upper()}, "64 lower-case hexadecimal digits"),
        ({**FILES["grant"], "approved_at": "2026-01-01T00:00:00"}, "a time without a zone"),
        ({"nothing": 1}, "no file of EvalGlass"),
        ([1], "expected a map"),
    ],
)
def test_what_does_not_follow_or_is_none_is_refused(fields: Any, told: str) -> None:
    done = invoke("judge", "read", written(fields))
    assert (done.code, done.out) == (2, "")
    assert told in done.err


def test_a_plan_says_how_many_gold_items_a_standard_takes() -> None:
    Path("policy.yaml").write_text(
        "schema: calibrant.decision-policy.v1\nid: release\nmetric: pass_rate\nthreshold: 0.8\nmin_n: 10\n"
        "standard: {min_gold_per_class: 5, min_sensitivity: 0.7, min_specificity: 0.7, max_flip_rate: 0.1}\n",
        encoding="utf-8",
    )
    argv = ("judge", "plan", "--standard", "policy.yaml", "--sensitivity", "0.95", "--specificity", "0.9")
    told = json.loads(invoke(*argv, "--json").out)
    assert told["gold_items"]["pass"] < told["gold_items"]["fail"]
    assert told["asked_by"] == {"pass": "min_sensitivity", "fail": "min_specificity"}
    assert "4 times in 5" in invoke(*argv).out
    never = invoke("judge", "plan", "--standard", "policy.yaml", "--specificity", "0.6")
    assert "No number of gold items" in never.out
