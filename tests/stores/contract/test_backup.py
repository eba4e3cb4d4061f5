"""A backup: made while the store is in use, whole, and put back over what is there."""

from pathlib import Path
from typing import Any

import pytest

from tests.stores.builders import Opener, add, commit, memory, original, prune, remember
from undrift.errors import InputError, StoreError
from undrift.stores.base import Document
from undrift.stores.contract import Store
from undrift.stores.memory_values import Viewer
from undrift.stores.opening import Engine


def fill(store: Store) -> None:
    one = original("e", "the quick fox")
    commit(store, "s", "turn", at_ms=1, originals=[one, original("p", source="pin")], decisions=[prune(one)])
    remember(store, memory("m"))
    store.change_documents("t", lambda change: change.put("k", Document(("a",), {}, b"1")), at_ms=1, payload={})


def answers(store: Store) -> list[Any]:
    with store.documents("t") as kept:
        documents = kept.under("k")
    seen = store.memories.seen(Viewer("main", "s"))
    return [
        store.sessions(),
        store.operations("s"),
        store.decided("s"),
        store.pins("s"),
        seen,
        documents,
        store.find("fox"),
    ]


def test_a_copy_of_a_store_in_use_is_opened_elsewhere(
    engine: Engine, open_store: Opener, store: Store, home: Path, tmp_path: Path
):
    fill(store)
    counts = engine.back_up(home, tmp_path / "copy")
    assert (counts.operations, counts.originals, counts.decisions, counts.kept) == (3, 2, 1, None)
    assert counts.size_bytes > 0
    before = answers(store)
    add(store, original("later"))
    assert engine.restore_backup(tmp_path / "copy", tmp_path / "elsewhere").kept is None
    with open_store(tmp_path / "elsewhere") as other:
        assert answers(other) == before
        assert other.integrity() == ()
        add(other, original("of the other"))
    assert [row.kind for row in store.operations("s")] == ["turn", "remember", "add"]


def test_what_it_takes_the_place_of_is_kept(
    engine: Engine, open_store: Opener, store: Store, home: Path, tmp_path: Path
):
    fill(store)
    before = answers(store)
    engine.back_up(home, tmp_path / "copy")
    add(store, original("later"))
    store.close()
    kept = engine.restore_backup(tmp_path / "copy", home).kept
    assert kept is not None
    assert kept.parent in (home, home.parent)
    with open_store(home) as again:
        assert answers(again) == before
    engine.restore_backup(tmp_path / "copy", home)  # it can be put back twice


def test_a_backup_takes_the_place_of_an_earlier_one_and_of_nothing_else(
    engine: Engine, open_store: Opener, store: Store, home: Path, tmp_path: Path
):
    (tmp_path / "other").write_text("not ours")
    with pytest.raises(InputError):
        engine.back_up(home, tmp_path / "other")
    assert (tmp_path / "other").read_text() == "not ours"
    engine.back_up(home, tmp_path / "copy")
    fill(store)
    assert engine.back_up(home, tmp_path / "copy").operations == 3


def test_what_is_no_backup_or_no_store_is_refused(engine: Engine, store: Store, home: Path, tmp_path: Path):
    fill(store)
    (tmp_path / "other").write_text("not ours")
    before = answers(store)
    with pytest.raises(InputError):
        engine.restore_backup(tmp_path / "other", home)
    assert answers(store) == before
    with pytest.raises(StoreError):
        engine.back_up(tmp_path / "nowhere", tmp_path / "copy")
    assert not engine.is_there(tmp_path / "nowhere")
    assert engine.is_there(home)
