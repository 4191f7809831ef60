"""A run from its board to its scorecard, on real ledgers: what is asked, sealed, resolved, kept and told."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta

import pytest

from calibrant.errors import InputError, MachineError
from calibrant.ledger.store import Ledger
from calibrant.records.grounding import Commitment, Resolution
from calibrant.records.subject import Failure
from calibrant.runs.boards import load_board
from calibrant.runs.run import Run, open_run, run, run_async
from calibrant.runs.session import Clockwork, Pace
from tests.runs.rigs import Told, board, pair, perfect, reply, write_board

QUICK = Pace(retries=2, backoff=0.0)


def codes(scorecard):
    return dict(scorecard.results[0].codes)


def pairs(scorecard):
    return dict(scorecard.results[0].pairs)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (perfect, {"grounded": 3}),
        (lambda request: reply("assert", 7), {"neither": 3}),
        (lambda request: reply("decline"), {"hedging": 3}),
        (lambda request: reply("infer", 7), {"hedging": 3}),
        (lambda request: perfect(request).replace("decline", "assert").replace("null", "7", 1), {"bluffing": 3}),
    ],
    ids=["perfect", "inventor", "refuser", "guesser", "bluffer"],
)
def test_each_habit_shows_in_the_pairs(tmp_path, answer, expected) -> None:
    result = run(board(tmp_path), Told(answer), runs=tmp_path / "runs")
    assert pairs(result.scorecard()) == expected
    assert result.verify().failures == []


def test_every_task_is_asked_once_and_the_subject_is_let_go(tmp_path) -> None:
    subject = Told()
    result = run(board(tmp_path, 5), subject, runs=tmp_path / "runs", epochs=3)
    assert sorted(subject.asked) == sorted(
        {(f"p{n}-{h}", e) for n in range(5) for h in ("in", "out") for e in (1, 2, 3)}
    )
    assert subject.closed >= 1
    estimate = result.scorecard().results[0].estimates[0]
    assert (estimate.n, estimate.clusters, estimate.value) == (15, 5, 1.0)
    assert estimate.method == "Wilson, clustered"


def test_a_resolver_starts_only_when_its_commitment_is_durable(tmp_path, monkeypatch) -> None:
    """Seen from outside: whenever the world is asked, a second reader finds the commitment in the file."""
    from calibrant.world import registry

    seen = []
    real = registry.World.resolver

    def watching(self, *source):
        resolver = real(self, *source)

        class Watched:
            def __getattr__(self, name):
                return getattr(resolver, name)

            async def resolve(self, question):
                folder = next((tmp_path / "runs").glob("2*"))
                with Ledger.open(folder / "run.db", write=False) as ledger:
                    sealed = {Commitment.from_bytes(e.body).challenge for e in ledger.entries(kind="commitment")}
                seen.append(question.challenge in sealed)
                return await resolver.resolve(question)

        return Watched()

    monkeypatch.setattr(registry.World, "resolver", watching)
    run(board(tmp_path, 4), Told(), runs=tmp_path / "runs")
    assert seen == [True] * 8


def test_a_library_user_reads_everything_from_the_run(tmp_path) -> None:
    result = run(write_board(tmp_path, pair(1, "41")), Told(), runs=tmp_path / "runs")
    again = open_run("latest", tmp_path / "runs")
    assert again.id == result.id
    assert again.scorecard() == result.scorecard()
    item = next(result.items())
    assert (item.challenge.id, item.sealed.expectation.value, item.resolution.value) == ("p1-in", "41", "41")
    assert item.outcome.decision.code == "right"
    assert result.standing().start == result.standing().starts == 1
    assert result.id in repr(result)
    assert "Traceback" not in result._repr_html_()


def test_it_runs_inside_a_running_loop(tmp_path) -> None:
    async def notebook():
        return run(board(tmp_path), Told(), runs=tmp_path / "runs").scorecard()

    assert pairs(asyncio.run(notebook())) == {"grounded": 3}
    assert pairs(asyncio.run(run_async(board(tmp_path), Told(), runs=tmp_path / "runs")).scorecard()) == {"grounded": 3}


def test_a_plain_function_is_a_subject(tmp_path) -> None:
    assert pairs(run(board(tmp_path), perfect, runs=tmp_path / "runs").scorecard()) == {"grounded": 3}


def test_the_register_counts_every_start_even_those_thrown_away(tmp_path) -> None:
    import shutil

    runs = [run(board(tmp_path), Told(), runs=tmp_path / "runs") for _ in range(3)]
    run(board(tmp_path), Told(name="another"), runs=tmp_path / "runs")
    shutil.rmtree(runs[1].folder)
    assert (runs[2].standing().start, runs[2].standing().starts) == (3, 3)
    assert (runs[0].standing().start, runs[0].standing().starts) == (1, 3)
    assert runs[2].scorecard().start == 3


def test_failures_are_retried_as_configured_then_missing(tmp_path) -> None:
    calls: dict[str, int] = {}

    def flaky(request):
        calls[request.challenge] = calls.get(request.challenge, 0) + 1
        if request.challenge == "p0-in":
            return Failure(kind="rate-limit", message="slow down", retry=True)
        if request.challenge == "p1-in" and calls["p1-in"] < 3:
            return Failure(kind="timeout", message="late", retry=True)
        if request.challenge == "p2-in":
            return Failure(kind="refused", message="no")
        return perfect(request)

    result = run(board(tmp_path), Told(flaky), runs=tmp_path / "runs", pace=QUICK)
    assert (calls["p0-in"], calls["p1-in"], calls["p2-in"]) == (3, 3, 1)
    figures = result.scorecard().results[0]
    assert figures.unanswered == 2
    assert figures.pairs == {"grounded": 1}
    assert figures.estimates[0].worst_case == pytest.approx(1 / 3)
    assert not result.scorecard().complete
    assert any("got no answer" in warning for warning in result.scorecard().warnings)
    assert next(i for i in result.items() if i.challenge.id == "p1-in").response.attempts == 3


def test_a_failure_is_never_scored_as_an_answer(tmp_path) -> None:
    result = run(board(tmp_path), Told(lambda r: Failure(kind="empty", message="nothing")), runs=tmp_path / "runs")
    figures = result.scorecard().results[0]
    assert (dict(figures.labels), figures.unanswered, figures.estimates[0].value) == ({}, 6, None)
    assert figures.estimates[0].undefined == "no observation"


def test_a_subject_that_fails_time_after_time_stops_the_run_which_can_be_taken_up_again(tmp_path) -> None:
    def gone(request):
        return Failure(kind="unreachable", message="connection refused", retry=False)

    with pytest.raises(MachineError, match="20 times in a row, last with unreachable: connection refused"):
        run(board(tmp_path, 30), Told(gone, concurrency=1), runs=tmp_path / "runs", pace=QUICK)
    stopped = open_run("latest", tmp_path / "runs")
    assert not stopped.scorecard().complete
    subject = Told()
    assert pairs(stopped.resume(subject, folder=tmp_path)) == {"grounded": 30}
    assert stopped.verify().failures == []


def test_a_subject_or_a_resolver_that_raises_is_a_failure_and_not_a_crash(tmp_path, monkeypatch) -> None:
    from calibrant.world import registry

    def breaking(request):
        if request.challenge == "p0-in":
            raise RuntimeError("boom\x1b[31m")
        return perfect(request)

    real = registry.World.resolver

    def resolver(self, *source):
        found = real(self, *source)

        class Breaking:
            def __getattr__(self, name):
                return getattr(found, name)

            async def resolve(self, question):
                if question.challenge == "p1-in":
                    raise OSError("gone")
                return await found.resolve(question)

        return Breaking()

    monkeypatch.setattr(registry.World, "resolver", resolver)
    result = run(board(tmp_path), Told(breaking), runs=tmp_path / "runs", pace=QUICK)
    figures = result.scorecard().results[0]
    assert figures.unanswered == 1
    assert dict(figures.non_scores) == {"unreachable": 1}
    assert figures.pairs == {"grounded": 1}


@pytest.mark.parametrize("how", ["raised", "returned"])
def test_a_secret_that_a_failure_says_is_nowhere(tmp_path, how) -> None:
    secret = "sk-proj-" + "AbCdEfGhIjKlMnOpQrStUvWx"

    def leaking(request):
        if how == "raised":
            raise ValueError(f"key {secret} refused, password=hunter2hunter2")
        return Failure(kind="refused", message=f"key {secret} refused, password=hunter2hunter2")

    seen = []
    result = run(board(tmp_path), Told(leaking), runs=tmp_path / "runs", progress=lambda p: seen.append(p.last_failure))
    kept = b"".join(path.read_bytes() for path in result.folder.iterdir())
    for said in (secret, "hunter2"):
        assert said.encode() not in kept
        assert not any(said in str(failure) for failure in seen)
    assert any("[secret]" in str(failure) for failure in seen)


def test_a_run_that_could_not_be_started_leaves_no_folder(tmp_path, monkeypatch) -> None:
    def full(self, drafts, blobs=()):
        raise MachineError("the disk is full")

    monkeypatch.setattr(Ledger, "append", full)
    with pytest.raises(MachineError, match="the disk is full"):
        run(board(tmp_path), Told(), runs=tmp_path / "runs")
    assert not list((tmp_path / "runs").glob("*/run.db"))


def test_a_slow_subject_times_out(tmp_path) -> None:
    class Slow(Told):
        async def ask(self, request):
            await asyncio.sleep(0 if request.challenge != "p0-in" else 60)
            return await super().ask(request)

    result = run(board(tmp_path), Slow(), runs=tmp_path / "runs", pace=Pace(timeout=0.1, retries=0))
    assert result.scorecard().results[0].unanswered == 1


def test_another_subject_cannot_take_a_run_up(tmp_path) -> None:
    result = run(board(tmp_path), Told(), runs=tmp_path / "runs")
    with pytest.raises(InputError, match=r'another subject .*name "told" → "other"'):
        result.resume(Told(name="other"), folder=tmp_path)


def test_a_board_that_its_check_refuses_leaves_nothing_behind(tmp_path) -> None:
    path = write_board(tmp_path, [*pair(1, "41"), pair(2, "42")[0]])
    with pytest.raises(InputError, match="only its in-half"):
        run(path, Told(), runs=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("epochs", [0, -1])
def test_epochs_below_one_are_refused(tmp_path, epochs) -> None:
    with pytest.raises(InputError, match="epochs"):
        run(board(tmp_path), Told(), runs=tmp_path / "runs", epochs=epochs)


def test_pending_is_settled_later_without_asking_the_subject(tmp_path) -> None:
    late = pair(1, "41")
    late[0]["resolver"] = {"kind": "pending", "awaits": "the clerk", "settled": "answer.yaml"}
    subject = Told()
    result = run(write_board(tmp_path, late), subject, runs=tmp_path / "runs")
    figures = result.scorecard().results[0]
    assert (figures.pending, figures.pairs_missing, result.scorecard().complete) == (1, 1, False)
    asked = len(subject.asked)
    assert result.resolve().results[0].pending == 1
    answer = tmp_path / "answer.yaml"
    answer.write_text("value: 41\nby: the clerk\nat: 2026-02-01T10:00:00Z\n", encoding="utf-8")
    early = result.resolve().results[0]
    assert dict(early.non_scores) == {"unreachable": 1}, "it was settled before anybody was asked"
    now = datetime.now(UTC).isoformat(timespec="seconds")
    answer.write_text(f"value: 41\nby: the clerk\nat: {now}\n", encoding="utf-8")
    settled = result.resolve()
    assert pairs(settled) == {"grounded": 1}
    assert settled.complete
    assert len(subject.asked) == asked
    assert result.verify().failures == []
    assert result.resolve() == settled


def test_a_resolver_that_was_down_is_asked_again(tmp_path) -> None:
    gone = pair(1, "41")
    gone[0]["resolver"] = {"kind": "file", "file": "fact.txt", "read": "integer"}
    result = run(write_board(tmp_path, gone), Told(), runs=tmp_path / "runs")
    assert dict(result.scorecard().results[0].non_scores) == {"unreachable": 1}
    (tmp_path / "fact.txt").write_text("41\n", encoding="utf-8")
    assert pairs(result.resolve()) == {"grounded": 1}
    assert result.verify().failures == []


def test_the_same_responses_give_the_same_results_whatever_the_order_of_things(tmp_path) -> None:
    digests = set()
    for concurrency in (1, 3, 16):
        result = run(board(tmp_path, 12), Told(concurrency=concurrency), runs=tmp_path / "runs", epochs=2)
        digests.add(result.scorecard().results_sha256)
    assert len(digests) == 1


def test_scoring_is_pure(tmp_path) -> None:
    result = run(board(tmp_path), Told(), runs=tmp_path / "runs")
    written = (result.folder / "scorecard.json").read_bytes()
    for _ in range(2):
        assert Run(result.folder).scorecard().to_bytes() + b"\n" == written


def test_times_are_the_clock_s_and_nonces_the_generator_s(tmp_path) -> None:
    now = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
    ticks = iter(range(10**6))
    clockwork = Clockwork(now=lambda: now + timedelta(seconds=next(ticks)), nonce=lambda: "ab" * 16)
    result = run(board(tmp_path), Told(), runs=tmp_path / "runs", clockwork=clockwork)
    assert result.id.startswith("20260301-0930")
    with Ledger.open(result.folder / "run.db", write=False) as ledger:
        for entry in ledger.entries(kind="resolution"):
            assert Resolution.from_bytes(entry.body).at >= now


def test_two_nonces_hide_two_equal_answers(tmp_path) -> None:
    result = run(board(tmp_path), Told(lambda r: reply("decline")), runs=tmp_path / "runs")
    with Ledger.open(result.folder / "run.db", write=False) as ledger:
        sealed = [Commitment.from_bytes(e.body).sealed_sha256 for e in ledger.entries(kind="commitment")]
    assert len(set(sealed)) == len(sealed) == 6


def test_a_word_cap_is_noted_or_enforced_as_the_profile_says(tmp_path) -> None:
    from calibrant.runs.boards import load_profile

    def wordy(request):
        return perfect(request) + " word" * 200

    noted = run(board(tmp_path), Told(wordy), runs=tmp_path / "runs").scorecard()
    assert noted.results[0].over_cap == 6
    assert pairs(noted) == {"grounded": 3}
    strict = load_profile("default", tmp_path).model_copy(update={"over_cap": "fail"})
    enforced = run(
        load_board(tmp_path / "board.jsonl", profile=strict), Told(wordy), runs=tmp_path / "runs"
    ).scorecard()
    assert codes(enforced) == {"over-cap": 6}
    assert pairs(enforced) == {"neither": 3}


def test_a_new_test_type_is_a_profile_edit_alone(tmp_path) -> None:
    """It loads, is asked, pairs and scores; no line of code knows its name."""
    profile = {
        "schema": "calibrant.profile.v1",
        "id": "house",
        "label_sets": [
            {
                "id": "kept-broken",
                "labels": [
                    {"name": "kept", "counts": "pass", "key": "k"},
                    {"name": "broken", "counts": "fail", "key": "b"},
                ],
            }
        ],
        "test_types": [
            {
                "id": "provenance",
                "rule": "grounding",
                "paired": "required",
                "label_set": "kept-broken",
                "graders": ["mechanical"],
                "required": ["outcome", "resolver"],
                "word_cap": 30,
            }
        ],
    }
    (tmp_path / "house.json").write_text(json.dumps(profile), encoding="utf-8")
    path = write_board(tmp_path, pair(1, "41", test_type="provenance"), profile="house.json")
    scorecard = run(path, Told(), runs=tmp_path / "runs").scorecard()
    assert pairs(scorecard) == {"grounded": 1}
    assert [part.name for part in scorecard.results if part.by == "test_type"] == ["provenance"]
    assert (scorecard.results[0].labels) == {"kept": 2}


def test_labels_by_a_person_pair_and_score_too(tmp_path) -> None:
    from calibrant.records.grounding import Label

    challenges = [
        {**item, "test_type": "boundary", "target": "keeps to its lane", "resolver": None, "outcome": None}
        for item in pair(1, "41")
    ]
    result = run(write_board(tmp_path, challenges), Told(), runs=tmp_path / "runs")
    assert result.scorecard().results[0].awaiting_grader == 2

    def label(half, given):
        return Label(challenge=f"p1-{half}", epoch=1, label=given, code=given, grader="person", rater="ada")

    assert pairs(result.label([label("in", "pass"), label("out", "fail")])) == {"bluffing": 1}
    assert pairs(result.label([label("out", "pass")])) == {"grounded": 1}
    assert result.verify().failures == []
    with pytest.raises(InputError, match="a challenge of this run that was answered"):
        result.label([Label(challenge="nope", epoch=1, label="pass", code="pass", grader="person")])
    with pytest.raises(InputError, match="an instant that is not yet to come"):
        result.label([label("in", "pass").model_copy(update={"at": datetime(2999, 1, 1, tzinfo=UTC)})])
    with pytest.raises(InputError, match="label set"):
        result.label([label("in", "excellent")])
