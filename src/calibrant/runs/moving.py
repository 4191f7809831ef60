"""Whether the world said the same in every epoch of one run: eight bytes a challenge, however often it is asked."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Final

from calibrant import canonical
from calibrant.ledger.store import Ledger
from calibrant.records.grounding import Fact, Resolution
from calibrant.runs.plan import task_of
from calibrant.runs.source import RunSource

MOST_NAMED: Final = 5


class Moving:
    """Keeps a trace of the first fact of each challenge, and which challenges had another one later."""

    def __init__(self, challenges: int, epochs: int) -> None:
        self._first = array("Q", bytes(8 * challenges)) if epochs > 1 else array("Q")
        self.moved: set[int] = set()

    def take(self, number: int, resolution: Resolution) -> None:
        """Take in what the world said about a challenge in one epoch."""
        if not self._first or resolution.value is None or resolution.status != "fact":
            return
        trace = _trace(resolution.value)
        if not self._first[number]:
            self._first[number] = trace
        elif self._first[number] != trace:
            self.moved.add(number)

    def warning(self, ledger: Ledger, source: RunSource) -> Iterator[str]:
        """That the world changed its answer between epochs, with both answers of the first challenges; or nothing."""
        if not self.moved:
            return
        named = sorted(self.moved)[:MOST_NAMED]
        said = _both(ledger, frozenset(named))
        each = [f"{source.challenge(number).id} was {said[number]}" for number in named]
        rest = f", and {len(self.moved) - len(named)} more" if len(self.moved) > len(named) else ""
        yield f"The world did not say the same in every epoch: {'; '.join(each)}{rest}."


def _trace(fact: Fact) -> int:
    """A number that stands for a fact; zero stands for none."""
    written = list(fact) if isinstance(fact, tuple) else fact
    return int(canonical.digest(written)[:16], 16) or 1


def _both(ledger: Ledger, numbers: frozenset[int]) -> dict[int, str]:
    """The first fact and the first other one of each of these challenges, with their epochs."""
    first: dict[int, Resolution] = {}
    said: dict[int, str] = {}
    for entry in ledger.entries(kind="resolution"):
        number = task_of(entry.key).number
        if number not in numbers or number in said:
            continue
        resolution = Resolution.from_stored(entry.body)
        if resolution.status != "fact":
            continue
        before = first.setdefault(number, resolution)
        if before.value != resolution.value:
            said[number] = (
                f"{_words(before)} in epoch {before.epoch} and {_words(resolution)} in epoch {resolution.epoch}"
            )
    return said


def _words(resolution: Resolution) -> str:
    value = resolution.value
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, tuple) else str(value)
