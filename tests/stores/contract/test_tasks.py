"""Tasks and tags: versions, one commit with all else, and no change lost between two that write."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.stores.builders import Opener, add, commit, original, prune
from tests.stores.contract.hostile import HOSTILE_IDS
from undrift.core.tasks.life import TaskChange, annotate, change, change_many, completions, current, tag
from undrift.errors import InputError, RecallError, StoreError
from undrift.stores.contract import Store
from undrift.values.window import Moment, Tag, Task, Tasks, TaskUpdate

DONE = "the parser reads all four forms now"


def taken_up(tasks: Tasks, task_id: str, *, agent: str = "main", **fields: Any) -> TaskChange:
    given = {"content": f"do {task_id}", "status": "in_progress", **fields}
    return change(tasks, task_id, agent, given, Moment(f"m{len(tasks.tags)}", len(tasks.tags)))


def completed(tasks: Tasks, task_id: str) -> TaskChange:
    return change(tasks, task_id, "main", {"status": "completed", "result_summary": DONE}, Moment("end", 99))


def write(store: Store, done: TaskChange, *tags: Tag, session: str = "s") -> Tasks:
    commit(store, session, "task", at_ms=1, tasks=done.updates, tags=tags)
    return store.tasks(session)


def test_tasks_come_back_as_they_were_given(open_store: Opener, store: Store, home: Path):
    """AX-5, and a restart: a task that is open goes on where it was."""
    made = taken_up(
        Tasks(), "a", acceptance_criteria=["é", "two"], grounding={"strategy": "pgc_cite", "hints": [1, None]}
    )
    tasks = write(store, made)
    assert tasks.by_id == {"a": replace(made.tasks.by_id["a"], ordinal=1)}
    tagged, tags = tag(tasks, "main", [("c1", "bash"), ("c2", "bash")])
    commit(store, "s", "tag", at_ms=2, tags=tags)
    store.close()
    with open_store(home) as again:
        assert again.tasks("s") == tagged
        assert current(again.tasks("s")) == tagged.by_id["a"]
        done = completed(again.tasks("s"), "a")
        judged = annotate(done.tasks, "a", f"{DONE}, all met", {"score": 1.0})
        commit(again, "s", "task", at_ms=3, tasks=[TaskUpdate(tagged.by_id["a"], judged.tasks.by_id["a"])])
        assert again.tasks("s") == judged.tasks
        assert completions(again.tasks("s"), "a")[0].call_ids == ("c1", "c2")
        assert again.tasks("t") == Tasks()
        assert again.integrity() == ()


def test_the_store_numbers_tasks_when_they_are_first_taken_up(store: Store):
    """AX-5"""
    tasks = Tasks()
    for name in ("x", "y", "z"):
        tasks = write(store, change(tasks, name, "main", {"content": "c"}, Moment("")))
    assert [task.ordinal for task in tasks.by_id.values()] == [0, 0, 0]
    tasks = write(store, taken_up(tasks, "z"))
    tasks = write(store, taken_up(tasks, "x", agent="other"))
    tasks = write(store, completed(tasks, "z"))
    tasks = write(store, taken_up(tasks, "z"))
    assert {one.id: one.ordinal for one in tasks.by_id.values()} == {"x": 2, "y": 0, "z": 1}
    assert write(store, taken_up(Tasks(), "z"), session="t").by_id["z"].ordinal == 1


def test_tasks_stand_in_the_order_in_which_they_were_made(store: Store):
    tasks = Tasks()
    for name in ("z", "a", "m"):
        tasks = write(store, change(tasks, name, "main", {"content": "c"}, Moment("")))
    tasks = write(store, change(tasks, "z", "main", {"content": "other"}, Moment("")))
    assert list(tasks.by_id) == ["z", "a", "m"]


def test_the_same_change_again_is_a_no_op(store: Store):
    """A commit whose answer got lost is simply made again."""
    made = taken_up(Tasks(), "a")
    tags = (Tag("c", "a", 0),)
    tasks = write(store, made, *tags)
    for _ in range(2):
        assert write(store, made, *tags) == tasks
    assert tasks.tags == {"c": tags[0]}
    done = completed(tasks, "a")
    assert write(store, done) == write(store, done)


def test_a_task_that_ends_and_one_that_begins_fit_in_one_commit(store: Store):
    """A3-1"""
    tasks = write(store, taken_up(Tasks(), "a"))
    updates = [
        {"id": "b", "content": "x", "status": "in_progress"},
        {"id": "a", "status": "completed", "result_summary": DONE},
    ]
    both = change_many(tasks, "main", updates, Moment("m"))
    for order in (both.updates, both.updates[::-1]):
        commit(store, "s", "task", at_ms=1, tasks=order)
    assert current(store.tasks("s")).id == "b"  # type: ignore[union-attr]


@pytest.mark.parametrize("made_by_other", ["content", "completed", "new"])
def test_what_another_process_changed_meanwhile_is_not_overwritten(
    open_store: Opener, store: Store, home: Path, made_by_other: str
):
    known = write(store, taken_up(Tasks(), "a")) if made_by_other != "new" else Tasks()
    with open_store(home) as other:
        if made_by_other == "completed":
            theirs = write(other, completed(known, "a"))
        else:
            theirs = write(other, taken_up(known, "a", content="theirs"))
    mine = taken_up(known, "a", content="mine")
    with pytest.raises(StoreError, match=r"'a': it was changed meanwhile.*Read the session's tasks again"):
        write(store, mine)
    assert store.tasks("s") == theirs
    if made_by_other != "completed":
        assert write(store, taken_up(theirs, "a", content="mine")).by_id["a"].content == "mine"


def test_a_change_of_a_task_that_is_not_there_is_refused(store: Store):
    tasks = taken_up(Tasks(), "a").tasks
    with pytest.raises(StoreError, match="changed meanwhile"):
        write(store, completed(tasks, "a"))
    assert store.sessions() == ()


def test_an_agent_works_on_one_task_whatever_two_processes_think(open_store: Opener, store: Store, home: Path):
    """A3-1"""
    mine, theirs = taken_up(Tasks(), "a"), taken_up(Tasks(), "b")
    with open_store(home) as other:
        write(other, theirs)
    with pytest.raises(StoreError, match=r"'main' works on another task.*Read the session's tasks again"):
        write(store, mine)
    assert set(store.tasks("s").by_id) == {"b"}
    tasks = write(store, taken_up(Tasks(), "c", agent="second"))
    assert tasks.by_id["c"].ordinal == 2
    write(store, taken_up(Tasks(), "a"), session="t")
    assert store.integrity() == ()


def test_a_tag_stays(open_store: Opener, store: Store, home: Path):
    """A3-4"""
    tasks = write(store, taken_up(taken_up(Tasks(), "a").tasks, "b", agent="other"))
    tasks = write(store, taken_up(Tasks(), "a"), Tag("c", "a", 0))
    for other in (Tag("c", "b", 0), Tag("c", "a", 1)):
        with pytest.raises(StoreError, match="'c': it has another tag, and keeps it"):
            commit(store, "s", "tag", at_ms=1, tags=[Tag("d", "a", 0), other])
    assert store.tasks("s") == tasks
    with pytest.raises(StoreError, match="no task 'nowhere'"):
        commit(store, "s", "tag", at_ms=1, tags=[Tag("d", "nowhere", 0)])
    with pytest.raises(StoreError, match="no task 'a'"):
        commit(store, "t", "tag", at_ms=1, tags=[Tag("d", "a", 0)])
    assert len(store.operations("s")) == 2


def test_tasks_tags_originals_and_decisions_are_written_together_or_not_at_all(store: Store):
    """A3-5: a completion and what leaves with it are one transaction."""
    tasks = write(store, taken_up(Tasks(), "a"), Tag("c", "a", 0))
    log, stored = original("log"), original("stored")
    add(store, stored, prune_them=True)
    before = (store.tasks("s"), store.operations("s"), store.decisions("s"))
    everything: dict[str, Any] = {"tasks": completed(tasks, "a").updates, "originals": [log], "decisions": [prune(log)]}
    for bad in (
        {"decisions": [prune(log), prune(stored, reason="another")]},
        {"tags": [Tag("c", "a", 5)]},
        {"tasks": (*everything["tasks"], TaskUpdate(Task("b"), Task("b", "x")))},
    ):
        with pytest.raises(StoreError):
            commit(store, "s", "evict", at_ms=2, **everything | bad)
        assert (store.tasks("s"), store.operations("s"), store.decisions("s")) == before
        with pytest.raises(RecallError):
            store.original(log.ref)
    commit(store, "s", "evict", at_ms=2, **everything)
    assert store.tasks("s").by_id["a"].status == "completed"
    assert store.original(log.ref) == log


def test_updates_that_cannot_be_stored_are_the_callers_mistake(store: Store):
    one = Task("a", "x")
    for bad in (
        [TaskUpdate(None, one), TaskUpdate(None, one)],
        [TaskUpdate(Task("b"), one)],
        [TaskUpdate(None, replace(one, grounding={"a": {1}}))],
        [TaskUpdate(None, replace(one, ordinal=2**63))],
    ):
        with pytest.raises(InputError, match="task 'a'"):
            commit(store, "s", "task", at_ms=1, tasks=bad)
    with pytest.raises(InputError, match="tag of call 'c'"):
        commit(store, "s", "task", at_ms=1, tags=[Tag("c", "a", True)])
    assert store.sessions() == ()


@pytest.mark.parametrize("hostile", HOSTILE_IDS)
def test_hostile_ids_are_only_names(store: Store, hostile: str):
    """A3-4"""
    made = taken_up(Tasks(), hostile, agent=hostile, content=f"x{hostile}", acceptance_criteria=[f"x{hostile}"])
    tasks = write(store, made, Tag(hostile, hostile, 0), session=hostile)
    assert tasks.by_id == {hostile: replace(made.tasks.by_id[hostile], ordinal=1)}
    assert tasks.tags == {hostile: Tag(hostile, hostile, 0)}
    assert store.integrity() == ()


def test_hostile_ids_do_not_collide(store: Store):
    tasks = Tasks()
    for name in HOSTILE_IDS:
        tasks = write(store, taken_up(tasks, name, agent=name), Tag(name, name, 0))
    assert list(tasks.by_id) == list(tasks.tags) == list(dict.fromkeys(HOSTILE_IDS))
    assert all(one.task_id == name for name, one in tasks.tags.items())
