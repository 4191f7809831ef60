"""JSON as a source of facts: numbers as they were written, and RFC 9535 paths under a time limit."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, ClassVar, Final

from jsonpath_rfc9535 import JSONPathEnvironment, JSONPathError
from jsonpath_rfc9535.function_extensions import ExpressionType, FilterFunction

from calibrant.canonical import MAX_DEPTH
from calibrant.errors import quote
from calibrant.records.problems import refuse
from calibrant.world import patterns
from calibrant.world.base import line

SECONDS: Final = 2.0
"""How long a path may take on a document: filters within filters can be made to take years."""

_LONGEST: Final = 1_000


class Unreadable(Exception):
    """The text is not JSON that a fact can be read from."""


class TooSlow(Exception):
    """The path took longer than `SECONDS`."""


class Written(float):
    """A number as its document wrote it, which a double may not hold exactly."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Written:
        """The double nearest to ``text``, with the text."""
        number = super().__new__(cls, text)
        if number in (float("inf"), float("-inf")):
            raise Unreadable(f"the number {quote(text)} fits no double")
        number.text = text
        return number


def parse(text: str) -> Any:
    """The JSON value in ``text``: fractions as `Written`, integers exact (those of thousands of digits as text).

    Raises:
        Unreadable: for text that is not JSON, NaN, a key twice in one map, or nesting deeper than `MAX_DEPTH`.
    """
    try:
        value = json.loads(
            text, parse_float=Written, parse_int=_integer, parse_constant=_no_constant, object_pairs_hook=_distinct
        )
    except json.JSONDecodeError as broken:
        raise Unreadable(f"not JSON: {broken.msg.lower()} (line {broken.lineno}, column {broken.colno})") from None
    except RecursionError:
        raise Unreadable(f"nested deeper than {MAX_DEPTH} levels") from None
    _refuse_deep(value)
    return value


def _integer(text: str) -> int | str:
    return int(text) if len(text) < 4_000 else text


def _no_constant(name: str) -> Any:
    raise Unreadable(f"{name} is not JSON")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Unreadable("a key stands twice in one map")
    return found


def _refuse_deep(value: Any, depth: int = 0) -> None:
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if depth > MAX_DEPTH:
        raise Unreadable(f"nested deeper than {MAX_DEPTH} levels")
    for child in children:
        if isinstance(child, dict | list):
            _refuse_deep(child, depth + 1)


class _Regex(FilterFunction):
    """RFC 9535's ``search``, and ``match`` where ``whole``, on RE2; a pattern that RE2 has not matches nothing."""

    arg_types: ClassVar[list[ExpressionType]] = [ExpressionType.VALUE, ExpressionType.VALUE]
    return_type = ExpressionType.LOGICAL

    def __init__(self, *, whole: bool) -> None:
        self._form = r"\A(?:{})\z" if whole else "(?:{})"

    def __call__(self, text: object, pattern: object) -> bool:
        """Whether the pattern is found in the text."""
        if not isinstance(text, str) or not isinstance(pattern, str) or len(pattern) > _LONGEST:
            return False
        try:
            return patterns.first(self._form.format(pattern), text) is not None
        except (patterns.Refused, patterns.TooMuchWork):
            return False


class _Limited(JSONPathEnvironment):
    """An environment whose every step looks at the clock.

    The library asks its environment for these two settings at each node that it visits and each filter that it tries.
    """

    deadline = float("inf")

    @property
    def nondeterministic(self) -> bool:  # type: ignore[override]  # a setting there, the place to look at the clock here
        """Never; asked by each selector."""
        self._look()
        return False

    @property
    def max_recursion_depth(self) -> int:  # type: ignore[override]  # the same
        """Deepest descent; asked at each descendant."""
        self._look()
        return 2 * MAX_DEPTH

    def _look(self) -> None:
        if time.monotonic() > self.deadline:
            raise TooSlow(f"the path takes longer than {SECONDS:.0f} s")

    def setup_function_extensions(self) -> None:
        """The functions of RFC 9535, its regular expressions on RE2."""
        super().setup_function_extensions()
        self.function_extensions["match"] = _Regex(whole=True)
        self.function_extensions["search"] = _Regex(whole=False)


@lru_cache(maxsize=1)
def _environment() -> _Limited:
    return _Limited()


def checked(path: str) -> str:
    """``path``, once it is known that it can be used; for a validator.

    Raises:
        PydanticCustomError: for what is no JSONPath of RFC 9535.
    """
    if len(path) > _LONGEST:
        refuse(f"a path of {len(path)} characters", f"at most {_LONGEST}")
    try:
        _environment().compile(path)
    except (JSONPathError, RecursionError, ValueError) as wrong:
        refuse(f"the path {quote(path)} ({line(wrong)})", "a JSONPath (RFC 9535) such as $.items[0].name")
    return path


def select(value: Any, path: str, most: int) -> list[Any]:
    """The first ``most`` of the values in ``value`` at which ``path`` points, in document order.

    Raises:
        TooSlow: where that takes longer than `SECONDS`.
    """
    return list(islice(_values(value, path), most))


def count(value: Any, path: str) -> int:
    """At how many values in ``value`` the path points.

    Raises:
        TooSlow: where that takes longer than `SECONDS`.
    """
    return sum(1 for _ in _values(value, path))


def _values(value: Any, path: str) -> Iterator[Any]:
    environment = _Limited()
    environment.deadline = time.monotonic() + SECONDS
    try:
        for node in environment.compile(path).finditer(value):
            yield node.value
    except (JSONPathError, RecursionError) as wrong:
        raise TooSlow(f"the path cannot be followed: {line(wrong)}") from None
