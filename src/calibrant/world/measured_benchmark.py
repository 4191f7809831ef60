"""Waits for the JSON that pytest-benchmark writes, and takes one statistic of one benchmark."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from calibrant import canonical
from calibrant.errors import InputError, quote
from calibrant.records.problems import refuse
from calibrant.records.types import Name
from calibrant.world import places
from calibrant.world.base import Raw
from calibrant.world.measured import Broken, Looking, Measured, Place, Seen, exact, listed, of_text
from calibrant.world.reading import as_raw

MOST_BYTES: Final = 32_000_000
"""The largest file that is read: it holds every single round."""

_WITHOUT_UNIT: Final = frozenset({"ops", "rounds"})


class BenchmarkPlace(Place):
    """The benchmark ``name`` (its name or its full name) in the ``file`` of ``--benchmark-json``.

    ``statistic`` is one of those that pytest-benchmark computes: in seconds, but for ``ops`` (a second) and ``rounds``.
    ``extra`` takes a number of the benchmark's ``extra_info`` instead, in ``unit``.
    """

    where: ClassVar[str] = "benchmark"

    file: Annotated[str, Field(min_length=1)]
    name: Name
    statistic: Literal["min", "max", "mean", "stddev", "median", "iqr", "q1", "q3", "total", "ops", "rounds"] = "mean"
    extra: Name | None = None
    unit: Name | None = None

    @model_validator(mode="after")
    def _has_one_unit(self) -> Self:
        if self.unit is not None and self.extra is None:
            refuse("a `unit` without `extra`", "none: a statistic of pytest-benchmark is in seconds")
        return self

    def named(self) -> str:
        """The statistic, the benchmark and the file."""
        return f"{self.extra or self.statistic} of the benchmark {quote(self.name)} in {quote(self.file)}"

    def paths(self) -> tuple[str, ...]:
        """The file."""
        return (self.file,)

    def unit_of(self) -> str | None:
        """Seconds, none, or what the board says of its extra number."""
        if self.extra is not None:
            return self.unit
        return None if self.statistic in _WITHOUT_UNIT else "s"

    async def look(self, looking: Looking) -> Seen | Broken:
        """Read the file; in a thread, because it may be large."""
        return await asyncio.to_thread(self._look, looking)

    def _look(self, looking: Looking) -> Seen | Broken:
        from calibrant.world import jsonpath

        try:
            data = places.read_regular(places.locate(self.file, looking.surroundings), MOST_BYTES)
            document = jsonpath.parse(data.decode("utf-8-sig"))
        except FileNotFoundError:
            return Seen(lacking=f"there is no file {quote(self.file)} yet")
        except OSError as refused:
            return Broken(places.reason_of(refused, self.file))
        except InputError as refused:
            return Broken(refused.problems[0].found)
        except (UnicodeDecodeError, jsonpath.Unreadable) as half:
            return Seen(lacking=f"the file {quote(self.file)} is not whole yet, or no JSON: {half}")
        return self._of(document, hashlib.sha256(data).hexdigest())

    def _of(self, document: Any, sha256: str) -> Seen:
        """The benchmark in a document of pytest-benchmark."""
        benchmarks = document.get("benchmarks") if isinstance(document, dict) else None
        if not isinstance(benchmarks, list) or "datetime" not in document:
            return Seen(lacking=f"the file {quote(self.file)} is no JSON of pytest-benchmark")
        at = of_text(document["datetime"])
        if isinstance(at, str):
            return Seen(lacking=f"the file {quote(self.file)} does not say when it was measured: {at}")
        known = [found for found in benchmarks if isinstance(found, dict)]
        mine = [found for found in known if self.name in (found.get("fullname"), found.get("name"))]
        if len(mine) > 1:
            full = [str(found.get("fullname")) for found in mine]
            return Seen(lacking=f"{len(mine)} benchmarks are called {quote(self.name)}: name one of {listed(full)}")
        if not mine:
            names = [str(found.get("fullname")) for found in known]
            return Seen(lacking=f"{quote(self.file)} holds no benchmark {quote(self.name)}; it holds {listed(names)}")
        value = self._value(mine[0])
        if value is None:
            return Seen(lacking=f"the benchmark {quote(self.name)} has no number {quote(self.extra or self.statistic)}")
        said = {"file": self.file, "sha256": sha256, "datetime": str(document["datetime"])}
        said |= {"benchmark": str(mine[0].get("fullname")), "statistic": self.extra or self.statistic}
        evidence = canonical.encode({**said, "value": value})
        return Seen(
            (Measured(self.named(), value, at, "the end of its session", self.unit_of(), evidence=(evidence,)),)
        )

    def again(self, evidence: tuple[bytes, ...], at: datetime) -> Measured | None:
        """The number that was kept, of this benchmark and statistic, and when its session ended."""
        del at
        said = canonical.decode(evidence[0]) if len(evidence) == 1 else None
        if not isinstance(said, dict):
            return None
        full, when = str(said.get("benchmark")), of_text(said.get("datetime"))
        mine = self.name == full or full.rpartition("::")[2] == self.name
        same = (said.get("file"), said.get("statistic")) == (self.file, self.extra or self.statistic)
        value = said.get("value")
        if not (mine and same and isinstance(value, str)) or isinstance(when, str):
            return None
        return Measured(self.named(), value, when, "the end of its session", self.unit_of(), evidence=evidence)

    def _value(self, found: Mapping[str, Any]) -> Raw | None:
        among = found.get("stats" if self.extra is None else "extra_info")
        raw = as_raw(among.get(self.extra or self.statistic)) if isinstance(among, dict) else None
        return None if raw is None or isinstance(raw, bool | list) else exact(str(raw))
