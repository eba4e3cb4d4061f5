"""The use of what hooks gave back, and compactions with and without them, counted by hand."""

from dataclasses import replace

import pytest

from tests.core.autopsy.test_examine import LINE, PRICES, Talk, work
from tests.core.autopsy.test_given import by_hook
from undrift.core.autopsy.examine import autopsy
from undrift.recordings.autopsy import Postmortem
from undrift.recordings.effect import LEAST_SESSIONS, compared, summed

AT_MS = 1_000_000 + 22 * 60_000
LATER_MS = AT_MS + 1


def session(number: int, *, by_us: bool, summary: str = "Go on.", project: str = "p", usd: float | None = 3.0) -> Postmortem:  # fmt: skip
    talk = work().compacted(summary)
    talk = (by_hook(talk) if by_us else talk).said(f"So:\n{LINE}").reads(1)
    return postmortem(talk, f"{project}/{number}", usd)


def postmortem(talk: Talk, path: str, usd: float | None = 3.0) -> Postmortem:
    found = autopsy(talk.entries, talk.compactions, prices=PRICES)
    return Postmortem(path, "claude-code", "m", "m", usd, 5_000, found, False)


def project_of(one: Postmortem) -> str:
    return one.path.partition("/")[0]


def test_the_sums_are_those_of_the_compactions_with_a_text():
    sums = summed([session(1, by_us=True), session(2, by_us=False), session(3, by_us=True)])
    assert (sums.compactions, sums.used, sums.held, sums.alone, sums.results) == (2, 10, 10, 10, 2)
    assert (sums.fetches, sums.fetched_tokens) == (0, 0)
    assert sums.usd is not None
    assert sums.usd > 0
    assert sums.result_usd == pytest.approx(sums.result_tokens * 3 / 1_000_000)
    assert sums.fetched_usd == 0.0
    assert summed([session(1, by_us=True, usd=None)]).usd is None


def test_a_copy_of_a_compaction_counts_once():
    one = session(1, by_us=True)
    (compaction,) = one.autopsy.compactions
    copy = replace(one, autopsy=replace(one.autopsy, compactions=(replace(compaction, repeated=True),)))
    assert summed([copy]).compactions == 0
    (found,) = compared([copy], {"claude-code": LATER_MS}, project_of)
    assert found.with_hooks.compactions == 0


def test_each_side_has_the_compactions_of_its_time():
    found = [session(n, by_us=False) for n in range(5)] + [session(10 + n, by_us=True) for n in range(6)]
    (one,) = compared(found, {"claude-code": LATER_MS}, project_of)
    assert (len(one.without.sessions), one.without.compactions) == (5, 5)
    assert (len(one.with_hooks.sessions), one.with_hooks.compactions) == (6, 6)
    assert (one.without.share, one.with_hooks.share) == (0.0, 1.0)
    assert one.is_enough
    assert one.missed == 0


@pytest.mark.parametrize(("without", "with_hooks"), [(LEAST_SESSIONS - 1, 9), (9, LEAST_SESSIONS - 1), (0, 9)])
def test_too_few_sessions_on_a_side_are_not_enough(without: int, with_hooks: int):
    found = [session(n, by_us=False) for n in range(without)]
    found += [session(100 + n, by_us=True) for n in range(with_hooks)]
    (one,) = compared(found, {"claude-code": LATER_MS}, project_of)
    assert (len(one.without.sessions), len(one.with_hooks.sessions)) == (without, with_hooks)
    assert not one.is_enough


def test_a_compaction_since_then_without_a_text_is_on_neither_side():
    (one,) = compared([session(1, by_us=False)], {"claude-code": 1}, project_of)
    assert (one.without.compactions, one.with_hooks.compactions, one.missed) == (0, 0, 1)


def test_of_several_projects_only_those_with_both_sides_count():
    found = [session(n, by_us=False, project="old") for n in range(9)]
    found += [session(n, by_us=n > 5, project="both") for n in range(11)]
    (one,) = compared(found, {"claude-code": LATER_MS}, project_of)
    assert (one.without.compactions, one.with_hooks.compactions) == (6, 5)


def test_a_client_that_was_given_nothing_is_not_compared():
    assert compared([session(1, by_us=False)], {"codex": 1}, project_of) == ()
    assert compared([], {"claude-code": 1}, project_of) == ()


def test_the_means_are_of_one_compaction():
    talk = work().compacted("Go on.").call("Read", work().entries[2].content, file_path="/repo/timeouts.py")
    (one,) = compared([postmortem(talk, "p/1"), session(2, by_us=False)], {"claude-code": LATER_MS}, project_of)
    assert one.without.mean_fetches == 0.5
    assert one.without.mean_fetched_tokens == one.without.fetched_tokens / 2 > 0
    assert one.with_hooks.mean_fetched_tokens == 0.0
    assert one.with_hooks.share is None
