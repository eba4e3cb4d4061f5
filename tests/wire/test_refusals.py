"""Refusals for length, in the words of the providers."""

import json
from typing import Any

import pytest

from undrift.wire.refusals import TooLong, too_long


def said(message: str, **more: Any) -> bytes:
    return json.dumps(
        {"type": "error", "error": {"type": "invalid_request_error", "message": message, **more}}
    ).encode()


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (said("prompt is too long: 1210000 tokens > 1000000 maximum"), TooLong(1_210_000, 1_000_000)),
        (
            said(
                "This model's maximum context length is 128000 tokens. However, your messages resulted in 130,512 tokens.",
                code="context_length_exceeded",
            ),
            TooLong(130_512, 128_000),
        ),
        (said("Your input exceeds the context window of this model.", code="context_length_exceeded"), TooLong()),
        (
            said("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
            TooLong(1_200_000, 1_048_576),
        ),
        (
            said("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length"),
            TooLong(190_000, 200_000),
        ),
    ],
)
def test_the_figures_are_read(body: bytes, found: TooLong):
    assert too_long(400, body) == found


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (429, said("prompt is too long: 2 tokens > 1 maximum")),
        (200, said("prompt is too long: 2 tokens > 1 maximum")),
        (400, said("messages: at least one message is required")),
        (400, b"prompt is too long"),
        (400, b"[]"),
        (400, b'"prompt is too long"'),
        (413, b"<html>"),
        (400, said("prompt is too long" + "x" * 70_000)),
        (400, json.dumps({"error": {"message": 7, "code": None}}).encode()),
    ],
)
def test_anything_else_is_no_such_refusal(status: int, body: bytes):
    assert too_long(status, body) is None
