"""Values with their canonical bytes and digests: how this project's form reads, pinned."""

from __future__ import annotations

from typing import Any

from calibrant import canonical

VALUES: dict[str, Any] = {
    "null": None,
    "empty map": {},
    "empty list": [],
    "empty text": "",
    "zero": 0,
    "zero as a float": 0.0,
    "minus zero": -0.0,
    "a whole float": 5.0,
    "the largest integer": canonical.MAX_INTEGER,
    "a whole double beyond it": 1e20,
    "a small float": 1e-7,
    "controls and quotes": '\x00\x1f\x7f\n\r\t\b\f"\\/',
    "line separators": "\u2028\u2029",
    "composed and decomposed": ["\u00e9", "e\u0301"],
    "right to left": "\u05e9\u05dc\u05d5\u05dd \u202e!",
    "keys by UTF-16": {"\U0001f600": 1, "\ufb33": 2, "\u20ac": 3, "a": 4},
    "a record": {
        "schema": "calibrant.example.v1",
        "seed": None,
        "temperature": 0.0,
        "items": [{"id": "a"}, {"id": "b"}],
    },
}


def vectors() -> dict[str, Any]:
    """Name by name: the canonical bytes as text, and their SHA-256."""
    return {
        name: {"canonical": canonical.encode(value).decode("utf-8"), "sha256": canonical.digest(value)}
        for name, value in VALUES.items()
    }
