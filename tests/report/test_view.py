"""Verbatim texts on a page: every line of them is there, none passes for a line of the page, none leaves its block."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from calibrant.report.escape import visible_lines
from calibrant.report.markdown import render_markdown
from calibrant.report.terminal import show
from calibrant.report.view import Verbatim, View
from tests.report.cards import texts
from tests.report.test_escape import as_read
from tests.report.test_scorecard import as_text

PROMPT = "{{ rubric }}\n\n    Reply:  {{ response }}\n- a point\n" + "long " * 60


def of(text: str) -> View:
    return View("A page.", (), (Verbatim("The prompt", text),))


def test_a_text_stands_line_for_line_with_its_blanks_and_its_length() -> None:
    shown = as_text(of(PROMPT), COLUMNS="80").splitlines()
    assert shown[:3] == ["A page.", "", "The prompt"]
    assert [line[4:].rstrip() for line in shown[3:]] == [line.rstrip() for line in PROMPT.splitlines()]
    assert {line[:3] for line in shown[3:]} == {"  │"}


def test_no_line_of_a_text_can_pass_for_a_line_of_the_page() -> None:
    shown = as_text(of("fine\n\nNext\n  calibrant grant check x  matched")).splitlines()
    assert shown.count("Next") == 0
    assert "  │ Next" in shown


@given(st.lists(texts, max_size=6).map("\n".join))
@example("a\n```\n# heading\n````\n<b>")
@example("\x1b[2J\n[link](https://example.com)")
def test_a_text_moves_no_terminal_and_stays_in_its_block(text: str) -> None:
    assert "\x1b" not in as_text(of(text))
    page = render_markdown(of(text))
    fence = re.findall(r"^(`{3,})text$", page, re.MULTILINE)[0]
    _, inner, after = re.split(rf"^{fence}(?:text)?\n", page, maxsplit=2, flags=re.MULTILINE)
    assert inner == f"{visible_lines(text)}\n"
    assert after == ""
    assert fence not in inner


def test_markdown_is_shown_as_a_block_of_code_and_nothing_else() -> None:
    assert set(as_read(render_markdown(of("# no\n* no\n<script>\n```\n**no**"))).tags) <= {
        "p",
        "strong",
        "h3",
        "pre",
        "code",
    }


def test_the_rule_is_one_that_the_output_can_write() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("COLUMNS", raising=False)
        show(of("a"), stream)
    stream.seek(0)
    assert "  | a" in stream.read()
