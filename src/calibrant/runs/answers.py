"""Files of answers: read, held to their digests, and matched with the published board that they open."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Final

from calibrant.canonical import sha256
from calibrant.errors import InputError, Problem, Where, quote
from calibrant.records.board import Challenge
from calibrant.records.documents import decode_line
from calibrant.records.problems import shown
from calibrant.records.sealed import AnswersHead, SealedAnswer
from calibrant.runs.assembly import Findings
from calibrant.runs.files import open_input

_CHANGED: Final = "The line was changed after the board was sealed, or it belongs to another board."


class Answers:
    """What a published board keeps back, by digest. Kept as bytes: some hundreds of them for each answer."""

    def __init__(self, path: Path, head: AnswersHead, kept: dict[str, bytes], digest_of: dict[str, str]) -> None:
        self.path: Final = path
        self.head: Final = head
        self._kept = kept
        self._digest_of = digest_of

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, sha256: str) -> SealedAnswer | None:
        """The answer of that digest, or None."""
        data = self._kept.get(sha256)
        return None if data is None else SealedAnswer.from_stored(data)

    def match(self, challenges: Iterable[Challenge]) -> None:
        """Hold the answers to the challenges that seal them.

        Raises:
            InputError: naming every challenge whose answer is missing or another one, and a board that seals nothing.
        """
        findings, count = Findings(), 0
        for challenge in challenges:
            if challenge.sealed is not None:
                count += 1
                findings.add(*self._wrong(challenge.id, challenge.sealed))
        if not count:
            raise InputError(Problem("answers for a board that seals nothing", "a board made by `board seal`"))
        findings.refuse_if_any()

    def _wrong(self, name: str, sealed: str) -> Iterator[Problem]:
        where = Where(str(self.path))
        found = self._digest_of.get(name)
        if found is None:
            told = f"no answer to {quote(name)}"
            yield Problem(told, "the answer that the board seals", "Is it the answers file of this board?", where)
        elif found != sealed:
            told = f"an answer to {quote(name)} whose digest is {found[:12]}…, and the board seals {sealed[:12]}…"
            yield Problem(told, "the answer that was sealed", _CHANGED, where)


def load_answers(path: str | PathLike[str]) -> Answers:
    """The answers in the file at ``path``, as `calibrant board seal` wrote it.

    Raises:
        InputError: naming file and line of everything that is wrong with it.
    """
    path = Path(path)
    kept: dict[str, bytes] = {}
    digest_of: dict[str, str] = {}
    head: AnswersHead | None = None
    with open_input(path) as stream:
        for number, line in enumerate(stream, 1):
            if line.isspace():
                continue
            where = Where(str(path), number)
            fields = decode_line(line, where)
            if not isinstance(fields, dict):
                raise InputError(Problem(shown(fields), "a map, one answer", where=where))
            if head is None:
                head = AnswersHead.from_dict(fields, where=where)
                continue
            answer = SealedAnswer.from_dict(fields, where=where)
            if answer.challenge in digest_of:
                raise InputError(Problem(f"a second answer to {quote(answer.challenge)}", "one each", where=where))
            data = answer.to_bytes()
            digest_of[answer.challenge] = sha256(data)
            kept[digest_of[answer.challenge]] = data
    if head is None:
        raise InputError(Problem("an empty file", "the answers of a sealed board", where=Where(str(path))))
    if head.answers != len(kept):
        found = f"{len(kept)} answers, where its first line says {head.answers}"
        raise InputError(Problem(found, "the whole file", "It was cut off, or changed.", Where(str(path))))
    return Answers(path, head, kept, digest_of)


def opened_for(
    answers: Answers | str | PathLike[str] | None, challenges: Callable[[], Iterable[Challenge]]
) -> Answers | None:
    """The answers that a run is given, held to its challenges; None where it is given none.

    Raises:
        InputError: as `load_answers` and `Answers.match` do.
    """
    if answers is None:
        return None
    found = answers if isinstance(answers, Answers) else load_answers(answers)
    found.match(challenges())
    return found
