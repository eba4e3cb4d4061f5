"""The life of tasks: what each change allows, what a completion lets go, and what an error tells the agent to do."""

from typing import Any

import pytest

from undrift.core.agent_rules import MIN_SUMMARY_CHARACTERS
from undrift.core.tasks.life import (
    TaskChange,
    annotate,
    change,
    change_many,
    completions,
    current,
    open_segments,
    tag,
    untagged,
)
from undrift.errors import InputError, SummaryRejected, TaskError
from undrift.values.window import TASK_STATUSES, Moment, Segment, Tag, Task, Tasks, TaskUpdate

DONE = "the parser reads all four forms now"
NONE = Tasks()


def at(number: int) -> Moment:
    return Moment(f"m{number}", number)


def changed(tasks: Tasks, task_id: str, number: int = 0, *, agent: str = "main", stack: bool = False, **fields: Any):
    return change(tasks, task_id, agent, {"content": f"do {task_id}", **fields}, at(number), stack=stack)


def started(tasks: Tasks = NONE, task_id: str = "a", number: int = 1, **fields: Any) -> Tasks:
    return changed(tasks, task_id, number, status="in_progress", **fields).tasks


def completed(tasks: Tasks, task_id: str = "a", number: int = 5, **fields: Any) -> TaskChange:
    return change(tasks, task_id, "main", {"status": "completed", "result_summary": DONE, **fields}, at(number))


def called(tasks: Tasks, *call_ids: str, agent: str = "main") -> Tasks:
    return tag(tasks, agent, [(one, "bash") for one in call_ids])[0]


# --------------------------------------------------------------------------------------------------------- a plain life


def test_a_task_is_made_taken_up_and_completed():
    """R3-03, R3-16: its segment lies between both ends, and the completion lets go of it and of the calls in it."""
    made = changed(NONE, "a", active_form="Doing a", acceptance_criteria=["tests pass"], phase_index=2)
    (task,) = made.tasks.by_id.values()
    assert (task.status, task.segments, task.depth, task.ordinal) == ("pending", (), 0, 0)
    assert (task.active_form, task.acceptance_criteria, task.phase_index) == ("Doing a", ("tests pass",), 2)
    assert made.updates == (TaskUpdate(None, task),)
    taken = changed(made.tasks, "a", 3, status="in_progress")
    assert taken.opened == {"a": Segment(at(3))}
    assert (taken.closed, taken.completed) == ({}, ())
    done = completed(called(taken.tasks, "c1", "c2"), number=7)
    segment = Segment(at(3), at(7), "completed", DONE)
    assert (done.closed, done.opened, done.completed) == ({"a": segment}, {}, ("a",))
    assert done.tasks.by_id["a"].result_summary == done.tasks.by_id["a"].annotated_summary == DONE
    (completion,) = completions(done.tasks, "a")
    assert (completion.segments, completion.call_ids, completion.summary) == ((segment,), ("c1", "c2"), DONE)
    assert current(done.tasks) is None


def test_what_went_in_is_never_changed():
    before = called(started(), "c")
    kept = (dict(before.by_id), dict(before.tags))
    completed(before)
    called(before, "d")
    with pytest.raises(TaskError):
        started(before, "b")
    assert (before.by_id, before.tags) == kept


def test_there_are_exactly_five_statuses():
    """A3-22"""
    assert sorted(TASK_STATUSES) == ["cancelled", "completed", "delegated", "in_progress", "pending"]


def test_what_is_missing_or_none_keeps_its_stored_value():
    """A3-9, A3-22: criteria that the completing call leaves out are still what it is measured against."""
    tasks = started(acceptance_criteria=["tests pass"], grounding={"strategy": "pgc_cite"}, phase_index=1)
    done = completed(tasks, acceptance_criteria=None, grounding_evidence={"citations": [{"overlay": "o"}]})
    task = done.tasks.by_id["a"]
    assert (task.acceptance_criteria, task.grounding, task.phase_index) == (
        ("tests pass",),
        {"strategy": "pgc_cite"},
        1,
    )
    assert task.grounding_evidence == {"citations": [{"overlay": "o"}]}
    assert task.content == "do a"


def test_completing_does_not_empty_the_criteria():
    """A3-9"""
    done = completed(started(acceptance_criteria=["tests pass"]), acceptance_criteria=[])
    assert done.tasks.by_id["a"].acceptance_criteria == ("tests pass",)
    assert "criteria stay" in done.notes[0]
    emptied = changed(started(acceptance_criteria=["tests pass"]), "a", acceptance_criteria=[])
    assert emptied.tasks.by_id["a"].acceptance_criteria == ()


def test_other_tasks_stay_where_they_are():
    """A3-22: a partial update merges by id and replaces no list."""
    tasks = changed(changed(NONE, "a").tasks, "b").tasks
    later = changed(tasks, "a", content="other")
    assert list(later.tasks.by_id) == ["a", "b"]
    assert later.tasks.by_id["b"] is tasks.by_id["b"]
    assert [update.after.id for update in later.updates] == ["a"]


def test_the_same_again_changes_nothing():
    tasks = started(number=3)
    again = changed(tasks, "a", 9, status="in_progress")
    assert (again.updates, again.opened, again.closed) == ((), {}, {})
    assert again.tasks is tasks


# ------------------------------------------------------------------------------------------------------ distil or die


@pytest.mark.parametrize("summary", [None, "", "done", " " * 40, " \n" + "x" * (MIN_SUMMARY_CHARACTERS - 1) + "\t "])
def test_a_completion_without_a_summary_of_fifteen_characters_is_rejected(summary: str | None):
    """R3-16, A3-11"""
    tasks = started()
    with pytest.raises(SummaryRejected, match=r"'a'.*at least 15.*Complete it again with a summary of") as raised:
        completed(tasks, result_summary=summary)
    assert str(len((summary or "").strip())) + " characters" in str(raised.value)
    assert isinstance(raised.value, TaskError)
    assert isinstance(raised.value, InputError)
    assert current(tasks) is tasks.by_id["a"]


def test_fifteen_characters_are_enough_and_are_kept_as_given():
    """R3-16, A3-11"""
    given = f"  {'x' * MIN_SUMMARY_CHARACTERS}\n"
    assert MIN_SUMMARY_CHARACTERS == 15
    assert completed(started(), result_summary=given).tasks.by_id["a"].result_summary == given


def test_a_summary_that_was_given_before_counts():
    tasks = changed(started(), "a", result_summary=DONE).tasks
    assert completed(tasks, result_summary=None).completed == ("a",)


def test_a_second_completion_with_the_same_summary_is_a_no_op_that_says_so():
    done = completed(started()).tasks
    for again in (completed(done, number=9), completed(done, result_summary=None), completed(done, content="x")):
        assert (again.tasks, again.updates, again.completed, again.closed) == (done, (), (), {})
        assert "completed already" in again.notes[0]


@pytest.mark.parametrize("status", ["completed", None])
def test_a_second_completion_with_another_summary_is_refused(status: str | None):
    done = completed(started()).tasks
    with pytest.raises(TaskError, match=r"another summary.*in_progress to reopen"):
        completed(done, status=status, result_summary="something else altogether")


@pytest.mark.parametrize("status", ["pending", "cancelled", "delegated"])
def test_a_completed_task_becomes_nothing_else_but_can_be_reopened(status: str):
    with pytest.raises(TaskError, match=r"completed and cannot become.*in_progress to reopen"):
        changed(completed(started()).tasks, "a", status=status)


def test_a_verdict_stands_in_the_summary_of_its_completion():
    """R3-15, A3-8"""
    done = completed(started()).tasks
    judged = annotate(done, "a", f"{DONE}\n\nall met", {"score": 1.0, "missing": ()})
    task = judged.tasks.by_id["a"]
    assert (task.result_summary, task.annotated_summary) == (DONE, f"{DONE}\n\nall met")
    assert task.validation == {"score": 1.0, "missing": []}
    assert completions(judged.tasks, "a")[0].summary == f"{DONE}\n\nall met"
    assert judged.updates == (TaskUpdate(done.by_id["a"], task),)
    assert annotate(judged.tasks, "a", f"{DONE}\n\nall met", {"score": 1.0, "missing": []}).updates == ()
    again = completed(judged.tasks)
    assert "completed already" in again.notes[0]
    for unfinished in (NONE, started()):
        with pytest.raises(TaskError, match="not completed"):
            annotate(unfinished, "a", "x", None)


# ------------------------------------------------------------------------------------------ one at a time, and stacked


def test_a_second_task_in_progress_is_refused_with_a_way_out():
    """A3-1"""
    with pytest.raises(TaskError, match=r"'a' is in progress. Complete 'a' with a result_summary, or cancel it.*stack"):
        started(started(), "b")


def test_each_agent_has_one_of_its_own():
    """A3-1"""
    tasks = started(started(), "b", 2, agent="other")
    assert [current(tasks, agent).id for agent in ("main", "other")] == ["a", "b"]  # type: ignore[union-attr]
    assert open_segments(tasks, besides="a") == (Segment(at(2)),)
    assert open_segments(tasks) == (Segment(at(1)), Segment(at(2)))
    assert current(tasks, "third") is None


def test_a_call_that_completes_one_and_starts_another_is_worked_through_completed_first():
    """A3-1"""
    tasks = changed(started(), "b").tasks
    updates = [{"id": "b", "status": "in_progress"}, {"id": "a", "status": "completed", "result_summary": DONE}]
    both = change_many(tasks, "main", updates, at(4))
    assert both.closed == {"a": Segment(at(1), at(4), "completed", DONE)}
    assert both.opened == {"b": Segment(at(4))}
    assert current(both.tasks).id == "b"  # type: ignore[union-attr]


def test_a_call_is_taken_whole_or_not_at_all():
    updates = [{"id": "a", "status": "completed", "result_summary": DONE}, {"id": "nowhere", "status": "completed"}]
    with pytest.raises(TaskError, match="nowhere"):
        change_many(started(), "main", updates, at(4))
    with pytest.raises(TaskError, match="twice"):
        change_many(NONE, "main", [{"id": "a", "content": "x"}, {"id": "a", "content": "y"}], at(4))


def test_a_stacked_task_rests_what_is_under_it_and_gives_way_to_it_when_it_ends():
    """A3-1"""
    tasks = called(started(), "c1")
    pushed = changed(tasks, "b", 3, status="in_progress", stack=True)
    assert pushed.closed == {"a": Segment(at(1), at(3), "stacked")}
    assert pushed.opened == {"b": Segment(at(3))}
    tasks = called(pushed.tasks, "c2")
    assert tasks.by_id["a"].status == tasks.by_id["b"].status == "in_progress"
    ended = completed(tasks, "b", 6)
    assert ended.opened == {"a": Segment(at(6))}
    assert completions(ended.tasks, "b")[0].call_ids == ("c2",)
    done = completed(called(ended.tasks, "c3"), "a", 9).tasks
    (outer,) = completions(done, "a")
    assert [(one.start.number, one.end and one.end.number) for one in outer.segments] == [(1, 3), (6, 9)]
    assert outer.call_ids == ("c1", "c3")


def test_what_rests_under_another_task_can_be_ended():
    tasks = started(started(started(), "b", 2, stack=True), "c", 3, stack=True)
    done = completed(tasks, "b", 4)
    assert completions(done.tasks, "b")[0].segments == (Segment(at(2), at(3), "completed", DONE),)
    assert (done.closed, done.opened) == ({}, {})
    assert current(done.tasks).id == "c"  # type: ignore[union-attr]
    ended = changed(done.tasks, "c", 5, status="cancelled")
    assert ended.opened == {"a": Segment(at(5))}


def test_a_resting_task_comes_to_the_top_again_only_in_stack_mode():
    tasks = started(started(), "b", 2, stack=True)
    with pytest.raises(TaskError, match="'b' is in progress"):
        started(tasks, "a", 3)
    swapped = changed(tasks, "a", 3, status="in_progress", stack=True)
    assert swapped.opened == {"a": Segment(at(3))}
    assert completed(swapped.tasks, "a", 4).opened == {"b": Segment(at(4))}


def test_a_call_that_ends_the_inner_and_pushes_another_does_not_wake_the_outer_in_between():
    tasks = started(started(), "b", 2, stack=True)
    updates = [
        {"id": "c", "content": "x", "status": "in_progress"},
        {"id": "b", "status": "completed", "result_summary": DONE},
    ]
    both = change_many(tasks, "main", updates, at(5), stack=True)
    assert set(both.opened) == {"c"}
    assert both.tasks.by_id["a"].segments == (Segment(at(1), at(2), "stacked"),)


# ---------------------------------------------------------------------------- reopened, paused, given up, given away


def test_the_second_completion_of_a_reopened_task_concerns_only_what_came_since():
    """A3-2: what others did in between is never in it, and the first summary stays where it stands."""
    first = called(completed(called(started(), "c1")).tasks, "between")
    reopened = changed(first, "a", 8, status="in_progress")
    assert "reopened" in reopened.notes[0]
    assert reopened.opened == {"a": Segment(at(8))}
    with pytest.raises(SummaryRejected):
        completed(reopened.tasks, result_summary=None)
    done = completed(called(reopened.tasks, "c2"), number=11, result_summary="the fifth form as well").tasks
    one, two = completions(done, "a")
    assert (one.call_ids, one.summary) == (("c1",), DONE)
    assert (two.call_ids, two.summary) == (("c2",), "the fifth form as well")
    assert [(s.start.number, s.end and s.end.number) for s in two.segments] == [(8, 11)]
    assert untagged(done, ["c1", "between", "c2"]) == ("between",)


def test_a_paused_task_is_evicted_with_all_its_segments_when_it_is_completed():
    paused = changed(called(started(), "c1"), "a", 3, status="pending")
    assert paused.closed == {"a": Segment(at(1), at(3), "pending")}
    assert (paused.completed, completions(paused.tasks, "a")) == ((), ())
    (at_once,) = completions(completed(paused.tasks).tasks, "a")
    assert at_once.segments == (Segment(at(1), at(3), "completed", DONE),)
    (later,) = completions(completed(called(started(paused.tasks, "a", 6), "c2"), number=9).tasks, "a")
    assert [one.ended for one in later.segments] == ["pending", "completed"]
    assert later.call_ids == ("c1", "c2")


@pytest.mark.parametrize("status", ["cancelled", "delegated"])
@pytest.mark.parametrize("before", ["in_progress", "pending"])
def test_what_was_given_up_or_away_is_never_evicted(status: str, before: str):
    """A3-21"""
    given_away: dict[str, Any] = {"acceptance_criteria": ["tests pass"], "delegated_to": "reviewer"}
    tasks = changed(called(started(), "c1"), "a", 2, status=before).tasks
    left = changed(tasks, "a", 3, status=status, **given_away)
    assert left.tasks.by_id["a"].segments[-1].ended == status
    assert (left.completed, completions(left.tasks, "a")) == ((), ())
    done = completed(called(started(left.tasks, "a", 6), "c2"), number=9).tasks
    (completion,) = completions(done, "a")
    assert completion.call_ids == ("c2",)


@pytest.mark.parametrize("missing", ["acceptance_criteria", "delegated_to"])
def test_delegating_needs_criteria_and_somebody(missing: str):
    """A3-22"""
    fields: dict[str, Any] = {"acceptance_criteria": ["tests pass"], "delegated_to": "reviewer"}
    with pytest.raises(TaskError, match=f"without {missing}: say who"):
        changed(started(), "a", status="delegated", **{name: v for name, v in fields.items() if name != missing})
    given = changed(NONE, "a", status="delegated", **fields).tasks
    assert (given.by_id["a"].status, given.by_id["a"].segments) == ("delegated", ())
    with pytest.raises(TaskError, match="without"):
        changed(given, "a", **{missing: type(fields[missing])()})
    assert completed(given).completed == ("a",)


def test_what_was_never_worked_on_completes_and_lets_nothing_go():
    done = completed(changed(NONE, "a").tasks)
    assert (done.completed, completions(done.tasks, "a"), done.closed) == (("a",), (), {})
    assert annotate(done.tasks, "a", "judged", None).tasks.by_id["a"].annotated_summary == "judged"


def test_a_cancelled_task_is_taken_up_before_it_is_completed():
    left = changed(started(), "a", status="cancelled").tasks
    with pytest.raises(TaskError, match="in_progress to start it again"):
        completed(left)
    assert changed(left, "a", status="pending").tasks.by_id["a"].status == "pending"


# ------------------------------------------------------------------------------------------------------- two agents


@pytest.mark.parametrize("status", ["completed", "in_progress", "pending", "delegated"])
def test_a_task_of_another_agent_is_left_to_it(status: str):
    """A3-1"""
    tasks = started(agent="other")
    with pytest.raises(TaskError, match="in progress with agent 'other': let that agent end it, cancel it if"):
        changed(tasks, "a", status=status, result_summary=DONE, delegated_to="x", acceptance_criteria=["y"])


def test_anybody_can_cancel_a_task_whose_agent_is_gone():
    tasks = started(started(agent="other"), "b", 2, agent="other", stack=True)
    left = changed(tasks, "b", 5, status="cancelled")
    assert left.tasks.by_id["b"].segments[-1].ended == "cancelled"
    assert left.opened == {"a": Segment(at(5))}
    assert current(left.tasks, "other").id == "a"  # type: ignore[union-attr]


def test_a_task_that_rests_can_be_taken_over():
    tasks = changed(started(agent="other"), "a", 2, agent="other", status="pending").tasks
    taken = started(tasks, "a", 3)
    assert taken.by_id["a"].agent == "main"
    assert current(taken, "other") is None


# ------------------------------------------------------------------------------------------------------------- tags


def test_calls_belong_to_the_task_that_is_worked_on():
    """R3-04, A3-3: what came before any task belongs to none, and is counted."""
    tasks = called(NONE, "early")
    assert tasks is NONE
    tasks, new = tag(started(), "main", [("c1", "bash"), ("c2", "read")])
    assert new == (Tag("c1", "a", 0), Tag("c2", "a", 0))
    assert untagged(tasks, ["early", "c1", "c2"]) == ("early",)
    assert tag(tasks, "other", [("c3", "bash")]) == (tasks, ())


def test_a_call_keeps_its_first_tag():
    """A3-4: a client sends its whole history again on every turn."""
    tasks = started(completed(called(started(), "c1")).tasks, "b", 6)
    again, new = tag(tasks, "main", [("c1", "bash"), ("c2", "bash"), ("c2", "bash")])
    assert new == (Tag("c2", "b", 0),)
    assert again.tags["c1"].task_id == "a"


def test_the_task_tools_own_calls_are_never_tagged():
    """A3-18"""
    calls = [("c1", "task_update"), ("c2", "bash")]
    tasks, new = tag(started(), "main", calls, task_tools={"task_update"})
    assert [one.call_id for one in new] == ["c2"]
    assert untagged(tasks, ["c1"]) == ("c1",)


def test_a_paused_agent_tags_nothing():
    assert called(changed(started(), "a", status="pending").tasks, "c").tags == {}


# ---------------------------------------------------------------------------------------------- what agents get wrong


@pytest.mark.parametrize("status", ["completed", "cancelled"])
def test_an_unknown_id_is_answered_with_those_that_are_open(status: str):
    tasks = changed(completed(started()).tasks, "b").tasks
    tasks = changed(started(tasks, "c"), "d").tasks
    tasks = changed(tasks, "d", status="cancelled").tasks
    with pytest.raises(TaskError, match=r"no task 'x': open are 'b', 'c'. Use the id of one of them"):
        change(tasks, "x", "main", {"status": status, "result_summary": DONE}, at(1))
    with pytest.raises(TaskError, match="no task is open"):
        change(NONE, "x", "main", {"status": status}, at(1))


@pytest.mark.parametrize("status", [None, "pending", "in_progress", "delegated"])
def test_a_new_task_says_what_is_to_be_done(status: str | None):
    for content in (None, " "):
        with pytest.raises(TaskError, match="or give content, what is to be done, to make a new task"):
            change(NONE, "x", "main", {"status": status, "content": content}, at(1))


def test_many_open_tasks_are_not_all_listed():
    tasks = NONE
    for n in range(40):
        tasks = changed(tasks, f"t{n}").tasks
    with pytest.raises(TaskError, match=r"'t30'.*'t39' and 30 more") as raised:
        completed(tasks, "x")
    assert len(str(raised.value)) < 500


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"status": "failed"}, "A task that failed is cancelled"),
        ({"status": "done"}, "one of pending, in_progress"),
        ({"status": ["completed"]}, "one of pending, in_progress"),
        ({"content": 5}, "content must be a text"),
        ({"result_summary": ["x" * 30]}, "result_summary must be a text"),
        ({"acceptance_criteria": "tests pass"}, "a list of texts"),
        ({"acceptance_criteria": ["ok", " "]}, "a list of texts"),
        ({"acceptance_criteria": [1]}, "a list of texts"),
        ({"phase_index": True}, "an integer of at least 0"),
        ({"phase_index": -1}, "an integer of at least 0"),
        ({"phase_index": 2**31}, "an integer of at least 0"),
        ({"grounding": [["a", 1]]}, "an object of JSON values"),
        ({"grounding": {"a": {1}}}, "an object of JSON values"),
        ({"grounding_evidence": {"a": float("nan")}}, "an object of JSON values"),
        ({"ordinal": 5}, "unknown field ordinal; a task has acceptance_criteria, active_form"),
        ({"segments": [], "depth": 1}, "unknown field depth, segments"),
    ],
)
def test_a_wrong_field_is_named_with_what_would_be_right(fields: dict[str, Any], message: str):
    with pytest.raises(TaskError, match=message) as raised:
        changed(NONE, "a", **fields)
    assert "'a'" in str(raised.value)


@pytest.mark.parametrize("task_id", ["", None, 5])
def test_an_id_is_a_text(task_id: Any):
    with pytest.raises(TaskError, match="id must be a text"):
        change(NONE, task_id, "main", {"content": "x"}, at(1))
    with pytest.raises(TaskError, match="agent must be a text"):
        change(NONE, "a", task_id, {"content": "x"}, at(1))
    with pytest.raises(TaskError, match="each update must be an object"):
        change_many(NONE, "main", [task_id], at(1))


@pytest.mark.parametrize("task_id", ["../../x", "a\0b\nc", "<!-- x -->", "\ud800", "x" * 100_000, "\u202e"])
def test_hostile_ids_are_only_names_and_messages_stay_on_one_line(task_id: str):
    tasks = called(started(NONE, task_id), "c")
    assert completions(completed(tasks, task_id).tasks, task_id)[0].call_ids == ("c",)
    with pytest.raises(TaskError) as raised:
        started(tasks, "b")
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 1_500


def test_a_deep_value_is_refused():
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    with pytest.raises(TaskError, match="JSON values"):
        changed(NONE, "a", grounding=deep)


def test_a_task_knows_what_it_cannot_be():
    with pytest.raises(TaskError, match="status must be one of"):
        Task("a", status="failed")  # type: ignore[arg-type]
    with pytest.raises(TaskError, match="id must be"):
        Task("")
