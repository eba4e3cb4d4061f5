"""The active calibration follows from the newest reports: met at once, forgotten as soon, and never beyond reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.core.text.calibration import REPORTS, Calibration, UsageReport, calibration_of, is_news, is_plausible
from undrift.errors import InputError

counts = st.integers(1, 1_000_000)


@st.composite
def plausible_reports(draw: st.DrawFn) -> UsageReport:
    counted = draw(counts)
    return UsageReport(counted, draw(st.integers(-(-counted // 4), 4 * counted)))


def steady(slope: float, offset: int, *, steps: int = 12, step_tokens: int = 8_000) -> list[UsageReport]:
    """A session that grows evenly: each counted token costs `slope`, and `offset` tokens are never counted."""
    counted = [10_000 + step_tokens * number for number in range(steps)]
    return [UsageReport(tokens, round(offset + slope * tokens)) for tokens in counted]


def test_nothing_reported_leaves_the_counts_alone():
    assert calibration_of([]).tokens(12_345) == 12_345
    assert calibration_of([]).counted(12_345) == 12_345


@given(st.lists(plausible_reports(), max_size=30), plausible_reports())
def test_the_newest_report_is_met_whatever_came_before(earlier: list[UsageReport], newest: UsageReport):
    found = calibration_of([*earlier, newest]).tokens(newest.counted_tokens)
    assert found in (newest.reported_tokens, newest.reported_tokens + 1)  # rounded up


@given(st.lists(plausible_reports(), max_size=40))
def test_the_slope_stays_in_its_range(reports: list[UsageReport]):
    assert 0.25 <= calibration_of(reports).slope <= 4.0


@given(st.lists(plausible_reports(), max_size=30), counts, counts)
def test_more_counted_tokens_are_never_fewer_tokens(reports: list[UsageReport], one: int, other: int):
    found = calibration_of(reports)
    assert found.tokens(min(one, other)) <= found.tokens(max(one, other))


@given(st.lists(plausible_reports(), max_size=10), st.lists(plausible_reports(), min_size=REPORTS, max_size=REPORTS))
def test_what_is_older_than_the_last_reports_has_no_say(old: list[UsageReport], new: list[UsageReport]):
    assert calibration_of([*old, *new]) == calibration_of(new)


@given(st.lists(plausible_reports(), max_size=30), counts)
def test_what_may_be_counted_fits_the_budget_unless_that_were_beyond_reason(reports: list[UsageReport], budget: int):
    found = calibration_of(reports)
    counted = found.counted(budget)
    assert budget // 4 <= counted <= 4 * budget
    if counted > -(-budget // 4):
        assert found.tokens(counted) <= budget


def test_an_absurd_report_is_gone_with_the_next_one():
    true = steady(1.1, 3_000)
    after = UsageReport(110_000, 124_000)
    absurd = UsageReport(100_000, 380_000)
    assert is_plausible(absurd)  # it might be true; so it is active for one turn
    assert calibration_of([*true, absurd]).tokens(100_000) == 380_000
    assert calibration_of([*true, absurd, after]).tokens(120_000) == pytest.approx(135_000, rel=0.01)


def test_a_report_that_fell_lowers_what_is_in_force():
    high, low = UsageReport(100_000, 140_000), UsageReport(101_000, 96_000)
    assert calibration_of([high, low]).tokens(101_000) == 96_000


@pytest.mark.parametrize(("slope", "offset"), [(0.9, 0), (1.0, 30_000), (1.25, 500), (1.3, -2_000)])
def test_slope_and_offset_are_told_apart(slope: float, offset: int):
    found = calibration_of(steady(slope, offset))
    assert found.slope == pytest.approx(slope, rel=0.01)
    assert found.tokens(20_000) == pytest.approx(offset + slope * 20_000, rel=0.02)  # long after a cut


def test_the_steps_down_count_like_the_steps_up():
    reports = steady(1.2, 0)
    assert calibration_of(reports[::-1]).slope == pytest.approx(calibration_of(reports).slope)


def test_one_report_gives_its_plain_ratio():
    found = calibration_of([UsageReport(50_000, 60_000)])
    assert (found.slope, found.offset_tokens) == (1.2, 0.0)


def test_a_prompt_with_much_that_is_never_counted_says_nothing_of_its_texts():
    found = calibration_of([UsageReport(5_000, 35_000)])  # a recording: no system prompt, no tools
    assert (found.slope, found.offset_tokens) == (1.0, 30_000.0)


def test_small_steps_do_not_turn_the_slope():
    small = [UsageReport(50_000 + 300 * number, 50_000 + 550 * number) for number in range(10)]
    assert calibration_of(small).slope == pytest.approx(54_950 / 52_700)


def test_a_step_that_the_counts_cannot_explain_only_moves_the_offset():
    found = calibration_of([*steady(1.1, 0), UsageReport(99_000, 160_000)])  # a picture, or new tools
    assert found.slope == pytest.approx(1.1, rel=0.01)


@pytest.mark.parametrize(
    ("counted", "reported", "unseen", "expected"),
    [
        (1_000, 250, 0, True),
        (1_000, 249, 0, False),
        (1_000, 4_000, 0, True),
        (1_000, 4_001, 0, False),
        (1_000, 4_001, 1, True),
        (0, 0, 100, False),
    ],
)
def test_a_report_of_another_request_is_not_plausible(counted: int, reported: int, unseen: int, expected: bool):
    assert is_plausible(UsageReport(counted, reported), unseen_tokens=unseen) is expected


def test_only_what_is_missed_by_two_in_a_hundred_is_news():
    assert not is_news([], UsageReport(10_000, 10_200))
    assert is_news([], UsageReport(10_000, 10_210))
    kept = [UsageReport(10_000, 12_000)]
    assert not is_news(kept, UsageReport(20_000, 24_000))
    assert is_news(kept, UsageReport(20_000, 22_000))


def test_tokens_are_never_below_nothing():
    assert Calibration(1.0, -5_000.0).tokens(1_000) == 0
    with pytest.raises(InputError, match="at least 0"):
        UsageReport(-1, 5)
