"""Published ratings, read with options only: their figures recomputed, and compared with what was published.

The data is described where it is kept (`CALIBRANT_DATA`); only figures stand here.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from calibrant.authority.agreement import Agreement
from calibrant.interop.ratings import RatingTable, read_ratings
from calibrant.stats.interval import Interval
from calibrant.stats.paired import FlipRate
from calibrant.stats.resampling import Resampled
from calibrant.stats.table import Table, cohen_kappa

JUDGES = [
    *((who, prompt) for who in ("GPT-4", "ChatGPT") for prompt in ("Vanilla", "Vanilla_NoRules", "CoT", "Rating")),
    *((who, "Metrics_Reference") for who in ("GPT-4", "ChatGPT", "LLaMA2")),
    *(("LLaMA2", prompt) for prompt in ("Vanilla", "Vanilla_NoRules", "CoT")),
]


def value(figure: Any) -> float:
    assert isinstance(figure, Interval)
    return figure.value


# --- LLMBar: three judges, five prompts, both orders (github.com/princeton-nlp/LLMBar) ------------------------------


def llmbar(folder: Path, **options: Any) -> RatingTable:
    return read_ratings(
        folder / "llmbar" / "verdicts.csv",
        item=("subset", "item"),
        gold="gold",
        by=("evaluator", "prompt"),
        judges=("winner", "winner_when_swapped"),
        slice="subset",
        **options,
    )


def in_both_orders(evaluator: str, prompt: str) -> tuple[str, str]:
    return f"{evaluator} {prompt}: winner", f"{evaluator} {prompt}: winner_when_swapped"


def published(folder: Path) -> list[dict[str, str]]:
    with (folder / "llmbar" / "published_statistics.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def counted(text: str) -> tuple[int, int]:
    hits, _, rest = text.partition(" / ")
    return int(hits), int(rest.partition(" = ")[0])


def test_llmbar_counts_follow_from_the_verdicts(data_folder: Path) -> None:
    table = llmbar(data_folder)
    rows = published(data_folder)
    assert len(rows) == 70
    for row in rows:
        rated = table.of_slice(row["subset"]).ratings(*in_both_orders(row["evaluator"], row["prompt"]))
        counts = {
            "correct_False": sum(r.verdicts[0] == r.gold for r in rated),
            "correct_True": sum(r.verdicts[1] == r.gold for r in rated),
            "correct_both": sum(r.verdicts == (r.gold, r.gold) for r in rated),
            "equal": sum(r.verdicts[0] == r.verdicts[1] for r in rated),
        }
        assert {name: counted(row[name]) for name in counts} == {name: (n, len(rated)) for name, n in counts.items()}


def kappa(pairs: Iterable[tuple[str | None, str | None]]) -> float:
    """Cohen's kappa of the pairs of which both are there."""
    read = [(one, other) for one, other in pairs if one is not None and other is not None]
    return value(cohen_kappa(Table.from_pairs(("1", "2"), read)))


def test_llmbar_kappa_between_orders_takes_a_lost_verdict_for_the_second_answer(data_folder: Path) -> None:
    """12 verdicts of 11,732 are missing. `equal` counts them as apart; the published kappa reads each as a 2."""
    follows: dict[str, int] = {}
    for name, table in (("left out", llmbar(data_folder)), ("read as 2", llmbar(data_folder, read_as={"": "2"}))):
        for row in published(data_folder):
            rated = table.of_slice(row["subset"]).ratings(*in_both_orders(row["evaluator"], row["prompt"]))
            same = kappa((r.verdicts[0], r.verdicts[1]) for r in rated) == pytest.approx(float(row["kappa_agreement"]))
            follows[name] = follows.get(name, 0) + same
    assert follows == {"left out": 59, "read as 2": 70}


def test_llmbar_published_kappa_with_gold_follows_from_no_verdicts(data_folder: Path) -> None:
    """`kappa_False` and `kappa_True` are not Cohen's kappa of gold and winner, in any of 140 cases."""
    table, gaps = llmbar(data_folder), []
    for row in published(data_folder):
        rated = table.of_slice(row["subset"]).ratings(*in_both_orders(row["evaluator"], row["prompt"]))
        for place, column in enumerate(("kappa_False", "kappa_True")):
            found = kappa((r.gold, r.verdicts[place]) for r in rated)
            gaps.append(abs(found - float(row[column])))
    assert len(gaps) == 140
    assert min(gaps) > 0.005
    assert max(gaps) > 0.6


def test_llmbar_natural_gpt4(data_folder: Path) -> None:
    """The plainest case: 95 of 100 right, kappa 0.898; published 0.268."""
    found = llmbar(data_folder).of_slice("Natural").agreement(*in_both_orders("GPT-4", "Vanilla"))
    assert found.table.counts == ((40, 2), (3, 55))
    assert value(found.dropped.percent_agreement) == 0.95
    assert value(found.dropped.kappa) == pytest.approx(0.897708674304, abs=1e-12)
    assert isinstance(found.flips, FlipRate)
    assert found.flips.items.value == 0.05


FLIPS = {
    ("GPT-4", "Vanilla"): 30,
    ("GPT-4", "Vanilla_NoRules"): 37,
    ("GPT-4", "CoT"): 45,
    ("GPT-4", "Metrics_Reference"): 35,
    ("GPT-4", "Rating"): 69,
    ("ChatGPT", "Vanilla"): 143,
    ("ChatGPT", "Vanilla_NoRules"): 163,
    ("ChatGPT", "CoT"): 175,
    ("ChatGPT", "Metrics_Reference"): 183,
    ("ChatGPT", "Rating"): 213,
    ("LLaMA2", "Vanilla"): 105,
    ("LLaMA2", "Vanilla_NoRules"): 96,
    ("LLaMA2", "CoT"): 175,
    ("LLaMA2", "Metrics_Reference"): 144,
}


def test_llmbar_verdicts_flip_when_the_answers_change_places(data_folder: Path) -> None:
    """Of 419 pairs. By the published `equal`: 419 less its sum over the subsets."""
    table = llmbar(data_folder)
    equal: dict[tuple[str, str], int] = {}
    for row in published(data_folder):
        key = (row["evaluator"], row["prompt"])
        equal[key] = equal.get(key, 0) + counted(row["equal"])[0]
    assert set(JUDGES) == set(FLIPS) == set(equal)
    for judge in JUDGES:
        flips = table.agreement(*in_both_orders(*judge)).flips
        assert isinstance(flips, FlipRate)
        assert flips.items.n == 419
        assert round(flips.items.value * 419) == FLIPS[judge] == 419 - equal[judge]


# --- PandaLM: three annotators, two judges (github.com/WeOpenML/PandaLM) --------------------------------------------

PEOPLE = ("annotator1", "annotator2", "annotator3")


def pandalm(folder: Path, **options: Any) -> RatingTable:
    return read_ratings(
        folder / "pandalm" / "labels.csv",
        item="item",
        gold=PEOPLE,
        judges=(*PEOPLE, "gpt_3_5_turbo", "pandalm_7b"),
        labels=("0", "1", "2"),
        read_as={"Tie": "0"},
        **options,
    )


def test_pandalm_people_agree_as_published(data_folder: Path) -> None:
    """Published: 0.85, 0.88 and 0.86."""
    found = pandalm(data_folder).among(*PEOPLE)
    assert [round(value(pair.kappa), 2) for pair in found.pairs] == [0.85, 0.88, 0.86]
    assert isinstance(found.alpha, Resampled)
    assert found.alpha.value == pytest.approx(0.864220685, abs=1e-9)


@pytest.mark.parametrize(("unread", "accuracy"), [("0", 71.07), ("wrong", 69.77), ("drop", 71.56)])
def test_pandalm_what_is_done_with_25_replies_decides_the_accuracy(
    data_folder: Path, unread: str, accuracy: float
) -> None:
    table = pandalm(data_folder, unread=unread)
    assert table.outside("gpt_3_5_turbo") == {"garbage": 25}
    assert table.without_gold == 0
    found = table.agreement("gpt_3_5_turbo")
    assert found.unread == (0 if unread == "0" else 25)
    assert round(100 * value(found.reading(table.rule).percent_agreement), 2) == accuracy
    assert any("garbage" in note for note in table.notes("gpt_3_5_turbo"))


def test_pandalm_majority_and_the_trained_judge(data_folder: Path) -> None:
    found = pandalm(data_folder).agreement("pandalm_7b")
    assert found.table.gold_totals == (105, 422, 472)
    assert found.unread == 0
    assert round(100 * value(found.dropped.percent_agreement), 2) == 66.77


# --- XSTest: two people, a judge that sometimes answers in sentences, a matcher of strings --------------------------
# (github.com/paul-rottger/exaggerated-safety)

MODELS = {
    "llama2orig": (96.4, 0.93),
    "llama2new": (95.8, 0.93),
    "mistralinstruct": (97.6, 0.92),
    "mistralguard": (93.8, 0.89),
    "gpt4": (98.4, 0.97),
}


def xstest(folder: Path, **options: Any) -> RatingTable:
    return read_ratings(
        folder / "xstest" / "labels.csv",
        item=("model", "prompt_id"),
        gold="final_label",
        judges=("annotation_1", "annotation_2", "gpt4_label", "string_match_label"),
        slice="model",
        **options,
    )


@pytest.mark.parametrize("model", MODELS)
def test_xstest_people_agree_as_published(data_folder: Path, model: str) -> None:
    pair = xstest(data_folder).of_slice(model).among("annotation_1", "annotation_2").pairs[0]
    assert (round(100 * value(pair.percent_agreement), 1), round(value(pair.kappa), 2)) == MODELS[model]


def figures(found: Agreement, rule: Any) -> tuple[float, float]:
    reading = found.reading(rule)
    return round(100 * value(reading.percent_agreement), 1), round(value(reading.kappa), 3)


def test_xstest_a_sentence_is_no_verdict(data_folder: Path) -> None:
    """79.9% and .628 count the 11 sentences as a label of their own; without them it is 80.3% and .634."""
    table = xstest(data_folder, unread="wrong")
    found = table.agreement("gpt4_label")
    assert (found.items, found.unread) == (2250, 11)
    assert sum(table.outside("gpt4_label").values()) == 11
    assert len(table.outside("gpt4_label")) == 5
    assert figures(found, "wrong") == (79.9, 0.628)
    assert figures(found, "dropped") == (80.3, 0.634)


def test_xstest_agreement_of_three_quarters_may_be_almost_all_chance(data_folder: Path) -> None:
    found = xstest(data_folder).of_slice("mistralinstruct").agreement("gpt4_label")
    assert found.unread == 11
    assert figures(found, "wrong") == (74.0, 0.064)
    assert figures(found, "dropped") == (75.9, 0.082)
    kappa = found.dropped.kappa
    assert isinstance(kappa, Interval)
    assert kappa.low < 0.05
    assert value(found.ac1) > 0.7


def test_xstest_a_matcher_of_strings_is_no_worse_than_the_judge(data_folder: Path) -> None:
    table = xstest(data_folder)
    assert figures(table.agreement("string_match_label"), "dropped") == (83.9, 0.699)
    by_model = {part.name: part for part in table.agreement("string_match_label").slices}
    assert round(value(by_model["mistralinstruct"].kappa), 3) == 0.253
    assert table.outside("string_match_label") == {}


# --- DICES-350: a crowd (as in JUDGE-BENCH) -------------------------------------------------------------------------


def test_dices_alpha_is_the_published_one(data_folder: Path) -> None:
    table = read_ratings(data_folder / "dices" / "ratings_350_crowd.csv", item="item", by="rater", judges="label")
    found = table.among()
    assert (len(found.raters), found.items, found.twice) == (123, 350, 350)
    assert table.labels == ("No", "Unsure", "Yes")
    assert value(found.alpha) == pytest.approx(0.16086021565770392, abs=1e-12)
