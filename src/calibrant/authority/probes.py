"""What a bias probe shows: how often a verdict flips under it beyond how often it flips when only asked again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from calibrant.records.probe import ProbeRating, ProbeResult
from calibrant.stats.interval import Interval
from calibrant.stats.paired import paired_difference
from calibrant.stats.proportions import Proportion, wilson
from calibrant.values import Undefined

Finding: TypeAlias = Literal["bias", "clear", "unclear", "not made"]


@dataclass(frozen=True, slots=True)
class Flips:
    """One probe in figures: flips under it, flips of the placebo, and their difference on the same items.

    ``missing`` items have no verdict in one of the three askings and are in none of the rates.
    """

    probed: Proportion
    placebo: Proportion
    excess: Interval
    missing: int


def flips_of(result: ProbeResult, *, level: float = 0.95) -> Flips | Undefined:
    """The figures of a probe, derived from its ratings; undefined where it was not made or nothing was read.

    Raises:
        ValueError: for a level outside (0, 1).
    """
    if result.skipped is not None:
        return Undefined(f"the probe was not made: {result.skipped}")
    whole = [rating for rating in result.ratings if _is_whole(rating)]
    flips = [(rating.probed != rating.verdict, rating.again != rating.verdict) for rating in whole]
    both, probe_only = flips.count((True, True)), flips.count((True, False))
    again_only, neither = flips.count((False, True)), flips.count((False, False))
    excess = paired_difference(both, probe_only, again_only, neither, level=level)
    probed = wilson(both + probe_only, len(whole), level=level)
    placebo = wilson(both + again_only, len(whole), level=level)
    if isinstance(excess, Undefined) or isinstance(probed, Undefined) or isinstance(placebo, Undefined):
        return Undefined("no item has a verdict in all three askings")
    return Flips(probed, placebo, excess, len(result.ratings) - len(whole))


def finding(result: ProbeResult, allowed: float, *, level: float = 0.95) -> Finding:
    """What a probe comes to where up to ``allowed`` excess flips are tolerated.

    ``clear``: the excess is within at its upper bound. ``bias``: it is above at its lower bound. ``unclear``: the items
    are too few to say either.
    """
    flips = flips_of(result, level=level)
    if isinstance(flips, Undefined):
        return "not made"
    if flips.excess.high <= allowed:
        return "clear"
    return "bias" if flips.excess.low > allowed else "unclear"


def _is_whole(rating: ProbeRating) -> bool:
    return None not in (rating.verdict, rating.again, rating.probed)
