"""Plots: no mark is lost, in characters or in a picture, and no text of a run leaves its place in either."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path, PurePath
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.cli.printing import write_plots
from calibrant.errors import InputError
from calibrant.report.chart import picture
from calibrant.report.markdown import render_markdown
from calibrant.report.plot import drawn
from calibrant.report.view import Axis, Facts, Mark, Plot, Series, View
from tests.report.cards import texts
from tests.report.test_scorecard import as_text

UNIT = Axis("confidence", 0, 1)
HOSTILE = "</script><script>alert(1)</script>\x1b[2J<b>&amp;"


def plot(*marks: Mark, name: str = "seat", form: str = "points", reading: str = "") -> Plot:
    return Plot("Reliability", UNIT, Axis("share right", 0, 1), (Series(name, marks, form),), reading)  # type: ignore[arg-type]


def canvas(lines: list[str]) -> list[str]:
    return [line.partition("│")[2] for line in lines if "│" in line]


def test_the_corners_lie_in_the_corners() -> None:
    rows = canvas(list(drawn(plot(Mark(0, 0), Mark(1, 1), Mark(0, 1), Mark(1, 0)), width=20, height=5)))
    assert [len(rows), rows[0], rows[-1]] == [5, "●" + " " * 18 + "●", "●" + " " * 18 + "●"]


def test_an_error_bar_runs_from_its_low_end_to_its_high_one() -> None:
    rows = canvas(list(drawn(plot(Mark(0.5, 0.5, 0, 1)), width=11, height=7)))
    assert [row.strip() for row in rows] == ["│", "│", "│", "●", "│", "│", "│"]


def test_a_line_joins_its_marks_and_shows_the_edges_of_its_band() -> None:
    rows = canvas(list(drawn(plot(Mark(0, 0.5, 0.1, 0.9), Mark(1, 0.5, 0.1, 0.9), form="line"), width=10, height=10)))
    assert [index for index, row in enumerate(rows) if row == "·" * 10] == [0, 4, 8]


def test_what_lies_outside_is_counted() -> None:
    assert "2 marks lie outside the axes" in list(drawn(plot(Mark(2, 0.5), Mark(0.5, -1), Mark(0.5, 0.5))))


@given(
    st.lists(st.tuples(st.floats(-0.5, 1.5), st.floats(-0.5, 1.5)), max_size=12),
    st.sampled_from(["points", "line"]),
    st.integers(1, 80),
    st.integers(1, 20),
)
def test_every_mark_is_drawn_or_counted_and_no_line_is_too_long(places, form, width, height) -> None:
    lines = list(drawn(plot(*(Mark(x, y) for x, y in places), form=form), width=width, height=height))
    assert all(len(row) <= width for row in canvas(lines))
    outside = sum(not (0 <= x <= 1 and 0 <= y <= 1) for x, y in places)
    if form == "points":
        assert (f"{outside} marks lie outside the axes" in lines) == (outside > 0)
        cells = {
            (min(width - 1, int(x * width)), min(height - 1, int(y * height)))
            for x, y in places
            if 0 <= x <= 1 >= y >= 0
        }
        assert sum(row.count("●") for row in canvas(lines)) == len(cells)


def test_an_axis_of_one_value_is_drawn() -> None:
    only = Plot("t", Axis("x", 3, 3), Axis("y", 2, 2), (Series("s", (Mark(3, 2),)),))
    assert sum(line.count("●") for line in drawn(only)) == 2  # the mark and its place in the legend


@given(texts, texts)
def test_no_text_moves_the_terminal_or_leaves_its_block(name: str, reading: str) -> None:
    view = View("A page.", (), (plot(Mark(0.2, 0.4), name=name, reading=reading),))
    assert "\x1b" not in as_text(view)
    page = render_markdown(view)
    fence = re.findall(r"^(`{3,})text$", page, re.MULTILINE)[0]
    assert len(re.findall(rf"^{fence}$", page, re.MULTILINE)) == 1


def test_plain_output_has_ascii_alone() -> None:
    marks = (Mark(0.1, 0.2, 0.1, 0.3), Mark(0.9, 0.8))
    assert all(line.isascii() for form in ("points", "line") for line in drawn(plot(*marks, form=form), plain=True))


def test_a_picture_holds_every_mark_and_shows_hostile_text_as_text() -> None:
    view = View(
        "", (), (plot(Mark(0.25, 0.5, 0.4, 0.6), Mark(0.75, 0.5, note="n <9>"), name=HOSTILE, reading=HOSTILE),)
    )
    svg = picture(view, PurePath("a.svg")).decode()
    tree = ElementTree.fromstring(svg)
    tags = {element.tag.rpartition("}")[2] for element in tree.iter()}
    assert "script" not in tags
    assert "b" not in tags
    assert svg.count('aria-roledescription="point"') == 2
    assert any(text.text == "n <9>" for text in tree.iter())
    assert any("</script>" in (text.text or "") for text in tree.iter() if text.tag.endswith("text"))


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.opened: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.opened.append((tag, dict(attrs)))


def test_a_page_with_a_plot_loads_nothing_and_runs_no_text_of_a_run() -> None:
    view = View("", (), (plot(Mark(0.25, 0.5), name=HOSTILE, reading=HOSTILE),))
    page = picture(view, PurePath("a.html")).decode()
    assert "<script>alert(1)" not in page
    read = _Page()
    read.feed(page)
    assert "script" not in {tag for tag, _ in read.opened}
    assert [attrs for _, attrs in read.opened if attrs.get("src") or attrs.get("href")] == []


def test_plots_are_written_whole_beside_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    view = View("", (), (plot(Mark(0.25, 0.5)), plot(Mark(0.5, 0.5))))
    write_plots(view, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().err == f"plot: {tmp_path / 'a.png'}\n"
    with pytest.raises(InputError, match=r'"\.svg", "\.png" or "\.html"'):
        write_plots(view, tmp_path / "a.pdf")
    with pytest.raises(InputError, match="without a plot"):
        write_plots(View("", (), (Facts("", ()),)), tmp_path / "b.svg")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.png"]
