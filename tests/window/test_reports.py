"""A provider's token count belongs to the histories that contain its place."""

from undrift.core.text.calibration import UsageReport
from undrift.window.reports import Reports, payload_of

MAIN, AGENT = {"m1", "m2", "m3"}, {"a1", "a2"}


def report(counted: int, reported: int) -> UsageReport:
    return UsageReport(counted, reported)


def test_a_report_counts_in_the_histories_that_contain_its_place():
    reports = Reports([payload_of("m", report(100, 150), "m1"), payload_of("m", report(100, 300), "a1")])
    assert reports.calibration("m", MAIN).tokens(1_000) == 1_500
    assert reports.calibration("m", AGENT).tokens(1_000) == 3_000


def test_a_conversation_without_a_report_begins_with_the_newest_of_the_session():
    reports = Reports([payload_of("m", report(100, 150), "m1"), payload_of("m", report(100, 300), "a1")])
    assert reports.calibration("m", {"x"}).tokens(1_000) == 3_000
    assert reports.calibration("other", MAIN).tokens(1_000) == 1_000


def test_a_report_of_an_older_home_counts_in_every_history():
    reports = Reports([{"model": "m", "counted_tokens": 100, "reported_tokens": 200}, None, {"model": "m"}])
    assert reports.calibration("m", MAIN).tokens(1_000) == reports.calibration("m", AGENT).tokens(1_000) == 2_000


def test_the_first_report_of_a_conversation_is_kept_and_others_only_if_they_say_something_new():
    reports = Reports(())
    assert reports.is_news("m", report(1_000, 1_000), MAIN)
    reports.add("m", report(1_000, 1_000), "m1")
    assert not reports.is_news("m", report(1_000, 1_010), MAIN)
    assert reports.is_news("m", report(1_000, 1_100), MAIN)
    assert reports.is_news("m", report(1_000, 1_010), AGENT)


def test_a_fork_gets_the_reports_of_its_history_alone():
    given = [payload_of("m", report(100, 150), at) for at in ("m1", "a1", "")]
    assert Reports(given).inherited(MAIN) == [given[0]]
