"""The plots of a page as a picture: SVG, PNG, or an HTML page that loads nothing from elsewhere."""

from __future__ import annotations

import html
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any, Final

from calibrant.errors import InputError, Problem, Where, one_of, quote
from calibrant.report.escape import visible
from calibrant.report.view import Axis, Plot, Series, View

ENDINGS: Final = (".svg", ".png", ".html")
"""The forms of a picture, by the ending of its file's name."""

_WIDTH, _HEIGHT = 420, 320
_SCALE: Final = 2.0


def refuse_unwritable(path: Path) -> None:
    """Refuse a file whose name says no form of a picture, or that cannot be written where it is to lie.

    Raises:
        InputError: naming the endings that do, or the folder that is not there.
    """
    where = Where(field="--plot")
    if path.is_dir():
        found = f"the folder {quote(str(path))}"
        raise InputError(Problem(found, f"the name of a file that ends in {one_of(ENDINGS)}", where=where))
    refuse_other_endings(path)
    if not path.parent.is_dir():
        found = f"a plot in {quote(str(path.parent))}, which is no folder"
        raise InputError(Problem(found, "a file in a folder that is there", "Make the folder first.", where))


def refuse_other_endings(name: PurePath) -> None:
    """Refuse a file name whose ending says no form of a picture.

    Raises:
        InputError: naming the endings that do.
    """
    if name.suffix.lower() not in ENDINGS:
        found = f"a plot as {quote(name.name)}"
        raise InputError(Problem(found, f"a name that ends in {one_of(ENDINGS)}", where=Where(field="--plot")))


def picture(view: View, name: PurePath) -> bytes:
    """All plots of a page, one below the other, in the form that the ending of ``name`` says.

    Raises:
        InputError: for another ending, and for a page without a plot.
    """
    refuse_other_endings(name)
    plots = [section for section in view.sections if isinstance(section, Plot)]
    if not plots:
        raise InputError(Problem("a page without a plot", "something to draw", where=Where(field="--plot")))
    import vl_convert

    spec = _spec(plots)
    ending = name.suffix.lower()
    if ending == ".png":
        return bytes(vl_convert.vegalite_to_png(spec, scale=_SCALE))
    drawn = str(vl_convert.vegalite_to_svg(spec))
    return (_page(view, drawn) if ending == ".html" else drawn).encode()


def _page(view: View, drawn: str) -> str:
    """A page around a picture. It holds no script: what a run says could not stand in one safely."""
    title = html.escape(visible(view.sentence or "Plots"))
    head = f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>'
    return f"{head}\n<body><p>{title}</p>\n{drawn}\n</body></html>\n"


def _spec(plots: list[Plot]) -> dict[str, Any]:
    import altair

    drawn = [_chart(plot) for plot in plots]
    whole = drawn[0] if len(drawn) == 1 else altair.vconcat(*drawn).resolve_scale(color="independent")
    spec: dict[str, Any] = whole.to_dict()
    return spec


def _chart(plot: Plot) -> Any:
    """One plot: bands and error bars first, so that no mark lies under them."""
    import altair

    layers = [layer for series in plot.series for layer in _uncertain(series, plot)]
    layers += [_marks(series, plot) for series in plot.series]
    layers += [_notes(series, plot) for series in plot.series if any(mark.note for mark in series.marks)]
    title = altair.TitleParams(text=visible(plot.title), subtitle=visible(plot.reading))
    return altair.layer(*layers).properties(width=_WIDTH, height=_HEIGHT, title=title)


def _uncertain(series: Series, plot: Plot) -> Iterator[Any]:
    """What the marks may as well be: a band along a line, a bar at a point."""
    marks = [mark for mark in series.marks if mark.low is not None and mark.high is not None]
    if not marks:
        return
    import altair

    rows = [{"x": m.x, "low": m.low, "high": m.high, "series": visible(series.name)} for m in marks]
    base = altair.Chart(altair.InlineData(values=rows))
    drawn = base.mark_area(opacity=0.2, clip=True) if series.form == "line" else base.mark_rule(clip=True)
    yield drawn.encode(
        x=_on("x", plot.x), y=_on("low", plot.y), y2=altair.Y2("high"), color=altair.Color("series:N", title=None)
    )


def _marks(series: Series, plot: Plot) -> Any:
    import altair

    rows = [{"x": m.x, "y": m.y, "series": visible(series.name)} for m in series.marks]
    base = altair.Chart(altair.InlineData(values=rows))
    drawn = base.mark_line(clip=True) if series.form == "line" else base.mark_point(filled=True, size=50, clip=True)
    return drawn.encode(
        x=_on("x", plot.x),
        y=_on("y", plot.y),
        color=altair.Color("series:N", title=None),
    )


def _notes(series: Series, plot: Plot) -> Any:
    import altair

    rows = [{"x": mark.x, "y": mark.y, "note": visible(mark.note)} for mark in series.marks if mark.note]
    drawn = altair.Chart(altair.InlineData(values=rows)).mark_text(align="left", dx=6, dy=-6, fontSize=9, clip=True)
    return drawn.encode(x=_on("x", plot.x), y=_on("y", plot.y), text="note:N")


def _on(field: str, axis: Axis) -> Any:
    import altair

    kind = altair.X if field == "x" else altair.Y
    scale = altair.Scale(domain=[axis.low, axis.high], nice=False, zero=False)
    return kind(f"{field}:Q", title=visible(axis.name), scale=scale)
