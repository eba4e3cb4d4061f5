"""The two forms of a long run: `make test` plays the short one, `make long` the other, in each file that imports this."""

import os

__all__ = ["IS_LONG", "sized"]

IS_LONG = os.environ.get("UNDRIFT_TEST_LONG") == "1"


def sized(short: int, long: int) -> int:
    """Return how much is played: `long` in `make long`, else `short`."""
    return long if IS_LONG else short
