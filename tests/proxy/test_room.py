"""How many sessions stay open: as many as there is memory for, and the ones used longest ago leave first."""

import gc
import json
import time
import weakref
from pathlib import Path

import pytest

from undrift import Settings
from undrift.errors import SettingsError
from undrift.proxy import GatewayConfig, room
from undrift.proxy.ask import Ask, ManagedBody
from undrift.proxy.sessions import OpenSessions
from undrift.session.footprint import Footprint

HEAVY = 20_000


def ask(name: str, size: int = 100, first: str = "Fix it.") -> Ask:
    messages = [{"role": "user", "content": first}, {"role": "assistant", "content": "x" * size}]
    messages.append({"role": "user", "content": "go on"})
    body = json.dumps({"model": "claude-opus-4-5", "max_tokens": 9, "messages": messages}).encode()
    return Ask("anthropic", body, None, name, "", time.monotonic() + 60)


def opened(home: Path, memory_bytes: int = 1 << 30) -> OpenSessions:
    settings = Settings(home=str(home), token_counter="characters/4")
    return OpenSessions(GatewayConfig(settings=settings, memory_bytes=memory_bytes))


def memory_for(*requests: Ask) -> int:
    """The memory of a gateway in which just these sessions stay open."""
    wanted, memory = sum(map(size_of, requests)), 0
    while room.for_sessions(memory) < wanted:
        memory += 1 << 10
    return memory


def size_of(request: Ask) -> int:
    footprint = Footprint()
    footprint.add(b"", len(request.body), 3, has_id=True)
    return footprint.bytes


def names(sessions: OpenSessions) -> list[str]:
    return [one["session"] for one in sessions.open_sessions()]


def test_far_more_than_64_sessions_stay_open(tmp_path):
    sessions = opened(tmp_path)
    for number in range(80):
        sessions.prepare(ask(f"s{number}"))
    assert sessions.open_count == 80
    again = sessions.prepare(ask("s0"))
    assert again.turn == 2  # it was not begun again
    sessions.close()


def test_the_ones_used_longest_ago_leave_where_the_bodies_of_all_become_too_many_bytes(tmp_path):
    sessions = opened(tmp_path, memory_for(*[ask("x", HEAVY)] * 3))
    for name in ("a", "b", "c", "a"):
        sessions.prepare(ask(name, HEAVY - 1_000))
    assert names(sessions) == ["a", "c", "b"]
    sessions.prepare(ask("d", HEAVY - 1_000))
    assert names(sessions) == ["d", "a", "c"]
    sessions.prepare(ask("c", 2 * HEAVY))  # one that grows makes others leave as well
    assert names(sessions) == ["c", "d"]
    for name in ("small", "smaller"):
        sessions.prepare(ask(name, 2_000))
    assert names(sessions) == ["smaller", "small", "c"]
    sessions.close()


def test_the_one_that_is_being_used_stays_however_large_it_is(tmp_path):
    sessions = opened(tmp_path, 1)
    for turn in (1, 2):
        assert sessions.prepare(ask("a", turn * HEAVY)).turn == turn
    assert names(sessions) == ["a"]
    assert isinstance(sessions.prepare(ask("b")), ManagedBody)
    assert names(sessions) == ["b"]
    sessions.close()


def test_sub_agents_of_a_session_count_beside_its_main_conversation(tmp_path):
    sessions = opened(tmp_path, memory_for(ask("x", HEAVY), ask("x", HEAVY)))
    sessions.prepare(ask("other"))
    for first in ("main", "agent 1", "agent 2"):
        sessions.prepare(ask("a", HEAVY, first))
    assert names(sessions) == ["a"]
    sessions.close()


def test_what_cannot_be_managed_opens_no_more_sessions_than_others(tmp_path):
    sessions = opened(tmp_path, memory_for(*[ask("x", 0)] * 3))
    for number in range(30):
        wrong = ask(f"s{number}")
        wrong.body = b'{"messages": [7]}'
        with pytest.raises(Exception, match="messages"):
            sessions.prepare(wrong)
    assert sessions.open_count <= 5  # each counts, even without a history
    sessions.close()


def test_the_memory_is_the_machines_or_the_containers(tmp_path):
    whole = room.machine_bytes()
    assert whole >= 1 << 28
    assert room.default_bytes() == max(room.LEAST_BYTES, whole // 4)
    (tmp_path / "memory.max").write_text("2200000\n")
    assert room.machine_bytes(tmp_path) == 2_200_000
    (tmp_path / "memory.max").write_text("max\n")
    assert room.machine_bytes(tmp_path) >= whole


@pytest.mark.parametrize(
    ("text", "size"), [("1G", 1 << 30), ("512m", 512 << 20), ("1.5GiB", 3 << 29), ("128MB", 128 << 20)]
)
def test_a_size_is_read(text, size):
    assert room.bytes_of(text) == size


@pytest.mark.parametrize("text", ["", "1", "G", "127M", "-1G", "1T", "1e9G", "nan", "9" * 5_000 + "G", "1G\x00"])
def test_what_is_no_size_is_refused_with_the_way_to_write_one(text):
    with pytest.raises(SettingsError, match="512M or 2G"):
        room.bytes_of(text)


def test_the_memory_of_a_closed_session_is_free_at_once(tmp_path):
    """The gateway puts off full collections of garbage, so that a cycle would stay for hours."""
    sessions = opened(tmp_path, 1)
    sessions.prepare(ask("a", HEAVY))
    lane = sessions._lanes.get("a")
    assert lane is not None
    session = weakref.ref(lane.opened)
    gc.collect()
    gc.disable()
    try:
        del lane
        sessions.prepare(ask("b"))
        assert names(sessions) == ["b"]
        assert session() is None
    finally:
        gc.enable()
    sessions.close()
