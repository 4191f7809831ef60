"""``calibrant show --confidence``: what the stated confidences of a run were worth."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from calibrant.cli.places import open_named, reference_to
from calibrant.cli.printing import print_with_plots, refuse_plot
from calibrant.errors import InputError, Problem, Where, nearest, one_of, quote
from calibrant.report.confidence import confidence_json, confidence_view
from calibrant.stats.confidence import How
from calibrant.stats.forecasts import SURE
from calibrant.stats.reliability import BINS, Binning


class Asked(NamedTuple):
    """How the figures are wanted; None for what was not said."""

    bins: int | None = None
    binning: str | None = None
    sure: float | None = None
    plot: Path | None = None


_BINNINGS: dict[str, Binning] = {"width": "equal width", "count": "equal count"}


def show_confidence(reference: str, runs: Path | None, form: str, asked: Asked) -> int:
    """Show the figures of a run's confidences, with their curves."""
    refuse_plot(asked.plot)
    binning = _binning(asked.binning)
    run = open_named(reference, runs)
    how = How(
        bins=asked.bins if asked.bins is not None else BINS,
        binning=binning,
        sure=asked.sure if asked.sure is not None else SURE,
        level=run.terms.level,
    )
    figures = run.confidence(how)
    view = confidence_view(figures, run.terms.subject.name, reference=reference_to(run))
    print_with_plots(view, lambda: confidence_json(figures), form, asked.plot)
    return 0


def _binning(given: str | None) -> Binning:
    if given is None:
        return "equal width"
    if given not in _BINNINGS:
        where = Where(field="--binning")
        raise InputError(Problem(quote(given), one_of(_BINNINGS), nearest(given, _BINNINGS), where))
    return _BINNINGS[given]
