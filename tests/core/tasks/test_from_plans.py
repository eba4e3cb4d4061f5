"""Agents that know nothing of us: the steps of a client's own plan, read from the history, give way once ticked off."""

import json
from typing import Any

import pytest

from tests.builders import Json, assistant, body, opened, parts, problems, result, sent, text, user
from undrift.core.tasks.from_plans import PLAN_AGENT
from undrift.core.window.check import added
from undrift.session.session import Session
from undrift.stores.sqlite import SqliteStore
from undrift.values.window import Prepared
from undrift.wire import openai_responses

Rows = tuple[tuple[str, str], ...]

PENDING, DOING, DONE = "pending", "in_progress", "completed"
FIND, FIX = "Find the cause", "Fix it"
STEPS: tuple[Rows, ...] = (
    ((FIND, DOING), (FIX, PENDING)),
    ((FIND, DONE), (FIX, DOING)),
    ((FIND, DONE), (FIX, DONE)),
)


def log(number: int, characters: int = 1_200) -> str:
    return f"raw {number} of a file that was read ".ljust(characters, "x")


class Claude:
    """A history as Claude Code writes it: TodoWrite."""

    wire, model = "anthropic", "claude-sonnet-4-5"

    def __init__(self) -> None:
        self.items: list[Json] = [user("Fix the login.")]
        self.calls = 0

    def plans(self, *rows: tuple[str, str]) -> None:
        todos = [{"content": words, "status": status, "activeForm": words} for words, status in rows]
        self._calls("TodoWrite", {"todos": todos}, "Todos have been modified successfully.")

    def reads(self, *numbers: int, tool: str = "Read") -> None:
        for number in numbers:
            self._calls(tool, {"file_path": f"src/{number}.py"}, log(number), f"I look at {number}.")

    def says(self) -> None:
        self.items += [assistant("So far."), user("Go on.")]

    def body(self) -> Json:
        return body(*self.items)

    def _calls(self, tool: str, given: Json, answer: str, words: str = "") -> None:
        self.calls += 1
        made = {"type": "tool_use", "id": f"c{self.calls}", "name": tool, "input": given}
        self.items += [assistant(*([text(words)] if words else []), made), user(result(f"c{self.calls}", answer))]


class Codex(Claude):
    """The same as Codex writes it: update_plan."""

    wire, model = "openai-responses", "gpt-5.5"

    def __init__(self) -> None:
        super().__init__()
        self.items = [self._said("user", "Fix the login.")]

    def plans(self, *rows: tuple[str, str]) -> None:
        plan = [{"step": words, "status": status} for words, status in rows]
        self._calls("update_plan", {"plan": plan}, "Plan updated")

    def says(self) -> None:
        self.items += [self._said("assistant", "So far."), self._said("user", "Go on.")]

    def body(self) -> Json:
        return {"model": self.model, "input": list(self.items), "store": False}

    def _said(self, role: str, words: str) -> Json:
        type_ = "input_text" if role == "user" else "output_text"
        return {"type": "message", "role": role, "content": [{"type": type_, "text": words}]}

    def _calls(self, tool: str, given: Json, answer: str, words: str = "") -> None:
        self.calls += 1
        id_ = f"call_{self.calls}"
        self.items += [self._said("assistant", words)] if words else []
        self.items.append({"type": "function_call", "name": tool, "call_id": id_, "arguments": json.dumps(given)})
        self.items.append({"type": "function_call_output", "call_id": id_, "output": answer})


def two_steps(client: type[Claude]) -> Claude:
    """A step of eight reads that is ticked off, and one that goes on."""
    history = client()
    history.reads(90)
    history.plans(*STEPS[0])
    history.reads(*range(8))
    history.plans(*STEPS[1])
    history.reads(20)
    history.says()
    return history


def prepared(session: Session, history: Claude) -> Prepared:
    return session.prepare(history.body(), wire=history.wire, model=history.model)


def window(found: Prepared) -> str:
    return json.dumps(found.body)


def raw_numbers(found: Prepared) -> list[int]:
    return [number for number in range(100) if f"raw {number} of" in window(found)]


def evicted(found: Prepared) -> list[str]:
    return [action.ref for action in found.actions if action.kind == "evicted"]


CLIENTS = pytest.mark.parametrize("client", [Claude, Codex])


@CLIENTS
def test_a_step_that_was_ticked_off_gives_way_at_once_and_its_newest_results_stay(tmp_path, client):
    """AX-1: a summary by rule was measured against nothing."""
    with opened(tmp_path, plan_tasks="at_once", keep_tool_results=3) as session:
        history = two_steps(client)
        found = prepared(session, history)
        assert raw_numbers(found) == [7, 20, 90]  # the plan tool's own result is one of the newest three
        assert "I look at 90." in window(found)
        assert "I look at 20." in window(found)
        assert "I look at 3." not in window(found)
        assert {session.recall(ref) for ref in evicted(found)} >= {log(3), "I look at 3."}
        assert found.warnings == ()


@CLIENTS
def test_the_summary_is_distilled_by_rule_and_says_so(tmp_path, client):
    with opened(tmp_path, plan_tasks="at_once") as session:
        history = two_steps(client)
        shown = window(prepared(session, history))
        (task,) = session.tasks()
        assert (task.status, task.agent, task.content) == ("completed", PLAN_AGENT, FIND)
        assert task.annotated_summary.startswith(f"{FIND}\n")
        assert "(distilled by rule)" in task.annotated_summary
        assert "I look at 7." in task.annotated_summary  # the agent's last words
        assert f"Assistant thinking/text for task {task.id} evicted to save tokens. \\nSUMMARY: {FIND}" in shown
        assert [segment.ended for segment in task.segments] == ["completed"]
    with opened(tmp_path) as again:
        assert again.tasks() == (task,)
    with SqliteStore.open(tmp_path, create=False) as store:
        (made,) = [one for one in store.operations("s") if one.kind == "evict"]
        assert (made.payload or {})["tasks"] == [task.id]


@CLIENTS
def test_under_pressure_it_leaves_first_and_only_when_the_budget_asks(tmp_path, client):
    history = two_steps(client)
    how: Json = {"plan_tasks": "under_pressure", "keep_tool_results": 1, "tombstone_share": 1.0}
    with opened(tmp_path / "roomy", **how) as session:
        found = prepared(session, history)
        assert found.body == history.body()
        assert session.tasks() == ()
    with opened(tmp_path / "tight", budget_tokens=2_500, **how) as session:
        found = prepared(session, history)
        assert found.tokens_after <= 2_500
        assert raw_numbers(found) == [20, 90]  # older, and no step's: the budget would have taken it first
        assert {action.kind for action in found.actions} == {"evicted"}
        assert [task.content for task in session.tasks()] == [FIND]


@CLIENTS
def test_off_leaves_all_to_the_budget(tmp_path, client):
    with opened(tmp_path, plan_tasks="off", keep_tool_results=1, budget_tokens=2_500) as session:
        found = prepared(session, two_steps(client))
        assert found.tokens_after <= 2_500
        assert {action.kind for action in found.actions} == {"pruned"}
        assert 90 not in raw_numbers(found)
        assert session.tasks() == ()


@CLIENTS
def test_the_same_history_makes_the_same_window_after_a_restart_and_later(tmp_path, client):
    history = two_steps(client)
    with opened(tmp_path, plan_tasks="at_once") as session:
        found = prepared(session, history)
        assert prepared(session, history).body == found.body
    with opened(tmp_path, plan_tasks="at_once") as again:
        assert prepared(again, history).body == found.body
        history.reads(30)
        history.plans(*STEPS[2])
        history.says()
        later = prepared(again, history)
        assert [task.content for task in again.tasks()] == [FIND, FIX]
        assert set(evicted(later)) > set(evicted(found))


@CLIENTS
def test_explicit_tasks_switch_it_off(tmp_path, client):
    """A session whose agent tells us of its tasks itself is left to that."""
    history = two_steps(client)
    with opened(tmp_path, plan_tasks="at_once", keep_tool_results=1) as session:
        session.update_task("mine", content="Something of mine")
        found = prepared(session, history)
        assert found.body == history.body()
        assert [task.id for task in session.tasks()] == ["mine"]


@CLIENTS
def test_an_explicit_task_that_comes_later_leaves_what_was_decided(tmp_path, client):
    history = two_steps(client)
    with opened(tmp_path, plan_tasks="at_once") as session:
        found = prepared(session, history)
        session.update_task("mine", content="Something of mine")
        assert prepared(session, history).body == found.body
        history.reads(30)
        history.plans(*STEPS[2])
        history.says()
        assert evicted(prepared(session, history)) == evicted(found)


@CLIENTS
def test_a_step_that_is_taken_off_the_plan_or_never_taken_up_lets_nothing_go(tmp_path, client):
    history = client()
    history.plans((FIND, DOING), ("Look around", PENDING))
    history.reads(*range(3))
    history.plans(("Something else", DOING), ("Look around", DONE))
    history.reads(*range(10, 13))
    history.says()
    with opened(tmp_path, plan_tasks="at_once", keep_tool_results=1) as session:
        assert prepared(session, history).body == history.body()


@CLIENTS
def test_a_log_is_exported_as_that_of_any_task(tmp_path, client):
    with opened(tmp_path, plan_tasks="at_once", debug_archive=True) as session:
        found = prepared(session, two_steps(client))
        (task,) = session.tasks()
        log_file = tmp_path / "archives" / "s" / f"{task.id}.log"
        assert log(1) in log_file.read_text()
        assert f"Use 'grep' on {log_file} if previous logs are needed." in window(found)


def test_the_plan_tools_own_results_stay_and_the_provider_takes_the_window(tmp_path):
    with opened(tmp_path / "claude", plan_tasks="at_once", keep_tool_results=1) as session:
        found = prepared(session, two_steps(Claude))
        assert problems(sent(found)) == ()
        results = [part["content"] for m in sent(found) for part in parts(m) if part["type"] == "tool_result"]
        assert results.count("Todos have been modified successfully.") == 2
    with opened(tmp_path / "codex", plan_tasks="at_once", keep_tool_results=1) as session:
        history = two_steps(Codex)
        found = prepared(session, history)
        views: list[list[Any]] = [
            [openai_responses.read(item, "input") for item in items] for items in (history.items, found.body["input"])
        ]
        before, after = (openai_responses.problems(one, {}) for one in views)
        assert added(after, before) == ()
        assert [item["output"] for item in found.body["input"] if item.get("output") == "Plan updated"] == [
            "Plan updated"
        ] * 2


def test_a_result_beside_a_plan_call_in_one_run_of_the_model_leaves_without_it(tmp_path):
    """Calls that reasoning binds together share their fate in the budget, not here (A3-18)."""
    history = Codex()
    history.plans(*STEPS[0])
    history.items.append({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2ln"})
    history.items += [
        {"type": "function_call", "name": name, "call_id": id_, "arguments": json.dumps(given)}
        for name, id_, given in (
            ("Read", "r1", {"file_path": "a.py"}),
            ("update_plan", "r2", {"plan": [{"step": words, "status": status} for words, status in STEPS[0]]}),
        )
    ]
    history.items += [
        {"type": "function_call_output", "call_id": "r1", "output": log(1)},
        {"type": "function_call_output", "call_id": "r2", "output": "Plan updated"},
    ]
    history.reads(2)
    history.plans(*STEPS[1])
    history.reads(3)
    history.says()
    with opened(tmp_path, plan_tasks="at_once", keep_tool_results=1) as session:
        found = prepared(session, history)
        assert raw_numbers(found) == [3]
        assert [item["output"] for item in found.body["input"] if item.get("call_id") == "r2" and "output" in item] == [
            "Plan updated"
        ]
