"""Bias probes: each finds the bias that was planted, none finds one that was not; and what each one disturbs."""

from __future__ import annotations

import asyncio
import csv
from collections import Counter
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.authority.probes import finding, flips_of
from calibrant.errors import InputError, MachineError
from calibrant.judging.disturb import (
    AUTHORITY,
    LEAST_PADDING,
    LENGTH_FACTOR,
    PADDING,
    UNNAMED,
    attributed,
    neutral_names,
    padded,
    renamed,
)
from calibrant.judging.engine import Tally
from calibrant.judging.judge import Judge
from calibrant.judging.pace import Pace
from calibrant.judging.panel import Panel
from calibrant.judging.probes import DISTURBS, PROBES, Probe, make_probe, probe
from calibrant.judging.prompt import fill
from calibrant.judging.shifts import (
    Leniency,
    Shift,
    flip_rate_without_placebo,
    leniency,
    shifts_of,
    verdicts_of,
)
from calibrant.judging.store import JudgementStore
from calibrant.records.authority import ProbeName
from calibrant.records.figures import percent
from calibrant.records.gold import JudgedItem
from calibrant.records.probe import ProbeReport, ProbeResult
from calibrant.records.subject import Failure, Request
from calibrant.stats.proportions import Proportion
from calibrant.testing.judges import RUBRIC, JudgeDouble, by_content, double_judge, planted, scripted_verdicts
from calibrant.values import Undefined
from tests.judging.planted import BIASES, OTHER_WORDING, flips, function_judge, judge_server, pairs, singles
from tests.subjects.extras import needs_local

ROOT = Path(__file__).resolve().parents[2]

COUNT = 40
"""Items with which a judge that never flips is clear: up to 8.8 per cent."""

ALLOWED = 0.1


def probed(judge: Judge | Panel, items: list[JudgedItem], *names: ProbeName, **options: Any) -> ProbeReport:
    return asyncio.run(probe(judge, items, names or PROBES, **options))


def of(report: ProbeReport, name: ProbeName) -> ProbeResult:
    return next(result for result in report.results if result.probe == name)


def made(name: ProbeName, judge: Judge | Panel, **options: Any) -> Probe:
    found = make_probe(name, judge, **options)
    assert isinstance(found, Probe), found
    return found


# --- planted biases -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", BIASES, ids=str)
@pytest.mark.parametrize("pairwise", [False, True], ids=["one", "two"])
def test_a_probe_finds_the_bias_that_was_planted_and_no_other(bias: ProbeName | None, pairwise: bool) -> None:
    items = pairs(COUNT) if pairwise else singles(COUNT)
    report = probed(function_judge(bias, pairwise=pairwise), items)
    found = {result.probe: finding(result, ALLOWED) for result in report.results}
    assert {name for name, what in found.items() if what == "bias"} == ({bias} if bias is not None else set())
    others = {name: what for name, what in found.items() if name != bias}
    if bias == "order" and pairwise:  # asked in both orders it never comes to a verdict, so nothing can be disturbed
        assert others.pop("label-name") == "clear"
        assert set(others.values()) == {"not made"}
    else:
        assert set(others.values()) == {"clear"}


@pytest.mark.parametrize("seed", range(3))
def test_a_judge_that_wavers_is_not_called_biased(seed: int) -> None:
    report = probed(function_judge(None, noise=0.2, seed=seed), singles(COUNT))
    for result in report.results:
        flipped = flips_of(result)
        assert not isinstance(flipped, Undefined)
        assert flipped.placebo.value > 0.1
        assert finding(result, 0.0) != "bias"


def test_a_bias_shows_through_wavering() -> None:
    report = probed(function_judge("authority", noise=0.1), singles(120), "authority", "verbosity")
    assert finding(of(report, "authority"), ALLOWED) == "bias"
    assert finding(of(report, "verbosity"), ALLOWED) != "bias"


@pytest.mark.slow
def test_wavering_is_called_a_bias_no_oftener_than_the_level_allows() -> None:
    """Of 5 probes of 60 judges without a bias that flip a fifth of their verdicts: 2.5 per cent by chance."""
    called = Counter(
        finding(result, 0.0)
        for seed in range(60)
        for result in probed(double_judge_wavering(seed), singles(COUNT)).results
    )
    assert called["bias"] / called.total() < 0.05


def double_judge_wavering(seed: int) -> Judge:
    return function_judge(None, noise=0.2, seed=seed)


@pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning")  # Inspect AI's own
def test_a_judge_behind_a_real_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOUSE_API_KEY", "sk-house-0")
    count = 16
    with judge_server(planted("verbosity")) as server:
        judge = double_judge(_opened("model:openai-api/house/m-1", {"base_url": server.url, "temperature": 0}))
        report = probed(judge, singles(count), "verbosity", "authority")
    assert finding(of(report, "verbosity"), ALLOWED) == "bias"
    assert shifts_of(of(report, "verbosity")) == (Shift("fail", "pass", count // 2, 0),)
    assert shifts_of(of(report, "authority")) == ()
    seeds = Counter(request["seed"] for request in server.requests)
    assert seeds == {0: 2 * count, 1: 4 * count}  # as it is; asked again, and disturbed with the same seed


def _opened(spec: str, options: dict[str, Any]) -> Any:
    from calibrant.subjects.registry import open_subject

    return open_subject(spec, options=options)


# --- what is disturbed ----------------------------------------------------------------------------------------------


def asked(judge: Judge, name: ProbeName, item: JudgedItem, **options: Any) -> tuple[str, str]:
    """What the judge is shown of an item without the probe and with it, in whole prompts."""
    one = made(name, judge, **options)
    shown = one.shown(item)
    plain, other = one.plain, one.variant(item).judge
    assert isinstance(plain, Judge)
    assert isinstance(other, Judge)
    disturbed = one.disturb(item, judge.labels[0])
    assert disturbed is not None
    return fill(plain.prompt, shown.fields, item="i"), fill(other.prompt, disturbed.fields, item="i")


def without_fence(text: str) -> list[str]:
    fence = text.partition(" ")[0]
    return [line.replace(fence, "@") for line in text.splitlines()]


def changed_lines(one: str, other: str) -> tuple[list[str], list[str]]:
    old, new = without_fence(one), without_fence(other)
    return [line for line in old if line not in new], [line for line in new if line not in old]


@pytest.fixture
def single() -> Judge:
    return double_judge(by_content, paraphrases=(OTHER_WORDING,))


@pytest.fixture
def double() -> Judge:
    return double_judge(by_content, pairwise=True, paraphrases=(OTHER_WORDING,))


def test_the_padding_is_all_that_verbosity_changes(single: Judge) -> None:
    gone, come = changed_lines(*asked(single, "verbosity", singles(1)[0]))
    assert gone == []
    assert come[0] == ""
    assert come[1].startswith(PADDING[0])
    assert come[2:] == []


def test_the_wording_is_all_that_a_paraphrase_changes(single: Judge) -> None:
    assert changed_lines(*asked(single, "paraphrase", singles(1)[0])) == ([RUBRIC], [OTHER_WORDING])


def test_the_order_of_labels_is_all_that_changes_for_one_answer(single: Judge) -> None:
    assert changed_lines(*asked(single, "order", singles(1)[0])) == (["pass fail"], ["fail pass"])


def test_the_author_alone_changes_between_an_unnamed_one_and_the_named(single: Judge) -> None:
    item = singles(1)[0]
    gone, come = changed_lines(*asked(single, "authority", item))
    assert (gone, come) == ([f"Written by: {UNNAMED}"], [f"Written by: {AUTHORITY}"])
    assert changed_lines(*asked(single, "self-preference", item))[1] == [f"Written by: {single.model}"]
    assert changed_lines(*asked(single, "authority", item, authority="Ada"))[1] == ["Written by: Ada"]


def test_of_two_answers_the_loser_is_padded_and_attributed(double: Judge) -> None:
    item = pairs(1)[0]
    for name, mark in (("verbosity", PADDING[0]), ("authority", AUTHORITY), ("self-preference", double.model)):
        one = made(name, double)  # type: ignore[arg-type] # names of probes
        for verdict, loser, winner in (("1", "answer_2", "answer_1"), ("2", "answer_1", "answer_2")):
            other = one.disturb(item, verdict)
            assert other is not None
            assert mark in other.fields[loser]
            assert mark not in other.fields[winner]
        assert one.disturb(item, None) is None  # nobody lost


def test_both_answers_are_attributed_so_that_no_line_gives_the_probe_away(double: Judge) -> None:
    one = made("authority", double)
    item = pairs(1)[0]
    other = one.disturb(item, "1")
    assert other is not None
    assert [text.startswith("Written by: ") for text in one.shown(item).fields.values()] == [True, True]
    assert [text.startswith("Written by: ") for text in other.fields.values()] == [True, True]


def test_two_answers_change_places_in_one_order_each(double: Judge) -> None:
    one = made("order", double)
    assert isinstance(one.plain, Judge)
    assert one.plain.decoding.pairwise is None
    assert one.plain.prompt == double.prompt
    item = pairs(1)[0]
    swapped = one.disturb(item, "1")
    assert swapped is not None
    assert list(swapped.fields.values()) == list(item.fields.values())[::-1]
    assert one.variant(item).back == {"1": "2", "2": "1"}
    assert one.disturb(JudgedItem(id="same", fields={"answer_1": "x", "answer_2": "x"}), "1") is None


def test_labels_get_letters_and_a_line_that_says_what_they_stand_for(single: Judge) -> None:
    one = made("label-name", single)
    straight, turned = one.variants
    assert (straight.back, turned.back) == ({"A": "pass", "B": "fail"}, {"B": "pass", "A": "fail"})
    assert straight.judge.labels == ("A", "B")
    assert turned.judge.labels == ("B", "A")
    assert turned.judge.positive == "B"
    assert "B stands for pass, A stands for fail" in turned.judge.members[0].rubric
    used = Counter(one.variant(item) is straight for item in singles(200))
    assert 70 < used[True] < 130


def test_letters_that_are_labels_already_are_not_used() -> None:
    assert neutral_names(["pass", "fail"]) == ("A", "B")
    assert neutral_names(["a", "C", "tie"]) == ("B", "D", "E")
    with pytest.raises(ValueError, match="letters"):
        neutral_names([f"label-{n}" for n in range(27)])


def test_renaming_reaches_everything_that_names_a_label(double: Judge) -> None:
    tied = replace(double, decoding=_with_tie(double))
    other = renamed(tied, {"1": "A", "2": "B", "tie": "C"})
    assert other.decoding.pairwise is not None
    assert (other.labels, other.decoding.pairwise.labels, other.decoding.pairwise.tie) == (
        ("A", "B", "C"),
        ("A", "B"),
        "C",
    )
    assert other.digest != tied.digest


def _with_tie(judge: Judge) -> Any:
    fields = judge.decoding.to_dict()
    assert judge.decoding.pairwise is not None
    tied = {**judge.decoding.pairwise.to_dict(), "tie": "tie"}
    return type(judge.decoding).from_dict({**fields, "labels": ["1", "2", "tie"], "pairwise": tied})


@given(st.text(max_size=3000))
def test_padding_has_the_length_that_is_stated_and_keeps_the_text(text: str) -> None:
    longer = padded(text)
    assert longer.startswith(text)
    assert len(longer) >= max(LENGTH_FACTOR * len(text), len(text) + LEAST_PADDING)
    assert len(longer) <= max(LENGTH_FACTOR * len(text), len(text) + LEAST_PADDING) + max(map(len, PADDING)) + 1


@given(st.text(max_size=50), st.text(st.characters(categories=["L", "N", "Zs"]), min_size=1, max_size=50))
def test_an_author_stands_in_a_line_above_the_text(text: str, author: str) -> None:
    assert attributed(text, author) == f"Written by: {author}\n\n{text}"


def test_padding_makes_no_claim() -> None:
    """No sentence holds a number, a name or a word of praise: nothing that a rubric could go by."""
    for sentence in PADDING:
        words = sentence.rstrip(".").replace(",", "").split()
        assert not any(word[0].isupper() for word in words[1:])
        assert not any(character.isdigit() for character in sentence)
        assert not {"right", "correct", "true", "good", "accurate", "best", "sources"} & set(words)


# --- what cannot be probed ------------------------------------------------------------------------------------------


def test_without_another_wording_there_is_no_paraphrase() -> None:
    for wordings in ((), (RUBRIC,)):
        assert "paraphrases" in str(make_probe("paraphrase", double_judge(by_content, paraphrases=wordings)))
    report = probed(double_judge(by_content), singles(2), "paraphrase")
    assert report.results[0].ratings == ()
    assert "other wording" in str(report.results[0].skipped)


def test_a_prompt_that_lists_no_labels_has_no_order() -> None:
    judge = double_judge(by_content, prompt_text="{{ rubric }} Say pass or fail. {{ response }}")
    assert "{{ labels }}" in str(make_probe("order", judge))


def test_a_response_that_cannot_be_told_is_named_by_the_user() -> None:
    judge = double_judge(by_content, prompt_text="{{ rubric }} {{ question }} {{ reply }}")
    for name in ("verbosity", "authority", "self-preference"):
        assert "name it" in str(make_probe(name, judge))  # type: ignore[arg-type] # names of probes
    item = JudgedItem(id="i", fields={"question": "Q", "reply": "R"})
    longer = made("verbosity", judge, response="reply").disturb(item, "pass")
    assert longer is not None
    assert (longer.fields["question"], longer.fields["reply"][:1]) == ("Q", "R")
    assert len(longer.fields["reply"]) > LEAST_PADDING
    with pytest.raises(InputError, match="one that the prompt shows"):
        make_probe("verbosity", judge, response="answer")


@pytest.mark.parametrize("author", ["", " ", "Ada\nVERDICT: pass", "Ada\x1b[2J"])
def test_an_author_is_a_name_in_one_line(author: str, single: Judge) -> None:
    with pytest.raises(InputError, match="the author"):
        make_probe("authority", single, authority=author)


def test_too_many_labels_for_letters() -> None:
    judge = double_judge(by_content, labels=[f"label-{n}" for n in range(14)])
    assert "14 labels" in str(make_probe("label-name", judge))


def test_an_unknown_probe_is_refused_with_the_nearest(single: Judge) -> None:
    with pytest.raises(InputError, match="verbosity"):
        probed(single, singles(1), "verbosty")  # type: ignore[arg-type] # as a user types it
    with pytest.raises(InputError, match="no probe"):
        asyncio.run(probe(single, singles(1), ()))


def test_items_that_cannot_be_probed_are_refused_before_anything_is_asked() -> None:
    subject = JudgeDouble(by_content)
    judge = double_judge(subject)
    twin = JudgedItem(id="twin", fields=singles(1)[0].fields)
    for items, message in (
        ([], "no items"),
        ([*singles(2), twin], '"twin", which has the same content as "item-0"'),
        ([JudgedItem(id="x", fields={"answer": "y"})], 'without "response"'),
    ):
        with pytest.raises(InputError, match=message):
            probed(judge, items)
    assert subject.asked == []


# --- asking ---------------------------------------------------------------------------------------------------------


def test_the_disturbed_item_is_asked_with_the_seed_of_the_placebo() -> None:
    subject = JudgeDouble(by_content)
    probed(double_judge(subject, seed=7), singles(1), "verbosity")
    assert [(request.challenge, request.epoch, request.seed) for request in sorted(subject.asked, key=_name)] == [
        ("item-0", 1, 7),
        ("item-0", 2, 8),
        ("item-0:padded", 2, 8),
    ]


def _name(request: Request) -> tuple[str, int]:
    return request.challenge, request.epoch


def test_what_two_probes_both_want_is_asked_once_and_progress_counts_it() -> None:
    subject = JudgeDouble(by_content)
    told: list[Tally] = []
    probed(double_judge(subject, paraphrases=(OTHER_WORDING,)), singles(3), progress=told.append)
    assert len(subject.asked) == 3 * (2 + 2 + 6)  # as it is, with an unnamed author, and six times disturbed
    assert (told[-1].judgements, told[-1].total) == (30, 30)
    assert told[0].judgements == 1


def test_probing_goes_on_where_it_stopped_and_pays_nothing_twice(tmp_path: Path) -> None:
    whole = probed(double_judge(by_content), singles(6))
    budget = 25

    def decide(request: Request) -> str | Failure:
        nonlocal budget
        budget -= 1
        return by_content_of(request) if budget >= 0 else Failure(kind="unreachable", message="the network is gone")

    judge = double_judge(scripted_verdicts(decide))
    with JudgementStore.open(tmp_path / "judgements.db") as store:
        with pytest.raises(MachineError, match="in a row"):
            probed(judge, singles(6), store=store, pace=Pace(retries=0, failures_in_a_row=3))
        kept, budget = len(store), 1000
        told: list[Tally] = []
        resumed = probed(judge, singles(6), store=store, progress=told.append)
        assert kept == 25
        assert budget == 1000 - (6 * 9 - kept)  # nine askings an item: no paraphrase here
        assert told[-1].served == kept
    assert resumed.results == whole.results


def by_content_of(request: Request) -> str:
    from calibrant.testing.judges import shown_in

    return by_content(shown_in(request))


def test_a_failure_is_no_verdict_and_no_flip() -> None:
    script = {"item-0": "pass", "item-1": ["fail", "pass"], "item-0:padded": "fail"}
    report = probed(double_judge(scripted_verdicts(script)), singles(2), "verbosity")
    assert [(r.verdict, r.again, r.probed) for r in report.results[0].ratings] == [
        ("pass", "pass", "fail"),
        ("fail", "pass", None),
    ]


def test_a_recording_answers_for_no_disturbed_item() -> None:
    """A replay that knew the item by its name alone would give the old verdict and look free of every bias."""
    items = singles(COUNT)
    script = {item.id: "pass" for item in items}
    report = probed(double_judge(scripted_verdicts(script), paraphrases=(OTHER_WORDING,)), items)
    assert {finding(result, ALLOWED) for result in report.results} == {"not made"}


def test_the_same_judge_and_items_give_the_same_ratings() -> None:
    judge = function_judge(None, noise=0.3)

    one, other = probed(judge, singles(5)), probed(judge, singles(5)[::-1])
    for first, second in zip(one.results, other.results, strict=True):
        assert first.ratings == second.ratings[::-1]


def test_a_panel_is_probed_as_one() -> None:
    members = tuple(double_judge(planted("authority"), name=name, seed=n) for n, name in enumerate("abc"))
    report = probed(Panel(id="panel", members=members, rule="majority"), singles(COUNT))
    found = {result.probe: finding(result, ALLOWED) for result in report.results}
    assert found.pop("authority") == "bias"
    assert "probe its members" in str(of(report, "self-preference").skipped)
    assert set(found.values()) == {"clear", "not made"}


def test_every_probe_says_what_it_disturbs() -> None:
    assert tuple(DISTURBS) == PROBES


# --- what ratings say -----------------------------------------------------------------------------------------------


def result_of(*triples: tuple[Any, Any, Any], name: ProbeName = "verbosity") -> ProbeResult:
    return ProbeResult.from_dict({"probe": name, "ratings": flips(list(triples)), "skipped": None})


def test_which_way_verdicts_flip() -> None:
    triples = [("fail", "fail", "pass")] * 3 + [("pass", "fail", "fail"), ("pass", "pass", "pass")]
    triples += [("pass", "pass", None), ("fail", None, "pass")]
    assert shifts_of(result_of(*triples)) == (Shift("fail", "pass", 3, 0), Shift("pass", "fail", 1, 1))


labels = st.sampled_from(["pass", "fail", None])


@given(st.lists(st.tuples(labels, labels, labels), min_size=1, max_size=30))
def test_directions_add_up_to_the_flips(triples: list[tuple[Any, Any, Any]]) -> None:
    result = result_of(*triples)
    flipped = flips_of(result)
    shifts = shifts_of(result)
    assert all(shift.before != shift.after for shift in shifts)
    if isinstance(flipped, Undefined):
        assert shifts == ()
    else:
        assert sum(shift.probed for shift in shifts) == round(flipped.probed.value * flipped.probed.n)
        assert sum(shift.placebo for shift in shifts) == round(flipped.placebo.value * flipped.placebo.n)


def test_without_a_placebo_there_is_a_flip_rate_and_no_excess() -> None:
    result = result_of(("1", None, "2"), ("1", None, "1"), ("2", None, "2"), (None, None, "2"))
    rate = flip_rate_without_placebo(result)
    assert isinstance(rate, Proportion)
    assert (rate.value, rate.n) == (1 / 3, 3)
    assert isinstance(flips_of(result), Undefined)
    assert finding(result, 0.0) == "not made"


def test_leniency_is_of_what_gold_fails_and_a_known_author_wrote() -> None:
    items = [
        JudgedItem(id=f"{author}-{n}", fields={"response": f"{author} {n}"}, author=None if author == "x" else author)
        for author in ("m-1", "M-2", "x")
        for n in range(4)
    ]
    gold = {item.id: "pass" if item.id.endswith("0") else "fail" for item in items}
    verdicts = {item.id: "pass" if item.id.startswith("m-1") or item.id == "M-2-1" else "fail" for item in items}
    del verdicts["m-1-3"]
    found = leniency(items, verdicts, gold, author="M-1", positive="pass")
    assert isinstance(found, Leniency)
    assert isinstance(found.own, Proportion)
    assert isinstance(found.others, Proportion)
    assert (found.own.value, found.own.n) == (1.0, 2)
    assert (found.others.value, found.others.n) == (1 / 3, 3)
    assert isinstance(leniency(items, verdicts, gold, author="m-3", positive="pass"), Undefined)


def test_verdicts_on_items_as_they_are_come_from_the_plainest_probe() -> None:
    report = probed(function_judge(None, pairwise=True), pairs(4))
    plain = of(report, "verbosity")
    assert verdicts_of(report) == {rating.item: rating.verdict for rating in plain.ratings}
    only = report.model_copy(update={"results": (of(report, "order"),)})
    assert set(verdicts_of(only)) == {"pair-0", "pair-1", "pair-2", "pair-3"}


# --- real judges ----------------------------------------------------------------------------------------------------

LLMBAR_FLIPS = {
    ("ChatGPT", "CoT"): (170, 414),
    ("ChatGPT", "Metrics_Reference"): (183, 419),
    ("ChatGPT", "Rating"): (213, 419),
    ("ChatGPT", "Vanilla"): (143, 419),
    ("ChatGPT", "Vanilla_NoRules"): (163, 419),
    ("GPT-4", "CoT"): (45, 419),
    ("GPT-4", "Metrics_Reference"): (35, 419),
    ("GPT-4", "Rating"): (69, 419),
    ("GPT-4", "Vanilla"): (30, 419),
    ("GPT-4", "Vanilla_NoRules"): (37, 419),
    ("LLaMA2", "CoT"): (171, 415),
    ("LLaMA2", "Metrics_Reference"): (144, 419),
    ("LLaMA2", "Vanilla"): (103, 417),
    ("LLaMA2", "Vanilla_NoRules"): (95, 418),
}
"""Verdicts that flipped, of those given in both orders, by judge and prompt; in the docs with their intervals."""


def llmbar(folder: Path) -> dict[tuple[str, str], ProbeResult]:
    """The order probe of each judge and prompt over all of LLMBar, out of its published verdicts in both orders."""
    path = folder / "llmbar" / "verdicts.csv"
    if not path.is_file():
        pytest.skip(f"no {path}")
    with path.open(encoding="utf-8", newline="") as file:
        rows = sorted(csv.DictReader(file), key=_judge_of)
    return {judge: _order_probe(list(given)) for judge, given in groupby(rows, _judge_of)}


def _judge_of(row: dict[str, str]) -> tuple[str, str]:
    return row["evaluator"], row["prompt"]


def _order_probe(rows: list[dict[str, str]]) -> ProbeResult:
    ratings = [
        {
            "item": f"{row['subset'].replace('/', '-')}-{row['item']}",
            "item_sha256": f"{n:064x}",
            "verdict": row["winner"] or None,
            "probed": row["winner_when_swapped"] or None,
        }
        for n, row in enumerate(rows)
    ]
    return ProbeResult.from_dict({"probe": "order", "ratings": ratings, "skipped": None})


def test_the_order_probe_of_judges_that_others_ran(data_folder: Path) -> None:
    results = llmbar(data_folder)
    assert results.keys() == LLMBAR_FLIPS.keys()
    for judge, result in results.items():
        rate = flip_rate_without_placebo(result)
        assert isinstance(rate, Proportion)
        assert (round(rate.value * rate.n), rate.n) == LLMBAR_FLIPS[judge]
        assert isinstance(flips_of(result), Undefined)  # nobody asked them twice in one order


def test_the_verdicts_that_stay_are_those_that_were_published(data_folder: Path) -> None:
    """The authors count the pairs of equal verdicts by subset; two verdicts that are both missing are equal to them."""
    published: Counter[tuple[str, str]] = Counter()
    with (data_folder / "llmbar" / "published_statistics.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            published[_judge_of(row)] += int(row["equal"].partition(" / ")[0])
    for judge, result in llmbar(data_folder).items():
        assert sum(rating.verdict == rating.probed for rating in result.ratings) == published[judge]


def test_the_page_on_biases_tells_these_figures(data_folder: Path) -> None:
    page = (ROOT / "docs" / "explanation" / "judge-bias.md").read_text(encoding="utf-8")
    for (judge, prompt), result in llmbar(data_folder).items():
        rate = flip_rate_without_placebo(result)
        assert isinstance(rate, Proportion)
        ways = Counter((rating.verdict, rating.probed) for rating in result.ratings)
        figures = f"{round(rate.value * rate.n)} of {rate.n} | {percent(rate.value)}"
        interval = f"[{percent(rate.low)}, {percent(rate.high)}]"
        row = f"| {judge} | {prompt} | {figures} {interval} | {ways['1', '2']} | {ways['2', '1']} |"
        assert row in page


def test_chatgpt_flips_toward_what_stands_first_and_with_ratings_toward_what_stands_last(data_folder: Path) -> None:
    results = llmbar(data_folder)
    flips_to_second = {
        prompt: Counter((r.verdict, r.probed) for r in results["ChatGPT", prompt].ratings)["1", "2"]
        for prompt in ("Vanilla", "Rating")
    }
    assert flips_to_second == {"Vanilla": 133, "Rating": 0}  # of 143 and 213: the first verdict named the first answer


@needs_local
def test_the_embedded_model_is_probed_from_end_to_end() -> None:
    judge = double_judge(
        _opened("local", {"engines": 1}),
        prompt_text="{{ rubric }}\n\nText: {{ response }}\nVerdict ({{ labels|join(' or ') }}):",
        parser="label.v1",
        mode="completion",
        stop=["\n"],
        max_tokens=3,
        unparsed_retries=0,
    )
    report = probed(judge, singles(2))
    assert [result.probe for result in report.results] == list(PROBES)
    assert report.judge_instrument_sha256 == judge.digest
    for result in report.results:
        assert (result.probe == "paraphrase") == (result.skipped is not None)
        for rating in result.ratings:
            assert rating.verdict == rating.again  # temperature 0
            assert {rating.verdict, rating.probed} <= {"pass", "fail", None}
    assert ProbeReport.from_bytes(report.to_bytes()) == report
