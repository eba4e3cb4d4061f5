"""Row-level security: a reader who names another tenant's records by their right names and numbers gets no row.

The forged reader runs every call of the contract with the victim's own numbers in every statement and with the victim's key:
only the server's policies stand between. Without them (the control) each call shows what it reads.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stores.builders import original
from tests.stores.contract.test_whole import promised
from tests.stores.on_server import OnServer, address_of, server, skip_without_server
from tests.stores.postgres.policy_builders import (
    ARCHIVED,
    DIGESTS,
    EVERYTHING,
    LETTERS,
    MEMORIES,
    OUTSIDERS,
    READS,
    SHARED,
    SLOT,
    VICTIM,
    WRITES,
    fill,
    forged,
    of_everybody,
    owner,
    seen,
    shown,
)
from undrift.errors import StoreError
from undrift.stores.base import Aim, Context, Document, Mark
from undrift.stores.contract import Store
from undrift.stores.memory_contract import MemoryReading, SearchedMemories
from undrift.stores.memory_values import Viewer
from undrift.values.scope import Scope


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    skip_without_server()
    return tmp_path_factory.mktemp("policies") / "home"


@pytest.fixture(scope="module")
def victim(home: Path) -> Iterator[Any]:
    with OnServer.open(home, VICTIM) as store:
        fill(store)
        yield store


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
                seen(lambda store=store, aim=aim: store.purge([aim], lambda one: one, at_ms=2))
        with forged(victim, outsider) as store:
            seen(lambda: store.sweep("s", lambda one: one, at_ms=2))
        with forged(victim, outsider) as store:
            seen(lambda: store.rebuild_search())
        for write in (
            lambda store: store.commit(Context(VICTIM.of("s"), 2), "add", [original("new")]),
            lambda store: store.rewind(Context(VICTIM.of("s"), 2), 0, "rewind", payload={"to": 0}),
            lambda store: store.add_marks("s", [Mark("other", "turn")]),
            lambda store: store.change_documents(
                "s", lambda now: now.put("kind", Document(("b",), {})), at_ms=2, payload={}
            ),
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
            with outsider.search_memories(LETTERS).open() as index:
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
    found = connection.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0", (table,)
    )
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
                f"WITH changed AS (UPDATE {table} SET {column} = {column} WHERE {column} = {value} RETURNING 1) SELECT count(*) FROM changed",
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

    from undrift.stores.postgres.address import ServerAddress

    with owner(home) as connection:
        connection.execute(f"DROP ROLE IF EXISTS {login}")
        connection.execute(f"CREATE ROLE {login} LOGIN")
        connection.execute(f"GRANT undrift_app TO {login}")
        connection.execute(
            "UPDATE people SET login = %s WHERE name = %s AND organisation = (SELECT number FROM organisations WHERE name = %s)",
            (login, person.person.encode(), person.organisation.encode()),
        )
    with psycopg.connect(server().url(user=login), autocommit=True) as mine:
        mine.execute(f"SET search_path TO {ServerAddress.parsed(address_of(home)).schema}")
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

    with (
        OnServer.open(home, OUTSIDERS["person"]) as outsider,
        owner(home) as connection,
        as_app(connection, outsider._home.caller),
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
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
