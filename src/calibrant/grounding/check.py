"""What can be said against a board before anybody is asked: pairing, coverage, leakage, options, null policies."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from calibrant.errors import InputError, Problem, Where, quote
from calibrant.grounding.held import as_written, held, held_text
from calibrant.grounding.leak import stands_in
from calibrant.grounding.match import read_fact
from calibrant.grounding.options import check_options, covering, write_covering
from calibrant.grounding.policies import POLICIES, Policy, paid
from calibrant.grounding.room import check_room, missed_by
from calibrant.grounding.tells import forms_of, is_one_of_several
from calibrant.grounding.width import extent
from calibrant.records.board import BoardHeader, Challenge
from calibrant.records.outcome import Interval, Number, Set
from calibrant.records.profile import Profile
from calibrant.records.types import write_quantity
from calibrant.units import Unread

SETTLES_NOTHING = frozenset({"withheld", "attested", "other-lane", "future", "pending"})
"""Resolver kinds that may settle an out-half; any other kind is expected to find a fact."""

_SEED = 20_260_101
_MOST_NAMED = 8


@dataclass(slots=True)
class BoardCheck:
    """What a check of a board found. ``problems`` refuse the board; ``warnings`` do not."""

    challenges: int = 0
    pairs: int = 0
    by_seat: Counter[str] = field(default_factory=Counter)
    by_test_type: Counter[str] = field(default_factory=Counter)
    policies: dict[str, int] = field(default_factory=dict)
    alone: frozenset[int] = frozenset()
    """The indexes of the halves whose other half is not there, which is a problem of each."""
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)


def check_board(
    header: BoardHeader,
    profile: Profile,
    challenges: Iterable[Challenge],
    *,
    where: Callable[[int], Where] = lambda index: Where(field=f"challenges[{index}]"),
    policies: Mapping[str, Policy] = POLICIES,
) -> BoardCheck:
    """Check a board against its profile; see `BoardChecker`."""
    checker = BoardChecker(header, profile, where, policies)
    for challenge in challenges:
        checker.take(challenge)
    return checker.finish()


class BoardChecker:
    """Checks a board in one pass over its challenges, in this order:

    1. options exclude one another and cover the plausible space, and a fact that stands in the board lies in both (an
       outcome space in which whatever is answered is right is a warning);
    2. no out-half is settled by a source that finds a fact;
    3. the target or an inline fact of a pair does not stand in what its out-half shows;
    4. no null policy is paid a pair;
    5. every pair has both halves (a half-written pair is named);
    6. every lane has a challenge of its own;
    7. no question is asked twice (a warning: it would count twice).

    ``where`` tells in which place a challenge was written, by its index.
    """

    def __init__(
        self, header: BoardHeader, profile: Profile, where: Callable[[int], Where], policies: Mapping[str, Policy]
    ) -> None:
        self._header = header
        self._profile = profile
        self._where = where
        self._policies = policies
        self._found = BoardCheck(policies=dict.fromkeys(policies, 0))
        self._open: dict[str, tuple[int, Challenge]] = {}
        self._asked: dict[int, int] = {}
        self._again: list[tuple[int, int]] = []
        self._paid: dict[str, list[str]] = {name: [] for name in policies}
        self._chance = random.Random(_SEED)  # noqa: S311 - a null policy that picks at random, not a secret
        self._played: dict[tuple[str, str], tuple[str, ...]] = {}

    def take(self, challenge: Challenge) -> None:
        """Take in the next challenge of the board."""
        found, index = self._found, self._found.challenges
        found.challenges += 1
        found.by_seat[challenge.seat] += 1
        found.by_test_type[challenge.test_type] += 1
        if not _may_be_derived(challenge):
            self._take_outcome(challenge, index)
        found.problems += [_placed(problem, self._where(index)) for problem in _sources(challenge)]
        found.warnings += [_placed(problem, self._where(index)) for problem in _out_source(challenge)]
        before = self._asked.setdefault(_question(challenge), index)
        if before != index:
            self._again.append((index, before))
        if challenge.pair_id is None:
            return
        if challenge.pair_id not in self._open:
            self._open[challenge.pair_id] = (index, challenge)
            return
        first_index, first = self._open.pop(challenge.pair_id)
        if first.half == "in":
            self._take_pair(first, challenge, index)
        else:
            self._take_pair(challenge, first, first_index)

    def finish(self) -> BoardCheck:
        """What was found."""
        for index, challenge in self._open.values():
            if _may_be_derived(challenge):
                self._take_outcome(challenge, index)
        unpaired = {index: half for index, half in self._open.values() if _must_pair(self._profile, half)}
        self._found.alone = frozenset(unpaired)
        self._found.problems += [_half_written(half, self._where(index)) for index, half in unpaired.items()]
        self._found.problems += list(_paid(self._paid))
        self._found.problems += list(_uncovered(self._header, self._found))
        self._found.warnings += list(self._asked_twice())
        return self._found

    def _asked_twice(self) -> Iterator[Problem]:
        """Each question that was asked before, the first ones by name."""
        for index, first in self._again[:_MOST_NAMED]:
            before = self._where(first)
            place = f"{before.file or ''}:{before.line or ''} {before.field or ''}".strip(" :")
            found = f"the same question to the same seat, with the same evidence, as {place}"
            fix = "Ask something else, or ask once in several epochs: two of one question count as two."
            yield _placed(Problem(found, "each question once", fix), self._where(index))
        rest = len(self._again) - _MOST_NAMED
        if rest > 0:
            yield Problem(f"{rest} more questions that are asked twice", "each question once")

    def _take_outcome(self, challenge: Challenge, index: int) -> None:
        """Hold the outcome space of a challenge to its rules; one that is withheld waits for its in-half before."""
        where, found = self._where(index), self._found
        unsound = [_placed(problem, Where(field="outcome")) for problem in _outcome_problems(challenge)]
        found.problems += [_placed(problem, where) for problem in unsound]
        if not unsound:
            found.problems += [_placed(problem, where) for problem in _unwinnable(challenge)]
            found.warnings += [_placed(warning, where) for warning in (*_too_wide(challenge), *_trivial(challenge))]

    def _take_pair(self, in_half: Challenge, out_half: Challenge, out_index: int) -> None:
        self._found.pairs += 1
        if _may_be_derived(out_half) and not _is_derived(out_half, in_half):
            self._take_outcome(out_half, out_index)
        leaks = _leaks(in_half, out_half, self._header)
        self._found.problems += [_placed(problem, self._where(out_index)) for problem in leaks]
        for name in self._play(in_half, out_half):
            self._found.policies[name] += 1
            self._paid[name].append(str(in_half.pair_id))

    def _play(self, in_half: Challenge, out_half: Challenge) -> tuple[str, ...]:
        """The null policies that a pair pays. They see nothing but the two outcome spaces, so equal ones play once."""
        if in_half.outcome is None or out_half.outcome is None:
            return ()
        spaces = (in_half.outcome.model_dump_json(), out_half.outcome.model_dump_json())
        if spaces not in self._played:
            try:
                self._played[spaces] = tuple(p.policy for p in paid(in_half, out_half, self._chance, self._policies))
            except InputError:  # options that are no intervals: said of the challenge already
                self._played[spaces] = ()
        return self._played[spaces]


def _question(challenge: Challenge) -> int:
    """What a challenge asks of whom, as one number: equal for two that a seat could not tell apart."""
    evidence = tuple(item.text if item.capture is None else item.capture.digest() for item in challenge.evidence)
    turns = tuple(turn.content for turn in challenge.turns)
    return hash((challenge.seat, challenge.test_type, challenge.half, challenge.prompt, turns, evidence))


def _placed(problem: Problem, place: Where) -> Problem:
    inner = ".".join(part for part in (place.field, problem.where.field) if part) or None
    return Problem(problem.found, problem.expected, problem.fix, Where(place.file, place.line, inner))


def _outcome_problems(challenge: Challenge) -> list[Problem]:
    return check_options(challenge.outcome) if challenge.outcome is not None else []


def _may_be_derived(challenge: Challenge) -> bool:
    return challenge.half == "out" and challenge.resolver is not None and challenge.resolver.kind == "withheld"


def _is_derived(out_half: Challenge, in_half: Challenge) -> bool:
    """Whether the outcome space of an out-half is that of its in-half, so that what is wrong there was said already."""
    of = out_half.resolver.params.get("of") if out_half.resolver is not None else None
    return of == in_half.id and out_half.outcome == in_half.outcome


def _unwinnable(challenge: Challenge) -> Iterator[Problem]:
    """A fact of the board itself that no answer can be right about, as its outcome space is written."""
    source = challenge.resolver
    if challenge.outcome is None or source is None or source.kind != "facts" or "value" not in source.params:
        return
    missed = missed_by(challenge.outcome, source.params["value"])
    if missed is not None:
        found = f"the fact {quote(source.params['value'])}, {missed.found}"
        yield Problem(found, missed.expected, missed.fix, Where(field="resolver.value"))


def _trivial(challenge: Challenge) -> Iterator[Problem]:
    """An outcome space in which being right means nothing, or next to nothing."""
    if challenge.outcome is not None:
        for warning in check_room(challenge.outcome):
            yield _placed(warning, Where(field="outcome"))


def _too_wide(challenge: Challenge) -> Iterator[Problem]:
    """The options that are wider than the challenge lets an answer be: whoever chooses one cannot be right."""
    outcome = challenge.outcome
    if not isinstance(outcome, Number | Interval) or outcome.max_width is None:
        return
    for index, option in enumerate(outcome.options):
        covers = covering(option, outcome.unit)
        size = extent(covers, outcome)
        if size is None or size > outcome.max_width:
            wide = "without an end" if size is None else f"{write_quantity(size)} wide"
            found = f"the option {quote(option.name)} covering {write_covering(covers)}, {wide}"
            expected = f"options at most {write_quantity(outcome.max_width)} wide, as `max_width` says"
            fix = "Who chooses it is `too-wide`, even where it holds the fact."
            yield Problem(found, expected, fix, Where(field=f"outcome.options[{index}].covers"))


def _out_source(challenge: Challenge) -> Iterator[Problem]:
    if challenge.half == "out" and challenge.resolver and challenge.resolver.kind not in SETTLES_NOTHING:
        kind = challenge.resolver.kind
        yield Problem(
            f"an out-half resolved by {quote(kind)}",
            "withheld, attested, other-lane or future",
            "Where it finds a fact, the pair is not scored (invalid-challenge).",
            Where(field="resolver.kind"),
        )


def _must_pair(profile: Profile, challenge: Challenge) -> bool:
    test_type = profile.test_type(challenge.test_type)
    return test_type is not None and test_type.paired != "never"


def _half_written(challenge: Challenge, place: Where) -> Problem:
    other = "out" if challenge.half == "in" else "in"
    return Problem(
        f"the pair {quote(str(challenge.pair_id))} with only its {challenge.half}-half",
        f"its {other}-half too",
        "Write it, or derive an out-half with `withhold`." if other == "out" else "Write it.",
        place,
    )


def _leaks(in_half: Challenge, out_half: Challenge, header: BoardHeader) -> Iterator[Problem]:
    """The target, or a fact that stands in the board itself, in what the out-half shows."""
    seat = header.seat(out_half.seat)
    shown = list(held(out_half, seat, as_written(seat, out_half)))
    together = held_text(shown)
    for fact, forms in _known_facts(in_half, together):
        place = next((piece.field for piece in shown if any(stands_in(form, piece.text) for form in forms)), None)
        if place is not None:
            found = f"the fact {quote(str(fact))} of {quote(in_half.id)} in the {place} of its out-half"
            yield Problem(found, f"an out-half whose {place} does not give the fact away", None, Where(field=place))
            return


def _known_facts(in_half: Challenge, shown: str) -> Iterator[tuple[object, tuple[object, ...]]]:
    """Each fact that stands in the board itself, with the forms in which it would give itself away in ``shown``."""
    if in_half.target is not None and len(in_half.target.split()) <= 12:
        yield in_half.target, (in_half.target,)
    inline = in_half.resolver.params.get("value") if in_half.resolver is not None else None
    if inline is None or is_one_of_several(in_half.outcome, inline, shown):
        return
    for fact in inline if isinstance(inline, list) and not isinstance(in_half.outcome, Set) else [inline]:
        yield fact, forms_of(in_half.outcome, fact, shown)


def _sources(challenge: Challenge) -> Iterator[Problem]:
    """What is wrong with how a grounding challenge is settled, as far as the board itself shows it."""
    if challenge.resolver is None or challenge.outcome is None:
        return
    kind, params = challenge.resolver.kind, challenge.resolver.params
    if challenge.half == "in" and kind in SETTLES_NOTHING - {"pending"}:
        place = Where(field="resolver.kind")
        yield Problem(f"an in-half resolved by {quote(kind)}", "a source that finds the fact", None, place)
    if kind == "facts" and "value" in params:
        fact = read_fact(challenge.outcome, params["value"])
        if isinstance(fact, Unread):
            wanted = f"a fact of the outcome ({challenge.outcome.kind})"
            found = f"the fact {quote(params['value'])} ({fact.reason})"
            yield Problem(found, wanted, None, Where(field="resolver.value"))


def _paid(paid_pairs: Mapping[str, list[str]]) -> Iterator[Problem]:
    for policy, pairs in paid_pairs.items():
        if pairs:
            named = ", ".join(pairs[:_MOST_NAMED]) + (
                f" and {len(pairs) - _MOST_NAMED} more" if pairs[_MOST_NAMED:] else ""
            )
            yield Problem(
                f"{len(pairs)} pairs paid to the null policy {quote(policy)}: {named}",
                "no pair for a seat that knows nothing",
                "Rewrite these pairs.",
            )


def _uncovered(header: BoardHeader, found: BoardCheck) -> Iterator[Problem]:
    if found.challenges == 0:
        yield Problem("no challenge", "at least one challenge")
    for index, seat in enumerate(header.seats):
        if not found.by_seat[seat.id]:
            lane = f"the seat {quote(seat.id)} (lane: {seat.lane}) without a challenge"
            yield Problem(
                lane, "challenges in every lane", "Write some, or drop the seat.", Where(field=f"seats[{index}]")
            )
