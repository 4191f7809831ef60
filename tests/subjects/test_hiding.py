"""Keys and passwords do not get into what is kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.subjects.hiding import HIDDEN, hide_in_argv, hide_secrets


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Incorrect API key provided: sk-proj-AbCdEf0123456789", "AbCdEf"),
        ("Authorization: Bearer abcdef.ghijkl", "ghijkl"),
        ("cannot reach https://me:hunter2@host/v1", "hunter2"),
        ("GET /v1?api_key=hunter2&x=1", "hunter2"),
        ("password: hunter2", "hunter2"),
        ("AIzaSyA-0123456789abcdefghij", "0123456789"),
    ],
)
def test_what_looks_like_a_secret_is_hidden(text: str, secret: str) -> None:
    assert secret in text
    assert secret not in hide_secrets(text)


@pytest.mark.parametrize(
    "text", ["A token is a piece of a word.", "key-features.md", "the sky-line at http://host:80/x", "sk-1"]
)
def test_what_is_none_stays(text: str) -> None:
    assert hide_secrets(text) == text


@given(secret=st.text(alphabet="abcdefghij0123456789", min_size=4), around=st.text())
def test_a_known_secret_is_hidden_wherever_it_stands(secret: str, around: str) -> None:
    assert secret not in hide_secrets(f"{around}{secret}{around}", [secret]).replace(HIDDEN, "")


def test_what_follows_a_flag_for_a_secret_is_hidden() -> None:
    argv = ["answer", "--api-key", "abc", "--token", "-v", "--auth-token=abc", "plain"]
    assert hide_in_argv(argv) == ["answer", "--api-key", HIDDEN, "--token", "-v", f"--auth-token={HIDDEN}", "plain"]
