"""Reads what came back as an answer or as the reason why there is none; foreign bytes never pass for an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from calibrant import canonical
from calibrant.errors import InputError, one_of, quote
from calibrant.records.subject import Failure, FailureKind, Response
from calibrant.subjects.base import Reply

LONGEST_MESSAGE: Final = 500
"""Characters of a failure's message."""

FAILURE: Final = "failure"
"""The key under which a reply says that there is no answer."""

_KEEPS_ITS_SCHEMA: Final = "schema"


def failed(kind: FailureKind, message: str, *, retry: bool = False, retry_after: float | None = None) -> Failure:
    """A failure whose message is one bounded line of whole Unicode text, whatever it was made of."""
    text = " ".join(message.encode("utf-8", "replace").decode("utf-8").split())
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    text = text if len(text) <= LONGEST_MESSAGE else f"{text[: LONGEST_MESSAGE - 1]}…"
    return Failure(kind=kind, message=text, retry=retry, retry_after=retry_after)


def unreadable(found: str, expected: str = "one JSON object with a text") -> Failure:
    """The failure of a reply that is not what the seam wants."""
    return failed("unreadable", f"found {found}; expected {expected}")


def settle(response: Response, *, retry_empty: bool = False) -> Reply:
    """``response`` if it says something; a failure where it says nothing, or what is no text.

    A response without words that calls a tool has said something.
    """
    if not (response.text.strip() or response.tool_calls):
        why = "the answer is empty" + (" and was cut off at its length limit" * (response.finish_reason == "length"))
        return failed("empty", why, retry=retry_empty)
    try:
        response.to_bytes()
    except InputError as refused:
        return _refusal(refused)
    return response


def read_reply(data: bytes) -> tuple[Reply, dict[str, Any]]:
    """What a program wrote as its answer, and the keys of the reply that name the question (``challenge``, ``epoch``).

    The object holds the fields of `Response`, of which ``text`` is required, or ``failure`` with those of `Failure`.
    """
    if not data.strip():
        return failed("empty", "found no output; expected one JSON object with a text"), {}
    try:
        value = canonical.decode(data)
    except InputError as refused:
        return _refusal(refused), {}
    if not isinstance(value, dict):
        return unreadable(_named(value)), {}
    names = {name: value.pop(name) for name in ("challenge", "epoch") if name in value}
    return reply_of(value), names


def reply_of(fields: Mapping[str, Any], *, retry_empty: bool = False) -> Reply:
    """The reply that plain JSON values describe."""
    try:
        if FAILURE in fields:
            return _failure_of(fields)
        response = Response.from_dict({_KEEPS_ITS_SCHEMA: Response.schema_name, **fields})
        return settle(response, retry_empty=retry_empty)
    except InputError as refused:
        return _refusal(refused)


def _failure_of(fields: Mapping[str, Any]) -> Failure:
    inner, others = fields[FAILURE], sorted(fields.keys() - {FAILURE})
    if others:
        return unreadable(f"a failure beside {one_of(others)}", "a failure alone")
    if not isinstance(inner, Mapping):
        return unreadable(f"the failure {quote(inner)}", "a map with kind and message")
    told = Failure.from_dict({_KEEPS_ITS_SCHEMA: Failure.schema_name, **inner})
    return failed(told.kind, told.message, retry=told.retry, retry_after=told.retry_after)


def _refusal(refused: InputError) -> Failure:
    return failed("unreadable", " ".join(map(str, refused.problems)))


def _named(value: Any) -> str:
    kinds = {str: "text", list: "a list", bool: "true or false", type(None): "null"}
    return f"{kinds.get(type(value), 'a number')} ({quote(value)})"
