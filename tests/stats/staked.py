"""Forecasts for the tests of this room: any, and those of forecasters of whom it is known how right they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from hypothesis import strategies as st

from calibrant.stats.forecasts import Forecasts

CONFIDENCES = st.one_of(
    st.sampled_from([0.0, 0.1, 0.29, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0]),
    st.floats(0, 1),
    st.integers(0, 100).map(lambda k: k / 100),
)
ANSWERS = st.lists(st.tuples(CONFIDENCES, st.sampled_from([0.0, 1.0])), min_size=1, max_size=50)
"""Confidences with right or wrong."""

SHARES = st.lists(st.tuples(CONFIDENCES, st.sampled_from([0.0, 0.5, 0.25, 1.0])), min_size=1, max_size=50)
"""Confidences with shares."""

FORECASTS = st.lists(
    st.tuples(CONFIDENCES, st.sampled_from([0.0, 0.5, 1.0, 1.0]), st.integers(0, 12)), min_size=1, max_size=50
)
"""Confidences with shares, in clusters."""

Truth = Callable[[Any], Any]
TRUTHS: Mapping[str, Truth] = {
    "calibrated": lambda p: p,
    "too sure": lambda p: 0.5 + 0.4 * (p - 0.5),
    "ten points less": lambda p: np.clip(p - 0.1, 0, 1),
}
"""How right forecasters are at a confidence."""


def forecasts(rows: Iterable[tuple[float, ...]]) -> Forecasts:
    """Of rows (confidence, right) or (confidence, right, cluster)."""
    columns = list(zip(*rows, strict=True)) or [(), ()]
    return Forecasts(columns[0], columns[1], [int(c) for c in columns[2]] if len(columns) > 2 else None)


def stated(chance: np.random.Generator, kind: str, n: int) -> Any:
    """Confidences as some forecaster states them, in whole per cent."""
    if kind == "sure":
        return np.round(chance.beta(20, 1, n), 2)
    if kind == "round":
        return chance.choice([0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0], n)
    return np.round(chance.random(n), 2)


def drawn(chance: np.random.Generator, kind: str, truth: Truth, n: int, times: int = 1) -> Forecasts:
    """``n`` forecasts, each asked ``times``; repeats agree in two of three cases."""
    p = stated(chance, kind, n)
    first = chance.random(n) < truth(p)
    again = [np.where(chance.random(n) < 2 / 3, first, chance.random(n) < truth(p)) for _ in range(times - 1)]
    right = np.concatenate([first, *again]).astype(float)
    return Forecasts(np.tile(p, times), right, np.tile(np.arange(n), times))
