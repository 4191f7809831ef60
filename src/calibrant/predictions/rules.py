"""What may stand in a book: which predictions, which resolutions of them, and as which kind of entry.

The book that writes, the pages that read and the verification ask here, so that none of them takes for sound what
another refuses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal, TypeAlias

from calibrant.errors import quote
from calibrant.grounding.confidence import read_confidence
from calibrant.grounding.match import read_fact
from calibrant.records.grounding import Expectation, Fact, Resolution
from calibrant.records.outcome import Categorical, Outcome
from calibrant.records.prediction import Prediction
from calibrant.units import Unread, read_date, read_number

Said: TypeAlias = tuple[str, Fact | None, str | None]
"""What a resolution says: its status, its value, and where it is no fact, its reason."""

_SETTLED: Final = frozenset({"fact", "no-record", "not-determinable"})
_BY_HAND: Final = frozenset({"observed", "imported"})
_PLAIN: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def said_by(resolution: Resolution) -> Said:
    """What a resolution says."""
    return resolution.status, resolution.value, resolution.reason if resolution.status != "fact" else None


def settles(said: Said) -> bool:
    """Whether nothing is asked after this any more."""
    return said[0] in _SETTLED


def place_of(known: Sequence[Said], said: Said) -> Literal["resolution", "contradiction"] | None:
    """As what kind of entry it stands in a book that ``said`` is said of a prediction of which the book holds
    ``known``, in their order; None where it says nothing that the book does not hold."""
    if not any(map(settles, known)):
        return None if known and known[-1] == said else "resolution"
    first = next(place for place, one in enumerate(known) if settles(one))
    return "contradiction" if settles(said) and said not in known[first:] else None


def misfit(outcome: Outcome, said: Expectation) -> str | None:
    """Why an expectation cannot be what a prediction in ``outcome`` expects, or None."""
    if said.stance != "assert":
        return f"the stance {said.stance}, where a prediction asserts"
    if said.option is not None or said.text is not None:
        return "an answer in words, where a prediction holds what is predicted"
    if outcome.kind == "interval":
        if said.interval is None:
            return "no interval"
        low, high = said.interval
        return f"an interval from {low} down to {high}" if low > high else None
    if said.interval is not None:
        return f"an interval for a {outcome.kind}"
    return None if _fits(outcome, said.value) else f"{quote(said.value)} for a {outcome.kind}"


def _fits(outcome: Outcome, value: Fact | None) -> bool:
    if outcome.kind == "event":
        return isinstance(value, bool)
    if not isinstance(value, str):
        return False
    if outcome.kind == "number":
        return _PLAIN.fullmatch(value) is not None and read_number(value) is not None
    if outcome.kind == "date":
        return not isinstance(read_date(value), Unread)
    return isinstance(outcome, Categorical) and value in outcome.values


def unlike_stated(said: Expectation) -> str | None:
    """Why a confidence is not the one that was stated, or None."""
    if said.confidence_stated is None:
        return None
    meant = read_confidence(said.confidence_stated, "probability", {})[0]
    if meant is None:
        try:
            meant = float(said.confidence_stated)  # closer to 0 than a confidence in an answer may be
        except ValueError:
            meant = None
    return None if meant == said.confidence else f"the confidence {said.confidence}, stated {said.confidence_stated}"


def misread(prediction: Prediction, resolution: Resolution) -> str | None:
    """Why the fact of a resolution is none in the prediction's outcome space, in its written form; or None."""
    value = resolution.value
    if value is None or read_fact(prediction.outcome, value) == value:
        return None
    return f"the fact of {quote(prediction.name)} is not in its written form"


def untrue(prediction: Prediction, resolution: Resolution) -> Iterator[str]:
    """What of a resolution no honest book says: of one observation alone, by whoever may say it, and what they may."""
    name, kind = quote(prediction.name), resolution.resolver.kind
    if resolution.epoch != 1:
        yield f"settles the epoch {resolution.epoch} of {name}: a prediction has one"
    if resolution.status == "not-determinable":
        yield f"says that nothing can settle {name}, which no prediction is about"
    elif resolution.status in ("no-record", "error") and (prediction.resolver is None or kind in _BY_HAND):
        yield f"says {resolution.status} of {name}, which only its resolver could say"
    if resolution.status != "fact":
        return
    if kind not in _BY_HAND and prediction.resolver is None:
        yield f"settles {name} by {quote(kind)}, and it names no resolver"
    if kind == "imported" and prediction.imported is None:
        yield f"settles {name} by an import, and it was not imported"
    if not resolution.evidence:
        yield f"says what came about of {name} and keeps nothing that was seen"


def unseen(prediction: Prediction, resolution: Resolution, evidence: Sequence[bytes]) -> str | None:
    """Why what somebody observed is not what the book says that they observed, or None."""
    if resolution.resolver.kind != "observed" or resolution.status != "fact" or not evidence:
        return None
    seen = evidence[0].decode("utf-8", "replace")
    return (
        None
        if read_fact(prediction.outcome, seen) == resolution.value
        else (f"the fact of {quote(prediction.name)} is not what was observed: {quote(seen)}")
    )
