"""The timeline: its dates, its marks and its curve, at every width."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.report.builders import compacted_session
from undrift.core.autopsy.findings import Autopsy, Point
from undrift.recordings.autopsy import examine
from undrift.report.chart import bar, timeline

TICK = re.compile(r'<text x="([\d.]+)%" y="200" class="([^"]+)">([^<]+)</text>')
HOUR_MS = 3_600_000


@pytest.fixture
def found(tmp_path: Path) -> Autopsy:
    return examine(compacted_session().written(tmp_path / "session.jsonl")).autopsy


def with_times(found: Autopsy, *, hours: float) -> Autopsy:
    """The same session with a prompt at each call, so many hours from the first to the last."""
    start_ms = 1_772_359_200_000
    step_ms = round(hours * HOUR_MS / found.calls)
    points = (Point(call, 1_000 * call, start_ms + call * step_ms) for call in range(found.calls + 1))
    return replace(found, timeline=tuple(points))


def test_the_axis_has_dates_of_which_a_phone_shows_three(found: Autopsy):
    ticks = TICK.findall(timeline(with_times(found, hours=44)))
    assert [(place, shown) for place, _, shown in ticks] == [
        ("0", "1 Mar 10:00"),
        ("25", "1 Mar 20:00"),
        ("50", "2 Mar 08:00"),
        ("75", "2 Mar 18:00"),
        ("100", "3 Mar 06:00"),
    ]
    assert [class_ for _, class_, _ in ticks] == ["from", "mid wide", "mid", "mid wide", "to"]


def test_a_redacted_axis_has_a_day_and_spans(found: Autopsy):
    ticks = TICK.findall(timeline(with_times(found, hours=44), redacted=True))
    assert [shown for _, _, shown in ticks] == ["1 Mar 2026", "+10 h", "+22 h", "+32 h", "+44 h"]


def test_without_recorded_times_the_axis_has_calls(found: Autopsy):
    bare = replace(found, timeline=tuple(replace(point, at_ms=None) for point in found.timeline))
    assert [shown for _, _, shown in TICK.findall(timeline(bare))][::2] == ["call 0", "call 11", "call 22"]
    assert "call 22" in timeline(replace(bare, timeline=()))


def test_no_place_lies_outside_the_chart_whatever_a_recording_claims(found: Autopsy):
    (compaction,) = found.compactions
    fetch = replace(compaction.fetches[0], session_call=10**9, known_tokens=10**9)
    wild = replace(compaction, calls_before=10**9, tokens_before=10**12, at_ms=10**17, fetches=(fetch,))
    points = (Point(0, 0, -(10**17)), Point(10**9, 10**12, 10**17))
    drawn = timeline(replace(found, calls=10**9, compactions=(wild,), timeline=points))
    places = [float(place) for place in re.findall(r'(?:c?x[12]?)="(-?[\d.]+)%"', drawn)]
    assert places
    assert all(0 <= place <= 100 for place in places)
    assert "31 Dec 23:59" in drawn


def test_a_long_session_keeps_its_highest_points_and_those_beside_a_compaction(found: Autopsy):
    (compaction,) = found.compactions
    points = tuple(Point(call, 200_000 if call == 7_777 else 1_000, None) for call in range(10_000))
    drawn = timeline(
        replace(found, calls=10_000, timeline=points, compactions=(replace(compaction, calls_before=5_000),))
    )
    moves = re.search(r'<path d="M0 \d+l([^"]+)" class="line"', drawn)
    assert moves is not None
    heights = [int(number) for number in moves[1].split()[1::2]]
    assert len(heights) < 200
    assert min(heights) < -100


def test_numbers_of_compactions_that_lie_close_do_not_overlap(found: Autopsy):
    (compaction,) = found.compactions
    close = tuple(replace(compaction, number=n, calls_before=n, fetches=()) for n in range(1, 40))
    drawn = timeline(replace(found, calls=100, compactions=close))
    assert drawn.count('class="cut"') == 39
    assert 5 <= len(re.findall(r'<text x="[\d.]+%" y="12"', drawn)) <= 8


def test_a_bar_is_as_long_as_its_share_and_no_longer():
    assert 'width="84.0%" class="ours"' in bar(0.84, "ours")
    assert 'width="100.0%" class="ours"' in bar(1.7, "ours")
    assert bar(0, "ours").count("<rect") == 1
