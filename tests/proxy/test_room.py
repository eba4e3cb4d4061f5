"""How many sessions stay open: as many as there is memory for, and the ones used longest ago leave first."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from undrift import Settings
from undrift.proxy import GatewayConfig, room
from undrift.proxy.ask import Ask, ManagedBody
from undrift.proxy.lanes import Bodies
from undrift.proxy.sessions import OpenSessions

HEAVY = 20_000


def ask(name: str, size: int = 100, first: str = "Fix it.") -> Ask:
    messages = [{"role": "user", "content": first}, {"role": "assistant", "content": "x" * size}]
    messages.append({"role": "user", "content": "go on"})
    body = json.dumps({"model": "claude-opus-4-5", "max_tokens": 9, "messages": messages}).encode()
    return Ask("anthropic", body, None, name, "", time.monotonic() + 60)


def opened(home: Path, **config: Any) -> OpenSessions:
    return OpenSessions(GatewayConfig(settings=Settings(home=str(home), token_counter="characters/4"), **config))


def names(sessions: OpenSessions) -> list[str]:
    return [one["session"] for one in sessions.open_sessions()]


def test_far_more_than_64_sessions_stay_open(tmp_path):
    sessions = opened(tmp_path)
    for number in range(80):
        sessions.prepare(ask(f"s{number}"))
    assert sessions.open_count == 80
    again = sessions.prepare(ask("s0"))
    assert again.turn == 2  # it was not begun anew
    sessions.close()


def test_the_ones_used_longest_ago_leave_where_the_bodies_of_all_become_too_many_bytes(tmp_path):
    sessions = opened(tmp_path, most_open_bytes=3 * HEAVY)
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
    sessions = opened(tmp_path, most_open_bytes=1)
    for turn in (1, 2):
        assert sessions.prepare(ask("a", turn * HEAVY)).turn == turn
    assert names(sessions) == ["a"]
    assert isinstance(sessions.prepare(ask("b")), ManagedBody)
    assert names(sessions) == ["b"]
    sessions.close()


def test_sub_agents_of_a_session_count_beside_its_main_conversation(tmp_path):
    sessions = opened(tmp_path, most_open_bytes=3 * HEAVY)
    sessions.prepare(ask("other"))
    for first in ("main", "agent 1", "agent 2"):
        sessions.prepare(ask("a", HEAVY, first))
    assert names(sessions) == ["a"]
    sessions.close()


def test_what_cannot_be_managed_opens_no_more_sessions_than_others(tmp_path):
    sessions = opened(tmp_path, most_sessions=3)
    for number in range(9):
        wrong = ask(f"s{number}")
        wrong.body = b'{"messages": [7]}'
        with pytest.raises(Exception, match="messages"):
            sessions.prepare(wrong)
    assert sessions.open_count <= 3
    sessions.close()


def test_bodies_of_a_session_are_counted_by_their_beginning():
    bodies = Bodies()
    assert [bodies.add(b"a", 10), bodies.add(b"a", 12), bodies.add(b"b", 5), bodies.add(b"a", 7)] == [10, 2, 5, -5]
    for number in range(20):
        bodies.add(bytes([number]), 1)
    assert bodies.total == 8


def test_the_memory_is_the_machines_or_the_containers(tmp_path):
    whole = room.machine_bytes()
    assert whole >= 1 << 28
    assert room.most_open_bytes() == whole // 88
    (tmp_path / "memory.max").write_text("2200000\n")
    assert room.machine_bytes(tmp_path) == 2_200_000
    (tmp_path / "memory.max").write_text("max\n")
    assert room.machine_bytes(tmp_path) >= whole
