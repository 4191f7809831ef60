"""What a run was made from, as its own ledger keeps it: terms, board, profile, elicitation, captured evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

from calibrant import canonical
from calibrant.errors import CheckFailed, quote
from calibrant.grounding.elicitation import Shown, is_known
from calibrant.grounding.held import Held, held, title_of
from calibrant.ledger.entry import Draft
from calibrant.ledger.store import Ledger
from calibrant.records.authority import DecisionPolicy
from calibrant.records.base import Record
from calibrant.records.board import BoardHeader, Challenge, Evidence, Source
from calibrant.records.profile import Profile
from calibrant.records.terms import Capture, Elicitation, Terms
from calibrant.runs.boards import Board
from calibrant.runs.plan import Marks

BLOCK: Final = 256
"""Challenges that are read, or written, in one step."""

MOST_TASKS: Final = 50_000_000
"""The most questions (each challenge in each epoch) of one run: what is kept of each in memory is a number of bytes."""

_DIGEST = 32
_MOST_BLOCKS = 8
"""Blocks that are kept: workers run ahead of one another, across the border of two blocks or three."""
R = TypeVar("R", bound=Record)


def seal_terms(
    ledger: Ledger,
    terms: Terms,
    board: Board,
    elicitation: Elicitation,
    captures: Iterable[Source],
    policies: Iterable[DecisionPolicy] = (),
) -> None:
    """Make the terms the first entry of an empty ledger, with everything that their digests name.

    The challenges go in first, block by block; the terms are the first *entry*, written when all that they name is
    there, so that a ledger with terms is a ledger that can be resumed.
    """
    challenges = board.challenges
    for start in range(0, len(challenges), BLOCK):
        ledger.append([], map(challenges.identity_bytes, range(start, min(start + BLOCK, len(challenges)))))
    listed = b"".join(bytes.fromhex(challenges.digest(number)) for number in range(len(challenges)))
    named = [record.identity_bytes() for record in (board.header, board.profile, elicitation, *captures, *policies)]
    ledger.append([Draft("terms", terms.run, terms.to_bytes())], [listed, *named])


class RunSource:
    """The board of a run and all else that it was made from, read out of its ledger block by block.

    Raises (on opening):
        CheckFailed: where the ledger does not hold what its terms name.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        first = next(ledger.entries(), None)
        if first is None or first.kind != "terms":
            raise CheckFailed(f"{ledger.path}: the first entry is not the terms of a run. It was cut off at its start.")
        self.terms_sha256: Final = canonical.sha256(first.body)
        self.terms: Final = Terms.from_bytes(first.body)
        self.header: Final = self._record(BoardHeader, self.terms.board_sha256)
        self.profile: Final = self._record(Profile, self.terms.profile_sha256)
        self.elicitation: Final = self._record(Elicitation, self.terms.elicitation_sha256)
        if self.header.challenges * self.terms.epochs > MOST_TASKS:
            many = f"{self.header.challenges:,} challenges in {self.terms.epochs:,} epochs"
            raise CheckFailed(f"{ledger.path}: its terms name {many}; at most {MOST_TASKS:,} questions are read.")
        self._listed = ledger.blob(self.header.challenges_sha256)
        if len(self._listed) != _DIGEST * self.header.challenges:
            raise CheckFailed(f"{ledger.path}: the board names {self.header.challenges} challenges and lists others.")
        self._blocks: dict[int, list[Challenge]] = {}
        self._captured: dict[str, str] | None = None

    def __len__(self) -> int:
        return self.header.challenges

    def marks(self) -> Marks:
        """A fresh set of marks, one for each task of the run."""
        return Marks(len(self), self.terms.epochs)

    def digest(self, index: int) -> str:
        """The digest of the challenge at ``index``."""
        return self._listed[index * _DIGEST : (index + 1) * _DIGEST].hex()

    def challenge(self, index: int) -> Challenge:
        """The challenge at ``index``; where challenges are asked in order, its neighbours are read along with it."""
        if self.profile.ask_order == "shuffled":
            return Challenge.from_stored(self._ledger.blob(self.digest(index)))
        number, offset = divmod(index, BLOCK)
        block = self._blocks.get(number)
        if block is None:
            if len(self._blocks) >= _MOST_BLOCKS:
                del self._blocks[next(iter(self._blocks))]
            block = self._blocks[number] = self._read(range(number * BLOCK, min((number + 1) * BLOCK, len(self))))
        return block[offset]

    def _read(self, indices: range) -> list[Challenge]:
        with self._ledger.snapshot():
            return [Challenge.from_stored(self._ledger.blob(self.digest(index))) for index in indices]

    def challenges(self) -> Iterator[Challenge]:
        """All challenges, in the order of the board."""
        for start in range(0, len(self), BLOCK):
            yield from self._read(range(start, min(start + BLOCK, len(self))))

    def refuse_unknown_elicitation(self) -> None:
        """Refuse to render a template that is not one of this version's: the ledger may be anybody's.

        Raises:
            CheckFailed: for another template.
        """
        if not is_known(self.terms.elicitation_sha256):
            name = quote(self.elicitation.id)
            raise CheckFailed(f"{self._ledger.path}: the elicitation {name} is not one of this version of Calibrant's.")

    def word_cap(self, challenge: Challenge) -> int:
        """The most words that a response to this challenge should have."""
        if challenge.word_cap is not None:
            return challenge.word_cap
        test_type = self.profile.test_type(challenge.test_type)
        return self.profile.word_cap if test_type is None else self.profile.cap_of(test_type)

    def is_grounding(self, challenge: Challenge) -> bool:
        """Whether the challenge is graded by expectation and resolution, rather than by a label."""
        test_type = self.profile.test_type(challenge.test_type)
        return test_type is not None and test_type.rule == "grounding"

    def shown(self, challenge: Challenge) -> list[Shown]:
        """The evidence of the seat and of the challenge, as the seat is shown it."""
        seat = self.header.seat(challenge.seat)
        return [self._show(item) for item in (*seat.evidence, *challenge.evidence)]

    def held(self, challenge: Challenge) -> list[Held]:
        """What the seat holds and is asked with a challenge: all in which its fact could be read."""
        return list(held(challenge, self.header.seat(challenge.seat), self.shown(challenge)))

    def captures(self) -> dict[str, str]:
        """What was captured when the run started, as text, by the digest of its source."""
        if self._captured is None:
            self._captured = {
                capture.source_sha256: self._ledger.blob(capture.body_sha256).decode("utf-8", "replace")
                for entry in self._ledger.entries(kind="capture")
                for capture in [Capture.from_bytes(entry.body)]
            }
        return self._captured

    def wanted_captures(self) -> dict[str, Source]:
        """The sources whose evidence the terms want captured, by their digest."""
        return {digest: self._record(Source, digest) for digest in self.terms.captures}

    def policies(self) -> dict[str, DecisionPolicy]:
        """The decision policies that the run was started under, by their digest."""
        return {digest: self._record(DecisionPolicy, digest) for digest in self.terms.policies_sha256}

    def forget_captures(self) -> None:
        """Read the captures anew when they are next wanted."""
        self._captured = None

    def _show(self, item: Evidence) -> Shown:
        if item.capture is None:
            return Shown(item.title or "", (item.text or "").strip("\n"))
        text = self.captures().get(item.capture.digest())
        if text is None:
            raise CheckFailed(f"{self._ledger.path}: evidence ({title_of(item)}) was never captured.")
        return Shown(title_of(item), text.strip("\n"))

    def _record(self, kind: type[R], digest: str) -> R:
        return kind.from_bytes(self._ledger.blob(digest))
