"""Resolves by a measurement that is still to be made: pending until it is there, and then what was measured.

What was measured before the expectation was sealed does not count: that would be no prediction. Of several
measurements that do, the first one counts, so that nobody can wait for one that suits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, Self

from pydantic import Field, model_validator

from calibrant.errors import Problem, Where, one_of
from calibrant.records.base import Record
from calibrant.records.grounding import ResolverIdentity
from calibrant.records.outcome import Interval, Number, Outcome
from calibrant.records.problems import refuse
from calibrant.records.types import Instant, Prose
from calibrant.units import Unread, convert
from calibrant.values import format_instant
from calibrant.world import places
from calibrant.world.base import Finding, Question, Surroundings, line, overdue_since
from calibrant.world.command import Seconds
from calibrant.world.measured import Broken, Looking, Measured, Place, Seen, said_when
from calibrant.world.measured_benchmark import BenchmarkPlace
from calibrant.world.measured_file import FilePlace
from calibrant.world.measured_inspect import InspectPlace
from calibrant.world.measured_mlflow import MlflowPlace

PLACES: Final = ("file", "mlflow", "benchmark", "inspect")
"""Where a measurement may be waited for: one of these stands beside the kind."""


class MeasurementParams(Record):
    """The parameters of kind ``measurement``.

    ``awaits`` is who or what makes it, ``due`` when it is expected; one of `PLACES` says where it is read.
    ``timeout`` is the seconds that one look may take.
    """

    awaits: Prose | None = None
    due: Instant | None = None
    file: FilePlace | None = None
    mlflow: MlflowPlace | None = None
    benchmark: BenchmarkPlace | None = None
    inspect: InspectPlace | None = None
    timeout: Seconds = Field(default=60.0)

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        given = [name for name in PLACES if getattr(self, name) is not None]
        if len(given) != 1:
            refuse(" and ".join(f"`{name}`" for name in given) or "none of them", f"one of {one_of(PLACES)}")
        return self

    @property
    def place(self) -> Place:
        """Where it is waited for."""
        place: Place = next(filter(None, (getattr(self, name) for name in PLACES)))
        return place


@dataclass(frozen=True, slots=True)
class Measurement:
    """Waits for a measurement. Its evidence is what was read: the file, or what the store or the log said."""

    params: MeasurementParams
    surroundings: Surroundings

    @property
    def identity(self) -> ResolverIdentity:
        """What is waited for, and where."""
        place = self.params.place
        read = {name: value for name, value in place.model_dump(mode="json").items() if value not in (None, {})}
        due = None if self.params.due is None else format_instant(self.params.due)
        settings = {"awaits": self.params.awaits, "due": due, place.where: read}
        return ResolverIdentity(kind="measurement", version="1", settings=settings)

    def obstacle(self) -> str | None:
        """What is not installed; that nothing was measured yet is no obstacle."""
        return self.params.place.obstacle()

    def executes(self) -> list[str]:
        """The files outside the board's folder."""
        paths = [places.locate(path, self.surroundings) for path in self.params.place.paths()]
        return [f"reads: {line(path)}" for path in paths if places.is_outside(path, self.surroundings)]

    def misfits(self, outcome: Outcome | None) -> list[Problem]:
        """That its unit is none of the outcome's, however it will come out."""
        unit = self.params.place.unit_of()
        if unit is None or outcome is None:
            return []
        where = Where(field=f"{self.params.place.where}.unit")
        if not isinstance(outcome, Number | Interval):
            return [Problem(f"a measurement in {unit} for an outcome that is {outcome.kind}", "a number", None, where)]
        converted = convert(Decimal(1), unit, outcome.unit)
        if not isinstance(converted, Unread):
            return []
        expected = f"a unit that converts to that of the outcome, {outcome.unit}"
        return [Problem(f"a measurement in {unit}: {converted.reason}", expected, None, where)]

    async def resolve(self, question: Question) -> Finding:
        """The first measurement that was made since the expectation was sealed; pending while there is none."""
        looking = Looking(self.surroundings, question.committed, self.params.timeout)
        seen = await self.params.place.look(looking)
        if isinstance(seen, Broken):
            return Finding.failed(line(seen.reason), *seen.evidence)
        return self._finding(seen, question.committed)

    def _finding(self, seen: Seen, committed: datetime | None) -> Finding:
        counted = sorted(
            (one for one in seen.found if committed is None or one.at >= committed - one.grain),
            key=lambda one: (one.at, one.what),
        )
        if counted:
            return self._fact(counted[0])
        if seen.found:
            assert committed is not None
            last = max(seen.found, key=lambda one: one.at)
            what = "it" if last.what == self.params.place.named() else last.what
            return self._waiting(
                f"{what} was there before the expectation was sealed: measured {said_when(last.at)} ({last.by}), "
                f"sealed {said_when(committed)}"
            )
        return self._waiting(seen.lacking)

    def _fact(self, one: Measured) -> Finding:
        if one.at > self.surroundings.clock() + one.grain:
            return self._waiting(f"{one.what} says that it was measured {said_when(one.at)}, in the future")
        return one.finding()

    def _waiting(self, lacking: str) -> Finding:
        reason = f"waits for {line(self.params.awaits or self.params.place.named())}: {line(lacking, 400)}"
        return Finding(
            "pending", reason=reason + overdue_since(self.params.due, self.surroundings), due=self.params.due
        )


def measurement(params: Mapping[str, Any], surroundings: Surroundings) -> Measurement:
    """The resolver of kind ``measurement``.

    Raises:
        InputError: for wrong parameters, and for a path that leads out of what a board may read.
    """
    wanted = MeasurementParams.from_dict(params)
    for path in wanted.place.paths():
        places.locate(path, surroundings, wanted.place.where)
    return Measurement(wanted, surroundings)
