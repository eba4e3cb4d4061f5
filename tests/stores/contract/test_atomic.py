"""One commit is all or nothing, whichever kind refuses; made again it is nothing new; and it knows whether it came too late."""

from typing import Any

import pytest

from tests.stores.builders import commit, memory, original, prune
from undrift.errors import InputError, StoreError
from undrift.stores.base import Context, RunChange
from undrift.stores.contract import Store
from undrift.stores.memory_values import MemoryLine, MemoryLines, MemoryUpdate, Unchanged, Viewer, content_digest
from undrift.values.facts import FactChange, FactVersion, SessionFact
from undrift.values.scope import Scope
from undrift.values.window import Decision, Tag, Task, TaskUpdate

ME = Viewer("main", "s")
KEPT, PIN = original("left"), original("pin", source="pin")
FACT = FactVersion(1, SessionFact("f", "build", "is", "green", (), 1, run_id="s"))
EVERYTHING = [
    KEPT,
    PIN,
    prune(KEPT),
    TaskUpdate(None, Task("a", "do a")),
    Tag("call", "a", 0),
    FactChange(None, FACT),
    RunChange("run", None, {"n": 1}),
    MemoryUpdate(None, memory("m")),
    MemoryLines([MemoryLine("m", "words")]),
]
REFUSED = {
    "original": original("left", "other"),
    "decision": Decision("left", "cut", "why", 1, KEPT.ref),
    "decision without an original": Decision("e", "pruned", "why", 1, "f" * 16),
    "task": TaskUpdate(Task("b", "was"), Task("b", "is")),
    "tag": Tag("call", "a", 7),
    "fact": FactChange(FactVersion(2, FACT.fact), None),
    "run": RunChange("other", {"n": 7}, {}),
    "memory": MemoryUpdate(memory("n", "was"), memory("n", "is")),
    "memories that it rests on": Unchanged(content_digest("words"), ["n"], [], [], ME),
    "no kind": "text",
}


def answers(store: Store) -> list[Any]:
    with store.search_memories().open() as index:
        found = index.match(["words"], 10)
    return [
        store.pins("s"), store.decided("s"), store.tasks("s"), store.facts("s"), store.facts_state("s"),
        store.run_records("s"), store.memories.seen(ME), found, store.operations("s"), store.sessions(), store.find("text"),
    ]  # fmt: skip


@pytest.mark.parametrize("refused", REFUSED)
def test_what_one_kind_refuses_none_has_written(store: Store, refused: str):
    before = answers(store)
    for changes in ([*EVERYTHING, REFUSED[refused]], [REFUSED[refused], *EVERYTHING]):
        with pytest.raises((StoreError, InputError)):
            commit(store, "s", "turn", at_ms=1, changes=changes)
        assert answers(store) == before
    commit(store, "s", "turn", at_ms=1, changes=EVERYTHING)
    assert [len(some) for some in answers(store)[:2]] == [1, 1]


def test_the_same_commit_again_changes_nothing_but_the_log(store: Store):
    """A commit whose answer got lost is simply made again."""
    first = commit(store, "s", "turn", at_ms=1, changes=EVERYTHING)
    before = answers(store)
    second = commit(store, "s", "turn", at_ms=1, changes=EVERYTHING)
    after = answers(store)
    assert before[:8] == after[:8]
    assert [row.seq for row in store.operations("s")] == [first, second]
    assert store.integrity() == ()


def test_what_was_decided_before_a_session_went_back_is_refused(store: Store):
    known = commit(store, "s", "turn", at_ms=1, changes=[KEPT])
    store.commit(Context(Scope("s"), 1, known), "turn", [prune(KEPT)])
    store.commit(Context(Scope("s"), 1, known), "turn", [])
    commit(store, "t", "rewind", at_ms=1)
    store.commit(Context(Scope("s"), 1, known), "turn", [])
    moved = store.rewind(Context(Scope("s"), 1), known, "rewind", payload={"to": known})
    with pytest.raises(StoreError, match="meanwhile"):
        store.commit(Context(Scope("s"), 1, known), "turn", [original("new")])
    assert store.last_seq("s") == moved.seq
    store.commit(Context(Scope("s"), 1, moved.seq), "turn", [original("new")])
    assert store.by_entry("s", "new") == original("new")
