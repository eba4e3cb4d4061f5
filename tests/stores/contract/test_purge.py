"""A purge: nothing of it can be read afterwards, all that rested on it is gone, and the rest stays whole."""

from dataclasses import replace
from typing import Any

import pytest

from tests.stores.builders import add, commit, memory, original, prune
from tests.stores.contract.hostile import HOSTILE_IDS
from undrift.errors import RecallError
from undrift.stores.base import Aim, Context, Destroyed, Document, Mark, RunChange
from undrift.stores.contract import Store
from undrift.stores.memory_values import MemoryLine, MemoryLines, MemoryUpdate, Viewer
from undrift.values.facts import FactChange, FactVersion, SessionFact
from undrift.values.memory import MemoryEntry, heir_id
from undrift.values.scope import Scope
from undrift.values.window import Decision, Tag, Task, TaskUpdate

SECRET = "zyzzyva-hunter2-secret"


def blank(decision: Decision) -> Decision:
    kept = {name: one for name, one in decision.detail.items() if name == "at"}
    return Decision(decision.entry_id, decision.kind, "purged", decision.tokens_saved, "", kept)


def purge(store: Store, *aims: Aim) -> Destroyed | None:
    return store.purge(aims, blank, at_ms=7)


def everything(store: Store, session: str = "s") -> str:
    """All that a store gives of a session, as one text."""
    given: list[Any] = [
        store.pins(session), store.decided(session), store.tasks(session), store.facts(session), store.buffer(session),
        store.run_records(session), store.operations(session), store.memories.seen(Viewer("main", session)), store.find(SECRET),
        [store.facts(session, as_of=row.seq) for row in store.operations(session)],
        [store.memories.seen(Viewer("main", session, row.seq)) for row in store.operations(session)],
    ]  # fmt: skip
    with store.documents(session) as kept:
        given.append(kept.under("k"))
    return repr(given)


def forget(store: Store, session: str = "s") -> None:
    """Go to each moment there was: none gives it back."""
    for row in store.operations(session):
        store.rewind(Context(Scope(session), 9), row.seq, "rewind", payload={"to": row.seq})
        assert SECRET not in everything(store, session)
    assert store.integrity() == ()


def remember(store: Store, name: str, text: str, session: str = "s", **fields: Any) -> None:
    one = memory(name, text, session_id=session, **fields)
    lines = MemoryLines([MemoryLine(name, text)])
    commit(store, session, "remember", at_ms=1, memories=[MemoryUpdate(None, one)], lines=[lines], payload={"id": name})


def searched(store: Store, word: str) -> int:
    with store.search_memories().open() as index:
        return len(index.match([word], 9)) + len(index.match([word], 9, taken_back=True))


@pytest.mark.parametrize("by", ["ref", "entry"])
def test_an_original_is_gone_and_the_decision_about_it_says_nothing(store: Store, by: str):
    one, other = original("e", SECRET), original("f", "stays here")
    decided = prune(one, reason=SECRET, detail={"at": "m1", "text": SECRET})
    commit(
        store, "s", "turn", at_ms=1, originals=[one, other], decisions=[decided, prune(other)], payload={"ref": one.ref}
    )
    done = purge(store, Aim("original", "s", one.ref if by == "ref" else "e"))
    assert done is not None
    assert (done.kind, done.removed) == ("original", {"originals": 1})
    with pytest.raises(RecallError):
        store.original(one.ref)
    assert store.decided("s") == (blank(decided), prune(other))
    assert store.decision(one.ref) is None
    assert store.original(other.ref) == other
    assert [hit.entry_id for hit in store.find("stays")] == ["f"]
    assert one.ref not in everything(store)
    assert store.clean(done).files == ()
    forget(store)


def test_a_pin_is_gone_with_its_places(store: Store):
    pin = original("p", SECRET, source="pin")
    commit(store, "s", "pin", at_ms=1, originals=[pin], decisions=[Decision("1:p", "pinned", "why", -1, pin.ref)])
    assert purge(store, Aim("original", "s", pin.ref))
    assert (store.pins("s"), store.decided("s")) == ((), ())
    forget(store)


def test_a_task_is_gone_with_its_log_its_tags_and_what_is_remembered_of_it(store: Store):
    log, of_call = original("log", SECRET), original("call", SECRET, metadata={"pair_id": "c1"})
    other = original("other", metadata={"pair_id": "c2"})
    task = Task("a", SECRET)
    commit(
        store, "s", "task", at_ms=1, tasks=[TaskUpdate(None, task), TaskUpdate(None, Task("b", "stays"))],
        tags=[Tag("c1", "a", 0), Tag("c2", "b", 0)], originals=[log, of_call, other],
    )  # fmt: skip
    commit(store, "s", "task", at_ms=2, tasks=[TaskUpdate(task, replace(task, result_summary=SECRET))])
    evicted = Decision("log", "evicted", SECRET, 1, log.ref, {"task": "a", "text": SECRET})
    commit(store, "s", "evict", at_ms=3, decisions=[evicted])
    remember(store, "m", f"{SECRET} was done", source="task:a")
    remember(store, "n", "stays", source="task:b")
    done = purge(store, Aim("task", "s", "a"))
    assert done is not None
    assert done.removed == {"originals": 2, "memories": 1, "tasks": 2, "tags": 1}
    assert done.tasks == {"a"}
    assert list(store.tasks("s").by_id) == ["b"]
    assert list(store.tasks("s").tags) == ["c2"]
    assert store.original(other.ref) == other
    assert [one.id for one in store.memories.seen(Viewer("main", "s"))] == ["n"]
    assert searched(store, "zyzzyva") == 0
    forget(store)


def test_a_memory_is_gone_in_every_version_and_others_quote_it_no_more(store: Store):
    remember(store, "m", SECRET)
    one = store.memories.by_id(["m"])["m"]
    commit(store, "s", "remember", at_ms=1, memories=[MemoryUpdate(one, replace(one, pinned=True))])
    conflicts = [{"with": "m", "words": SECRET}, {"with": "x", "words": "other"}]
    remember(store, "n", "another", session="t", metadata={"conflicts": conflicts})
    done = purge(store, Aim("memory", "s", "m", "main"))
    assert done is not None
    assert (done.kind, done.removed) == ("memory", {"memories": 1})
    assert store.memories.by_id(["m"]) == {}
    assert store.memories.by_id(["n"])["n"].metadata == {"conflicts": conflicts[1:]}
    assert searched(store, "zyzzyva") == 0
    assert SECRET not in everything(store, "t")
    forget(store)


def test_a_memory_that_is_not_seen_is_not_purged(store: Store):
    remember(store, "m", "stays", session="t", scope="session")
    remember(store, "a", "stays", scope="agent", agent="other")
    assert purge(store, Aim("memory", "s", "m", "main"), Aim("memory", "s", "a", "main")) is None
    assert set(store.memories.by_id(["m", "a"])) == {"m", "a"}


def test_documents_below_a_path_are_gone_in_every_version(store: Store):
    def act(change: Any) -> None:
        for path in (("a",), ("a", "b"), ("ab",)):
            change.put("k", Document(path, {}, b"stays" if path == ("ab",) else SECRET.encode()))
        change.put("k", Document(("a",), {}, f"{SECRET} again".encode()))

    store.change_documents("s", act, at_ms=1, payload={})
    store.change_documents("s", lambda change: change.close(change.under("k", ("a",))[:1]), at_ms=1, payload={})
    store.change_documents("t", lambda change: change.put("k", Document(("a",), {}, b"theirs")), at_ms=1, payload={})
    done = purge(store, Aim("document", "s", path=("a",)))
    assert done is not None
    assert done.kind == "document"
    assert done.removed["documents"] in (2, 3)  # a version that its own change wrote over counts, or was never kept
    with store.documents("s") as kept:
        assert [one.path for one in kept.under("k")] == [("ab",)]
    with store.documents("t") as theirs:
        assert [one.content for one in theirs.under("k")] == [b"theirs"]
    forget(store)


def test_of_a_session_nothing_is_left_but_that_something_was_done(store: Store):
    fill(store, "s", SECRET)
    fill(store, "t", "stays")
    done = purge(store, Aim("session", "s"))
    assert done is not None
    assert done.removed == {
        "originals": 3, "decisions": 1, "tasks": 1, "tags": 1, "memories": 1, "documents": 1, "facts": 1, "run_records": 1,
    }  # fmt: skip
    assert (store.pins("s"), store.decided("s"), store.tasks("s").by_id, store.facts("s")) == ((), (), {}, ())
    assert (store.buffer("s"), store.run_records("s"), store.find_marks(["mark of s"])) == ((), {}, ())
    assert store.facts_state("s") == (0, 1)
    assert [row.kind for row in store.operations("s")] == ["turn", "documents", "purge"]
    assert [row.payload for row in store.operations("s")][:2] == [None, None]
    assert [(row.session_id, row.originals, row.decisions) for row in store.sessions()] == [("s", 0, 0), ("t", 3, 1)]
    assert (len(store.pins("t")), len(store.decided("t")), len(store.facts("t")), len(store.run_records("t"))) == (
        1,
    ) * 4
    assert [one.id for one in store.memories.seen(Viewer("main", "t"))] == ["m of t"]
    assert searched(store, "zyzzyva") == 0
    assert len(store.find_marks(["mark of t"])) == 1
    left = store.clean(done)
    assert (left.files, left.copies) == ((), ())
    forget(store)


def test_what_another_session_said_of_a_memory_takes_its_place(store: Store):
    said = {"content": "stays here", "session_id": "t"}

    def heir(entry: MemoryEntry) -> tuple[MemoryEntry, MemoryLine] | None:
        if entry.metadata["restated"] != [said]:
            return None
        new = replace(entry, id=heir_id(entry.id), content="stays here", session_id="t", metadata={})
        return new, MemoryLine(new.id, new.content)

    claimed = [{"content": SECRET, "session_id": "t"}, 5]
    remember(store, "m", SECRET, metadata={"restated": claimed})
    one = store.memories.by_id(["m"])["m"]
    update = MemoryUpdate(one, replace(one, metadata={"restated": [*claimed, said]}))
    commit(store, "t", "remember", at_ms=1, memories=[update])
    remember(store, "n", f"{SECRET} alone")
    remember(store, "b", "before", session="t", contradicted_by_entry_id="m", contradiction_rule="port")
    remember(
        store, "a", "again", session="t", contradicted_by_entry_id="n", contradiction_rule="restated", valid_to_ms=9
    )
    done = store.purge([Aim("session", "s")], blank, at_ms=7, heir=heir)
    assert done is not None
    assert done.removed == {"memories": 2}
    found = {one.id: one for one in store.memories.seen(None)}
    assert set(found) == {heir_id("m"), "a", "b"}
    assert (found[heir_id("m")].content, found["b"].contradicted_by_entry_id) == ("stays here", heir_id("m"))
    assert (found["a"].is_contradicted, found["a"].valid_to_ms) == (False, None)
    assert (searched(store, "zyzzyva"), searched(store, "stays")) == (0, 1)
    assert (store.clean(done).files, SECRET in everything(store)) == ((), False)
    newest = store.operations("t")[-1].seq
    store.rewind(Context(Scope("t"), 9), 0, "rewind", payload={"to": 0})
    assert store.memories.seen(None) == []
    store.rewind(Context(Scope("t"), 9), newest, "undo", payload={"to": newest})
    assert {one.id for one in store.memories.seen(None)} == set(found)
    assert store.integrity() == ()


def fill(store: Store, session: str, text: str) -> None:
    left, pin, kept = (
        original(name, text, session=session, source=source)
        for name, source in (("left", "window"), ("pin", "pin"), ("kept", "buffer"))
    )
    fact = FactVersion(1, SessionFact("f", text, "is", text, (), 1, run_id=session))
    name = f"m of {session}"
    commit(
        store, session, "turn", at_ms=1, payload={"label": text}, originals=[left, pin, kept], decisions=[prune(left)],
        tasks=[TaskUpdate(None, Task("a", text))], tags=[Tag("c", "a", 0)], facts=[FactChange(None, fact)],
        run=[RunChange("run", None, {"prompt": text})],
        memories=[MemoryUpdate(None, memory(name, text, session_id=session))], lines=[MemoryLines([MemoryLine(name, text)])],
    )  # fmt: skip
    store.change_documents(
        session, lambda change: change.put("k", Document(("a",), {}, text.encode())), at_ms=2, payload={}
    )
    store.add_marks(session, [Mark(f"mark of {session}", "turn")])


def test_the_same_purge_again_removes_nothing_and_what_never_was_is_none(store: Store):
    one = original("e", SECRET)
    add(store, one)
    assert purge(store, Aim("original", "s", "unknown")) is None
    assert [row.kind for row in store.operations("s")] == ["add"]
    assert purge(store, Aim("memory", "s", one.ref), Aim("original", "s", one.ref))
    again = purge(store, Aim("original", "s", one.ref))
    assert again is not None
    assert (again.removed, store.clean(again).copies) == ({}, ())
    assert purge(store, Aim("original", "t", one.ref)) is None
    assert {row.kind for row in store.operations("s")} == {"add", "purge"}


def test_of_several_aims_the_first_that_names_anything_counts(store: Store):
    remember(store, "e", "a memory")
    add(store, original("e", "an original"))
    done = purge(store, Aim("task", "s", "e"), Aim("memory", "s", "e"), Aim("original", "s", "e"))
    assert done is not None
    assert done.kind == "memory"
    assert store.by_entry("s", "e").entry.content == "an original"


def test_who_holds_the_same_words_is_named_and_stays(store: Store):
    words = f"the password is {SECRET} for all"
    one, other = original("e", words), original("f", words)
    add(store, one, other)
    done = purge(store, Aim("original", "s", "e"))
    assert done is not None
    assert store.clean(done).copies == (f"original {other.ref}",)
    assert store.original(other.ref) == other


def test_what_is_purged_can_be_written_again(store: Store):
    one = original("e", SECRET)
    commit(store, "s", "turn", at_ms=1, originals=[one], decisions=[prune(one)])
    purge(store, Aim("original", "s", "e"))
    add(store, one)
    assert store.original(one.ref) == one
    assert [hit.entry_id for hit in store.find(SECRET)] == ["e"]


@pytest.mark.parametrize("hostile", HOSTILE_IDS)
def test_hostile_ids_are_only_names(store: Store, hostile: str):
    one = replace(original("e", SECRET, session=hostile), ref=hostile)
    mine = memory(f"m{hostile}", f"{SECRET} {hostile}", session_id=hostile, source=f"task:{hostile}")
    evicted = Decision("e", "evicted", "why", 1, hostile, {"task": hostile})
    of_call = original("f", SECRET, session=hostile, metadata={"pair_id": hostile})
    commit(
        store, hostile, "turn", at_ms=1, originals=[one, of_call], decisions=[evicted],
        tasks=[TaskUpdate(None, Task(hostile, f"{SECRET} {hostile}"))], tags=[Tag(hostile, hostile, 0)],
        memories=[MemoryUpdate(None, mine)], lines=[MemoryLines([MemoryLine(mine.id, SECRET)])],
    )  # fmt: skip
    add(store, original("e", "stays", session="other"))
    done = purge(store, Aim("task", hostile, hostile))
    assert done is not None
    assert done.removed == {"originals": 2, "memories": 1, "tasks": 1, "tags": 1}
    assert SECRET not in everything(store, hostile)
    assert searched(store, "zyzzyva") == 0
    assert store.by_entry("other", "e").entry.content == "stays"
    assert store.integrity() == ()
