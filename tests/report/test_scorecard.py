"""The page of a scorecard: everything that is in the record stands in it, counted once, without a NaN."""

from __future__ import annotations

import io
import os
import re

import pytest
from hypothesis import given, settings

from calibrant.records.figures import percent
from calibrant.records.scorecard import Scorecard
from calibrant.records.subject import SubjectIdentity
from calibrant.report.markdown import render_markdown
from calibrant.report.scorecard import describe_subject, scorecard_view
from calibrant.report.terminal import show
from calibrant.report.view import Bars, Commands, Facts, Section, Table, View
from calibrant.runs.run import Standing
from tests.report.cards import CAPPED, IN, OUT, UNSETTLED, VOID, decided, scorecard, scorecards
from tests.report.test_escape import as_read

RIGHT, WRONG, _, HEDGED, DECLINED = IN
HONEST, MARKED, INVENTED = OUT


def as_text(view: View, **environment: str) -> str:
    stream = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR"):
            patch.delenv(name, raising=False)
        for name, value in environment.items():
            patch.setenv(name, value)
        show(view, stream)
    return stream.getvalue()


def section(view: View, title: str) -> Section:
    return next(part for part in view.sections if part.title == title)


def table(view: View, title: str) -> Table:
    found = section(view, title)
    assert isinstance(found, Table)
    return found


def commands(view: View) -> list[str]:
    found = section(view, "Next")
    assert isinstance(found, Commands)
    return [command for command, _ in found.rows]


def test_the_four_outcomes_of_pairs_are_told_apart() -> None:
    view = scorecard_view(scorecard([([RIGHT], [HONEST]), ([RIGHT], [INVENTED]), ([DECLINED], [HONEST])]))
    bars = section(view, "Pairs")
    assert isinstance(bars, Bars)
    counts = {bar.name: bar.count for bar in bars.bars}
    assert counts == {"grounded": 1, "bluffing": 1, "hedging": 1, "neither": 0, "missing": 0}


def test_declined_counts_as_failed_in_one_half_and_as_passed_in_the_other() -> None:
    view = scorecard_view(scorecard([([DECLINED], [HONEST]), ([DECLINED], [MARKED])]))
    rows = table(view, "Decisions").rows
    assert ("in", "declined", "2", "fail") in rows
    assert ("out", "declined", "1", "pass") in rows
    assert ("out", "marked-inference", "1", "pass") in rows


def test_codes_that_the_table_of_rules_does_not_have_stand_below_it() -> None:
    view = scorecard_view(scorecard([([CAPPED], [VOID]), ([UNSETTLED[0]], [HONEST])]))
    rows = table(view, "Decisions").rows
    assert ("in", "over-cap", "1", "fail") in rows
    assert ("in", "unparsed", "1", "not scored") in rows
    assert ("out", "determinable", "1", "not scored") in rows


def test_a_rate_that_does_not_exist_says_why() -> None:
    view = scorecard_view(scorecard([([UNSETTLED[0]], [HONEST])]))
    rate = table(view, "Rates").rows[0]
    assert rate[1] == "–"
    assert rate[2].startswith("undefined: no ")
    assert rate[-1] == "0.0%"


@pytest.mark.parametrize(
    ("standing", "said"),
    [(Standing(4, 6), "run 4 of 6 on this board and subject"), (None, "run 4 on this board and subject")],
)
def test_the_standing_is_told(standing, said) -> None:
    run = section(scorecard_view(scorecard([([RIGHT], [HONEST])]), standing), "Run")
    assert isinstance(run, Facts)
    assert dict(run.rows)["standing"] == said


def test_what_to_do_next_follows_from_what_is_missing() -> None:
    unparsed, pending, unreachable, _, unanswered, _ = UNSETTLED
    always = ["calibrant show r --items", "calibrant verify r"]
    for outcome, wanted in (
        (RIGHT, []),
        (unparsed, []),
        (pending, ["calibrant resolve r"]),
        (unreachable, ["calibrant resolve r"]),
        (unanswered, ["calibrant run --resume r"]),
    ):
        view = scorecard_view(scorecard([([outcome], [HONEST])]), reference="r")
        assert commands(view) == [*wanted, *always]


def test_answers_that_wait_for_a_label_name_the_judge_that_may_give_it() -> None:
    view = scorecard_view(scorecard([], single=[[decided("pass", "fit")], [UNSETTLED[5]]]), reference="r")
    assert commands(view)[0] == "calibrant judge run r --judge FILE"


def test_a_command_to_copy_is_safe_to_paste() -> None:
    view = scorecard_view(scorecard([([RIGHT], [HONEST])]), reference="/tmp/a b; rm -rf ~")
    assert commands(view)[-1] == "calibrant verify '/tmp/a b; rm -rf ~'"


def test_single_challenges_have_a_table_of_their_own() -> None:
    card = scorecard([([RIGHT], [HONEST])], single=[[decided("pass", "fit")], [decided("fail", "misfit")]])
    rows = table(scorecard_view(card), "By test type: single challenges").rows
    assert [row[:3] for row in rows] == [("role-fit", "2", "0")]


def test_a_board_without_pairs_is_shown_too() -> None:
    view = scorecard_view(scorecard([], single=[[decided("pass", "fit")], [UNSETTLED[5]]]))
    assert table(view, "Rates").rows[0][0] == "single challenges passed"
    assert all(part.title != "Pairs" for part in view.sections)
    assert "single challenges passed" in as_text(view)


@settings(max_examples=25)
@given(scorecards())
def test_everything_is_counted_once_and_shown_in_every_form(card: Scorecard) -> None:
    view = scorecard_view(card, Standing(4, 6))
    board = card.results[0]
    bars = section(view, "Pairs")
    assert isinstance(bars, Bars)
    assert sum(bar.count for bar in bars.bars) == sum(board.pairs.values()) + board.pairs_missing
    assert abs(sum(bar.share for bar in bars.bars) - 1) < 1e-9
    halves = [int(row[2]) for part in view.sections if part.title == "Decisions" for row in part.rows]  # type: ignore[union-attr]
    assert sum(halves) == sum(sum(codes.values()) for codes in board.halves.values())
    assert all(
        re.fullmatch(r"[-–<>0-9.%\[\], ]*|undefined: .+|(undefined|[<>0-9.%]+), worst [<>0-9.%]+", cell)
        for cell in _numbers(view)
    )
    for text in (as_text(view), render_markdown(view), card._repr_html_()):
        assert card.ledger_root in text


def _numbers(view: View) -> list[str]:
    tables = [part for part in view.sections if isinstance(part, Table)]
    return [cell for part in tables for row in part.rows for n, cell in enumerate(row) if n in part.numbers]


@settings(max_examples=25)
@given(scorecards())
def test_no_text_of_a_record_moves_a_terminal_or_becomes_markup(card: Scorecard) -> None:
    view = scorecard_view(card)
    text = as_text(view)
    assert all(character.isprintable() or character == "\n" for character in text)
    tags = set(as_read(render_markdown(view)).tags)
    assert tags <= {"p", "strong", "blockquote", "h3", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "code"}
    assert "<script" not in card._repr_html_()


def test_markup_in_text_is_shown_as_it_is_written() -> None:
    card = scorecard([([RIGHT], [HONEST])], warnings=("[red]no[/red] :smile: [link=http://x]y[/link]",))
    assert "[red]no[/red] :smile: [link=http://x]y[/link]" in as_text(scorecard_view(card))


def test_nothing_is_cut_where_the_output_is_piped() -> None:
    long = "x" * 150
    card = scorecard([([RIGHT], [HONEST])], seats=(long, "b"))
    text = as_text(scorecard_view(card), COLUMNS="70")
    assert "…" not in text
    assert text.replace("\n", "").replace(" ", "").count("x") >= 150


def test_a_page_fits_a_terminal_of_eighty_columns() -> None:
    card = scorecard([([RIGHT] * 3, [HONEST] * 3)] * 40 + [([DECLINED] * 3, [INVENTED] * 3)] * 2)
    text = as_text(scorecard_view(card, Standing(4, 6)), COLUMNS="80")
    page = text.partition("\nNext\n")[0]
    assert max(map(len, page.splitlines())) <= 80
    for line in ("  grounded  ██████████████·  120", "  pairs grounded    95.2% ", "  invention  "):
        assert sum(found.startswith(line) for found in page.splitlines()) == 1
    assert sum(found.startswith("  sysadmin") for found in page.splitlines()) == 2  # what passed, and who answered


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("variable", "coloured"), [("NO_COLOR", False), ("COLORTERM", True)])
def test_colours_are_for_terminals_that_want_them(monkeypatch, variable, coloured) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv(variable, "1")
    stream = Terminal()
    show(scorecard_view(scorecard([([RIGHT], [INVENTED])])), stream)
    assert ("\x1b[3" in stream.getvalue()) is coloured
    assert os.environ[variable] == "1"


@pytest.mark.parametrize(("encoding", "drawn"), [("ascii", "#"), ("latin-1", "#"), ("utf-8", "█")])
def test_bars_are_drawn_in_what_the_output_can_write(monkeypatch, encoding, drawn) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, errors="backslashreplace")
    show(scorecard_view(scorecard([([RIGHT], [HONEST])])), stream)
    stream.flush()
    assert drawn * 30 in raw.getvalue().decode(encoding)


def test_a_share_that_is_not_all_is_never_drawn_or_written_as_all() -> None:
    pairs = [([RIGHT], [HONEST])] * 2999 + [([WRONG], [INVENTED])]
    text = as_text(scorecard_view(scorecard(pairs)))
    assert "█" * 30 not in text
    assert ">99.9%" in text
    assert "<0.1%" in text


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0, "0.0%"),
        (1e-9, "<0.1%"),
        (0.0005, "0.1%"),
        (0.5, "50.0%"),
        (0.9994, "99.9%"),
        (0.99951, ">99.9%"),
        (1, "100.0%"),
    ],
)
def test_a_share_is_told_honestly(share, said) -> None:
    assert percent(share) == said


def test_a_subject_is_described_by_what_tells_it_apart() -> None:
    subject = SubjectIdentity(
        kind="model", name="x/y", provider="x", model="y-2026-01-01", temperature=0.0, seed=7, capability="test-double"
    )
    assert describe_subject(subject) == "model x/y, provider x, model y-2026-01-01, temperature 0, seed 7, test-double"
    assert describe_subject(SubjectIdentity(kind="local", name="gemma")) == "local gemma"
    assert describe_subject(SubjectIdentity(kind="local", name="local")) == "local"


def test_a_notebook_shows_a_scorecard_as_a_table() -> None:
    page = as_read(scorecard([([RIGHT], [HONEST]), ([HEDGED], [HONEST])], sentence="<b>x</b>")._repr_html_())
    assert page.tags.count("table") == 1
    assert "b" not in page.tags
    assert "50.0%" in page.text
    assert "sysadmin" in page.text
