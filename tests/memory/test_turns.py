"""A change of memories that came too late is repeated: one thread at a time, for a bounded number of times."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.session.test_processes import CAN_FORK, in_child
from undrift.errors import StoreConflict, StoreError
from undrift.memory import turns
from undrift.memory.turns import repeated


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch):
    monkeypatch.setattr(turns, "_PAUSE_S", 0.0)


def test_a_change_is_repeated_until_no_other_agent_was_first():
    left = [1, 2, 3]

    def change() -> str:
        if left:
            raise StoreConflict(str(left.pop()))
        return "done"

    assert repeated(change) == "done"


def test_it_is_not_repeated_without_end_and_another_error_is_not_repeated_at_all():
    attempts: list[int] = []

    def change(error: type[StoreError]) -> None:
        attempts.append(1)
        raise error(f"number {len(attempts)}")

    with pytest.raises(StoreConflict, match=f"number {turns.ATTEMPTS}"):
        repeated(lambda: change(StoreConflict))
    with pytest.raises(StoreError, match=f"number {turns.ATTEMPTS + 1}"):
        repeated(lambda: change(StoreError))


def test_threads_wait_for_each_other():
    inside = threading.Lock()

    def change() -> bool:
        assert inside.acquire(blocking=False)
        threading.Event().wait(0.001)
        inside.release()
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda _: repeated(change), range(40)))


def test_a_turn_that_nobody_ends_is_not_waited_for_without_end(monkeypatch):
    monkeypatch.setattr(turns, "_LONGEST_TURN_S", 0.01)
    with turns._lock(os.getpid()):
        assert repeated(lambda: "done") == "done"
    assert not turns._lock(os.getpid()).locked()


@CAN_FORK
def test_a_forked_process_waits_for_no_thread_of_the_other_one(monkeypatch):
    monkeypatch.setattr(turns, "_LONGEST_TURN_S", 3_600.0)
    with turns._lock(os.getpid()):
        assert in_child(lambda: repeated(lambda: "done")) == "done"
