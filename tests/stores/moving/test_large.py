"""A move that is killed goes on where it was; a large home goes and comes back with equal hashes."""

import base64
import faulthandler
import os
import signal
import time
from pathlib import Path
from random import Random

import pytest

from tests.stores.builders import commit, database, original, prune, python
from tests.stores.moving.homes import server_home
from tests.stores.moving.plays import answers, play
from tests.stores.moving.test_move import to_file, to_server
from tests.stores.on_server import OnServer, address_of, skip_without_server
from undrift.stores.moving.reading_file import FileSource
from undrift.stores.moving.reading_server import ServerSource
from undrift.stores.sqlite import SqliteStore

_LONG = bool(os.environ.get("UNDRIFT_TEST_LONG"))
_TEXT_BYTES = 8_000
_TEXTS = 25
_MOVE = """
import sys
from pathlib import Path
from undrift.stores.moving.homes import Pair, move_pair
from undrift.stores.served import home_path
from undrift.values.project import Place
target = home_path(sys.argv[2])
print("begun", flush=True)
move_pair(Pair("p", Path(sys.argv[1]), Place(target, target, target)))
print("ended", flush=True)
"""


def fill(folder: Path, size_bytes: int, *, session_bytes: int) -> list[str]:
    """Write sessions with texts that hardly compress; return their names."""
    names: list[str] = []
    with SqliteStore.open(folder) as store:
        written = 0
        while written < size_bytes:
            names.append(f"session {len(names):04}")
            random = Random(names[-1])
            for turn in range(max(1, session_bytes // (_TEXTS * _TEXT_BYTES))):
                texts = [base64.b64encode(random.randbytes(_TEXT_BYTES * 3 // 4)).decode() for _ in range(_TEXTS)]
                made = [original(f"{turn} {n}", text, session=names[-1]) for n, text in enumerate(texts)]
                commit(store, names[-1], "prune", at_ms=turn, originals=made, decisions=[prune(one) for one in made])
                written += _TEXTS * _TEXT_BYTES * 3 // 4
    return names


def whole_sessions(folder: Path, name: Path) -> int:
    """Return how many sessions a server has; each has all operations of the source."""
    source = FileSource.open(folder)
    there = {one.name: one.last_seq for one in source.heads()}
    source.close()
    with server_home(name) as home:
        heads = ServerSource(home).heads()
    assert all(there[one.name] == one.last_seq for one in heads)
    return len(heads)


def test_a_killed_move_leaves_whole_sessions_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    skip_without_server()
    home, name = tmp_path / "home", tmp_path / "server"
    names = fill(home, 6_000_000, session_bytes=400_000)
    with SqliteStore.open(home) as store:
        play(store, 1, 60)
        before = {one: answers(store, one) for one in ("s", "t")}
    monkeypatch.setenv("HOME", str(tmp_path))
    seen, killed, random = [0], 0, Random(5)
    for attempt in range(40):
        process = python(_MOVE, home, address_of(name))
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n", process.communicate()
        if attempt < 4:
            time.sleep(random.uniform(0.1, 0.8))
            process.send_signal(signal.SIGKILL)
            killed += 1
        _, errors = process.communicate()
        assert attempt < 4 or process.returncode == 0, errors
        seen.append(whole_sessions(home, name))
        if attempt >= 4:
            break
    assert seen == sorted(seen)
    assert seen[-1] == len(names) + 3
    done = to_server(home, name)
    assert done.is_proved
    assert done.moved == []
    with OnServer.open(name) as served:
        assert {one: answers(served, one) for one in ("s", "t")} == before


@pytest.mark.parametrize("megabytes", [*([50, 2_000] if _LONG else [5])])
def test_a_large_home_goes_and_comes_back_with_equal_hashes(
    tmp_path: Path, megabytes: int, capsys: pytest.CaptureFixture
):
    skip_without_server()
    faulthandler.cancel_dump_traceback_later()  # the long one takes longer than any test may
    home, back, name = tmp_path / "home", tmp_path / "back", tmp_path / "server"
    names = fill(home, megabytes * 1_000_000, session_bytes=min(megabytes, 200) * 100_000)
    began = time.monotonic()
    done = to_server(home, name)
    there_s = time.monotonic() - began
    began = time.monotonic()
    returned = to_file(name, back)
    back_s = time.monotonic() - began
    assert done.is_proved
    assert returned.is_proved
    assert done.source.sha256 == returned.target.sha256
    assert done.target.counts["sessions"] == len(names)
    sizes = [database(one).stat().st_size for one in (home, back)]
    assert sizes[0] > megabytes * 900_000
    with capsys.disabled():
        print(
            f"\n{sizes[0]:,} bytes ({sizes[1]:,} afterwards), {len(names)} sessions, {done.target.counts['originals']:,} originals: "
            f"{there_s:.1f} s to the server, {back_s:.1f} s back, SHA-256 {done.source.sha256[:16]} equal"
        )
