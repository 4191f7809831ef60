"""Studies of a judge's agreement with human gold: they carry their ratings, and prove their own figures when made."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from calibrant.errors import one_of, quote
from calibrant.records.authority import Correlation, Count
from calibrant.records.base import Record
from calibrant.records.gold import Frame
from calibrant.records.problems import refuse
from calibrant.records.types import Digest, Id, Instant, Many, Name, Probability, Prose
from calibrant.stats.table import Table, cohen_kappa, percent_agreement
from calibrant.values import Undefined

PROTOCOL: Final = "first-verdict.v1"
"""How a study made here counts: an item's verdict is that of its first repeat; the others show how stable it is."""

_TOLERANCE: Final = 1e-9
"""How far a stored figure may lie from the one that follows: the last digits of a double as text, and no more."""


class Confusion(Record):
    """Judge against gold for one class: ``tp`` are of the class by both, ``fp`` by the judge alone."""

    tp: Count
    fp: Count
    fn: Count
    tn: Count


class StudyRating(Record):
    """One gold item: what people said, and what the judge said each time; null where it gave no verdict."""

    item: Id
    item_sha256: Digest
    gold: Id
    verdicts: Annotated[Many[Id | None], Field(min_length=1)]
    slice: Id | None = None


class JudgeAgreementStudy(Record):
    """One instrument's agreement with human gold.

    Whatever is stored is recomputed when the study is made or read: the table from the ratings, every figure from the
    table. One that differs refuses the study, with both values. A study without ratings is `table_only`: its
    arithmetic is checked, and it calibrates no judge. ``table`` has a row for each gold label and a column for each
    of the judge's; ``confusion`` reads it for the label ``positive`` against all others. ``unread`` counts items
    without a first verdict: they are in no table. A study out of another tool may not say when it was made.
    """

    schema_name: ClassVar[str] = "calibrant.judge-agreement-study.v1"

    judge_instrument_sha256: Digest
    rubric_sha256: Digest
    labels: Annotated[Many[Id], Field(min_length=2)]
    positive: Id
    confusion: Confusion
    table: Many[Annotated[tuple[Count, ...], Field(strict=False)]]
    unread: Count = 0
    percent_agreement: Probability | None
    kappa: Correlation | None
    kappa_undefined: Prose | None = None
    variance_runs: Annotated[int, Field(ge=0)]
    protocol_version: Name
    gold_sha256: Digest | None = None
    gold_frame: Frame | None = None
    gold_raters: Many[Name] = ()
    gold_tuned: bool = False
    gold_tuned_for: Many[Id] = ()
    ratings: Many[StudyRating] = ()
    made_at: Instant | None = None
    approver: Name | None = None
    rationale: Prose | None = None

    @property
    def table_only(self) -> bool:
        """Whether the study shows no ratings, so that its table has to be believed."""
        return not self.ratings

    @property
    def agreement(self) -> Table:
        """Gold against judge."""
        return Table(self.labels, self.table)

    @property
    def evidence(self) -> Literal["ratings", "table-only"]:
        """What the table rests on."""
        return "table-only" if self.table_only else "ratings"

    @model_validator(mode="after")
    def _labels_are_distinct(self) -> Self:
        if len(set(self.labels)) < len(self.labels):
            refuse("a label twice", "each label once")
        if self.positive not in self.labels:
            refuse(f"the positive label {quote(self.positive)}", one_of(self.labels))
        size = len(self.labels)
        if len(self.table) != size or any(len(row) != size for row in self.table):
            refuse("a table of another size", f"{size} rows of {size} counts, one for each label")
        return self

    @model_validator(mode="after")
    def _ratings_are_sound(self) -> Self:
        seen: dict[str, str] = {}
        names: set[str] = set()
        for rating in self.ratings:
            what = f"the item {quote(rating.item)}"
            if rating.item in names:
                refuse(f"{what} twice", "each item once")
            if rating.item_sha256 in seen:
                refuse(f"{what}, which has the same content as {quote(seen[rating.item_sha256])}", "each input once")
            for label in (rating.gold, *(verdict for verdict in rating.verdicts if verdict is not None)):
                if label not in self.labels:
                    refuse(f"{what} with the label {quote(label)}", f"one of the labels: {one_of(self.labels)}")
            if len(rating.verdicts) != self.variance_runs:
                found = f"{what} with {len(rating.verdicts)} verdicts"
                refuse(found, f"{self.variance_runs}, one for each repeat that `variance_runs` tells")
            names.add(rating.item)
            seen[rating.item_sha256] = rating.item
        return self

    @model_validator(mode="after")
    def _figures_follow(self) -> Self:
        if self.ratings:
            if self.gold_sha256 is None or self.gold_frame is None:
                refuse("ratings without `gold_sha256` and `gold_frame`", "the gold set that they are against")
            if self.made_at is None:
                refuse("ratings without `made_at`", "the instant at which the study was made")
            table, unread = tabulate(self.labels, self.ratings)
            _hold_to("table", self.table, table.counts, "the ratings")
            _hold_to("unread", self.unread, unread, "the ratings")
        for name, follows in figures_of(self.agreement, self.positive).items():
            if name != "kappa_undefined":
                _hold_to(name, getattr(self, name), follows, "the table")
        if (self.kappa is None) != (self.kappa_undefined is not None):
            refuse("`kappa` and `kappa_undefined` both or neither", "a kappa, or the reason why there is none")
        return self


def tabulate(labels: Sequence[str], ratings: Sequence[StudyRating]) -> tuple[Table, int]:
    """The table of gold against first verdicts, and how many items have no first verdict."""
    read = [(r.gold, r.verdicts[0]) for r in ratings if r.verdicts[0] is not None]
    return Table.from_pairs(tuple(labels), read), len(ratings) - len(read)


def figures_of(table: Table, positive: str) -> dict[str, Any]:
    """What a study stores beside its table, derived from it."""
    tp, fp, fn, tn = table.binary(positive)
    agreed, kappa = percent_agreement(table), cohen_kappa(table)
    return {
        "confusion": Confusion(tp=tp, fp=fp, fn=fn, tn=tn),
        "percent_agreement": None if isinstance(agreed, Undefined) else agreed.value,
        "kappa": None if isinstance(kappa, Undefined) else kappa.value,
        "kappa_undefined": kappa.reason if isinstance(kappa, Undefined) else None,
    }


def make_study(
    *,
    judge_instrument_sha256: str,
    rubric_sha256: str,
    labels: Sequence[str],
    positive: str,
    ratings: Sequence[StudyRating],
    gold_sha256: str,
    gold_frame: Frame,
    gold_raters: Sequence[str],
    gold_tuned: bool,
    gold_tuned_for: Sequence[str] = (),
    made_at: datetime,
) -> JudgeAgreementStudy:
    """The study that ratings give. Nobody has approved it yet.

    Raises:
        ValueError: for ratings that are no sound study, as the record says.
    """
    table, unread = tabulate(labels, ratings)
    return JudgeAgreementStudy(
        judge_instrument_sha256=judge_instrument_sha256,
        rubric_sha256=rubric_sha256,
        labels=tuple(labels),
        positive=positive,
        table=table.counts,
        unread=unread,
        variance_runs=len(ratings[0].verdicts) if ratings else 0,
        protocol_version=PROTOCOL,
        gold_sha256=gold_sha256,
        gold_frame=gold_frame,
        gold_raters=tuple(gold_raters),
        gold_tuned=gold_tuned,
        gold_tuned_for=tuple(gold_tuned_for),
        ratings=tuple(ratings),
        made_at=made_at,
        **figures_of(table, positive),
    )


def _hold_to(name: str, stored: Any, follows: Any, source: str) -> None:
    """Refuse a stored figure that is not what follows, with both."""
    if isinstance(stored, float) and isinstance(follows, float):
        same = abs(stored - follows) <= _TOLERANCE
    else:
        same = stored == follows
    if not same:
        fix = "Make the study anew from its ratings; a figure is never typed in."
        refuse(f"`{name}` {_shown(stored)}", f"{_shown(follows)}, which follows from {source}", fix, field=name)


def _shown(value: Any) -> str:
    if isinstance(value, Confusion):
        return f"tp {value.tp}, fp {value.fp}, fn {value.fn}, tn {value.tn}"
    if isinstance(value, tuple):
        return str([list(row) for row in value])
    return "null" if value is None else quote(value)
