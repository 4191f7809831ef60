"""Generators for every record, made from the annotations of its fields; correlated fields are mended afterwards."""

from __future__ import annotations

import types as python_types
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from hypothesis import strategies as st
from pydantic import JsonValue
from pydantic.fields import FieldInfo

from calibrant.records import (
    authority,
    board,
    confidence,
    gold,
    grounding,
    judge,
    judgefile,
    outcome,
    prediction,
    probe,
    profile,
    scorecard,
    sealed,
    subject,
    terms,
    types,
)
from calibrant.records.base import Record
from tests.strategies import instants

Fields = dict[str, Any]
Mend = Callable[[st.DrawFn, Fields], Fields]

MODULES = (
    authority,
    board,
    confidence,
    gold,
    grounding,
    judge,
    judgefile,
    outcome,
    prediction,
    probe,
    profile,
    scorecard,
    sealed,
    subject,
    terms,
)


def kinds() -> list[type[Record]]:
    """Every record class that `calibrant.records` defines."""
    found = [
        value
        for module in MODULES
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Record) and value.__module__ == module.__name__
    ]
    return [kind for kind in found if not kind.__name__.startswith("_")]


KINDS = kinds()
NAMED_KINDS = [kind for kind in KINDS if kind.schema_name]

# Small alphabets, each with what breaks naive code: whole records are drawn, so that a wide one would be slow.
texts = st.text('aB é\n\r\t"\\\u2028\u202e\U0001f600\x01\x85', max_size=6)
prose = texts.map(lambda text: f"{text}x")
lines = st.text('aBé "\\\U0001f600', max_size=6).map(lambda text: f"n{text}")
ids = st.text("aBé1_.:@+-", max_size=6).map(lambda text: f"i{text}")
keys = st.text("abé\U0001f600\ufb33", max_size=3)
scalars = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e22, 1e22) | texts
parameters = st.recursive(
    scalars, lambda below: st.lists(below, max_size=2) | st.dictionaries(keys, below, max_size=2), max_leaves=3
)
digests = st.binary(min_size=32, max_size=32).map(bytes.hex)
quantities = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12, places=6)

_BY_VALIDATOR: dict[Any, st.SearchStrategy[Any]] = {
    types._id: ids,
    types._name: lines,
    types._prose: prose,
    types._digest: digests,
    types._instant: instants,
    types._quantity: quantities,
    gold._field: st.text("ab_1", max_size=4).map(lambda text: f"f{text}"),
    authority._slice: st.sampled_from(["board", "seat:é", "test_type:grounding"]),
}


@cache
def field_values(kind: type[Record], name: str) -> st.SearchStrategy[Any]:
    """Values that the field ``name`` of ``kind`` takes, looked at alone."""
    field = kind.model_fields[name]
    return _values(field.annotation, tuple(field.metadata))


def _values(annotation: Any, metadata: tuple[Any, ...] = ()) -> st.SearchStrategy[Any]:
    for item in metadata:
        known = _BY_VALIDATOR.get(getattr(item, "func", None))
        if known is not None:
            return known
    if annotation is JsonValue:
        return parameters
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        below = [part.metadata if isinstance(part, FieldInfo) else [part] for part in arguments[1:]]
        return _values(arguments[0], tuple(item for part in below for item in part))
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, python_types.UnionType):
        return st.one_of([_values(argument, metadata) for argument in arguments])
    if origin is tuple:
        if arguments[1:] == (...,):
            return st.lists(_values(arguments[0]), max_size=3).map(tuple)
        return st.tuples(*(_values(argument) for argument in arguments))
    if origin is not None and issubclass(origin, Mapping):
        named = keys if arguments[0] is str else _values(arguments[0])
        return st.dictionaries(named, _values(arguments[1]), max_size=3)
    if isinstance(annotation, type) and issubclass(annotation, Record):
        return records(annotation)
    return _plain(annotation, metadata)


def _plain(annotation: Any, metadata: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    bounds = {
        name: getattr(item, name)
        for item in metadata
        for name in ("ge", "gt", "le", "lt", "min_length", "max_length", "pattern")
        if getattr(item, name, None) is not None
    }
    if "pattern" in bounds:
        assert bounds["pattern"] == "^[0-9a-f]{32}$"
        return st.binary(min_size=16, max_size=16).map(bytes.hex)
    low, high = bounds.get("ge", bounds.get("gt")), bounds.get("le", bounds.get("lt"))
    if annotation is bool:
        return st.booleans()
    if annotation is int:
        return st.integers(-(2**53) + 1 if low is None else low, 2**53 - 1 if high is None else high)
    if annotation is float:
        edges = {"exclude_min": "gt" in bounds, "exclude_max": "lt" in bounds}
        return st.floats(low, high, allow_nan=False, allow_infinity=False, **edges)
    if annotation is str:
        shortest, longest = bounds.get("min_length", 0), bounds.get("max_length")
        return texts if longest is None and not shortest else st.text("abé", min_size=shortest, max_size=longest)
    return {type(None): st.none(), Decimal: quantities, datetime: instants}[annotation]


@cache
def records(kind: type[Record]) -> st.SearchStrategy[Any]:
    """Any valid record of that class."""
    return _drawn(kind)


@st.composite
def _drawn(draw: st.DrawFn, kind: type[Record]) -> Record:
    fields = {name: draw(field_values(kind, name)) for name in kind.model_fields}
    for ancestor in reversed(kind.__mro__):
        mend = _MENDS.get(ancestor)
        fields = mend(draw, fields) if mend is not None else fields
    return kind.model_validate(fields)


def _one_of(*names: str, at_least_one: bool = True) -> Mend:
    """Keep one of several fields that exclude each other."""

    def mend(draw: st.DrawFn, fields: Fields) -> Fields:
        empty = {name: () if name == "turns" else None for name in names}
        given = [name for name in names if fields[name] != empty[name]]
        kept = draw(st.sampled_from(given)) if given else None
        emptied = {name: empty[name] for name in names if name != kept}
        if kept is None and at_least_one:
            emptied.pop(names[0])
            return {**fields, **emptied, names[0]: "x"}
        return {**fields, **emptied}

    return mend


def _distinct(items: tuple[Any, ...], *names: str) -> tuple[Any, ...]:
    kept: list[Any] = []
    for item in items:
        if all(getattr(item, n) is None or getattr(item, n) not in [getattr(k, n) for k in kept] for n in names):
            kept.append(item)
    return tuple(kept)


def _challenge(draw: st.DrawFn, fields: Fields) -> Fields:
    fields = _one_of("prompt", "turns")(draw, fields)
    if fields["turns"]:
        fields["turns"] = (*fields["turns"][:-1], fields["turns"][-1].model_copy(update={"role": "user"}))
    if (fields["half"] is None) != (fields["pair_id"] is None):
        fields = {**fields, "half": "in", "pair_id": "pair"}
    return fields


def _answer(draw: st.DrawFn, fields: Fields) -> Fields:
    kept = any(fields[name] is not None for name in ("target", "source", "note"))
    return fields if kept else {**fields, "note": draw(texts)}


def _label_set(draw: st.DrawFn, fields: Fields) -> Fields:
    labels = _distinct(fields["labels"], "name", "key")
    ends = [profile.LabelChoice(name=f"{counts}-{len(labels)}-x", counts=counts) for counts in ("pass", "fail")]
    return {**fields, "labels": (*labels, *ends)}


def _profile(draw: st.DrawFn, fields: Fields) -> Fields:
    sets = _distinct(fields["label_sets"], "id") or (draw(records(profile.LabelSet)),)
    types_ = _distinct(fields["test_types"], "id") or (draw(records(profile.TestType)),)
    named = tuple(labels.model_copy(update={"id": f"set-{index}"}) for index, labels in enumerate(sets))
    placed = tuple(t.model_copy(update={"label_set": "set-0"}) for t in types_)
    return {**fields, "label_sets": named, "test_types": placed}


def _outcome(draw: st.DrawFn, fields: Fields) -> Fields:
    options = _distinct(fields["options"], "name")
    share = 1 / len(options) if options and draw(st.booleans()) else None
    return {**fields, "options": tuple(option.model_copy(update={"prior": share}) for option in options)}


def _categorical(draw: st.DrawFn, fields: Fields) -> Fields:
    return {**fields, "open": True} if len(fields["values"]) < 2 else fields


def _sizes(draw: st.DrawFn, fields: Fields) -> Fields:
    mended = dict(fields)
    for name in ("tolerance", "relative_tolerance", "max_width"):
        if mended.get(name) is not None:
            mended[name] = abs(mended[name])
    if mended["plausible"] is not None:
        mended["plausible"] = tuple(sorted(mended["plausible"]))
    return mended


def _resolution(draw: st.DrawFn, fields: Fields) -> Fields:
    mended = dict(fields)
    if mended["status"] == "fact" and mended["value"] is None:
        mended["value"] = "x"
    if mended["status"] == "not-determinable" and mended["basis"] is None:
        mended["basis"] = "future"
    mended["reason"] = mended["reason"] or "because"
    return mended


def _label(draw: st.DrawFn, fields: Fields) -> Fields:
    mended = _one_of("label", "non_score")(draw, fields)
    return {**mended, "instrument_sha256": draw(digests) if mended["grader"] == "judge" else None}


def _header(draw: st.DrawFn, fields: Fields) -> Fields:
    return {**fields, "seats": _distinct(fields["seats"], "id")}


def _standard(draw: st.DrawFn, fields: Fields) -> Fields:
    return {**fields, "min_kappa": 0.5} if None in (fields["min_sensitivity"], fields["min_specificity"]) else fields


def _policy(draw: st.DrawFn, fields: Fields) -> Fields:
    if fields["metric"] in scorecard.LOWER_IS_BETTER:
        fields = {**fields, "direction": "at-most"}
    if fields["correction"] == "holm" or draw(st.booleans()):
        return {**fields, "statistic": "bound", "estimate": "raw"}
    return fields


def _grant(draw: st.DrawFn, fields: Fields) -> Fields:
    if fields["expires_at"] is not None and fields["expires_at"] <= fields["approved_at"]:
        fields = {**fields, "expires_at": None}
    names = tuple(dict.fromkeys((fields["approver"], *fields["approvers"])))
    return {**fields, "approvers": names, "approvals": draw(st.integers(1, len(names)))}


def _gold(draw: st.DrawFn, fields: Fields) -> Fields:
    labels = _distinct(fields["labels"], "item") or (draw(records(gold.GoldLabel)),)
    return {**_one_of("codebook", "codebook_sha256")(draw, fields), "labels": labels}


def _item(draw: st.DrawFn, fields: Fields) -> Fields:
    return {**fields, "fields": fields["fields"] or {"response": "x"}}


def _panel(draw: st.DrawFn, fields: Fields) -> Fields:
    members = tuple(dict.fromkeys(fields["members"]))
    return {**fields, "members": members if len(members) > 1 else ("a" * 64, "b" * 64)}


def _capability(draw: st.DrawFn, fields: Fields) -> Fields:
    fields = {**fields, "raters": tuple(sorted(set(fields["raters"]))) if fields["kind"] == "human" else ()}
    if fields["kind"] == "judge" and fields["instrument_sha256"] is None:
        return {**fields, "instrument_sha256": "c" * 64}
    return {**fields, "instrument_sha256": None} if fields["kind"] in ("mechanical", "human") else fields


def _judgement(draw: st.DrawFn, fields: Fields) -> Fields:
    verdict = None if fields["absent"] is not None else fields["verdict"] or "pass"
    return {**fields, "verdict": verdict, "reason": fields["reason"] or "because"}


def _pairwise(draw: st.DrawFn, fields: Fields) -> Fields:
    return {"fields": ("answer_a", "answer_b"), "labels": ("A", "é"), "tie": draw(st.sampled_from([None, "tie"]))}


def _labelled(draw: st.DrawFn, fields: Fields) -> Fields:
    """Labels that hold those of `_pairwise`, and a passing label among them."""
    labels = ("A", "é", "tie", *(f"{n}-x" for n in range(draw(st.integers(0, 2)))))
    return {**fields, "labels": labels, "positive": draw(st.sampled_from(labels))}


def _judge_file(draw: st.DrawFn, fields: Fields) -> Fields:
    mended = _labelled(draw, _one_of("rubric", "rubric_text")(draw, fields))
    return _one_of("prompt", "prompt_text", at_least_one=False)(draw, mended)


def _panel_file(draw: st.DrawFn, fields: Fields) -> Fields:
    return {**fields, "members": (*fields["members"], "a.yaml", "b.yaml")}


def _probe_result(draw: st.DrawFn, fields: Fields) -> Fields:
    ratings = () if fields["skipped"] is not None else _distinct(fields["ratings"], "item_sha256")
    return {**fields, "ratings": ratings, "skipped": None if ratings else fields["skipped"] or "x"}


def _probe_report(draw: st.DrawFn, fields: Fields) -> Fields:
    return {**fields, "results": _distinct(fields["results"], "probe")}


def _prediction(draw: st.DrawFn, fields: Fields) -> Fields:
    imported = fields["origin"] == "imported"
    origin = (fields["imported"] or draw(records(prediction.Imported))) if imported else None
    due = fields["due"] if fields["due"] is not None and fields["due"] > fields["at"] else None
    return {**fields, "imported": origin, "due": due}


def _figure(draw: st.DrawFn, fields: Fields) -> Fields:
    fields = _one_of("undefined", "value")(draw, fields)
    return {**fields, "high": None, "low": None} if None in (fields["low"], fields["high"]) else fields


_MENDS: dict[type, Mend] = {
    confidence.Figure: _figure,
    prediction.Prediction: _prediction,
    authority.CalibrationStandard: _standard,
    authority.DecisionPolicy: _policy,
    authority.AuthorityGrant: _grant,
    gold.JudgedItem: _item,
    gold.Gold: _gold,
    judge.PanelInstrument: _panel,
    judgefile.Pairwise: _pairwise,
    judgefile.Decoding: _labelled,
    judgefile.JudgeFile: _judge_file,
    judgefile.PanelFile: _panel_file,
    judge.EvaluatorCapability: _capability,
    judge.Judgement: _judgement,
    probe.ProbeResult: _probe_result,
    probe.ProbeReport: _probe_report,
    board.Evidence: _one_of("text", "capture"),
    board.Challenge: _challenge,
    sealed.SealedAnswer: _answer,
    board.BoardHeader: _header,
    profile.LabelSet: _label_set,
    profile.Profile: _profile,
    outcome._Outcome: _outcome,
    outcome.Categorical: _categorical,
    outcome.Number: _sizes,
    outcome.Interval: _sizes,
    grounding.Expectation: _one_of("option", "value", "interval", "text", at_least_one=False),
    grounding.Sealed: _one_of("unparsed", "expectation"),
    grounding.Resolution: _resolution,
    grounding.Label: _label,
}
