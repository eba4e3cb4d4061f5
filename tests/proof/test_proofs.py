"""The proofs in short: each of them can fail, and on a few cases does not."""

import shutil
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from tests.proof import contention, faults, flips, kills, powercut
from tests.proof.check import Verdict, judge
from tests.proof.powercut import Disk, Event
from tests.proof.workload import Workload, acknowledged

NEEDS_STRACE = pytest.mark.skipif(shutil.which("strace") is None, reason=powercut.NO_STRACE)


@NEEDS_STRACE
@pytest.mark.parametrize(("synchronous", "is_control"), [("FULL", False), ("OFF", True)])
def test_a_power_cut_loses_nothing_and_its_control_does(tmp_path: Path, synchronous: str, is_control: bool):
    home, manifest = tmp_path / "home", tmp_path / "manifest"
    happened = powercut.recorded(tmp_path / "log", home, manifest, 45, synchronous)
    random, verdicts = Random(3), Counter[Verdict]()
    for number in range(40):
        folder = tmp_path / str(number)
        folder.mkdir()
        count = powercut.cut(happened, folder, random)
        verdicts[judge(folder, acknowledged(manifest, count))[0]] += 1
    assert (verdicts[Verdict.WHOLE] < 40) is is_control, verdicts


def test_a_disk_keeps_what_was_synced_and_the_names_of_a_synced_folder():
    disk = Disk()
    for event in (
        Event("name", 1, name="a"),
        Event("write", 1, 2, b"xy"),
        Event("sync", 1),
        Event("write", 1, 0, b"lost"),
        Event("ack", place=7),
    ):
        disk.take(event)
    assert disk.contents == {1: bytearray(b"\0\0xy")}
    assert disk.names == {}  # the folder was not synced
    disk.take(Event("sync", 0))
    assert disk.names == {"a": 1}
    assert disk.acknowledged == 7


@NEEDS_STRACE
@pytest.mark.parametrize(
    "sweep", [faults.Sweep("fdatasync", "EIO"), faults.Sweep("pwrite64", "ENOSPC", lasting=True)], ids=str
)
def test_a_fault_is_never_acknowledged_as_success(sweep: faults.Sweep):
    found = faults.swept(sweep, stride=11 if sweep.call == "fdatasync" else 67)
    assert found["runs"] == found["fired"] > 1
    assert found["refused"] > 0
    assert not any(found[name] for name in ("wrong", "false", "damaged", "bad backups", "unread")), found


def test_a_limit_on_the_size_of_files_refuses_and_is_over_when_it_is_lifted():
    found = faults.with_small_files(range(30_000, 150_000, 60_000))
    assert found["fired"] > 0
    assert not any(found[name] for name in ("wrong", "false", "damaged", "bad backups", "unread")), found


def test_a_promise_that_is_not_kept_is_lost_and_a_changed_content_is_damage(tmp_path: Path):
    with Workload(tmp_path / "home") as workload:
        promised = [workload.operate() for _ in range(9)]
    assert judge(tmp_path / "home", promised) == (Verdict.WHOLE, "")
    last = promised[-1]
    invented = [*promised, type(last)(10, (("0" * 16, "0" * 64),))]
    assert judge(tmp_path / "home", invented)[0] is Verdict.LOST
    changed = [*promised, type(last)(10, ((last.kept[0][0], "0" * 64),))]
    assert judge(tmp_path / "home", changed)[0] is Verdict.DAMAGED


def test_twelve_processes_lose_and_double_nothing(tmp_path: Path):
    found = contention.histories(tmp_path / "home", 12, 8)
    assert sum(len(history.acknowledged) for history in found) == 96
    assert contention.problems(tmp_path / "home", found) == []


def test_a_history_that_the_store_does_not_know_is_noticed(tmp_path: Path):
    (one,) = contention.histories(tmp_path / "home", 1, 3)
    invented = contention.History("p9", ("p9-1",), {"p9-1": 1}, (), ())
    wrong = contention.problems(tmp_path / "home", [one, invented])
    assert any("p9-1 is lost" in line for line in wrong)


def test_no_flipped_bit_gives_out_a_wrong_content_or_hides_one():
    found = flips.flipped(60, seed=5)
    assert found["reported"] > 5
    assert not any(found[name] for name in ("wrong", "gone without a word", "overwritten")), found


def test_a_ruined_file_is_refused_with_the_remedy_and_stays_as_it_was():
    assert flips.ruined() == {}


def test_a_killed_backup_or_restore_leaves_the_store_and_a_backup_whole(tmp_path: Path):
    found = kills._backups(tmp_path, 6, Random(2))
    assert found["killed"] > 0
    assert (found["lost"], found["damaged"]) == (0, 0), found
