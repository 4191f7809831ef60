"""Bias probes: what each one disturbs on an item or on the judge, and the asking that shows what verdicts do then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias, get_args

from calibrant.errors import InputError, Problem, nearest, one_of, quote
from calibrant.judging.disturb import (
    AUTHORITY,
    LEAST_PADDING,
    LENGTH_FACTOR,
    MOST_LABELS,
    UNNAMED,
    attributed,
    neutral_names,
    padded,
    renamed,
)
from calibrant.judging.engine import Cost, Tally, Task, judge_tasks
from calibrant.judging.judge import Judge, Judged
from calibrant.judging.pace import Clock, Pace
from calibrant.judging.panel import Evaluator, Panel
from calibrant.judging.prompt import FENCE
from calibrant.judging.store import JudgementStore
from calibrant.records.authority import ProbeName
from calibrant.records.gold import JudgedItem
from calibrant.records.judgefile import Decoding, Pairwise
from calibrant.records.probe import ProbeRating, ProbeReport, ProbeResult

PROBES: Final[tuple[ProbeName, ...]] = get_args(ProbeName)
"""Every probe, in the order in which they are made and shown."""

DISTURBS: Final[Mapping[ProbeName, str]] = {
    "order": "the two answers change places, each order asked alone; with a judge of one answer, its labels are listed "
    "in reverse",
    "verbosity": f"the response is padded with sentences that say nothing, to at least {LENGTH_FACTOR:g} times its "
    f"length and by at least {LEAST_PADDING} characters; of two answers, the one that lost",
    "paraphrase": "the rubric in another wording; of several wordings each item gets one",
    "label-name": "the labels have letters for names, with a line in the rubric that says which is which; for about "
    "half of the items the letters are the other way round; two answers are shown in one order",
    "self-preference": f"the response is said to be written by the judge's own model instead of by {UNNAMED}; of two "
    "answers, the one that lost",
    "authority": f"the response is said to be written by a named authority instead of by {UNNAMED}; of two answers, "
    "the one that lost",
}
"""What each probe disturbs, in words."""

_RESPONSES: Final = ("response", "answer", "output")
_LONGEST_ID: Final = 160


class _NotMade(Exception):
    """A probe cannot be made of this judge; the message says why."""


class Variant(NamedTuple):
    """The judge as a probe asks it, and what its labels are called otherwise."""

    judge: Evaluator
    back: Mapping[str, str]


Disturb: TypeAlias = Callable[[JudgedItem, str | None], JudgedItem | None]
"""The item as the probe shows it, given the verdict on the item as it is; None where there is nothing to show."""


@dataclass(frozen=True, kw_only=True)
class Probe:
    """One probe of one judge: two askings of what ``shown`` gives, by ``plain``, and one of what ``disturb`` gives.

    All that differs between the second asking and the third is what the probe disturbs: they have the same seed. Each
    item is asked of one of the ``variants``, chosen by its content.
    """

    name: ProbeName
    plain: Evaluator
    variants: tuple[Variant, ...]
    disturb: Disturb
    shown: Callable[[JudgedItem], JudgedItem] = lambda item: item

    def variant(self, item: JudgedItem) -> Variant:
        """How the judge is asked about ``item`` under the probe."""
        return self.variants[int(item.content_sha256()[:8], 16) % len(self.variants)]


def make_probe(
    name: ProbeName, judge: Evaluator, *, response: str | None = None, authority: str = AUTHORITY
) -> Probe | str:
    """The probe ``name`` of ``judge``, or why there is none. Asks nothing.

    ``response`` names the text that is judged, where it is none of ``response``, ``answer``, ``output`` and not the
    only one; ``authority`` is who is said to have written it for the probe of that name.

    Raises:
        InputError: for a ``response`` that the prompt does not show, an author that is no name, an unknown probe.
    """
    try:
        match name:
            case "order":
                return _order(judge)
            case "verbosity":
                return _verbosity(judge, response)
            case "paraphrase":
                return _paraphrase(judge)
            case "label-name":
                return _label_name(judge)
            case "self-preference":
                return _of_author(name, judge, response, _own_model(judge))
            case "authority":
                return _of_author(name, judge, response, _in_one_line(authority))
    except _NotMade as why:
        return str(why)
    raise InputError(Problem(f"the probe {quote(name)}", one_of(PROBES), nearest(name, PROBES)))


# --- one probe each --------------------------------------------------------------------------------------------------


def _order(judge: Evaluator) -> Probe:
    pairwise = _pairwise(judge)
    if pairwise is None:
        return _label_order(judge)
    first, second = pairwise.labels
    one_order = _in_one_order(judge)

    def swapped(item: JudgedItem, _: str | None) -> JudgedItem | None:
        one, other = (item.fields[field] for field in pairwise.fields)
        return _with(item, pairwise.swapped(item.fields), "swapped") if one != other else None  # nothing to swap

    swap = Variant(one_order, {first: second, second: first})
    return Probe(name="order", plain=one_order, variants=(swap,), disturb=swapped)


def _label_order(judge: Evaluator) -> Probe:
    turned = _each(judge, lambda one: _redecoded(one, labels=list(reversed(one.labels))))
    pairs = zip(judge.members, turned.members, strict=True)
    if not any(old.prompt.text != new.prompt.text or old.decoding.structured for old, new in pairs):
        raise _NotMade("the judge compares no two answers, and its prompt does not list its labels by {{ labels }}")
    return Probe(name="order", plain=judge, variants=(Variant(turned, {}),), disturb=_only_named("reversed"))


def _paraphrase(judge: Evaluator) -> Probe:
    rubric = judge.members[0].rubric
    wordings = [text for text in dict.fromkeys(judge.members[0].paraphrases) if text != rubric]
    if not wordings:
        raise _NotMade("the judge's file gives no other wording of the rubric under `paraphrases`")
    variants = (Variant(_each(judge, partial(replace, rubric=text)), {}) for text in wordings)
    return Probe(name="paraphrase", plain=judge, variants=tuple(variants), disturb=_only_named("paraphrased"))


def _label_name(judge: Evaluator) -> Probe:
    if len(judge.labels) > MOST_LABELS:
        raise _NotMade(f"there are {len(judge.labels)} labels, too many to give each a letter")
    plain = judge if _pairwise(judge) is None else _in_one_order(judge)  # both would undo what a name does to a place
    letters = neutral_names(judge.labels)
    variants = []
    for order in (letters, letters[::-1]):
        names = dict(zip(judge.labels, order, strict=True))
        other = _each(plain, partial(renamed, names=names))
        variants.append(Variant(other, {name: label for label, name in names.items()}))
    return Probe(name="label-name", plain=plain, variants=tuple(variants), disturb=_only_named("renamed"))


def _verbosity(judge: Evaluator, response: str | None) -> Probe:
    chosen = _response_field(judge, response)

    def longer(item: JudgedItem, verdict: str | None) -> JudgedItem | None:
        field = chosen(verdict)
        return None if field is None else _with(item, {**item.fields, field: padded(item.fields[field])}, "padded")

    return Probe(name="verbosity", plain=judge, variants=(Variant(judge, {}),), disturb=longer)


def _in_one_line(author: str) -> str:
    if not author.strip() or not author.isprintable():
        raise InputError(Problem(f"the author {quote(author)}", "a name: printable text in one line"))
    return author


def _own_model(judge: Evaluator) -> str:
    if isinstance(judge, Panel):
        raise _NotMade("a panel has no model of its own; probe its members")
    return judge.model


def _of_author(name: ProbeName, judge: Evaluator, response: str | None, author: str) -> Probe:
    chosen, pairwise = _response_field(judge, response), _pairwise(judge)
    fields = pairwise.fields if pairwise is not None else (chosen(None) or "",)

    def by(item: JudgedItem, names: Mapping[str, str], mark: str) -> JudgedItem:
        texts = {field: attributed(item.fields[field], names.get(field, UNNAMED)) for field in fields}
        return _with(item, {**item.fields, **texts}, mark)

    def disturb(item: JudgedItem, verdict: str | None) -> JudgedItem | None:
        field = chosen(verdict)
        return None if field is None else by(item, {field: author}, name)

    return Probe(
        name=name,
        plain=judge,
        variants=(Variant(judge, {}),),
        disturb=disturb,
        shown=lambda item: by(item, {}, "unnamed"),
    )


def _response_field(judge: Evaluator, named: str | None) -> Callable[[str | None], str | None]:
    """Which text is disturbed, given the verdict: the judged one; of two, the one that lost, or the second of a tie."""
    pairwise = _pairwise(judge)
    if pairwise is not None:
        lost = dict(zip(pairwise.labels, reversed(pairwise.fields), strict=True))
        return lambda verdict: None if verdict is None else lost.get(verdict, pairwise.fields[1])
    shown = [field for field in judge.members[0].prompt.fields if field != FENCE]
    if named is not None and named not in shown:
        raise InputError(Problem(f"the text {quote(named)}", f"one that the prompt shows: {one_of(shown)}"))
    usual = [field for field in _RESPONSES if field in shown]
    field = named or (usual or shown)[0]
    if named is None and not usual and len(shown) > 1:
        raise _NotMade(f"which of {one_of(shown)} is the response cannot be told; name it")
    return lambda _: field


def _pairwise(judge: Evaluator) -> Pairwise | None:
    first = judge.members[0].decoding.pairwise
    if any(member.decoding.pairwise != first for member in judge.members):
        raise _NotMade("the members of the panel do not compare the same texts; probe them alone")
    return first


def _in_one_order(judge: Evaluator) -> Evaluator:
    return _each(judge, lambda one: _redecoded(one, pairwise=None))


def _each(judge: Evaluator, change: Callable[[Judge], Judge]) -> Evaluator:
    if isinstance(judge, Judge):
        return change(judge)
    return replace(judge, members=tuple(map(change, judge.members)))


def _redecoded(judge: Judge, **fields: Any) -> Judge:
    return replace(judge, decoding=Decoding.from_dict({**judge.decoding.to_dict(), **fields}))


def _only_named(mark: str) -> Disturb:
    """The item as it is, under a name that tells the question apart: it is the judge that is another."""
    return lambda item, _: _with(item, item.fields, mark)


def _with(item: JudgedItem, fields: Mapping[str, str], mark: str) -> JudgedItem:
    """The item with other texts, under a name of its own, so that no recording can answer for it by name."""
    return JudgedItem(id=f"{item.id[:_LONGEST_ID]}:{mark}", fields=dict(fields), slice=item.slice, author=item.author)


# --- asking ---------------------------------------------------------------------------------------------------------


async def probe(
    judge: Evaluator,
    items: Iterable[JudgedItem],
    probes: Sequence[ProbeName] = PROBES,
    *,
    response: str | None = None,
    authority: str = AUTHORITY,
    store: JudgementStore | None = None,
    pace: Pace = Pace(),
    clock: Clock = Clock(),
    progress: Callable[[Tally], None] = lambda _: None,
) -> ProbeReport:
    """Probe ``judge`` on ``items``: each as it is, again with the seed of a second repeat, and disturbed with it.

    ``progress`` is given what all askings came to so far; its ``total`` is how many there are at most. May be cancelled
    at any point: what was judged is in the store, and is served the next time.

    Raises:
        InputError: for no items, one twice or one that lacks a text which the prompt shows, and for an unknown probe.
        MachineError: where the judge fails time after time, or the disk does.
    """
    chosen = _checked(judge, items)
    made = {name: make_probe(name, judge, response=response, authority=authority) for name in dict.fromkeys(probes)}
    if not made:
        raise InputError(Problem("no probe", f"at least one of {one_of(PROBES)}"))
    asking = _Asking(store, pace, clock, progress)
    wanted = [one for one in made.values() if isinstance(one, Probe)]
    bases = {(one.plain.digest, one.shown(chosen[0]).content_sha256()) for one in wanted}
    asking.tally.total = len(chosen) * (2 * len(bases) + len(wanted))
    results = [
        ProbeResult(probe=name, ratings=await _ratings(one, chosen, asking))
        if isinstance(one, Probe)
        else ProbeResult(probe=name, skipped=one)
        for name, one in made.items()
    ]
    return ProbeReport(judge_instrument_sha256=judge.digest, results=tuple(results), made_at=clock.now())


def _checked(judge: Evaluator, items: Iterable[JudgedItem]) -> list[JudgedItem]:
    """Every item, where all of them can be shown and none is there twice."""
    chosen = dict[str, JudgedItem]()
    for item in items:
        judge.check(item)
        other = chosen.setdefault(item.content_sha256(), item)
        if other is not item:
            found = f"the item {quote(item.id)}, which has the same content as {quote(other.id)}"
            raise InputError(Problem(found, "each input once", "Leave one of them out."))
    if not chosen:
        raise InputError(Problem("no items", "at least one to judge"))
    return list(chosen.values())


async def _ratings(one: Probe, items: Sequence[JudgedItem], asking: _Asking) -> tuple[ProbeRating, ...]:
    shown = [one.shown(item) for item in items]
    await asking.ask(one.plain, [Task(item, repeat) for item in shown for repeat in (1, 2)])
    verdicts = [asking.verdict(one.plain, item, 1) for item in shown]
    disturbed = [one.disturb(item, verdict) for item, verdict in zip(items, verdicts, strict=True)]
    asked = [(one.variant(item), other) for item, other in zip(items, disturbed, strict=True)]
    for variant in one.variants:
        tasks = [Task(other, 2) for chosen, other in asked if other is not None and chosen.judge is variant.judge]
        await asking.ask(variant.judge, tasks)
    return tuple(
        ProbeRating(
            item=item.id,
            item_sha256=item.content_sha256(),
            verdict=verdict,
            again=asking.verdict(one.plain, as_it_is, 2),
            probed=_probed(asking, variant, other),
        )
        for item, as_it_is, verdict, (variant, other) in zip(items, shown, verdicts, asked, strict=True)
    )


def _probed(asking: _Asking, variant: Variant, item: JudgedItem | None) -> str | None:
    said = None if item is None else asking.verdict(variant.judge, item, 2)
    return None if said is None else variant.back.get(said, said)


class _Asking:
    """The askings of one sitting; what two probes both want is asked once."""

    def __init__(
        self, store: JudgementStore | None, pace: Pace, clock: Clock, progress: Callable[[Tally], None]
    ) -> None:
        self._store, self._pace, self._clock, self._progress = store, pace, clock, progress
        self._verdicts: dict[tuple[str, str, int], str | None] = {}
        self.tally = Tally()

    def verdict(self, judge: Evaluator, item: JudgedItem, repeat: int) -> str | None:
        return self._verdicts.get((judge.digest, item.content_sha256(), repeat))

    async def ask(self, judge: Evaluator, tasks: Sequence[Task]) -> None:
        wanted = {(judge.digest, task.item.content_sha256(), task.repeat): task for task in tasks}
        missing = [task for key, task in wanted.items() if key not in self._verdicts]
        before = self.tally
        now = await judge_tasks(
            judge,
            missing,
            store=self._store,
            pace=self._pace,
            clock=self._clock,
            deliver=self._take,
            progress=lambda now: self._progress(_sum(before, now)),
        )
        self.tally = _sum(before, now)

    async def _take(self, _: JudgedItem, judged: Judged) -> None:
        made = judged.judgement
        self._verdicts[made.instrument_sha256, made.item_sha256, made.repeat] = made.verdict


def _sum(one: Tally, other: Tally) -> Tally:
    return Tally(
        labels=one.labels + other.labels,
        positive=one.positive + other.positive,
        negative=one.negative + other.negative,
        unparsed=one.unparsed + other.unparsed,
        undecided=one.undecided + other.undecided,
        failed=one.failed + other.failed,
        judgements=one.judgements + other.judgements,
        served=one.served + other.served,
        unanswered=one.unanswered + other.unanswered,
        retries=one.retries + other.retries,
        cost=_cost(one.cost, other.cost),
        served_cost=_cost(one.served_cost, other.served_cost),
        total=one.total,
        last_failure=other.last_failure or one.last_failure,
    )


def _cost(one: Cost, other: Cost) -> Cost:
    return Cost(
        one.input + other.input, one.output + other.output, one.cached + other.cached, one.unknown + other.unknown
    )
