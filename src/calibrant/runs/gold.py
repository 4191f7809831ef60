"""Reads gold: what people said about items, one file a rater, with the items themselves; refuses what does not fit."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Final

from calibrant import canonical
from calibrant.authority.agreement import RatersAgreement, of_raters
from calibrant.errors import InputError, Problem, Where, nearest, one_of, quote
from calibrant.records.documents import ENDINGS, Document, read_jsonl
from calibrant.records.gold import Frame, Gold, GoldLabel, JudgedItem
from calibrant.runs.assembly import Findings
from calibrant.runs.files import Beside, open_document, read_input
from calibrant.runs.project import files_around

CONSENSUS: Final = "majority"
"""How several raters come to one label: that of more than half of those who labelled the item."""

_CSV_FIELDS: Final = ("item", "label", "at", "item_sha256", "critique")

Place = Callable[[int], Where]
"""Tells where the label of that index was written."""


@dataclass(frozen=True, slots=True)
class RaterGold:
    """One rater's gold, where it was read from."""

    gold: Gold
    path: Path
    place: Place

    @property
    def rater(self) -> str:
        """Who labelled."""
        return self.gold.rater


@dataclass(frozen=True, eq=False)
class GoldSet:
    """The labels of one or several people for one set of items, made under one codebook.

    ``items`` holds every item of the items files by id, ``raters`` what each person said. The gold label of an item
    is its only rater's, or that of more than half of its raters; an item without one is in `no_consensus`, and no
    label is guessed for it.
    """

    items: Mapping[str, JudgedItem]
    raters: tuple[RaterGold, ...]
    frame: Frame
    codebook_sha256: str
    tuned: tuple[str, ...]

    @cached_property
    def labels(self) -> dict[str, dict[str, str]]:
        """For each rater, the label of each item that they labelled."""
        return {given.rater: {label.item: label.label for label in given.gold.labels} for given in self.raters}

    @cached_property
    def consensus(self) -> dict[str, str]:
        """The gold label of each item that has one, in the order of the items."""
        votes = ((item, self._votes(item)) for item in self.items)
        return {item: label for item, given in votes if (label := _majority(given)) is not None}

    @property
    def no_consensus(self) -> tuple[str, ...]:
        """Items that were labelled and on which no label has more than half of the votes."""
        return tuple(item for item in self.items if self._votes(item) and item not in self.consensus)

    @property
    def unlabelled(self) -> tuple[str, ...]:
        """Items that nobody labelled."""
        return tuple(item for item in self.items if not self._votes(item))

    @cached_property
    def content(self) -> dict[str, str]:
        """The id of each item by the digest of its content."""
        return {item.content_sha256(): name for name, item in self.items.items()}

    def digest(self) -> str:
        """What the gold is known by: contents, labels, raters, codebook, frame, tuning and the consensus rule.

        Renaming an item, adding a critique or labelling the same again on another day does not move it.
        """
        shas = {name: sha for sha, name in self.content.items()}
        given = ((shas[item], rater, label) for rater, labels in self.labels.items() for item, label in labels.items())
        return canonical.digest(
            {
                "schema": "calibrant.gold-set.v1",
                "codebook_sha256": self.codebook_sha256,
                "frame": self.frame,
                "tuned": list(self.tuned),
                "consensus": CONSENSUS,
                "labels": [list(row) for row in sorted(given)],
            }
        )

    def human_agreement(self, labels: Sequence[str] | None = None, *, level: float = 0.95) -> RatersAgreement:
        """How far the raters agree with one another: the ceiling that a judge can be measured against.

        ``labels`` is the label set, in its order; by default the labels that were given, sorted.

        Raises:
            ValueError: for a label outside the set.
        """
        used = {label for given in self.labels.values() for label in given.values()}
        return of_raters(tuple(labels or sorted(used)), self.labels, level=level)

    def refuse_other_labels(self, labels: Sequence[str]) -> None:
        """Refuse gold with a label that is none of ``labels``, the judge's.

        Raises:
            InputError: naming file and line of each.
        """
        findings = Findings()
        for given in self.raters:
            for index, label in enumerate(given.gold.labels):
                if label.label not in labels:
                    found = f"the label {quote(label.label)} for the item {quote(label.item)}"
                    expected = f"one of the judge's labels: {one_of(labels)}"
                    where = given.place(index)
                    fix = nearest(label.label, labels)
                    findings.add(Problem(found, expected, fix, replace(where, field=_below(where, "label"))))
        findings.refuse_if_any()

    def _votes(self, item: str) -> list[str]:
        return [labels[item] for labels in self.labels.values() if item in labels]


def _majority(votes: Sequence[str]) -> str | None:
    if not votes:
        return None
    label, times = Counter(votes).most_common(1)[0]
    return label if 2 * times > len(votes) else None


def _below(where: Where, field: str) -> str:
    return f"{where.field}.{field}" if where.field else field


def load_gold(
    paths: str | PathLike[str] | Iterable[str | PathLike[str]], *, labels: Sequence[str] | None = None
) -> GoldSet:
    """The gold in the files ``paths``, or in every .yaml, .yml and .json file of a folder; one file a rater.

    ``labels`` is the judge's label set, where it is known: gold outside it is refused.

    Raises:
        InputError: naming file, line and field of everything that is wrong.
    """
    files = list(_files(paths))
    read: dict[Path, dict[str, tuple[JudgedItem, Where]]] = {}
    raters, codebooks = [], []
    for path in files:
        given, document = _read_gold(path)
        beside = _beside(path.parent)
        codebooks.append(_codebook(given.gold, document, beside))
        source = (path.parent / given.gold.items).resolve()
        if source not in read:
            read[source] = _read_items(beside, given.gold.items, document.where("items"))
        _refuse_unfit(given, read[source])
        raters.append(given)
    _refuse_apart(raters, codebooks)
    tuned = tuple(sorted({judge for given in raters for judge in given.gold.tuned}))
    gold = GoldSet(_joined(read.values()), tuple(raters), raters[0].gold.frame, codebooks[0], tuned)
    if labels is not None:
        gold.refuse_other_labels(labels)
    return gold


def load_items(path: str | PathLike[str]) -> dict[str, JudgedItem]:
    """The items in a JSONL file, by id, in its order.

    Raises:
        InputError: naming file and line of everything that is wrong, an id or a content twice among it.
    """
    path = Path(path)
    return {name: item for name, (item, _) in _items(read_input(path), str(path)).items()}


def _files(paths: str | PathLike[str] | Iterable[str | PathLike[str]]) -> Iterator[Path]:
    if not isinstance(paths, str | PathLike):
        found = [path for given in paths for path in _files(given)]
        if not found:
            raise InputError(Problem("no gold", "at least one file of gold"))
        yield from found
        return
    path = Path(paths)
    if not path.is_dir():
        yield path
        return
    inside = sorted(file for file in path.iterdir() if file.suffix.lower() in ENDINGS and file.name[0] != ".")
    if not inside:
        fix = "Write one .yaml file for each rater."
        raise InputError(Problem("a folder without gold", "one .yaml or .json file a rater", fix, Where(str(path))))
    yield from inside


def _beside(folder: Path) -> Beside:
    return files_around(folder, "the folder of the gold")


# --- one rater ------------------------------------------------------------------------------------------------------


def _read_gold(path: Path) -> tuple[RaterGold, Document]:
    """The gold in one file, its labels in the file itself or in a CSV file that it names."""
    document = open_document(path)
    fields = document.fields("gold")
    name = fields.get("labels")
    if not isinstance(name, str):
        gold = document.record(Gold)
        return RaterGold(gold, path, lambda index: document.where("labels", index)), document
    where = document.where("labels")
    rows = list(_csv(_beside(path.parent).read(name, where), str(path.parent / name)))
    lines = [line for line, _ in rows]
    written = {**fields, "labels": [row for _, row in rows]}

    def line_of(field: tuple[str | int, ...]) -> int | None:
        if len(field) > 1 and field[0] == "labels" and isinstance(field[1], int):
            return lines[field[1]]
        return document.lines(field)

    try:
        gold = Gold.from_dict(written, where=Where(str(path), document.lines(())), lines=line_of)
    except InputError as refused:
        in_table = (p if "labels[" not in (p.where.field or "") else _in_file(p, name) for p in refused.problems)
        raise InputError([*in_table]) from None
    return RaterGold(gold, path, lambda index: Where(str(path.parent / name), lines[index])), document


def _in_file(problem: Problem, name: str) -> Problem:
    """A problem with a row of the CSV file beside the gold, which is where it stands."""
    where = problem.where
    file = str(Path(where.file or "").parent / name)
    return replace(problem, where=Where(file, where.line, (where.field or "").rpartition("].")[2] or None))


def _csv(data: bytes, file: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a CSV file with the number of each one's line; an empty cell of an optional column is no value."""
    text = canonical.decode_utf8(data, where=Where(file))
    reader = csv.DictReader(io.StringIO(text), strict=True)
    try:
        names = reader.fieldnames or ()
        unknown = next((name for name in names if name not in _CSV_FIELDS), None)
        missing = [name for name in _CSV_FIELDS[:3] if name not in names]
        if unknown is not None or missing or len(set(names)) < len(names):
            found = f"the columns {', '.join(map(quote, names)) or 'of an empty file'}"
            expected = f"{', '.join(_CSV_FIELDS[:3])}, and if wanted {' and '.join(_CSV_FIELDS[3:])}"
            raise InputError(Problem(found, expected, nearest(unknown or "", _CSV_FIELDS), Where(file, 1)))
        for row in reader:
            if None in row or None in row.values():
                raise InputError(
                    Problem("a row of another length", f"{len(names)} cells", where=Where(file, reader.line_num))
                )
            yield reader.line_num, {name: value for name, value in row.items() if value or name in _CSV_FIELDS[:3]}
    except csv.Error as broken:
        raise InputError(Problem(str(broken), "CSV", where=Where(file, reader.line_num))) from None


def _codebook(gold: Gold, document: Document, beside: Beside) -> str:
    """The digest of the codebook's text, as texts are digested here: without byte-order mark, lines ended by LF."""
    if gold.codebook is None:
        assert gold.codebook_sha256 is not None
        return gold.codebook_sha256
    data = beside.read(gold.codebook, document.where("codebook"))
    return canonical.sha256(canonical.decode_utf8(data, where=Where(gold.codebook)).encode())


def _refuse_unfit(given: RaterGold, items: Mapping[str, tuple[JudgedItem, Where]]) -> None:
    """Refuse labels of items that are not there, or that are no longer what was labelled."""
    findings = Findings()
    for index, label in enumerate(given.gold.labels):
        problem = _unfit(label, items)
        if problem is not None:
            where = given.place(index)
            findings.add(replace(problem, where=replace(where, field=_below(where, str(problem.where.field)))))
    findings.refuse_if_any()


def _unfit(label: GoldLabel, items: Mapping[str, tuple[JudgedItem, Where]]) -> Problem | None:
    if label.item not in items:
        found = f"the item {quote(label.item)}, which the items file does not hold"
        return Problem(found, "an item of it", nearest(label.item, items), Where(field="item"))
    item, where = items[label.item]
    if label.item_sha256 is None or label.item_sha256 == item.content_sha256():
        return None
    found = f"{quote(label.item_sha256)} for the item {quote(label.item)}"
    expected = f"{quote(item.content_sha256())}, the digest of its content in {where}"
    fix = "The input changed since it was labelled: restore it, or label it again."
    return Problem(found, expected, fix, Where(field="item_sha256"))


# --- the items ------------------------------------------------------------------------------------------------------


def _read_items(beside: Beside, name: str, where: Where) -> dict[str, tuple[JudgedItem, Where]]:
    return _items(beside.read(name, where), str(beside.folder / name))


def _items(data: bytes, file: str) -> dict[str, tuple[JudgedItem, Where]]:
    """The items of a JSONL file with their places; ``schema`` may be left out of a line."""
    findings, found = Findings(), dict[str, tuple[JudgedItem, Where]]()
    contents: dict[str, Where] = {}
    for number, value in read_jsonl(io.BytesIO(data), file):
        where = Where(file, number)
        try:
            item = _item(value, where)
        except InputError as refused:
            findings.add(*refused.problems)
            continue
        sha = item.content_sha256()
        if item.id in found:
            twice = f"the item {quote(item.id)} twice, first in line {found[item.id][1].line}"
            findings.add(Problem(twice, "each id once", where=where))
        elif sha in contents:
            same = f"the item {quote(item.id)}, which has the same content as that in line {contents[sha].line}"
            findings.add(Problem(same, "each input once", "Leave one of them out.", where))
        found[item.id], contents[sha] = (item, where), where
    if not found:
        findings.add(Problem("no items", "at least one line with an item", where=Where(file)))
    findings.refuse_if_any()
    return found


def _item(value: Any, where: Where) -> JudgedItem:
    if isinstance(value, dict) and "schema" not in value:
        value = {"schema": JudgedItem.schema_name, **value}
    if not isinstance(value, dict):
        raise InputError(Problem(quote(value), "a map, the fields of an item", where=where))
    return JudgedItem.from_dict(value, where=where)


def _joined(files: Iterable[Mapping[str, tuple[JudgedItem, Where]]]) -> dict[str, JudgedItem]:
    """The items of several files as one set: the same item may be in two of them, and nothing else may."""
    findings, joined = Findings(), dict[str, tuple[JudgedItem, Where]]()
    names: dict[str, str] = {}
    for name, (item, where) in (entry for file in files for entry in file.items()):
        sha = item.content_sha256()
        first = joined.setdefault(name, (item, where))
        if first[0] != item:
            found = f"the item {quote(name)}, which is another in {first[1]}"
            findings.add(Problem(found, "one item under one id", where=where))
        elif names.setdefault(sha, name) != name:
            found = f"the item {quote(name)}, which has the same content as {quote(names[sha])}"
            findings.add(Problem(found, "each input once", where=where))
    findings.refuse_if_any()
    return {name: item for name, (item, _) in joined.items()}


# --- several raters -------------------------------------------------------------------------------------------------


def _refuse_apart(raters: Sequence[RaterGold], codebooks: Sequence[str]) -> None:
    """Refuse files that are not one gold set: one person twice, other codebooks, other frames."""
    findings = Findings()
    first, seen = raters[0], dict[str, Path]()
    for given, codebook in zip(raters, codebooks, strict=True):
        where = Where(str(given.path))
        if given.rater in seen:
            found = f"the rater {quote(given.rater)}, who is in {seen[given.rater]} too"
            findings.add(Problem(found, "one file a rater", where=replace(where, field="rater")))
        seen.setdefault(given.rater, given.path)
        if codebook != codebooks[0]:
            found = f"labels under the codebook {codebook[:12]}…"
            expected = f"that of {first.path}, {codebooks[0][:12]}…"
            fix = "Labels under two codebooks answer two questions: study them apart."
            findings.add(Problem(found, expected, fix, replace(where, field="codebook")))
        if given.gold.frame != first.gold.frame:
            found, expected = f"the frame {given.gold.frame}", f"{first.gold.frame}, as in {first.path}"
            findings.add(Problem(found, expected, where=replace(where, field="frame")))
    findings.refuse_if_any()
