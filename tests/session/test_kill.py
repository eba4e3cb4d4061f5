"""Killed at any moment: what a window had let go by then is on disk."""

import hashlib
import signal
import time
from pathlib import Path
from random import Random

from tests.builders import body, opened, rounds, user
from tests.stores.forks import Child, Forks
from undrift.stores.sqlite import SqliteStore

CYCLES = 40

CLIENT = """
import hashlib, sys
from pathlib import Path
from tests.builders import body, opened, rounds, user
home, count = Path(sys.argv[1]), int(sys.argv[2])
messages = [user("hello"), *rounds(count, characters=2_000)]
known = set()
with opened(home, budget_tokens=5_000) as session:
    for number in range(count, 100_000):
        messages += rounds(1, first=number, characters=2_000)
        for action in session.prepare(body(*messages)).actions:
            if action.ref not in known:
                known.add(action.ref)
                print("ACK", action.ref, hashlib.sha256(session.recall(action.ref).encode()).hexdigest(), flush=True)
        print("TURN", number + 1, flush=True)
"""


def killed_after(client: Child, *, first_line: bool, delay_s: float) -> list[str]:
    """Return the whole lines of a client that is killed a moment after its first line, or as it starts."""
    with client:
        said = client.stdout.readline() if first_line else ""
        time.sleep(delay_s)
        client.kill()
        said += client.stdout.read()
        errors = client.stderr.read()
    assert client.returncode == -signal.SIGKILL, errors
    return [line for line in said.splitlines(keepends=True) if line.endswith("\n")]


def test_no_original_that_a_window_let_go_is_lost_to_a_kill_at_any_moment(tmp_path: Path):
    with Forks(CLIENT, "import tests.builders, undrift.session.session") as clients:
        killed_again_and_again(tmp_path, clients)


def killed_again_and_again(tmp_path: Path, clients: Forks) -> None:
    random, rounds_done, in_the_midst = Random(7), 0, 0
    acknowledged: dict[str, str] = {}
    for cycle in range(4 * CYCLES):  # on a busy machine a client comes less far before it is killed
        if cycle >= CYCLES and in_the_midst and len(acknowledged) > 100:
            break
        wait = random.random() < 0.9
        client = clients.start(tmp_path, rounds_done)
        lines = killed_after(client, first_line=wait, delay_s=random.uniform(0, 0.04))
        in_the_midst += bool(lines) and not lines[-1].startswith("TURN")
        for line in lines:
            kind, *fields = line.split()
            if kind == "TURN":
                rounds_done = int(fields[0])
            else:
                assert acknowledged.setdefault(fields[0], fields[1]) == fields[1]
        check(tmp_path, acknowledged)
    assert len(acknowledged) > 100
    assert in_the_midst > 0
    window_is_the_same_after_all(tmp_path, rounds_done, acknowledged)


def check(home: Path, acknowledged: dict[str, str]) -> None:
    with SqliteStore.open(home) as store:
        assert store.integrity() == ()
        for ref, sha256 in acknowledged.items():
            assert hashlib.sha256(store.original(ref).entry.content.encode()).hexdigest() == sha256


def window_is_the_same_after_all(home: Path, rounds_done: int, acknowledged: dict[str, str]) -> None:
    sent = rounds_done + 1  # killed in the midst of a turn, it had decided about one round more than it said
    messages = [user("hello"), *rounds(sent, characters=2_000)]
    with opened(home, budget_tokens=5_000) as session:
        prepared = session.prepare(body(*messages))
        assert prepared.tokens_after <= 5_000
        assert {action.ref for action in prepared.actions} >= set(acknowledged)
