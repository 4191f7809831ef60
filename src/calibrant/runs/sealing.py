"""Sealed boards: publish one with what gives its answers away kept back behind digests, and open it again.

Kept back of each challenge are its ``target``, its ``note``, and the source that holds or finds its fact: its resolver,
or the source inside one that says in the open why an out-half cannot be determined. What a seat is shown stays.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import secrets
import shutil
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from pydantic import JsonValue

from calibrant import canonical
from calibrant.errors import InputError, MachineError, Problem, Where, quote
from calibrant.grounding.folding import fold
from calibrant.grounding.leak import stands_in
from calibrant.grounding.tells import forms_of
from calibrant.records.board import BoardHeader, Challenge, Evidence, Seat, Source
from calibrant.records.outcome import Categorical, Set, Text
from calibrant.records.profile import Profile
from calibrant.records.sealed import AnswersHead, SealedAnswer
from calibrant.runs.answers import Answers
from calibrant.runs.assembly import Findings
from calibrant.runs.boards import Board, load_profile
from calibrant.runs.check import check
from calibrant.runs.files import read_record
from calibrant.runs.folder import is_same_file, refuse_overwriting
from calibrant.world.base import Allow
from calibrant.world.sealed import WRAPPERS, kept_back

OPEN_KINDS: Final = frozenset({"attested", "other-lane", "pending"})
"""Kinds of resolver that hold no fact and find none: a person says why, or will say what."""

_SEALED: Final = "sealed"
_WORDS: Final = frozenset({"by", "reason", "awaits", "lane"})
_AS_WORDS: Final = str.maketrans("-_.", "   ")
_PRIVATE, _PUBLIC = 0o600, 0o644


@dataclass(frozen=True, slots=True)
class Sealing:
    """What was sealed: the published board's digest, how many of its challenges keep something back, and where.

    ``shown`` lists, for each place of the published board, the challenges whose fact or target can be read there.
    """

    board_sha256: str
    public: Path
    answers: Path
    challenges: int
    sealed: int
    moved: bool
    profile: Path | None = None
    shown: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def seal_board(
    board: Board,
    public: Path,
    answers: Path,
    *,
    force: bool = False,
    publish_aliases: bool = False,
    allow: Allow | None = None,
    salt: Callable[[], str] = lambda: secrets.token_hex(16),
) -> Sealing:
    """Write the published form of ``board`` to ``public`` and what it keeps back to ``answers``.

    Nothing is left behind where anything goes wrong. ``force`` replaces files that are there; ``publish_aliases`` lets
    the aliases of open outcomes stand, which give the fact away. ``allow`` is what the board may reach, as for
    `calibrant.check`: once its facts are kept back, nobody else can check them.

    Raises:
        InputError: for a board that a check refuses, that is sealed already or seals nothing, for aliases, for a file
            that is there or that is the board itself, and for a private file in a git working tree that does not
            ignore it.
        MachineError: where the disk does not take it.
    """
    profile = _profile_beside(board.profile, public)
    same = _kept_profile(board.profile, profile)
    _refuse_other_ending(public, "a published board")
    _refuse_places((public, answers), profile, {"the board to seal": board.source}, kept=same, force=force)
    _refuse_published(answers)
    _refuse_unsealable(board, publish_aliases=publish_aliases)
    check(board, allow=allow).refuse()
    shown: dict[str, list[str]] = defaultdict(list)
    running, count = hashlib.sha256(), 0
    places = {public: _PUBLIC, answers: _PRIVATE}
    with _whole_together(places) as (out, private), tempfile.TemporaryFile() as kept:
        _write_line(out, _head(board.header, profile))
        for challenge in board.challenges:
            closed, answer = sealed_challenge(challenge, salt)
            running.update(bytes.fromhex(closed.digest()))
            _write_line(out, _written(closed))
            if answer is not None:
                count += 1
                kept.write(answer.to_bytes() + b"\n")
                for place in _shown_in(answer, challenge, board.header):
                    shown[place].append(challenge.id)
        if not count:
            raise InputError(Problem("a board that holds no answer", "targets, or sources that find facts"))
        header = board.header.model_copy(update={"challenges_sha256": running.hexdigest()})
        head = AnswersHead(board_sha256=board.digest(), sealed_board_sha256=header.digest(), answers=count)
        _write_answers(private, head, kept)
        _write_profile(board.profile, profile)
    return Sealing(
        board_sha256=header.digest(),
        public=public,
        answers=answers,
        challenges=len(board.challenges),
        sealed=count,
        moved=public.parent.resolve() != board.folder.resolve(),
        profile=profile,
        shown={place: tuple(names) for place, names in shown.items()},
    )


def _write_answers(private: IO[bytes], head: AnswersHead, kept: IO[bytes]) -> None:
    """The head of the answers, which tells their number, and then the answers that were gathered in ``kept``."""
    private.write(head.to_bytes() + b"\n")
    kept.seek(0)
    shutil.copyfileobj(kept, private)


def sealed_challenge(challenge: Challenge, salt: Callable[[], str]) -> tuple[Challenge, SealedAnswer | None]:
    """A challenge as it is published, and what is kept back of it; itself, where it holds nothing to keep back."""
    resolver = challenge.resolver
    hidden = resolver if resolver is not None and _holds_a_fact(resolver) else None
    if challenge.target is None and hidden is None and challenge.note is None:
        return challenge, None
    answer = SealedAnswer(
        challenge=challenge.id, salt=salt(), target=challenge.target, source=hidden, note=challenge.note
    )
    digest = answer.digest()
    closed: dict[str, Any] = {"target": None, "note": None, "sealed": digest}
    if hidden is not None:
        closed["resolver"] = _closed(hidden, digest)
    return challenge.model_copy(update=closed), answer


def open_board(board: Board, answers: Answers, out: Path, *, force: bool = False) -> str:
    """Check every digest of a published board and of its answers, and write the board as it was before; its digest.

    Raises:
        InputError: as `Answers.match` does; for a file that is there, or that is one of the two which are read.
        MachineError: where the disk does not take it.
    """
    _refuse_other_ending(out, "an opened board")
    read = {"the published board": board.source, "its answers": answers.path}
    profile = _profile_beside(board.profile, out)
    same = _kept_profile(board.profile, profile)
    _refuse_places((out,), profile, read, kept=same, force=force)
    answers.match(board.header, board.challenges)
    with _whole(out, _PUBLIC) as file:
        _write_line(file, _head(board.header, profile))
        for challenge in board.challenges:
            _write_line(file, _written(answers.opened(challenge)))
        _write_profile(board.profile, profile)
    return answers.head.board_sha256


def _holds_a_fact(source: Source) -> bool:
    """Whether a resolver holds or finds the fact, itself or by a source inside it."""
    return source.kind not in OPEN_KINDS and (source.kind not in WRAPPERS or source.params.get("source") is not None)


def _closed(source: Source, digest: str) -> Source:
    """What stands in the published board for a resolver that is kept back."""
    inner: dict[str, JsonValue] = {"kind": _SEALED, "sha256": digest}
    if source.kind in WRAPPERS:
        return Source(kind=source.kind, params={**source.params, "source": inner})
    return Source(kind=_SEALED, params={"sha256": digest})


def _refuse_unsealable(board: Board, *, publish_aliases: bool) -> None:
    findings = Findings()
    for index, challenge in enumerate(board.challenges):
        where = board.where(index)
        if challenge.sealed is not None:
            raise InputError(Problem("a board that is sealed already", "one that holds its answers", where=where))
        if not publish_aliases and _names_the_fact(challenge):
            found = f"aliases in the outcome of {quote(challenge.id)}, which give the fact away"
            fix = "Give them with the fact, as a list of what is right; or let them stand with --publish-aliases."
            findings.add(Problem(found, "an outcome that does not tell", fix, where))
    findings.refuse_if_any()


def _names_the_fact(challenge: Challenge) -> bool:
    """Whether other spellings stand beside an outcome, and not of each of its values: of what, if not of the fact?"""
    outcome = challenge.outcome
    if isinstance(outcome, Text):
        return bool(outcome.aliases)
    if not isinstance(outcome, Categorical | Set) or not outcome.aliases:
        return False
    spelled = {fold(name) for name in outcome.aliases}
    return not outcome.values or not {fold(value) for value in outcome.values} <= spelled


def _shown_in(answer: SealedAnswer, challenge: Challenge, header: BoardHeader) -> Iterator[str]:
    """The places of the published board in which the target or a fact that stands in the board can be read."""
    value = kept_back(answer.source).params.get("value") if answer.source is not None else None
    seat = header.seat(challenge.seat)
    names = (challenge.id, challenge.pair_id or "", challenge.attribute)
    places = {
        "question": (challenge.prompt or "", *(turn.content for turn in challenge.turns)),
        "evidence": tuple(text for piece in (*seat.evidence, *challenge.evidence) for text in _texts_of(piece)),
        "seat's context": (seat.context,),
        "seat's name, lane or purpose": (seat.name or "", seat.lane, seat.purpose or ""),
        "id, pair or attribute": (*names, *(name.translate(_AS_WORDS) for name in names)),
        "words of the resolver": tuple(_open_words(challenge.resolver)),
        "title of the board": (header.title or "",),
    }
    for place, texts in places.items():
        forms = () if value is None else forms_of(challenge.outcome, value, "\n".join(texts))
        if any(stands_in(fact, text) for fact in (answer.target, *forms) for text in texts):
            yield place


def _texts_of(piece: Evidence) -> Iterator[str]:
    """The texts of a piece of evidence, with what the source of a captured one holds in the open."""
    yield piece.title or ""
    yield piece.text or ""
    if piece.capture is not None and piece.capture.kind == "facts":
        value = piece.capture.params.get("value")
        yield from map(str, value if isinstance(value, list) else [value])


def _open_words(source: Source | None) -> Iterator[str]:
    """What a person wrote in a resolver that stays open, or in what stays open around one that does not."""
    if source is not None and (source.kind in OPEN_KINDS or source.kind in WRAPPERS):
        yield from (value for name, value in source.params.items() if isinstance(value, str) and name in _WORDS)


def _head(header: BoardHeader, profile: Path | None) -> dict[str, Any]:
    """The first line of a board file that stands by itself: its texts are in it."""
    return {
        "schema": BoardHeader.schema_name,
        "profile": "default" if profile is None else profile.name,
        "frame": header.frame,
        **({} if header.title is None else {"title": header.title}),
        "seats": [_seat(seat) for seat in header.seats],
    }


def _seat(seat: Seat) -> dict[str, Any]:
    return {**_without_defaults(seat.to_dict()), "context": {"text": seat.context}}


def _written(challenge: Challenge) -> dict[str, Any]:
    return _without_defaults({name: value for name, value in challenge.to_dict().items() if name != "schema"})


def _without_defaults(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None and value != []}


def _write_line(file: IO[bytes], fields: Mapping[str, Any]) -> None:
    file.write(canonical.encode(fields) + b"\n")


def _profile_beside(profile: Profile, board: Path) -> Path | None:
    """Where the profile of a board goes that is to stand by itself; nowhere, if it is the default one."""
    if profile.digest() == load_profile("default").digest():
        return None
    return board.with_name(f"{board.stem}.profile.json")


def _write_profile(profile: Profile, path: Path | None) -> None:
    """The profile beside its board; one that is there and says the same stays as its author wrote it."""
    if path is not None and _kept_profile(profile, path) is None:
        with _whole(path, _PUBLIC) as beside:
            beside.write(profile.to_bytes() + b"\n")


def _kept_profile(profile: Profile, path: Path | None) -> Path | None:
    """The place of a profile, where it is there already and says the same."""
    try:
        return path if path is not None and read_record(path, Profile).digest() == profile.digest() else None
    except InputError:
        return None


def _refuse_other_ending(board: Path, what: str) -> None:
    if board.suffix.lower() not in (".jsonl", ".ndjson"):
        found = f"{what} named {quote(board.name)}"
        raise InputError(Problem(found, "a name that ends in .jsonl", where=Where(str(board))))


def _refuse_places(
    written: tuple[Path, ...], profile: Path | None, read: Mapping[str, Path | None], *, kept: Path | None, force: bool
) -> None:
    """Refuse files to write that are one file, that are read here, or that are there already and not ``kept``."""
    places = [*written, *([profile] if profile is not None else [])]
    for place in places:
        refuse_overwriting(place, read)
    for one, other in itertools.combinations(places, 2):
        if is_same_file(one, other):
            found = "one file for the board and its answers"
            if profile in (one, other):
                found = f"{quote(str(one))}, where the profile of the published board goes"
            raise InputError(Problem(found, "a file for each", where=Where(str(other))))
    _refuse_there([place for place in places if place != kept], force=force)


def _refuse_there(paths: list[Path], *, force: bool) -> None:
    for path in paths:
        if path.exists() and not (force and path.is_file()):
            fix = "Name another, or replace it with --force." if path.is_file() else "Name a file."
            raise InputError(Problem(f"{quote(path.name)}, which is there", "a new file", fix, Where(str(path))))


def _refuse_published(answers: Path) -> None:
    """Refuse a private file where git would take it along: in a working tree that does not ignore it."""
    folder = answers.parent.resolve()
    tree = next((above for above in (folder, *folder.parents) if (above / ".git").exists()), None)
    if tree is not None and not _is_ignored(folder / answers.name, folder):
        found = f"the answers inside the git working tree {quote(str(tree))}, which does not ignore them"
        fix = "Write them elsewhere, or name the file in .gitignore first."
        raise InputError(Problem(found, "a private place", fix, Where(str(answers))))


def _is_ignored(path: Path, folder: Path) -> bool:
    argv = ["git", "-c", "core.fsmonitor=false", "-C", str(folder), "check-ignore", "--quiet", "--", str(path)]
    try:
        return subprocess.run(argv, capture_output=True, timeout=20, check=False).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


@contextmanager
def _whole(path: Path, mode: int) -> Iterator[IO[bytes]]:
    """A file that is there whole, with that mode, once the block has ended well; else not at all."""
    with _whole_together({path: mode}) as (file,):
        yield file


@contextmanager
def _whole_together(places: Mapping[Path, int]) -> Iterator[list[IO[bytes]]]:
    """Files that are there whole, with their modes, once the block has ended well; else none of them.

    None takes its place before all are on the disk: a board whose answers were replaced without it could never be
    opened again.
    """
    with ExitStack() as drafts:
        files = [drafts.enter_context(_draft(path)) for path in places]
        yield files
        for file, (path, mode) in zip(files, places.items(), strict=True):
            with _named(path):
                file.flush()
                os.fchmod(file.fileno(), mode)
                os.fsync(file.fileno())
        for file, path in zip(files, places, strict=True):
            with _named(path):
                Path(file.name).replace(path)


@contextmanager
def _draft(path: Path) -> Iterator[IO[bytes]]:
    """A file beside the place that it is meant for; gone afterwards, where it did not take that place."""
    with _named(path):
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(temporary, "wb", opener=lambda *_: descriptor) as file, _named(path):
            yield file
    finally:
        Path(temporary).unlink(missing_ok=True)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as failed:
        raise _not_written(path, failed) from failed


def _not_written(path: Path, failed: OSError) -> MachineError:
    return MachineError(f"{path}: could not be written ({failed.strerror or failed}). Nothing was changed.")
