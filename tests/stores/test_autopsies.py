"""The rows of earlier autopsies: private, apart by budget and rules, and never worth an error that a new reading repairs."""

import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from undrift.errors import StoreError
from undrift.stores.autopsies import FOLDER, AutopsyRow, AutopsyRows

ROW = AutopsyRow("/s/a.jsonl", "1 2 3", b'{"a":1}')
OTHER = AutopsyRow("/s/b\udcff.jsonl", "4 5 6", b"{}")


def rows_in(home: Path, budget: int = 5_000, rules: str = "r1") -> AutopsyRows:
    return AutopsyRows(home, budget_tokens=budget, rules=rules)


def kept(home: Path, *rows: AutopsyRow, budget: int = 5_000, rules: str = "r1") -> None:
    with closing(rows_in(home, budget, rules)) as index:
        for row in rows:
            index.keep(row)


def loaded(home: Path, budget: int = 5_000, rules: str = "r1") -> set[AutopsyRow]:
    with closing(rows_in(home, budget, rules)) as index:
        return set(index.load())


def database(home: Path) -> Path:
    (path,) = (home / FOLDER).iterdir()
    return path


def test_what_is_kept_is_loaded_and_replaced(tmp_path: Path) -> None:
    kept(tmp_path, ROW, OTHER)
    assert loaded(tmp_path) == {ROW, OTHER}
    newer = AutopsyRow(ROW.path, "7 8 9", b"[]")
    kept(tmp_path, newer)
    assert loaded(tmp_path) == {newer, OTHER}


def test_a_look_creates_nothing(tmp_path: Path) -> None:
    assert loaded(tmp_path / "home") == set()
    assert not (tmp_path / "home").exists()


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    kept(tmp_path / "home", ROW)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "home", tmp_path / "home" / FOLDER)]
    assert modes == [0o700, 0o700]
    assert stat.S_IMODE(database(tmp_path / "home").stat().st_mode) == 0o600


def test_another_budget_has_rows_of_its_own_and_other_rules_replace_them(tmp_path: Path) -> None:
    kept(tmp_path, ROW)
    other = AutopsyRow(ROW.path, ROW.stamp, b"[1]")
    kept(tmp_path, other, budget=300)
    assert (loaded(tmp_path), loaded(tmp_path, budget=300)) == ({ROW}, {other})
    assert loaded(tmp_path, rules="r2") == set()
    kept(tmp_path, other, rules="r2")
    assert (loaded(tmp_path), loaded(tmp_path, rules="r2")) == (set(), {other})


def test_what_is_forgotten_is_gone_for_every_budget(tmp_path: Path) -> None:
    kept(tmp_path, ROW, OTHER)
    kept(tmp_path, ROW, budget=300)
    with closing(rows_in(tmp_path)) as index:
        index.forget([ROW.path])
        index.forget([])
    assert (loaded(tmp_path), loaded(tmp_path, budget=300)) == ({OTHER}, set())


def overwritten(path: Path) -> None:
    path.write_bytes(b"no database " * 1_000)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5_000])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def of_another_version(path: Path) -> None:
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("PRAGMA user_version = 99; ALTER TABLE found RENAME COLUMN stamp TO mark")


def without_its_table(path: Path) -> None:
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("DROP TABLE found; CREATE TABLE found(a)")


@pytest.mark.parametrize("damage", [overwritten, cut, emptied, of_another_version, without_its_table])
def test_a_damaged_file_is_replaced_without_a_word(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    kept(tmp_path, *(AutopsyRow(f"/s/{number}.jsonl", "1 2 3", b"x" * 500) for number in range(50)))
    damage(database(tmp_path))
    assert loaded(tmp_path) == set()
    kept(tmp_path, ROW)
    assert loaded(tmp_path) == {ROW}


def test_a_damaged_row_does_not_count(tmp_path: Path) -> None:
    kept(tmp_path, ROW, OTHER)
    content = database(tmp_path).read_bytes()
    assert content.count(ROW.content) == 1
    database(tmp_path).write_bytes(content.replace(ROW.content, b'{"a":2}'))
    assert loaded(tmp_path) == {OTHER}


def test_a_file_that_was_deleted_meanwhile_is_made_again(tmp_path: Path) -> None:
    with closing(rows_in(tmp_path)) as index:
        index.keep(ROW)
        database(tmp_path).unlink()
        index.keep(OTHER)
        assert set(index.load()) == {OTHER}


def test_many_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    def fill(writer: int) -> None:
        with closing(rows_in(tmp_path)) as index:
            for number in range(20):
                index.keep(AutopsyRow(f"/s/{writer}-{number}.jsonl", "1 2 3", b"{}"))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(fill, range(6)))
    assert len(loaded(tmp_path)) == 120


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    kept(tmp_path, ROW)
    database(tmp_path).rename(tmp_path / "elsewhere.db")
    (tmp_path / FOLDER / "index.db").symlink_to(tmp_path / "elsewhere.db")
    for use in (loaded, lambda home: kept(home, OTHER)):
        with pytest.raises(StoreError, match="link"):
            use(tmp_path)


def test_a_place_that_cannot_be_written_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("in the way")
    with pytest.raises(StoreError, match="--home"):
        kept(tmp_path, ROW)
    assert loaded(tmp_path) == set()
