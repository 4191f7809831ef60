"""What goes to a subject and what comes back: the request, the response or the failure, and who answered."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from calibrant.records.base import Record
from calibrant.records.types import Id, Many, Name, Probability, Settings

Count = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0)]

FailureKind = Literal["timeout", "rate-limit", "unreachable", "refused", "empty", "unreadable", "crashed", "missing"]
"""Why there is no response: too slow, too many, nobody there, the request turned away, nothing said, bytes that are
no text, a subject that broke, a replay that holds no such response. A model that declines to answer has responded."""


class SubjectIdentity(Record):
    """Who fills the seats: everything that makes the subject the subject it is. Secrets never stand in it."""

    schema_name: ClassVar[str] = "calibrant.subject.v1"

    kind: Id
    name: Name
    provider: Name | None = None
    model: Name | None = None
    version: Name | None = None
    seed: int | None = None
    temperature: float | None = None
    settings: Settings = Field(default_factory=dict)
    capability: Literal["live", "recording", "unverified-recording", "test-double"] = "live"


class Message(Record):
    """One message of a request."""

    role: Literal["system", "user", "assistant"]
    content: str


class Request(Record):
    """What a subject is asked: messages for a chat, or one text to be continued, with the limits that it was given."""

    challenge: Id
    epoch: Annotated[int, Field(ge=1)]
    mode: Literal["chat", "completion"] = "chat"
    messages: Many[Message] = ()
    text: str | None = None
    stop: Many[str] = ()
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    seed: int | None = None
    json_schema: Settings | None = None


class Usage(Record):
    """What an answer cost, in tokens; ``cached`` of them were not computed again. Null is unknown, not zero."""

    input: Count | None = None
    output: Count | None = None
    cached: Count | None = None


class ToolCall(Record):
    """A tool that the subject called while it answered."""

    name: str
    arguments: str = ""


class Response(Record):
    """What the subject said, and how: the model that served, why it stopped, its reasoning, cost and time.

    ``probability`` is the probability that the subject's own distribution gave to the text, where it tells.
    """

    schema_name: ClassVar[str] = "calibrant.response.v1"

    text: str
    model: str | None = None
    finish_reason: Literal["stop", "length", "refusal", "tool", "other"] | None = None
    reasoning: str | None = None
    usage: Usage = Usage()
    seconds: Seconds | None = None
    tool_calls: Many[ToolCall] = ()
    probability: Probability | None = None
    attempts: Annotated[int, Field(ge=1)] = 1


class Failure(Record):
    """Why there is no response. Never an answer; retried where ``retry`` says that it may help, then missing."""

    schema_name: ClassVar[str] = "calibrant.failure.v1"

    kind: FailureKind
    message: str
    retry: bool = False
    retry_after: Seconds | None = None
