"""Judges and panels as loaded things: read from the files that people write, behind any subject that there is."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Final

from calibrant.errors import InputError, Problem, Where, one_of, quote
from calibrant.judging.judge import Judge
from calibrant.judging.panel import Evaluator, Panel
from calibrant.judging.parse import find_parser, vocabulary
from calibrant.judging.prompt import normal_text, resolve
from calibrant.judging.prompts import DEFAULT_PROMPTS
from calibrant.records.documents import Document, read_document
from calibrant.records.judgefile import JudgeFile, PanelFile
from calibrant.records.subject import SubjectIdentity
from calibrant.runs.asking import SubjectAsker
from calibrant.runs.files import Beside, open_document
from calibrant.runs.gating import Judged
from calibrant.runs.project import files_around
from calibrant.subjects.base import Options, Subject, warnings_of
from calibrant.subjects.registry import open_subject

LARGEST: Final = 1024 * 1024
"""The most bytes of a judge file, a prompt or a rubric."""

_IN_THEIR_OWN_FIELDS: Final = ("schema", "provider", "model", "temperature")


def load_judge(
    path: str | PathLike[str], *, options: Options | None = None, subject: Subject | Callable[..., Any] | None = None
) -> Evaluator:
    """The judge, or the panel, in the file at ``path``.

    Args:
        path: a YAML or JSON file, a `JudgeFile` or a `PanelFile`.
        options: set for the subject over those of the file: ``{"temperature": 0}``.
        subject: stands in for the subject that the file names: a subject, or a function that answers.

    Raises:
        InputError: naming file, line and field of everything that is wrong, in the file or what it names.
        MachineError: where the machine fails while the subject is got ready.
    """
    path = Path(path)
    document = open_document(path, largest=LARGEST)
    if document.fields("a judge or a panel").get("schema") != PanelFile.schema_name:
        return _judge_in(document, path, options, subject)
    if options or subject is not None:
        found = "options or a subject for a panel"
        raise InputError(Problem(found, "a panel alone", "Set them in its members' files.", Where(str(path))))
    return _panel_in(document, path)


def build_judge(
    file: JudgeFile,
    *,
    subject: Subject | Callable[..., Any] | None = None,
    options: Options | None = None,
    folder: str | PathLike[str] = ".",
) -> Judge:
    """The judge that ``file``, made in Python, describes; its paths start from ``folder``.

    Raises:
        InputError, MachineError: as `load_judge` does.
    """
    return _build(file, _Place(_beside(Path(folder)), lambda *field: Where(field=".".join(field))), subject, options)


def read_judged(path: Path) -> Judged:
    """What the judge in a file is today, as a gate has to know it; nobody is asked anything.

    Raises:
        InputError, MachineError: as `load_judge` does.
    """
    judge = load_judge(path)
    return Judged(judge.instrument, judge.capability.because, tuple(judge.artifacts().values()))


def identity_of(judge: Judge) -> SubjectIdentity | None:
    """Who answers for a judge, where it is asked through a subject."""
    return judge.asker.subject.identity if isinstance(judge.asker, SubjectAsker) else None


@dataclass(frozen=True, slots=True)
class _Place:
    """What lies beside a file, and where its fields stand."""

    beside: Beside
    where: Callable[..., Where]

    def text(self, name: str, *field: str) -> str:
        """The text of the file ``name`` that stands at ``field``."""
        data = self.beside.read(name, self.where(*field))
        if len(data) > LARGEST:
            raise InputError(
                Problem(f"{len(data):,} bytes in {quote(name)}", f"at most {LARGEST:,}", where=self.where(*field))
            )
        return normal_text(data, Where(str(self.beside.folder / name)))


def _beside(folder: Path) -> Beside:
    return files_around(folder, "the folder of the judge's file")


def _judge_in(
    document: Document, path: Path, options: Options | None, subject: Subject | Callable[..., Any] | None
) -> Judge:
    place = _Place(_beside(path.parent), document.where)
    return _build(document.record(JudgeFile), place, subject, options)


def _panel_in(document: Document, path: Path) -> Panel:
    file = document.record(PanelFile)
    beside = _beside(path.parent)
    members = []
    for index, name in enumerate(file.members):
        data = beside.read(name, document.where("members", index))
        member = path.parent / name
        members.append(_judge_in(read_document(data, str(member)), member, None, None))
    with _placed(document.where("members")):
        return Panel(id=file.id, members=tuple(members), rule=file.rule)


def _build(
    file: JudgeFile, place: _Place, subject: Subject | Callable[..., Any] | None, options: Options | None
) -> Judge:
    find_parser(file.parser, place.where("parser"))
    vocabulary(file.labels, place.where("labels"))
    rubric, _ = _text(file, "rubric", place)
    template, written_at = _text(file, "prompt", place)
    resolve(template, rubric=rubric, labels=file.labels, where=written_at)
    opened = _open(file, place, subject, options)
    identity = opened.identity
    served = {name: value for name, value in identity.to_dict().items() if name not in _IN_THEIR_OWN_FIELDS}
    with _placed(place.where()):
        return Judge(
            id=file.id,
            asker=SubjectAsker(opened),
            provider=identity.provider or identity.kind,
            model=identity.model or identity.name,
            template=template,
            rubric=rubric,
            decoding=file.decoding(served),
            parser=file.parser,
            seed=file.seed,
            temperature=identity.temperature,
            warnings=warnings_of(opened),
            paraphrases=tuple(place.text(name, "paraphrases") for name in file.paraphrases),
        )


def _text(file: JudgeFile, name: str, place: _Place) -> tuple[str, Where]:
    """The prompt or the rubric of a judge file, and where it is written."""
    inline, path = getattr(file, f"{name}_text"), getattr(file, name)
    if inline is not None:
        return normal_text(inline, place.where(f"{name}_text")), place.where(f"{name}_text")
    if path is not None:
        return place.text(path, name), Where(str(place.beside.folder / path))
    if file.parser not in DEFAULT_PROMPTS or file.mode == "completion":
        found = f"no prompt, with the parser {quote(file.parser)} in the mode {quote(file.mode)}"
        expected = f"`prompt` or `prompt_text` (a prompt ships for {one_of(DEFAULT_PROMPTS)} in a chat)"
        raise InputError(Problem(found, expected, where=place.where("prompt")))
    return normal_text(DEFAULT_PROMPTS[file.parser]), place.where("prompt")


def _open(
    file: JudgeFile, place: _Place, subject: Subject | Callable[..., Any] | None, options: Options | None
) -> Subject:
    merged: Mapping[str, Any] = {**file.options, **(options or {})}
    if isinstance(subject, Subject):
        return subject
    with _placed(place.where("subject")):
        return open_subject(subject if subject is not None else file.subject, options=merged)


@contextlib.contextmanager
def _placed(where: Where) -> Iterator[None]:
    """Name the place of what is refused inside, where it is not named yet."""
    try:
        yield
    except InputError as refused:
        if any(problem.where.file is not None for problem in refused.problems):
            raise
        places = [replace(where, field=problem.where.field or where.field) for problem in refused.problems]
        raise InputError([replace(p, where=at) for p, at in zip(refused.problems, places, strict=True)]) from None
