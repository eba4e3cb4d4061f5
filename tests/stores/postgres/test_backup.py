"""A backup of a server: the old schema keeps a free name, the file is on disk, and every failure is one of the store."""

import gzip
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.stores.builders import original
from tests.stores.on_server import OnServer, address_of, skip_without_server
from undrift.errors import InputError, StoreCorrupt, StoreError
from undrift.stores import files
from undrift.stores.base import Context
from undrift.values.scope import Scope


@pytest.fixture
def home(tmp_path: Path) -> Path:
    skip_without_server()
    home = tmp_path / "home"
    with OnServer.open(home) as store:
        store.commit(Context(Scope("s"), 1), "add", [original("e", "the quick fox " * 99)])
    return home


def ran(home: Path, sql: str) -> list[Any]:
    """Run a statement as the owner of a home's tables; `{}` stands for the schema."""
    with OnServer.open(home) as store, store._home.server.owner() as connection:
        cursor = connection.execute(sql.replace("{}", store._home.server.address.schema))
        return cursor.fetchall() if cursor.description else []


def test_an_old_schema_gets_a_free_name_whichever_were_dropped(home: Path, tmp_path: Path):
    OnServer.back_up(home, tmp_path / "copy")
    kept = [OnServer.restore_backup(tmp_path / "copy", home).kept for _ in range(3)]
    assert len(set(kept)) == 3
    ran(home, "DROP SCHEMA {}_before_1 CASCADE")
    again = OnServer.restore_backup(tmp_path / "copy", home).kept
    assert again is not None
    assert again not in kept[1:]


def test_an_old_schema_with_a_long_name_keeps_its_number(tmp_path: Path):
    from undrift.stores.postgres.opening import PostgresEngine

    skip_without_server()
    address = f"{address_of(tmp_path).partition('undrift_schema=')[0]}undrift_schema={'ä' * 31}"
    PostgresEngine.open(address).close()
    PostgresEngine.back_up(address, tmp_path / "copy")
    kept = [PostgresEngine.restore_backup(tmp_path / "copy", address).kept for _ in range(2)]
    assert [str(one)[-9:] for one in kept] == ["_before_1", "_before_2"]
    for one in kept:
        assert PostgresEngine.is_there(address.replace("ä" * 31, str(one)))


def test_the_name_of_a_backup_is_on_disk_when_it_is_told(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    synced: list[tuple[Path, bool]] = []
    target = tmp_path / "copy"
    monkeypatch.setattr(files, "sync_folder", lambda folder: synced.append((folder, target.exists())))
    OnServer.back_up(home, target)
    assert synced == [(tmp_path, True)]


def test_a_backup_that_the_system_refuses_is_an_error_of_the_store(home: Path, tmp_path: Path):
    with pytest.raises(StoreError, match="xxx"):
        OnServer.back_up(home, tmp_path / ("x" * 300))
    with pytest.raises(InputError, match="nowhere: there is no such folder"):
        OnServer.back_up(home, tmp_path / "nowhere" / "copy")
    with pytest.raises(InputError, match="nowhere: there is no such file"):
        OnServer.restore_backup(tmp_path / "nowhere", home)
    (tmp_path / "folder").mkdir()
    with pytest.raises((InputError, StoreError)):
        OnServer.back_up(home, tmp_path / "folder")
    assert list((tmp_path / "folder").iterdir()) == []


@pytest.mark.parametrize("part", [0.3, 0.6])
def test_a_damaged_backup_changes_nothing(home: Path, tmp_path: Path, part: float):
    OnServer.back_up(home, tmp_path / "copy")
    whole = gzip.decompress((tmp_path / "copy").read_bytes())
    (tmp_path / "short").write_bytes(gzip.compress(whole[: int(len(whole) * part)]))
    packed = (tmp_path / "copy").read_bytes()
    (tmp_path / "cut").write_bytes(packed[: int(len(packed) * part)])
    shutil.copy(tmp_path / "copy", tmp_path / "bent")
    with (tmp_path / "bent").open("r+b") as file:
        file.seek(int(len(packed) * part))
        file.write(b"\0" * 64)
    for name in ("short", "cut", "bent"):
        with pytest.raises((InputError, StoreCorrupt), match=name):
            OnServer.restore_backup(tmp_path / name, home)
    assert ran(home, "SELECT count(*) FROM {}.operations") == [(1,)]
