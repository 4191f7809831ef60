"""Three scripted subjects that a scorecard has to tell apart: `perfect`, `bluffing` and `hedging`.

    calibrant run boards/this-machine.yaml --subject python:seats_scripted.perfect

They read the question as the `json` template puts it. None of them asks the world; `perfect` reads its evidence.
"""

from __future__ import annotations

import json
import re

_EVIDENCE = re.compile(r"^Evidence[^\n]*:\n(.*?)\n\n?(?=Question: )", re.MULTILINE | re.DOTALL)
_QUESTION = re.compile(r"^Question: (.*?)\n\n", re.MULTILINE | re.DOTALL)
_FORM = re.compile(r'"answer": (.*?) \(null when you decline\)')

_GUESSES = {
    "yes or no": "yes",
    "a date": "2000-01-01",
    "an interval": "10 to 20",
    "a number": "42",
    "names": "one, two",
    "one of: ": None,
}
"""What a seat that knows nothing may say, by how the wanted form begins; None for the first that is offered."""


def perfect(asked: str) -> str:
    """Asserts what its evidence says; declines where it is shown none."""
    evidence = _EVIDENCE.search(asked)
    return _decline() if evidence is None else _assert(_read(evidence[1].strip(), _question(asked)))


def bluffing(asked: str) -> str:
    """Asserts what its evidence says, and asserts something just the same where it is shown none."""
    evidence = _EVIDENCE.search(asked)
    return _assert(_read(evidence[1].strip(), _question(asked)) if evidence is not None else _guess(asked))


def hedging(asked: str) -> str:
    """Declines whatever it is asked."""
    del asked
    return _decline()


def _assert(answer: str) -> str:
    return json.dumps({"stance": "assert", "answer": answer, "confidence": 0.99, "how": "By reading the evidence."})


def _decline() -> str:
    return json.dumps({"stance": "decline", "answer": None, "confidence": None, "how": "By looking at the machine."})


def _question(asked: str) -> str:
    found = _QUESTION.search(asked)
    return found[1] if found is not None else ""


def _read(evidence: str, question: str) -> str:
    """What the evidence says to the question: a default, an exception, the names in brackets, else its last line."""
    named = re.search(r"`(\w+)`", question)
    default = re.search(rf"\b{named[1]}\b[^=,]*= *([^,)]+)", evidence) if named is not None else None
    if default is not None:
        return default[1]
    errors = re.findall(r"^ *(\w+Error): (.*)$", evidence, re.MULTILINE)
    if errors and "raise" in question:
        words = set(re.findall(r"\w+", question.lower()))
        return str(max(errors, key=lambda error: len(words & set(re.findall(r"\w+", error[1].lower()))))[0])
    last = evidence.rpartition("\n")[2]
    names = re.findall(r"[({,]\s*'?([A-Za-z_]\w*)'?(?=\s*[:=,)}])", last)
    return ", ".join(names) if names else last.rpartition(": ")[2]


def _guess(asked: str) -> str:
    """Something that can be read in the form that is wanted."""
    found = _FORM.search(asked)
    form = found[1] if found is not None else ""
    for begins, guess in _GUESSES.items():
        if form.startswith(begins):
            return guess if guess is not None else form.removeprefix(begins).split(", ")[0]
    return "a guess"
