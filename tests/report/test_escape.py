"""Hostile text stays text: in a terminal, in HTML, and in Markdown as another program reads it."""

from __future__ import annotations

import html
from html.parser import HTMLParser

import pytest
from hypothesis import given
from markdown_it import MarkdownIt

from calibrant.report.escape import for_html, for_markdown, visible
from tests.report.cards import HOSTILE, texts


class Reader(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def as_read(markdown: str) -> Reader:
    return Reader(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown))


@given(texts)
def test_visible_text_is_one_printable_line(text) -> None:
    shown = visible(text)
    assert shown.isprintable()
    assert visible(shown) == shown
    assert "\x1b" not in shown
    if text.isprintable():
        assert shown == text


@pytest.mark.parametrize(
    "character", ["\u202a", "\u202e", "\u2066", "\u2069", "\u200f", "\u061c", "\x9b", "\x1b", "\0"]
)
def test_what_turns_or_moves_a_line_is_written_out(character) -> None:
    assert visible(f"a{character}b").startswith("a\\")


def test_right_to_left_words_stay_words() -> None:
    assert visible("שלום עולם, مرحبا") == "שלום עולם, مرحبا"


@given(texts)
def test_markdown_reads_back_as_the_very_text(text) -> None:
    shown = as_read(f"x {for_markdown(text)} x")
    assert shown.tags == ["p"]
    assert shown.text.strip() == f"x {visible(text)} x".strip()


@given(texts, texts)
def test_a_cell_of_a_markdown_table_stays_one_cell(one, other) -> None:
    page = as_read(f"| a | b |\n|---|---|\n| x{for_markdown(one)}x | x{for_markdown(other)}x |\n")
    assert page.tags == ["table", "thead", "tr", "th", "th", "tbody", "tr", "td", "td"]
    assert f"x{visible(one)}x" in page.text
    assert f"x{visible(other)}x" in page.text


@pytest.mark.parametrize("bait", ["http://", "www.", "@everyone", "<script", "](", "#1"])
def test_markdown_gives_no_link_no_mention_and_no_tag(bait) -> None:
    for text in HOSTILE:
        assert bait not in for_markdown(text).replace("\\#1", "")


@given(texts)
def test_html_reads_back_as_the_very_text(text) -> None:
    page = Reader(f"<p title='{for_html(text)}'>{for_html(text)}</p>")
    assert page.tags == ["p"]
    assert page.text == visible(text)
    assert html.unescape(for_html(text)) == visible(text)
