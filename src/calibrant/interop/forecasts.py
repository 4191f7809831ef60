"""Reads forecasts that others made (ForecastBench, FiveThirtyEight, any table) with what came of them, row by row.

Pure reading: what is wrong is said with its line before anything is sealed. Rows that state no probability are passed
over and counted, never guessed at.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeAlias

from calibrant import canonical
from calibrant.errors import InputError, Problem, Where, nearest, one_of, quote
from calibrant.predictions.forecasts import Forecast, read_share
from calibrant.records.documents import decode_line
from calibrant.records.problems import shown
from calibrant.runs.files import open_input
from calibrant.world.base import line as in_one_line

MARKETS: Final = frozenset({"infer", "manifold", "metaculus", "polymarket"})
"""The sources of ForecastBench whose freeze value is a probability; that of the others is a level of their series."""

FIELDS: Final = ("id", "probability", "outcome", "name", "question", "by", "made")
"""What a column of a table may hold; the first two have to be there."""

_LONGEST_LINE: Final = 1_000_000
_MOST_PROBLEMS: Final = 1_000
_LINES: Final = (".jsonl", ".ndjson")
_CELLS: Final = {".csv": ",", ".tsv": "\t"}
_SEPARATORS: Final = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}
_MOST_COLUMNS: Final = 20

Cells: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a file: its number, the bytes that say the same whatever the file's line ends are, and its cells."""

    line: int
    data: bytes
    cells: Cells


Reader: TypeAlias = Callable[[str, Iterable[Row], "Reading", Mapping[str, str]], Iterator[Forecast]]


@dataclass(slots=True)
class Reading:
    """What was met while a file was read: problems by line, and rows passed over by the reason why."""

    problems: list[Problem] = field(default_factory=list)
    passed_over: dict[str, int] = field(default_factory=dict)
    forecasts: int = 0
    lacking: set[tuple[str, ...]] = field(default_factory=set)
    """Columns that rows lack, with those that they have: each is said once."""

    def refuse(self, where: Where, found: str, expected: str, fix: str | None = None) -> None:
        """Note what is wrong with a row."""
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(Problem(found, expected, fix, where))

    def pass_over(self, why: str) -> None:
        """Note that a row states no forecast."""
        self.passed_over[why] = self.passed_over.get(why, 0) + 1


@dataclass(frozen=True, slots=True)
class ForecastFile:
    """A file of forecasts that was read through and is sound. `forecasts` reads it again, so that memory stays flat."""

    path: Path
    format: str
    columns: Mapping[str, str]
    sha256: str
    count: int
    passed_over: Mapping[str, int]
    by: str | None = None

    def forecasts(self) -> Iterator[Forecast]:
        """The forecasts of the file, in its order.

        Raises:
            InputError: where the file was changed meanwhile.
        """
        reading = Reading()
        digest = hashlib.sha256()
        yield from _forecasts(self.path, self.format, self.columns, reading, digest.update, self.by)
        if reading.problems or digest.hexdigest() != self.sha256:
            raise InputError(
                Problem("a file that was changed while it was read", "a file", where=Where(str(self.path)))
            )


def read_forecasts(
    path: Path, form: str, columns: Mapping[str, str] | None = None, by: str | None = None
) -> ForecastFile:
    """Read a file of forecasts through: ``forecastbench`` (JSONL), ``fivethirtyeight`` (CSV) or ``table``.

    For a ``table`` (.csv, .tsv, .jsonl), ``columns`` names the columns that hold `FIELDS`; one that is not named is
    looked for under the field's own name. ``by`` is who made those of a table that do not say it.

    Raises:
        InputError: with every row that is wrong, by its line; for an unknown format, a file without a forecast, and
            as `runs.files.open_input` does.
    """
    if form not in FORMATS:
        raise InputError(Problem(f"the format {quote(form)}", one_of(FORMATS), nearest(form, FORMATS)))
    chosen = dict(columns or {})
    _refuse_columns(chosen, form, by)
    reading, digest = Reading(), hashlib.sha256()
    _refuse_twice(path, _forecasts(path, form, chosen, reading, digest.update, by), reading)
    if reading.problems:
        raise InputError(reading.problems)
    if not reading.forecasts:
        over = "; ".join(f"{count} {why}" for why, count in reading.passed_over.items())
        found = f"no forecast{f' ({over})' if over else ''}"
        raise InputError(Problem(found, "a row with a probability", where=Where(str(path))))
    return ForecastFile(path, form, chosen, digest.hexdigest(), reading.forecasts, reading.passed_over, by)


def _refuse_columns(columns: Mapping[str, str], form: str, by: str | None) -> None:
    if by is not None and form != "table":
        raise InputError(Problem(f"who forecasts, for the format {form}", "nobody: its files say it"))
    if by is not None and not (by.strip() and by.isprintable()):
        raise InputError(Problem(f"the name {quote(by)}", "a name in one line"))
    if columns and form != "table":
        raise InputError(Problem(f"columns for the format {form}", "none: it has columns of its own"))
    unknown = next((name for name in columns if name not in FIELDS), None)
    if unknown is not None:
        raise InputError(Problem(f"a column for {quote(unknown)}", one_of(FIELDS), nearest(unknown, FIELDS)))


def _refuse_twice(path: Path, forecasts: Iterable[Forecast], reading: Reading) -> None:
    lines: dict[bytes, int] = {}
    for one in forecasts:
        reading.forecasts += 1
        first = lines.setdefault(hashlib.sha256(one.key.encode()).digest()[:12], one.line)
        if first != one.line:
            reading.refuse(
                Where(str(path), one.line), f"the forecast {quote(one.key)} of line {first} again", "it once"
            )


def _forecasts(
    path: Path,
    form: str,
    columns: Mapping[str, str],
    reading: Reading,
    digest: Callable[[bytes], None],
    by: str | None = None,
) -> Iterator[Forecast]:
    with closing(open_input(path)) as stream:
        rows = _rows(path, stream, reading, digest)
        for one in FORMATS[form](str(path), rows, reading, columns):
            unsigned = by is not None and one.by is None
            yield replace(one, by=by, key=_key(by, one.key)) if unsigned else one


# --- rows -----------------------------------------------------------------------------------------------------------


def _rows(path: Path, stream: BinaryIO, reading: Reading, digest: Callable[[bytes], None]) -> Iterator[Row]:
    ending = path.suffix.lower()
    lines = _lines(path, stream, digest)
    if ending in _LINES:
        return _json_rows(path, lines, reading)
    if ending in _CELLS:
        return _cell_rows(path, lines, _CELLS[ending], reading)
    raise InputError(
        Problem(f"a file that ends in {quote(ending)}", one_of([*_CELLS, *_LINES]), where=Where(str(path)))
    )


def _lines(path: Path, stream: BinaryIO, digest: Callable[[bytes], None]) -> Iterator[bytes]:
    number = 0
    while data := stream.readline(_LONGEST_LINE + 1):
        number += 1
        if len(data) > _LONGEST_LINE:
            expected = f"at most {_LONGEST_LINE} bytes"
            raise InputError(Problem("a line that does not end", expected, where=Where(str(path), number)))
        digest(data)
        yield data.removeprefix(b"\xef\xbb\xbf") if number == 1 else data


def _json_rows(path: Path, lines: Iterable[bytes], reading: Reading) -> Iterator[Row]:
    for number, data in enumerate(lines, 1):
        if data.isspace():
            continue
        where = Where(str(path), number)
        try:
            cells = decode_line(data, where)
        except InputError as refused:
            for problem in refused.problems:
                reading.refuse(problem.where, problem.found, problem.expected, problem.fix)
            continue
        if isinstance(cells, dict):
            yield Row(number, data.strip(), cells)
        else:
            reading.refuse(where, shown(cells), "a map of columns")


def _cell_rows(path: Path, lines: Iterable[bytes], delimiter: str, reading: Reading) -> Iterator[Row]:
    def texts() -> Iterator[str]:
        for number, data in enumerate(lines, 1):
            yield canonical.decode_utf8(data, where=Where(str(path), number))

    table = csv.reader(texts(), delimiter=delimiter, strict=True)
    try:
        names = [name.strip() for name in next(table, [])]
        if len(set(names)) < len(names):
            raise InputError(Problem("a column twice", "each column once", where=Where(str(path), 1)))
        for cells in table:
            if not cells:
                continue
            if len(cells) != len(names):
                where = Where(str(path), table.line_num)
                reading.refuse(where, f"{len(cells)} cells", f"{len(names)}, one for each column", "Is it cut short?")
                continue
            row = dict(zip(names, cells, strict=True))
            yield Row(table.line_num, canonical.encode(row), row)
    except csv.Error as broken:
        found = f"what is no CSV ({broken})"
        raise InputError(Problem(found, "a table", where=Where(str(path), table.line_num))) from None


def _probability(written: object) -> float | None:
    """A probability from 0 to 1, or None for anything else."""
    if isinstance(written, bool) or not isinstance(written, str | int | float):
        return None
    try:
        number = (
            _of_a_hundred(written) if isinstance(written, str) and written.rstrip().endswith("%") else float(written)
        )
    except (ValueError, InvalidOperation, OverflowError):
        return None
    return number + 0.0 if 0 <= number <= 1 else None


def _of_a_hundred(written: str) -> float:
    return float(Decimal(written.rstrip().removesuffix("%")) / 100)


def _text(cells: Cells, name: str | None) -> str | None:
    value = cells.get(name) if name is not None else None
    text = "" if value is None else str(value).strip()
    return text or None


def _key(*parts: object) -> str:
    return in_one_line("/".join(map(str, parts)), 1000)


def _missing(path: str, row: Row, names: Sequence[str], reading: Reading, *, fix: str | None = None) -> bool:
    """Whether columns are not there, which is noted once, however many rows lack them."""
    gone = [name for name in names if name not in row.cells]
    lack = (*gone, "", *row.cells)
    if gone and lack not in reading.lacking and len(reading.lacking) < _MOST_PROBLEMS:
        reading.lacking.add(lack)
        found = f"no column {_listed(gone)}; its columns are {_listed(row.cells)}"
        other = fix or f"Is it of another format? One of {', '.join(FORMATS)} goes with --format."
        advice = _separated(row.cells) or nearest(gone[0], row.cells) or other
        reading.refuse(Where(path, row.line), found, f"the columns {', '.join(names)}", advice)
    return bool(gone)


def _listed(names: Iterable[str]) -> str:
    some = [quote(name) for name in islice(names, _MOST_COLUMNS + 1)]
    return ", ".join(some[:_MOST_COLUMNS]) + (", …" if len(some) > _MOST_COLUMNS else "")


def _separated(cells: Cells) -> str | None:
    """What to do about a table whose cells are separated by something else, so that it has but one column."""
    (name, *others) = cells or ("",)
    sign = next((sign for sign in _SEPARATORS if sign in name), None)
    if others or sign is None:
        return None
    return f"Is it separated by {_SEPARATORS[sign]}? Separate a .csv by commas, a .tsv by tabs."


def _unnamed(path: str, row: Row, names: Sequence[str], reading: Reading) -> bool:
    """Whether one of the cells is no text, which is noted: a forecast would be called by it."""
    for name in names:
        value = row.cells[name]
        if isinstance(value, bool) or not isinstance(value, str | int | float) or not str(value).strip():
            reading.refuse(Where(path, row.line), f"{name}: {quote(value)}", "some text")
            return True
    return False


def _checked(path: str, row: Row, written: object, outcome: object, reading: Reading) -> tuple[float, Any] | None:
    """The probability and the share of a row, or None where one of them is none, which is noted."""
    where = Where(path, row.line)
    probability = _probability(written)
    if probability is None:
        fix = _percent(written)
        reading.refuse(where, f"the probability {quote(written)}", "a number from 0 to 1", fix)
        return None
    if outcome is None or outcome == "":
        return probability, None
    share = read_share(outcome)
    if share is None:
        reading.refuse(where, f"the outcome {quote(outcome)}", "yes, no, or a share from 0 to 1")
        return None
    return probability, share


def _percent(written: object) -> str | None:
    try:
        number = float(str(written))
    except ValueError:
        return None
    return f"Is it {number:g}%? Write {number / 100:g}." if 1 < number <= 100 else None


# --- formats --------------------------------------------------------------------------------------------------------


def _forecastbench(path: str, rows: Iterable[Row], reading: Reading, columns: Mapping[str, str]) -> Iterator[Forecast]:
    """The crowd's probability of market questions on the day when a round was frozen."""
    del columns
    needed = ("id", "source", "question", "freeze_value", "forecast_due_date", "resolution_date", "resolved")
    for row in rows:
        cells = row.cells
        if _missing(path, row, (*needed, "resolved_to"), reading):
            continue
        if _unnamed(path, row, ("id", "source", "question", "forecast_due_date"), reading):
            continue
        if cells["source"] not in MARKETS:
            reading.pass_over("of a data set, whose freeze value is no probability")
            continue
        if not isinstance(cells["resolved"], bool):
            reading.refuse(Where(path, row.line), f"resolved: {quote(cells['resolved'])}", "true or false")
            continue
        outcome = cells["resolved_to"] if cells["resolved"] else None
        read = _checked(path, row, cells["freeze_value"], outcome, reading)
        if read is None:
            continue
        question = str(cells["question"])
        yield Forecast(
            format="forecastbench",
            file=_file_name(path),
            line=row.line,
            row=row.data,
            key=_key(cells["forecast_due_date"], cells["source"], cells["id"]),
            name=in_one_line(question, 120),
            question=question if question.strip() else None,
            probability=read[0],
            share=read[1],
            by=f"ForecastBench: {in_one_line(cells['source'], 60)}",
            made=_text(cells, "freeze_datetime"),
        )


def _fivethirtyeight(
    path: str, rows: Iterable[Row], reading: Reading, columns: Mapping[str, str]
) -> Iterator[Forecast]:
    """Games (the probability that the first team wins), or the rounds of a tennis tournament."""
    del columns
    first, rest = _peek(rows)
    if first is not None and "round_1" in first.cells:
        yield from _tennis(path, rest, reading)
        return
    for row in rest:
        cells = row.cells
        if _missing(path, row, ("date", "team1", "team2", "prob1", "prob1_outcome"), reading):
            continue
        if _unnamed(path, row, ("date", "team1", "team2"), reading):
            continue
        read = _checked(path, row, cells["prob1"], cells["prob1_outcome"], reading)
        if read is None:
            continue
        league = _text(cells, "league") or Path(path).stem
        game = f"{cells['team1']} beats {cells['team2']}, {cells['date']}"
        yield _of_fivethirtyeight(path, row, _key(league, cells["date"], cells["team1"], cells["team2"]), game, read)


def _of_fivethirtyeight(path: str, row: Row, key: str, name: str, read: tuple[float, Any]) -> Forecast:
    made = _text(row.cells, "forecast_date") or _text(row.cells, "date")
    return Forecast(
        format="fivethirtyeight",
        file=_file_name(path),
        line=row.line,
        row=row.data,
        key=key,
        name=in_one_line(name),
        probability=read[0],
        share=read[1],
        by="FiveThirtyEight",
        made=made,
    )


def _tennis(path: str, rows: Iterable[Row], reading: Reading) -> Iterator[Forecast]:
    """That a player wins a round, for rounds that were not played yet on the day of the forecast."""
    for day in _days(path, rows, reading):
        names = [name for name in day[0].cells if name.startswith("round_") and not name.endswith("_outcome")]
        played = [name for name in names if all(_is_certain(row.cells.get(name)) for row in day)]
        for row in day:
            if played and _probability(row.cells.get(played[-1])) == 0:
                reading.pass_over("of a player who was out already")
                continue
            for name in names[len(played) :]:
                if _missing(path, row, (name, f"{name}_outcome"), reading):
                    break
                read = _checked(path, row, row.cells[name], row.cells[f"{name}_outcome"], reading)
                if read is not None:
                    player, when = row.cells["player"], row.cells["forecast_date"]
                    key = _key("tennis", when, player, name)
                    title = f"{player} wins {name.replace('_', ' ')}, as of {when}"
                    yield _of_fivethirtyeight(path, row, key, title, read)


def _is_certain(written: object) -> bool:
    return _probability(written) in (0.0, 1.0)


def _days(path: str, rows: Iterable[Row], reading: Reading) -> Iterator[list[Row]]:
    """Rows that follow one another and were made on one day."""
    day: list[Row] = []
    for row in rows:
        needed = ("forecast_date", "player")
        if _missing(path, row, needed, reading) or _unnamed(path, row, needed, reading):
            continue
        if day and day[0].cells["forecast_date"] != row.cells["forecast_date"]:
            yield day
            day = []
        day.append(row)
    if day:
        yield day


def _table(path: str, rows: Iterable[Row], reading: Reading, columns: Mapping[str, str]) -> Iterator[Forecast]:
    """Any table with a row for each forecast."""
    column = {name: columns.get(name, name) for name in FIELDS}
    named = [columns[name] for name in FIELDS if name in columns]
    needed = tuple(dict.fromkeys([column["id"], column["probability"], *named]))
    fix = "Say which column holds what, such as --column id=NAME --column probability=NAME."
    for row in rows:
        cells = row.cells
        if _missing(path, row, needed, reading, fix=fix):
            continue
        read = _checked(path, row, cells[column["probability"]], cells.get(column["outcome"]), reading)
        key = _text(cells, column["id"])
        if key is None:
            reading.refuse(Where(path, row.line), "an empty id", "what tells the forecast from all others")
        if read is None or key is None:
            continue
        question = _text(cells, column["question"])
        by, made = _text(cells, column["by"]), _text(cells, column["made"])
        yield Forecast(
            format="table",
            file=_file_name(path),
            line=row.line,
            row=row.data,
            key=_key(key) if by is None else _key(by, key),
            name=in_one_line(_text(cells, column["name"]) or question or key, 120),
            question=question,
            probability=read[0],
            share=read[1],
            by=None if by is None else in_one_line(by),
            made=None if made is None else in_one_line(made),
        )


def _peek(rows: Iterable[Row]) -> tuple[Row | None, Iterator[Row]]:
    from_here = iter(rows)
    first = next(from_here, None)

    def again() -> Iterator[Row]:
        if first is not None:
            yield first
        yield from from_here

    return first, again()


def _file_name(path: str) -> str:
    return in_one_line(Path(path).name)


FORMATS: Final[Mapping[str, Reader]] = {
    "forecastbench": _forecastbench,
    "fivethirtyeight": _fivethirtyeight,
    "table": _table,
}
"""How each format is read."""
