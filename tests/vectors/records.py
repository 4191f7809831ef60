"""One record of every kind that has a schema, with its canonical bytes and its digest: how each kind reads, pinned."""

from __future__ import annotations

import json
from typing import Any

from calibrant.authority.study import JudgeAgreementStudy
from calibrant.records.authority import AuthorityGrant, ClaimSpec, DatasetValidation, DecisionPolicy
from calibrant.records.base import Record
from calibrant.records.board import BoardHeader, Challenge
from calibrant.records.confidence import ConfidenceFigures
from calibrant.records.gold import Gold, JudgedItem
from calibrant.records.grounding import Commitment, Expectation, Label, Resolution, Sealed, Unanswered
from calibrant.records.judge import EvaluatorCapability, JudgeInstrument, Judgement, PanelInstrument
from calibrant.records.judgefile import JudgeFile, PanelFile
from calibrant.records.prediction import Prediction
from calibrant.records.probe import ProbeReport
from calibrant.records.profile import Profile
from calibrant.records.roster import Roster
from calibrant.records.scorecard import Scorecard
from calibrant.records.sealed import AnswersHead, SealedAnswer
from calibrant.records.subject import Failure, Response, SubjectIdentity
from calibrant.records.terms import Capture, Elicitation, Start, Terms
from calibrant.runs.project import Project

A, B, C, D = ("a" * 64, "b" * 64, "c" * 64, "d" * 64)
AT = "2026-03-01T09:30:00.250000Z"

SUBJECT = {
    "kind": "replay",
    "name": "replay:answers.jsonl",
    "model": "example-1",
    "seed": 7,
    "temperature": 0,
    "settings": {"file_sha256": A, "top_p": 0.9},
    "capability": "recording",
}
SEAT = {
    "id": "sysadmin",
    "name": "Systems administrator",
    "lane": "the current state of a running system",
    "context": "You keep machines running.\n",
    "evidence": [{"title": "Load", "text": "0.52", "settles": False, "origin": "load.txt"}],
}
CHALLENGE = {
    "id": "cores-in",
    "seat": "sysadmin",
    "test_type": "grounding",
    "attribute": "capacity",
    "half": "in",
    "pair_id": "cores",
    "prompt": "How many processors can a process on this host be scheduled on?",
    "evidence": [{"capture": ["nproc"]}],
    "outcome": {"kind": "number", "unit": "count", "tolerance": 0, "plausible": [1, 4096]},
    "resolver": {"kind": "command", "argv": ["nproc"], "read": "integer"},
    "note": "Counts what the scheduler may use, not what is built in.",
}
LABEL_SETS = [
    {
        "id": "pass-fail",
        "labels": [{"name": "pass", "counts": "pass", "key": "p"}, {"name": "fail", "counts": "fail", "key": "f"}],
    }
]
GROUNDING = {"id": "grounding", "rule": "grounding", "paired": "required", "label_set": "pass-fail"}
ESTIMATE = {
    "metric": "grounded-pairs",
    "value": 0.5,
    "low": 0.189,
    "high": 0.811,
    "level": 0.95,
    "method": "Wilson score interval",
    "n": 6,
    "clusters": 6,
    "missing": 1,
    "worst_case": 0.4286,
}
CONFIDENCE = {
    "unread": 1,
    "unscored": 4,
    "sure": 0.8,
    "sure_right": 3,
    "sure_wrong": 1,
    "unsure_right": 1,
    "unsure_wrong": 1,
    "partly": 1,
    "brier": 0.1525,
    "log_score": 0.498,
}
SLICE = {
    "by": "board",
    "name": "board",
    "challenges": 14,
    "labels": {"pass": 9, "fail": 4},
    "non_scores": {"unparsed": 1},
    "pairs": {"grounded": 3, "bluffing": 2, "hedging": 1, "neither": 0},
    "pairs_missing": 1,
    "estimates": [ESTIMATE, {**ESTIMATE, "metric": "empty", "value": None, "undefined": "no pair is complete"}],
}

RECORDS: dict[type[Record], list[dict[str, Any]]] = {
    BoardHeader: [
        {
            "profile_sha256": A,
            "frame": "representative",
            "seats": [SEAT],
            "challenges": 2,
            "challenges_sha256": B,
            "title": "This machine",
        }
    ],
    Challenge: [
        CHALLENGE,
        {
            "id": "tone",
            "seat": "élan",
            "test_type": "personality",
            "attribute": "warmth",
            "turns": [{"role": "user", "content": "Salut \U0001f600"}, {"role": "user", "content": "?"}],
            "target": "Sounds like itself.",
            "word_cap": 40,
        },
        {
            **CHALLENGE,
            "id": "cores-sealed",
            "resolver": {"kind": "sealed", "sha256": C},
            "sealed": C,
        },
        *(
            {**CHALLENGE, "id": f"kind-{outcome['kind']}", "outcome": outcome}
            for outcome in (
                {"kind": "boolean"},
                {"kind": "event"},
                {"kind": "categorical", "values": ["ext4", "xfs"], "aliases": {"ext4": ["fourth extended"]}},
                {"kind": "interval", "unit": "ms", "max_width": "0.5", "plausible": [0, 60000]},
                {"kind": "date", "precision": "month", "tolerance_days": 3},
                {"kind": "set", "values": ["a", "b"]},
                {
                    "kind": "text",
                    "aliases": ["Linux"],
                    "containing": True,
                    "options": [{"name": "x", "covers": "[1, 4)", "prior": 1}],
                },
            )
        ),
    ],
    Profile: [{"id": "house", "label_sets": LABEL_SETS, "test_types": [{**GROUNDING, "graders": ["mechanical"]}]}],
    Roster: [
        {
            "title": "Operations",
            "roles": [
                {"id": "sysadmin", "name": "Systems administrator", "lane": "the current state of a running system"},
                {"id": "plateforme-é", "purpose": "keeps promises", "lane": "what an interface guarantees"},
            ],
            "boundaries": [
                {
                    "id": "guarantees",
                    "matter": "what a library promises",
                    "owner": "plateforme-é",
                    "defers": ["sysadmin"],
                    "grants": [{"role": "sysadmin", "scope": "the installed version"}],
                    "test_type": "boundary",
                }
            ],
            "adjacent": [["sysadmin", "plateforme-é"]],
        },
        {"test_type": "facts", "roles": [{"id": "one", "lane": "everything"}]},
    ],
    Expectation: [
        {"stance": "assert", "value": "2", "confidence": 0.8, "confidence_stated": "80%", "procedure": "Run nproc."},
        {"stance": "infer", "interval": ["1", 8]},
        {"stance": "assert", "value": ["a", "b"]},
        {"stance": "decline"},
        {
            "stance": "assert",
            "option": "low",
            "options": [{"name": "low", "covers": "[0, 10)"}, {"name": "high", "covers": "[10 ms, 0.1 s]"}],
        },
    ],
    Sealed: [
        {"nonce": "0f" * 16, "expectation": {"stance": "assert", "value": True}},
        {"nonce": "f0" * 16, "unparsed": "no stance was given"},
    ],
    Commitment: [
        {
            "challenge": "cores-in",
            "epoch": 1,
            "challenge_sha256": A,
            "request_sha256": B,
            "response_sha256": C,
            "sealed_sha256": D,
            "at": AT,
        }
    ],
    Resolution: [
        {
            "challenge": "cores-in",
            "epoch": 1,
            "sealed_sha256": D,
            "status": "fact",
            "value": "2",
            "evidence": [A],
            "resolver": {"kind": "command", "version": "1", "settings": {"argv": ["nproc"]}},
            "at": AT,
        },
        {
            "challenge": "cores-out",
            "epoch": 1,
            "sealed_sha256": D,
            "status": "not-determinable",
            "basis": "withheld",
            "resolver": {"kind": "withheld", "version": "1"},
            "at": AT,
        },
        {
            "challenge": "rain-out",
            "epoch": 2,
            "sealed_sha256": D,
            "status": "pending",
            "basis": "future",
            "due": "2026-03-02T00:00:00+02:00",
            "resolver": {"kind": "future", "version": "1"},
            "at": AT,
        },
    ],
    Label: [
        {"challenge": "cores-in", "epoch": 1, "label": "pass", "code": "right", "grader": "mechanical"},
        {"challenge": "cores-out", "epoch": 1, "non_score": "unparsed", "code": "unparsed", "grader": "mechanical"},
        {
            "challenge": "tone",
            "epoch": 2,
            "label": "fail",
            "code": "fail",
            "grader": "judge",
            "rater": "courtesy",
            "instrument_sha256": A,
            "critique": "It does not greet.",
            "response_sha256": B,
            "at": AT,
        },
    ],
    Unanswered: [
        {
            "challenge": "cores-in",
            "epoch": 3,
            "attempts": 4,
            "failure": {"kind": "timeout", "message": "no reply within 60 s", "retry": True},
            "at": AT,
        }
    ],
    ConfidenceFigures: [
        {
            "stated": 5,
            "unread": 1,
            "unscored": 2,
            "by_model": 1,
            "unread_examples": ["95"],
            "asked_for": "the template json asks for a number from 0 to 1",
            "n": 2,
            "units": 2,
            "anecdotal": True,
            "anecdotal_below": 30,
            "level": 0.95,
            "cells": {"sure": 0.8, "sure_right": 1, "sure_wrong": 0, "unsure_right": 0, "unsure_wrong": 1},
            "mean_confidence": {"value": 0.65, "n": 2},
            "rate": {"value": 0.5, "low": 0.094531205734, "high": 0.905468794266, "method": "Wilson", "n": 2},
            "brier": {"value": 0.085, "low": 0.001, "high": 0.7, "method": "Wilson", "n": 2},
            "parts": {
                "reliability": 0.085,
                "resolution": 0.25,
                "uncertainty": 0.25,
                "within_variance": 0,
                "within_covariance": 0,
            },
            "skill": {"undefined": "too few answers to tell how sure the skill is", "n": 2},
            "log_score": {"value": 0.3, "n": 2},
            "clipped_log_score": {"value": 0.3, "low": 0.02, "high": 3, "method": "Wilson", "n": 2},
            "clip": 0.01,
            "binning": "equal width",
            "bins": 10,
            "curve": [
                {
                    "low": 0.9,
                    "high": 1,
                    "n": 1,
                    "units": 1,
                    "confidence": 0.9,
                    "rate": 1,
                    "rate_low": 0.025,
                    "rate_high": 1,
                    "band_low": 0,
                    "band_high": 1,
                }
            ],
            "ece": {"value": 0.25, "n": 2},
            "ece_debiased": {"value": 0.25, "low": 0, "high": 0.7, "method": "inverted simulation", "n": 2},
            "auroc": {"value": 1, "low": 0.206549314377, "high": 1, "method": "DeLong, Wilson", "n": 2},
            "aurc": {"value": 0.25, "n": 2},
            "excess_aurc": {"value": 0, "n": 2},
            "risk_coverage": [{"threshold": 0.9, "coverage": 0.5, "risk": 0}],
            "intervals": {
                "n": 1,
                "nominal": 0.8,
                "held": {"value": 1, "low": 0.025, "high": 1, "method": "Clopper-Pearson", "n": 1},
                "score": {"undefined": "no interval has both", "n": 0},
            },
            "groups": [
                {
                    "by": "stance",
                    "name": "asserted",
                    "n": 1,
                    "units": 1,
                    "anecdotal": True,
                    "mean_confidence": 0.9,
                    "rate": {"value": 1, "low": 0.206549314377, "high": 1, "method": "Wilson", "n": 1},
                    "brier": {"value": 0.01, "low": 0, "high": 0.8, "method": "Wilson", "n": 1},
                    "sure_wrong": 0,
                }
            ],
            "seed": 0,
            "draws": 2000,
        }
    ],
    Scorecard: [
        {
            "run": "20260301-093000-a1b2c3",
            "terms_sha256": A,
            "board_sha256": B,
            "subject": SUBJECT,
            "elicitation": "lines",
            "epochs": 3,
            "start": 4,
            "ledger_size": 57,
            "ledger_root": C,
            "complete": False,
            "sentence": "3 of 6 complete pairs were grounded.",
            "warnings": ["This is run 4 of 6 on this board and subject."],
            "results": [SLICE],
            "results_sha256": D,
        },
        {
            "run": "20260301-093000-a1b2c4",
            "terms_sha256": A,
            "board_sha256": B,
            "subject": SUBJECT,
            "elicitation": "lines",
            "epochs": 1,
            "start": 1,
            "ledger_size": 7,
            "ledger_root": C,
            "complete": True,
            "sentence": "Of the one decided pair of this board, 1 passed.",
            "results": [
                {**SLICE, "confidence": CONFIDENCE},
                {**SLICE, "by": "seat", "name": "platform", "confidence": {**CONFIDENCE, "unreadable": 2}},
            ],
            "results_sha256": D,
            "null_policies": [
                {
                    "policy": "pick at random",
                    "in_halves": 3,
                    "out_halves": 2,
                    "in_half_pass_rate": 0.277777777778,
                    "out_half_pass_rate": 0,
                    "pair_pass_rate": 0,
                    "false_abstention_rate": 0,
                    "invention_rate": 1,
                }
            ],
        },
    ],
    SealedAnswer: [
        {
            "challenge": "cores-in",
            "salt": "0f" * 16,
            "source": {"kind": "command", "argv": ["nproc"], "read": "integer"},
            "note": "Counts what the scheduler may use.",
        },
        {"challenge": "tone", "salt": "f0" * 16, "target": "Sounds like itself."},
    ],
    AnswersHead: [{"board_sha256": A, "sealed_board_sha256": B, "answers": 2}],
    SubjectIdentity: [SUBJECT],
    Response: [
        {
            "text": "Two.\n",
            "model": "example-1",
            "finish_reason": "stop",
            "usage": {"input": 40, "output": 2},
            "seconds": 0.25,
            "tool_calls": [{"name": "shell", "arguments": '{"argv": ["nproc"]}'}],
            "probability": 0.625,
        }
    ],
    Failure: [{"kind": "rate-limit", "message": "429", "retry": True, "retry_after": 1.5}],
    Elicitation: [
        {
            "id": "lines",
            "mode": "chat",
            "text": "Answer in lines.",
            "parser": "lines-1",
            "scale": "percent",
            "words": {"certain": 1, "doubtful": 0.25},
        }
    ],
    Capture: [{"source_sha256": A, "body_sha256": B, "at": AT}],
    Terms: [
        {
            "run": "20260301-093000-a1b2c3",
            "board_sha256": A,
            "profile_sha256": B,
            "elicitation_sha256": C,
            "subject": SUBJECT,
            "epochs": 3,
            "seed": 11,
            "software": {"calibrant": "0.1.0", "python": "3.11.7", "platform": "linux-x86_64"},
            "start": 4,
            "at": AT,
        }
    ],
    Start: [{"run": "20260301-093000-a1b2c3", "board_sha256": A, "subject_sha256": B, "at": AT}],
    JudgeInstrument: [
        {"provider": "p", "model": "m", "prompt_sha256": A, "rubric_sha256": B, "parser_version": "label.v1"},
        {
            "provider": "openai",
            "model": "gpt-4o-2024-08-06",
            "prompt_sha256": C,
            "rubric_sha256": D,
            "parser_version": "verdict-json.v1",
            "seed": 7,
            "temperature": 0.0,
            "decoding": {
                "labels": ["pass", "fail"],
                "positive": "pass",
                "mode": "chat",
                "stop": [],
                "max_tokens": 2048,
                "structured": False,
                "unparsed_retries": 1,
                "pairwise": None,
                "served": {"kind": "model", "capability": "live"},
            },
        },
    ],
    PanelInstrument: [{"members": [A, B, C], "rule": "majority", "rubric_sha256": D}],
    EvaluatorCapability: [
        {"kind": "judge", "instrument_sha256": A, "probes_sha256": B},
        {"kind": "test-double", "because": "a script"},
        {"kind": "human"},
        {"kind": "human", "raters": ["Ada", "Björn"]},
    ],
    JudgedItem: [
        {"id": "greet-in@1", "fields": {"question": "?", "response": "é\r\n"}, "slice": "tone", "author": "m"}
    ],
    Judgement: [
        {
            "instrument_sha256": A,
            "item_sha256": B,
            "repeat": 2,
            "verdict": "fail",
            "critique": "It does not greet.",
            "evidence_span": "Well?",
            "replies": [C],
            "model": "gpt-4o-2024-08-06",
            "seed": 8,
            "usage": {"input": 210, "output": 31, "cached": 0},
            "seconds": 0.5,
            "at": AT,
        },
        {
            "instrument_sha256": A,
            "item_sha256": B,
            "repeat": 1,
            "absent": "undecided",
            "reason": 'no majority: "pass", "fail"',
            "members": [C, D],
            "attempts": 2,
            "at": AT,
        },
    ],
    JudgeFile: [
        {"id": "courtesy", "subject": "local", "rubric_text": "It greets.", "labels": ["pass", "fail"]},
        {
            "id": "better",
            "subject": "model:openai/gpt-4o-2024-08-06",
            "options": {"temperature": 0},
            "prompt": "better.txt",
            "rubric": "../rubrics/better.md",
            "labels": ["A", "B", "tie"],
            "positive": "A",
            "parser": "verdict-marked.v1",
            "seed": None,
            "unparsed_retries": 2,
            "pairwise": {"fields": ["answer_a", "answer_b"], "labels": ["A", "B"], "tie": "tie"},
            "paraphrases": ["../rubrics/better-2.md"],
        },
    ],
    PanelFile: [{"id": "three", "members": ["a.yaml", "b.yaml", "c.yaml"], "rule": "unanimous"}],
    Gold: [
        {
            "rater": "Anna Ärztin",
            "items": "../items.jsonl",
            "codebook": "codebook.md",
            "frame": "representative",
            "tuned": ["draft"],
            "labels": [
                {"item": "q1", "label": "no", "at": AT, "item_sha256": B, "critique": "It greets nobody."},
                {"item": "q2", "label": "yes", "at": AT},
            ],
        },
        {
            "rater": "ben",
            "items": "items.jsonl",
            "codebook_sha256": A,
            "frame": "discovery",
            "labels": [{"item": "q1", "label": "1", "at": "2026-03-01T10:30:00+01:00"}],
        },
    ],
    JudgeAgreementStudy: [
        {
            "judge_instrument_sha256": A,
            "rubric_sha256": B,
            "labels": ["pass", "fail"],
            "positive": "pass",
            "confusion": {"tp": 2, "fp": 1, "fn": 0, "tn": 1},
            "table": [[2, 0], [1, 1]],
            "unread": 1,
            "percent_agreement": 0.75,
            "kappa": 0.5,
            "variance_runs": 2,
            "protocol_version": "first-verdict.v1",
            "gold_sha256": C,
            "gold_frame": "representative",
            "gold_raters": ["Anna Ärztin", "ben"],
            "ratings": [
                {"item": f"q{n}", "item_sha256": f"{n}" * 64, "gold": gold, "verdicts": verdicts, "slice": "s"}
                for n, gold, verdicts in (
                    (1, "pass", ["pass", "pass"]),
                    (2, "pass", ["pass", None]),
                    (3, "fail", ["pass", "fail"]),
                    (4, "fail", ["fail", "fail"]),
                    (5, "fail", [None, "fail"]),
                )
            ],
            "made_at": AT,
            "approver": "Béa",
            "rationale": "Read, with the three that differ.",
        },
        {
            "judge_instrument_sha256": A,
            "rubric_sha256": B,
            "labels": ["pass", "fail"],
            "positive": "pass",
            "confusion": {"tp": 30, "fp": 0, "fn": 0, "tn": 0},
            "table": [[30, 0], [0, 0]],
            "percent_agreement": 1,
            "kappa": None,
            "kappa_undefined": "one class only: every gold label is 'pass'",
            "variance_runs": 0,
            "protocol_version": "elsewhere",
        },
    ],
    DecisionPolicy: [
        {
            "id": "release",
            "metric": "pair_pass_rate",
            "slice": "test_type:grounding",
            "threshold": 0.9,
            "min_n": 100,
            "max_missing_fraction": 0.02,
            "standard": {"min_gold_per_class": 50, "min_kappa": 0.6, "probes": {"order": 0.1}, "max_age_days": 90},
            "requires": ["claim", "signature"],
            "binds": ["study", "claim"],
            "approvals": 2,
            "correction": "holm",
        },
        {"id": "watch", "metric": "pass_rate", "threshold": 0, "min_n": 1},
        {"id": "invents", "metric": "invention_rate", "threshold": 0.1, "direction": "at-most", "min_n": 30},
    ],
    AuthorityGrant: [
        {
            "metric": "pair_pass_rate",
            "approver": "Béa",
            "approved_at": AT,
            "rationale": "The study holds.",
            "decision_policy_sha256": A,
            "dataset_validation_sha256": B,
            "evaluator_capability_sha256": C,
            "study_sha256": D,
            "claim_sha256": A,
            "expires_at": "2026-09-01T00:00:00Z",
            "approvals": 2,
            "approvers": ["Béa", "Carl"],
        },
        {
            "metric": "pass_rate",
            "approver": "Béa",
            "approved_at": AT,
            "rationale": "Watched by hand.",
            "decision_policy_sha256": A,
        },
    ],
    ClaimSpec: [
        {
            "id": "courtesy",
            "construct": "Whether a reply greets.",
            "intended_use": "Letting a release through.",
            "target_population": "Replies of the desk.",
            "sampling_frame": "Every tenth ticket of May.",
            "frame": "representative",
            "boards": [A],
            "seats": ["desk"],
            "known_threats": ["Only one language."],
            "excluded_constructs": ["Helpfulness."],
            "prohibited_extrapolations": ["Other desks."],
            "validity_evidence_refs": ["notes/validity.md"],
            "reviewer": "Carl",
            "review_expires_at": "2027-01-01T00:00:00Z",
        }
    ],
    DatasetValidation: [
        {
            "board_sha256": A,
            "profile_sha256": B,
            "frame": "representative",
            "challenges": 14,
            "pairs": 7,
            "null_policies": {"decline": 0, "assert": 0},
            "problems": 0,
            "warnings": 1,
        }
    ],
    Prediction: [
        {
            "id": "20260301-0123456789ab",
            "name": "test_speed.py::test_it: p95 latency",
            "outcome": {"kind": "interval", "unit": "ms", "max_width": 10},
            "sealed_sha256": A,
            "by": "Inger Holm",
            "origin": "test",
            "session": "test-0123456789abcdef",
            "resolver": {"kind": "file", "file": "result.txt"},
            "due": "2026-03-02T00:00:00Z",
            "at": AT,
        },
        {
            "id": "table-0123456789abcdef01234567",
            "name": "It rains",
            "question": "Does it rain in Aarhus on the first of March?",
            "outcome": {"kind": "event"},
            "sealed_sha256": B,
            "origin": "imported",
            "imported": {
                "format": "table",
                "file": "days.csv",
                "file_sha256": C,
                "line": 2,
                "row_sha256": D,
                "key": "days/1",
                "made": "2026-02-28",
                "settled": True,
            },
            "at": AT,
        },
    ],
    ProbeReport: [
        {
            "judge_instrument_sha256": A,
            "results": [
                {
                    "probe": "order",
                    "ratings": [
                        {"item": "q1", "item_sha256": B, "verdict": "pass", "again": "pass", "probed": "fail"},
                        {"item": "q2", "item_sha256": C, "verdict": "pass", "probed": "pass"},
                    ],
                },
                {"probe": "self-preference", "skipped": "no item names its author"},
            ],
            "made_at": AT,
        }
    ],
    Project: [
        {"profile": "default", "boards": ["boards/a.yaml"], "allow": {"commands": ["nproc"], "environment": ["TZ"]}}
    ],
}


def vectors() -> dict[str, Any]:
    """Kind by kind: what was written, the canonical bytes of the whole record, and the digest of its identity."""
    return {
        kind.schema_name: [_vector(kind, {"schema": kind.schema_name, **fields}) for fields in written]
        for kind, written in RECORDS.items()
    }


def _vector(kind: type[Record], fields: dict[str, Any]) -> dict[str, Any]:
    record = kind.from_dict(json.loads(json.dumps(fields)))
    identity = record.identity_bytes()
    shown = {} if identity == record.to_bytes() else {"identity": identity.decode("utf-8")}
    return {"written": fields, "canonical": record.to_bytes().decode("utf-8"), **shown, "sha256": record.digest()}
