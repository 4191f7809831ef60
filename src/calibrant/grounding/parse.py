"""Replies to expectations: versioned parsers, total over all text. What cannot be read is unparsed, with the reason.

Every parser reads a stance out of a closed vocabulary, as whole words; nothing is guessed from a part of a word, and
a reply that says two things says nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from calibrant.grounding.confidence import Scale, read_confidence
from calibrant.grounding.elicitation import own_range
from calibrant.grounding.folding import fold
from calibrant.grounding.jsontext import find_objects
from calibrant.grounding.match import Commits, read_answer
from calibrant.grounding.own import Written, read_own
from calibrant.records.grounding import Expectation, Stance
from calibrant.records.outcome import Option, Outcome
from calibrant.records.subject import Response
from calibrant.records.terms import Elicitation
from calibrant.units import Unread

LONGEST: Final = 1_000_000
"""Characters of a reply that are looked at; a longer reply is unparsed."""


class Unparsed(NamedTuple):
    """Why a reply gives no expectation."""

    reason: str


class Stated(NamedTuple):
    """A reply taken apart, before the outcome space reads the answer."""

    stance: Stance
    answer: str = ""
    confidence: object = None
    procedure: str | None = None
    spelled: bool = True
    """Whether the reply named its stance, rather than took it by the way it speaks."""
    own: Written | None = None
    """Options of its own with a commitment, where the reply could hold some; read where they were asked for."""


Parser: TypeAlias = Callable[[str], Stated | Unparsed]

_STANCES: Final[Mapping[str, Stance]] = {
    "assert": "assert",
    "asserted": "assert",
    "infer": "infer",
    "inferred": "infer",
    "inference": "infer",
    "decline": "decline",
    "declined": "decline",
}

_DECLINES: Final = (
    "i do not know",
    "i don't know",
    "i don’t know",
    "do not know",
    "don't know",
    "unknown",
    "not known",
    "no idea",
    "i have no idea",
    "i am not sure",
    "i'm not sure",
    "i cannot know",
    "i can't know",
    "i cannot say",
    "i can't say",
    "i cannot tell",
    "i can't tell",
    "i cannot determine",
    "i can't determine",
    "it cannot be determined",
    "cannot be determined",
    "not determinable",
    "it is impossible to know",
    "impossible to know",
    "there is not enough information",
    "not enough information",
    "i do not have enough information",
    "i don't have enough information",
    "i do not have",
    "i don't have",
    "nobody knows",
    "no one knows",
    "n/a",
)
_REFUSES: Final = re.compile(r"\bi (?:do not|don't|don’t|cannot|can't|can’t) (?:know|say|tell|determine)\b")
_INFERS: Final = (
    "probably",
    "presumably",
    "likely",
    "most likely",
    "perhaps",
    "maybe",
    "possibly",
    "i guess",
    "i would guess",
    "i'd guess",
    "my guess is",
    "my best guess is",
    "best guess",
    "i think",
    "i believe",
    "i suspect",
    "i estimate",
    "i infer",
    "it seems",
    "it is likely",
)


def parse(elicitation: Elicitation, outcome: Outcome, response: Response) -> Expectation | Unparsed:
    """The expectation that ``response`` commits to, by the parser that ``elicitation`` names, or why there is none."""
    if len(response.text) > LONGEST:
        return Unparsed(f"a reply of {len(response.text)} characters")
    if not response.text.strip():
        return Unparsed("an empty reply")
    stated = PARSERS[elicitation.parser](response.text)
    return stated if isinstance(stated, Unparsed) else _expect(elicitation, outcome, response, stated)


def _expect(elicitation: Elicitation, outcome: Outcome, response: Response, stated: Stated) -> Expectation | Unparsed:
    options: tuple[Option, ...] = ()
    commits: Commits | Unread = Commits()
    if stated.stance != "decline":
        if stated.own is not None and own_range(outcome) is not None:
            own = read_own(outcome, stated.own)
            if isinstance(own, Unread):
                return Unparsed(f"{_an(stated.stance)} whose options are not sound: {own.reason}")
            options, commits = own.options, Commits(option=own.option)
        else:
            commits = _commits(outcome, stated)
    if isinstance(commits, Unread):
        return Unparsed(f"{_an(stated.stance)} whose answer is not read: {commits.reason}")
    scale: Scale = "percent-or-share" if elicitation.parser == "lines.v1" else elicitation.scale
    confidence, written = read_confidence(stated.confidence, scale, elicitation.words)
    source = None if confidence is None else "stated"
    if stated.confidence is None and response.probability is not None:
        confidence, source = response.probability, "token-probability"
    return Expectation.model_validate(
        {
            "stance": stated.stance,
            "option": commits.option,
            "value": commits.value,
            "interval": commits.interval,
            "text": commits.text,
            "confidence": confidence,
            "confidence_stated": written,
            "confidence_source": source,
            "procedure": stated.procedure,
            "options": options,
        }
    )


def _commits(outcome: Outcome, stated: Stated) -> Commits | Unread:
    """What the answer commits to.

    A named stance stands even where the answer cannot be read in the outcome space: it is kept as text, which is
    invented where nothing was to be asserted, and not scored where something was.
    """
    commits = read_answer(outcome, stated.answer)
    if isinstance(commits, Unread) and (stated.stance == "infer" or (stated.spelled and stated.answer.strip())):
        return Commits(text=stated.answer.strip() or None)
    return commits


def _an(stance: Stance) -> str:
    return {"assert": "an assertion", "infer": "an inference", "decline": "a refusal"}[stance]


def _parse_json(text: str) -> Stated | Unparsed:
    """``json.v1``: one JSON object, in a fence or in prose, with raw newlines or stray backslashes in its strings."""
    fields = _object(text)
    return fields if isinstance(fields, Unparsed) else _state(fields)


def _parse_options(text: str) -> Stated | Unparsed:
    """``options.v1``: as ``json.v1``, with ``options`` and ``option`` where options of its own were asked for."""
    fields = _object(text)
    if isinstance(fields, Unparsed):
        return fields
    stated = _state(fields)
    if isinstance(stated, Unparsed):
        return stated
    return stated._replace(own=Written(fields.get("options"), fields.get("option")))


def _object(text: str) -> dict[str, Any] | Unparsed:
    """The one JSON object of a reply, its keys folded."""
    found = find_objects(text)
    if len(found) != 1:
        return Unparsed("no JSON object" if not found else "more than one JSON object")
    fields = {fold(key): value for key, value in found[0].items()}
    if len(fields) != len(found[0]):
        return Unparsed("a JSON object that says one thing twice")
    return fields if _is_unicode(fields, text) else Unparsed("text that is no Unicode: half of a surrogate pair")


def _is_unicode(fields: Mapping[str, Any], text: str) -> bool:
    """Whether no text in ``fields`` holds half of a surrogate pair, which JSON can escape and no record takes."""
    if "\\ud" not in text.lower():
        return True
    try:
        json.dumps(fields, ensure_ascii=False).encode("utf-8")
    except (UnicodeEncodeError, RecursionError):
        return False
    return True


def _state(fields: Mapping[str, Any]) -> Stated | Unparsed:
    stance = _stance(fields.get("stance"))
    if stance is None:
        return Unparsed(f"no stance among {', '.join(sorted(set(_STANCES.values())))} in the JSON object")
    procedure = fields.get("how")
    return Stated(
        stance,
        _as_text(fields.get("answer")),
        fields.get("confidence"),
        procedure if isinstance(procedure, str) and procedure.strip() else None,
    )


def _stance(value: object) -> Stance | None:
    return _STANCES.get(fold(value)) if isinstance(value, str) else None


def _as_text(answer: object) -> str:
    """A JSON value as the text that a person would have written for it."""
    if answer is None:
        return ""
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    if isinstance(answer, dict):
        ends = [answer.get(low_name, answer.get(other)) for low_name, other in (("low", "min"), ("high", "max"))]
        return f"{_as_text(ends[0])} to {_as_text(ends[1])}" if None not in ends else ""
    return json.dumps([_as_text(item) for item in answer]) if isinstance(answer, list) else str(answer)


_LINE = re.compile(r"^\W*(stance|answer|confidence|how)\W*?:[ \t*_]*(.*?)[ \t*_]*$", re.IGNORECASE)


def _parse_lines(text: str) -> Stated | Unparsed:
    """``lines.v2``: labelled lines in any order; a label that stands twice with two contents says nothing.

    ``lines.v1`` read the same lines, and a bare confidence of 0.8 as 0.8 per cent.
    """
    fields: dict[str, str] = {}
    for line in text.splitlines():
        form = _LINE.match(line) if len(line) < 10_000 else None
        if form is None:
            continue
        name, content = form[1].lower(), form[2]
        if fields.setdefault(name, content) != content:
            return Unparsed(f"two lines that say {name.upper()}")
    stance = _stance(fields.get("stance"))
    if stance is None:
        return Unparsed("no line STANCE: assert, infer or decline")
    confidence = fields.get("confidence", "").strip()
    return Stated(stance, fields.get("answer", ""), confidence or None, fields.get("how") or None)


def _parse_plain(text: str) -> Stated | Unparsed:
    """``plain.v1``: free prose. Declines and guesses by how the reply starts; anything else is an assertion."""
    return _read_prose(text.strip())


def _parse_few_shot(text: str) -> Stated | Unparsed:
    """``few-shot.v1``: the continuation up to the end of its first line that says anything."""
    line = text.strip().split("\n", 1)[0].strip()
    return _read_prose(line.removeprefix("A:").strip())


_OFFER = re.compile(r"\s*([\w.:@+-]+) ([\[(][^\[\]()]{1,100}[\])])\s*,?")
_COMMITS = re.compile(r"\s*;\s*I commit to (.{1,200}?)[.\s]*", re.IGNORECASE)


def _parse_options_few_shot(text: str) -> Stated | Unparsed:
    """``options-few-shot.v1``: ``a [0, 9], b [10, 10]; I commit to b`` in a first line; else as ``few-shot.v1``."""
    stated = _parse_few_shot(text)
    line = text.strip().split("\n", 1)[0].strip().removeprefix("A:")
    offers: list[dict[str, str]] = []
    place = 0
    while form := _OFFER.match(line, place):
        offers.append({"name": form[1], "covers": form[2]})
        place = form.end()
    if isinstance(stated, Unparsed) or not offers:
        return stated if isinstance(stated, Unparsed) else stated._replace(own=Written(None, None))
    commits = _COMMITS.fullmatch(line, place)
    return Stated("assert", stated.answer, spelled=False, own=Written(offers, commits[1] if commits else None))


def _read_prose(text: str) -> Stated | Unparsed:
    opening = fold(text[:300])
    if not opening:
        return Unparsed("a reply without a word")
    if _starts_with(opening, _DECLINES):
        return Stated("decline", spelled=False)
    if _REFUSES.search(opening):
        return Unparsed("an answer and a refusal in one")
    guess = _starts_with(opening, _INFERS)
    return Stated("infer", _after(text, guess), spelled=False) if guess else Stated("assert", text, spelled=False)


def _starts_with(opening: str, phrases: tuple[str, ...]) -> str | None:
    """The longest of ``phrases`` that ``opening`` starts with, as whole words."""
    fitting = [p for p in phrases if opening == p or (opening.startswith(p) and not opening[len(p)].isalnum())]
    return max(fitting, key=len, default=None)


def _after(text: str, phrase: str) -> str:
    start = text.lower().find(phrase)
    return text[start + len(phrase) :].lstrip(" ,:") if start != -1 else text


PARSERS: Final[Mapping[str, Parser]] = {
    "json.v1": _parse_json,
    "lines.v1": _parse_lines,
    "lines.v2": _parse_lines,
    "plain.v1": _parse_plain,
    "few-shot.v1": _parse_few_shot,
    "options.v1": _parse_options,
    "options-few-shot.v1": _parse_options_few_shot,
}
"""The parsers by name and version. A change that moves any label is a new version."""
