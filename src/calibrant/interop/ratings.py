"""Reads other people's ratings (CSV, TSV, JSONL), whatever their columns are called, as one table of who said what.

Labels outside the set are never lost in silence: they are counted by their text, and treated as the user says.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, TypeAlias

from calibrant import canonical
from calibrant.authority.agreement import Agreement, ItemRating, RatersAgreement, UnreadRule, agreement_of, of_raters
from calibrant.errors import InputError, Problem, Where, nearest, one_of, quote
from calibrant.records.authority import CalibrationStandard
from calibrant.records.documents import read_jsonl
from calibrant.runs.files import open_input

UNKNOWN_INSTRUMENT: Final = (
    "These ratings come from a file: nothing shows which instrument gave them or what it was shown. They can be "
    "analysed, and they calibrate no judge."
)
"""Said wherever figures of such ratings are shown."""

Unread: TypeAlias = Literal["drop", "wrong"] | str
"""What a label outside the set counts as: nothing, a disagreement, or the label that is named."""

_LINES: Final = (".jsonl", ".ndjson")
_CELLS: Final = {".csv": ",", ".tsv": "\t"}
_LONGEST_SHOWN: Final = 60
_MOST_SHOWN: Final = 10

Names = str | Sequence[str]
Key: TypeAlias = tuple[str, ...]
Row: TypeAlias = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RatingTable:
    """Items with what people and judges said about them, out of a file.

    ``cells`` holds for each judge or rater the text that stands for each item that it was asked about, by the item's
    place in ``items``; empty where it said nothing. ``without_gold`` counts the items that were left out because
    they have no gold label.
    """

    source: str
    labels: tuple[str, ...]
    items: tuple[str, ...]
    gold: tuple[str, ...] | None
    slices: tuple[str | None, ...]
    cells: Mapping[str, Mapping[int, str]]
    without_gold: int
    unread: Unread
    caution: str = UNKNOWN_INSTRUMENT

    @property
    def judges(self) -> tuple[str, ...]:
        """Everybody who gave labels."""
        return tuple(self.cells)

    def outside(self, judge: str) -> dict[str, int]:
        """What the judge said that is none of the labels (cut short), and how often; the most frequent first."""
        counts = Counter(_cut(text) for text in self._cells(judge).values() if text and text not in self.labels)
        return dict(counts.most_common())

    def missing(self, judge: str) -> int:
        """How many items the judge was asked about and has an empty cell for."""
        return sum(not text for text in self._cells(judge).values())

    def notes(self, *judges: str) -> tuple[str, ...]:
        """What has to be said wherever figures of these judges are shown: what they are, and what was left out."""
        return (self.caution, *(note for judge in judges for note in self._notes_on(judge)), *self._notes_on_gold())

    @property
    def rule(self) -> UnreadRule:
        """Which reading of an agreement is the one that was asked for."""
        return "wrong" if self.unread == "wrong" else "dropped"

    def of_slice(self, name: str) -> RatingTable:
        """The part of the table in that slice.

        Raises:
            InputError: for a slice that the table has not.
        """
        kept = [index for index, slice_name in enumerate(self.slices) if slice_name == name]
        if not kept:
            known = [slice_name for slice_name in dict.fromkeys(self.slices) if slice_name is not None]
            raise InputError(Problem(f"the slice {quote(name)}", one_of(known) or "no slice", nearest(name, known)))
        return _restricted(self, kept)

    def ratings(self, *repeats: str) -> tuple[ItemRating, ...]:
        """Each item that the first of ``repeats`` was asked about, with the verdicts of all of them.

        The columns of one judge that was asked several times, or in two orders, are its repeats.

        Raises:
            InputError: for a judge that the table has not, and for a table without gold.
        """
        columns = [self._column(name) for name in repeats]
        if self.gold is None or not columns:
            raise InputError(Problem(f"{self.source} without gold", "a column of gold labels", "Name it as `gold`."))
        gold = self.gold
        return tuple(
            ItemRating(self.items[index], gold[index], tuple(c.get(index) for c in columns), self.slices[index])
            for index in columns[0]
        )

    def agreement(
        self,
        *repeats: str,
        positive: str | None = None,
        level: float = 0.95,
        ordered: bool = False,
        standard: CalibrationStandard | None = None,
    ) -> Agreement:
        """The agreement of a judge with the gold; ``positive`` is by default the first label.

        Raises:
            InputError: as `ratings` does.
        """
        chosen = self.labels[0] if positive is None else positive
        given = self.ratings(*repeats)
        return agreement_of(self.labels, chosen, given, level=level, ordered=ordered, standard=standard)

    def among(self, *names: str, level: float = 0.95, ordered: bool = False) -> RatersAgreement:
        """The agreement of judges or people with one another; by default of all in the table.

        Raises:
            InputError: for a name that the table has not.
        """
        given = {
            name: {self.items[index]: label for index, label in self._column(name).items() if label is not None}
            for name in names or self.cells
        }
        return of_raters(self.labels, given, level=level, ordered=ordered)

    def _notes_on(self, judge: str) -> Iterator[str]:
        done = {"drop": "left out", "wrong": "counted as wrong"}.get(self.unread, f"read as {self.unread}")
        outside, missing = self.outside(judge), self.missing(judge)
        if outside:
            shown = ", ".join(f"“{text}” {times}×" for text, times in list(outside.items())[:_MOST_SHOWN])
            rest = f" and {len(outside) - _MOST_SHOWN} other texts" if len(outside) > _MOST_SHOWN else ""
            times = sum(outside.values())
            what = (
                "1 label is none of the set and was" if times == 1 else f"{times} labels are none of the set and were"
            )
            yield f"{judge}: {what} {done}: {shown}{rest}."
        if missing:
            cells = "1 cell is empty" if missing == 1 else f"{missing} cells are empty"
            yield f"{judge}: {cells}: no verdict{' (counted as wrong)' if self.unread == 'wrong' else ''}."

    def _notes_on_gold(self) -> Iterator[str]:
        if self.without_gold:
            yield f"{self.without_gold} items have no gold label, or none that more than half gave: they were left out."

    def _column(self, name: str) -> dict[int, str | None]:
        """The label of each item that the judge was asked about; None where it gave none."""
        instead = self.unread if self.unread in self.labels else None
        known = {text: text for text in self.labels}
        return {place: known.get(text, instead if text else None) for place, text in self._cells(name).items()}

    def _cells(self, judge: str) -> Mapping[int, str]:
        if judge not in self.cells:
            raise InputError(Problem(f"the judge {quote(judge)}", one_of(self.cells), nearest(judge, self.cells)))
        return self.cells[judge]


def read_ratings(
    path: str | PathLike[str],
    *,
    item: Names,
    judges: Names,
    gold: Names = (),
    by: Names = (),
    slice: str | None = None,  # noqa: A002 - the word that the records use
    labels: Sequence[str] = (),
    read_as: Mapping[str, str] | None = None,
    unread: Unread = "drop",
) -> RatingTable:
    """The ratings in a .csv, .tsv, .jsonl or .ndjson file, read line by line.

    ``item`` names the column, or the columns, that tell the items apart; ``judges`` the columns that hold labels of
    judges or raters; ``gold`` that of the gold label, or those of several people, whose majority (more than half) is
    it. Where a file has a row for each item *and* judge, ``by`` names
    the columns that say who judged. ``labels`` is the label set in its order, by default every gold label (without
    gold, every label). ``read_as`` maps a text of the file to the label that it stands for (``{"Tie": "0"}``). What is
    then no label counts as ``unread`` says: left out (``drop``), a disagreement (``wrong``), or as that label.

    Raises:
        InputError: naming file and line: a column that is not there, an item twice, gold that differs between rows of
            one item, a gold label outside ``labels``.
    """
    path = Path(path)
    columns = _Columns(
        _names(item), _names(judges), _names(gold), _names(by), slice, tuple(labels), dict(read_as or {})
    )
    with closing(open_input(path)) as stream:
        gathered = _gathered(_rows(stream, path), columns, str(path))
    return _table(gathered, columns, unread, str(path))


@dataclass(frozen=True, slots=True)
class _Columns:
    """Which columns say what, which labels there are (none: whatever stands there), and what stands for which."""

    item: Key
    judges: Key
    gold: Key
    by: Key
    slice: str | None
    labels: Key
    read_as: Mapping[str, str]

    def __post_init__(self) -> None:
        for what, names in (("item", self.item), ("judges", self.judges)):
            if not names:
                raise InputError(Problem(f"no column as `{what}`", "at least one"))

    def all(self) -> Iterator[str]:
        yield from (*self.item, *self.judges, *self.by, *self.gold)
        if self.slice is not None:
            yield self.slice

    def judge(self, row: Row, column: str) -> str:
        who = " ".join(row[name] for name in self.by)
        if not who:
            return column
        return who if len(self.judges) == 1 else f"{who}: {column}"

    def label(self, row: Row, column: str) -> str:
        return self.read_as.get(row[column], row[column])

    def key(self, row: Row) -> Key:
        return tuple(row[name] for name in self.item)


@dataclass(slots=True)
class _Gathered:
    """What stands in a file: for each item its gold, slice and line, for each judge the text of each item's cell.

    ``given`` holds every gold label of anybody.
    """

    places: dict[Key, int] = field(default_factory=dict)
    lines: list[int] = field(default_factory=list)
    gold: list[str] = field(default_factory=list)
    slices: list[str] = field(default_factory=list)
    given: set[str] = field(default_factory=set)
    cells: dict[str, dict[int, str]] = field(default_factory=dict)


def _names(given: Names) -> Key:
    return (given,) if isinstance(given, str) else tuple(given)


# --- rows -----------------------------------------------------------------------------------------------------------


def _rows(stream: BinaryIO, path: Path) -> Iterator[tuple[int, Row]]:
    """Each row as texts without space around them, with the number of its line."""
    ending = path.suffix.lower()
    if ending in _LINES:
        yield from _json_rows(stream, str(path))
    elif ending in _CELLS:
        yield from _cell_rows(stream, str(path), _CELLS[ending])
    else:
        found = f"a file that ends in {quote(ending)}" if ending else "a file name without an ending"
        raise InputError(Problem(found, "a .csv, .tsv, .jsonl or .ndjson file", where=Where(str(path))))


def _json_rows(stream: BinaryIO, file: str) -> Iterator[tuple[int, Row]]:
    for number, value in read_jsonl(stream, file):
        if not isinstance(value, dict):
            raise InputError(Problem(quote(value), "a map, one row", where=Where(file, number)))
        yield number, {name: _text(cell) for name, cell in value.items()}


def _text(cell: Any) -> str:
    """A JSON value as the text of a label: ``1`` and ``"1"`` are one label, null is an empty cell."""
    if isinstance(cell, str):
        return cell.strip()
    return "" if cell is None else canonical.encode(cell).decode()


def _cell_rows(stream: BinaryIO, file: str, delimiter: str) -> Iterator[tuple[int, Row]]:
    reader = csv.reader(_lines(stream, file), delimiter=delimiter, strict=True)
    try:
        names = [name.strip() for name in next(reader, [])]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(Problem(f"the column {quote(twice)} twice", "each column once", where=Where(file, 1)))
        for row in reader:
            if row and len(row) != len(names):
                where = Where(file, reader.line_num)
                raise InputError(Problem(f"a row of {len(row)} cells", f"{len(names)} cells", where=where))
            if row:
                yield reader.line_num, dict(zip(names, map(str.strip, row), strict=True))
    except csv.Error as broken:
        raise InputError(Problem(str(broken), "cells of a table", where=Where(file, reader.line_num))) from None


def _lines(stream: Iterable[bytes], file: str) -> Iterator[str]:
    for number, line in enumerate(stream, 1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as broken:
            found = f"the byte 0x{line[broken.start]:02x}, which is not UTF-8"
            raise InputError(Problem(found, "UTF-8 text", "Save the file as UTF-8.", Where(file, number))) from None


def _gathered(rows: Iterable[tuple[int, Row]], columns: _Columns, file: str) -> _Gathered:
    gathered = _Gathered()
    for line, row in rows:
        where = Where(file, line)
        _refuse_missing(columns, row, where)
        place = _place(gathered, columns, row, where)
        for column in columns.judges:
            cells = gathered.cells.setdefault(columns.judge(row, column), {})
            if place in cells:
                found = f"the item {quote(_joined(columns.key(row)))} twice, first in line {gathered.lines[place]}"
                fix = "Where a file has a row for each judge, name the columns that tell them apart as `by`."
                raise InputError(Problem(found, "each item once", fix, where))
            cells[place] = columns.label(row, column)
    if not gathered.places:
        raise InputError(Problem("no rows", "at least one item", where=Where(file)))
    return gathered


def _refuse_missing(columns: _Columns, row: Row, where: Where) -> None:
    missing = next((name for name in columns.all() if name not in row), None)
    if missing is not None:
        found = f"no column {quote(missing)}"
        raise InputError(Problem(found, f"one of {', '.join(map(quote, row))}", nearest(missing, row), where))


def _place(gathered: _Gathered, columns: _Columns, row: Row, where: Where) -> int:
    """Where the item of ``row`` is kept; refused where another row of it says another gold label or slice."""
    key, gold = columns.key(row), _gold(gathered, columns, row, where)
    part = "" if columns.slice is None else row[columns.slice]
    place = gathered.places.setdefault(key, len(gathered.lines))
    if place == len(gathered.lines):
        gathered.lines.append(where.line or 0)
        gathered.gold.append(gold)
        gathered.slices.append(part)
        return place
    names = (", ".join(columns.gold), columns.slice)
    for name, known, now in zip(names, (gathered.gold, gathered.slices), (gold, part), strict=True):
        if known[place] != now:
            found = f"{quote(now)} for the item {quote(_joined(key))}"
            expected = f"{quote(known[place])}, as in line {gathered.lines[place]}"
            raise InputError(Problem(found, expected, where=replace(where, field=name)))
    return place


def _gold(gathered: _Gathered, columns: _Columns, row: Row, where: Where) -> str:
    """The gold label of ``row``: what stands there, or what more than half of several people say; else empty."""
    given = [label for column in columns.gold if (label := columns.label(row, column))]
    for column in columns.gold:
        label = columns.label(row, column)
        if label and columns.labels and label not in columns.labels:
            known = columns.labels
            fix = nearest(label, known) or "A gold label is never guessed: map it with `read_as`, or mend the file."
            expected = f"one of the labels: {one_of(known)}"
            raise InputError(Problem(f"the gold label {quote(label)}", expected, fix, replace(where, field=column)))
    gathered.given.update(given)
    return next((label for label in given if 2 * given.count(label) > len(given)), "")


def _joined(key: Key) -> str:
    return " / ".join(key)


# --- the table ------------------------------------------------------------------------------------------------------


def _table(gathered: _Gathered, columns: _Columns, unread: Unread, file: str) -> RatingTable:
    has_gold, labels = bool(columns.gold), columns.labels or _labels_in(gathered)
    fix = "Give the label set as `labels`."
    if len(labels) < 2 or len(set(labels)) < len(labels):
        raise InputError(Problem(f"the labels {', '.join(map(quote, labels))}", "two or more, each once", fix))
    if unread not in ("drop", "wrong", *labels):
        expected = f"`drop`, `wrong`, or one of the labels: {one_of(labels)}"
        raise InputError(Problem(f"{quote(unread)} as `unread`", expected, nearest(unread, ("drop", "wrong", *labels))))
    whole = RatingTable(
        source=file,
        labels=labels,
        items=tuple(map(_joined, gathered.places)),
        gold=tuple(gathered.gold) if has_gold else None,
        slices=tuple(part or None for part in gathered.slices),
        cells=gathered.cells,
        without_gold=0,
        unread=unread,
    )
    kept = [index for index, label in enumerate(gathered.gold) if label or not has_gold]
    return replace(_restricted(whole, kept), without_gold=len(whole.items) - len(kept))


def _labels_in(gathered: _Gathered) -> Key:
    """Every gold label; without gold, every label."""
    used = gathered.given or {text for cells in gathered.cells.values() for text in cells.values()}
    return tuple(sorted(used - {""}))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"


def _restricted(table: RatingTable, kept: Sequence[int]) -> RatingTable:
    """The table of those items alone."""
    places = {old: new for new, old in enumerate(kept)}
    return replace(
        table,
        items=tuple(table.items[index] for index in kept),
        gold=None if table.gold is None else tuple(table.gold[index] for index in kept),
        slices=tuple(table.slices[index] for index in kept),
        cells={
            name: {places[index]: text for index, text in column.items() if index in places}
            for name, column in table.cells.items()
        },
    )
