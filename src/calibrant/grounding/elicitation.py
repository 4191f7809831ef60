"""How a seat is asked to state its expectation: named, digested templates, rendered in a sandbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from jinja2 import StrictUndefined, Template, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from calibrant.errors import InputError, Problem, Where, nearest, one_of, quote
from calibrant.records.board import Challenge, Seat
from calibrant.records.outcome import Boolean, Categorical, Date, Event, Interval, Number, Outcome, Set
from calibrant.records.subject import Message, Request
from calibrant.records.terms import Elicitation
from calibrant.records.types import write_quantity

WORDS: Final = {
    "certain": 0.99,
    "very likely": 0.9,
    "likely": 0.75,
    "even": 0.5,
    "unlikely": 0.25,
    "very unlikely": 0.1,
}

_EVIDENCE = """\
{% for item in evidence %}
Evidence{{ " (" ~ item.title ~ ")" if item.title }}:
{{ item.text }}

{% endfor %}"""

_STANCES = """\
Say what you expect before anyone looks. Take exactly one stance:
assert  - you hold evidence, or reliable knowledge, that settles the question; you will be held to it
infer   - you have a best guess that nothing you hold settles; it is marked as a guess
decline - nothing you hold determines the answer, and you do not guess
"""

_NO_FACT = """\
{% if not states %}{{ question }}
Answer in at most {{ word_cap }} words.
{% else %}"""
"""A challenge without an outcome is graded by its label: it is answered, and nothing is staked on it."""

_JSON = (
    _EVIDENCE
    + _NO_FACT
    + """\
Question: {{ question }}

"""
    + _STANCES
    + """
Reply with one JSON object and nothing else:
{"stance": "assert" or "infer" or "decline", "answer": {{ form }} (null when you decline), \
"confidence": a number from 0 to 1 (the probability that the answer is right), \
"how": one sentence on how it could be checked}
Use at most {{ word_cap }} words.
{% endif %}"""
)

_LINES = (
    _EVIDENCE
    + _NO_FACT
    + """\
Question: {{ question }}

"""
    + _STANCES
    + """
Reply with these lines and nothing else:
STANCE: assert, infer or decline
ANSWER: {{ form }} (empty when you decline)
CONFIDENCE: {% for word in words %}{{ word }}, {% endfor %}or a percentage
HOW: one sentence on how it could be checked
Use at most {{ word_cap }} words.
{% endif %}"""
)

_PLAIN = (
    _EVIDENCE
    + """\
{{ question }}
Answer in at most {{ word_cap }} words."""
)

_FEW_SHOT = """\
{% if context %}{{ context }}

{% endif %}Evidence: $ cat greeting.txt
good morning
Q: What does greeting.txt say?
A: good morning

Q: What is the capital of France?
A: Paris

Q: What does my neighbour's cat weigh?
A: I do not know.

Q: How many legs does a spider have?
A: 8

Q: What number will be drawn in tomorrow's lottery?
A: I do not know.

{% for item in evidence %}Evidence: {{ item.title or "seen just now" }}
{{ item.text }}
{% endfor %}{% for turn in earlier %}{{ "Q" if turn.role == "user" else "A" }}: {{ turn.content }}
{% endfor %}Q: {{ question }}
A:"""

TEMPLATES: Final[Mapping[str, Elicitation]] = {
    template.id: template
    for template in (
        Elicitation(id="json", mode="chat", text=_JSON, parser="json.v1", scale="probability"),
        Elicitation(id="lines", mode="chat", text=_LINES, parser="lines.v1", scale="percent", words=WORDS),
        Elicitation(id="plain", mode="chat", text=_PLAIN, parser="plain.v1"),
        Elicitation(
            id="few-shot", mode="completion", text=_FEW_SHOT, parser="few-shot.v1", stop=("\n",), max_tokens=24
        ),
    )
}
"""The templates that ship, by name."""


class Shown(NamedTuple):
    """A piece of evidence as a seat is shown it."""

    title: str
    text: str


def find_template(name: str) -> Elicitation:
    """The template of that name.

    Raises:
        InputError: where there is none, with the nearest name.
    """
    if name not in TEMPLATES:
        found, expected = f"the elicitation {quote(name)}", one_of(TEMPLATES)
        raise InputError(Problem(found, expected, nearest(name, TEMPLATES)))
    return TEMPLATES[name]


def build_request(
    elicitation: Elicitation,
    challenge: Challenge,
    seat: Seat,
    evidence: Sequence[Shown],
    *,
    epoch: int,
    word_cap: int,
    seed: int | None = None,
) -> Request:
    """What the subject is asked for one challenge in one epoch.

    Raises:
        InputError: for a template that does not render.
    """
    text = _render(
        elicitation,
        context=seat.context.strip(),
        evidence=evidence,
        earlier=challenge.turns[:-1],
        question=challenge.question.strip(),
        states=challenge.outcome is not None,
        form=describe(challenge.outcome),
        word_cap=word_cap,
        words=tuple(elicitation.words),
    )
    common: dict[str, Any] = {
        "challenge": challenge.id,
        "epoch": epoch,
        "stop": elicitation.stop,
        "max_tokens": elicitation.max_tokens,
        "seed": seed,
    }
    if elicitation.mode == "completion":
        return Request(mode="completion", text=text, **common)
    system = [Message(role="system", content=seat.context)] if seat.context.strip() else []
    earlier = [Message(role=turn.role, content=turn.content) for turn in challenge.turns[:-1]]
    return Request(messages=(*system, *earlier, Message(role="user", content=text)), **common)


def shown_text(request: Request) -> str:
    """Everything that the seat was shown with a request, as one text."""
    return request.text if request.text is not None else "\n".join(message.content for message in request.messages)


def describe(outcome: Outcome | None) -> str:
    """In a few words, what form an answer takes."""
    if isinstance(outcome, Categorical | Set) and outcome.values:
        listed = ", ".join(outcome.values)
        return f"one of: {listed}" if isinstance(outcome, Categorical) else f"any of: {listed} (with commas)"
    if outcome is not None and outcome.options:
        return "one of: " + ", ".join(option.name for option in outcome.options)
    if isinstance(outcome, Boolean | Event):
        return "yes or no"
    if isinstance(outcome, Number):
        return "a number" if outcome.unit == "count" else f"a number in {outcome.unit}"
    if isinstance(outcome, Interval):
        return f"an interval such as 10 to 20, in {outcome.unit}, at most {write_quantity(outcome.max_width)} wide"
    if isinstance(outcome, Date):
        return {"day": "a date as YYYY-MM-DD", "month": "a month as YYYY-MM", "year": "a year"}[outcome.precision]
    return "names with commas between" if isinstance(outcome, Set) else "a few words"


def _render(elicitation: Elicitation, **values: Any) -> str:
    try:
        return _template(elicitation.text).render(**values).strip("\n")
    except (TemplateError, ArithmeticError, TypeError, ValueError) as broken:
        found = f"{type(broken).__name__}: {broken}"
        place = Where(field=f"elicitation {elicitation.id}")
        raise InputError(Problem(found, "a template that renders", where=place)) from None


@cache
def _template(text: str) -> Template:
    return _environment().from_string(text)


@cache
def _environment() -> ImmutableSandboxedEnvironment:
    return ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, trim_blocks=True, autoescape=False, keep_trailing_newline=True
    )
