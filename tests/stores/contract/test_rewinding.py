"""Going back: every reading answers as right after an operation, nothing is deleted, and no other session is touched."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.stores.builders import Opener, add, commit, memory, original, prune, remember
from tests.stores.contract.hostile import HOSTILE_IDS
from tests.stores.contract.test_tasks import taken_up, write
from undrift.stores.base import Context, Document, Moved
from undrift.stores.contract import Store
from undrift.stores.memory_values import MemoryUpdate, Viewer
from undrift.values.facts import FactChange, FactVersion, SessionFact
from undrift.values.scope import Scope
from undrift.values.window import Tag, Task, Tasks, TaskUpdate

FACT = FactVersion(1, SessionFact("f", "build", "is", "green", (), 1, run_id="s"))


def go(store: Store, to: int, session: str = "s", kind: str = "rewind") -> Moved:
    return store.rewind(Context(Scope(session), 9), to, kind, payload={"to": to})


def fill(store: Store, session: str = "s") -> Iterator[int]:
    """Write a bit of everything; give the number of each operation once it is written."""
    left, pin, kept = (original(name, session=session, source=source) for name, source in SOURCES)
    before, after = Task("a", "do a"), Task("a", "do a better")
    yield commit(store, session, "pin", at_ms=1, originals=[pin, kept])
    yield commit(store, session, "task", at_ms=2, tasks=[TaskUpdate(None, before)], tags=[Tag("c1", "a", 0)])
    yield commit(store, session, "turn", at_ms=3, originals=[left], decisions=[prune(left)])
    yield commit(store, session, "task", at_ms=4, tasks=[TaskUpdate(before, after)])
    yield remember(store, memory(f"m of {session}"), session=session)
    yield commit(store, session, "fact", at_ms=5, facts=[FactChange(None, FACT)])
    store.change_documents(session, lambda change: change.put("k", Document(("d",), {}, b"1")), at_ms=1, payload={})
    yield store.last_seq(session)
    yield commit(store, session, "prune", at_ms=6, decisions=[prune(kept)])


SOURCES = (("left", "window"), ("pin", "pin"), ("kept", "buffer"))


def answers(store: Store, session: str = "s") -> list[Any]:
    with store.documents(session) as kept:
        documents = [(one.path, one.content) for one in kept.under("k")]
    buffer = [one.id for one in store.buffer(session)]
    mine = [one.id for one in store.memories.seen(Viewer("main", session)) if session in one.id]
    return [
        store.pins(session),
        buffer,
        store.decided(session),
        store.tasks(session),
        store.facts(session),
        mine,
        documents,
    ]


def test_everything_is_as_right_after_each_operation(store: Store):
    seqs, given = [0], [answers(store)]
    for seq in fill(store):
        seqs += [seq]
        given += [answers(store)]
    assert len({repr(one) for one in given}) == len(seqs)
    for to in (*reversed(range(len(seqs))), *range(len(seqs))):
        go(store, seqs[to])
        assert answers(store) == given[to]
    assert store.integrity() == ()


def test_a_state_names_what_is_active_and_its_digests_tell_versions_apart(store: Store):
    seqs = list(fill(store))
    states = [store.state("s", seq) for seq in (0, *seqs)]
    assert states[-1] == store.state("s")
    kinds = [{kind for kind, some in state.items() if some} for state in states]
    assert kinds[0] == set()
    assert kinds[-1] == {"originals", "decisions", "tasks", "tags", "memories", "facts", "documents"}
    assert states[2]["tasks"].keys() == states[4]["tasks"].keys() == {"a"}
    assert states[2]["tasks"] != states[4]["tasks"]
    go(store, seqs[1])
    assert store.state("s") == states[2]
    assert [store.state("s", seq) for seq in (0, *seqs)] == states


def test_how_many_records_were_closed_and_opened_is_told_by_kind(store: Store):
    seqs = list(fill(store))
    back = go(store, seqs[0])
    assert back.seq == store.last_seq("s")
    assert back.closed == {"decisions": 2, "tasks": 1, "tags": 1, "memories": 1, "documents": 1}
    assert back.opened == {}
    forth = go(store, seqs[-1], kind="undo")
    assert (forth.closed, forth.opened) == ({}, back.closed)
    better = go(store, seqs[2])
    assert (better.closed["tasks"], better.opened["tasks"]) == (1, 1)


def test_nothing_is_deleted_and_what_left_a_window_stays_to_be_recalled(store: Store):
    assert list(fill(store))
    before = store.operations("s")
    go(store, 0)
    assert store.operations("s")[:-1] == before
    assert store.original(original("left").ref) == original("left")
    assert store.original(original("pin").ref).source == "pin"
    assert [hit.entry_id for hit in store.find("text")] == ["left"]
    assert answers(store) == [(), [], (), store.tasks("none"), (), [], []]


def test_an_entry_that_left_a_buffer_is_searched_and_one_that_came_back_is_not(store: Store):
    one = original("e", "zyzzyva", source="buffer")
    then = add(store, one)
    pruned = commit(store, "s", "prune", at_ms=1, decisions=[prune(one)])
    assert [hit.entry_id for hit in store.find("zyzzyva")] == ["e"]
    go(store, then)
    assert store.find("zyzzyva") == ()
    go(store, pruned)
    assert [hit.entry_id for hit in store.find("zyzzyva")] == ["e"]


def test_what_is_decided_after_going_back_counts_and_the_way_there_again_forgets_it(store: Store):
    one, other = original("e"), original("f")
    then = add(store, one)
    first = commit(store, "s", "prune", at_ms=1, decisions=[prune(one)])
    go(store, then)
    again = commit(
        store, "s", "prune", at_ms=1, originals=[other], decisions=[prune(one, reason="again"), prune(other)]
    )
    assert [decision.reason for decision in store.decided("s")] == ["again", "over budget"]
    go(store, first)
    assert store.decided("s") == (prune(one),)
    go(store, again)
    assert len(store.decided("s")) == 2


def test_what_was_made_again_after_going_back_stays_when_going_back_further(store: Store):
    pin = original("p", source="pin")
    first = commit(store, "s", "pin", at_ms=1, originals=[pin])
    between = go(store, 0).seq
    again = commit(store, "s", "pin", at_ms=1, originals=[pin])
    for to, there in ((between, 0), (again, 1), (0, 0), (first, 1), (between, 0)):
        go(store, to)
        assert len(store.pins("s")) == there


def test_no_number_of_a_task_is_given_out_twice(store: Store):
    then = commit(store, "s", "start", at_ms=1)
    write(store, taken_up(Tasks(), "a"))
    go(store, then)
    assert write(store, taken_up(Tasks(), "b")).by_id["b"].ordinal == 2


def test_another_session_stays_as_it_is(store: Store):
    assert list(fill(store))
    assert list(fill(store, "t"))
    theirs = answers(store, "t")
    go(store, 0)
    assert answers(store, "t") == theirs
    assert [one.id for one in store.memories.seen(Viewer("main", "s"))] == ["m of t"]


def test_a_memory_that_two_sessions_changed_is_what_the_newest_that_counts_made_of_it(store: Store):
    one, two, three = (memory("m", text) for text in ("one", "two", "three"))

    def contents() -> list[str]:
        return [entry.content for entry in store.memories.seen(Viewer("main", "s"))]

    remember(store, one)
    before = commit(store, "t", "checkpoint", at_ms=1)
    second = commit(store, "t", "remember", at_ms=1, memories=[MemoryUpdate(one, two)])
    go(store, before, "t")
    assert contents() == ["one"]
    go(store, second, "t")
    assert contents() == ["two"]
    commit(store, "s", "remember", at_ms=1, memories=[MemoryUpdate(two, three)])
    go(store, before, "t")
    assert contents() == ["three"]
    go(store, 0)
    assert contents() == []


def test_notes_are_those_of_the_moments_that_count(store: Store):
    assert store.notes_at("s", 0) == ""
    first = commit(store, "s", "checkpoint", at_ms=1, payload={"scratchpad": "one"})
    second = commit(store, "s", "checkpoint", at_ms=1, payload={"scratchpad": "two"})
    commit(store, "s", "other", at_ms=1, payload={"x": 1})
    commit(store, "t", "checkpoint", at_ms=1, payload={"scratchpad": "theirs"})
    assert [store.notes_at("s", seq) for seq in (first, second, second + 1)] == ["one", "two", "two"]
    back = go(store, first).seq
    assert store.notes_at("s", back) == "one"
    assert store.notes_at("s", second) == "two"


def test_it_is_there_after_a_reopening(open_store: Opener, store: Store, home: Path):
    seqs = list(fill(store))
    go(store, seqs[2])
    before = answers(store), store.state("s"), store.operations("s")
    store.close()
    with open_store(home) as again:
        assert (answers(again), again.state("s"), again.operations("s")) == before
        go(again, seqs[-1])
        assert len(again.decided("s")) == 2


@pytest.mark.parametrize("hostile", HOSTILE_IDS)
def test_hostile_ids_are_only_names(store: Store, hostile: str):
    one = memory(hostile, "one", agent=hostile)
    given = original(hostile, session=hostile)
    task = Task(hostile, "do it", agent=hostile)
    first = commit(store, hostile, "t", at_ms=1, tasks=[TaskUpdate(None, task)], tags=[Tag(hostile, hostile, 0)])
    remember(store, one, session=hostile)
    commit(store, "t", "remember", at_ms=1, memories=[MemoryUpdate(one, replace(one, pinned=True))])
    last = commit(store, hostile, "t", at_ms=1, originals=[given], decisions=[prune(given)])
    state = store.state(hostile)
    go(store, first, hostile)
    assert (store.decided(hostile), list(store.tasks(hostile).by_id)) == ((), [hostile])
    assert store.memories.by_id([hostile])[hostile].pinned
    go(store, last, hostile)
    assert store.state(hostile) == state
    assert store.integrity() == ()
