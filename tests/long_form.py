"""The two forms of a long run: `make test` plays the short one, `make long` the other, in each file that imports this."""

import os

import pytest

__all__ = ["IS_LONG", "only_long", "sized"]

IS_LONG = os.environ.get("UNDRIFT_TEST_LONG") == "1"
only_long = pytest.mark.skipif(not IS_LONG, reason="`make long` plays it")


def sized(short: int, long: int) -> int:
    """Return how much is played: `long` in `make long`, else `short`."""
    return long if IS_LONG else short
