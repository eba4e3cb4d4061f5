"""What was read before is not read again: the same answers come out, whatever has happened to the rows since."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stores.builders import commit
from undrift.core.text.refs import ref_of
from undrift.errors import StoreCorrupt
from undrift.stores import rows
from undrift.stores.base import Context, Known
from undrift.stores.decisions import decision_from, decision_row, many_decisions
from undrift.stores.sqlite import SqliteStore
from undrift.values.scope import Scope
from undrift.values.window import ContextEntry, Decision, Moment, Original, Segment, Tag, Task, TaskUpdate


def original(name: str, source: Any = "pin") -> Original:
    return Original(ref_of("s", name), "s", source, ContextEntry(name, "tool_result", f"text of {name}", 5, 1))


def work(store: SqliteStore, number: int) -> int:
    """Pin, let go, take up a task and tag a call: one of each."""
    left = original(f"e{number}", "window")
    task = Task(f"t{number}", "do", segments=(Segment(Moment(f"m{number}"), Moment(f"n{number}"), "completed"),))
    return commit(
        store,
        "s",
        "turn",
        at_ms=1,
        originals=[original(f"p{number}"), left],
        decisions=[Decision(left.entry.id, "pruned", "over budget", 5, left.ref)],
        tasks=[TaskUpdate(None, task)],
        tags=[Tag(f"c{number}", task.id, 0)],
    )


def both(store: SqliteStore, known: Known) -> None:
    """A reading with what is known gives what one without it gives, twice."""
    for _ in range(2):
        assert store.decided("s", known) == store.decided("s")
        assert store.pins("s", known) == store.pins("s")
        found, whole = store.tasks("s", known), store.tasks("s")
        assert (list(found.by_id.items()), list(found.tags.items())) == (
            list(whole.by_id.items()),
            list(whole.tags.items()),
        )


def test_what_is_known_and_what_is_new_come_in_their_order(tmp_path: Path):
    known = Known()
    with SqliteStore.open(tmp_path) as store, SqliteStore.open(tmp_path) as other:
        both(store, known)
        first = work(store, 1)
        both(store, known)
        for number in (2, 3):
            work(other, number)
        both(store, known)
        store.rewind(Context(Scope("s"), 2), first, "rewind", payload={"to": first})
        both(store, known)
        assert [len(one) for one in (known.decisions, known.pins, known.tasks, known.tags)] == [1, 1, 1, 1]
        store.rewind(Context(Scope("s"), 3), first + 2, "undo", payload={"to": first + 2})
        both(store, known)
        assert len(known.pins) == 3


def test_nothing_that_is_known_is_read_again(tmp_path: Path):
    with SqliteStore.open(tmp_path) as store:
        work(store, 1)
        known = Known()
        pins = store.pins("s", known)
        with store._database.using() as connection:
            connection.execute("UPDATE originals SET content = x'00'")
        assert store.pins("s", known) == pins
        with pytest.raises(StoreCorrupt):
            store.pins("s")


def test_a_record_that_was_written_anew_is_read_anew(tmp_path: Path):
    with SqliteStore.open(tmp_path) as store:
        work(store, 1)
        known = Known()
        store.decided("s", known)
        with store._database.using() as connection:
            connection.execute("UPDATE decisions SET record_sha256 = x'00'")
        with pytest.raises(StoreCorrupt):
            store.decided("s", known)


VALUES = st.none() | st.booleans() | st.integers(-3, 300) | st.sampled_from([0.0, 1.0, 2.5]) | st.text(max_size=3)
DEEPER = st.recursive(
    VALUES, lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from("abc,"), inner), max_leaves=6
)
DETAILS = st.dictionaries(st.sampled_from(["a", "b", "at", "rows", "worth", "\ud800", '","{']), DEEPER, max_size=5)


@given(st.lists(DETAILS, max_size=6))
def test_decisions_that_are_read_together_are_those_that_are_read_alone(details):
    together = many_decisions()
    for number, detail in enumerate(details):
        texts = (Decision(f"e{number}", "pruned", f"reason {number % 2}", number, "", detail),)
        ((session, entry, kind, reason, saved, ref, digest, written),) = (decision_row("s", one) for one in texts)
        row = (
            number,
            digest,
            *(text.encode() for text in (session, entry, kind, reason)),
            saved,
            ref,
            written.encode(),
            None,
        )
        alone, found = decision_from(row), together(row)
        assert found == alone
        assert json.dumps(found.detail, default=dict) == json.dumps(alone.detail)


@pytest.mark.parametrize(
    "written", ['{"a":1,"b":2,"c":3,"a":4}', '{"a":1,"a":2,"b":3,"a":4}', "[1,2,3]", '"a,b,c"', "{}"]
)
def test_a_detail_that_we_would_not_write_is_read_together_as_alone(written):
    parts = (b"s", b"e", b"pruned", b"reason", 1, None, written.encode())
    row = (1, rows.digest(*parts), *parts, None)
    assert many_decisions()(row) == decision_from(row)
