"""The documents say what is there: links lead somewhere, and the commands that they name exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])

_FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1\s*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)")
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.MULTILINE)


def prose(text: str) -> str:
    """``text`` without its code blocks and code spans."""
    return re.sub(r"`[^`\n]*`", "`code`", _FENCE.sub("", text))


def anchors(text: str) -> set[str]:
    """The anchors that the headings of ``text`` make, as GitHub names them."""
    seen: dict[str, int] = {}
    found = set()
    for heading in _HEADING.findall(_FENCE.sub("", text)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        count = seen[name] = seen.get(name, -1) + 1
        found.add(f"{name}-{count}" if count else name)
    return found


def dead_links(document: Path) -> Iterator[str]:
    """The links of ``document`` into the project that lead nowhere."""
    for target in _LINK.findall(prose(document.read_text(encoding="utf-8"))):
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        name, _, anchor = target.partition("#")
        there = document.parent / name if name else document
        needs_anchor = bool(anchor) and there.suffix == ".md"
        if not there.exists() or (needs_anchor and anchor not in anchors(there.read_text(encoding="utf-8"))):
            yield target


def make_targets() -> dict[str, str]:
    """The targets of the Makefile with what `make` says of them."""
    return dict(re.findall(r"^([a-z-]+):.*?## (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(document: Path) -> None:
    assert list(dead_links(document)) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_make_target_that_a_document_names_exists(document: Path) -> None:
    named = re.findall(r"(?:^|`|&& )make ([a-z][a-z-]*)", document.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(named) - make_targets().keys() == set()


def test_every_make_target_says_what_it_does() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    assert phony is not None
    assert set(phony.group(1).split()) == make_targets().keys()


def test_dead_links_are_seen(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# A `b` c: d\n## A `b` c: d\n", encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](there.md) [b](there.md#a-b-c-d) [c](there.md#a-b-c-d-1) [d](#here) [e](https://example.org/x)\n"
        "# Here\n`[code](gone.md)`\n```\n[code](gone.md)\n```\n"
        "[f](gone.md) ![g](gone.png) [h](there.md#e) [i](#there)\n",
        encoding="utf-8",
    )
    assert list(dead_links(page)) == ["gone.md", "gone.png", "there.md#e", "#there"]
