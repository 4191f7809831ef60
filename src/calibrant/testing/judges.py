"""Judges that do as they are told: scripted, with a planted bias, wavering. Test doubles, which never gate anything.

They are asked through the normal seam: they read the prompt that a
judge is sent, and answer as a model would.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from calibrant import canonical
from calibrant.errors import quote
from calibrant.judging.judge import Judge
from calibrant.records.authority import ProbeName
from calibrant.records.judgefile import JudgeFile, Pairwise
from calibrant.records.subject import Failure, Request, Response
from calibrant.runs.judges import build_judge
from calibrant.subjects.base import Reply, Subject, question_text
from calibrant.testing.subjects import Answer, Script, ScriptedSubject, double

PROMPT: Final = """\
{{ fence }} rubric
{{ rubric }}
{{ fence }} labels
{{ labels|join(" ") }}
{{ fence }} response
{{ response }}
{{ fence }} end"""
"""A prompt for a judge of one answer which `shown_in` can take apart, whatever the texts hold."""

PAIR_PROMPT: Final = PROMPT.replace(
    "{{ fence }} response\n{{ response }}",
    "{{ fence }} answer_1\n{{ answer_1 }}\n{{ fence }} answer_2\n{{ answer_2 }}",
)
"""The same for a judge of two answers."""

RUBRIC: Final = "A response is good where what it says is right."
"""The rubric of the doubles, unless they are given another."""

LABELS: Final = ("pass", "fail")
"""The labels of a double that judges one text."""

PAIR_LABELS: Final = ("1", "2")
"""The labels of a double that prefers one of two texts."""

LONG: Final = 250
"""Characters from which on a double with a bias for length calls a response long."""

MODEL: Final = "judge-double"
"""What the doubles are called."""

_LEGEND: Final = re.compile(r"(\S+) stands for ([^\s,.]+)")
_AUTHOR: Final = re.compile(r"Written by: (.*)\n")


@dataclass(frozen=True, slots=True)
class Shown:
    """What a judge is shown: the rubric, its labels in their order, the texts by name; and with which seed."""

    rubric: str
    labels: tuple[str, ...]
    texts: Mapping[str, str]
    seed: int | None

    def called(self, label: str) -> str:
        """What ``label`` is called here: a rubric may say that another name stands for it."""
        return next((name for name, meant in _LEGEND.findall(self.rubric) if meant == label), label)


def shown_in(request: Request) -> Shown:
    """What a request by a judge with `PROMPT` or `PAIR_PROMPT` shows.

    Raises:
        ValueError: for a request with another prompt.
    """
    text = question_text(request)
    fence, *name = text.partition("\n")[0].split(" ")
    if name != ["rubric"]:
        raise ValueError(f"a prompt that begins with {quote(text[:40])}, which is not that of a judge double")
    parts = text.removeprefix(f"{fence} ").split(f"\n{fence} ")
    texts = dict(part.split("\n", 1) for part in parts[:-1])
    return Shown(texts.pop("rubric"), tuple(texts.pop("labels").split()), texts, request.seed)


Decide: TypeAlias = Callable[[Shown], str]
"""How a judge comes to a verdict: what it is shown to one of the labels on show."""

Quality: TypeAlias = Callable[[str], int]
"""How good a text is, by its content alone."""


def rightness(text: str) -> int:
    """How often a text says ``right``, less how often ``wrong``: what the doubles go by."""
    return len(re.findall(r"\bright\b", text)) - len(re.findall(r"\bwrong\b", text))


def by_content(shown: Shown, quality: Quality = rightness) -> str:
    """The verdict of a judge without a bias: pass what is good, or prefer the better of two, the first where equal."""
    first, second = _usual(shown)
    texts = list(shown.texts.values())
    if len(texts) == 2:
        return shown.called(first if quality(texts[0]) >= quality(texts[1]) else second)
    return shown.called(first if quality(texts[0]) > 0 else second)


def planted(bias: ProbeName | None, *, model: str = MODEL, word: str = "strictly") -> Decide:
    """How a judge decides that has exactly this bias and else goes by content; None for no bias.

    - ``order``: the first of two answers, or the first label listed;
    - ``verbosity``: what is long passes, or the longer of two where they differ much;
    - ``paraphrase``: nothing passes under a rubric with ``word``, or the worse answer is preferred;
    - ``label-name``: the label called A, where there is one;
    - ``self-preference``: what ``model`` is said to have written passes, or is preferred;
    - ``authority``: what a professor is said to have written passes, or is preferred.
    """
    return by_content if bias is None else lambda shown: _BIASES[bias](shown, model, word) or by_content(shown)


def _first(shown: Shown, model: str, word: str) -> str | None:  # noqa: ARG001 - one signature for all
    return shown.labels[0]


def _longer(shown: Shown, model: str, word: str) -> str | None:  # noqa: ARG001
    texts = list(shown.texts.values())
    if len(texts) == 1:
        return shown.called(_usual(shown)[0]) if len(texts[0]) >= LONG else None
    gap = len(texts[0]) - len(texts[1])
    return None if abs(gap) < LONG / 2 else shown.called(_usual(shown)[gap < 0])


def _strict(shown: Shown, model: str, word: str) -> str | None:  # noqa: ARG001
    if word not in shown.rubric:
        return None
    if len(shown.texts) == 1:
        return shown.called(_usual(shown)[1])
    return by_content(shown, lambda text: -rightness(text))


def _called_a(shown: Shown, model: str, word: str) -> str | None:  # noqa: ARG001
    return "A" if "A" in shown.labels else None


def _own(shown: Shown, model: str, word: str) -> str | None:  # noqa: ARG001
    return _of_author(shown, lambda author: author == model)


def _professor(shown: Shown, model: str, word: str) -> str | None:  # noqa: ARG001
    return _of_author(shown, lambda author: "Professor" in author)


def _of_author(shown: Shown, favoured: Callable[[str], bool]) -> str | None:
    """The label that favours the one text whose author is favoured."""
    authors = [found[1] if (found := _AUTHOR.match(text)) else "" for text in shown.texts.values()]
    for place, author in enumerate(authors):
        if favoured(author):
            return shown.called(_usual(shown)[place])
    return None


_BIASES: Final[Mapping[ProbeName, Callable[[Shown, str, str], str | None]]] = {
    "order": _first,
    "verbosity": _longer,
    "paraphrase": _strict,
    "label-name": _called_a,
    "self-preference": _own,
    "authority": _professor,
}


def _usual(shown: Shown) -> tuple[str, str]:
    """The two labels under their usual names: passing first, or that of the first answer."""
    return PAIR_LABELS if len(shown.texts) == 2 else LABELS


def wavering(decide: Decide, rate: float, *, seed: int = 0) -> Decide:
    """``decide`` with a share ``rate`` of its verdicts turned over, drawn anew for each text and seed that it is shown.

    Raises:
        ValueError: for a rate that is no probability.
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"the rate {rate} is no probability")

    def decided(shown: Shown) -> str:
        verdict = decide(shown)
        key = canonical.digest([seed, shown.seed, shown.rubric, list(shown.labels), dict(shown.texts)])
        drawn = random.Random(key)  # noqa: S311 - a simulation
        return drawn.choice([label for label in shown.labels if label != verdict]) if drawn.random() < rate else verdict

    return decided


class JudgeDouble:
    """A subject behind a judge with `PROMPT`: it answers with the verdict of a function, as JSON."""

    elicitation = "json"

    def __init__(self, decide: Decide, *, concurrency: int = 16, settings: Mapping[str, Any] | None = None) -> None:
        """``settings`` tell one double from another: they are part of its identity, the function is not."""
        self._decide = decide
        self.concurrency = concurrency
        self.identity = double(MODEL, settings)
        self.asked: list[Request] = []

    async def ask(self, request: Request) -> Reply:
        """The verdict on what the request shows."""
        self.asked.append(request)
        try:
            shown = shown_in(request)
        except ValueError as wrong:
            return Failure(kind="refused", message=str(wrong))
        return Response(text=json.dumps({"critique": "as told", "verdict": self._decide(shown)}))

    async def close(self) -> None:
        """Nothing is kept."""


def scripted_verdicts(script: Script) -> ScriptedSubject:
    """A subject that gives the labels of ``script`` by the name of what is asked, as JSON; a failure stays one.

    The name is the item's id, with ``:swapped`` for the other order of two answers; a list of labels is one for each
    repeat, the last for all further ones. A name that the script does not know is missing.
    """
    if callable(script):
        return ScriptedSubject(lambda request: _as_verdict(script(request)))
    return ScriptedSubject(
        {
            name: _as_verdict(told) if isinstance(told, str | Response | Failure) else [*map(_as_verdict, told)]
            for name, told in script.items()
        }
    )


def _as_verdict(told: Answer) -> Answer:
    return json.dumps({"verdict": told}) if isinstance(told, str) else told


def double_judge(
    subject: Subject | Decide,
    *,
    pairwise: bool = False,
    rubric: str = RUBRIC,
    paraphrases: Sequence[str] = (),
    name: str = "double",
    **fields: Any,
) -> Judge:
    """The judge that a double is behind: of one text, ``response``, or of two, ``answer_1`` and ``answer_2``.

    Of a function it makes a `JudgeDouble`, known by ``name``. ``fields`` are further fields of `JudgeFile`.

    Raises:
        InputError: for fields that are none of a judge's file.
    """
    behind = subject if isinstance(subject, Subject) else JudgeDouble(subject, settings={"decides": name})
    sides = Pairwise(fields=("answer_1", "answer_2"), labels=PAIR_LABELS).to_dict() if pairwise else None
    shape = {
        "id": name,
        "subject": "double",
        "prompt_text": PAIR_PROMPT if pairwise else PROMPT,
        "rubric_text": rubric,
        "labels": list(PAIR_LABELS if pairwise else LABELS),
        "pairwise": sides,
    }
    judge = build_judge(JudgeFile.from_dict({"schema": JudgeFile.schema_name, **shape, **fields}), subject=behind)
    return replace(judge, paraphrases=tuple(paraphrases))
