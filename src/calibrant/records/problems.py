"""What the validator found, said for people: pydantic's errors as problems with file, line, field and a way out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from calibrant.errors import Problem, Where, field_name, nearest, one_of, quote

Lines: TypeAlias = Callable[[tuple[str | int, ...]], int | None]
"""Tells in which line of its file a field was written, by its path."""

_CUSTOM = "calibrant"
_EXPECTED = {
    "string_type": "text",
    "string_unicode": "whole Unicode text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "dict_type": "a map",
    "model_type": "a map",
    "model_attributes_type": "a map",
    "tuple_type": "a list",
    "list_type": "a list",
    "missing": "a value",
    "invalid-json-value": "a value that JSON has: a map, a list, text, a number, true, false or null",
}
_BOUNDS = {
    "greater_than_equal": "{ge:g} or more",
    "greater_than": "more than {gt:g}",
    "less_than_equal": "{le:g} or less",
    "less_than": "less than {lt:g}",
    "string_too_short": "at least {min_length} characters",
    "string_too_long": "at most {max_length} characters",
    "too_short": "at least {min_length}",
    "too_long": "at most {max_length}",
}
_SCALARS_TO_QUOTE = {"string_type"}


def no_lines(path: tuple[str | int, ...]) -> int | None:
    """The `Lines` of a value that came out of no file."""
    del path
    return None


def refuse(found: str, expected: str, fix: str | None = None, *, field: str | None = None) -> NoReturn:
    """Refuse a field from inside a validator, in the words of a `Problem`.

    A validator of a whole record names the ``field`` that is at fault, where it is one.
    """
    context = {"found": found, "expected": expected, "fix": fix, "field": field}
    raise PydanticCustomError(_CUSTOM, "{found}; expected {expected}", context)


@dataclass(frozen=True, slots=True)
class Fault:
    """One of several things wrong with a record: the steps to its field, and the words of a `Problem`."""

    path: tuple[str | int, ...]
    found: str
    expected: str
    fix: str | None = None


def refuse_each(faults: Sequence[Fault]) -> None:
    """Refuse a whole record from inside its validator, naming every fault; nothing where there is none."""
    if faults:
        raise PydanticCustomError(_CUSTOM, "{found}; expected {expected}", _told(faults[0]) | {"each": tuple(faults)})


def _told(fault: Fault) -> dict[str, Any]:
    return {"found": fault.found, "expected": fault.expected, "fix": fault.fix}


def problems_of(
    refused: ValidationError, model: type[BaseModel], value: Any, where: Where, lines: Lines = no_lines
) -> list[Problem]:
    """Every error that ``refused`` holds about ``value``, which was to become a ``model``."""
    found: dict[str, Problem] = {}
    for error in refused.errors(include_url=False):
        for path, problem in _said(error, model, value):
            field = ".".join(part for part in (where.field, field_name(path)) if part) or None
            line = lines(path) if lines is not no_lines else None
            place = Where(where.file, line if line is not None else where.line, field)
            placed = Problem(problem.found, problem.expected, problem.fix, place)
            found.setdefault(str(placed), placed)
    return list(found.values())


def _said(error: ErrorDetails, model: type[BaseModel], value: Any) -> Iterator[tuple[tuple[str | int, ...], Problem]]:
    """What one error says: a problem at the path of its field; several where a validator named each (`refuse_each`)."""
    context = error.get("ctx", {}) if error["type"] == _CUSTOM else {}
    for fault in context.get("each", ()):
        path = _written_path((*error["loc"], *fault.path), value)
        yield path, Problem(fault.found, fault.expected, fault.fix)
    if "each" not in context:
        within = context.get("field")
        path = _written_path((*error["loc"], within) if within is not None else error["loc"], value)
        yield path, _problem(error, model, path)


def shown(value: Any) -> str:
    """``value`` for a message, in the words of the files that people write: ``true``, ``a map``, ``no value``."""
    if value is None:
        return "no value"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "a map" if value else "an empty map"
    if isinstance(value, list | tuple):
        return f"the list {quote(list(value))}" if value else "an empty list"
    return quote(value)


def _problem(error: ErrorDetails, model: type[BaseModel], path: tuple[str | int, ...]) -> Problem:
    kind, context, given = error["type"], error.get("ctx", {}), error["input"]
    if kind == _CUSTOM:
        return Problem(context["found"], context["expected"], context.get("fix"))
    if kind == "extra_forbidden":
        known = sorted(_fields_at(model, error["loc"][:-1]))
        name = str(error["loc"][-1])
        return Problem(f"the unknown key {quote(name)}", f"one of {', '.join(known)}", nearest(name, known))
    if kind == "missing":
        return Problem("nothing", f"the field {quote(str(path[-1]) if path else '')}", "Add it.")
    if kind in {"literal_error", "enum"}:
        names = re.findall(r"'([^']*)'", str(context.get("expected", "")))
        fix = nearest(given, names) if isinstance(given, str) else None
        return Problem(shown(given), one_of(names) or "another value", fix)
    if kind in {"union_tag_invalid", "union_tag_not_found"}:
        return _tag_problem(context, given)
    fix = "Put it in quotes." if kind in _SCALARS_TO_QUOTE and isinstance(given, int | float) else None
    expected = _EXPECTED.get(kind) or (_BOUNDS[kind].format(**context) if kind in _BOUNDS else _expected(error["msg"]))
    return Problem(shown(given), expected, fix)


def _tag_problem(context: Mapping[str, Any], given: Any) -> Problem:
    names = re.findall(r"'([^']*)'", str(context.get("expected_tags", "")))
    tag = context.get("tag")
    field = str(context.get("discriminator", "kind")).strip("'")
    expected = f"{field}: {one_of(names)}" if names else f"the field {quote(field)}"
    if tag is None:
        return Problem(f"no {quote(field)}" if isinstance(given, Mapping) else shown(given), expected)
    return Problem(f"{field} {quote(tag)}", expected, nearest(str(tag), names))


def _expected(message: str) -> str:
    for start in ("Input should be ", "Value should ", "String should ", "Value error, "):
        message = message.removeprefix(start)
    return f"{message[:1].lower()}{message[1:]}"


def _written_path(loc: tuple[str | int, ...], value: Any) -> tuple[str | int, ...]:
    """``loc`` without the steps that pydantic adds for unions and for functions: only what somebody wrote."""
    path: list[str | int] = []
    for index, step in enumerate(loc):
        last = index == len(loc) - 1
        if step == "[key]":  # pydantic's name for a key itself
            break
        if isinstance(value, Mapping) and (step in value or (last and step != value.get("kind"))):
            path.append(step)
            value = value.get(step)
        elif isinstance(value, list | tuple) and isinstance(step, int) and step < len(value):
            path.append(step)
            value = value[step]
    return tuple(path)


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models that a field of this annotation may hold, through unions, lists and maps."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from models_in(argument)


def _fields_at(model: type[BaseModel], loc: tuple[str | int, ...]) -> set[str]:
    """The field names that are known where ``loc`` points, below ``model``."""
    here = {model}
    for step in loc:
        if isinstance(step, int):
            continue
        below = {inner for m in here if step in m.model_fields for inner in models_in(m.model_fields[step].annotation)}
        tagged = {m for m in here if step in _tags(m)}
        here = below or tagged or here
    return {getattr(m, "spelled", {}).get(name, name) for m in here for name in m.model_fields}


def _tags(model: type[BaseModel]) -> tuple[Any, ...]:
    kind = model.model_fields.get("kind")
    return get_args(kind.annotation) if kind is not None else ()
