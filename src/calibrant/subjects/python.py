"""`python:package.module.function`: a Python function as a subject, plain or async, given as a name or as itself."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib
import inspect
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field

from calibrant import canonical
from calibrant.errors import InputError, Problem, nearest, quote
from calibrant.records.base import Record
from calibrant.records.subject import Failure, Request, Response, SubjectIdentity
from calibrant.subjects.base import Options, Reply, question_text
from calibrant.subjects.command import timed
from calibrant.subjects.options import read_options
from calibrant.subjects.replies import failed, reply_of, settle, unreadable
from calibrant.subjects.threads import in_thread

TEST_DOUBLE: Final = "calibrant_test_double"
"""The attribute by which a function says that it is a test double, whose numbers say nothing about any model."""

_EXAMPLE = "python:package.module.function"


class PythonOptions(Record):
    """What a user sets for a function: how many questions it takes at once."""

    concurrency: Annotated[int, Field(ge=1, le=1000)] = 8


class PythonSubject:
    """A function that takes a question and gives text, a map of the fields of `Response`, a Response or a Failure.

    It is given the `Request`; or the question as one text, where its parameter is annotated `str`. A plain function
    runs in a thread of its own for each question, an async one in the event loop. What it raises is a failure.
    """

    elicitation = "json"

    def __init__(self, function: Callable[..., Any], options: PythonOptions = PythonOptions()) -> None:
        """Wrap ``function``.

        Raises:
            InputError: for what is no function of one argument.
        """
        self._takes_text = _takes_text(function)
        self._function = function
        called = function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004
        self._is_async = inspect.iscoroutinefunction(_bare(function)) or inspect.iscoroutinefunction(called)
        self.identity = _identity(function)
        self.concurrency = options.concurrency

    async def ask(self, request: Request) -> Reply:
        """Call the function with one question."""
        started = time.monotonic()
        given = question_text(request) if self._takes_text else request
        try:
            if self._is_async:
                returned = await _awaited(self._function(given))
            else:
                returned = await in_thread(lambda: self._call(given))
                if inspect.isawaitable(returned):
                    returned = await _awaited(returned)
        except Exception as raised:  # noqa: BLE001 - somebody else's code
            took_it_for_text = isinstance(raised, TypeError | AttributeError) and not self._takes_text
            return _raised(raised, _HINT if took_it_for_text and "Request" in str(raised) else "")
        reply = returned if isinstance(returned, Failure) else _reply(returned)
        return timed(reply, time.monotonic() - started)

    def _call(self, given: str | Request) -> Any:
        try:
            return self._function(given)
        except Exception:
            raise
        except BaseException as raised:  # noqa: BLE001 - it may end or cancel its own work, not the run
            return _raised(raised)

    async def close(self) -> None:
        """Nothing is kept."""


def open_python(rest: str, options: Options) -> PythonSubject:
    """The subject behind ``python:package.module.function``; the working folder is on the path for this.

    Raises:
        InputError: where it cannot be imported, or is no function of one argument.
    """
    return PythonSubject(_find(rest), read_options(PythonOptions, options))


def function_subject(function: Callable[..., Any], options: Options) -> PythonSubject:
    """The subject that a function given in Python is.

    Raises:
        InputError: for what is no function of one argument.
    """
    return PythonSubject(function, read_options(PythonOptions, options))


async def _awaited(returned: Awaitable[Any]) -> Any:
    """What the function comes to. It may end or cancel its own work; the run is ended by others."""
    try:
        return await returned
    except (Exception, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as raised:
        task = asyncio.current_task()
        if isinstance(raised, asyncio.CancelledError) and task is not None and task.cancelling():
            raise
        return _raised(raised)


def _reply(returned: Any) -> Reply:
    if isinstance(returned, Response):
        return settle(returned)
    if isinstance(returned, str):
        return reply_of({"text": returned})
    if isinstance(returned, Mapping):
        return reply_of(returned)
    return unreadable(f"a {type(returned).__name__} ({quote(returned)})", "text, a map, a Response or a Failure")


_HINT: Final = " (annotate the parameter as `str` to be given the question as text)"


def _raised(raised: BaseException, hint: str = "") -> Failure:
    said = str(raised)
    return failed("crashed", (f"{type(raised).__name__}: {said}" if said else type(raised).__name__) + hint)


def _find(path: str) -> Callable[..., Any]:
    parts = path.split(".")
    if len(parts) < 2 or not all(part.isidentifier() for part in parts):
        raise InputError(Problem(quote(path), f"a dotted name, for example {_EXAMPLE}"))
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    module, names = _import(parts)
    found: Any = module
    for name in names:
        if not hasattr(found, name):
            missing = f"no {quote(name)} in {quote(getattr(found, '__name__', type(found).__name__))}"
            raise InputError(Problem(missing, "a function", nearest(name, dir(found))))
        found = getattr(found, name)
    if not callable(found):
        raise InputError(Problem(f"{quote(path)}, which is a {type(found).__name__}", "a function"))
    function: Callable[..., Any] = found
    return function


def _import(parts: list[str]) -> tuple[Any, list[str]]:
    """The module that the first words of a dotted name are, and the words behind it."""
    for end in range(len(parts) - 1, 0, -1):
        name = ".".join(parts[:end])
        try:
            return importlib.import_module(name), parts[end:]
        except ModuleNotFoundError as missing:
            if missing.name is None or not (name == missing.name or name.startswith(f"{missing.name}.")):
                raise _broken(name, missing) from missing
        except Exception as broken:
            raise _broken(name, broken) from broken
    fix = f"Run in the folder that holds {quote(parts[0])}, or install it."
    raise InputError(Problem(f"no module {quote('.'.join(parts[:-1]))}", f"what {_EXAMPLE} names", fix))


def _broken(name: str, broken: Exception) -> InputError:
    found = f"the module {quote(name)}, which does not import: {type(broken).__name__}: {quote(str(broken))}"
    return InputError(Problem(found, "a module that imports"))


def _takes_text(function: Callable[..., Any]) -> bool:
    """Whether the function wants the question as text.

    Raises:
        InputError: where it cannot be called with one argument.
    """
    if not callable(function):
        raise InputError(Problem(f"a {type(function).__name__}", "a subject, the name of one, or a function"))
    try:
        signature = inspect.signature(function, eval_str=True)
    except Exception:  # noqa: BLE001 - an annotation may name what is not there
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):  # some built-in functions have none
            return False
    try:
        bound = signature.bind(None)
    except TypeError as refused:
        raise InputError(Problem(f"the function {_name(function)}{signature} ({refused})", "one argument")) from None
    parameter = signature.parameters[next(iter(bound.arguments), "")] if bound.arguments else None
    return parameter is not None and parameter.annotation in (str, "str")


def _bare(function: Callable[..., Any]) -> Callable[..., Any]:
    while isinstance(function, functools.partial):
        function = function.func
    unwrapped: Callable[..., Any] = inspect.unwrap(function)
    return unwrapped


def _name(function: Callable[..., Any]) -> str:
    bare = _bare(function)
    where = bare if hasattr(bare, "__qualname__") else type(bare)
    return f"{where.__module__}.{where.__qualname__}"


def _identity(function: Callable[..., Any]) -> SubjectIdentity:
    """The function's name, the digests of its source and of its module's file, where Python can tell them.

    A function with the attribute ``calibrant_test_double = True`` says that it only plays a model or a judge.
    """
    bare = _bare(function)
    double = any(getattr(part, TEST_DOUBLE, False) is True for part in (function, bare))
    return SubjectIdentity(
        kind="python",
        name=_name(function),
        settings=_sources(bare if inspect.isroutine(bare) else type(bare)),
        capability="test-double" if double else "live",
    )


def _sources(defined: Any) -> dict[str, Any]:
    """What answers may depend on and can be told: the function's own text, and all that its module's file holds."""
    settings: dict[str, Any] = {}
    with contextlib.suppress(OSError, TypeError):
        settings["source_sha256"] = canonical.sha256(inspect.getsource(defined).encode("utf-8", "replace"))
    with contextlib.suppress(OSError, TypeError, ValueError):
        settings["module_sha256"] = canonical.sha256(Path(inspect.getfile(defined)).read_bytes())
    return settings
