"""A purge on a server: the old key is gone, every process sees it, and it happens as a whole or not at all."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.stores.builders import add, commit, memory, noise, original
from tests.stores.on_server import OnServer, address_of, skip_without_server
from undrift.errors import GoneError, RecallError, StoreCorrupt, StoreError
from undrift.stores.base import Aim, Context, Document, Remains
from undrift.stores.contract import Store
from undrift.stores.memory_values import MemoryLine, MemoryLines, MemoryUpdate, Viewer
from undrift.stores.packing import unframed
from undrift.values.memory import Slot
from undrift.values.scope import Scope
from undrift.values.window import Decision
from undrift.window.blanking import blanked

SECRET = "zyzzyva-hunter2-secret"
PURGED = partial(blanked, act="purged", at_ms=86_400_000)
WHOLE = [Aim("session", "s")]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    skip_without_server()
    return tmp_path / "home"


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    with OnServer.open(home) as opened:
        yield opened


def asked(home: Path, text: str, *values: Any) -> list[Any]:
    """Ask the server as its owner, past every policy."""
    import psycopg

    from undrift.stores.postgres.address import ServerAddress

    address = ServerAddress.parsed(address_of(home))
    with psycopg.connect(address.url, autocommit=True) as connection:
        connection.execute(f"SET search_path TO {address.schema}")
        done = connection.execute(text, values or None)
        return done.fetchall() if done.description else []


def sealed_rows(home: Path) -> list[tuple[bytes, bytes, bytes]]:
    """Return what is sealed with the key of a session: the session's wrapped key, the place, and the bytes."""
    found = []
    for table, column in (("operations", "payload"), ("operations", "events"), ("segments", "content")):
        place = {"content": b"segment"}.get(column, column.encode())
        some = asked(
            home,
            f"SELECT s.key, o.seq, o.{column} FROM {table} o JOIN sessions s ON s.month = o.month AND s.number = o.session "
            f"WHERE o.{column} IS NOT NULL",
        )
        found += [(bytes(key), place + b" %d" % seq, bytes(data)) for key, seq, data in some]
    return found


def session_key(home: Path, wrapped: bytes) -> Any:
    from undrift.stores.postgres.sealing import Seal

    ((own,),) = asked(home, "SELECT key FROM organisations")
    return Seal(Seal(Seal(None).open(bytes(own), b"organisation")).open(wrapped, b"session"))


def opened_rows(home: Path) -> bytes:
    """Return all that the rows of sessions hold, opened with the keys that the server has."""
    return b"\n".join(unframed(session_key(home, key).open(data, place)) for key, place, data in sealed_rows(home))


def remembered(store: Store, name: str, text: str, session: str = "s") -> None:
    updates = [MemoryUpdate(None, memory(name, text, session_id=session))]
    commit(store, session, "remember", at_ms=1, memories=updates, lines=[MemoryLines([MemoryLine(name, text)])])


def test_a_purged_session_has_another_key_and_nothing_opens_what_the_old_one_sealed(store: Store, home: Path):
    add(store, original("e", SECRET), original("b", SECRET, source="buffer"))
    commit(store, "s", "note", at_ms=2, payload={"text": SECRET})
    add(store, original("g", "stays", session="t"))
    before = [
        row for row in sealed_rows(home) if SECRET.encode() in unframed(session_key(home, row[0]).open(row[2], row[1]))
    ]
    assert {place for _, place, _ in before} == {b"events 1", b"segment 1", b"payload 2"}
    assert store.purge(WHOLE, PURGED, at_ms=3)
    after = sealed_rows(home)
    keys = {key for key, _, _ in after}
    assert not keys & {key for key, _, _ in before}
    for _, place, data in before:
        for key in keys:
            with pytest.raises(StoreCorrupt):
                session_key(home, key).open(data, place)
    assert SECRET.encode() not in opened_rows(home)
    assert [row.payload for row in store.operations("s")][:2] == [None, None]
    assert store.by_entry("t", "g").entry.content == "stays"
    assert store.integrity() == ()


def test_of_one_original_no_row_holds_a_word_and_its_neighbours_in_the_segment_stay(store: Store, home: Path):
    gone, other, buffered = (
        original("e", SECRET),
        original("f", "stays"),
        original("b", f"{SECRET} too", source="buffer"),
    )
    add(store, gone, other, buffered, prune_them=True)
    assert opened_rows(home).count(SECRET.encode()) == 2
    assert store.purge([Aim("original", "s", "e")], PURGED, at_ms=3)
    assert opened_rows(home).count(SECRET.encode()) == 1
    assert store.purge([Aim("original", "s", "b")], PURGED, at_ms=3)
    assert SECRET.encode() not in opened_rows(home)
    assert store.original(other.ref) == other
    with pytest.raises(GoneError, match="purged on 1970-01-02"):
        store.original(gone.ref)
    assert asked(home, "SELECT seq FROM segments") == [(1,)]
    assert store.purge([Aim("original", "s", "f")], PURGED, at_ms=4)
    assert asked(home, "SELECT seq FROM segments") == []
    assert store.integrity() == ()


def test_the_list_of_sessions_says_what_is_left(store: Store):
    add(
        store,
        original("e"),
        original("f"),
        original("p", source="pin"),
        original("b", source="buffer"),
        prune_them=True,
    )
    store.change_documents("s", lambda change: change.put("k", Document(("a",), {}, b"x")), at_ms=1, payload={})
    for aims, originals, decisions, owners in (
        ([Aim("original", "s", "e")], 3, 4, ["s"]),
        ([Aim("original", "s", "b")], 2, 4, ["s"]),
        ([Aim("document", "s", path=("a",))], 2, 4, []),
        (WHOLE, 0, 0, []),
    ):
        assert store.purge(aims, PURGED, at_ms=5)
        (row,) = store.sessions()
        assert (row.originals, row.decisions, store.document_owners("k")) == (originals, decisions, owners)


def test_another_process_sees_it_at_its_next_read_and_writes_on(store: Store, home: Path):
    one = original("e", SECRET)
    add(store, one, prune_them=True)
    remembered(store, "m", SECRET)
    with OnServer.open(home) as other, other.search_memories().open() as index:
        assert other.original(one.ref) == one
        assert len(index.match(["zyzzyva"], 9)) == 1
        assert store.purge(WHOLE, PURGED, at_ms=3)
        with pytest.raises(RecallError):
            other.original(one.ref)
        assert (other.decided("s"), other.memories.seen(Viewer("main", "s"))) == ((), [])
        assert [row.kind for row in other.operations("s")] == ["add", "remember", "purge"]
        with other.search_memories().open() as now:
            assert now.match(["zyzzyva"], 9) == []
        add(other, original("later"))
        assert [row.kind for row in store.operations("s")] == ["add", "remember", "purge", "add"]


def test_a_writer_that_knows_the_session_as_it_was_writes_on_behind_the_purge(store: Store, home: Path):
    add(store, original("e", SECRET))
    with OnServer.open(home) as other:
        other.operations("s")
        assert store.purge(WHOLE, PURGED, at_ms=3)
        add(other, original("later", "stays"))
        assert SECRET.encode() not in opened_rows(home)
        assert store.by_entry("s", "later").entry.content == "stays"
        with pytest.raises(StoreError, match="purged"):
            commit(other, "s", "prune", at_ms=4, based_on=1)


def test_beside_a_writer_of_the_same_session_nothing_acknowledged_is_lost(store: Store, home: Path):
    secrets = [original(f"secret {number}", f"{SECRET} {number}") for number in range(8)]
    add(store, *secrets, prune_them=True)
    written: dict[int, str] = {}
    failures: list[BaseException] = []
    is_over = threading.Event()

    def write() -> None:
        try:
            with OnServer.open(home) as other:
                while not is_over.is_set():
                    one = original(f"e{len(written)}", f"text {len(written)}")
                    written[add(other, one, prune_them=True)] = one.ref
        except Exception as error:  # noqa: BLE001 - the test shows it
            failures.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for one in secrets:
            assert store.purge([Aim("original", "s", one.ref)], PURGED, at_ms=3)
    finally:
        is_over.set()
        writer.join()
    assert not failures
    assert len(written) >= 1
    kinds = {row.seq: row.kind for row in store.operations("s")}
    assert list(kinds) == list(range(1, 10 + len(written)))
    assert sum(kind == "purge" for kind in kinds.values()) == 8
    assert {seq for seq, kind in kinds.items() if kind == "add"} == {1, *written}
    for ref in written.values():
        assert store.original(ref).entry.content.startswith("text")
    assert SECRET.encode() not in opened_rows(home)
    assert store.integrity() == ()


def ending_connections(home: Path, times: int) -> Callable[[Decision], Decision]:
    """Return what blanks decisions and, at first, ends the connection of the purge that asks."""
    left = [times]

    def blank(decision: Decision) -> Decision:
        if left[0]:
            left[0] -= 1
            found = asked(
                home,
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks l WHERE l.mode = 'RowShareLock' "
                "AND l.relation = 'sessions'::regclass AND l.pid <> pg_backend_pid()",
            )
            assert found == [(True,)]
        return PURGED(decision)

    return blank


def test_whose_connection_ends_in_the_middle_has_done_nothing(store: Store, home: Path):
    one = original("e", SECRET)
    add(store, one, prune_them=True)
    remembered(store, "m", SECRET)
    state, rows = store.state("s"), sealed_rows(home)
    with pytest.raises(StoreError, match="connection"):
        store.purge([Aim("original", "s", "e")], ending_connections(home, 99), at_ms=3)
    assert (store.state("s"), sealed_rows(home)) == (state, rows)
    assert store.original(one.ref) == one
    assert store.purge(WHOLE, PURGED, at_ms=3)
    assert SECRET.encode() not in opened_rows(home)


def test_whose_connection_ends_once_does_it_once(store: Store, home: Path):
    one = original("e", SECRET)
    add(store, one, prune_them=True)
    done = store.purge([Aim("original", "s", "e")], ending_connections(home, 1), at_ms=3)
    assert done is not None
    assert done.removed == {"originals": 1}
    assert [row.kind for row in store.operations("s")] == ["add", "purge"]
    assert store.integrity() == ()


def test_only_what_the_caller_may_see_is_touched(home: Path):
    ann, bob = (Scope("s", organisation="acme", person=name, project="p") for name in ("ann", "bob"))
    with OnServer.open(home, ann) as hers, OnServer.open(home, bob) as his:
        for name, store in (("of ann", hers), ("of bob", his)):
            one = memory(name, f"{name}: {SECRET}", session_id="s")
            own = memory(f"own {name}", SECRET, session_id="s", scope="session")
            updates = [MemoryUpdate(None, one), MemoryUpdate(None, own)]
            context = Context(replace(store.scope, session="s"), 1)
            store.commit(context, "remember", updates)
            store.commit(context, "add", [original("e" if store is hers else "f", SECRET)])
        done = hers.purge(WHOLE, PURGED, at_ms=3)
        assert done is not None
        assert done.removed == {"originals": 1, "memories": 2}
        assert {one.id for one in his.memories.seen(None)} == {"of bob", "own of bob"}
        assert his.by_entry("s", "f").entry.content == SECRET
        assert {one.id for one in hers.memories.seen(None)} == {"of bob"}
        copies = hers.clean(done).copies
        assert copies == ("memory of bob",)
        assert his.integrity() == ()


def test_after_a_purge_the_server_is_said_to_hold_only_what_is_sealed(store: Store):
    add(store, original("e", SECRET))
    done = store.purge([Aim("original", "s", "e")], PURGED, at_ms=3)
    again = store.purge([Aim("original", "s", "e")], PURGED, at_ms=4)
    assert done is not None
    assert again is not None
    assert "VACUUM" in store.clean(done).text
    assert store.clean(again) == Remains()


def test_of_a_memory_no_version_no_statement_and_no_line_is_left(store: Store, home: Path):
    slots = (Slot(entity="service", relation="port", value="1", scope=""),)
    one = memory("m", SECRET, slots=slots)
    lines = [MemoryLines([MemoryLine("m", SECRET)])]
    commit(
        store, "s", "remember", at_ms=1, memories=[MemoryUpdate(None, one)], lines=lines, payload={"ids": ["m", "n"]}
    )
    commit(store, "s", "forget", at_ms=2, memories=[MemoryUpdate(one, None)])
    commit(store, "t", "remember", at_ms=3, memories=[MemoryUpdate(None, memory("n", "stays"))], payload={"of": "m"})
    assert store.purge([Aim("memory", "t", "m")], PURGED, at_ms=4)
    for table in ("memory_events", "memory_spans", "memory_slots", "memory_lines"):
        assert asked(home, f"SELECT count(*) FROM {table} WHERE name = 'm'::bytea") == [(0,)]
    assert [row.payload for row in store.operations("s")] == [{"ids": ["n"]}, None]
    assert [row.payload for row in store.operations("t")][:1] == [{}]
    assert [one.id for one in store.memories.seen(None)] == ["n"]
    assert store.integrity() == ()


def test_a_search_for_copies_ends_in_time_and_names_the_rest(store: Store):
    words = f"the password is {SECRET} for all"
    add(store, original("e", words), original("f", words, session="s"))
    for number in range(3):
        texts = [original(f"{number} {part}", noise(9_000_000), session=f"large {number}") for part in range(1)]
        add(store, *texts)
    done = store.purge([Aim("original", "s", "e")], PURGED, at_ms=3)
    assert done is not None
    assert store.clean(done).unsearched == ("session large 0",)
    assert store.clean(done, search_files=True).unsearched == ()
    assert len(store.clean(done, search_files=True).copies) == 1
