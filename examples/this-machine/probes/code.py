"""Says one thing about a name in a Python file: a signature, a default, what a call raises, a constant, its keys.

`code.py FILE FUNCTION signature`, `… default NAME`, `… raises JSON`; `code.py FILE CONSTANT constant`, `… keys`
"""

from __future__ import annotations

import inspect
import json
import runpy
import sys
from collections.abc import Callable
from typing import Any


def signature(function: Callable[..., Any]) -> str:
    """The function as it is declared, with its documentation."""
    return f"def {function.__name__}{inspect.signature(function)}\n{inspect.getdoc(function)}"


def default(function: Callable[..., Any], name: str) -> str:
    """The default of one parameter."""
    return str(inspect.signature(function).parameters[name].default)


def raises(function: Callable[..., Any], arguments: str) -> str:
    """The exception that a call with these keyword arguments raises."""
    try:
        function(**json.loads(arguments))
    except Exception as raised:  # noqa: BLE001 - whatever it is, it is the answer
        return type(raised).__name__
    return "nothing"


def constant(value: dict[str, Any]) -> str:
    """The whole of it."""
    return repr(value)


def keys(value: dict[str, Any]) -> str:
    """Its keys alone."""
    return ", ".join(value)


ASKS: dict[str, Callable[..., str]] = {
    "signature": signature,
    "default": default,
    "raises": raises,
    "constant": constant,
    "keys": keys,
}

if __name__ == "__main__":
    file, name, ask, *rest = sys.argv[1:]
    print(ASKS[ask](runpy.run_path(file)[name], *rest))
