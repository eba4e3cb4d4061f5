"""The plan tools of clients, read as transitions of tasks."""

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift import transcripts
from undrift.core.tasks.life import MAIN_AGENT, change_many
from undrift.core.tasks.plan_tools import (
    PLAN_PREFIX,
    PlanItem,
    PlanStatus,
    Transition,
    is_plan_tool,
    read_plan,
    replay_plan,
    transitions,
)
from undrift.values.window import Moment, Tasks

PENDING: PlanStatus = "pending"
DOING: PlanStatus = "in_progress"
DONE: PlanStatus = "completed"
LONGEST_CONTENT = 2_000

Call = tuple[str, dict[str, Any], str]


def todos(*rows: tuple[str, str]) -> Call:
    given = [{"content": text, "status": status, "activeForm": f"Doing: {text}"} for text, status in rows]
    return "TodoWrite", {"todos": given}, "Todos have been modified."


def steps(*rows: tuple[str, str]) -> Call:
    return "update_plan", {"plan": [{"step": text, "status": status} for text, status in rows]}, "Plan updated"


def create(number: int, subject: str) -> Call:
    return "TaskCreate", {"subject": subject, "description": "..."}, f"Task #{number} created successfully: {subject}"


def put(number: int | str, **fields: Any) -> Call:
    return "TaskUpdate", {"taskId": str(number), **fields}, f"Updated task #{number} status"


def told(*calls: Call) -> list[tuple[int, str, str, str]]:
    """What a history tells: the call, the task, its status before and after."""
    found, _ = replay_plan(calls)
    names = {one.id: one.content for step in found for one in step.transitions if one.content}
    return [(step.index, names[one.id], one.before, one.after) for step in found for one in step.transitions]


def plan_of(*calls: Call) -> list[tuple[str, str]]:
    _, plan = replay_plan(calls)
    return [(item.content, item.status) for item in plan]


# ------------------------------------------------------------------------------------------------------- which tools
@pytest.mark.parametrize(
    "name",
    [
        "TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "update_plan", "write_todos", "todowrite",
        "todo_write", "functions.update_plan", "mcp__notes__todo_write", "tracker_update_task", "tracker_visualize",
    ],
)  # fmt: skip
def test_the_plan_tools_of_clients_are_known(name: str):
    assert is_plan_tool(name)


@pytest.mark.parametrize(
    "name", ["Task", "Bash", "task_update", "mcp__undrift__task_update", "SigmaTaskUpdate", "plan", ""]
)
def test_no_other_tool_is_taken_for_one(name: str):
    assert not is_plan_tool(name)
    assert read_plan(name, {"todos": [{"content": "x", "status": DOING}]}) is None


# ---------------------------------------------------------------------------------------------------------- each client
def test_a_list_is_replaced_whole():
    assert told(
        todos(("Find the cause", DOING), ("Fix it", PENDING)),
        ("Bash", {"command": "pytest -q"}, "1 failed"),
        todos(("Find the cause", DONE), ("Fix it", DOING)),
        todos(("Find the cause", DONE), ("Fix it", DONE)),
    ) == [
        (0, "Fix it", "", PENDING),
        (0, "Find the cause", "", DOING),
        (2, "Find the cause", DOING, DONE),
        (2, "Fix it", PENDING, DOING),
        (3, "Fix it", DOING, DONE),
    ]


def test_codex_sends_steps():
    assert told(steps(("Audit", DOING), ("Write", PENDING)), steps(("Audit", DONE), ("Write", DONE))) == [
        (0, "Write", "", PENDING),
        (0, "Audit", "", DOING),
        (1, "Audit", DOING, DONE),
        (1, "Write", PENDING, DONE),
    ]


def test_gemini_sends_descriptions_and_blocks():
    call = {
        "todos": [
            {"description": "Wait for CI", "status": "blocked"},
            {"description": "Drop it", "status": "cancelled"},
        ]
    }
    assert plan_of(("write_todos", call, "ok")) == [("Wait for CI", PENDING), ("Drop it", "cancelled")]
    assert told(("write_todos", call, "ok")) == [
        (0, "Wait for CI", "", PENDING)
    ]  # what is finished when first seen is no task


def test_opencode_sends_ids_that_say_nothing():
    first = [{"id": "1", "content": "Port", "status": DOING, "priority": "high"}]
    second = [{"id": "1", "content": "Announce", "status": PENDING}, {"id": "2", "content": "Port", "status": DONE}]
    assert told(("todowrite", {"todos": first}, "[]"), ("todowrite", {"todos": second}, "[]")) == [
        (0, "Port", "", DOING),
        (1, "Port", DOING, DONE),
        (1, "Announce", "", PENDING),
    ]


def test_claude_code_numbers_tasks():
    assert told(
        create(1, "Add the field"), create(2, "Test it"), put(1, status=DOING), put(1, status=DONE), put(2, status=DOING),
        put(2, addBlockedBy=["1"]), put(2, status="deleted"),
    ) == [
        (0, "Add the field", "", PENDING),
        (1, "Test it", "", PENDING),
        (2, "Add the field", PENDING, DOING),
        (3, "Add the field", DOING, DONE),
        (4, "Test it", PENDING, DOING),
        (6, "Test it", DOING, "cancelled"),
    ]  # fmt: skip


def test_a_task_that_the_client_has_not_numbered_yet_is_not_known_yet():
    assert read_plan("TaskCreate", {"subject": "Add the field"}) is None


def test_a_list_of_tasks_tells_what_an_earlier_history_said():
    """After a compaction by the client the calls that made the tasks are gone; their ids stay."""
    listed = "#6 [pending] Update the docs\n#1 [completed] Add the field\n#7 [in_progress] Test  it [blocked by #6]"
    assert plan_of(("TaskList", {}, listed)) == [
        ("Update the docs", PENDING),
        ("Add the field", DONE),
        ("Test it", DOING),
    ]
    _, made = replay_plan([create(6, "Update the docs")])
    _, seen = replay_plan([("TaskList", {}, listed)])
    assert made[0].id == seen[0].id
    assert read_plan("TaskList", {}, "No tasks found") is None


def test_a_number_that_nothing_has_told_of_is_a_task_of_that_name():
    assert told(put(9, status=DOING), put(9, subject="Find  it"), put("#9", status=DONE)) == [
        (0, "Find it", "", DOING),
        (2, "Find it", DOING, DONE),
    ]
    assert read_plan(*put(9, subject="x")[:2]) == ()


def test_gemini_tracks_tasks_by_hex_ids():
    made = (
        "tracker_create_task",
        {"title": "Port it", "description": "d", "type": "task"},
        "Created task a1b2c3: Port it",
    )
    taken = ("tracker_update_task", {"id": "a1b2c3", "status": DOING}, "Updated task a1b2c3. Status: in_progress")
    ended = ("tracker_update_task", {"id": "a1b2c3", "status": "closed"}, "Updated task a1b2c3. Status: closed")
    assert [one[2:] for one in told(made, taken, ended)] == [("", PENDING), (PENDING, DOING), (DOING, DONE)]
    assert plan_of(("tracker_list_tasks", {}, "- [a1b2c3] Port it (by hand) (open)")) == [
        ("Port it (by hand)", PENDING)
    ]


# -------------------------------------------------------------------------------------------------------------- the rules
def test_of_two_tasks_in_progress_the_first_is_worked_on_and_stays_so():
    both = todos(("B", DOING), ("A", DOING))
    assert told(both) == [(0, "A", "", PENDING), (0, "B", "", DOING)]
    assert told(todos(("A", DOING)), both) == [(0, "A", "", DOING), (1, "B", "", PENDING)]
    assert told(both, todos(("B", DONE), ("A", DOING)))[-2:] == [(1, "B", DOING, DONE), (1, "A", PENDING, DOING)]


def test_what_vanishes_unfinished_is_cancelled_and_what_was_completed_stays():
    assert told(todos(("A", DONE), ("B", DOING), ("C", PENDING)), todos()) == [
        (0, "C", "", PENDING),
        (0, "B", "", DOING),
        (1, "C", PENDING, "cancelled"),
        (1, "B", DOING, "cancelled"),
    ]
    assert told(todos(("A", DOING)), todos(("A", DONE)), todos()) == [(0, "A", "", DOING), (1, "A", DOING, DONE)]


def test_a_finished_task_is_changed_only_by_being_taken_up_again():
    history = [
        todos(("A", DOING)),
        todos(("A", DONE)),
        todos(("A", PENDING)),
        todos(("A", DOING)),
        todos(),
        todos(("A", DONE)),
    ]
    assert told(*history) == [
        (0, "A", "", DOING),
        (1, "A", DOING, DONE),
        (3, "A", DONE, DOING),
        (4, "A", DOING, "cancelled"),
    ]


def test_a_task_taken_up_with_our_own_tool_goes_first():
    plan = read_plan(*todos(("A", DOING)))
    assert plan is not None
    assert [one.after for one in transitions({"mine": DOING}, plan)] == [PENDING]
    assert [one.after for one in transitions({"mine": DONE}, plan)] == [DOING]


def test_equal_texts_in_one_list_are_two_tasks_and_space_makes_no_difference():
    plan = read_plan(*todos(("Run  the\ntests", DOING), ("Run the tests", PENDING)))
    again = read_plan(*todos(("Run the tests", DONE), (" Run the tests ", DOING)))
    assert plan is not None
    assert again is not None
    assert [one.content for one in plan] == ["Run the tests"] * 2
    assert [one.id for one in plan] == [one.id for one in again]
    assert len({one.id for one in plan}) == 2


def test_two_scopes_do_not_meet():
    mine, theirs = (read_plan(*todos(("A", DOING)), scope=scope) for scope in ("", "reviewer"))
    assert mine is not None
    assert theirs is not None
    assert mine[0].id != theirs[0].id


def test_ids_are_safe_and_the_same_everywhere():
    plan = read_plan(*steps(("../../etc/passwd\0 \ud800", DOING)))
    assert plan is not None
    assert len(plan[0].id) == len(PLAN_PREFIX) + 12
    assert set(plan[0].id.removeprefix(PLAN_PREFIX)) <= set("0123456789abcdef")


@pytest.mark.parametrize(
    "result",
    [
        "<tool_use_error>InputValidationError: todos is missing</tool_use_error>", "Error: bad status", "Task not found",
        "Error updating task: no such id", "failed to parse function arguments: missing field",
        "The user doesn't want to proceed with this tool use.",
        "The todowrite tool was called with invalid arguments",
    ],
)  # fmt: skip
def test_what_the_client_refused_changes_nothing(result: str):
    assert told(todos(("A", DOING)), (*todos(("A", DONE))[:2], result)) == [(0, "A", "", DOING)]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"todos": None},
        {"todos": "A"},
        {"todos": ["A", 1, None]},
        {"todos": [{"content": 1}]},
        {"todos": {"A": DONE}},
    ],
)
def test_what_cannot_be_read_changes_nothing(arguments: dict[str, Any]):
    assert told(todos(("A", DOING)), ("TodoWrite", arguments, "")) == [(0, "A", "", DOING)]


def test_an_unknown_status_is_one_that_waits():
    assert plan_of(steps(("A", "In Progress"), ("B", "not-started"), ("C", "??"), ("D", "DONE"))) == [
        ("A", DOING), ("B", PENDING), ("C", PENDING), ("D", DONE),
    ]  # fmt: skip


def test_a_flood_is_cut():
    plan = read_plan(
        "TodoWrite", {"todos": [{"content": f"{n} " + "x" * 9_000, "status": DOING} for n in range(2_000)]}
    )
    assert plan is not None
    assert len(plan) == 500
    assert max(len(one.content) for one in plan) == LONGEST_CONTENT
    assert len(plan_of(*(create(n, "again") for n in range(700)))) == 500


# ------------------------------------------------------------------------------------------------------------- properties
NAMES = st.sampled_from(
    ["TodoWrite", "update_plan", "TaskCreate", "TaskUpdate", "TaskList", "tracker_update_task", "Bash"]
)
FIELDS = st.sampled_from(["todos", "plan", "content", "step", "status", "taskId", "id", "subject"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.sampled_from([DOING, DONE, "1"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(FIELDS | st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
STATUS = st.sampled_from([PENDING, DOING, DONE, "cancelled"])
ROWS = st.lists(st.tuples(st.sampled_from("ABCD"), STATUS), max_size=5)
NUMBERED = st.tuples(st.integers(1, 3), STATUS).map(lambda one: put(one[0], status=one[1]))
CALLS = st.lists(ROWS.map(lambda rows: todos(*rows)) | NUMBERED, max_size=12)


@given(NAMES, st.dictionaries(FIELDS, JSON, max_size=5), st.text(max_size=60))
def test_no_argument_raises(name: str, arguments: dict[str, Any], result: str):
    plan = read_plan(name, arguments, result)
    for item in plan or ():
        assert item.content
        assert item.status in (PENDING, DOING, DONE, "cancelled")


@given(CALLS)
def test_the_tasks_of_a_session_take_whatever_a_plan_says(calls: list[Call]):
    """Every step fits `change_many`, and leaves at most one task in progress."""
    tasks = Tasks()
    plan: tuple[PlanItem, ...] = ()
    replayed, _ = replay_plan(calls)
    by_index = {step.index: step.transitions for step in replayed}
    for index, call in enumerate(calls):
        said = read_plan(*call, before=plan)
        plan = plan if said is None else said
        due = transitions({one.id: one.status for one in tasks.by_id.values()}, plan)
        assert tuple(due) == by_index.get(index, ())
        updates = [one.update("what was found and changed") for one in due]
        tasks = change_many(tasks, MAIN_AGENT, updates, Moment(f"m{index}", index)).tasks
        assert sum(one.status == DOING for one in tasks.by_id.values()) <= 1
        assert transitions({one.id: one.status for one in tasks.by_id.values()}, plan) == []


@given(CALLS)
def test_the_same_history_gives_the_same_steps(calls: list[Call]):
    assert replay_plan(calls) == replay_plan(json.loads(json.dumps(calls)))


def test_an_update_says_what_it_must():
    assert Transition("plan-1", "A", "", DOING).update() == {"id": "plan-1", "status": DOING, "content": "A"}
    assert Transition("plan-1", "A", DOING, DONE).update("done so") == {
        "id": "plan-1",
        "status": DONE,
        "result_summary": "done so",
    }
    assert transitions({}, [PlanItem("plan-1", "A", DONE)]) == []


# ---------------------------------------------------------------------------------------------------------- real sessions
def recorded(shared: Path) -> Iterator[list[Call]]:
    archive = shared / "data" / "transcripts.tar.xz"
    if not archive.is_file():
        pytest.skip("needs ../shared/data/transcripts.tar.xz beside the checkout: it is not there")
    with tarfile.open(archive) as packed:
        for member in packed:
            folder = Path(member.name).parent.name
            if folder not in ("claude-code", "codex", "opencode") or not 20_000 < member.size < 1_000_000:
                continue
            file = packed.extractfile(member)
            assert file is not None
            text = file.read().decode("utf-8", "replace")
            if not any(f'"{tool}"' in text for tool in ("TodoWrite", "TaskUpdate", "update_plan", "todowrite")):
                continue
            entries = transcripts.read(text.splitlines(keepends=True)).entries
            results = {e.pair_id: e.content for e in entries if e.type == "tool_result"}
            calls = [(e, e.metadata) for e in entries if e.metadata and e.metadata["kind"] == "call"]
            yield [(about["tool_name"], about["input"], results.get(e.pair_id, "")) for e, about in calls]


def test_recorded_plans_end_as_their_last_call_says(shared: Path):
    found = 0
    for calls in recorded(shared):
        replayed, plan = replay_plan(calls)
        state = {one.id: one.after for step in replayed for one in step.transitions}
        finished = {item.id for item in plan if item.status == DONE}
        assert all(state.get(one, DONE) == DONE for one in finished)
        assert sum(status == DOING for status in state.values()) <= 1
        found += sum(one.after == DONE for step in replayed for one in step.transitions)
    assert found >= 40
