"""The fleet's simulation: what it says follows from its inputs, and the page shows what it says of the committed measurement."""

import json
from collections.abc import Mapping
from random import Random
from statistics import mean
from typing import Any

import pytest

from bench import fleet
from bench.fleet_assumed import ASSUMED, ORDERS, hours
from bench.fleet_model import simulate
from bench.fleet_queues import Load, sojourns
from tests.long_form import IS_LONG
from tests.stores.on_server import skip_without_server

MEASURED: dict[str, Any] = json.loads(fleet.FILE.read_text(encoding="utf-8"))
GROWING = (
    ("load", "turns_per_s_peak"),
    ("load", "rows_per_day"),
    ("disk", "bytes_kept"),
    ("disk", "wal_bytes_per_day"),
    ("gateway", "processes"),
    ("server", "cores"),
    ("server", "servers"),
    ("memory", "bytes"),
    ("connections", "in_use_at_peak"),
    ("usd", "month"),
)


def numbers(value: object) -> list[float]:
    """Return all numbers in JSON values."""
    if isinstance(value, Mapping):
        return [one for each in value.values() for one in numbers(each)]
    if isinstance(value, list):
        return [one for each in value for one in numbers(each)]
    return [float(value)] if isinstance(value, int | float) else []


def test_more_developers_never_need_less():
    results = [simulate(MEASURED, developers, 20) for developers in ORDERS]
    for part, name in GROWING:
        values = [one[part][name] for one in results]
        assert values == sorted(values), f"{part}.{name}"
        assert values[-1] > values[0], f"{part}.{name} does not grow from {ORDERS[0]:,} to {ORDERS[-1]:,}"


def test_what_is_counted_is_in_proportion():
    one, ten = (simulate(MEASURED, developers, 20) for developers in (1_000, 10_000))
    for part, name in (("load", "turns_per_day"), ("disk", "bytes_per_day"), ("disk", "wal_bytes_per_day")):
        assert ten[part][name] == pytest.approx(10 * one[part][name])
    half = simulate(MEASURED, 1_000, 20, changed={"tokens_per_session": ASSUMED["tokens_per_session"].value / 2})
    assert half["load"]["turns_per_day"] == pytest.approx(one["load"]["turns_per_day"] / 2)


def test_each_figure_comes_from_the_measurement():
    before = simulate(MEASURED, 100_000, 20)
    changed = json.loads(json.dumps(MEASURED))
    for name in changed["shapes"]["40000"]["rows"]:
        changed["shapes"]["40000"]["rows"][name] *= 2
    changed["wal"] = {name: 2 * value for name, value in changed["wal"].items()}
    changed["cold"]["lane_bytes"] *= 2
    for one in (changed["statements"]["prune"], *changed["commits"].values()):
        one["server_ms"] *= 2
    after = simulate(changed, 100_000, 20)
    assert after["load"]["rows_per_day"] == pytest.approx(2 * before["load"]["rows_per_day"])
    assert after["memory"]["bytes_of_sessions"] == pytest.approx(2 * before["memory"]["bytes_of_sessions"])
    assert 1 < after["disk"]["wal_bytes_per_day"] / before["disk"]["wal_bytes_per_day"] <= 2
    assert after["server"]["busy_cores_peak"] > before["server"]["busy_cores_peak"]


def test_parts_add_up_to_the_whole():
    found = simulate(MEASURED, 100_000, 20)
    disk, memory, usd = found["disk"], found["memory"], found["usd"]
    assert disk["bytes_kept"] == pytest.approx(disk["bytes_kept_with_content_elsewhere"] + disk["of_these_content"])
    assert disk["wal_bytes_per_day"] <= disk["wal_bytes_per_day_at_most"]
    assert usd["month"] == pytest.approx(sum(value for name, value in usd.items() if name.endswith("_month")))
    assert memory["bytes"] == pytest.approx(
        memory["bytes_of_sessions"] + memory["bytes_of_memory_indexes"] + memory["bytes_of_processes"]
    )
    assert all(one >= 0 for one in numbers(found))


def test_every_assumption_counts():
    before = simulate(MEASURED, 9_000, 20)
    flags = {"with_affinity": 0.0, "prepares": 0.0, "words_growth": 1.0}
    for name, one in ASSUMED.items():
        value = flags.get(name, one.value * (0.01 if name.endswith("_wait_ms") else 0.5))
        after = simulate(MEASURED, 9_000, 20, changed={name: value})
        assert after != before, f"{name} changes nothing"


def test_an_unknown_assumption_is_refused():
    with pytest.raises(KeyError):
        simulate(MEASURED, 10, 20, changed={"cores_of_the_moon": 1})


def test_the_same_seed_gives_the_same_day():
    first, again = (simulate(MEASURED, 1_000, 20, has_hours=True) for _ in range(2))
    assert first == again
    peak = max(first["hours"], key=lambda one: one["turns_per_s"])
    assert peak["turns_per_s"] == pytest.approx(first["load"]["turns_per_s_peak"])


@pytest.mark.parametrize("peak", [1.5, 2.0, 3.0])
def test_the_busiest_hour_is_as_busy_as_was_said(peak: float):
    day = hours(peak)
    assert max(day) == pytest.approx(peak)
    assert mean(day) == pytest.approx(1, abs=0.02)


def test_waits_are_those_of_queueing_theory():
    """Jobs that share one processor evenly take 1/(1 - load) times as long as alone, for any sizes."""
    for busy in (0.3, 0.6):
        load = Load(busy * 100, 10.0, lambda random: random.expovariate(1) * 10.0)
        late = mean(sojourns(load, 1, 60_000, Random(1)))
        assert late == pytest.approx(10 / (1 - busy) - 10, rel=0.15)


def test_a_job_that_is_alone_waits_for_none():
    load = Load(0.001, 10.0, lambda _: 10.0)
    assert sojourns(load, 1, 200, Random(1))[-1] == pytest.approx(0, abs=1e-3)
    crowd = Load(4_000, 10.0, lambda _: 10.0)
    assert mean(sojourns(crowd, 80, 8_000, Random(1))) < mean(sojourns(crowd, 44, 8_000, Random(1)))


def test_the_page_shows_what_the_program_says():
    page = fleet.PAGE.read_text(encoding="utf-8")
    assert fleet.with_parts(page, fleet.parts(MEASURED)) == page, "run: python -m bench.fleet write"
    for word in ("date", "undrift", "postgresql", "python", "psycopg", "cores", "sessions"):
        assert str(MEASURED["about"][word]) in page


def test_a_page_without_a_marker_is_refused():
    with pytest.raises(ValueError, match="measured"):
        fleet.with_parts("# A page\n", {"measured": "text"})


def test_the_command_prints_a_table_and_json(capsys: pytest.CaptureFixture[str]):
    file = str(fleet.FILE)
    assert fleet.main(["simulate", file, "--developers", "50"]) == 0
    assert "| sessions a day | 1.00 k |" in capsys.readouterr().out
    assert fleet.main(["simulate", file, "--developers", "50", "--json", "--set", "kept_days=60"]) == 0
    assert json.loads(capsys.readouterr().out)["developers"] == 50
    for wrong in (["--set", "moon=1"], ["--set", "kept_days=soon"], ["--budget", "7"]):
        with pytest.raises(SystemExit):
            fleet.main(["simulate", file, *wrong])


@pytest.mark.skipif(not IS_LONG, reason="a minute of measuring: `make long` plays it")
def test_a_small_measurement_on_a_real_server_can_be_simulated():
    skip_without_server()
    from bench.fleet_measure import MeasuringSize, measure

    size = MeasuringSize(1, 60, (4, 12), 60, 0.5, 50, (1,))
    found = json.loads(json.dumps(measure(None, size)))
    shape = found["shapes"]["40000"]
    assert found.keys() == MEASURED.keys()
    assert shape["prunes"] >= 1, "the budget is smaller than the session, so something must leave"
    assert found["shapes"]["auto"]["rows"]["segments"] == 0
    assert shape["rows"]["segments"] == shape["prunes"]
    assert shape["objects"]["bytes"] < shape["objects"]["raw_bytes"]
    assert found["wal"]["prune"] > found["wal"]["other"] > 0
    assert found["wal"]["prune_after_checkpoint"] > found["wal"]["prune"]
    assert found["with_affinity"]["quiet_round_trips"] < shape["round_trips"]["quiet"]
    assert found["served"]["managed"] == found["served"]["turns"]
    assert simulate(found, 1_000, 20)["disk"]["bytes_per_day"] > 0
    assert "sessions made of the standard library" in fleet.parts(found)["measured"]
