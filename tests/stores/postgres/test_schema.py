"""Migrations of a server: one process at a time, step by step; two versions of undrift on one database."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.stores.builders import original
from tests.stores.on_server import address_of, server, skip_without_server
from undrift.errors import InputError, StoreError, StoreVersionError
from undrift.stores.base import Context
from undrift.values.scope import Scope


@pytest.fixture
def address(tmp_path: Path) -> str:
    skip_without_server()
    return address_of(tmp_path)


def name_of(address: str) -> str:
    return address.rpartition("undrift_schema=")[2]


def opened(address: str, **more: Any) -> Any:
    from undrift.stores.postgres.opening import PostgresEngine

    return PostgresEngine.open(address, Scope(), **more)


def migrated(address: str, *later: Any) -> None:
    """Migrate as a newer undrift would, with more steps."""
    from undrift.stores.postgres import schema
    from undrift.stores.postgres.steps import STEPS

    with psycopg.connect(server().url(), autocommit=True) as connection:
        schema.migrate(connection, name_of(address), (*STEPS, *later))


def step(statement: str, least_reader: int) -> Any:
    from undrift.stores.postgres.steps import STEPS

    return type(STEPS[0])(lambda connection: connection.execute(statement), least_reader)


def test_an_older_undrift_continues_beside_a_newer_one_that_only_added(address: str):
    with opened(address) as older:
        migrated(address, step("ALTER TABLE operations ADD COLUMN more text", 1))
        one = original("e")
        older.commit(Context(Scope("s"), 1), "add", [one])
        with opened(address) as again:
            assert again.original(one.ref) == one


def test_an_older_undrift_refuses_what_a_newer_one_changed_and_changes_nothing(address: str):
    from undrift.stores.postgres import schema
    from undrift.stores.postgres.steps import STEPS

    opened(address).close()
    migrated(address, step("ALTER TABLE operations RENAME COLUMN events TO changes", len(STEPS) + 1))
    with (
        psycopg.connect(server().url(), autocommit=True) as connection,
        pytest.raises(StoreVersionError, match=name_of(address)),
    ):
        schema.migrate(connection, name_of(address))


def test_many_processes_that_open_a_new_home_at_once_make_it_once(address: str):
    with ThreadPoolExecutor(8) as threads:
        for one in [threads.submit(migrated, address) for _ in range(8)]:
            one.result()
    opened(address, create=False).close()


def test_a_step_that_fails_leaves_the_version_before(address: str):
    opened(address).close()
    with pytest.raises(psycopg.Error):
        migrated(address, step("SELECT nothing FROM nowhere", 1))
    migrated(address, step("ALTER TABLE operations ADD COLUMN more text", 1))
    with opened(address) as store:
        assert store.sessions() == ()


@pytest.mark.parametrize(
    "wrong", ["undrift_affinity=maybe", "undrift_connections=0", "undrift_unknown=1", "undrift_key_file=/nowhere"]
)
def test_a_wrong_parameter_is_named(address: str, wrong: str):
    with pytest.raises(InputError, match=wrong.partition("=")[2] if "key_file" in wrong else wrong.partition("=")[0]):
        opened(f"{address}&{wrong}")


def test_a_password_is_never_shown():
    from undrift.stores.postgres.opening import PostgresEngine

    with pytest.raises(StoreError) as caught:
        PostgresEngine.open("postgresql://ann:hunter2@127.0.0.1:1/undrift", Scope(), busy_timeout_ms=200)
    assert "hunter2" not in str(caught.value)
    assert "127.0.0.1" in str(caught.value)
