"""The resolver of what is kept back: pending without answers, the source itself with them, an error for wrong ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from calibrant.errors import InputError
from calibrant.records.board import Source
from calibrant.records.sealed import SealedAnswer
from calibrant.testing.resolver_kit import check_resolver
from calibrant.world.base import Allow, Question
from calibrant.world.registry import World
from calibrant.world.sealed import kept_back, sealed
from tests.world.asking import NOON, ask, surroundings

FACT = Source(kind="facts", params={"value": 7, "source": "page 3"})


class Opened(dict[str, SealedAnswer]):
    """Answers by their digest."""

    def hold(self, name: str, source: Source | None, **fields: Any) -> str:
        answer = SealedAnswer(challenge=name, salt="0f" * 16, source=source, **fields)
        self[answer.digest()] = answer
        return answer.digest()


def closed(sha256: str) -> Source:
    return Source(kind="sealed", params={"sha256": sha256})


def world(folder: Path, answers: Opened | None) -> World:
    return World(folder, Allow(), clock=lambda: NOON, answers=answers)


def test_it_waits_without_answers_and_keeps_the_seam(tmp_path) -> None:
    found = ask(world(tmp_path, None).resolver(closed("a" * 64)))
    assert (found.status, found.reason, found.evidence) == ("pending", "sealed: waits for its answers", ())
    assert check_resolver(sealed, {"sha256": "a" * 64}, surroundings(tmp_path), wrong={"sha256": "short"}) == []


def test_with_its_answers_it_is_the_source_and_shows_the_answer(tmp_path) -> None:
    answers = Opened()
    digest = answers.hold("c", FACT)
    resolver = world(tmp_path, answers).resolver(closed(digest))
    found, plain = ask(resolver), ask(world(tmp_path, None).resolver(FACT))
    assert found == replace(plain, evidence=(answers[digest].to_bytes(), *plain.evidence))
    assert resolver.identity.settings["source"] == world(tmp_path, None).resolver(FACT).identity.to_dict()


def test_a_withheld_half_waits_too_and_is_void_where_its_fact_was_shown(tmp_path) -> None:
    answers = Opened()
    inner = Source(kind="facts", params={"value": "Inger Holm"})
    whole = Source(kind="withheld", params={"of": "c-in", "source": inner.to_dict()})
    digest = answers.hold("c", whole)
    assert kept_back(whole) == inner
    published = Source(kind="withheld", params={"of": "c-in", "source": closed(digest).to_dict()})
    assert ask(world(tmp_path, None).resolver(published)).status == "pending"
    for shown, status in (("nothing", "not-determinable"), ("Inger Holm did it", "fact")):
        question = Question("c", shown=shown)
        assert ask(world(tmp_path, answers).resolver(published), question).status == status
        assert ask(world(tmp_path, None).resolver(whole), question).status == status


def test_a_future_half_is_settled_at_once_and_has_its_value_when_it_is_opened(tmp_path) -> None:
    answers = Opened()
    due = "2026-02-01T00:00:00Z"
    digest = answers.hold("c", Source(kind="future", params={"due": due, "source": FACT.to_dict()}))
    published = Source(kind="future", params={"due": due, "source": closed(digest).to_dict()})
    question = Question("c", committed=NOON.replace(month=1))
    early, late = (ask(world(tmp_path, held).resolver(published), question) for held in (None, answers))
    assert (early.status, early.value) == ("not-determinable", None)
    assert (late.status, late.value) == ("not-determinable", 7)


def test_the_answer_to_another_question_is_an_error(tmp_path) -> None:
    answers = Opened()
    found = ask(world(tmp_path, answers).resolver(closed(answers.hold("other", FACT))), Question("c"))
    assert (found.status, found.value) == ("error", None)
    assert 'that of "other", not of "c"' in str(found.reason)


@pytest.mark.parametrize("held", ["nothing", "a target alone"])
def test_answers_that_hold_no_source_for_it_are_an_error(tmp_path, held) -> None:
    answers = Opened()
    digest = "a" * 64 if held == "nothing" else answers.hold("c", None, target="t")
    resolver = world(tmp_path, answers).resolver(closed(digest))
    assert ask(resolver).status == "error"
    assert resolver.obstacle() is not None


def test_what_it_would_run_is_told_once_it_is_open(tmp_path) -> None:
    answers = Opened()
    command = Source(kind="command", params={"argv": ["nproc"]})
    source = closed(answers.hold("c", command))
    (told,) = world(tmp_path, None).executes(source)
    assert told.startswith("asks what is sealed")
    allowed = World(tmp_path, Allow(commands=frozenset({"nproc"})), answers=answers)
    assert allowed.executes(source) == World(tmp_path, Allow(commands=frozenset({"nproc"}))).executes(command)
    with pytest.raises(InputError, match="nproc"):
        world(tmp_path, answers).resolver(source)
