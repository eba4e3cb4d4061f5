"""A check reads what is newer than the last one; after seven days, and of any other store, it reads everything."""

from pathlib import Path

import pytest

from tests.stores.builders import add, database, memory, noise, original, raw, remember
from undrift.stores.backup import back_up, restore_backup
from undrift.stores.base import Aim
from undrift.stores.checked import FULL_EVERY_MS
from undrift.stores.look import Look, look
from undrift.stores.sqlite import SqliteStore
from undrift.values.window import Decision

DAY_MS = 86_400_000
THEN = 20_000 * DAY_MS
OLD = original("old", "an old text")


def check(home: Path, at_ms: int = THEN, *, full: bool = False) -> Look:
    return look(home, full=full, noted_at_ms=at_ms)


def checked_once(home: Path) -> Look:
    with SqliteStore.open(home) as store:
        add(store, *(original(f"e{number}", noise(900 + number)) for number in range(40)), prune_them=True)
        add(store, OLD, prune_them=True)
        remember(store, memory("one"))
    done = check(home)
    assert not done.damaged
    assert not done.before.records
    return done


def grow(home: Path, *names: str, characters: int = 20) -> None:
    with SqliteStore.open(home) as store:
        add(store, *(original(name, noise(characters)) for name in names), prune_them=True)


def damage(home: Path, sql: str) -> None:
    connection = raw(home)
    connection.execute(sql)
    assert connection.changes()
    connection.close()


def is_full(seen: Look) -> bool:
    return not seen.before.records and seen.read > 40


def test_the_second_check_reads_only_what_is_new(home: Path):
    first = checked_once(home)
    assert check(home).read == 0
    grow(home, "new")
    second = check(home, THEN + DAY_MS)
    assert (second.read, second.before.records, second.before.last_ms) == (
        3,
        first.read,
        THEN,
    )  # original, decision, operation
    third = check(home, THEN + 2 * DAY_MS)
    assert (third.read, third.before.records, third.before.full_ms) == (0, first.read + 3, THEN)
    assert check(home, full=True).read == first.read + 3


@pytest.mark.parametrize(
    ("sql", "named"),
    [
        (
            "UPDATE originals SET content = 'x' WHERE ref = (SELECT max(ref) FROM originals WHERE from_seq = 4)",
            "original",
        ),
        ("UPDATE decisions SET reason = 'x' WHERE from_seq = 4", "decision"),
        ("UPDATE operations SET at_ms = 7 WHERE seq = 4", "operation"),
        ("UPDATE memories SET record = 'x' WHERE from_seq = 5", "memory"),
        ("DELETE FROM originals WHERE from_seq = 4", "is missing"),
    ],
)
def test_a_damage_of_new_records_is_found(home: Path, sql: str, named: str):
    checked_once(home)
    grow(home, "new")
    with SqliteStore.open(home) as store:
        remember(store, memory("two"))
    damage(home, sql)
    found = check(home)
    assert any(named in one for one in found.damaged)
    assert is_full(found)  # so that all of the damage is named
    assert check(home).damaged == found.damaged  # nothing was written down


@pytest.mark.parametrize("column", ["content", "last_number"])
def test_a_damage_of_a_segment_that_was_appended_to_is_found(home: Path, column: str):
    checked_once(home)
    before = raw(home).execute("SELECT max(number), max(last_number) FROM segments").fetchall()
    grow(home, *(f"n{number}" for number in range(30)), characters=900)
    assert raw(home).execute("SELECT max(number), max(last_number) FROM segments").fetchall() != before
    damage(home, f"UPDATE segments SET {column} = 0 WHERE number = (SELECT max(segment) FROM originals)")
    assert check(home).damaged


def test_a_damage_of_old_records_is_found_on_request_and_after_seven_days(home: Path):
    checked_once(home)
    damage(home, "UPDATE decisions SET reason = 'x' WHERE entry_id = 'old'")
    assert check(home, THEN + FULL_EVERY_MS - 1).damaged == ()
    assert check(home, THEN + FULL_EVERY_MS).damaged
    assert check(home, THEN, full=True).damaged


def test_an_unfinished_week_does_not_begin_anew_with_each_check(home: Path):
    checked_once(home)
    for day in range(1, 7):
        assert not is_full(check(home, THEN + day * DAY_MS))
    assert is_full(check(home, THEN + 7 * DAY_MS))
    assert not is_full(check(home, THEN + 8 * DAY_MS))
    assert is_full(check(home, THEN))  # the clock went back


def test_another_store_is_read_whole(home: Path, tmp_path: Path):
    checked_once(home)
    back_up(home, tmp_path / "out.db")
    restore_backup(tmp_path / "out.db", home)
    assert not (home / "undrift.checked").exists()
    assert is_full(check(home))
    database(home).unlink()
    (tmp_path / "out.db").rename(database(home))
    assert is_full(check(home))
    grow(home, "new")
    assert not is_full(check(home))
    damage(
        home,
        "PRAGMA foreign_keys = OFF; DELETE FROM operations WHERE seq = 4; UPDATE operations SET at_ms = 9 WHERE seq = 3",
    )
    assert is_full(check(home))  # it ends earlier, as another file does


def test_a_purge_and_a_packing_of_old_rows_are_followed_by_a_full_check(home: Path):
    checked_once(home)
    with SqliteStore.open(home) as store:
        store.pack(1 << 20)
    assert is_full(check(home))
    with SqliteStore.open(home) as store:
        assert store.purge(
            [Aim("original", "s", OLD.ref)], lambda one: Decision(one.entry_id, "pruned", "purged", 1, ""), at_ms=1
        )
    assert is_full(check(home))


@pytest.mark.parametrize("content", [b"", b"0" * 400, b"\xff" * 30, b"00000000000000000003 " * 6 + b"0" * 64 + b"\n"])
def test_a_note_that_is_torn_or_forged_says_nothing(home: Path, content: bytes):
    checked_once(home)
    (home / "undrift.checked").write_bytes(content)
    assert is_full(check(home))
    assert not is_full(check(home))


def test_a_look_alone_writes_nothing_and_a_planted_link_is_not_followed(home: Path, tmp_path: Path):
    checked_once(home)
    (home / "undrift.checked").unlink()
    look(home)
    assert not (home / "undrift.checked").exists()
    (tmp_path / "target").write_text("mine")
    (home / "undrift.checked").symlink_to(tmp_path / "target")
    assert is_full(check(home))
    assert (tmp_path / "target").read_text() == "mine"
