"""The probability of a text is the product of those of its own tokens, or nothing."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.subjects.probability import probability_of

pieces = st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=8)
logarithms = st.floats(min_value=-30, max_value=0)


@given(pieces=pieces, data=st.data())
def test_it_is_the_product_over_the_tokens(pieces: list[str], data: st.DataObject) -> None:
    tokens = [(piece.encode(), data.draw(logarithms)) for piece in pieces]
    product = math.prod(math.exp(logarithm) for _, logarithm in tokens)
    assert probability_of("".join(pieces), tokens) == pytest.approx(product, abs=1e-12)


@given(pieces=pieces, end=logarithms)
def test_the_token_that_ends_the_text_is_left_out(pieces: list[str], end: float) -> None:
    tokens = [(piece.encode(), -0.5) for piece in pieces]
    assert probability_of("".join(pieces), [*tokens, (b"\n", end)]) == probability_of("".join(pieces), tokens)


def test_a_last_token_that_reaches_behind_the_text_counts() -> None:
    assert probability_of("Paris", [(b"Par", math.log(0.5)), (b"is.\n", math.log(0.5))]) == 0.25


@pytest.mark.parametrize("tokens", [[], [(b"Par", -1.0)], [(b"London", -1.0)], [(b"Paris", math.nan)]])
def test_tokens_that_do_not_make_up_the_text_give_nothing(tokens: list[tuple[bytes, float]]) -> None:
    assert probability_of("Paris", tokens) is None


def test_an_empty_text_has_none() -> None:
    assert probability_of("", [(b"", 0.0)]) is None


def test_half_a_character_is_still_its_bytes() -> None:
    snow = "雪".encode()
    assert probability_of("雪", [(snow[:1], 0.0), (snow[1:], math.log(0.5))]) == 0.5


def test_rounding_never_goes_above_one() -> None:
    assert probability_of("a", [(b"a", 1e-9)]) == 1.0
