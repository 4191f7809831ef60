"""Proves a resolver of your own against the seam: what the house relies on, tried on the real thing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from calibrant import canonical
from calibrant.errors import InputError
from calibrant.records.grounding import Resolution
from calibrant.world.base import Finding, Question, Resolver, ResolverFactory, Surroundings, line
from calibrant.world.reading import as_raw

UNKNOWN_KEY: Final = "no_such_parameter"
"""The parameter that every factory must refuse."""

_AT_ONCE: Final = 8
_SHORTLY: Final = 0.01


def check_resolver(
    factory: ResolverFactory,
    params: Mapping[str, Any],
    surroundings: Surroundings,
    *,
    question: Question | None = None,
    broken: Mapping[str, Any] | None = None,
    wrong: Mapping[str, Any] | None = None,
    seconds: float = 30.0,
) -> list[str]:
    """Every way in which a resolver breaks the seam, in words; empty for one that keeps it.

    ``params`` describe a source that gives a fact, here and now. ``broken``, where given, describe one that can be
    built and not asked (a program that fails, a file that is not there); ``wrong`` are parameters that have to be
    refused. ``seconds`` bounds each question. It runs an event loop of its own: call it from a plain test function.
    """
    return asyncio.run(
        check_resolver_async(
            factory, params, surroundings, question=question, broken=broken, wrong=wrong, seconds=seconds
        )
    )


async def check_resolver_async(
    factory: ResolverFactory,
    params: Mapping[str, Any],
    surroundings: Surroundings,
    *,
    question: Question | None = None,
    broken: Mapping[str, Any] | None = None,
    wrong: Mapping[str, Any] | None = None,
    seconds: float = 30.0,
) -> list[str]:
    """`check_resolver`, for a test that runs in an event loop already."""
    asked = question if question is not None else Question("resolver-kit")
    resolver, problems = _built(factory, params, surroundings)
    problems += _refuses(factory, {**params, UNKNOWN_KEY: 1}, surroundings, UNKNOWN_KEY)
    problems += _refuses(factory, wrong, surroundings, None) if wrong is not None else []
    if resolver is None:
        return problems
    problems += _identified(resolver, factory, params, surroundings) + _reachable(resolver)
    problems += await _answers(resolver, asked, seconds)
    problems += await _can_be_cancelled(resolver, asked, seconds)
    if broken is not None:
        problems += await _fails_well(factory, broken, surroundings, asked, seconds)
    return problems


def problems_of_finding(finding: object) -> list[str]:
    """What is wrong with the form of one finding; empty for a sound one."""
    if not isinstance(finding, Finding):
        return [f"resolve gave {line(repr(finding))}, not a Finding"]
    problems = []
    if finding.status == "fact" and as_raw(finding.value) is None:
        problems.append(
            f"the fact is {line(repr(finding.value))}: text, a number, a boolean or a flat list is expected"
        )
    if finding.status not in ("fact", "not-determinable") and finding.value is not None:
        problems.append(f"a finding of status {finding.status} carries a value: a failure is never an answer")
    if finding.status == "fact" and not finding.evidence:
        problems.append("a fact without evidence: keep the bytes that it was read from")
    evidence: object = finding.evidence
    if not isinstance(evidence, tuple) or not all(isinstance(item, bytes) for item in evidence):
        problems.append("the evidence is not a tuple of bytes")
    if finding.due is not None and finding.due.tzinfo is None:
        problems.append("due is a time without a zone")
    return problems or _recordable(finding)


def _recordable(finding: Finding) -> list[str]:
    """Whether the record of a resolution takes what the finding says beside its value."""
    fields = {
        "schema": Resolution.schema_name,
        "challenge": "resolver-kit",
        "epoch": 1,
        "sealed_sha256": canonical.sha256(b""),
        "status": finding.status,
        "value": "a fact" if finding.status == "fact" else None,
        "basis": finding.basis,
        "reason": finding.reason,
        "due": finding.due,
        "resolver": {"kind": "resolver-kit", "version": "1", "settings": {}},
        "at": datetime.now(UTC),
    }
    try:
        Resolution.from_dict(fields).digest()
    except InputError as refused:
        return [f"a finding that cannot be recorded: {line(refused)}"]
    return []


def _built(
    factory: ResolverFactory, params: Mapping[str, Any], surroundings: Surroundings
) -> tuple[Resolver | None, list[str]]:
    try:
        made: object = factory(params, surroundings)
    except Exception as raised:  # noqa: BLE001 - it is what is being tested
        return None, [f"the factory refused sound parameters: {type(raised).__name__}: {line(raised)}"]
    if not isinstance(made, Resolver):
        return None, [f"the factory made a {type(made).__name__} without identity, obstacle and resolve"]
    return made, []


def _refuses(
    factory: ResolverFactory, params: Mapping[str, Any], surroundings: Surroundings, naming: str | None
) -> list[str]:
    given = "an unknown parameter" if naming is not None else "wrong parameters"
    try:
        factory(params, surroundings)
    except InputError as refused:
        fields = [problem.where.field or "" for problem in refused.problems]
        named = naming is None or any(naming in field for field in fields) or naming in str(refused)
        return [] if named else [f"the refusal of {given} does not name it: {line(refused)}"]
    except Exception as raised:  # noqa: BLE001 - it is what is being tested
        return [f"{given}: the factory raised {type(raised).__name__} where InputError is expected"]
    return [f"{given}: the factory took it; build the parameters with Record.from_dict"]


def _identified(
    resolver: Resolver, factory: ResolverFactory, params: Mapping[str, Any], surroundings: Surroundings
) -> list[str]:
    try:
        first = resolver.identity.digest()
        again = factory(params, surroundings).identity.digest()
    except Exception as raised:  # noqa: BLE001 - it is what is being tested
        return [f"the identity has no digest: {type(raised).__name__}: {line(raised)}"]
    return [] if first == again else ["two resolvers made from the same parameters have different identities"]


def _reachable(resolver: Resolver) -> list[str]:
    try:
        obstacle: object = resolver.obstacle()
    except Exception as raised:  # noqa: BLE001 - it is what is being tested
        return [f"obstacle raised {type(raised).__name__}: {line(raised)}"]
    if obstacle is None:
        return []
    if not isinstance(obstacle, str) or not obstacle.strip():
        return [f"obstacle gave {line(repr(obstacle))}: a reason in words, or None, is expected"]
    return [f"the resolver cannot run here ({obstacle}), so that the rest proves little"]


async def _asked(resolver: Resolver, question: Question, seconds: float) -> tuple[Finding | None, list[str]]:
    try:
        async with asyncio.timeout(seconds):
            found = await resolver.resolve(question)
    except TimeoutError:
        return None, [f"resolve took longer than {seconds:g} s"]
    except Exception as raised:  # noqa: BLE001 - it is what is being tested
        return None, [f"resolve raised {type(raised).__name__}: {line(raised)}; give a finding of status error"]
    return found, problems_of_finding(found)


async def _answers(resolver: Resolver, question: Question, seconds: float) -> list[str]:
    asked = await asyncio.gather(*(_asked(resolver, question, seconds) for _ in range(_AT_ONCE)))
    problems = list(dict.fromkeys(problem for _, found in asked for problem in found))
    statuses = {finding.status for finding, _ in asked if isinstance(finding, Finding)}
    if len(statuses) > 1:
        problems.append(f"asked {_AT_ONCE} times at once, it gave {', '.join(sorted(statuses))}")
    if statuses & {"error", "no-record"}:
        reason = next(f.reason for f, _ in asked if isinstance(f, Finding) and f.status in ("error", "no-record"))
        problems.append(f"parameters that describe a fact gave none: {reason}")
    return problems


async def _can_be_cancelled(resolver: Resolver, question: Question, seconds: float) -> list[str]:
    task = asyncio.ensure_future(resolver.resolve(question))
    await asyncio.sleep(_SHORTLY)
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=seconds)
    if not done:
        return [f"resolve went on for {seconds:g} s after it was cancelled"]
    raised = None if task.cancelled() else task.exception()
    return [] if raised is None else [f"resolve, cancelled, raised {type(raised).__name__}: {line(raised)}"]


async def _fails_well(
    factory: ResolverFactory,
    broken: Mapping[str, Any],
    surroundings: Surroundings,
    question: Question,
    seconds: float,
) -> list[str]:
    resolver, problems = _built(factory, broken, surroundings)
    if resolver is None:
        return [f"broken source: {problem}" for problem in problems]
    finding, problems = await _asked(resolver, question, seconds)
    if finding is not None and finding.status == "fact":
        problems.append(f"gave the fact {line(repr(finding.value))}: a failure is never an answer")
    return [f"broken source: {problem}" for problem in problems]
