"""Whether an outcome space leaves room to be right and to be wrong: for the fact that is there, and for others."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import portion

from calibrant.errors import Problem, Where, quote
from calibrant.grounding.folding import fold
from calibrant.grounding.match import read_fact
from calibrant.grounding.options import Covering, covering, is_whole, whole_ends, write_covering
from calibrant.grounding.width import extent
from calibrant.records.outcome import Categorical, Interval, Number, Outcome
from calibrant.records.types import write_quantity
from calibrant.units import Unread

_NOTHING = "Whatever is answered is right there, so that right means nothing."


def missed_by(outcome: Outcome, raw: object) -> Problem | None:
    """Why a fact is none that the outcome space offers or takes to be plausible; None where it is one.

    ``raw`` is the fact as its source wrote it; one that cannot be read in the space is no matter of this function. Of
    several accepted facts one that is offered is enough. The options have to be sound (`check_options`).
    ``found`` reads on behind a name of the fact, and has no place.
    """
    fact = read_fact(outcome, raw)
    if isinstance(fact, Unread | bool):
        return None
    facts = fact if isinstance(fact, tuple) else (fact,)
    if isinstance(outcome, Number | Interval):
        return _missed_number(outcome, [Decimal(str(one)) for one in facts])
    if isinstance(outcome, Categorical) and outcome.options:
        offered = {fold(name) for name in (*outcome.values, *(option.name for option in outcome.options))}
        if not any(fold(str(one)) in offered for one in facts):
            return Problem("which is none of the options", "a fact that one of the options names", "Add an option.")
    return None


def _missed_number(outcome: Number | Interval, facts: list[Decimal]) -> Problem | None:
    if outcome.plausible is not None:
        space = portion.closed(*outcome.plausible)
        facts = [fact for fact in facts if fact in space]
        if not facts:
            expected = "a fact that is plausible"
            return Problem(f"outside the plausible range {write_covering(space)}", expected, "Widen the range.")
    covers = [covering(option, outcome.unit) for option in outcome.options]
    if covers and not any(fact in here for fact in facts for here in covers):
        return Problem("which no option holds", "options of which one holds the fact", "Widen or add an option.")
    return None


def check_room(outcome: Outcome) -> Iterator[Problem]:
    """What leaves no room to be wrong: a range of one number, a single option or one that covers the whole range, a
    `max_width` or a tolerance that spans it. The options have to be sound (`check_options`)."""
    if isinstance(outcome, Number | Interval) and outcome.plausible is not None:
        space = portion.closed(*outcome.plausible)
        if _is_one(space, outcome):
            found = f"the plausible range {write_covering(space)}, which is one number"
            yield Problem(found, "a range that leaves a choice", _NOTHING, Where(field="plausible"))
            return
        yield from _spanned(outcome, space)
    if len(outcome.options) == 1 and not (isinstance(outcome, Categorical) and outcome.values):
        found = f"a single option, {quote(outcome.options[0].name)}"
        yield Problem(found, "two options or more", _NOTHING, Where(field="options"))
    elif isinstance(outcome, Number | Interval) and outcome.plausible is not None:
        space = portion.closed(*outcome.plausible)
        for index, option in enumerate(outcome.options):
            if space in covering(option, outcome.unit):
                found = f"the option {quote(option.name)}, which covers the whole plausible range"
                yield Problem(found, "options that divide the range", _NOTHING, Where(field=f"options[{index}].covers"))


def _is_one(space: Covering, outcome: Number | Interval) -> bool:
    first, last = whole_ends(space)
    return bool(space.lower == space.upper) or (is_whole(outcome) and first == last)


def _spanned(outcome: Number | Interval, space: Covering) -> Iterator[Problem]:
    """The fields that let one answer be right for everything plausible."""
    whole = extent(space, outcome)
    if whole is None:
        return
    if outcome.max_width is not None and outcome.max_width >= whole and not outcome.options:
        yield _wide("max_width", outcome.max_width, whole)
    if isinstance(outcome, Number) and 2 * outcome.tolerance >= whole:
        yield _wide("tolerance", outcome.tolerance, whole)


def _wide(field: str, value: Decimal, whole: Decimal) -> Problem:
    found = f"a {field} of {write_quantity(value)}, where the plausible range is {write_quantity(whole)} wide"
    return Problem(
        found,
        "one that leaves some of the range out",
        "One answer is right there whatever the fact is.",
        Where(field=field),
    )
