"""The bench of the gateway works, and what it counts is as promised; its times are for the reader."""

from bench.gateway import measure


def test_a_small_burst_is_managed_as_a_whole():
    report = measure(is_short=True, parts=("burst", "small"))
    counts = {claim.text: claim.value for claim in report.claims if claim.text.endswith("not managed")}
    assert list(counts.values()) == [0.0]
    assert len(report.figures) == 5
