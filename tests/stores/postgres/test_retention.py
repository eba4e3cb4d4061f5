"""A month of a server is dropped whole, with its partitions, and nothing else goes."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.stores.builders import memory, original, prune
from tests.stores.on_server import address_of, skip_without_server
from undrift.errors import InputError, StoreError
from undrift.stores.base import Context, Mark
from undrift.stores.memory_values import MemoryUpdate
from undrift.values.scope import Scope

TODAY = datetime.now(UTC)
NOW_MS = int(TODAY.timestamp() * 1000)
MONTH = date(TODAY.year, TODAY.month, 1)


@pytest.fixture
def address(tmp_path: Path) -> str:
    skip_without_server()
    return address_of(tmp_path)


def opened(address: str) -> Any:
    from undrift.stores.postgres.opening import PostgresEngine

    return PostgresEngine.open(address, Scope())


def fill(address: str, at_ms: int) -> None:
    one = original("e", "a text")
    with opened(address) as store:
        changes = [one, prune(one), MemoryUpdate(None, memory("m"))]
        store.commit(Context(Scope("s"), at_ms), "turn", changes)
        store.add_marks("s", [Mark("a", "turn")])


def partitions(address: str) -> list[str]:
    with opened(address) as store, store._home.server.owner() as connection:
        sql = "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s"
        found = connection.execute(sql, (store._home.server.address.schema,)).fetchall()
        return [name for (name,) in found if name.startswith(f"originals_{MONTH:%Y_%m}") and name[-1].isdigit()]


def test_what_began_in_a_month_goes_with_its_partitions_and_memories_stay(address: str):
    from undrift.stores.postgres.people import ServerPeople
    from undrift.stores.postgres.retention import drop_month, months

    fill(address, NOW_MS - 40 * 86_400_000)
    assert partitions(address)
    with ServerPeople(address) as people:
        (line,) = months(people)
        assert (line.month, line.sessions) == (MONTH, 1)
        assert line.size_bytes > 0
        assert drop_month(people, MONTH) == 1
        assert months(people) == []
        with pytest.raises(InputError):
            drop_month(people, MONTH)
    with opened(address) as store:
        assert (store.sessions(), store.operations("s"), store.find_marks(["a"])) == ((), (), ())
        assert list(store.memories.by_id(["m"])) == ["m"]
        assert store.integrity() == ()
        store.commit(Context(Scope("s"), NOW_MS), "again", [original("e", "a text")])  # the partitions are made again
        assert [row.kind for row in store.operations("s")] == ["again"]
    assert partitions(address)


def test_a_month_in_use_is_not_dropped(address: str):
    from undrift.stores.postgres.people import ServerPeople
    from undrift.stores.postgres.retention import drop_month

    fill(address, NOW_MS)
    with ServerPeople(address) as people, pytest.raises(StoreError, match="last 30 days"):
        drop_month(people, MONTH)
    with opened(address) as store:
        assert [row.kind for row in store.operations("s")] == ["turn"]
