"""The sentence that a person repeats is true in each case that recordings have."""

from dataclasses import replace

import pytest

from undrift.recordings.autopsy import Totals
from undrift.recordings.headline import headline

SUMS = Totals(
    compactions=27,
    dropped_tokens=3_402_000,
    needed=(150, 50),
    readable=(150, 50),
    native=(30, 2),
    ours=(0, 0),
    together=(0, 0),
    fetched=(0, 0),
    fetches=9,
    fetched_tokens=148_046,
    window_calls=300,
    usual_tokens=0,
    usual_calls=0,
    rules=0,
    lost_rules=0,
    fetched_usd=2.31,
)


LOST = "27 compactions removed 3.4M tokens, and with them 84% of what the agents used next"
CASES = {
    f"{LOST}; reading again cost 148k tokens ($2.31).": {},
    f"{LOST}; reading again cost 148k tokens.": {"fetched_usd": None},
    f"{LOST} (1 readable summary).": {"encrypted": 26, "fetched_tokens": 0, "fetched_usd": 0.0},
    "27 compactions removed 3.4M tokens; their summaries are encrypted.": {
        "readable": (0, 0),
        "native": (0, 0),
        "encrypted": 27,
        "fetched_tokens": 0,
    },
    "27 compactions removed 3.4M tokens; 20 of their 27 summaries are encrypted.": {
        "readable": (0, 0),
        "native": (0, 0),
        "encrypted": 20,
        "fetched_tokens": 0,
    },
    "27 compactions removed 3.4M tokens, and with them over 99% of what the agents used next.": {
        "readable": (900, 100),
        "native": (1, 0),
        "fetched_tokens": 0,
    },
    "1 compaction removed 3.4M tokens; the agent used nothing of them in the next calls.": {
        "needed": (0, 0),
        "readable": (0, 0),
        "native": (0, 0),
        "compactions": 1,
        "fetched_tokens": 0,
    },
    "No compaction: nothing was removed.": {"compactions": 0},
}


@pytest.mark.parametrize(("said", "changes"), CASES.items())
def test_it_says_what_was_removed_used_and_read_again(said: str, changes: dict[str, object]) -> None:
    assert headline(replace(SUMS, **changes)) == said  # type: ignore[arg-type]
