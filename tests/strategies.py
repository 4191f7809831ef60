"""Generators for hypothesis: JSON values of every kind that the canonical form carries, and instants."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from calibrant.canonical import MAX_INTEGER

json_text = st.text(st.characters(exclude_categories=["Cs"]))
"""Any text of whole characters: controls, right-to-left, astral planes."""

json_keys = st.one_of(
    st.text(st.characters(codec="ascii"), max_size=8), st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
)
"""Keys: mostly short and ASCII, as records have them, and sometimes anything."""

json_integers = st.integers(-MAX_INTEGER, MAX_INTEGER)
json_floats = st.floats(allow_nan=False, allow_infinity=False)
json_scalars = st.one_of(st.none(), st.booleans(), json_integers, json_floats, json_text)


def json_values(max_leaves: int = 20) -> st.SearchStrategy[Any]:
    """Any JSON value that the canonical form carries."""
    return st.recursive(
        json_scalars,
        lambda inner: st.lists(inner, max_size=5) | st.dictionaries(json_keys, inner, max_size=5),
        max_leaves=max_leaves,
    )


json_maps = st.dictionaries(json_keys, json_values(8), max_size=6)

instants = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))
"""Aware instants in UTC, a day away from the ends of the calendar so that any offset fits."""
