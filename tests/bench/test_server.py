"""The benchmarks of a home on a server in short: the sizes of what they write, round trips, and the recall of an index."""

from pathlib import Path

import pytest

from tests.stores.on_server import server, skip_without_server
from undrift.values.window import Decision, Original


@pytest.fixture(autouse=True)
def needs_a_server() -> None:
    skip_without_server()
    pytest.importorskip("numpy", reason="needs the extra `vectors`")


def test_prunes_without_recordings_have_the_sizes_of_recorded_ones():
    from bench.server import synthetic

    prunes = synthetic(60)
    originals = [one for prune in prunes for one in prune.changes if isinstance(one, Original)]
    decisions = [one for prune in prunes for one in prune.changes if isinstance(one, Decision)]
    assert len(originals) / 60 == pytest.approx(20.8, rel=0.1)
    assert len(decisions) / 60 == pytest.approx(24.6, rel=0.1)
    assert sum(len(one.entry.content) for one in originals) / 60 == pytest.approx(37_000, rel=0.15)
    moved = prunes[0].of("other")
    assert {one.session_id for one in moved.changes if isinstance(one, Original)} == {"other"}
    assert {one.ref for one in moved.changes if isinstance(one, Decision) and one.ref} == {
        one.ref for one in moved.changes if isinstance(one, Original)
    }


def test_a_quiet_turn_asks_the_server_once_and_with_affinity_never(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from bench.figures import Report
    from bench.server import turns

    monkeypatch.setenv("HOME", str(tmp_path))
    url = f"{server().url()}&undrift_schema="
    homes = {"file": str(tmp_path / "home"), "server": f"{url}bench_turns", "server far away": f"{url}bench_far",
             "server with affinity": f"{url}bench_affine&undrift_affinity=yes"}  # fmt: skip
    report = Report()
    turns(report, homes, 40)
    trips = {one.text: one.value for one in report.claims}
    assert trips["a quiet turn, server: round trips by the engine's count"] == 1
    assert trips["a quiet turn, server with affinity: round trips by the engine's count"] == 0
    assert trips["a pruning turn, server: round trips by the engine's count"] <= 4


def test_the_index_finds_behind_a_filter_of_one_percent_and_its_defaults_do_not():
    from bench.server_vectors import LEAST_RECALL, measure

    recall = {one.text: one.value for one in measure(others=2_000, own=20, queries=20).claims}
    few = "20 of 2,020: {}, recall of 10"
    assert recall[few.format("all compared")] == 1
    assert recall[few.format("HNSW, relaxed order and sorted")] >= LEAST_RECALL
    assert recall[few.format("HNSW as it is by default")] < 0.5
