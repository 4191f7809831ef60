"""What a judge is as an evaluator, read out of its instrument alone: a judge, or a test double, which never gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from calibrant.records.judge import EvaluatorCapability, JudgeInstrument, PanelInstrument


def capability_of(
    instrument: JudgeInstrument | PanelInstrument, members: Sequence[JudgeInstrument] = ()
) -> EvaluatorCapability:
    """The capability of an instrument; of a panel, with the instruments of its ``members``.

    A mock model, a function that declares itself a test double, a scripted double and a recording are test doubles, and
    so is a panel with one of them in it.

    Raises:
        ValueError: for a panel whose members are not given.
    """
    if isinstance(instrument, PanelInstrument) and {m.digest() for m in members} != set(instrument.members):
        raise ValueError("the members are not those of the panel")
    each = members if isinstance(instrument, PanelInstrument) else (instrument,)
    because = next((why for why in map(_why_a_double, each) if why is not None), None)
    if because is not None and isinstance(instrument, PanelInstrument):
        because = f"of a member: {because}"
    digest = instrument.digest()
    if because is None:
        return EvaluatorCapability(kind="judge", instrument_sha256=digest)
    return EvaluatorCapability(kind="test-double", instrument_sha256=digest, because=because)


def _why_a_double(instrument: JudgeInstrument) -> str | None:
    served: Any = instrument.decoding.get("served")
    known: Mapping[str, Any] = served if isinstance(served, Mapping) else {}
    capability, kind = known.get("capability", "live"), known.get("kind")
    if capability == "live":
        return None
    if capability in ("recording", "unverified-recording"):
        return "its verdicts are a recording: nobody can ask it anything else"
    if kind == "model":
        return f"{instrument.provider} is a mock provider: it says what it was told to say"
    if kind == "python":
        return f"the function {instrument.model} declares itself a test double"
    return f"{instrument.model} is a test double"
