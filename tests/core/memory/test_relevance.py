"""Which hits fit a question at all."""

from typing import Any

import pytest

from undrift.core.memory.relevance import LEAST_NEIGHBOURS, LEAST_SIMILARITY, is_relevant


@pytest.mark.parametrize(
    ("why", "fits"),
    [
        ({"lexical": 0.01}, True),
        ({"stated": 0.3}, True),
        ({"stands_for": "m1"}, True),
        ({"dense": 1.0, "similarity": LEAST_SIMILARITY}, True),
        ({"dense": 1.0, "similarity": LEAST_SIMILARITY - 0.001}, False),
        ({"neighbours": LEAST_NEIGHBOURS}, True),
        ({"neighbours": LEAST_NEIGHBOURS - 0.001, "speaker": 1.5}, False),
        ({}, False),
    ],
)
def test_words_always_fit_and_meaning_has_a_threshold(why: dict[str, Any], fits: bool):
    assert is_relevant(why) is fits
