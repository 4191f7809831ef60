"""Files of answers: read, held to their digests, and matched with the published board that they open.

Nothing of such a file is taken on its word: each answer is held to the digest that the board seals, and each field of
its first line to what it is about.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Final

from calibrant.canonical import sha256
from calibrant.errors import InputError, Problem, Where, quote
from calibrant.records.board import BoardHeader, Challenge
from calibrant.records.documents import decode_line
from calibrant.records.problems import shown
from calibrant.records.sealed import AnswersHead, SealedAnswer
from calibrant.runs.assembly import Findings
from calibrant.runs.files import open_input

_CHANGED: Final = "The line was changed after the board was sealed, or it belongs to another board."


class Answers:
    """What a published board keeps back, by digest. Kept as bytes: some hundreds of them for each answer."""

    def __init__(
        self, path: Path, head: AnswersHead, kept: dict[str, bytes], digest_of: dict[str, str], head_line: int = 1
    ) -> None:
        self.path: Final = path
        self.head: Final = head
        self.head_line: Final = head_line
        self._kept = kept
        self._digest_of = digest_of

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, sha256: str) -> SealedAnswer | None:
        """The answer of that digest, or None."""
        data = self._kept.get(sha256)
        return None if data is None else SealedAnswer.from_stored(data)

    def match(self, header: BoardHeader, challenges: Iterable[Challenge]) -> None:
        """Hold the answers to the challenges that seal them, and the first line to the board, sealed and opened.

        Raises:
            InputError: naming every challenge whose answer is missing or another one, every answer that the board does
                not seal, what of the first line is another board's, and a board that seals nothing.
        """
        findings, opened, spare = Findings(), hashlib.sha256(), dict(self._digest_of)
        for challenge in challenges:
            if challenge.sealed is not None:
                spare.pop(challenge.id, None)
                findings.add(*self._wrong(challenge.id, challenge.sealed))
            opened.update(bytes.fromhex(self.opened(challenge).digest()))
        if len(spare) == len(self) and not findings:
            raise InputError(Problem("answers for a board that seals nothing", "a board made by `board seal`"))
        findings.add(*self._other("sealed_board_sha256", header.digest(), "the published board"))
        findings.add(*map(self._unasked, spare))
        if not findings:
            whole = header.model_copy(update={"challenges_sha256": opened.hexdigest()}).digest()
            findings.add(*self._other("board_sha256", whole, "the board that these answers open"))
        findings.refuse_if_any()

    def opened(self, challenge: Challenge) -> Challenge:
        """The challenge as it was before it was sealed; itself, where nothing of it is kept back, or not here."""
        answer = None if challenge.sealed is None else self.get(challenge.sealed)
        return challenge if answer is None else opened_challenge(challenge, answer)

    def _other(self, name: str, wanted: str, whose: str) -> Iterator[Problem]:
        """What is wrong with a digest of the first line."""
        found = getattr(self.head, name)
        if found != wanted:
            told = f"{name} {found}, where the digest of {whose} is {wanted}"
            fix = "They are the answers of another board, or one of the two was changed after it was sealed."
            yield Problem(told, "the digest of this board", fix, Where(str(self.path), self.head_line))

    def _unasked(self, name: str) -> Problem:
        told = f"an answer to {quote(name)}, of which the board keeps nothing back"
        return Problem(told, "only the answers that the board seals", _CHANGED, Where(str(self.path)))

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
    head_line = 1
    with open_input(path) as stream:
        for number, line in enumerate(stream, 1):
            if line.isspace():
                continue
            where = Where(str(path), number)
            fields = decode_line(line, where)
            if not isinstance(fields, dict):
                raise InputError(Problem(shown(fields), "a map, one answer", where=where))
            if head is None:
                head, head_line = AnswersHead.from_dict(fields, where=where), number
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
        found = f"answers {head.answers}, where {len(kept)} follow"
        where = Where(str(path), head_line)
        raise InputError(Problem(found, "the whole file", "It was cut off, or changed.", where))
    return Answers(path, head, kept, digest_of, head_line)


def opened_challenge(challenge: Challenge, answer: SealedAnswer) -> Challenge:
    """The challenge as it was before it was sealed."""
    resolver = answer.source if answer.source is not None else challenge.resolver
    return challenge.model_copy(
        update={"target": answer.target, "note": answer.note, "resolver": resolver, "sealed": None}
    )


def opened_for(
    answers: Answers | str | PathLike[str] | None, header: BoardHeader, challenges: Iterable[Challenge]
) -> Answers | None:
    """The answers that a run is given, held to its board; None where it is given none.

    Raises:
        InputError: as `load_answers` and `Answers.match` do.
    """
    if answers is None:
        return None
    found = answers if isinstance(answers, Answers) else load_answers(answers)
    found.match(header, challenges)
    return found
