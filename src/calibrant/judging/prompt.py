"""A judge's prompt: resolved once with rubric and labels, filled once for each item, never rendered a second time.

A prompt is a Jinja2 template of a small language: text, ``{{ rubric }}``, ``{{ labels }}``, ``if`` and ``for`` over
these two, one filter on a name, and ``{{ name }}`` for each text of an item. The texts of an item stand alone: no
template may look into an item, so that there is one resolved text for all of them, and its digest is the whole story.
The language is so small that nothing in it reaches the interpreter or grows without bound; Jinja2's sandbox lies below.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from jinja2 import StrictUndefined, TemplateError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from calibrant import canonical
from calibrant.errors import InputError, Problem, Where, nearest, one_of, quote

FENCE: Final = "fence"
"""The name that stands for a word made from the item's own texts, which therefore cannot hold it."""

FILTERS: Final = frozenset({"first", "indent", "join", "last", "length", "lower", "title", "trim", "upper"})
"""What a prompt may do with rubric and labels."""

_GIVEN: Final = ("rubric", "labels")
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
_PLACE: Final = re.compile(r'\{\{ (?:([a-z][a-z0-9_]{0,63})|"\{\{") \}\}')
_BRACES: Final = '{{ "{{" }}'
_LARGEST: Final = 4 * 1024 * 1024
_LONGEST_ARGUMENT: Final = 100
_MARK: Final = "\x00"
_LANGUAGE: Final = "text, names, one filter on a name, `if`, and a `for` over `labels`"
_ALLOWED: Final = (
    nodes.Template,
    nodes.Output,
    nodes.TemplateData,
    nodes.Name,
    nodes.Const,
    nodes.If,
    nodes.CondExpr,
    nodes.Compare,
    nodes.Operand,
    nodes.Not,
    nodes.And,
    nodes.Or,
    nodes.Getitem,
)


class ResolvedPrompt(NamedTuple):
    """A prompt with rubric and labels filled in; each text of an item stands in it as ``{{ name }}``.

    Two braces that are text are written ``{{ "{{" }}``, so that what stands for an item can be told from what a rubric
    happens to hold. ``fields`` are the names in the order in which they first stand.
    """

    text: str
    fields: tuple[str, ...]

    def digest(self) -> str:
        """The SHA-256 of the text in UTF-8."""
        return canonical.sha256(self.text.encode("utf-8"))


def normal_text(data: bytes | str, where: Where = Where()) -> str:
    """The text of a prompt or rubric as it is used: no byte-order mark, LF line ends, no empty lines around it.

    Raises:
        InputError: for bytes that are no UTF-8, and for a text that is blank.
    """
    raw = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
    text = canonical.decode_utf8(raw, where=where).strip("\n")
    if not text.strip():
        raise InputError(Problem("an empty text", "some text", where=where))
    return text


def resolve(
    template_text: str, *, rubric: str, labels: Sequence[str], where: Where = Where(field="prompt")
) -> ResolvedPrompt:
    """The prompt in ``template_text`` with rubric and labels filled in.

    The rubric is text: whatever template syntax stands in it stays as it is written.

    Raises:
        InputError: for a template that does not render, that goes beyond its small language, that looks into an item,
            or that shows nothing of the item or of the rubric.
    """
    for text in (template_text, rubric):
        if _MARK in text:
            raise InputError(Problem("a NUL character", "text without one", where=where))
    tree = _parsed(template_text, where)
    fields = _fields(tree, where)
    slots = {name: f"{_MARK}{name}{_MARK}" for name in fields}
    rendered = _render(tree, where, rubric=rubric, labels=tuple(labels), **slots)
    parts = rendered.split(_MARK)
    if not set(parts[1::2]) <= set(fields):
        raise InputError(Problem("a template that writes a NUL character", "text without one", where=where))
    return _resolved(parts)


def fill(resolved: ResolvedPrompt, fields: Mapping[str, str], *, item: str) -> str:
    """What a judge is shown of one item: its texts in their places, in one pass, so that none of them is ever template.

    ``{{ fence }}`` becomes a word of sixteen hexadecimal digits out of the digest of ``fields``.

    Raises:
        InputError: naming the item and the texts that it lacks.
    """
    missing = [name for name in resolved.fields if name not in fields and name != FENCE]
    if missing:
        found = f"the item {quote(item)} without {one_of(missing)}"
        fix = nearest(missing[0], fields) or "Add the text to the item, or judge with a prompt that does not show it."
        raise InputError(Problem(found, "an item with every text that the prompt shows", fix))
    texts = {**fields, FENCE: fence_of(fields)}
    return _PLACE.sub(lambda place: texts[place[1]] if place[1] else "{{", resolved.text)


def fence_of(fields: Mapping[str, str]) -> str:
    """A word that the texts ``fields`` do not hold, since it is made from all that they hold."""
    return canonical.digest({"schema": "calibrant.fence.v1", "fields": dict(fields)})[:16]


def _parsed(text: str, where: Where) -> nodes.Template:
    try:
        tree = _environment().parse(text)
    except TemplateError as broken:
        line = getattr(broken, "lineno", None)
        place = Where(where.file, line if where.file else None, where.field)
        found = f"{type(broken).__name__}: {broken}" + (f" (line {line})" if line and not where.file else "")
        raise InputError(Problem(found, "a Jinja2 template", where=place)) from None
    except RecursionError:
        raise InputError(Problem("a template that is nested too deep", "a Jinja2 template", where=where)) from None
    for node in _all_nodes(tree):
        place = Where(where.file, node.lineno if where.file else None, where.field)
        wrong = _beyond_the_language(node)
        if wrong is not None:
            raise InputError(Problem(f"{wrong} in a prompt", _LANGUAGE, where=place))
    return tree


def _all_nodes(tree: nodes.Node) -> Iterator[nodes.Node]:
    waiting = [tree]
    while waiting:
        here = waiting.pop()
        yield here
        waiting.extend(here.iter_child_nodes())


def _beyond_the_language(node: nodes.Node) -> str | None:
    """What a node does that a prompt may not: call, compute, take attributes but those of a loop, include, define."""
    if isinstance(node, nodes.Getattr):
        return None if _is_name(node.node, "loop") else f"the attribute {quote(node.attr)}"
    if isinstance(node, nodes.For):
        nested = node.recursive or any(isinstance(inner, nodes.For) for part in node.body for inner in _all_nodes(part))
        return "a loop in a loop" if nested else None if _is_name(node.iter, "labels") else "a loop over something else"
    if isinstance(node, nodes.Filter):
        return _beyond_a_filter(node)
    return None if isinstance(node, _ALLOWED) else f"`{type(node).__name__.lower()}`"


def _beyond_a_filter(node: nodes.Filter) -> str | None:
    if node.name not in FILTERS:
        return f"the filter {quote(node.name)} (there are {', '.join(sorted(FILTERS))})"
    small = not (node.kwargs or node.dyn_args or node.dyn_kwargs) and all(map(_is_small, node.args))
    if not (isinstance(node.node, nodes.Name) and small):
        return f"the filter {quote(node.name)} on more than a name, or with more than small constants"
    return None


def _is_small(node: nodes.Node) -> bool:
    constant = node.value if isinstance(node, nodes.Const) else None
    if isinstance(constant, str):
        return len(constant) <= _LONGEST_ARGUMENT
    return isinstance(constant, int) and constant <= _LONGEST_ARGUMENT


def _is_name(node: nodes.Node | None, name: str) -> bool:
    return isinstance(node, nodes.Name) and node.name == name


def _fields(tree: nodes.Template, where: Where) -> tuple[str, ...]:
    """The names of an item that the template shows, in their order."""
    own = {name.name for name in tree.find_all(nodes.Name) if name.ctx == "store"} | {*_GIVEN, "loop"}
    shown = [part for output in tree.find_all(nodes.Output) for part in output.nodes if isinstance(part, nodes.Name)]
    alone = {id(part) for part in shown}
    for name in tree.find_all(nodes.Name):
        if name.name not in own:
            _refuse_field(name, where, alone=id(name) in alone)
    fields = tuple(dict.fromkeys(part.name for part in shown if part.name not in own))
    if not any(name.name == "rubric" and name.ctx == "load" for name in tree.find_all(nodes.Name)):
        raise InputError(Problem("a prompt without `{{ rubric }}`", "a prompt that shows its rubric", where=where))
    if not set(fields) - {FENCE}:
        fix = "Write {{ response }} where the response goes."
        raise InputError(Problem("a prompt that shows nothing of the item", "at least one text of it", fix, where))
    return fields


def _refuse_field(name: nodes.Name, where: Where, *, alone: bool) -> None:
    place = Where(where.file, name.lineno if where.file else None, where.field)
    if not alone:
        found = f"a template that looks into {quote(name.name)}, a text of the item"
        fix = "A prompt is resolved before there is an item: let the text stand alone in its braces."
        raise InputError(Problem(found, f"`{{{{ {name.name} }}}}` alone", fix, place))
    if not _NAME.fullmatch(name.name):
        raise InputError(
            Problem(f"the name {quote(name.name)}", "lower-case letters, digits and _, a letter first", where=place)
        )


def _render(tree: nodes.Template, where: Where, **values: object) -> str:
    pieces, size = [], 0
    try:
        for piece in _environment().from_string(tree).generate(**values):
            pieces.append(piece)
            size += len(piece)
            if size > _LARGEST:
                found = f"a prompt of more than {_LARGEST:,} characters"
                raise InputError(Problem(found, "a shorter one", where=where))
    except (TemplateError, ArithmeticError, TypeError, ValueError, RecursionError) as broken:
        found = f"{type(broken).__name__}: {broken}"
        raise InputError(Problem(found, "a template that renders", where=where)) from None
    return "".join(pieces).strip("\n")


def _resolved(parts: Sequence[str]) -> ResolvedPrompt:
    """The parts of a rendered text, every second of which is a name, as one text with places."""
    written = [f"{{{{ {part} }}}}" if number % 2 else part.replace("{{", _BRACES) for number, part in enumerate(parts)]
    return ResolvedPrompt("".join(written), tuple(dict.fromkeys(parts[1::2])))


@cache
def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
        keep_trailing_newline=True,
        optimized=False,
    )
    environment.globals.clear()
    environment.filters = {name: environment.filters[name] for name in FILTERS}
    return environment
