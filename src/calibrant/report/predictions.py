"""Pages of a book of predictions: what became of them, what their confidences were worth, what nobody observed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote as shell
from typing import Any, Final

from calibrant.errors import quote
from calibrant.predictions.book import Predicted
from calibrant.predictions.forecasts import Import
from calibrant.predictions.predicting import fact_text, facts_of, predicted_text, sentence
from calibrant.predictions.resolving import Resolving
from calibrant.records.figures import percent
from calibrant.report.checks import verification_json, verification_view
from calibrant.report.view import Commands, Facts, Points, Section, Table, View
from calibrant.runs.owed import Owed
from calibrant.runs.verify import Verification
from calibrant.stats.forecasts import ANECDOTAL_BELOW, SURE
from calibrant.values import format_instant

COLUMNS: Final = ("sealed", "by", "prediction", "predicted", "sure", "observed", "became", "id")
NUMBERS: Final = frozenset({4})

_MOST_LISTED: Final = 20


@dataclass(frozen=True, slots=True)
class Tally:
    """How many predictions became what. ``brier`` is the mean over the ``scored``: settled, with a confidence.

    ``units`` counts the names among the scored: what one test predicts again and again is one question. ``unstated``
    were sealed without a confidence.
    """

    made: int = 0
    right: int = 0
    wrong: int = 0
    too_wide: int = 0
    partly: int = 0
    unsettled: int = 0
    open: int = 0
    sure_wrong: int = 0
    scored: int = 0
    units: int = 0
    unstated: int = 0
    brier: float | None = None
    confidence: float | None = None
    share: float | None = None

    @property
    def settled(self) -> int:
        """How many have a fact."""
        return self.right + self.wrong + self.too_wide + self.partly

    @property
    def anecdotal(self) -> bool:
        """Whether too few independent ones have a score to read anything but anecdotes out of the figures."""
        return self.units < ANECDOTAL_BELOW


def tally_of(predictions: Iterable[Predicted]) -> Tally:
    """Count what became of predictions."""
    codes: dict[str, int] = {}
    made = sure_wrong = unstated = 0
    scores: list[tuple[float, float, float]] = []
    names: set[str] = set()
    for one in predictions:
        made += 1
        code = one.code
        codes[code] = codes.get(code, 0) + 1
        confidence, share, brier = one.expectation.confidence, one.share, one.brier
        unstated += confidence is None
        if confidence is not None and share is not None and brier is not None:
            scores.append((brier, confidence, share))
            names.add(one.prediction.name)
            sure_wrong += _sure_and_wrong(confidence, share)
    known = ("right", "wrong", "too-wide", "partly", "pending")
    means = [sum(column) / len(scores) for column in zip(*scores, strict=True)] or [None, None, None]
    return Tally(
        made=made,
        right=codes.get("right", 0),
        wrong=codes.get("wrong", 0),
        too_wide=codes.get("too-wide", 0),
        partly=codes.get("partly", 0),
        unsettled=sum(count for code, count in codes.items() if code not in known),
        open=codes.get("pending", 0),
        sure_wrong=sure_wrong,
        scored=len(scores),
        units=len(names),
        unstated=unstated,
        brier=means[0],
        confidence=means[1],
        share=means[2],
    )


def _sure_and_wrong(confidence: float, share: float) -> bool:
    """Whether it was sure of what did not come about; that an event is improbable is sure of its opposite."""
    return (confidence >= SURE and share == 0) or (confidence <= 1 - SURE and share == 1)


def counts_text(tally: Tally) -> str:
    """``31 right, 8 wrong (2 of them sure), 3 not observed``: only what there is."""
    sure = f" ({tally.sure_wrong:,} of them sure)" if tally.sure_wrong else ""
    parts = (
        (tally.right, "right", ""),
        (tally.wrong, "wrong", sure),
        (tally.too_wide, "too wide", ""),
        (tally.partly, "partly right", ""),
        (tally.unsettled, "without a fact", ""),
        (tally.open, "not observed", ""),
    )
    return ", ".join(f"{count:,} {what}{more}" for count, what, more in parts if count) or "none"


def score_text(tally: Tally) -> str:
    """The Brier score and the calibration in the large, with how many they stand on; ``anecdotal`` where few."""
    if tally.brier is None or tally.confidence is None or tally.share is None:
        return "no Brier score: none was observed that stated a confidence"
    few = f"; anecdotal: {tally.units} independent, fewer than {ANECDOTAL_BELOW}" if tally.anecdotal else ""
    sure = f"on average {percent(tally.confidence)} sure and {percent(tally.share)} right"
    return f"Brier {tally.brier:.3f} over {tally.scored:,}, {sure}{few}"


def show_view(
    predictions: Sequence[Predicted],
    book: Path,
    figures: tuple[Section, ...],
    *,
    reference: str = "",
    damage: str | None = None,
) -> View:
    """The page of predictions; ``figures`` are the sections on their confidences, ``reference`` options that say
    which predictions these are, ``damage`` what is not as it was recorded in their book."""
    tally = tally_of(predictions)
    sections: list[Section] = [Facts("Predictions", tuple(_facts(tally, predictions, book))), *figures]
    waiting = [one for one in predictions if one.is_open]
    if waiting:
        sections.append(_waiting(waiting))
    contradictions = tuple(_contradictions(predictions))
    if contradictions:
        sections.append(Points("Said otherwise later; what was said first counts", contradictions))
    sections.append(Commands("Next", tuple(_next(waiting, reference))))
    what = "1 prediction" if tally.made == 1 else f"Of {tally.made:,} predictions"
    said = f"{what}: {counts_text(tally)}." if tally.made else "Nothing was predicted yet."
    warnings = tuple(_warnings(tally, predictions))
    if damage is not None:
        said, warnings = damage_text(damage), (said, *warnings)
    return View(said, warnings, tuple(sections))


def damage_text(damage: str) -> str:
    """That a book is damaged, in a sentence."""
    return f"This book is damaged: {damage}. What it says proves nothing; `calibrant predictions verify` names it all."


def _facts(tally: Tally, predictions: Sequence[Predicted], book: Path) -> Iterator[tuple[str, str]]:
    yield "in a word", score_text(tally)
    if tally.settled:
        yield "right", f"{percent(tally.right / tally.settled)} of {tally.settled:,} that were observed"
    if tally.settled and tally.open:
        yield "right, were all others wrong", percent(tally.right / (tally.settled + tally.open))
    if tally.unstated:
        yield "without a confidence", f"{tally.unstated:,}, which are never scored"
    names = list(dict.fromkeys(one.prediction.by or "nobody named" for one in predictions))
    if names:
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        yield "by", ", ".join(names[:5]) + more
    yield "book", str(book)


def _warnings(tally: Tally, predictions: Sequence[Predicted]) -> Iterator[str]:
    imported = [one.prediction.imported for one in predictions if one.prediction.imported is not None]
    if imported:
        late = sum(found.settled for found in imported)
        yield (
            f"{len(imported):,} of these forecasts were imported: they were sealed on import, which proves nothing of "
            f"when they were made. {late:,} of them were sealed after their resolution."
        )
    left = sum(one.is_open and one.resolution is not None for one in predictions)
    if left:
        yield (
            f"Not observed although their block has ended, or the world was asked: {left:,}. A bad outcome that nobody "
            "observes looks like this."
        )
    if tally.made and tally.anecdotal:
        few = f"fewer than {ANECDOTAL_BELOW} independent predictions are scored ({tally.units:,})"
        yield f"The figures are anecdotal: {few}."


def _waiting(waiting: Sequence[Predicted]) -> Table:
    rows = tuple(
        (one.prediction.name, one.prediction.by or "–", _when(one), _why(one)) for one in waiting[:_MOST_LISTED]
    )
    more = f", the first {_MOST_LISTED} of {len(waiting):,}" if len(waiting) > _MOST_LISTED else ""
    return Table(f"Not observed{more}", ("prediction", "by", "sealed", "why"), rows)


def _when(one: Predicted) -> str:
    return f"{one.prediction.at:%Y-%m-%d %H:%M}"


def _why(one: Predicted) -> str:
    if one.resolution is not None and one.resolution.reason:
        return one.resolution.reason
    due = one.prediction.due
    return f"due {format_instant(due)[:16]}Z" if due is not None else "nobody said yet what came about"


def _contradictions(predictions: Iterable[Predicted]) -> Iterator[str]:
    for one in predictions:
        for later in one.contradictions:
            outcome = one.prediction.outcome
            first, second = fact_text(outcome, one.fact), fact_text(outcome, later.value)
            yield f"{one.prediction.name}: {first}; on {later.at:%Y-%m-%d}, by {later.resolver.kind}: {second}"


def _next(waiting: Sequence[Predicted], reference: str) -> Iterator[tuple[str, str]]:
    where = reference.replace(" --imported", "")
    by_itself = sum(one.prediction.resolver is not None for one in waiting)
    if by_itself:
        yield (
            f"calibrant predictions resolve{where}",
            f"ask the world about the {by_itself:,} that can settle themselves",
        )
    by_hand = next((one for one in waiting if one.prediction.resolver is None), None)
    if by_hand is not None:
        yield f"calibrant predictions observe {shell(by_hand.prediction.id)} VALUE{where}", "say what came about"
    yield f"calibrant predictions list{reference}", "every prediction with what became of it"
    yield f"calibrant predictions verify{reference}", "check that each was sealed before it was settled"


def listed_row(one: Predicted) -> tuple[str, ...]:
    """The cells of a prediction, under `COLUMNS`."""
    made, confidence = one.prediction, one.expectation.confidence
    sure = "–" if confidence is None else percent(confidence)
    observed = "–" if one.fact is None else fact_text(made.outcome, one.fact)
    became = f"{one.code}, contradicted" if one.contradictions else one.code
    return (_when(one), made.by or "–", made.name, predicted_text(one), sure, observed, became, made.id)


def prediction_json(one: Predicted) -> dict[str, Any]:
    """A prediction with what became of it, as plain JSON values."""
    return {
        "prediction": one.prediction.to_dict(),
        "expectation": one.expectation.to_dict(),
        "resolution": None if one.resolution is None else one.resolution.to_dict(),
        "contradictions": [later.to_dict() for later in one.contradictions],
        "code": one.code,
        "brier": one.brier,
    }


def tally_json(tally: Tally) -> dict[str, Any]:
    """Counts as plain JSON values."""
    return {
        "made": tally.made,
        "right": tally.right,
        "wrong": tally.wrong,
        "too_wide": tally.too_wide,
        "partly": tally.partly,
        "unsettled": tally.unsettled,
        "open": tally.open,
        "sure_and_wrong": tally.sure_wrong,
        "scored": tally.scored,
        "independent": tally.units,
        "without_confidence": tally.unstated,
        "brier": tally.brier,
        "mean_confidence": tally.confidence,
        "mean_right": tally.share,
        "anecdotal": tally.anecdotal,
        "anecdotal_below": ANECDOTAL_BELOW,
    }


def observed_view(one: Predicted, *, refused: str | None = None, reference: str = "") -> View:
    """The page of a prediction that was just observed; ``refused`` is what was said now, where it had been settled
    otherwise before. ``reference`` names its book."""
    warnings: tuple[str, ...] = ()
    if refused is not None:
        first = fact_text(one.prediction.outcome, one.fact)
        warnings = (f"{quote(refused)} was observed after {quote(first)}: the first counts, and the book holds both.",)
    following = ((f"calibrant predictions show{reference}", "what the predictions were worth so far"),)
    return View(sentence(one), warnings, (Facts("", facts_of(one)), Commands("Next", following)))


def import_view(
    done: Import, files: Sequence[str], passed_over: Mapping[str, int], book: Path, reference: str = " --imported"
) -> View:
    """The page of an import; ``reference`` are the options that name the book."""
    rows = [
        ("sealed", f"{done.sealed:,} forecasts"),
        ("in the book already", f"{done.known:,}"),
        ("settled", f"{done.settled:,}"),
        ("still open", f"{done.open:,}"),
        *((f"passed over, {why}", f"{count:,}") for why, count in passed_over.items()),
        ("book", str(book)),
    ]
    sections: list[Section] = [Facts("", tuple(rows))]
    for title, points in (
        ("Came about otherwise than the book says", done.contradictions),
        ("With another probability than was sealed", done.changed),
    ):
        if points:
            rest = [f"and {len(points) - _MOST_LISTED} more"] if len(points) > _MOST_LISTED else []
            sections.append(Points(title, (*points[:_MOST_LISTED], *rest)))
    where = reference.replace(" --imported", "")
    following = [(f"calibrant predictions show{reference}", "what these forecasts were worth")]
    if done.open:
        following.append((f"calibrant predictions import FILE{where}", "a newer file settles those that are open"))
    sections.append(Commands("Next", tuple(following)))
    what = f"{done.sealed:,} forecasts of {', '.join(files)} were sealed, and {done.settled:,} settled."
    caution = "They are sealed from now on: the book proves nothing of when they were made."
    warnings = [caution] if done.sealed else []
    if done.disagrees:
        warnings.append(_DISAGREES)
    return View(what, tuple(warnings), tuple(sections))


_DISAGREES: Final = (
    "The book says otherwise of some of them, and what it says counts. A forecast is known by who made it and its id: "
    "of another forecaster, import it with --by NAME."
)


def import_json(done: Import, passed_over: Mapping[str, int], book: Path) -> dict[str, Any]:
    """An import as plain JSON values."""
    return {
        "book": str(book),
        "sealed": done.sealed,
        "known": done.known,
        "settled": done.settled,
        "open": done.open,
        "passed_over": dict(passed_over),
        "contradictions": list(done.contradictions),
        "changed": list(done.changed),
    }


def resolving_view(done: Resolving, reference: str = "") -> View:
    """The page of what came of asking the world; ``reference`` are the options that name the book."""
    asked = len(done.asked)
    rows = tuple((one.prediction.name, one.code, _said(one)) for one in done.asked[:_MOST_LISTED])
    sections: list[Section] = [Table("", ("prediction", "became", "what"), rows)] if rows else []
    following = []
    if done.settled < asked:
        following.append((f"calibrant predictions resolve{reference}", "ask again about those that are not settled"))
    if done.by_hand:
        following.append(
            (f"calibrant predictions observe NAME VALUE{reference}", f"{done.by_hand:,} wait for somebody to say")
        )
    following.append((f"calibrant predictions show{reference}", "what the predictions were worth so far"))
    what = f"{asked:,} open predictions can settle themselves; {done.settled:,} did." if asked else _NONE
    return View(what, (), (*sections, Commands("Next", tuple(following))))


def watched_view(settled: Sequence[Predicted], owed: Sequence[Owed], reference: str = "") -> View:
    """The page at the end of a watch: what the predictions became that were ``settled`` meanwhile, and what is
    ``owed`` still; ``reference`` are the options that name their book."""
    count = "1 prediction was" if len(settled) == 1 else f"{len(settled):,} predictions were"
    became = f": {counts_text(tally_of(settled))}" if settled else ""
    by_itself = sum(one.automatic for one in owed)
    rest = f"{len(owed):,} {'waits' if len(owed) == 1 else 'wait'}" if owed else "none waits"
    said = f"{count} settled meanwhile{became}; {rest} still, {by_itself:,} of them for what settles by itself."
    if not owed:
        said = f"{count} settled meanwhile{became}; none waits still."
    rows = tuple((one.prediction.name, one.code, _said(one)) for one in settled[:_MOST_LISTED])
    sections: list[Section] = [Table("", ("prediction", "became", "what"), rows)] if rows else []
    waiting = tuple((one.challenge, one.reason or one.awaits) for one in owed[:_MOST_LISTED])
    if waiting:
        sections.append(Table("Waits still", ("prediction", "for"), waiting))
    following = [(f"calibrant predictions show{reference}", "what the predictions were worth so far")]
    if by_itself:
        following.append((f"calibrant predictions resolve{reference} --watch", "goes on waiting"))
    if by_itself < len(owed):
        following.append((f"calibrant predictions observe NAME VALUE{reference}", "say what came about"))
    return View(said, (), (*sections, Commands("Next", tuple(following))))


_NONE: Final = "No open prediction names a resolver that it could settle itself through."


def _said(one: Predicted) -> str:
    return _why(one) if one.is_open else fact_text(one.prediction.outcome, one.fact)


def book_verification_view(found: Verification, reference: str = "") -> View:
    """The page of a verification of a book; ``reference`` are the options that name it."""
    page = verification_view(found)
    failed = [step.name for step in found.steps.values() if step.failures]
    if failed:
        said = f"The book {quote(str(found.path))} is not what it claims: {', '.join(failed)} failed."
    else:
        said = f"The book {quote(str(found.path))} is what it claims: each prediction was sealed before it was settled."
    following = [(f"calibrant predictions show{reference}", "what the predictions were worth")]
    if not failed and found.ledger_root:
        keep = f"calibrant predictions verify{reference} --root {found.ledger_root}"
        following.append((keep, "later: shows that nothing was taken off the end since"))
    return replace(page, sentence=said, sections=(*page.sections, Commands("Next", tuple(following))))


def book_verification_json(found: Verification) -> dict[str, Any]:
    """A verification of a book as plain JSON values."""
    whole = verification_json(found)
    return {"book": str(found.path), **{k: v for k, v in whole.items() if k not in ("run", "results_sha256")}}


def summary_lines(predictions: Sequence[Predicted], books: Sequence[Path], *, short: bool) -> list[str]:
    """The summary at the end of a session of tests; one line where it is to be ``short``."""
    tally = tally_of(predictions)
    head = f"{tally.made:,} {'prediction' if tally.made == 1 else 'predictions'}: {counts_text(tally)}"
    if short:
        return [f"{head}; {score_text(tally)}"]
    missed = [one for one in predictions if one.code in ("wrong", "too-wide")][:_MOST_LISTED]
    where = [f"book: {path}" for path in books]
    return [head, score_text(tally), *map(sentence, missed), *where, "next: calibrant predictions show"]
