"""cache_life: for how long a request asks to be kept, and what an answer's usage says of it."""

from typing import Any

import pytest

from undrift.wire import anthropic, cache_life, openai_chat

HOUR: dict[str, Any] = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
SHORT: dict[str, Any] = {"cache_control": {"type": "ephemeral"}}


def text(**fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": "x", **fields}]}


@pytest.mark.parametrize(
    ("messages", "fields", "expected"),
    [
        ([text()], {}, None),
        ([text(**SHORT)], {}, 300),
        ([text(cache_control={"type": "ephemeral", "ttl": "5m"})], {}, 300),
        ([text(**HOUR)], {}, 3_600),
        ([text(**HOUR), text(), text(**SHORT)], {}, 3_600),
        ([text(**HOUR), text(cache_control=None)], SHORT, 3_600),
        ([text()], HOUR, 3_600),
        ([text()], SHORT, 300),
        ([text(cache_control="1h")], {"cache_control": ["1h"]}, None),
        ([text()], {"system": [{"type": "text", "text": "x", **HOUR}]}, None),
    ],
)
@pytest.mark.parametrize("form", [anthropic, openai_chat])
def test_what_a_request_asks_for(form: Any, messages: list[Any], fields: dict[str, Any], expected: int | None):
    views = [form.read(message, "messages") for message in messages]
    assert cache_life.seconds_of(views, fields) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"system": [{"type": "text", "text": "x", **HOUR}], "tools": [{"name": "a", **SHORT}]}, 3_600),
        ({"system": "text", "tools": [{"name": "a", **SHORT}]}, 300),
        ({"system": [None, 1, {"cache_control": 1}], "tools": "x"}, None),
        ({}, None),
    ],
)
def test_what_is_asked_for_beside_the_history(fields: dict[str, Any], expected: int | None):
    assert cache_life.seconds_beside(fields) == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"ephemeral_5m_input_tokens": 9, "ephemeral_1h_input_tokens": 0}, 300),
        ({"ephemeral_5m_input_tokens": 9, "ephemeral_1h_input_tokens": 1}, 3_600),
        ({"ephemeral_1h_input_tokens": 7}, 3_600),
        ({"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0}, None),
        ({"ephemeral_5m_input_tokens": "9", "ephemeral_1h_input_tokens": -1}, None),
        ([1], None),
        (None, None),
    ],
)
def test_what_an_answer_says(written: Any, expected: int | None):
    assert anthropic.reply({"usage": {"input_tokens": 1, "cache_creation": written}}).cache_seconds == expected
    assert anthropic.reply({"usage": written}).cache_seconds is None
