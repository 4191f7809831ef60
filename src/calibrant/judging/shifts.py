"""What ratings say beside whether a verdict flipped: which way, how often without a placebo, and for whose items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from calibrant.records.authority import ProbeName
from calibrant.records.gold import JudgedItem
from calibrant.records.probe import ProbeReport, ProbeResult
from calibrant.stats.proportions import Proportion, wilson
from calibrant.values import Undefined


class Shift(NamedTuple):
    """How many verdicts went from one label to another: under the probe, and in the placebo, of the same items."""

    before: str
    after: str
    probed: int
    placebo: int


@dataclass(frozen=True, slots=True)
class Leniency:
    """How often a judge passes what gold does not, of items by ``author`` and of all others that name an author."""

    author: str
    own: Proportion | Undefined
    others: Proportion | Undefined


def shifts_of(result: ProbeResult) -> tuple[Shift, ...]:
    """Which way verdicts flipped, of the items with a verdict in all three askings; the most frequent first."""
    whole = [r for r in result.ratings if None not in (r.verdict, r.again, r.probed)]
    probed = Counter((str(r.verdict), str(r.probed)) for r in whole if r.probed != r.verdict)
    placebo = Counter((str(r.verdict), str(r.again)) for r in whole if r.again != r.verdict)
    ways = sorted(probed.keys() | placebo.keys(), key=lambda way: (-probed[way], -placebo[way], way))
    return tuple(Shift(*way, probed[way], placebo[way]) for way in ways)


def flip_rate_without_placebo(result: ProbeResult, *, level: float = 0.95) -> Proportion | Undefined:
    """How often verdicts flipped under the probe, whether or not the items were asked again.

    It says nothing of a bias by itself: part of it, or all, is how often the judge changes its mind anyway. It is all
    that there is where ratings come without a placebo.

    Raises:
        ValueError: for a level outside (0, 1).
    """
    read = [rating for rating in result.ratings if rating.verdict is not None and rating.probed is not None]
    rate = wilson(sum(rating.probed != rating.verdict for rating in read), len(read), level=level)
    return Undefined("no item has a verdict with the probe and without") if isinstance(rate, Undefined) else rate


_PLAIN_FIRST: Final[tuple[ProbeName, ...]] = (
    "verbosity",
    "paraphrase",
    "label-name",
    "self-preference",
    "authority",
    "order",
)


def verdicts_of(report: ProbeReport) -> dict[str, str]:
    """The verdict on each item as it is, by the item's id; where no such probe was made, as near to it as there is.

    The probes of authors ask with an unnamed author, that of the order of two answers in one order only.
    """
    made = {result.probe: result for result in report.results if result.ratings}
    first = next((made[name] for name in _PLAIN_FIRST if name in made), None)
    ratings = first.ratings if first is not None else ()
    return {rating.item: rating.verdict for rating in ratings if rating.verdict is not None}


def leniency(
    items: Iterable[JudgedItem],
    verdicts: Mapping[str, str],
    gold: Mapping[str, str],
    *,
    author: str,
    positive: str,
    level: float = 0.95,
) -> Leniency | Undefined:
    """How often the judge passes what gold fails, of items that ``author`` (its own model) wrote and of the others.

    ``verdicts`` and ``gold`` are labels by the item's id. Items without author, verdict or gold are left out. The two
    rates are of different items: a difference may be the items' and not the judge's.

    Raises:
        ValueError: for a level outside (0, 1).
    """
    failed = [item for item in items if item.author and item.id in verdicts and gold.get(item.id, positive) != positive]
    own = [item.author.casefold() == author.casefold() for item in failed if item.author is not None]
    passed = [verdicts[item.id] == positive for item in failed]
    if not any(own):
        return Undefined(f"no item by {author} has a verdict and failed in gold")

    def rate(wanted: bool) -> Proportion | Undefined:
        of = [one for one, mine in zip(passed, own, strict=True) if mine == wanted]
        return wilson(sum(of), len(of), level=level)

    return Leniency(author, rate(True), rate(False))
