"""The soak in short, and its judges: each of them can fail."""

import subprocess
import sys
from pathlib import Path
from random import Random

from tests.cli.builders import environment
from tests.proof.powercut import ROOT
from tests.proof.soak_flat import Looks
from tests.proof.soak_ledger import Ledger, lost
from tests.stores.builders import add, original
from undrift import Session
from undrift.stores.projects import place_at
from undrift.stores.sqlite import SqliteStore


def test_all_parts_on_one_home_lose_and_refuse_nothing_while_they_are_killed():
    command = [
        sys.executable,
        "-m",
        "tests.proof.soak",
        "0.1",
        "--kill-every",
        "1.5",
        "--share",
        "2",
        "--sessions",
        "2",
    ]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 lost, 0 refused, 0 times unwell" in done.stdout
    assert " by " in done.stdout.partition("acknowledged:")[2]


def test_the_judge_misses_what_is_gone_and_what_has_another_text(tmp_path: Path):
    home, ledger = tmp_path / "home", Ledger(tmp_path / "ledger")
    one = original("e1", "a text")
    with SqliteStore.open(home) as store:
        add(store, one)
    with Session.open("s", home=home) as session:
        memory = session.remember("The port is 8080.")
    ledger.note("original", "cli", one.ref, "a text")
    ledger.note("memory", "mcp", memory.id, "The port is 8080.")
    assert lost(place_at(home), "s", ledger.all()) == []
    ledger.note("original", "cli", one.ref, "another text")
    ledger.note("original", "cli", "0" * 16, "a text")
    ledger.note("original", "gateway", "", "a text that left", session="all")
    ledger.note("memory", "mcp", "m1", "The port is 80.")
    assert len(lost(place_at(home), "s", ledger.all())) == 4
    assert len((tmp_path / "ledger").read_text().splitlines()) == 6
    found = ledger.any("original", Random(1))
    assert found is not None
    assert found.ref


def test_growth_is_seen_in_the_whole_and_within_the_lives_of_a_process_that_is_killed():
    files, memory, flat = Looks("home"), Looks("gateway"), Looks("mcp")
    for number in range(90):
        files.add({"files": 20.0 + number})
        memory.add({"memory_mb": 60.0 + 4 * (number % 30)}, pid=number // 30)
        flat.add({"memory_mb": 20.0 if number < 30 else 100.0 + number % 7}, pid=number // 30)
    assert [one[-1] for one in files.verdicts()] == [False]
    assert [one[-1] for one in memory.verdicts()] == [False]
    assert [one[-1] for one in flat.verdicts()] == [True]
