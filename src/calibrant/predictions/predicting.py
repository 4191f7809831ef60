"""Predicting in a program: a measurement, a choice, an event or a date is predicted, sealed, and observed later."""

from __future__ import annotations

import html
import math
import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Self, TypeAlias, TypedDict, Unpack

from calibrant.errors import CalibrantError, CheckFailed, InputError, Problem, Where, nearest, one_of, quote
from calibrant.grounding.confidence import read_confidence
from calibrant.grounding.folding import fold
from calibrant.predictions.book import PREDICTIONS, Book, Predicted, books_folder, left_open, resolved, seal, world_of
from calibrant.records.board import Source
from calibrant.records.figures import percent
from calibrant.records.grounding import Expectation, Resolution, ResolverIdentity
from calibrant.records.outcome import Categorical, Date, Event, Interval, Number, Outcome
from calibrant.records.prediction import Prediction
from calibrant.units import Unread, known_unit, read_date, read_number, read_stated_quantity
from calibrant.values import Undefined, parse_instant

Amount: TypeAlias = int | float | Decimal | str
"""A number, or text such as ``17 ms`` with a unit that converts."""


class What(TypedDict, total=False):
    """What `predict` takes beside a name. Exactly one of ``value``, ``interval``, ``option``, ``event``, ``date``."""

    value: Amount
    tolerance: Amount
    interval: tuple[Amount, Amount]
    max_width: Amount
    unit: str
    option: str
    options: Sequence[str]
    event: bool
    date: str | date
    confidence: float | str | None
    question: str | None
    by: str | None
    due: datetime | str | None
    resolver: dict[str, Any] | None
    runs: str | os.PathLike[str] | None
    strict: bool


@dataclass(frozen=True, slots=True)
class PredictionResult:
    """What became of a prediction: ``right``, ``wrong``, ``too-wide`` or ``partly``; what its confidence is worth.

    ``brier`` is the squared distance of the stated confidence from what came about, 0 at best and 1 at worst.
    ``interval_score`` is that of an interval, in the prediction's unit: its width, and 2/(1 - confidence) times the
    distance by which it missed (Gneiting and Raftery 2007, section 6.2); smaller is better.
    """

    code: str
    predicted: str
    observed: str
    confidence: float | None
    brier: float | Undefined
    interval_score: float | Undefined

    @property
    def right(self) -> bool:
        """Whether it was right."""
        return self.code == "right"


class OpenPrediction:
    """A prediction that is sealed and waits to be observed. `predict` makes it. ::

        with calibrant.predict("p95 latency", unit="ms", interval=(10, 20), confidence=0.8) as p:
            p.observe(measure())
        p.result.right

    A block that ends without `observe`, or raises, leaves the prediction open, with the reason in the book. Inside
    coroutines ``async with`` does the same.
    """

    def __init__(self, book: Book, one: Predicted, *, strict: bool) -> None:
        """Use `predict`."""
        self._book, self._one, self._strict = book, one, strict

    @property
    def prediction(self) -> Prediction:
        """What was sealed, but for what is predicted."""
        return self._one.prediction

    @property
    def expectation(self) -> Expectation:
        """What is predicted."""
        return self._one.expectation

    @property
    def book(self) -> Path:
        """The file that it is sealed in."""
        return self._book.path

    @property
    def result(self) -> PredictionResult | None:
        """What became of it; None while it is open."""
        return None if self._one.fact is None else result_of(self._one)

    def observe(self, value: object) -> PredictionResult:
        """Say what came about; in the book when this returns.

        ``value`` is a number or text such as ``17 ms`` (converted to the prediction's unit), a duration, one of the
        options, True or False, or a date, as what was predicted asks. The first observation counts.

        Raises:
            InputError: for what is no such value, and for an observation that says otherwise than an earlier one:
                the book then holds both, and the first counts.
            CheckFailed: for a prediction that is not right, where it is ``strict``; the book holds it all the same.
            RunLocked, MachineError: where the book cannot be written.
        """
        __tracebackhide__ = True  # in pytest, what fails or is refused shows the line of the test
        try:
            return self._observed(value)
        except (InputError, CheckFailed) as refused:
            raise refused.with_traceback(None) from None

    def _observed(self, value: object) -> PredictionResult:
        raw = plain_fact(value)
        identity = ResolverIdentity(kind="observed", version="1", settings={"in": self.prediction.origin})
        seen = (str(raw).encode(),)
        resolution = resolved(self.prediction, raw, identity, evidence=seen)
        with self._book.writing() as book:
            self._one = book.settle(resolution, seen)
        if self._one.fact != resolution.value:
            self._refuse_other(resolution)
        result = result_of(self._one)
        if self._strict and not result.right:
            raise CheckFailed(sentence(self._one))
        return result

    def _refuse_other(self, resolution: Resolution) -> None:
        unit = self.prediction.outcome
        first, second = fact_text(unit, self._one.fact), fact_text(unit, resolution.value)
        found = f"{quote(second)} observed for {quote(self.prediction.name)}, after {quote(first)}"
        fix = "The first one counts, and the book holds both. Make a new prediction for a new measurement."
        raise InputError(Problem(found, "one observation", fix))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._one.is_open:
            return
        ended = "without an observation" if kind is None else f"with {kind.__name__}"
        try:
            identity = ResolverIdentity(kind="observed", version="1", settings={"in": self.prediction.origin})
            self._one = self._book.settle(left_open(self.prediction, f"its block ended {ended}", identity))
        except CalibrantError as failed:
            if error is None:
                raise
            error.add_note(f"The prediction {quote(self.prediction.name)} stays open; why was not noted: {failed}")

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    def __repr__(self) -> str:
        return f"<{sentence(self._one)}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rows = "".join(
            f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>" for name, text in facts_of(self._one)
        )
        return f"<table>{rows}</table>"


@dataclass(frozen=True, slots=True)
class Predictor:
    """`predict` for one place: a program, or one test. Called as `predict` is; ``prefix`` stands before each name."""

    origin: Literal["code", "test"] = "code"
    folder: Path | None = None
    session: str | None = None
    prefix: str = ""
    used: list[Path] | None = None
    """Where the books that were written to are noted."""

    def __call__(self, name: str, **what: Unpack[What]) -> OpenPrediction:
        """Seal a prediction; see `predict`."""
        __tracebackhide__ = True  # in pytest, what is refused shows the line of the test
        try:
            return self._sealed(name, what)
        except (InputError, TypeError) as refused:
            raise refused.with_traceback(None) from None

    def _sealed(self, name: str, what: What) -> OpenPrediction:
        _refuse_unknown(what)
        outcome, expectation = read_prediction(what)
        sealed = seal(expectation)
        folder = what.get("runs")
        book = Book((books_folder(self.folder if folder is None else folder) / PREDICTIONS).absolute())
        now = datetime.now(UTC)
        prediction = Prediction.from_dict(
            {
                "schema": Prediction.schema_name,
                "id": f"{now:%Y%m%d}-{secrets.token_hex(6)}",
                "name": f"{self.prefix}{name}",
                "question": what.get("question"),
                "outcome": outcome.to_dict(),
                "sealed_sha256": sealed.digest(),
                "by": what.get("by"),
                "origin": self.origin,
                "session": self.session,
                "resolver": _source(what.get("resolver"), book),
                "due": _due(what.get("due"), now),
                "at": now,
            }
        )
        book.seal([(prediction, sealed)])
        if self.used is not None and book.path not in self.used:
            self.used.append(book.path)
        return OpenPrediction(book, Predicted(prediction, expectation), strict=what.get("strict", False))


def predict(name: str, **what: Unpack[What]) -> OpenPrediction:
    """Seal a prediction of what is looked at next. It is in the book, on the disk, when this returns.

    Exactly one of these says what is predicted:

    - ``interval=(10, 20)``: a number in ``unit`` that lies between; refused where wider than ``max_width``;
    - ``value=17``: a number in ``unit``, right within ``tolerance`` (0 unless given);
    - ``option="fast"``: one of ``options``;
    - ``event=True``: that something happens (``False``: that it does not);
    - ``date="2026-03-01"``: a day, right within ``tolerance`` days; of a `datetime`, the day in its own zone.

    ``confidence`` is how sure it is, from 0 to 1 or ``"80%"``; what is sealed without one is never scored.
    ``by`` says who predicts. ``question`` says more of
    what it is about than the name. ``due`` (an instant with a zone) is when it can be known, ``resolver`` what
    `calibrant predictions resolve` asks then, as a board writes it: ``{"kind": "file", ...}``. ``runs`` is the folder
    of the book: by default the runs of the project around the current folder, else ``runs``. With ``strict``, an
    observation that proves it not right raises `CheckFailed`.

    Raises:
        InputError: for a prediction that says nothing, two things, or something that cannot be.
        TypeError: for an argument that there is not.
        RunLocked: where another process writes to the book for longer than ten seconds.
        CheckFailed, MachineError: for a book that is damaged, or cannot be written.
    """
    __tracebackhide__ = True
    return Predictor()(name, **what)


_KINDS: Final = ("value", "interval", "option", "event", "date")


def _refuse_unknown(what: What) -> None:
    unknown = next((name for name in what if name not in What.__annotations__), None)
    if unknown is not None:
        meant = nearest(unknown, What.__annotations__)
        raise TypeError(f"predict() got an unexpected keyword argument {unknown!r}.{f' {meant}' if meant else ''}")


def read_prediction(what: What) -> tuple[Outcome, Expectation]:
    """The outcome space and the expectation that ``what`` describes.

    Raises:
        InputError: as `predict` does.
    """
    given = [name for name in _KINDS if what.get(name) is not None]
    if len(given) != 1:
        found = f"{' and '.join(given)}" if given else "a prediction of nothing"
        raise InputError(Problem(found, "exactly one of value, interval, option, event and date"))
    (kind,) = given
    for name, needs in _GOES_WITH.items():
        if what.get(name) is not None and kind not in needs:
            raise _wrong(name, f"`{name}` beside `{kind}`", f"`{name}` beside {' or '.join(needs)} only")
    outcome, commits = _READ[kind](what)
    confidence, stated = _confidence(what.get("confidence"))
    source = None if confidence is None else "stated"
    fields = {"confidence": confidence, "confidence_stated": stated, "confidence_source": source}
    return outcome, Expectation(stance="assert", **commits, **fields)  # type: ignore[arg-type]


_GOES_WITH: Final = {
    "tolerance": ("value", "date"),
    "max_width": ("interval",),
    "unit": ("value", "interval"),
    "options": ("option",),
}


def _wrong(field: str, found: str, expected: str, fix: str | None = None) -> InputError:
    return InputError(Problem(found, expected, fix, Where(field=field)))


def _amount(what: What, field: str, written: object) -> Decimal:
    unit = what.get("unit") or "count"
    raw = plain_fact(written)
    if isinstance(raw, bool):
        raise _wrong(field, repr(raw), "a number", "Write `event=True` for something that happens or does not.")
    read = read_number(repr(raw)) if isinstance(raw, int | float) else read_stated_quantity(str(raw), unit)
    if read is None or isinstance(read, Unread):
        why = f" ({read.reason})" if isinstance(read, Unread) else ""
        raise _wrong(field, f"{quote(raw)}{why}", f"a number{_of_unit(unit)}")
    return read


def _of_unit(unit: str) -> str:
    return "" if unit == "count" else f" in {unit}" + (", or a unit that converts to it" if known_unit(unit) else "")


def _value(what: What) -> tuple[Outcome, dict[str, Any]]:
    value = _amount(what, "value", what["value"])
    tolerance = _not_negative("tolerance", _amount(what, "tolerance", what.get("tolerance", 0)))
    outcome = Number(kind="number", unit=what.get("unit") or "count", tolerance=tolerance)
    return outcome, {"value": format(value, "f")}


def _interval(what: What) -> tuple[Outcome, dict[str, Any]]:
    ends: object = what["interval"]
    if not isinstance(ends, tuple | list) or len(ends) != 2:
        raise _wrong("interval", quote(ends), "its two ends, such as (10, 20)")
    low, high = (_amount(what, "interval", end) for end in ends)
    if low > high:
        raise _wrong("interval", f"from {low} down to {high}", "the lower end first", "Swap the ends.")
    most = what.get("max_width")
    width = high - low if most is None else _not_negative("max_width", _amount(what, "max_width", most))
    if high - low > width:
        found = f"from {low} to {high}, which is wider than the `max_width` {width}"
        raise _wrong("interval", found, "an interval that could be right", "Narrow it, or leave `max_width` out.")
    return Interval(kind="interval", unit=what.get("unit") or "count", max_width=width), {"interval": (low, high)}


def _not_negative(field: str, value: Decimal) -> Decimal:
    if value < 0:
        raise _wrong(field, str(value), "zero or more")
    return value


def _option(what: What) -> tuple[Outcome, dict[str, Any]]:
    option, written = what["option"], what.get("options") or ()
    options = () if isinstance(written, str) else tuple(written)
    if len({fold(str(name)) for name in options}) < max(2, len(options)):
        raise _wrong("options", quote(written), "at least two names, each once", 'Write options=["a", "b"].')
    known = {fold(str(name)): str(name) for name in options}
    if fold(str(option)) not in known:
        raise _wrong("option", quote(option), one_of(known.values()), nearest(str(option), known.values()))
    return Categorical(kind="categorical", values=tuple(known.values())), {"value": known[fold(str(option))]}


def _event(what: What) -> tuple[Outcome, dict[str, Any]]:
    happens = what["event"]
    if not isinstance(happens, bool):
        fix = "Say how sure it is with `confidence`."
        raise _wrong("event", quote(happens), "True for that it happens, False for that it does not", fix)
    return Event(kind="event"), {"value": happens}


def _date(what: What) -> tuple[Outcome, dict[str, Any]]:
    day = read_date(str(plain_fact(what["date"])))
    if isinstance(day, Unread) or len(str(day)) < len("2026-03-01"):
        raise _wrong("date", quote(str(what["date"])), "a day such as 2026-03-01")
    days = _not_negative("tolerance", _amount(what, "tolerance", what.get("tolerance", 0)))
    if days != int(days):
        raise _wrong("tolerance", str(days), "a whole number of days")
    return Date(kind="date", tolerance_days=int(days)), {"value": str(day)}


_READ: Final = {"value": _value, "interval": _interval, "option": _option, "event": _event, "date": _date}


def _confidence(stated: object) -> tuple[float | None, str | None]:
    if stated is None:
        return None, None
    raw = plain_fact(stated)
    confidence, written = read_confidence(raw, "probability", {})
    if confidence is not None:
        return confidence, written
    number = read_number(repr(raw)) if isinstance(raw, int | float) and not isinstance(raw, bool) else None
    if number is not None and 1 < number <= 100:
        fix = f"Is it {number}%? Write {format((number / 100).normalize(), 'f')}."
        raise _wrong("confidence", quote(raw), "a number from 0 to 1", fix)
    raise _wrong("confidence", quote(raw), 'a number from 0 to 1, or a text such as "80%"')


def _due(due: object, now: datetime) -> datetime | None:
    if due is None:
        return None
    fix = "Add Z for UTC, or an offset such as +02:00."
    if isinstance(due, datetime):
        if due.utcoffset() is None:
            raise _wrong("due", f"{due.isoformat()}, a time without a zone", "an instant with a zone", fix)
        moment = due.astimezone(UTC)
    elif isinstance(due, str):
        try:
            moment = parse_instant(due)
        except InputError as refused:
            problem = refused.problems[0]
            raise _wrong("due", problem.found, problem.expected, problem.fix) from None
    else:
        raise _wrong("due", quote(due), "an instant such as 2026-03-01T09:30:00Z")
    if moment <= now:
        raise _wrong("due", f"{moment:%Y-%m-%dT%H:%M:%SZ}, which is past", "a time to come")
    return moment


_SAY_NOTHING: Final = frozenset({"attested", "future", "other-lane", "withheld"})
"""Kinds of resolver that say why there is no fact."""


def _source(resolver: object, book: Book) -> Source | None:
    if resolver is None:
        return None
    if not isinstance(resolver, dict):
        raise _wrong(
            "resolver", quote(resolver), 'a map such as {"kind": "file", "file": "result.txt", "read": "number"}'
        )
    source = Source.from_dict(resolver, where=Where(field="resolver"))
    if source.kind in _SAY_NOTHING:
        raise _wrong("resolver.kind", quote(source.kind), "a kind that can say what came about")
    try:
        world_of(book).resolver(source)  # refuses what could not be asked later
    except InputError as refused:
        raise InputError([_without_board(problem) for problem in refused.problems]) from None
    return source


def _without_board(problem: Problem) -> Problem:
    """What a resolver refuses, said of a prediction: it stands in no board."""

    def said(text: str) -> str:
        return text.replace("the board's folder", "the project's folder").replace(
            "if a board may", "if predictions may"
        )

    return replace(
        problem, found=said(problem.found), expected=said(problem.expected), fix=problem.fix and said(problem.fix)
    )


def plain_fact(value: object) -> Any:
    """``value`` as plain Python: numbers of other libraries as numbers, days as text, durations in seconds."""
    if not isinstance(value, bool | int | float | str) and (item := getattr(value, "item", None)) is not None:
        with suppress(TypeError, ValueError):
            value = item()  # a number of numpy and its like
    if isinstance(value, bool | str):
        return value
    if isinstance(value, timedelta):
        return f"{format(Decimal(value // timedelta(microseconds=1)) / 1_000_000, 'f')} s"
    if isinstance(value, datetime):
        return value.date().isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return format(value, "f") if value.is_finite() else float(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real | Fraction):
        return float(value)
    return f"a {type(value).__name__}"


# --- in words -------------------------------------------------------------------------------------------------------


def predicted_text(one: Predicted) -> str:
    """What is predicted, in a few words: ``10 to 20 ms``, ``17 ms ± 2``, ``it happens``."""
    outcome, said = one.prediction.outcome, one.expectation
    if said.interval is not None:
        low, high = said.interval
        return f"{_plain(low)} to {_plain(high)}{_unit(outcome)}"
    if isinstance(outcome, Event):
        return "it happens" if said.value is True else "it does not happen"
    text = fact_text(outcome, said.value if said.value is not None else said.option or said.text)
    if isinstance(outcome, Number) and outcome.tolerance:
        return f"{said.value} ± {_plain(outcome.tolerance)}{_unit(outcome)}"
    if isinstance(outcome, Date) and outcome.tolerance_days:
        return f"{text} ± {outcome.tolerance_days} days"
    return text


def fact_text(outcome: Outcome, fact: object) -> str:
    """A fact in a few words, with its unit."""
    if fact is None:
        return "nothing yet"
    if isinstance(outcome, Event):
        return {"1": "it happened", "0": "it did not happen"}.get(str(fact), f"{fact} of it happened")
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    return f"{', '.join(map(str, fact)) if isinstance(fact, tuple) else fact}{_unit(outcome)}"


def _plain(number: Decimal) -> str:
    return format(number, "f")


def _unit(outcome: Outcome) -> str:
    unit = getattr(outcome, "unit", "count")
    return "" if unit == "count" else f" {unit}"


def sentence(one: Predicted) -> str:
    """A prediction and what became of it, in one sentence."""
    said = one.expectation.confidence
    sure = f" ({percent(said)} sure)" if said is not None else ""
    text = f"The prediction {quote(one.prediction.name)}: {predicted_text(one)}{sure}"
    if one.fact is None:
        why = f" ({one.resolution.reason})" if one.resolution is not None and one.resolution.reason else ""
        return f"{text}; open{why}."
    return f"{text}; observed: {fact_text(one.prediction.outcome, one.fact)}; {one.code}."


def facts_of(one: Predicted) -> tuple[tuple[str, str], ...]:
    """A prediction as names with what there is to say of each."""
    made, said = one.prediction, one.expectation
    rows = [("prediction", made.name), ("predicted", predicted_text(one))]
    rows.append(("confidence", "none stated" if said.confidence is None else percent(said.confidence)))
    rows.append(("by", made.by or "nobody named"))
    rows.append(("observed", fact_text(made.outcome, one.fact)))
    rows.append(("became", one.code))
    return (*rows, ("id", made.id), ("sealed", f"{made.at:%Y-%m-%d %H:%M:%S} UTC, {made.sealed_sha256[:12]}"))


def result_of(one: Predicted) -> PredictionResult:
    """The result of a prediction that is settled."""
    confidence, brier = one.expectation.confidence, one.brier
    return PredictionResult(
        code=one.code,
        predicted=predicted_text(one),
        observed=fact_text(one.prediction.outcome, one.fact),
        confidence=confidence,
        brier=Undefined("no confidence was stated") if brier is None else brier,
        interval_score=_interval_score(one),
    )


def _interval_score(one: Predicted) -> float | Undefined:
    if one.expectation.interval is None:
        return Undefined("it is no interval")
    confidence = one.expectation.confidence
    if confidence is None or confidence == 1:
        return Undefined("an interval without a confidence below 1 has none")
    low, high = map(float, one.expectation.interval)
    alpha, fact = 1 - confidence, float(str(one.fact))
    score = (high - low) + 2 / alpha * (max(0.0, low - fact) + max(0.0, fact - high))
    return score if math.isfinite(score) else Undefined("it is larger than any number")
