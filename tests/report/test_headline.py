"""The headline of a page is true for every kind of finding."""

import dataclasses
from pathlib import Path

import pytest

from tests.recordings.test_headline import SUMS as RECORDED
from tests.report.builders import compacted_session
from undrift.recordings.autopsy import Postmortem, examine, totals
from undrift.recordings.headline import as_share
from undrift.report.headline import Headline, headline_of

SUMS = dataclasses.replace(RECORDED, compactions=3, dropped_tokens=412_000, window_calls=90, fetched_usd=3.1)


def said(*, sessions: int = 2, yours: bool = True, early: int = 0, **other: object) -> str:
    sums = dataclasses.replace(SUMS, **other)  # type: ignore[arg-type]
    return " ".join(Headline(sums, sessions, 150, 9.4, early).sentences(yours=yours))


@pytest.fixture
def one(tmp_path: Path) -> Postmortem:
    return examine(compacted_session().written(tmp_path / "session.jsonl"))


def test_the_headline_says_what_was_lost_and_what_reading_it_again_cost():
    assert said() == "Your compactions lost 84% of what the agent used next. Reading it again cost $3.10."
    assert said(yours=False) == "Compactions lost 84% of what the agent used next. Reading it again cost $3.10."
    assert said(yours=False, compactions=1).startswith("A compaction lost 84% of what")


ENCRYPTED = {"readable": (0, 0), "native": (0, 0)}
UNUSED = {**ENCRYPTED, "needed": (0, 0)}
ALL_KEPT = "Your compactions kept all that the agent used next. Reading again cost $3.10."


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"compactions": 0}, "None of 2 sessions was compacted, so nothing was removed."),
        ({"compactions": 0, "sessions": 1}, "This session was never compacted, so nothing was removed."),
        ({"compactions": 1}, "Your compaction lost 84% of what the agent used next. Reading it again cost $3.10."),
        ({"fetched_usd": None}, "Reading it again took 148,046 tokens."),
        ({"fetched_usd": 0.001}, "Reading it again cost under $0.01."),
        ({"fetched_usd": 0.0, "fetched_tokens": 0}, "It read nothing of size again."),
        ({"native": (150, 50)}, ALL_KEPT),
        ({"native": (0, 0)}, "lost 100% of what"),
        ({"native": (1, 0), "readable": (900, 100)}, "lost over 99% of what"),
        ({"native": (899, 100), "readable": (900, 100)}, "lost under 1% of what"),
        (UNUSED, "412k tokens. The agent used nothing distinctive of them in its next calls. Reading again cost"),
        ({**ENCRYPTED, "encrypted": 3}, "removed 412k tokens, and the summaries are encrypted. Reading again cost"),
        ({**ENCRYPTED, "encrypted": 1}, "and the summary is encrypted."),
        (
            {"compactions": 0, "early": 2},
            "Every compaction is older than the recording, so what it removed is not known.",
        ),
    ],
)
def test_each_sentence_is_true_of_its_figures(other: dict, words: str):
    assert words in said(**other)


def test_the_figures_are_those_of_the_findings(one: Postmortem):
    headline = headline_of([one], totals([one]))
    (compaction,) = one.autopsy.compactions
    assert (headline.sessions, headline.used, headline.lost) == (1, 12, 1.0)
    assert headline.lost_with_undrift is not None
    assert 0 <= headline.lost_with_undrift < 0.5
    assert headline.cost_usd == one.usd(compaction.cost.total)


def test_an_encrypted_summary_is_not_judged_and_an_unknown_price_leaves_no_dollars(one: Postmortem):
    (compaction,) = one.autopsy.compactions
    sealed = dataclasses.replace(compaction, encrypted=True)
    autopsy = dataclasses.replace(one.autopsy, compactions=(sealed,))
    found = [one, dataclasses.replace(one, usd_per_million=None, autopsy=autopsy)]
    headline = headline_of(found, totals(found))
    assert (headline.used, headline.held_with_undrift <= 12) == (12, True)
    assert headline.cost_usd is None


def test_a_copied_compaction_counts_once(one: Postmortem):
    (compaction,) = one.autopsy.compactions
    autopsy = dataclasses.replace(one.autopsy, compactions=(dataclasses.replace(compaction, repeated=True),))
    found = [one, dataclasses.replace(one, autopsy=autopsy)]
    assert headline_of(found, totals(found)).used == 12


def test_no_share_is_rounded_to_nothing_or_to_everything():
    assert [as_share(share) for share in (0, 0.001, 0.5, 0.999, 1)] == ["0%", "under 1%", "50%", "over 99%", "100%"]
