"""Tasks and tags in the file: each version a row, damage noticed and never given out."""

from pathlib import Path

import pytest

from tests.stores.builders import add, original, raw
from tests.stores.contract.test_tasks import completed, taken_up, write
from undrift.errors import StoreCorrupt
from undrift.stores import rows
from undrift.stores.contract import Store
from undrift.stores.tasks import task_from
from undrift.values.window import Tag, Tasks


def versions(home: Path) -> list[tuple[object, ...]]:
    connection = raw(home)
    found = connection.execute("SELECT task_id, from_seq, to_seq FROM tasks ORDER BY number").fetchall()
    connection.close()
    return found


def test_a_change_closes_one_version_and_adds_the_next(store: Store, home: Path):
    tasks = write(store, taken_up(Tasks(), "a"))
    write(store, completed(tasks, "a"))
    one, two = (row.seq for row in store.operations("s"))
    assert versions(home) == [("a", one, two), ("a", two, None)]
    write(store, completed(tasks, "a"))
    assert len(versions(home)) == 2  # the same again is none


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE tasks SET record = replace(record, 'do a', 'do b')",
        "UPDATE tasks SET ordinal = 7",
        "UPDATE tasks SET agent = 'x'",
        "UPDATE tags SET segment = 1",
        "UPDATE tags SET call_id = 'x'",
    ],
)
def test_damage_is_noticed_and_never_given_out(store: Store, home: Path, damage: str):
    tasks = write(store, taken_up(Tasks(), "a"), Tag("c", "a", 0))
    add(store, original("e"))
    connection = raw(home)
    connection.execute(damage)
    connection.close()
    with pytest.raises(StoreCorrupt, match="SHA-256"):
        store.tasks("s")
    assert len(store.integrity()) == 1
    if "tasks" in damage:
        with pytest.raises(StoreCorrupt):
            write(store, completed(tasks, "a"))
    assert store.original(original("e").ref) == original("e")


def test_a_tag_whose_task_is_gone_is_named(store: Store, home: Path):
    write(store, taken_up(Tasks(), "a"), Tag("c", "a", 0))
    connection = raw(home)
    connection.execute("DELETE FROM tasks")
    connection.close()
    assert store.integrity() == ("tag of call 'c' in session 's': its task 'a' is missing",)


def test_what_matches_its_hash_and_is_no_task_is_refused():
    for forged in (b"{}", b"[]", b'{"status":"failed","acceptance_criteria":[],"segments":[]}', b"{"):
        values = (b"s", b"a", b"main", 1, 1, forged)
        with pytest.raises(StoreCorrupt, match="not written by undrift"):
            task_from((1, rows.digest(*values), *values))
