"""Foreign bytes become an answer only where they say one."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from calibrant.records.subject import Failure, Response
from calibrant.subjects.replies import LONGEST_MESSAGE, failed, read_reply, reply_of, settle

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


@given(data=st.binary(max_size=400))
def test_any_bytes_give_a_reply(data: bytes) -> None:
    reply, _ = read_reply(data)
    assert isinstance(reply, Failure)
    assert reply.message


@given(value=json_values)
def test_any_json_that_is_no_answer_is_a_failure(value: Any) -> None:
    reply, _ = read_reply(json.dumps(value).encode())
    assert isinstance(reply, Failure)
    assert reply.kind == "unreadable"
    assert reply.message.isprintable()


@given(text=st.text(min_size=1).filter(str.strip), challenge=st.text(), extra=st.sampled_from(["stop", "length"]))
def test_an_answer_comes_back_as_it_was_said(text: str, challenge: str, extra: str) -> None:
    told = {"text": text, "finish_reason": extra, "challenge": challenge, "epoch": 2}
    reply, names = read_reply(json.dumps(told).encode())
    assert reply == Response(text=text, finish_reason=extra)  # type: ignore[arg-type]
    assert names == {"challenge": challenge, "epoch": 2}


@given(fields=st.dictionaries(st.sampled_from(["text", "failure", "usage", "model", "seconds", "schema"]), json_values))
def test_any_fields_give_a_reply(fields: dict[str, Any]) -> None:
    assert isinstance(reply_of(fields), Response | Failure)


@given(message=st.text(alphabet=st.characters(), max_size=2000))
def test_a_message_is_one_bounded_printable_line(message: str) -> None:
    failure = failed("crashed", message)
    assert len(failure.message) <= LONGEST_MESSAGE
    assert failure.message.isprintable()
    failure.to_bytes()


def test_an_answer_that_was_cut_off_before_its_first_word_says_so() -> None:
    reply = settle(Response(text="", finish_reason="length"))
    assert isinstance(reply, Failure)
    assert "length limit" in reply.message
