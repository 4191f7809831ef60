"""The script that looks at an installed Python object, in an isolated process of its own: JSON in, JSON out.

It is run by its path and imports nothing of Calibrant. Until a call that the project allowed is made, it refuses to
start programs, to open connections and to write files, whatever the module that it imports wants.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import inspect
import json
import math
import os
import sys
from collections.abc import Callable
from typing import Any

_REFUSED = (
    "subprocess.",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "os.fork",
    "pty.spawn",
    "socket.connect",
    "socket.bind",
    "socket.sendto",
    "socket.sendmsg",
    "socket.getaddrinfo",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.mkdir",
    "os.link",
    "os.symlink",
    "os.truncate",
    "os.chmod",
    "os.chown",
    "os.kill",
    "shutil.",
    "webbrowser.",
)
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Absent(Exception):
    """What is asked for is not there."""


class Guard:
    """Refuses what importing a module has no business doing. It is no prison: it keeps accidents from happening."""

    def __init__(self) -> None:
        self.up = True
        sys.addaudithook(self._look)

    def _look(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.up:
            return
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITES
        if writes or event.startswith(_REFUSED):
            raise PermissionError(f"looking at an object may not do {event}")


def look_up(name: str) -> Any:
    """The object of a dotted name: the longest module in it, then its attributes."""
    parts = name.split(".")
    found = _module(parts[:1], Absent(f"there is no module {parts[0]}"))
    for depth, part in enumerate(parts[1:], 2):
        try:
            found = getattr(found, part)
        except AttributeError:
            found = _submodule(found, parts[:depth])
    return found


def _submodule(parent: Any, parts: list[str]) -> Any:
    missing = Absent(f"{'.'.join(parts[:-1])} has no {parts[-1]}")
    if not inspect.ismodule(parent) or parts[-1] == "__main__":
        raise missing
    return _module(parts, missing)


def _module(parts: list[str], missing: Absent) -> Any:
    """The module; ``missing`` where it is not there itself, rather than something that it imports."""
    try:
        return importlib.import_module(".".join(parts))
    except ModuleNotFoundError as gone:
        if gone.name is not None and f"{'.'.join(parts)}.".startswith(f"{gone.name}."):
            raise missing from None
        raise


def signature(asked: dict[str, Any], target: Any) -> Any:
    """The signature as Python writes it."""
    del asked
    return str(_signature(target))


def parameters(asked: dict[str, Any], target: Any) -> Any:
    """The names of the parameters, in order."""
    del asked
    return list(_signature(target).parameters)


def default(asked: dict[str, Any], target: Any) -> Any:
    """The default of a parameter."""
    found = _parameter(asked, target).default
    if found is inspect.Parameter.empty:
        raise Absent(f"the parameter {asked['parameter']} has no default")
    return plain(found)


def parameter_kind(asked: dict[str, Any], target: Any) -> Any:
    """How a parameter is passed: positional-only, positional-or-keyword, keyword-only, …"""
    return _parameter(asked, target).kind.description.replace(" ", "-")


def attribute(asked: dict[str, Any], target: Any) -> Any:
    """The value."""
    del asked
    return plain(target)


def documentation(asked: dict[str, Any], target: Any) -> Any:
    """The documentation string."""
    text = inspect.getdoc(target)
    if not text:
        raise Absent(f"{asked['of']} has no documentation")
    return text


def returns(asked: dict[str, Any], target: Any) -> Any:
    """What a call gives back."""
    try:
        return plain(target(*asked["args"], **asked["kwargs"]))
    except BaseException as raised:  # noqa: BLE001 - whatever was raised is the answer
        raise Absent(f"{asked['of']} raised {_qualified(raised)}") from None


def raises(asked: dict[str, Any], target: Any) -> Any:
    """The name of the exception that a call raises, or ``none``."""
    try:
        target(*asked["args"], **asked["kwargs"])
    except BaseException as raised:  # noqa: BLE001 - whatever was raised is the answer
        asked["raised"] = [_qualified(kind) for kind in type(raised).__mro__[:-1]]
        return type(raised).__name__
    return "none"


ASKS: dict[str, Callable[[dict[str, Any], Any], Any]] = {
    "signature": signature,
    "parameters": parameters,
    "default": default,
    "parameter-kind": parameter_kind,
    "attribute": attribute,
    "documentation": documentation,
    "returns": returns,
    "raises": raises,
}
CALLS = ("returns", "raises")


def _signature(target: Any) -> inspect.Signature:
    try:
        return inspect.signature(target)
    except (TypeError, ValueError) as hidden:
        raise Absent(f"it has no signature that Python can tell: {hidden}") from None


def _parameter(asked: dict[str, Any], target: Any) -> inspect.Parameter:
    known = _signature(target).parameters
    if asked["parameter"] not in known:
        raise Absent(f"{asked['of']} has no parameter {asked['parameter']}")
    return known[asked["parameter"]]


def _qualified(raised: Any) -> str:
    kind = raised if isinstance(raised, type) else type(raised)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def plain(value: Any) -> Any:
    """``value`` where JSON can carry it as a fact (a scalar, or a list of scalars), else as Python shows it."""
    if type(value) in (list, tuple) and all(_scalar(member) for member in value):
        return list(value)
    return value if _scalar(value) else repr(value)


def _scalar(value: Any) -> bool:
    return type(value) in (str, bool, int) or (type(value) is float and math.isfinite(value))


def answer(asked: dict[str, Any], guard: Guard) -> dict[str, Any]:
    """The answer to one question."""
    if asked["ask"] == "version":
        try:
            return {"value": importlib.metadata.version(asked["of"])}
        except importlib.metadata.PackageNotFoundError:
            return {"absent": f"the distribution {asked['of']} is not installed"}
    try:
        try:
            target = look_up(asked["of"])
        except Absent:
            if asked["ask"] == "exists":
                return {"value": False}
            raise
        if asked["ask"] == "exists":
            return {"value": True}
        guard.up = asked["ask"] not in CALLS
        return {"value": ASKS[asked["ask"]](asked, target), "raised": asked.get("raised")}
    except Absent as absent:
        return {"absent": str(absent)}
    except BaseException as broken:  # noqa: BLE001 - a module may raise anything when it is imported
        return {"error": f"{type(broken).__name__}: {broken}"}


def main() -> None:
    """Answer the question on standard input; what the module prints goes nowhere."""
    channel = os.dup(1)
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    asked = json.loads(sys.stdin.buffer.read())
    sys.set_int_max_str_digits(0)
    said = json.dumps({**answer(asked, Guard()), "python": sys.version.split()[0]}).encode()
    while said:
        said = said[os.write(channel, said) :]
    os._exit(0)  # whatever the module left running ends here


if __name__ == "__main__":
    main()
