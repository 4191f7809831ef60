"""The truth table of the verdict: a pass only where all of it is earned, and each reason names what caused it."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from calibrant.authority.gate import Verdict, decide, decide_all, overall
from calibrant.records.base import Record
from tests.authority import rigs
from tests.authority.rigs import evidence, policy, rig
from tests.authority.states import STATES, Case, earned, evidence_of, expected, faults, is_met, is_sensible


@pytest.fixture(autouse=True)
def _digests_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Digest each record once: the cases share a few dozen of them."""
    known: dict[int, tuple[Record, str]] = {}
    plain = Record.digest

    def digest(self: Record) -> str:
        if id(self) not in known:
            known[id(self)] = (self, plain(self))
        return known[id(self)][1]

    monkeypatch.setattr(Record, "digest", digest)


def hold(cases: Iterable[Case]) -> Counter[str]:
    """Decide each case, hold the verdict to what is expected of it, and count the verdicts."""
    seen: Counter[str] = Counter()
    for case in filter(is_sensible, cases):
        found = decide(evidence_of(case))
        seen[found.verdict] += 1
        assert found.verdict == expected(case), (case, found.reasons)
        assert (found.verdict == "pass") is earned(case), case
        hold_to_its_authority(found, case)
        hold_to_its_reasons(found, case)
    return seen


def hold_to_its_authority(found: Verdict, case: Case) -> None:
    if found.verdict in ("pass", "fail"):
        assert found.authority == "gating", case
    if found.authority != "gating":
        assert found.verdict == found.authority, case
    if "test-double" in (case.capability, case.subject):
        assert found.verdict == "informational", case


def hold_to_its_reasons(found: Verdict, case: Case) -> None:
    """Every state that stands in the way is named; those of the honesty of the figure where authority is there."""
    wanted = sorted(faults(case))
    said = "\n".join(found.reasons)
    assert found.reasons, case
    for fault in wanted:
        if fault.step <= 10 or found.authority == "gating":
            assert fault.word in said, (case, fault, said)
    assert all(reason.endswith(".") and "\n" not in reason for reason in found.reasons), said
    if not wanted:
        assert ("not met" in said) is not is_met(case)


def product(**parts: tuple[str, ...]) -> Iterator[Case]:
    """Every combination of these states; each other part as it is earned."""
    for states in itertools.product(*parts.values()):
        yield Case(**dict(zip(parts, states, strict=True)))


def every(*parts: str) -> Iterator[Case]:
    """Every combination of all states of these parts."""
    return product(**{part: STATES[part] for part in parts})


def test_the_states_are_those_of_a_case() -> None:
    assert tuple(STATES) == Case._fields
    assert all(states[0] == getattr(Case(), part) for part, states in STATES.items())


def test_every_combination_of_what_gives_authority() -> None:
    seen = hold(
        product(
            capability=STATES["capability"],
            subject=("live", "test-double"),
            study=STATES["study"],
            grant=("matched", "lean", "missing", "expired"),
            policy=STATES["policy"],
            claim=("present", "required-absent", "required-overdue"),
        )
    )
    assert set(seen) == {"pass", "blocked", "informational"}


def test_every_combination_of_what_is_approved_and_who_signed() -> None:
    seen = hold(every("capability", "grant", "signature"))
    assert set(seen) == {"pass", "blocked", "informational"}


def test_every_combination_of_what_a_figure_needs_to_be_honest() -> None:
    seen = hold(every("estimate", "direction", "statistic", "rate", "frame", "run", "board"))
    assert set(seen) == {"pass", "fail", "blocked"}


def test_every_combination_of_who_labelled_and_what_is_made_of_it() -> None:
    seen = hold(every("capability", "study", "labels", "rate", "gate"))
    assert set(seen) == {"pass", "blocked", "informational"}


def test_every_pair_of_states() -> None:
    for one, two in itertools.combinations(STATES, 2):
        hold(every(one, two))


def test_states_drawn_from_all_combinations() -> None:
    chance = random.Random(20260301)
    drawn = (Case(*(chance.choice(states) for states in STATES.values())) for _ in range(1500))
    assert hold(drawn)["informational"] > 0


def test_states_drawn_with_few_in_the_way() -> None:
    """Where nearly all is earned, the rest decides: up to three parts are not as they should be."""
    chance = random.Random(20260302)
    cases = []
    for _ in range(1500):
        moved = chance.sample(list(STATES), chance.randint(0, 3))
        cases.append(Case()._replace(**{part: chance.choice(STATES[part]) for part in moved}))
    assert set(hold(cases)) == {"pass", "fail", "blocked", "informational"}


@pytest.mark.parametrize(
    "case",
    [
        Case(grant="expired"),
        Case(study="expired"),
        Case(claim="required-overdue"),
        Case(capability="mechanical", grant="expired"),
        Case(grant="expired", signature="signed"),
    ],
)
def test_what_expired_is_blocked_and_never_falls_to_informational(case: Case) -> None:
    found = decide(evidence_of(case))
    assert (found.verdict, found.authority) == ("blocked", "blocked")


def test_a_judge_that_moved_is_blocked_where_the_grant_does_not_name_its_study() -> None:
    assert decide(evidence_of(Case(study="drifted", grant="lean"))).verdict == "blocked"


# --- attacks --------------------------------------------------------------------------------------------------------


def test_a_threshold_that_no_rate_can_miss_passes_nothing() -> None:
    for threshold, direction in ((0.0, "at-least"), (1.0, "at-most")):
        for statistic in ("bound", "point", "worst-case"):
            chosen = policy(threshold=threshold, direction=direction, statistic=statistic)
            found = decide(evidence(rig(policy=chosen)))
            assert found.verdict == "blocked"
            assert "no rate can miss" in found.reasons[0]


@pytest.mark.parametrize("positive", ["pass", "fail"])
def test_a_study_of_failing_corrects_no_rate_of_passing(positive: str) -> None:
    of = rig(policy=policy(estimate="corrected"))
    right = rigs.study().confusion
    mirrored = {"tp": right.tn, "fp": right.fn, "fn": right.fp, "tn": right.tp}
    made = rigs.study() if positive == "pass" else rigs.study(positive="fail", confusion=mirrored)
    found = decide(evidence(rig(policy=of.policy, study=made)))
    assert found.verdict == ("pass" if positive == "pass" else "blocked")


def test_a_study_without_a_judge_corrects_nothing() -> None:
    """The labels of a gate without a judge are not those that the study is of: its rate would only be raised."""
    poor = rigs.study(rigs.ratings(15, 5))
    of = rig(policy=policy(estimate="corrected"), capability=rigs.capability("mechanical"), instrument=None, study=poor)
    found = decide(evidence(of, estimate=rigs.estimate(24, 40)))
    assert found.verdict == "informational"
    assert "has no judge" in "\n".join(found.reasons)


def test_a_study_of_single_verdicts_corrects_no_rate_of_pairs() -> None:
    of = rig(policy=policy(estimate="corrected", metric="pair_pass_rate"))
    found = decide(evidence(of, estimate=rigs.estimate(38, 40, metric="pair_pass_rate")))
    assert found.verdict == "blocked"
    assert "asks it of pairs" in found.reasons[0]


def test_a_capability_that_names_another_instrument_is_seen() -> None:
    named = rigs.capability().model_copy(update={"instrument_sha256": rigs.OTHER.digest()})
    found = decide(evidence(rig(capability=named)))
    assert found.verdict == "blocked"
    assert "taken for the instrument" in found.reasons[0]


def test_probes_of_another_instrument_clear_nothing() -> None:
    report = rigs.probe_report(rigs.OTHER)
    of = rig(policy=policy(standard=rigs.STANDARD.model_copy(update={"probes": {"order": 0.1}})))
    assert decide(evidence(of, probes=report)).verdict == "informational"
    assert decide(evidence(of, probes=rigs.probe_report(rigs.JUDGE))).verdict == "pass"
    assert decide(evidence(of)).verdict == "informational"


def test_a_policy_that_moved_is_named_with_what_moved() -> None:
    before = policy(threshold=0.9)
    found = decide(evidence(sealed={before.digest(): before}))
    assert found.verdict == "blocked"
    assert 'policy "release"' in found.reasons[0]
    assert "(threshold: 0.9 → 0.5)" in found.reasons[0]


def test_what_does_not_follow_is_named_and_counted() -> None:
    found = decide(evidence(unsound=tuple(f"step: fault {n}" for n in range(5))))
    assert found.verdict == "blocked"
    assert found.reasons == (
        "The run is not what it claims (step: fault 0; step: fault 1; step: fault 2; and 2 more).",
    )


# --- several gates --------------------------------------------------------------------------------------------------


def test_blocked_comes_before_fail_before_pass() -> None:
    verdicts = {name: decide(evidence_of(case)) for name, case in _ONE_OF_EACH.items()}
    for several in itertools.product(_ONE_OF_EACH, repeat=3):
        said = overall([verdicts[name] for name in several])
        assert said == min(several, key=list(_ONE_OF_EACH).index)
    assert overall([]) == "informational"


_ONE_OF_EACH = {
    "blocked": Case(grant="expired"),
    "fail": Case(estimate="bad"),
    "pass": Case(),
    "informational": Case(grant="missing"),
}


def holm_gate(passed: int, name: str = "a", **parts: object):
    of = rig(policy=policy(id=name, correction="holm"))
    return evidence(of, gate=name, estimate=rigs.estimate(passed, 40), **parts)


def test_gates_of_one_family_have_to_show_more() -> None:
    alone = holm_gate(27)
    assert decide(alone).verdict == "pass"
    assert [found.verdict for found in decide_all([alone, holm_gate(38, "b")])] == ["pass", "pass"]
    assert [found.verdict for found in decide_all([alone, holm_gate(27, "b")])] == ["fail", "fail"]
    three = decide_all([alone, holm_gate(20, "b"), holm_gate(20, "c")])
    assert [found.verdict for found in three] == ["fail", "fail", "fail"]
    assert "As one of 3 gates (Holm)" in three[0].reasons[-1]


@pytest.mark.parametrize(
    ("raters", "unnamed", "said"),
    [({"ann", "ben"}, False, "pass"), ({"ann"}, False, "informational"), ({"ann", "ben"}, True, "informational")],
)
def test_people_count_where_the_evaluator_names_them(raters: set[str], unnamed: bool, said: str) -> None:
    of = rigs.unjudged("human")
    people = dataclasses.replace(rigs.labelling(of), raters=frozenset(raters), unnamed=unnamed)
    found = decide(evidence(of, labelling=people))
    assert (found.verdict, found.raters) == (said, ("ann", "ben"))


def test_taking_the_authority_of_one_gate_away_does_not_ease_the_others() -> None:
    marginal = holm_gate(27)
    whole = decide_all([marginal, holm_gate(20, "b"), holm_gate(20, "c")])
    assert whole[0].verdict == "fail"
    robbed = decide_all([marginal, holm_gate(20, "b", grant=None), holm_gate(20, "c", retired="gone")])
    assert robbed[0].verdict == "fail"


def test_a_correction_never_makes_a_pass_of_what_did_not_hold() -> None:
    """Over clusters the bound is the estimate's own, which may be wider than that of whole units."""
    wide = rigs.estimate(76, 80, clusters=40, low=0.3, high=1.0)
    found = decide_all([holm_gate(40), evidence(rig(policy=policy(id="b", correction="holm")), estimate=wide)])
    assert [one.verdict for one in found] == ["pass", "fail"]


def test_gates_that_ask_for_no_correction_are_left_as_they_are() -> None:
    plain = evidence(estimate=rigs.estimate(27, 40))
    first, *_ = decide_all([plain, holm_gate(20), holm_gate(20, "b")])
    assert first.verdict == "pass"


# --- edges ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ({"estimate": rigs.estimate(10, 10)}, "pass"),  # as many as the policy asks for
        ({"estimate": rigs.estimate(36, 36, 4)}, "pass"),  # a tenth is missing, which is allowed
        ({"estimate": rigs.estimate(36, 36, 5)}, "blocked"),
        ({"started": rigs.NOW}, "pass"),
        ({"started": rigs.NOW.replace(microsecond=1)}, "blocked"),
    ],
)
def test_what_is_just_enough_is_enough(parts: dict[str, Any], verdict: str) -> None:
    assert decide(evidence(**parts)).verdict == verdict


@pytest.mark.parametrize(("seconds", "verdict"), [(0, "blocked"), (1, "pass")])
def test_a_review_ends_at_its_instant(seconds: int, verdict: str) -> None:
    stated = rigs.claim(review_expires_at=rigs.NOW.replace(second=seconds))
    assert decide(evidence(rig(policy=policy(requires=("claim",)), claim=stated))).verdict == verdict


def test_a_judge_that_the_gate_does_not_name_gates_nothing() -> None:
    found = decide(evidence(rig(instrument=None, study=None)))
    assert found.verdict == "informational"
    assert "Labels are by a judge, and the gate names none." in found.reasons


def test_as_many_faults_as_are_named_are_not_counted() -> None:
    (said,) = decide(evidence(unsound=("a", "b", "c"))).reasons
    assert said == "The run is not what it claims (a; b; c)."
