"""Settles late what a run owes: once, or look after look for as long as something may settle by itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from calibrant.errors import CannotCheck, RunLocked
from calibrant.ledger.store import Ledger
from calibrant.records.board import Challenge
from calibrant.records.grounding import Resolution
from calibrant.records.scorecard import Scorecard
from calibrant.records.subject import SubjectIdentity
from calibrant.runs.folder import RUN_DB, SCORECARD, write_whole
from calibrant.runs.owed import Owed, owed_from
from calibrant.runs.scoring import score
from calibrant.runs.session import Clockwork, Pace, Session, Stock
from calibrant.runs.source import RunSource
from calibrant.runs.verify import scorecard_bytes
from calibrant.runs.watching import Look
from calibrant.world.registry import World


class Late:
    """The settling of one run, look after look.

    Between two looks nothing is held open, so that labels can be given and other commands can work. What is owed is
    remembered: while the ledger has not grown, a look does not read it. The scorecard is taken away before anything is
    added to the ledger and written again afterwards, so that none that lies there ever contradicts it.
    """

    def __init__(self, folder: Path, world: World, pace: Pace, clockwork: Clockwork) -> None:
        self._folder, self._world, self._pace, self._clock = folder, world, pace, clockwork
        self._stock = Stock()
        self._owed: tuple[Owed, ...] = ()

    async def look(self) -> Look:
        """Settle what can be settled now; nothing, where somebody else writes to the run."""
        settled: list[str] = []
        try:
            with Ledger.open(self._folder / RUN_DB, write=True) as ledger:
                size, source = self._stock.size, RunSource(ledger)
                session = self._session(ledger, source, self._taking_note(settled))
                await session.settle_again()
                if session.progress.news:
                    self._write_scorecard(ledger, source)
                if session.progress.news or size != self._stock.size:
                    self._owed = tuple(owed_from(source, self._stock, self._clock.now()))
        except RunLocked as busy:
            return Look(tuple(settled), self._owed, str(busy))
        return Look(tuple(settled), self._owed)

    async def settle(self) -> Scorecard:
        """Settle what can be settled now, and score.

        Raises:
            RunLocked: where another process works on this run.
        """
        with Ledger.open(self._folder / RUN_DB, write=True) as ledger:
            source = RunSource(ledger)
            session = self._session(ledger, source, self._taking_note([]))
            await session.settle_again()
            scorecard = score(ledger, source, session.decisions)
            write_whole(self._folder / SCORECARD, scorecard_bytes(scorecard))
            return scorecard

    def _session(self, ledger: Ledger, source: RunSource, news: Callable[[Challenge, Resolution], None]) -> Session:
        nobody = Nobody(source.terms.subject)
        return Session(
            ledger,
            source,
            nobody,
            self._world,
            pace=self._pace,
            clockwork=self._clock,
            news=news,
            growing=lambda: (self._folder / SCORECARD).unlink(missing_ok=True),
            stock=self._stock,
        )

    @staticmethod
    def _taking_note(settled: list[str]) -> Callable[[Challenge, Resolution], None]:
        def note(challenge: Challenge, resolution: Resolution) -> None:
            if resolution.status not in ("pending", "error"):
                settled.append(said_of(challenge, resolution))

        return note

    def _write_scorecard(self, ledger: Ledger, source: RunSource) -> None:
        write_whole(self._folder / SCORECARD, scorecard_bytes(score(ledger, source)))


def said_of(challenge: Challenge, resolution: Resolution) -> str:
    """What was settled, in a line: ``p95-in (epoch 2): 44``."""
    value = resolution.value
    fact = ("yes" if value else "no") if isinstance(value, bool) else value
    said = ", ".join(fact) if isinstance(fact, tuple) else fact
    epoch = f" (epoch {resolution.epoch})" if resolution.epoch > 1 else ""
    return f"{challenge.id}{epoch}: {said if said is not None else resolution.reason or resolution.status}"


class Nobody:
    """The subject while only the world is asked."""

    def __init__(self, identity: SubjectIdentity) -> None:
        self.identity = identity
        self.elicitation = "plain"
        self.concurrency = 1

    async def ask(self, request: object) -> Any:
        """Nobody is asked."""
        raise CannotCheck(f"nobody is there to answer {request!r}")

    async def close(self) -> None:
        """Nothing is held."""
