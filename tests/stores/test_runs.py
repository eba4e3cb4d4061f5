"""The records of dispatched runs in the file: each version is kept, a changed byte is noticed."""

from pathlib import Path

import pytest

from tests.stores.builders import Opener, raw
from tests.stores.contract.test_runs import put
from undrift.errors import StoreCorrupt
from undrift.stores.base import RunChange
from undrift.stores.contract import Store


def test_every_version_is_kept(store: Store, home: Path):
    seqs = [put(store, RunChange("run", None if n == 0 else {"n": n - 1}, {"n": n})) for n in range(3)]
    connection = raw(home)
    rows = connection.execute("SELECT from_seq, to_seq FROM run_records ORDER BY number").fetchall()
    connection.close()
    assert rows == [(seqs[0], seqs[1]), (seqs[1], seqs[2]), (seqs[2], None)]


def test_a_changed_byte_is_noticed(open_store: Opener, home: Path):
    with open_store(home) as store:
        put(store, RunChange("run", None, {"n": 1}))
    connection = raw(home)
    connection.execute("UPDATE run_records SET record = '{\"n\":2}'")
    connection.close()
    with open_store(home) as store:
        with pytest.raises(StoreCorrupt, match="does not match its SHA-256"):
            store.run_records("run")
        with pytest.raises(StoreCorrupt):
            put(store, RunChange("run", {"n": 1}, {"n": 3}))
        assert any("run record 1" in sentence for sentence in store.integrity())
