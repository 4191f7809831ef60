"""How a seat is asked to state its expectation: named, digested templates, rendered in a sandbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from jinja2 import StrictUndefined, Template, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from calibrant.errors import InputError, Problem, Where, nearest, one_of, quote
from calibrant.records.board import Challenge, Seat
from calibrant.records.outcome import Boolean, Categorical, Date, Event, Interval, Number, Option, Outcome, Set
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

_QUESTION = """\
Question: {{ question }}

"""

_OFFERED = """\
{% if offered %}
The options, each with what it covers{{ " in " ~ unit if unit }}:
{% for option in offered %}
{{ option.name }}: {{ option.covers }}
{% endfor %}

{% endif %}"""
"""The grid of the board's author: what a seat commits to when it names one of its options."""

_JSON_REPLY = """
Reply with one JSON object and nothing else:
{"stance": "assert" or "infer" or "decline", "answer": {{ form }} (null when you decline), \
"confidence": a number from 0 to 1 (the probability that the answer is right), \
"how": one sentence on how it could be checked}
"""

_END = """\
Use at most {{ word_cap }} words.
{% endif %}"""

_OPTIONS_REPLY = """
What is plausible lies from {{ own.low }} to {{ own.high }}{{ " " ~ unit if unit }}. Divide that range into options \
of your own: intervals that exclude one another and together cover all of it. A square bracket holds its end, a round \
one leaves it out. Commit to exactly one of them: you are right where the fact lies in it, and the narrower it is, \
the more you have said.
{% if own.limit %}
The option that you commit to may be at most {{ own.limit }}{{ " " ~ unit if unit }} wide.
{% endif %}

Reply with one JSON object and nothing else:
{"options": [{"name": "a", "covers": an interval such as "[0, 10)"}, and so on], \
"stance": "assert" or "infer" or "decline", \
"option": the name of the one option that you commit to (null when you decline), \
"confidence": a number from 0 to 1 (the probability that the fact lies in it), \
"how": one sentence on how it could be checked}
"""


def _json(offered: str) -> str:
    return _EVIDENCE + _NO_FACT + _QUESTION + offered + _STANCES + _JSON_REPLY + _END


_OPTIONS = (
    _EVIDENCE
    + _NO_FACT
    + _QUESTION
    + "{% if not own %}"
    + _OFFERED
    + "{% endif %}"
    + _STANCES
    + "{% if own %}\n"
    + _OPTIONS_REPLY
    + "{% else %}\n"
    + _JSON_REPLY
    + "{% endif %}"
    + _END
)


def _lines(offered: str) -> str:
    return _EVIDENCE + _NO_FACT + _QUESTION + offered + _STANCES + _LINES_REPLY + _END


_LINES_REPLY = """
Reply with these lines and nothing else:
STANCE: assert, infer or decline
ANSWER: {{ form }} (empty when you decline)
CONFIDENCE: {% for word in words %}{{ word }}, {% endfor %}or a percentage
HOW: one sentence on how it could be checked
"""

_PLAIN = (
    _EVIDENCE
    + """\
{{ question }}
Answer in at most {{ word_cap }} words."""
)

_CONTEXT = """\
{% if context %}{{ context }}

{% endif %}"""

_FEW_SHOT_EXAMPLES = """\
Evidence: $ cat greeting.txt
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

"""

_ASKED = """\
{% for item in evidence %}Evidence: {{ item.title or "seen just now" }}
{{ item.text }}
{% endfor %}{% for turn in earlier %}{{ "Q" if turn.role == "user" else "A" }}: {{ turn.content }}
{% endfor %}Q: {{ question }}
"""

_OFFERED_EXAMPLES = """\
{% if offered %}
Evidence: $ date
Tue 10:42
Q: Which hour is it?
Options: night [0, 6), morning [6, 12), afternoon [12, 18), evening [18, 23]
A: morning

Q: What does my neighbour's cat weigh, in kg?
Options: light [1, 4), heavy [4, 20]
A: I do not know.

{% endif %}"""

_OFFERED_LINE = """\
{% if offered %}
Options: {% for option in offered %}{{ option.name }} {{ option.covers }}{{ "\\n" if loop.last else ", " }}{% endfor %}
{% endif %}
"""

_OWN_EXAMPLES = """\
Evidence: $ date
Tue 10:42
Q: Which hour is it?
From 0 to 23, options:
A: a [0, 9], b [10, 10], c [11, 23]; I commit to b

Q: What does my neighbour's cat weigh, in kg?
From 1 to 20, options:
A: I do not know.

Evidence: $ ls | wc -l
318
Q: How many files are there?
From 0 to 10000, options:
A: a [0, 299], b [300, 399], c [400, 10000]; I commit to b

"""

_OWN_LINE = """\
From {{ own.low }} to {{ own.high }}{{ " " ~ unit if unit }}, options:
"""


def _few_shot(examples: str, line: str) -> str:
    return _CONTEXT + _FEW_SHOT_EXAMPLES + examples + _ASKED + line + "A:"


_OPTIONS_FEW_SHOT = (
    _CONTEXT
    + "{% if own %}"
    + _OWN_EXAMPLES
    + "{% else %}"
    + _FEW_SHOT_EXAMPLES
    + _OFFERED_EXAMPLES
    + "{% endif %}"
    + _ASKED
    + "{% if own %}"
    + _OWN_LINE
    + "{% else %}"
    + _OFFERED_LINE
    + "{% endif %}"
    + "A:"
)

_OF_JSON: Final[dict[str, Any]] = {"mode": "chat", "scale": "probability"}
_OF_LINES: Final[dict[str, Any]] = {"mode": "chat", "scale": "percent", "words": WORDS}
_OF_FEW_SHOT: Final[dict[str, Any]] = {"mode": "completion", "stop": ("\n",)}

TEMPLATES: Final[Mapping[str, Elicitation]] = {
    template.id: template
    for template in (
        Elicitation(id="json", text=_json(_OFFERED), parser="json.v1", **_OF_JSON),
        Elicitation(id="lines", text=_lines(_OFFERED), parser="lines.v2", **_OF_LINES),
        Elicitation(id="plain", mode="chat", text=_PLAIN, parser="plain.v1"),
        Elicitation(
            id="few-shot",
            text=_few_shot(_OFFERED_EXAMPLES, _OFFERED_LINE),
            parser="few-shot.v1",
            max_tokens=24,
            **_OF_FEW_SHOT,
        ),
        Elicitation(id="options", text=_OPTIONS, parser="options.v1", **_OF_JSON),
        Elicitation(
            id="options-few-shot",
            text=_OPTIONS_FEW_SHOT,
            parser="options-few-shot.v1",
            max_tokens=96,
            **_OF_FEW_SHOT,
        ),
    )
}
"""The templates that ship, by name."""

EARLIER: Final[tuple[Elicitation, ...]] = (
    Elicitation(id="json", text=_json(""), parser="json.v1", **_OF_JSON),
    Elicitation(id="lines", text=_lines(""), parser="lines.v1", **_OF_LINES),
    Elicitation(id="few-shot", text=_few_shot("", ""), parser="few-shot.v1", max_tokens=24, **_OF_FEW_SHOT),
)
"""Templates of 0.1.0, which showed the names of options without what they cover: runs of theirs go on, and verify."""


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


@cache
def _known() -> frozenset[str]:
    return frozenset(template.digest() for template in (*TEMPLATES.values(), *EARLIER))


def is_known(elicitation_sha256: str) -> bool:
    """Whether this version has the template of that digest, now or as an earlier one that it still reads."""
    return elicitation_sha256 in _known()


class Own(NamedTuple):
    """What a seat is told that is to write options of its own: the plausible range, and how wide an answer may be."""

    low: str
    high: str
    limit: str | None


def own_range(outcome: Outcome | None) -> Own | None:
    """The range that a seat can divide into options of its own; None where the outcome states none."""
    if not isinstance(outcome, Number | Interval) or outcome.plausible is None:
        return None
    low, high = outcome.plausible
    most = None if outcome.max_width is None else write_quantity(outcome.max_width)
    return Own(write_quantity(low), write_quantity(high), most) if low < high else None


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
        offered=offered(challenge.outcome),
        own=own_range(challenge.outcome),
        unit=_unit(challenge.outcome),
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


def offered(outcome: Outcome | None) -> tuple[Option, ...]:
    """The options of the board's author that cover more than their names say."""
    if not isinstance(outcome, Number | Interval) or any(option.covers is None for option in outcome.options):
        return ()
    return outcome.options


def _unit(outcome: Outcome | None) -> str | None:
    return outcome.unit if isinstance(outcome, Number | Interval) and outcome.unit != "count" else None


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
