"""What a resolution must have said, derived from its evidence alone: nothing is asked of the world.

A source, its question and the evidence that a resolution names give the finding that the resolver must have come to,
wherever the evidence holds it. What this cannot tell is told at `finding_of`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from calibrant import canonical
from calibrant.errors import InputError, quote
from calibrant.records.board import Source
from calibrant.records.documents import read_document
from calibrant.records.grounding import Resolution
from calibrant.records.outcome import Outcome
from calibrant.records.sealed import SealedAnswer
from calibrant.values import format_instant
from calibrant.world import browser, facts, http, program, python, sql, unsettled
from calibrant.world.base import Finding, Question, Surroundings, in_outcome, line
from calibrant.world.command import CommandParams
from calibrant.world.file import FileParams
from calibrant.world.hosts import read_url
from calibrant.world.measurement import MeasurementParams
from calibrant.world.pending import PendingParams, Settlement
from calibrant.world.reading import as_raw, found
from calibrant.world.sealed import SealedParams, kept_back

Evidence: TypeAlias = Sequence[bytes]

_DEEPEST: Final = 8
_EXIT: Final = re.compile(rb"exit code ([0-9]{1,10})\n")


class Contradicted(ValueError):
    """The evidence of a resolution is not what its source gives."""


@dataclass(frozen=True, slots=True)
class Case:
    """What a resolution is held to: the question that it answers and what it says.

    ``evidence`` and ``status`` are those of the source in hand, which may stand ``depth`` deep inside another.
    """

    question: Question
    said: Resolution
    evidence: Evidence
    status: str
    depth: int = 0

    @property
    def committed(self) -> datetime:
        """When the expectation was sealed."""
        assert self.question.committed is not None
        return self.question.committed

    def within(self, evidence: Evidence, status: str) -> Case:
        """The case of a source inside this one, with what is its own of the evidence."""
        return replace(self, evidence=evidence, status=status, depth=self.depth + 1)


def contradiction(source: Source, question: Question, said: Resolution, evidence: Evidence) -> str | None:
    """How a resolution contradicts its source, its own evidence or the time; None where it does not.

    ``question.committed`` is when the expectation was sealed; ``evidence`` are the bytes that ``said`` names.
    """
    if source.kind in _KINDS and said.resolver.kind != source.kind:
        return f"it says that a resolver of kind {quote(said.resolver.kind)} was asked, and its source is {source.kind}"
    if question.committed is None or said.at < question.committed:
        return "it was made before the expectation was sealed"
    try:
        derived = finding_of(source, Case(question, said, evidence, said.status))
    except InputError as broken:
        return f"its evidence is not that of a source of kind {source.kind}: {line(broken.problems[0])}"
    except Contradicted as wrong:
        return str(wrong)
    return None if derived is None else _unlike(said, derived, question.outcome)


def finding_of(source: Source, case: Case) -> Finding | None:
    """What the resolver of ``source`` must have come to, where it says ``case.status``; None where nothing can tell.

    It cannot be told that a resolver was *not* able to ask (``error``), unless it has nothing to reach or its evidence
    holds the fact all the same; nor that a fact is not there yet (``pending``), nor what another package's kind says.

    Raises:
        Contradicted, InputError: where such evidence cannot come from this source.
    """
    if source.kind not in _KINDS:
        return None
    if case.depth > _DEEPEST:
        raise Contradicted("its source is nested too deep")
    if source.kind in _ALWAYS:
        return _KINDS[source.kind](source.params, case)
    if case.status == "error" and (not case.evidence or source.kind in _FAIL_WITH_EVIDENCE):
        return None
    if not case.evidence:
        raise Contradicted("it comes without evidence")
    return _KINDS[source.kind](source.params, case)


def _unlike(said: Resolution, derived: Finding, outcome: Outcome | None) -> str | None:
    forms = [derived if outcome is None else in_outcome(outcome, form) for form in _forms(derived)]
    if any(_key(said.status, said.value, said.basis, said.due) == _key_of(form) for form in forms):
        return None
    first = forms[0]
    if isinstance(derived.value, list) and _members(said.value) == _members(first.value):
        said_it = _key(said.status, first.value, said.basis, said.due)
        return None if said_it == _key_of(first) else "it holds a value beside a status that has none"
    form = forms[0]
    gives = form.status if form.value is None else f"{form.status} {quote(form.value)}"
    says = said.status if said.value is None else f"{said.status} {quote(said.value)}"
    same = " of another basis, day or form" if gives == says else ""
    return f"it says {says}{same}, and its source and evidence give {gives}"


def _key(status: str, value: object, basis: str | None, due: datetime | None) -> tuple[object, ...]:
    plain = tuple(value) if isinstance(value, list | tuple) else value
    return status, type(plain), plain, basis, due


def _key_of(finding: Finding) -> tuple[object, ...]:
    return _key(finding.status, finding.value, finding.basis, finding.due)


def _forms(finding: Finding) -> list[Finding]:
    """The finding; where it holds whole numbers, also with fractions: canonical JSON writes ``1.0`` as ``1``."""
    value = finding.value
    as_fraction = [_fraction(one) for one in value] if isinstance(value, list) else _fraction(value)
    return [finding, replace(finding, value=as_fraction)]


def _members(value: object) -> list[str] | None:
    """The members of a list of facts, whole numbers among fractions written alike."""
    return sorted({str(one).removesuffix(".0") for one in value}) if isinstance(value, list | tuple) else None


def _fraction(value: Any) -> Any:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _one(evidence: Evidence) -> bytes:
    if len(evidence) != 1:
        raise Contradicted(f"it has {len(evidence)} pieces of evidence, and its source gives one")
    return evidence[0]


def _map(data: bytes) -> dict[str, Any]:
    said = canonical.decode(data)
    if not isinstance(said, dict) or canonical.encode(said) != data:
        raise Contradicted("its evidence is not in the form that its source gives")
    return said


def _same(what: str, said: object, wanted: object) -> None:
    if canonical.encode(said) != canonical.encode(wanted):
        raise Contradicted(f"its evidence is of another {what} than its source names")


# what is written down, or read from bytes


def _facts(params: Mapping[str, Any], case: Case) -> Finding | None:
    wanted = facts.FactsParams.from_dict(params)
    if wanted.key is None:
        finding = facts.stated(wanted.value, wanted.source)
        if tuple(case.evidence) != finding.evidence:
            raise Contradicted("its evidence is not the statement that stands in the board")
        return finding
    if not case.evidence and case.status in ("no-record", "error"):
        return None  # a key that is not there leaves nothing to keep, nor does a file that cannot be read
    record = _map(_one(case.evidence))
    _same("key", record.get("key"), wanted.key)
    return facts.finding_of({"value": None, **record})


def _command(params: Mapping[str, Any], case: Case) -> Finding | None:
    return _output(CommandParams.from_dict(params), case.evidence)


def _output(params: CommandParams, evidence: Evidence) -> Finding:
    if params.read != "exit-code":
        return found(params, _one(evidence))
    code = _EXIT.fullmatch(evidence[0])
    if code is None or len(evidence) > 3:
        raise Contradicted("its evidence does not begin with the exit code")
    return Finding.fact(str(int(code[1])))


def _run(params: Mapping[str, Any], case: Case) -> Finding | None:
    wanted = program.RunParams.from_dict(params)
    wrote, said = case.evidence[:-1], _map(case.evidence[-1])
    digests = said.get("outputs_sha256")
    _same("command", [said.get("argv"), said.get("seed")], [program.seeded_argv(wanted), wanted.seed])
    if wanted.input_file is None:
        _same("input", said.get("input_sha256"), canonical.sha256(program.written_input(wanted)))
    if not wrote or not isinstance(digests, list) or len(digests) != wanted.times:
        raise Contradicted(f"its evidence is not that of {wanted.times} runs")
    if wanted.read == "exit-code":
        return _output(wanted, wrote)
    _same("output", digests[0], canonical.sha256(_one(wrote)))
    return found(wanted, program.last_line(wrote[0]) if wanted.part == "last-line" else wrote[0])


def _file(params: Mapping[str, Any], case: Case) -> Finding | None:
    wanted, data = FileParams.from_dict(params), _one(case.evidence)
    if wanted.read not in wanted.beyond_bytes:
        return found(wanted, data)
    said = _map(data)
    value = said.get(wanted.read)
    _same("file", {**said, wanted.read: None}, {"file": wanted.file, wanted.read: None})
    if not isinstance(value, bool if wanted.read == "exists" else str):
        raise Contradicted("its evidence does not hold what was measured")
    return Finding.fact(value)


def _python(params: Mapping[str, Any], case: Case) -> Finding | None:
    wanted, said = python.PythonParams.from_dict(params), _map(_one(case.evidence))
    _same("question", said.get("asked"), wanted.asked())
    return python.finding_of(wanted, _answer(said))


def _sql(params: Mapping[str, Any], case: Case) -> Finding | None:
    wanted, said = sql.SqlParams.from_dict(params), _map(_one(case.evidence))
    asked = said.get("asked")
    engine = asked.get("engine") if isinstance(asked, dict) else None
    _same("query", asked, {"query": wanted.query, "rows": wanted.rows, "engine": engine, **wanted.place()})
    return sql.finding_of(_answer(said), case.evidence[0])


def _answer(said: Mapping[str, Any]) -> Mapping[str, Any]:
    answer = said.get("answer")
    if not isinstance(answer, dict):
        raise Contradicted("its evidence holds no answer")
    return answer


def _http(params: Mapping[str, Any], case: Case) -> Finding | None:
    wanted, said = http.HttpParams.from_dict(params), _map(case.evidence[-1])
    body = case.evidence[0] if len(case.evidence) == 2 else b""
    asked, headers, code = said.get("asked"), said.get("headers"), said.get("status")
    if not (isinstance(asked, list) and isinstance(headers, dict) and isinstance(code, int)) or case.evidence[2:]:
        raise Contradicted("its evidence is no answer of a host")
    _same("address", asked[:1], [f"{wanted.method} {http.shown(read_url(wanted.url), whole=True)}"])
    _same("body", said.get("body_sha256"), canonical.sha256(body))
    told = http.told_by(wanted, http.Answer(code, headers, body, ()))
    if isinstance(told, Finding):
        return told
    if wanted.header is not None and re.search(rb"[\s\\]|\xe2\x80\xa6", told):
        return None  # the protocol keeps a header as one line, escaped and cut: that may not be what was read
    return found(wanted, told)


def _browser(params: Mapping[str, Any], case: Case) -> Finding | None:
    wanted = browser.BrowserParams.from_dict(params)
    text, rest = (case.evidence[0], case.evidence[1:]) if _protocol(case.evidence[0]) is None else (None, case.evidence)
    said = _protocol(rest[0]) if rest else None
    target = wanted.target()
    if said is None or len(rest) > 2:
        raise Contradicted("its evidence holds no protocol of a page")
    asked = [said.get("page"), said.get("ask"), said.get("element")]
    _same("page", asked, [wanted.url or wanted.page, wanted.ask, None if target is None else str(target)])
    told = said.get("answer")
    if text is not None:
        if told != line(text.decode("utf-8", "replace")):
            raise Contradicted("the text among its evidence is not the one that its protocol tells of")
        return found(wanted, text)
    if told is None and case.status != "fact":
        return None  # the page gave no answer: whether because there is none is not kept
    raw = as_raw([] if told is None else told)  # a protocol leaves out what is empty
    if raw is None or isinstance(raw, str):
        raise Contradicted("its evidence does not hold what the page answered")
    return Finding.fact(raw)


def _protocol(data: bytes) -> dict[str, Any] | None:
    try:
        said = canonical.decode(data) if data.startswith(b"{") else None
    except InputError:
        return None
    return said if isinstance(said, dict) and {"page", "ask"} <= said.keys() else None


# what comes about later


def _pending(params: Mapping[str, Any], case: Case) -> Finding | None:
    wanted = PendingParams.from_dict(params)
    if case.status in ("pending", "error"):
        return None
    if wanted.settled is None:
        raise Contradicted("its source names no file that could settle it")
    try:
        settlement = read_document(_one(case.evidence), wanted.settled).record(Settlement)
    except InputError as refused:
        raise Contradicted(f"its evidence settles nothing: {line(refused.problems[0])}") from None
    if not case.committed.replace(microsecond=0) <= settlement.at <= case.said.at:
        raise Contradicted("it was settled before the expectation was sealed, or in the future")
    return Finding("fact", as_raw(settlement.value))


def _measurement(params: Mapping[str, Any], case: Case) -> Finding | None:
    wanted = MeasurementParams.from_dict(params)
    if case.status in ("pending", "error"):
        return None
    one = wanted.place.again(tuple(case.evidence), case.committed)
    if one is None:
        raise Contradicted(f"its evidence does not hold {wanted.place.named()}")
    if not case.committed - one.grain <= one.at <= case.said.at + one.grain:
        when = format_instant(one.at)
        raise Contradicted(f"its evidence was measured {when}, not between the commitment and the resolution")
    return one.finding()


# what says why it cannot be determined, and what is kept back


def _stated(params: Mapping[str, Any], make: Callable[..., unsettled.Stated], evidence: Evidence) -> Finding:
    finding = make(params, _nowhere()).finding
    if tuple(evidence) != finding.evidence:
        raise Contradicted("its evidence is not the statement that stands in the board")
    return finding


def _attested(params: Mapping[str, Any], case: Case) -> Finding | None:
    return _stated(params, unsettled.attested, case.evidence)


def _other_lane(params: Mapping[str, Any], case: Case) -> Finding | None:
    return _stated(params, unsettled.other_lane, case.evidence)


def _withheld(params: Mapping[str, Any], case: Case) -> Finding | None:
    wanted = unsettled.WithheldParams.from_dict(params)
    if not case.evidence:
        if case.status == "error" or (wanted.source.kind, case.status) == ("sealed", "pending"):
            return None
        raise Contradicted("it comes without evidence")
    said = _map(case.evidence[-1])
    _same("half", said.get("of"), wanted.of)
    value = said.get("value")
    inner = Finding(said.get("status"), None if value is None else as_raw(value))  # type: ignore[arg-type]
    derived = finding_of(wanted.source, case.within(case.evidence[:-1], str(inner.status)))
    if derived is not None:
        _same("fact", [inner.status, inner.value], [derived.status, derived.value])
    held = [unsettled.judged(wanted, form, case.question) for form in _forms(inner)]
    return next((finding for finding in held if finding.status == case.status), held[0])


def _sealed(params: Mapping[str, Any], case: Case) -> Finding | None:
    wanted = SealedParams.from_dict(params)
    if not case.evidence:
        if case.status in ("pending", "error"):
            return None
        raise Contradicted("it comes without the answer that its board seals")
    if canonical.sha256(case.evidence[0]) != wanted.sha256:
        raise Contradicted("its evidence does not begin with the answer that its board seals")
    answer = SealedAnswer.from_bytes(case.evidence[0])
    if answer.challenge != case.question.challenge or answer.source is None:
        raise Contradicted(f"the answer among its evidence is that of {quote(answer.challenge)}, or holds no source")
    return finding_of(kept_back(answer.source), case.within(case.evidence[1:], case.status))


def _future(params: Mapping[str, Any], case: Case) -> Finding | None:
    wanted, said = unsettled.FutureParams.from_dict(params), case.said
    inner = wanted.source
    if case.committed >= wanted.due and inner is not None:  # it could have been known: an ordinary fact
        return finding_of(inner, case.within(case.evidence, case.status))
    if case.status == "error" and not case.evidence:
        return None
    early = unsettled.not_yet(wanted)
    if tuple(case.evidence[:1]) != early.evidence:
        raise Contradicted("its evidence does not begin with the statement of when it is due")
    if said.at < wanted.due or inner is None:
        if len(case.evidence) > 1:
            raise Contradicted("its evidence is of a fact that was not due")
        return early
    if said.value is None:
        return early  # it may have been asked for in vain
    settled = finding_of(inner, case.within(case.evidence[1:], "fact"))
    if settled is None:
        return replace(early, value=as_raw(said.value))
    forms = [unsettled.written(case.question.outcome, form) for form in _forms(settled)]
    same = next((form for form in forms if form is not None and _plain(form) == _plain(said.value)), forms[0])
    return replace(early, value=same)


def _plain(value: object) -> object:
    return tuple(value) if isinstance(value, list | tuple) else value


def _nowhere() -> Surroundings:
    """Surroundings for resolvers that reach nothing."""
    return Surroundings(Path())


class _Deriver(Protocol):
    def __call__(self, params: Mapping[str, Any], case: Case, /) -> Finding | None: ...


_KINDS: Final[Mapping[str, _Deriver]] = {
    "attested": _attested,
    "browser": _browser,
    "command": _command,
    "facts": _facts,
    "file": _file,
    "future": _future,
    "http": _http,
    "measurement": _measurement,
    "other-lane": _other_lane,
    "pending": _pending,
    "python": _python,
    "run": _run,
    "sealed": _sealed,
    "sql": _sql,
    "withheld": _withheld,
}
"""All kinds that ship."""

_ALWAYS: Final = frozenset(
    {"attested", "facts", "future", "measurement", "other-lane", "pending", "sealed", "withheld"}
)
"""Kinds that say themselves what they can do without."""

_FAIL_WITH_EVIDENCE: Final = frozenset({"browser", "command", "run"})
"""Kinds that may fail and keep what they saw, which then may look like an answer."""
