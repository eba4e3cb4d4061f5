"""The people of an organisation: what they share, what never leaves one of them, and what is noted of their reads."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.stores.builders import memory, original
from tests.stores.on_server import address_of, skip_without_server
from undrift.errors import RecallError, StoreError
from undrift.stores.base import Context
from undrift.stores.memory_values import MemoryLine, MemoryLines, MemoryUpdate, Viewer
from undrift.values.memory import MemoryEntry, Slot
from undrift.values.scope import Scope

if TYPE_CHECKING:  # the driver is an extra
    from undrift.stores.postgres.store import PostgresStore

ORGANISATION = "acme"


@pytest.fixture
def address(tmp_path: Path) -> str:
    skip_without_server()
    return address_of(tmp_path, organisation=ORGANISATION)


def opened(address: str, person: str, project: str = "shop") -> "PostgresStore":
    from undrift.stores.postgres.opening import PostgresEngine

    return PostgresEngine.open(address, Scope(person=person, project=project))


@pytest.fixture
def ann(address: str) -> Iterator["PostgresStore"]:
    with closing(opened(address, "ann")) as store:
        yield store


@pytest.fixture
def bob(address: str) -> Iterator["PostgresStore"]:
    with closing(opened(address, "bob")) as store:
        yield store


def remember(store: "PostgresStore", name: str, text: str, **fields: Any) -> MemoryEntry:
    one = memory(name, text, **fields)
    changes = [MemoryUpdate(None, one), MemoryLines([MemoryLine(name, text)])]
    store.commit(Context(store.scope.of("s"), 1), "remember", changes)
    return one


def found(store: "PostgresStore", word: str) -> set[str]:
    with store.search_memories().open() as index:
        numbers = [hit.number for hit in index.match([word], 9)]
        return {place.id for number, place in index.places(numbers).items() if number in numbers}


def test_a_memory_of_the_project_is_everybodys_and_says_who_wrote_it(ann: "PostgresStore", bob: "PostgresStore"):
    written = remember(ann, "m", "the port is 8080")
    assert bob.memories.by_id(["m"], Viewer("main", "x")) == {"m": written}
    assert found(bob, "port") == {"m"}
    assert bob.memories.writers(["m"]) == {"m": "ann"}


@pytest.mark.parametrize(
    "fields", [{"scope": "user"}, {"scope": "session", "session_id": "s"}, {"scope": "agent", "agent": "main"}]
)
def test_what_is_the_persons_own_never_leaves_the_person(
    ann: "PostgresStore", bob: "PostgresStore", fields: dict[str, Any]
):
    written = remember(ann, "m", "my port is 8080", **fields)
    viewer = Viewer("main", "s")
    assert ann.memories.by_id(["m"], viewer) == {"m": written}
    assert (bob.memories.by_id(["m"]), bob.memories.seen(None), found(bob, "port")) == ({}, [], set())
    assert bob.memories.visible(["m"], viewer) == set()


def test_nothing_is_shared_in_the_users_own_project(address: str):
    with closing(opened(address, "ann", "user")) as ann, closing(opened(address, "bob", "user")) as bob:
        remember(ann, "m", "the port is 8080")
        assert (bob.memories.seen(None), found(bob, "port")) == ([], set())


def test_sessions_and_originals_are_the_persons_own(ann: "PostgresStore", bob: "PostgresStore"):
    one = original("e", "a text of ann")
    ann.commit(Context(ann.scope.of("s"), 1), "add", [one])
    assert (bob.sessions(), bob.operations("s"), bob.find("text")) == ((), (), ())
    with pytest.raises(RecallError):
        bob.original(one.ref)


def test_a_memory_that_another_person_replaces_keeps_both_versions_and_both_names(
    ann: "PostgresStore", bob: "PostgresStore"
):
    first = remember(ann, "m", "the port is 8080")
    changed = memory("m", "the port is 8080", pinned=True)
    bob.commit(Context(bob.scope.of("t"), 2), "pin", [MemoryUpdate(first, changed)])
    assert ann.memories.by_id(["m"]) == {"m": changed}
    assert ann.memories.writers(["m"]) == {"m": "bob"}
    bob.rewind(Context(bob.scope.of("t"), 3), 0, "rewind", payload={"to": 0})
    assert ann.memories.by_id(["m"]) == {"m": first}
    assert ann.memories.writers(["m"]) == {"m": "ann"}


def test_a_read_of_what_another_person_wrote_is_noted_and_an_own_one_is_not(
    address: str, ann: "PostgresStore", bob: "PostgresStore"
):
    from undrift.stores.postgres.people import ServerPeople

    remember(ann, "m", "the port is 8080")
    ann.memories.by_id(["m"])
    with ServerPeople(address) as people:
        assert people.audit() == []
        bob.memories.by_id(["m"])
        (line,) = people.audit()
    assert (line.reader, line.person, line.project, line.what, line.names) == ("bob", "ann", "shop", "memory", ("m",))


@pytest.mark.parametrize("seq", [None, 1])
def test_a_read_by_what_a_memory_states_is_noted_once(
    address: str, ann: "PostgresStore", bob: "PostgresStore", seq: int | None
):
    from undrift.stores.postgres.people import ServerPeople

    slots = (Slot("app", "port", "", "8080"), Slot("app", "host", "", "db-2"))
    written = remember(ann, "m", "the port is 8080", slots=slots)
    remember(bob, "own", "the port is 9090", slots=(Slot("app", "port", "", "9090"),))
    bob.commit(Context(bob.scope.of("t"), 2), "turn", [])
    viewer = Viewer("main", "t", seq)
    with ServerPeople(address) as people:
        noted = len(people.audit())
        read = bob.memories.by_slot([("port", "app"), ("host", "app")], viewer)
        assert written in read
        lines = people.audit()
        assert len(lines) == noted + 1
        assert (lines[0].reader, lines[0].person, lines[0].names) == ("bob", "ann", ("m",))
        bob.memories.by_relation(["host"], viewer)
        assert len(people.audit()) == noted + 2
        ann.memories.by_slot([("host", "app")], Viewer("main", "s"))
        assert len(people.audit()) == noted + 2


def test_who_destroys_the_organisations_key_has_destroyed_its_records(address: str, ann: "PostgresStore"):
    from undrift.stores.postgres.people import ServerPeople

    add_one = original("e", "a text of ann")
    ann.commit(Context(ann.scope.of("s"), 1), "add", [add_one])
    with ServerPeople(address) as people:
        assert people.destroy()
    with pytest.raises(StoreError, match="destroyed"):
        opened(address, "ann")


def test_the_server_has_no_text_in_the_clear(address: str, ann: "PostgresStore"):
    from undrift.stores.postgres.steps import TABLES

    secret = "zyzzyva-in-the-clear"
    one = original("e", f"{secret} one")
    ann.commit(Context(ann.scope.of("s"), 1), "add", [one], payload={"label": secret})
    remember(ann, "m", f"{secret} two")
    assert [hit.ref for hit in ann.find("zyzzyva")] == [one.ref]
    home: Any = ann
    with home._home.server.owner() as connection, connection.transaction():
        connection.execute(f'SET LOCAL search_path TO "{home._home.server.address.schema}"')
        for table in TABLES:
            for row in connection.execute(f"SELECT * FROM {table}").fetchall():
                assert not any(secret.encode() in value for value in row if isinstance(value, bytes)), table


def test_a_login_that_is_one_person_is_no_other_one(address: str, ann: "PostgresStore"):
    import psycopg

    from undrift.stores.postgres.opening import PostgresEngine
    from undrift.stores.postgres.people import ServerPeople

    login = "ann_" + address.rpartition("undrift_schema=h")[2][:12]
    with ServerPeople(address) as people, psycopg.connect(address.split("&undrift_")[0], autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {login} LOGIN")
        owner.execute(f"GRANT undrift_app TO {login}")
        people.bind("ann", login)
    hers = address.replace("postgres@", f"{login}@")
    PostgresEngine.open(hers, Scope(person="ann", project="shop")).close()
    with pytest.raises(StoreError, match="another person"):
        PostgresEngine.open(hers, Scope(person="bob", project="shop"))
