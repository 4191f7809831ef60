"""What the confidences of predictions were worth: every figure, by who predicted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from calibrant.predictions.book import Predicted
from calibrant.records.confidence import ConfidenceFigures
from calibrant.stats.confidence import By, How, Told, confidence_figures
from calibrant.stats.forecasts import Forecasts
from calibrant.stats.interval_scores import Bracket

_NOBODY = "nobody named"


def prediction_figures(predictions: Sequence[Predicted], how: How = How()) -> ConfidenceFigures:
    """Every figure of the confidences that were stated, by who predicted where there are several.

    Predictions of one name are one cluster: the same test makes them again and again. An event is looked at from the
    side that its confidence favours where all are events, and so is each single one among others.
    """
    scored = [one for one in predictions if one.share is not None and one.expectation.confidence is not None]
    stated = sum(one.expectation.confidence is not None for one in predictions)
    events = bool(scored) and all(one.prediction.outcome.kind == "event" for one in scored)
    names = list(dict.fromkeys(one.prediction.by or _NOBODY for one in scored))
    groups: dict[tuple[By, str], Forecasts] = {}
    for name in names if len(names) > 1 else ():
        groups["source", name] = _forecasts([one for one in scored if (one.prediction.by or _NOBODY) == name], events)
    return confidence_figures(
        _forecasts(scored, events),
        How(how.bins, how.binning, how.sure, how.clip, how.level, how.seed, how.draws, two_sided=events),
        told=Told(unscored=stated - len(scored)),
        brackets=_brackets(scored),
        groups=groups,
    )


def _forecasts(scored: Sequence[Predicted], events: bool) -> Forecasts:
    places: dict[str, int] = {}
    clusters = [places.setdefault(one.prediction.name, len(places)) for one in scored]
    sides = [_side(one, events) for one in scored]
    return Forecasts((p for p, _ in sides), (right for _, right in sides), clusters)


def _side(one: Predicted, events: bool) -> tuple[float, float]:
    """The confidence and how right it was: among other predictions, an event from the side that it favours."""
    confidence, share = one.expectation.confidence, one.share
    assert confidence is not None
    assert share is not None
    if not events and one.prediction.outcome.kind == "event" and confidence < 0.5:
        return 1 - confidence, 1 - share
    return confidence, share


def _brackets(scored: Iterable[Predicted]) -> Iterator[Bracket]:
    for one in scored:
        ends, confidence = one.expectation.interval, one.expectation.confidence
        if ends is not None and confidence is not None:
            yield Bracket(float(ends[0]), float(ends[1]), float(str(one.fact)), confidence)
