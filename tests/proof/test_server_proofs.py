"""The proofs on a server in short: nothing is lost, doubled or torn, and what would be is noticed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

psycopg = pytest.importorskip("psycopg", reason="needs the extra `postgres`")

from tests.long_form import sized  # noqa: E402
from tests.postgres_server import PostgresServer  # noqa: E402
from tests.proof import server_contention, server_faults  # noqa: E402
from tests.proof.server_check import Began, History, history, problems  # noqa: E402
from tests.proof.server_contention import address  # noqa: E402
from tests.proof.server_networks import Network, networks, server_on  # noqa: E402
from tests.proof.server_relay import Act, Relay  # noqa: E402
from tests.proof.server_workload import weaken  # noqa: E402
from tests.stores.on_server import skip_without_server  # noqa: E402
from undrift.errors import StoreError  # noqa: E402
from undrift.stores.postgres import log  # noqa: E402
from undrift.stores.postgres.opening import PostgresEngine  # noqa: E402
from undrift.stores.postgres.session_state import SessionState  # noqa: E402

LOOPBACK = Network("127.0.0.1")


@pytest.fixture(scope="module")
def running() -> Iterator[PostgresServer]:
    skip_without_server()
    with PostgresServer.start(is_fast=False, hosts=["127.0.0.1"]) as server:
        yield server


@pytest.fixture
def server(running: PostgresServer) -> PostgresServer:
    with psycopg.connect(running.url(), autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS proof CASCADE")
    server_faults.forget_openings()
    return running


@pytest.fixture
def weak(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what `weaken` takes out of this process come back."""
    monkeypatch.setattr(SessionState, "written", SessionState.written)
    monkeypatch.setattr(log, "_APPEND", log._APPEND)


def test_processes_on_several_networks_lose_and_double_nothing():
    skip_without_server()
    with networks(3) as (places, reason), server_on(places) as server:
        assert reason or len(places) == 3
        found = server_contention.run(
            server, places, processes=sized(3, 12), count=sized(8, 100), sessions=sized(5, 200)
        )
        assert sum(len(each.acknowledged) for each in found) == sized(24, 1_200)
        assert sum(len(each.since_ms) for each in found) > 0
        assert problems(address(server, places[0].host), found) == []


def test_without_the_condition_on_the_sequence_a_session_is_damaged(server: PostgresServer):
    found = server_contention.run(server, [LOOPBACK], processes=2, count=8, sessions=1, weaker="no sequence")
    wrong = problems(address(server, "127.0.0.1"), found)
    assert any(one.startswith(("damaged", "gap", "moved", "unread")) for one in wrong), wrong


def test_a_backend_that_ends_at_any_statement_loses_doubles_and_tears_nothing(server: PostgresServer):
    places, told, wrong = server_faults.terminated(address(server, "127.0.0.1"), stride=sized(13, 1), first=sized(3, 0))
    assert places > 3
    assert len(told.acknowledged) > 15
    assert wrong == []


def test_without_its_token_a_commit_whose_answer_was_lost_is_written_twice(server: PostgresServer, weak: None):
    weaken("no token")
    wrong: list[str] = []
    for at in range(3, 60, 3):  # one of them is behind a commit
        _, _, wrong = server_faults.terminated(address(server, "127.0.0.1"), stride=1_000, first=at)
        if wrong:
            break
    assert any(one.startswith("twice") for one in wrong), wrong


def test_a_server_that_is_killed_keeps_what_it_acknowledged(server: PostgresServer):
    cycles, found, wrong = server_faults.crashed(server, sized(1, 20), processes=sized(1, 3))
    assert cycles == sized(1, 20)
    assert sum(len(each.acknowledged) for each in found) > 5
    assert wrong == []


def test_a_relay_that_cuts_stalls_and_delivers_late_loses_and_doubles_nothing(server: PostgresServer):
    did, found, wrong = server_faults.relayed(server, sized(20, 150), processes=sized(1, 3), share=0.08)
    assert {Act.CUT, Act.LOSE} <= set(did)
    assert sum(len(each.acknowledged) for each in found) > sized(10, 150)
    assert wrong == []


def test_a_commit_that_arrives_after_its_sender_has_asked_again_is_there_once(server: PostgresServer):
    """The backend waits for a lock, the connection ends, the sender tries again: then both go on."""
    import threading
    import time

    from tests.stores.builders import commit, original, prune

    one = original("e", "text")
    with Relay(server.folder / f".s.PGSQL.{server.port}") as relay, psycopg.connect(server.url()) as holder:
        url = address(server, "127.0.0.1", relay.port)
        with PostgresEngine.open(url) as store:
            commit(store, "s", "add", at_ms=1)
            holder.execute("SELECT 1 FROM proof.sessions FOR UPDATE")
            told: list[int] = []
            writer = threading.Thread(
                target=lambda: told.append(
                    commit(store, "s", "prune", at_ms=2, originals=[one], decisions=[prune(one)])
                )
            )
            writer.start()
            time.sleep(0.3)
            relay.cut()
            time.sleep(0.5)
            holder.rollback()
            writer.join()
            assert [operation.kind for operation in store.operations("s")] == ["add", "prune"]
            assert told == [2]


def test_the_judge_notices_what_is_lost_doubled_or_torn(server: PostgresServer, tmp_path: Path):
    url = address(server, "127.0.0.1")
    from tests.proof.server_workload import perform
    from tests.stores.builders import commit

    told = History()
    with PostgresEngine.open(url) as store:
        for number, kind in enumerate(("prune", "pin", "memory", "document", "notes")):
            told.began[f"a{number}"] = Began(f"a{number}", kind, "s")
            told.acknowledged[f"a{number}"] = perform(store, f"a{number}", kind, "s", 1)
        assert problems(url, [told]) == []
        told.began["never"] = Began("never", "pin", "s")
        told.acknowledged["never"] = 9
        assert [one.partition(":")[0] for one in problems(url, [told])] == ["lost"]
        del told.began["never"], told.acknowledged["never"]
        commit(store, "s", "notes", at_ms=1, payload={"id": "a4"})
        commit(store, "s", "notes", at_ms=1, payload={"id": "nobody's"})
        found = {one.partition(":")[0] for one in problems(url, [told])}
        assert found == {"twice", "invented"}
        torn = History(
            {"b": Began("b", "prune", "t")}, {"b": commit(store, "t", "prune", at_ms=1, payload={"id": "b"})}
        )
        assert {one.partition(":")[0] for one in problems(url, [torn])} == {"torn"}
    assert history(['{"began": "x", "kind": "pin", "session": "s"}', '{"acknowledged": "x", "se']).began.keys() == {"x"}
    with pytest.raises(StoreError), PostgresEngine.open(url.replace("_schema=proof", "_schema=none"), create=False):
        pass
