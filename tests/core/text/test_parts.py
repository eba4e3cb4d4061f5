"""The text of a result that came in several parts."""

import json

import pytest

from undrift.core.text.parts import text_of
from undrift.values.window import ContextEntry

TWO = json.dumps([{"type": "input_text", "text": "Script completed"}, {"type": "input_text", "text": "a\nb"}])


def entry(content: str, **metadata: str) -> ContextEntry:
    return ContextEntry("e", "tool_result", content, 1, 0, metadata)


def test_the_texts_of_all_parts_stand_one_after_the_other():
    assert text_of(entry(TWO, mixed="parts")) == "Script completed\na\nb"


def test_a_text_that_only_looks_so_stays_as_it_is():
    assert text_of(entry(TWO)) == TWO


@pytest.mark.parametrize(
    "content",
    [
        "[]",
        "{}",
        "plain",
        "[" * 100_000,
        '["a"]',
        '[{"text": 1}]',
        '[{"type": "text", "text": "a"}, {"type": "image"}]',
        "5",
    ],
)
def test_what_is_no_list_of_texts_stays_as_it_is(content: str):
    assert text_of(entry(content, mixed="parts")) == content
