"""The one place where the errors of every provider become failures of ours."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from calibrant.records.subject import Failure, FailureKind
from calibrant.subjects.hiding import hide_secrets
from calibrant.subjects.replies import failed

if TYPE_CHECKING:
    from inspect_ai.model import Model

_UNREADABLE: Final = (json.JSONDecodeError, ValueError, TypeError, LookupError, AttributeError, AssertionError)
"""What a client trips over when a reply is not what the provider's interface says."""


def failure_of(raised: BaseException, model: Model, secrets: Sequence[str] = ()) -> Failure:
    """What an exception of the model layer, of a provider's library or of the network means for a question.

    | what happened | kind | again? |
    |---|---|---|
    | too slow: a timeout anywhere, 408, 504 | timeout | yes |
    | 429, or what the provider calls a rate limit | rate-limit | yes; not when a quota is used up |
    | no connection, a connection that broke, 5xx | unreachable | yes |
    | another 4xx: no such model, no permission, a bad request, a text that is too long | refused | no |
    | a body that is no answer | unreadable | yes |
    | anything else | crashed | if the provider's own rule says so |
    """
    error = _innermost(raised)
    decision = _decision(error, model)
    kind = _kind(error, decision)
    retry = kind in ("timeout", "rate-limit", "unreachable", "unreadable") or bool(decision)
    if kind == "refused" or _out_of_quota(error):
        retry = False
    after = getattr(decision, "retry_after", None)
    what = "the reply is not what the provider's interface says: " if kind == "unreadable" else ""
    return failed(kind, what + hide_secrets(_said(error), secrets), retry=retry, retry_after=after)


def _innermost(raised: BaseException) -> BaseException:
    """The provider's own error, out of the wrappers of the retrying and of the model layer."""
    last = getattr(raised, "last_attempt", None)
    if last is not None and last.exception() is not None:
        return _innermost(last.exception())
    if type(raised).__name__ == "ModelGenerateError" and raised.__cause__ is not None:
        return _innermost(raised.__cause__)
    if isinstance(raised, BaseExceptionGroup):
        return _innermost(raised.exceptions[0])
    return raised


def _decision(error: BaseException, model: Model) -> Any:
    try:
        return model.api.should_retry(error) if isinstance(error, Exception) else None
    except Exception:  # noqa: BLE001 - a provider's rule that cannot judge this
        return None


def _kind(error: BaseException, decision: Any) -> FailureKind:
    status = _status(error)
    names = {kind.__name__ for one in _causes(error) for kind in type(one).__mro__}
    if status in (408, 504) or any("Timeout" in kind.__name__ for kind in type(error).__mro__):
        return "timeout"
    if status == 429 or getattr(decision, "kind", None) == "rate_limit":
        return "rate-limit"
    if status is not None and 400 <= status < 500:
        return "refused"
    if status is not None and status >= 500:
        return "unreachable"
    if "OpenAIResponseError" in names or "APIResponseValidationError" in names or "ValidationError" in names:
        return "unreadable"
    if isinstance(error, OSError) or any("Connect" in name or "TransportError" in name for name in names):
        return "unreachable"
    return "unreadable" if isinstance(error, _UNREADABLE) else "crashed"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error, and what it was raised from."""
    seen: set[int] = set()
    this: BaseException | None = error
    while this is not None and id(this) not in seen:
        seen.add(id(this))
        yield this
        this = this.__cause__ or this.__context__


def _status(error: BaseException) -> int | None:
    for name in ("status_code", "code", "status"):
        value = getattr(error, name, None)
        if isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599:
            return value
    return None


def _out_of_quota(error: BaseException) -> bool:
    return "insufficient_quota" in (getattr(error, "code", None), getattr(error, "type", None))


def _said(error: BaseException) -> str:
    body = getattr(error, "body", None)
    told = body.get("message") if isinstance(body, dict) else None
    status = _status(error)
    text = str(told or getattr(error, "message", None) or error).strip()
    if type(error).__name__ == "ValidationError":
        text = " ".join(text.splitlines()[1:3])
    root = next((str(one) for one in list(_causes(error))[1:] if str(one).strip()), "")
    if root and root not in text and isinstance(error, Exception) and status is None:
        text = f"{text} ({root})"
    name = f"{type(error).__name__}" if status is None else f"HTTP {status}"
    return f"{name}: {text}" if text else name
