"""Nothing in the program makes, signs or writes a grant: a scan of its source, which is shown to see those who would.

What the commands do to a folder of grants is in tests/cli/test_gating.py.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house import Module, modules_under

MODULES = modules_under(Path(__file__).resolve().parents[2] / "src")

KIND = "AuthorityGrant"
READERS = {"record", "_record"}
"""Functions that are given the kind of a record and bytes, and give what the bytes say."""

MAKES_BYTES = {"to_bytes", "to_dict", "identity_bytes", "model_dump", "model_dump_json", "model_copy"}
WRITES = {
    "write_whole",
    "write_bytes",
    "write_text",
    "fdopen",
    "mkstemp",
    "NamedTemporaryFile",
    "symlink_to",
    "link_to",
}
OPENS = {"open"}
_FOLDER = re.compile(r"(?:^|/)grants(?:/|$)")
SIGNS = {"sign", "generate_private_key", "load_ssh_private_key", "load_pem_private_key"}


def makers(module: Module) -> Iterator[str]:
    """Where a grant is made of anything but bytes that somebody wrote."""
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        owner = function.value if isinstance(function, ast.Attribute) else function
        if isinstance(owner, ast.Name) and owner.id == KIND:
            yield f"{module.name}:{node.lineno} makes a grant by {ast.unparse(function)}()"
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        if any(isinstance(each, ast.Name) and each.id == KIND for each in given) and name not in READERS:
            yield f"{module.name}:{node.lineno} gives {KIND} to {name}()"
        if name in MAKES_BYTES and isinstance(owner, ast.Name | ast.Attribute) and _last(owner) == "grant":
            yield f"{module.name}:{node.lineno} takes a grant apart by {name}()"


def _last(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


def writers(module: Module) -> Iterator[str]:
    """Where a module that knows where grants lie, or what they are, writes a file."""
    names = {node.id for node in ast.walk(module.tree) if isinstance(node, ast.Name)}
    attributes = {node.attr for node in ast.walk(module.tree) if isinstance(node, ast.Attribute)}
    texts = {node.value for node in ast.walk(module.tree) if isinstance(node, ast.Constant)}
    if KIND not in names and "grant" not in attributes and not any(_FOLDER.search(str(text)) for text in texts):
        return
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in WRITES or (name in OPENS and any("w" in str(mode) for mode in _modes(node))):
                yield f"{module.name}:{node.lineno} writes by {name}()"


def _modes(call: ast.Call) -> Iterator[object]:
    given = [*call.args, *(k.value for k in call.keywords if k.arg == "mode")]
    yield from (each.value for each in given if isinstance(each, ast.Constant))


def signers(module: Module) -> Iterator[str]:
    """Where anything is signed, or a private key read."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            if name in SIGNS:
                yield f"{module.name}:{node.lineno} calls {name}()"
        if isinstance(node, ast.alias) and "PrivateKey" in node.name:
            yield f"{module.name}:{node.lineno} imports {node.name}"


@pytest.mark.parametrize("look", [makers, writers, signers])
def test_no_code_path_makes_signs_or_writes_a_grant(look) -> None:
    assert len(MODULES) > 100
    assert [place for module in MODULES for place in look(module)] == []


@pytest.mark.parametrize(
    ("look", "source"),
    [
        (makers, "AuthorityGrant(metric='x')"),
        (makers, "AuthorityGrant.from_dict({})"),
        (makers, "AuthorityGrant.model_construct()"),
        (makers, "make(AuthorityGrant)"),
        (makers, "make(kind=AuthorityGrant)"),
        (makers, "file.grant.model_copy(update={})"),
        (makers, "grant.to_bytes()"),
        (writers, "write_whole(root / spec.grant, data)"),
        (writers, "(root / 'grants' / 'x.yaml').write_text('')"),
        (writers, "def f(g: AuthorityGrant):\n    open('x', 'w')"),
        (writers, "path = 'grants/x'\nPath(path).open('wb')"),
        (signers, "key.sign(data)"),
        (signers, "from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey"),
    ],
)
def test_one_that_would_is_seen(look, source: str) -> None:
    assert list(look(Module("runs.example", source)))


@pytest.mark.parametrize("source", ["read_document(data).record(AuthorityGrant)", "write_whole(path, data)", "open(x)"])
def test_what_reads_or_writes_something_else_is_not(source: str) -> None:
    assert [place for look in (makers, writers, signers) for place in look(Module("runs.example", source))] == []
