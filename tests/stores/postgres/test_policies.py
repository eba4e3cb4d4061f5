"""Row-level security: a reader who names another tenant's records by their right names and numbers gets no row.

The forged reader runs every call of the contract with the victim's own numbers in every statement and with the victim's key:
only the server's policies stand between. Without them (the control) each call shows what it reads.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stores.builders import original, prune
from tests.stores.contract.test_memory_search import Letters
from tests.stores.contract.test_whole import promised
from tests.stores.on_server import OnServer, address_of, server, skip_without_server
from undrift.core.tasks.life import change, tag
from undrift.errors import GoneError, RecallError, StoreError
from undrift.stores.base import Aim, Context, Document, Mark, RunChange
from undrift.stores.contract import Store
from undrift.stores.memory_contract import MemoryReading, SearchedMemories
from undrift.stores.memory_filter import ALL
from undrift.stores.memory_values import MemoryLine, MemoryLines, MemoryUpdate, Viewer, content_digest
from undrift.values.facts import FactChange, FactVersion, SessionFact, create_fact_id
from undrift.values.memory import MemoryEntry, Slot
from undrift.values.readings import StretchReading
from undrift.values.scope import Scope
from undrift.values.window import Moment, Tasks

VICTIM = Scope(organisation="acme", person="ann", project="p1")
OUTSIDERS = {
    "organisation": replace(VICTIM, organisation="rival"),
    "person": replace(VICTIM, person="bob"),
    "project": replace(VICTIM, project="p2"),
}
ME = Viewer("main", "s")
WORDS = "the zyzzyva reads abc"
ARCHIVED = original("gone", WORDS)
PINNED = original("pin", WORDS, source="pin")
BUFFERED = original("held", WORDS, source="buffer")
REFS = [ARCHIVED.ref, PINNED.ref, BUFFERED.ref]
MEMORIES = ["of-user", "of-agent", "of-session"]
SHARED = "of-project"
SLOT = Slot("zyzzyva", "reads", "", "abc")
DIGESTS = {name: content_digest(f"{WORDS} {name}") for name in [*MEMORIES, SHARED]}
READING = StretchReading("form", "", "a" * 64, 10, b"{}")
NOTHING: tuple[Any, ...] = (None, False, 0, "", (0, 1), (0, [0]))


class Reads(NamedTuple):
    """Every reading call of the contract, by its name; each returns what it sees."""

    store: dict[str, Callable[[Store], Any]]
    memories: dict[str, Callable[[MemoryReading], Any]]
    search: dict[str, Callable[[SearchedMemories], Any]]
    documents: dict[str, Callable[[Any], Any]]


READS = Reads(
    store={
        "operations": lambda store: store.operations("s"),
        "last_seq": lambda store: store.last_seq("s"),
        "original": lambda store: [one for ref in REFS for one in looked_up(lambda: store.original(ref))],
        "by_entry": lambda store: [
            one for name in ("gone", "pin", "held") for one in looked_up(lambda: store.by_entry("s", name))
        ],
        "buffer": lambda store: store.buffer("s"),
        "pins": lambda store: store.pins("s"),
        "find": lambda store: store.find("zyzzyva"),
        "decided": lambda store: store.decided("s"),
        "decisions": lambda store: store.decisions("s"),
        "decision": lambda store: store.decision(ARCHIVED.ref),
        "readings": lambda store: store.readings("s", "form", lambda heads: [number for number, _ in heads]),
        "tasks": lambda store: [*store.tasks("s").by_id, *store.tasks("s").tags],
        "run_records": lambda store: store.run_records("s"),
        "facts": lambda store: store.facts("s"),
        "facts_state": lambda store: store.facts_state("s"),
        "find_marks": lambda store: store.find_marks(["mark"]),
        "state": lambda store: [key for some in store.state("s").values() for key in some],
        "notes_at": lambda store: store.notes_at("s", 99),
        "sweepable": lambda store: store.sweepable(),
        "sessions": lambda store: store.sessions(),
        "newest_session": lambda store: store.newest_session(),
        "ratings": lambda store: store.ratings(10),
        "document_owners": lambda store: store.document_owners("kind"),
        "next_memory_seq": lambda store: store.next_memory_seq() > 1,
    },
    memories={
        "by_id": lambda memories: memories.by_id(MEMORIES),
        "by_slot": lambda memories: memories.by_slot([(SLOT.relation, SLOT.entity)], ME),
        "by_relation": lambda memories: memories.by_relation([SLOT.relation], ME),
        "by_digest": lambda memories: [one for name in MEMORIES for one in memories.by_digest(DIGESTS[name], ME)],
        "is_forgotten": lambda memories: memories.is_forgotten(content_digest("forgotten")),
        "count_learned": lambda memories: memories.count_learned("learned:"),
        "seen": lambda memories: [one for who in (ME, None) for one in memories.seen(who)],
        "disputing": lambda memories: memories.disputing(ME),
    },
    search={
        "match": lambda index: index.match(["zyzzyva"], 10),
        "like": lambda index: index.like(["zyzzyva"], 10),
        "ids": lambda index: index.ids(range(50)),
        "nearest": lambda index: index.nearest([1.0, 1.0, 1.0], 10, ALL),
        "passages": lambda index: index.passages([1.0, 1.0, 1.0], range(50)),
        "places": lambda index: index.places(range(50)),
        "frequencies": lambda index: index.frequencies(["zyzzyva"]),
        "speakers": lambda index: index.speakers(["eve"]),
        "visible": lambda index: index.visible(MEMORIES, ME),
    },
    documents={
        "find": lambda documents: documents.find("kind", ("a",)),
        "under": lambda documents: documents.under("kind"),
        "numbers": lambda documents: documents.numbers("kind"),
    },
)
WRITES = {"commit", "rewind", "rewind_facts", "add_marks", "change_documents", "purge", "clean", "sweep", "rebuild_search",
          "pack", "integrity", "close", "scope", "memories", "search_memories", "documents"}  # fmt: skip
"""Names of the contract that write, or that lead to those above."""
SHOWS_NOTHING = {"passages"}
"""Empty even for the owner: short texts have no passages."""


def looked_up(read: Callable[[], Any]) -> list[Any]:
    try:
        return [read()]
    except (GoneError, RecallError):
        return []


def seen(read: Callable[[], Any]) -> bool:
    """Tell whether a call shows anything; a record that cannot be opened was there."""
    try:
        found = read()
    except (RecallError, GoneError, LookupError):
        return False
    except StoreError:
        return True
    return bool(found) and found not in NOTHING


def shown(store: Store) -> set[str]:
    """Return the names of the calls that show anything."""
    found = {name for name, read in READS.store.items() if seen(lambda: read(store))}
    found |= {f"memories.{name}" for name, read in READS.memories.items() if seen(lambda: read(store.memories))}

    def in_search(read: Callable[[Any], Any]) -> Any:
        with store.search_memories(Letters()).open() as index:
            return read(index)

    def in_documents(read: Callable[[Any], Any]) -> Any:
        with store.documents("s") as documents:
            return read(documents)

    found |= {f"search.{name}" for name, read in READS.search.items() if seen(lambda: in_search(read))}
    return found | {f"documents.{name}" for name, read in READS.documents.items() if seen(lambda: in_documents(read))}


def of_everybody(who: str) -> set[str]:
    """Return what is everybody's in a project: the counter of its memories, without any of them."""
    return {"next_memory_seq"} if who == "person" else set()


EVERYTHING = {
    *READS.store,
    *(f"memories.{name}" for name in READS.memories),
    *(f"search.{name}" for name in READS.search.keys() - SHOWS_NOTHING),
    *(f"documents.{name}" for name in READS.documents),
}


def fill(store: Store, *, shares: bool = False) -> None:
    """Write a record of every kind; `shares`: also a memory for everybody in the project."""
    context = Context(store.scope.of("s"), 1)
    made = change(Tasks(), "t", "main", {"content": "do t", "status": "in_progress"}, Moment("m0", 0))
    _, tags = tag(made.tasks, "main", [("c1", "bash")])
    fact = FactVersion(1, SessionFact(create_fact_id("b", "is", "green"), "b", "is", "green", tags=("t",), valid_from=5, run_id="s"))
    store.commit(context, "prune", [ARCHIVED, PINNED, BUFFERED, prune(ARCHIVED), *made.updates, *tags, READING,
                                    FactChange(None, fact), RunChange("run", None, {"a": 1})],
                 payload={"scratchpad": "notes"})  # fmt: skip
    store.commit(context, "rate_search", payload={"returned": 2, "useful": 1})
    store.add_marks("s", [Mark("mark", "turn")])
    store.change_documents("s", lambda now: now.put("kind", Document(("a",), {}, b"x")), at_ms=1, payload={})
    owners = {"of-user": "user", "of-agent": "agent", "of-session": "session", SHARED: "project"}
    entries = [
        MemoryEntry(
            name, f"{WORDS} {name}", scope=scope, agent="main", session_id="s", slots=(SLOT,), source="learned:x",
            speaker="eve", seq=5, metadata={"learned": True, "conflicts": ["other"]},
        )  # fmt: skip
        for name, scope in owners.items()
        if shares or name != SHARED
    ]
    lines = [MemoryLine(one.id, one.content, source=one.source, speaker=one.speaker, seq=5) for one in entries]
    vectors = Letters().embed([one.content for one in entries])
    updates = [MemoryUpdate(None, one) for one in entries]
    store.commit(context, "remember", [*updates, MemoryLines(lines, "letters", 3, vectors)])
    forgotten = MemoryEntry("forgotten", "forgotten", scope="user", session_id="s")
    store.commit(context, "remember", [MemoryUpdate(None, forgotten)])
    store.commit(context, "forget", [MemoryUpdate(forgotten, None)])


class Forged:
    """A server that takes every statement of another person, and says who really asks."""

    def __init__(self, real: Any, caller: Any) -> None:
        self.address, self.calls = real.address, 0
        self._real, self._caller = real, caller

    def read(self, _: Any, *statements: Any) -> Any:
        return self._real.read(self._caller, *statements)

    def write(self, _: Any, *statements: Any, is_durable: bool = True) -> Any:
        return self._real.write(self._caller, *statements, is_durable=is_durable)

    def transaction(self, _: Any) -> Any:
        return self._real.transaction(self._caller)

    def close(self) -> None:
        """The real one is closed by its own store."""


@contextmanager
def forged(victim: Any, outsider: Any) -> Iterator[Any]:
    """Yield a store with all the victim's numbers and keys, whose connection is the outsider's."""
    from undrift.stores.postgres.store import PostgresStore

    home = replace(victim._home, server=Forged(outsider._home.server, outsider._home.caller))
    yield PostgresStore(home, victim.scope)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    skip_without_server()
    return tmp_path_factory.mktemp("policies") / "home"


@pytest.fixture(scope="module")
def victim(home: Path) -> Iterator[Any]:
    with OnServer.open(home, VICTIM) as store:
        fill(store)
        yield store


@contextmanager
def owner(home: Path) -> Iterator[Any]:
    """Yield a connection that no policy concerns, with the home's schema first."""
    import psycopg

    from undrift.stores.postgres.address import Address

    with psycopg.connect(server().url(), autocommit=True) as connection:
        connection.execute(f"SET search_path TO {Address.parsed(address_of(home)).schema}")
        yield connection


def test_every_name_of_the_contract_is_read_here_or_writes():
    assert {name for name in promised(Store) if name[0] != "_"} == READS.store.keys() | WRITES
    assert set(promised(MemoryReading)) == READS.memories.keys()
    assert {name for name in promised(SearchedMemories) if name != "embedder"} == READS.search.keys()


def test_the_owner_sees_a_record_by_every_call(victim: Any):
    """Else the tests below could not fail."""
    assert EVERYTHING - shown(victim) == set()


@pytest.mark.parametrize("who", OUTSIDERS)
def test_an_outsider_sees_nothing_by_the_right_names(home: Path, victim: Any, who: str):
    with OnServer.open(home, OUTSIDERS[who]) as outsider:
        assert shown(outsider) - of_everybody(who) == set()
        assert outsider.integrity() == ()


@pytest.mark.parametrize("who", ["organisation", "person"])
def test_an_outsider_sees_nothing_by_the_right_numbers_and_keys(home: Path, victim: Any, who: str):
    with OnServer.open(home, OUTSIDERS[who]) as outsider, forged(victim, outsider) as store:
        assert shown(store) - of_everybody(who) == set()


@pytest.mark.parametrize("who", ["organisation", "person"])
def test_an_outsider_destroys_and_changes_nothing_by_the_right_numbers(home: Path, victim: Any, who: str):
    with OnServer.open(home, OUTSIDERS[who]) as outsider:
        for aim in (Aim("session", "s"), Aim("original", "s", ARCHIVED.ref), Aim("memory", "s", "of-user")):
            with forged(victim, outsider) as store:
                seen(lambda: store.purge([aim], lambda one: one, at_ms=2))
        with forged(victim, outsider) as store:
            seen(lambda: store.sweep("s", lambda one: one, at_ms=2))
        with forged(victim, outsider) as store:
            seen(lambda: store.rebuild_search())
        for write in (
            lambda store: store.commit(Context(VICTIM.of("s"), 2), "add", [original("new")]),
            lambda store: store.rewind(Context(VICTIM.of("s"), 2), 0, "rewind", payload={"to": 0}),
            lambda store: store.add_marks("s", [Mark("other", "turn")]),
            lambda store: store.change_documents("s", lambda now: now.put("kind", Document(("b",), {})), at_ms=2, payload={}),
        ):
            with forged(victim, outsider) as store, pytest.raises((StoreError, LookupError)):
                write(store)
    with OnServer.open(home, VICTIM) as again:
        assert EVERYTHING - shown(again) == set()
        assert [one.kind for one in again.operations("s")] == [one.kind for one in victim.operations("s")]
        assert again.find_marks(["other"]) == ()
        assert again.integrity() == ()


def test_what_is_the_projects_is_everybodys_in_it_and_nobodys_outside(home: Path, tmp_path: Path):
    home = tmp_path / "shared"
    skip_without_server()
    with OnServer.open(home, VICTIM) as store:
        fill(store, shares=True)
    for who, sees in (("person", {SHARED}), ("organisation", set()), ("project", set())):
        with OnServer.open(home, OUTSIDERS[who]) as outsider:
            assert {one.id for one in outsider.memories.seen(None)} == sees
            assert set(outsider.memories.by_id([*MEMORIES, SHARED])) == sees
            with outsider.search_memories(Letters()).open() as index:
                assert set(index.ids([hit.number for hit in index.match(["zyzzyva"], 10)]).values()) == sees


@given(data=st.data())
def test_no_viewer_sees_what_is_another_persons(victim: Any, home: Path, data: Any):
    """Agents, sessions and moments are names that anybody may say."""
    viewer = Viewer(
        data.draw(st.sampled_from(["main", "", "other"])),
        data.draw(st.sampled_from(["s", "", "t"])),
        data.draw(st.none() | st.integers(0, 99)),
    )
    names = data.draw(st.lists(st.sampled_from([*MEMORIES, "forgotten"]) | st.text(max_size=5), max_size=5))
    who = data.draw(st.sampled_from(["organisation", "person"]))
    with OnServer.open(home, OUTSIDERS[who]) as outsider, forged(victim, outsider) as store:
        memories = store.memories
        for found in (
            memories.by_id(names, viewer), memories.seen(viewer), memories.disputing(viewer),
            memories.by_slot([(SLOT.relation, SLOT.entity)], viewer), memories.by_relation([SLOT.relation], viewer),
            *(memories.by_digest(digest, viewer) for digest in DIGESTS.values()),
        ):  # fmt: skip
            assert not found


def tables(connection: Any) -> list[tuple[str, bool, bool]]:
    """Return each table and partition of the schema, whether its rows are filtered, and whether it is a partition."""
    return connection.execute(
        """SELECT relname, relrowsecurity, relispartition FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') ORDER BY relname"""
    ).fetchall()


def columns(connection: Any, table: str) -> set[str]:
    found = connection.execute("SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0", (table,))
    return {name for (name,) in found}


@contextmanager
def as_app(connection: Any, caller: Any) -> Iterator[None]:
    """Be the role of the engine, for one person."""
    connection.execute("SET ROLE undrift_app")
    connection.execute(
        "SELECT set_config('undrift.organisation', %s, false), set_config('undrift.person', %s, false)",
        (str(caller.organisation), str(caller.person)),
    )
    try:
        yield
    finally:
        connection.execute("RESET ROLE")


def test_every_table_and_partition_has_its_rows_filtered(home: Path, victim: Any):
    with owner(home) as connection:
        found = tables(connection)
    assert [name for name, is_filtered, _ in found if not is_filtered] == []
    assert sum(is_partition for *_, is_partition in found) >= 15


@pytest.mark.parametrize("who", ["organisation", "person"])
def test_raw_statements_with_other_numbers_see_and_change_nothing(home: Path, victim: Any, who: str):
    import psycopg

    mine = victim._home.caller
    seen_tables = 0
    with OnServer.open(home, OUTSIDERS[who]) as outsider, owner(home) as connection:
        caller = outsider._home.caller
        every = [(name, columns(connection, name), is_partition) for name, _, is_partition in tables(connection)]
        for table, names, is_partition in every:
            column, value = ("person", mine.person) if who == "person" else ("organisation", mine.organisation)
            if column not in names:
                continue
            seen_tables += 1
            for text in (
                f"SELECT count(*) FROM {table} WHERE {column} = {value}",
                f"WITH gone AS (DELETE FROM {table} WHERE {column} = {value} RETURNING 1) SELECT count(*) FROM gone",
                f"WITH changed AS (UPDATE {table} SET {column} = {column} WHERE {column} = {value} RETURNING 1) "
                "SELECT count(*) FROM changed",
            ):
                with as_app(connection, caller):
                    try:
                        count = connection.execute(text).fetchone()[0]
                    except psycopg.errors.InsufficientPrivilege:
                        count = 0  # the engine has no right to that at all
                    else:
                        assert not is_partition, f"{table}: a partition is read directly"
                assert count == 0, text
    assert seen_tables >= 20
    assert EVERYTHING - shown(victim) == set()


@pytest.mark.parametrize("setting", ["", "0", "-1", "999999999"])
def test_who_says_nothing_or_nonsense_is_nobody(home: Path, victim: Any, setting: str):
    with owner(home) as connection:
        for table in ("organisations", "people", "projects", "sessions", "operations", "memory_events", "marks"):
            connection.execute("SET ROLE undrift_app")
            connection.execute(
                "SELECT set_config('undrift.organisation', %s, false), set_config('undrift.person', %s, false)",
                (setting, setting),
            )
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
            connection.execute("RESET ROLE")


def test_a_person_of_one_organisation_with_the_number_of_another_is_nobody(home: Path, victim: Any):
    with OnServer.open(home, OUTSIDERS["organisation"]) as outsider, owner(home) as connection:
        for caller in (
            victim._home.caller._replace(person=outsider._home.caller.person),
            victim._home.caller._replace(organisation=outsider._home.caller.organisation),
        ):
            with as_app(connection, caller):
                assert connection.execute("SELECT count(*) FROM sessions").fetchone() == (0,)
                assert connection.execute("SELECT count(*) FROM organisations").fetchone() == (0,)


@contextmanager
def bound_login(home: Path, login: str, person: Scope) -> Iterator[Any]:
    """Yield a connection of a login that is one person, whatever it says."""
    import psycopg

    from undrift.stores.postgres.address import Address

    with owner(home) as connection:
        connection.execute(f"DROP ROLE IF EXISTS {login}")
        connection.execute(f"CREATE ROLE {login} LOGIN")
        connection.execute(f"GRANT undrift_app TO {login}")
        connection.execute(
            "UPDATE people SET login = %s WHERE name = %s AND organisation = (SELECT number FROM organisations WHERE name = %s)",
            (login, person.person.encode(), person.organisation.encode()),
        )
    with psycopg.connect(server().url(user=login), autocommit=True) as mine:
        mine.execute(f"SET search_path TO {Address.parsed(address_of(home)).schema}")
        try:
            yield mine
        finally:
            mine.close()
            with owner(home) as connection:
                connection.execute("UPDATE people SET login = NULL")
                connection.execute(f"DROP OWNED BY {login}")
                connection.execute(f"DROP ROLE {login}")


def test_a_login_that_is_a_person_is_no_other_whatever_it_says(home: Path, victim: Any):
    import psycopg

    OnServer.open(home, OUTSIDERS["organisation"]).close()
    mine = victim._home.caller
    with bound_login(home, "undrift_test_rival", OUTSIDERS["organisation"]) as connection, as_app(connection, mine):
        assert connection.execute("SELECT count(*) FROM sessions").fetchone() == (0,)
        for scope in (VICTIM, OUTSIDERS["person"]):
            names = [name.encode() for name in (scope.organisation, scope.person, scope.project)]
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("SELECT * FROM enter(%s, %s, %s, 'key'::bytea)", names)


def test_a_temporary_table_does_not_stand_in_for_the_people(home: Path, victim: Any):
    """A temporary schema is searched first unless a function says otherwise: then nobody would be bound to a person."""
    import psycopg

    OnServer.open(home, OUTSIDERS["organisation"]).close()
    names = [name.encode() for name in (VICTIM.organisation, VICTIM.person, VICTIM.project)]
    with bound_login(home, "undrift_test_rival", OUTSIDERS["organisation"]) as connection:
        connection.execute(
            """CREATE TEMPORARY TABLE people(number bigint GENERATED ALWAYS AS IDENTITY, organisation bigint, name bytea,
            login name, UNIQUE(organisation, name))"""
        )
        connection.execute("GRANT ALL ON people TO PUBLIC")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT * FROM enter(%s, %s, %s, 'key'::bytea)", names)


def test_nobody_makes_a_partition_that_stands_in_the_way_of_a_month(home: Path, victim: Any):
    import psycopg

    with owner(home) as connection, as_app(connection, victim._home.caller):
        for wanted in ("2031-05-15", "9999-01-01"):
            try:
                connection.execute("SELECT ensure_month(%s::date)", (wanted,))
            except psycopg.Error:
                continue
    with owner(home) as connection:
        bounds = connection.execute(
            "SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE relname IN ('operations_2031_05', 'operations_9999_01') "
            "AND relnamespace = current_schema()::regnamespace"
        ).fetchall()
    assert all("'2031-05-01'" in bound for (bound,) in bounds), bounds


def test_nobody_says_something_in_the_name_of_another_person(home: Path, victim: Any):
    """A memory of a project is everybody's in it, with who said it."""
    import psycopg

    with OnServer.open(home, OUTSIDERS["person"]) as outsider, owner(home) as connection:
        with as_app(connection, outsider._home.caller), pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(
                """INSERT INTO memory_events(project, clock, part, organisation, person, is_shared, session, seq, act, name,
                    visibility, owner, digest, is_learned, has_conflicts)
                SELECT %s, 1000000, 0, %s, %s, true, 1, 1, 'remember', 'forged', 'project', '', 1, false, false""",
                (victim._home.project, *victim._home.caller),
            )


def test_without_the_policies_the_same_reader_sees_all_of_it(tmp_path: Path):
    """The control of all tests above."""
    skip_without_server()
    home = tmp_path / "open"
    with OnServer.open(home, VICTIM) as victim:
        fill(victim)
        with owner(home) as connection:
            for name, *_ in tables(connection):
                connection.execute(f"ALTER TABLE {name} DISABLE ROW LEVEL SECURITY")
        for who in ("organisation", "person"):
            with OnServer.open(home, OUTSIDERS[who]) as outsider, forged(victim, outsider) as store:
                assert EVERYTHING - shown(store) == set()
