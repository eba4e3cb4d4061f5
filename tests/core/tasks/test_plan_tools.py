"""The plan tools of clients: what a plan says after their calls."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift import transcripts
from undrift.core.tasks.plan_tools import PlanStatus, is_plan_tool, replay_plan

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


def plan_of(*calls: Call) -> list[tuple[str, str]]:
    return [(item.content, item.status) for item in replay_plan(calls)]


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
    assert plan_of((name, {"todos": [{"content": "x", "status": DOING}]}, "")) == []


# ---------------------------------------------------------------------------------------------------------- each client
def test_a_list_is_replaced_whole():
    history = [
        todos(("Find the cause", DOING), ("Fix it", PENDING)),
        ("Bash", {"command": "pytest -q"}, "1 failed"),
        todos(("Find the cause", DONE), ("Fix it", DOING)),
    ]
    assert plan_of(*history[:2]) == [("Find the cause", DOING), ("Fix it", PENDING)]
    assert plan_of(*history) == [("Find the cause", DONE), ("Fix it", DOING)]
    assert plan_of(*history, todos()) == []


def test_codex_sends_steps():
    assert plan_of(steps(("Audit", DOING), ("Write", PENDING)), steps(("Audit", DONE), ("Write", DOING))) == [
        ("Audit", DONE),
        ("Write", DOING),
    ]


def test_gemini_sends_descriptions_and_blocks():
    call = {
        "todos": [
            {"description": "Wait for CI", "status": "blocked"},
            {"description": "Drop it", "status": "cancelled"},
        ]
    }
    assert plan_of(("write_todos", call, "ok")) == [("Wait for CI", PENDING), ("Drop it", "cancelled")]


def test_opencode_sends_ids_that_say_nothing():
    first = [{"id": "1", "content": "Port", "status": DOING, "priority": "high"}]
    second = [{"id": "1", "content": "Announce", "status": PENDING}, {"id": "2", "content": "Port", "status": DONE}]
    assert plan_of(("todowrite", {"todos": first}, "[]"), ("todowrite", {"todos": second}, "[]")) == [
        ("Announce", PENDING),
        ("Port", DONE),
    ]


def test_claude_code_numbers_tasks():
    history = [create(1, "Add the field"), create(2, "Test it"), put(1, status=DOING)]
    assert plan_of(*history) == [("Add the field", DOING), ("Test it", PENDING)]
    history += [put(1, status=DONE), put(2, status=DOING), put(2, addBlockedBy=["1"])]
    assert plan_of(*history) == [("Add the field", DONE), ("Test it", DOING)]
    assert plan_of(*history, put(2, status="deleted")) == [("Add the field", DONE), ("Test it", "cancelled")]


def test_a_task_that_the_client_has_not_numbered_yet_is_not_known_yet():
    assert plan_of(("TaskCreate", {"subject": "Add the field"}, "")) == []


def test_a_list_of_tasks_tells_what_an_earlier_history_said():
    """After a compaction by the client the calls that made the tasks are gone; their numbers stay."""
    listed = "#6 [pending] Update the docs\n#1 [completed] Add the field\n#7 [in_progress] Test  it [blocked by #6]"
    shown = [("Update the docs", PENDING), ("Add the field", DONE), ("Test it", DOING)]
    assert plan_of(("TaskList", {}, listed)) == shown
    assert plan_of(create(6, "Update the docs"), ("TaskList", {}, listed)) == shown
    assert plan_of(create(6, "Update the docs"), ("TaskList", {}, "No tasks found")) == [("Update the docs", PENDING)]


def test_a_number_that_nothing_has_told_of_is_a_task_of_that_name():
    assert plan_of(put(9, status=DOING)) == [("task 9", DOING)]
    assert plan_of(put(9, status=DOING), put(9, subject="Find  it"), put("#9", status=DONE)) == [("Find it", DONE)]
    assert plan_of(put(9, subject="x")) == []


def test_gemini_tracks_tasks_by_hex_ids():
    made = (
        "tracker_create_task",
        {"title": "Port it", "description": "d", "type": "task"},
        "Created task a1b2c3: Port it",
    )
    taken = ("tracker_update_task", {"id": "a1b2c3", "status": DOING}, "Updated task a1b2c3. Status: in_progress")
    ended = ("tracker_update_task", {"id": "a1b2c3", "status": "closed"}, "Updated task a1b2c3. Status: closed")
    assert plan_of(made) == [("Port it", PENDING)]
    assert plan_of(made, taken) == [("Port it", DOING)]
    assert plan_of(made, taken, ended) == [("Port it", DONE)]
    assert plan_of(("tracker_list_tasks", {}, "- [a1b2c3] Port it (by hand) (open)")) == [
        ("Port it (by hand)", PENDING)
    ]


# -------------------------------------------------------------------------------------------------------------- the rules
def test_tasks_of_two_tools_with_one_number_are_two():
    tracked = ("tracker_update_task", {"id": "1", "title": "Track it", "status": DOING}, "")
    assert plan_of(todos(("List it", PENDING)), create(1, "Make it"), tracked) == [
        ("List it", PENDING),
        ("Make it", PENDING),
        ("Track it", DOING),
    ]


def test_equal_texts_in_one_list_are_two_tasks_and_space_makes_no_difference():
    again = todos(("Run  the\ntests", DONE), (" Run the tests ", DOING))
    assert plan_of(again) == [("Run the tests", DONE), ("Run the tests", DOING)]


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
    assert plan_of(todos(("A", DOING)), (*todos(("A", DONE))[:2], result)) == [("A", DOING)]


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
    assert plan_of(todos(("A", DOING)), ("TodoWrite", arguments, "")) == [("A", DOING)]


def test_an_unknown_status_is_one_that_waits():
    assert plan_of(steps(("A", "In Progress"), ("B", "not-started"), ("C", "??"), ("D", "DONE"))) == [
        ("A", DOING), ("B", PENDING), ("C", PENDING), ("D", DONE),
    ]  # fmt: skip


def test_a_flood_is_cut():
    plan = plan_of(*[todos(*((f"{n} " + "x" * 9_000, DOING) for n in range(2_000)))])
    assert len(plan) == 500
    assert max(len(text) for text, _ in plan) == LONGEST_CONTENT
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
    for text, status in plan_of((name, arguments, result)):
        assert text
        assert status in (PENDING, DOING, DONE, "cancelled")


@given(CALLS)
def test_the_same_history_gives_the_same_plan(calls: list[Call]):
    assert replay_plan(calls) == replay_plan(json.loads(json.dumps(calls)))


# ---------------------------------------------------------------------------------------------------------- real sessions
def recorded(files: Iterable[Path]) -> Iterator[list[Call]]:
    for path in files:
        if path.parent.name not in ("claude-code", "codex", "opencode") or not 20_000 < path.stat().st_size < 1_000_000:
            continue
        text = path.read_bytes().decode("utf-8", "replace")
        if not any(f'"{tool}"' in text for tool in ("TodoWrite", "TaskUpdate", "update_plan", "todowrite")):
            continue
        entries = transcripts.read(text.splitlines(keepends=True)).entries
        results = {e.pair_id: e.content for e in entries if e.type == "tool_result"}
        calls = [(e, e.metadata) for e in entries if e.metadata and e.metadata["kind"] == "call"]
        yield [(about["tool_name"], about["input"], results.get(e.pair_id, "")) for e, about in calls]


def test_recorded_plans_are_read(recorded_files: tuple[Path, ...]):
    found = 0
    for calls in recorded(recorded_files):
        ends = [end for end, (tool, _, _) in enumerate(calls, 1) if is_plan_tool(tool)]
        items = [item for end in ends for item in replay_plan(calls[:end])]
        found += len({item.content for item in items if item.status == DONE})
        assert all(item.status == DONE for item in replay_plan(calls))  # these sessions came to the end of their plans
    assert found >= 40
