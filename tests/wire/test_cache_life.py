"""cache_life: for how long a request asks to be kept, and what an answer's usage says of it."""

from typing import Any

import pytest

from undrift.wire import anthropic, cache_life, gemini, openai_chat, openai_responses

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
        ([text(cache_control={"type": "ephemeral", "ttl": "24h"})], {}, 3_600),
        ([text()], {"cache_control": {"type": "ephemeral", "ttl": "24h"}}, 3_600),
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


@pytest.mark.parametrize(("ttl", "expected"), [("12h", 43_200), ("30m", 1_800)])
def test_the_markers_of_openai_have_their_own_times(ttl: str, expected: int):
    parts = [{"type": "input_text", "text": "x", "prompt_cache_breakpoint": {"ttl": ttl}}]
    view = openai_responses.read({"role": "user", "content": parts}, "input[0]")
    assert cache_life.seconds_of([view], {}) == expected


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


@pytest.mark.parametrize(
    ("fields", "asked", "kept"),
    [
        ({"prompt_cache_retention": "24h"}, 86_400, 86_400),
        ({"prompt_cache_retention": "in_memory"}, 3_600, 3_600),
        ({"prompt_cache_retention": "in-memory"}, 3_600, 3_600),  # as the SDKs wrote it until 2026
        ({"prompt_cache_options": {"ttl": "30m"}}, 1_800, None),  # the least, so that an answer says nothing of the end
        ({"prompt_cache_options": {"ttl": "30m"}, "prompt_cache_retention": "24h"}, 86_400, 86_400),
        ({"prompt_cache_retention": None, "prompt_cache_options": None}, None, None),
        ({"prompt_cache_retention": ["24h"], "prompt_cache_options": {"ttl": ["30m"]}}, None, None),
        ({"prompt_cache_retention": "9" * 9_000, "prompt_cache_options": {"ttl": 1e300}}, None, None),
        ({"prompt_cache_retention": {"24h": 1}, "prompt_cache_options": "30m"}, None, None),
        ({}, None, None),
    ],
)
def test_a_retention_of_openai_and_what_an_answer_repeats_of_it(
    fields: dict[str, Any], asked: int | None, kept: int | None
):
    assert cache_life.seconds_asked(fields) == asked
    for form in (openai_chat, openai_responses):
        read = form.reply({"usage": {}, **fields})
        assert (read.cache_seconds, read.is_promised) == (kept, False)


def test_only_anthropic_promises_the_least_time():
    written = {"usage": {"cache_creation": {"ephemeral_1h_input_tokens": 9}}}
    assert anthropic.reply(written).is_promised
    assert not anthropic.reply({"usage": {"cache_creation": {}}}).is_promised
    assert gemini.reply({"usageMetadata": {"cachedContentTokenCount": 9}}).cache_seconds is None


@pytest.mark.parametrize("name", ["cachedContent", "cached_content"])
def test_a_cache_that_a_request_names(name: str):
    assert cache_life.names_cache({name: "cachedContents/1"})
    assert not cache_life.names_cache({name: ""})
    assert not cache_life.names_cache({})
