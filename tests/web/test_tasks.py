"""Tests of the page's tasks, sub-agents and dispatched runs: verdicts, prices, last words, and the facts in each prompt."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.builders import body, rounds, user
from tests.cli.builders import claude, codex_session, said, written
from tests.hooks.builders import with_ids
from tests.web.builders import recorded, source_of, turns
from undrift.core.dispatch.contracts import BEGIN, END
from undrift.core.dispatch.plan import PlanTask
from undrift.core.dispatch.prompt import CompiledPrompt
from undrift.core.handoff.reports import EndedAgent
from undrift.dispatch.agents import Reply
from undrift.dispatch.default import stored_manager
from undrift.dispatch.runner import dispatch
from undrift.errors import InputError
from undrift.facts.reports import keep_report
from undrift.facts.sqlite import SqliteSessionFactStore
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.stores.opening import open_store
from undrift.values.scope import Scope
from undrift.web import dispatches
from undrift.web.source import PageSource
from undrift.web.tasks import task_marks
from undrift.web.views import VIEWS

SECRET = "ghp_" + "a1B2c3D4e5" * 4
AGENT = "a0123456789abcdef"
DONE = "The parser is in 1.py; the tests pass."


def sub_agent(home: Path, *, of: str = "s1", id_: str = AGENT, note: dict[str, Any] | None = None) -> Path:
    """Write the recording of a sub-agent of Claude Code: two turns, and its last words."""
    records = [
        *turns([4_000, 6_000], title="Find who calls the parser.\nLook in shop/."),
        claude("assistant", [said("It is called by main alone.")]),
    ]
    lines = [{**record, "isSidechain": True, "agentId": id_, "sessionId": of} for record in with_ids(records)]
    folder = home / ".claude" / "projects" / "-repo-shop" / of / "subagents"
    path = written(folder / f"agent-{id_}.jsonl", lines)
    if note is not None:
        path.with_suffix(".meta.json").write_text(json.dumps(note))
    return path


def with_tasks(source: PageSource, name: str = "claude:s1") -> None:
    with Session.open(name, home=source.place("/repo/shop")) as session:
        session.prepare(body(user("Go.")))
        session.start_task("dates", content="Find the parser of dates", acceptance_criteria=("the tests pass",))
        session.prepare(body(user("Go."), *rounds(3, characters=4_000)))
        session.complete_task("dates", DONE)
        session.update_task("later", content=f"Use {SECRET}")
        session.prepare(body(user("Go."), *rounds(12, characters=4_000)))


def test_a_task_shows_its_summary_its_verdict_and_what_it_freed(tmp_path: Path):
    recorded(tmp_path, "s1", turns([9_000]))
    source = source_of(tmp_path)
    with_tasks(source)
    found = VIEWS["tasks"](source, {"key": "s1"})
    first, second = found["tasks"]
    assert found["session"]["key"] == "s1"
    assert (first["id"], first["title"], first["status"]) == ("dates", "Find the parser of dates", "completed")
    assert first["summary"].startswith(DONE)
    assert first["criteria"] == ["the tests pass"]
    assert first["verdict"]["words"].startswith("verdict: ")
    assert first["verdict"]["is_checked"]
    assert first["tokens_saved"] > 0
    assert first["known_ms"] == first["started_ms"] < first["ended_ms"]
    assert (second["status"], second["started_ms"], second["ended_ms"]) == ("pending", None, None)
    assert SECRET not in json.dumps(found)


def test_the_tasks_of_all_projects_stand_in_one_list_the_newest_first(tmp_path: Path):
    recorded(tmp_path, "s1", turns([9_000]))
    source = source_of(tmp_path)
    with_tasks(source)
    with Session.open("run-7", home=source.place("/repo/other")) as session:
        session.start_task("only", content="Alone")
    rows = VIEWS["tasks"](source, {})["sessions"]
    assert [(row["session_id"], row["key"], row["count"], row["open"]) for row in rows] == [
        ("run-7", "", 1, 1),
        ("claude:s1", "s1", 2, 1),
    ]
    assert rows[0]["project"] == "other"


def test_a_session_without_tasks_or_records_shows_none_and_an_unknown_one_is_refused(tmp_path: Path):
    recorded(tmp_path, "s1", turns([9_000]))
    found = VIEWS["tasks"](source_of(tmp_path), {"key": "s1"})
    assert (found["tasks"], found["agents"], found["reports"]) == ([], [], [])
    with pytest.raises(InputError):
        VIEWS["tasks"](source_of(tmp_path), {"key": "../s1"})


def test_the_marks_of_a_timeline_say_where_a_task_started_and_how_it_ended(tmp_path: Path):
    recorded(tmp_path, "s1", turns([9_000, 9_500]))
    source = source_of(tmp_path)
    with_tasks(source)
    marks = task_marks(source, source.session("s1"))
    assert [mark["text"].partition(":")[0] for mark in marks] == [
        "task started",
        "task completed, verdict",
        "task reported",
    ]
    assert {mark["kind"] for mark in marks} == {"task"}
    assert {mark["turn"] for mark in marks} == {3}, "the recording is older than its tasks"
    assert marks == sorted(marks, key=lambda mark: mark["at_ms"])


def test_a_start_that_the_log_does_not_tell_is_not_guessed(tmp_path: Path):
    recorded(tmp_path, "s1", turns([9_000]))
    source = source_of(tmp_path)
    with Session.open("claude:s1", home=source.place("/repo/shop")) as session:
        session.update_task("a", content="Plan it")
        session.start_task("a")
        session.update_task("a", status="cancelled")
    (row,) = VIEWS["tasks"](source, {"key": "s1"})["tasks"]
    assert row["started_ms"] is None
    assert row["known_ms"] < row["ended_ms"]


def test_a_sub_agent_stands_under_its_session_with_its_price_and_its_last_words(tmp_path: Path):
    recorded(tmp_path, "s1", turns([9_000]))
    recorded(tmp_path, "s2", turns([9_000]))
    sub_agent(tmp_path, note={"agentType": "Explore", "description": "Find callers"})
    sub_agent(tmp_path, id_="b1", note={"agentType": "Plan", "parentAgentId": AGENT})
    source = source_of(tmp_path)
    found = {row["id"]: row for row in VIEWS["tasks"](source, {"key": "s1"})["agents"]}
    one = found[AGENT]
    assert (one["kind"], one["name"], one["asked"]) == ("Explore", "Find callers", "Find who calls the parser.")
    assert (one["prompts"], one["tokens"], one["largest_tokens"], one["calls"]) == (2, 10_000, 6_000, 2)
    assert one["usd"] > 0
    assert (one["said"], one["said_tokens"]) == ("It is called by main alone.", 7)
    assert found["b1"]["parent"] == AGENT
    assert VIEWS["tasks"](source, {"key": "s2"})["agents"] == []
    assert {row["key"]: row["count"] for row in VIEWS["tasks"](source, {})["agents"]} == {"s1": 2}


def test_what_is_appended_to_a_sub_agents_recording_counts_and_nothing_is_read_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    recorded(tmp_path, "s1", turns([9_000]))
    path = sub_agent(tmp_path)
    source = source_of(tmp_path)
    assert VIEWS["tasks"](source, {"key": "s1"})["agents"][0]["prompts"] == 2
    (agent,) = source.agents(source.session("s1"))
    read: list[int] = []

    def counted(lines: list[str]) -> None:
        read.append(len(lines))
        type(agent)._take(agent, lines)

    monkeypatch.setattr(agent, "_take", counted)
    more = [*turns([7_000], first=20), claude("assistant", [said("And by the shop.")])]
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(f"{json.dumps({**record, 'isSidechain': True})}\n" for record in more))
    (row,) = VIEWS["tasks"](source, {"key": "s1"})["agents"]
    assert (row["prompts"], row["said"]) == (3, "And by the shop.")
    assert read == [3]


def test_an_agent_of_an_earlier_release_lies_beside_its_session(tmp_path: Path):
    recorded(tmp_path, "s1", turns([9_000]))
    lines = [{**record, "isSidechain": True, "sessionId": "s1"} for record in turns([4_000], title="Look.")]
    recorded(tmp_path, "agent-77", lines)
    (row,) = VIEWS["tasks"](source_of(tmp_path), {"key": "s1"})["agents"]
    assert (row["id"], row["asked"], row["kind"]) == ("77", "Look.", "")


def test_a_thread_that_codex_spawned_stands_under_the_thread_that_started_it(tmp_path: Path):
    parent, child = "0b0c5f0e-1111-4222-8333-944445555666", "0b0c5f0e-1111-4222-8333-944445555777"
    folder = tmp_path / ".codex" / "sessions" / "2026"
    path = written(folder / f"rollout-2026-03-01T10-00-00-{parent}.jsonl", codex_session())
    records = codex_session()
    spawned = {"parent_thread_id": parent, "depth": 1, "agent_path": "main/find_it", "agent_role": "worker"}
    records[0]["payload"] |= {"id": child, "source": {"subagent": {"thread_spawn": spawned}}}
    written(folder / f"rollout-2026-03-01T10-00-01-{child}.jsonl", records)
    (row,) = VIEWS["tasks"](source_of(tmp_path), {"key": path.stem})["agents"]
    assert (row["id"], row["kind"], row["name"]) == (child, "worker", "find_it")
    assert row["asked"].endswith("where the value is computed.")
    assert (row["said"], row["calls"]) == ("Done.", 3)
    assert (row["usd"], row["prompts"]) == (None, 0), "this recording has no figures"


def test_facts_that_a_hook_kept_stand_with_their_sub_agent_and_without_its_recording_alone(tmp_path: Path):
    recorded(tmp_path, "s1", turns([9_000]))
    sub_agent(tmp_path)
    source = source_of(tmp_path)
    with open_store(source.place("/repo/shop"), Scope()) as store:
        keep_report(store, "claude:s1", EndedAgent("Find who calls it.", "main of app.py calls it.", AGENT, ["app.py"]))
        keep_report(store, "claude:s1", EndedAgent("Gone.", f"I saw {SECRET} in keys.py.", "b" * 17))
    found = VIEWS["tasks"](source, {"key": "s1"})
    relations = {fact["relation"] for fact in found["agents"][0]["facts"]}
    assert {"modified_by", "summary", "completed_with"} <= relations
    (report,) = found["reports"]
    assert report["task"].startswith("Gone.")
    assert "keys.py" in report["said"]
    assert SECRET not in json.dumps(found)


@pytest.mark.parametrize("text", ["", "[", "[]", "\xff", '{"agentType": 5, "name": ["x"]}', "[" * 50_000])
def test_a_hostile_note_beside_a_recording_names_nothing(tmp_path: Path, text: str):
    recorded(tmp_path, "s1", turns([9_000]))
    path = sub_agent(tmp_path)
    path.with_suffix(".meta.json").write_text(text, encoding="utf-8")
    (path.parent / "agent-empty.jsonl").touch()
    (path.parent / "agent-broken.jsonl").write_bytes(b"\xff{]\n" * 50)
    (row,) = VIEWS["tasks"](source_of(tmp_path), {"key": "s1"})["agents"]
    assert (row["id"], row["kind"], row["name"]) == (AGENT, "", "")


class Scripted:
    """The agents of a plan: an implementer that changes a file of its task's name, and a reviewer."""

    def __init__(self, wants_changes: str = "") -> None:
        self.given: dict[tuple[str, str, int], tuple[str, ...]] = {}
        self._wants_changes = wants_changes

    def answer(self, prompt: CompiledPrompt) -> Reply:
        self.given[prompt.task_id, prompt.role, prompt.attempt] = prompt.fact_ids
        if prompt.role == "implementer":
            result: dict[str, Any] = {"status": "completed", "summary": f"Wrote the {prompt.task_id} of the shop."}
            result |= {"files_changed": [f"shop/{prompt.task_id}.py"], "conventions": ["prices are integers of pence"]}
        elif prompt.task_id == self._wants_changes and prompt.attempt == 1:
            result = {"assessment": "needs_changes", "required_fixes": ["Round the prices of the shop."]}
        else:
            result = {"assessment": "approved"}
        return Reply(f"{BEGIN}\n{json.dumps({'task_id': prompt.task_id, **result})}\n{END}\n")


def with_run(
    source: PageSource, run: str = "shop", *, folder: str = "/repo/shop", agents: Scripted | None = None
) -> Scripted:
    names = ("basket", "prices", "orders")
    plan = [PlanTask(name, f"Write the {name} of the shop with prices in pence, in shop/{name}.py.") for name in names]
    agents = agents or Scripted()
    with closing(SqliteSessionFactStore(source.place(folder), run_id=run, settings=Settings())) as facts:
        manager = stored_manager(facts, Settings())
        manager.init_run(run, plan, context="Use British English.")
        dispatch(manager, run, agents)
    return agents


def test_a_run_shows_its_tasks_its_agents_and_the_facts_that_each_prompt_really_held(tmp_path: Path):
    source = source_of(tmp_path)
    asked = with_run(source, agents=Scripted("prices"))
    found = VIEWS["dispatch"](source, {})
    run = found["run"]
    assert [(row["name"], row["done"], row["tasks"]) for row in found["runs"]] == [("shop", 3, 3)]
    assert [(task["id"], task["state"], task["attempts"], task["reviews"]) for task in run["list"]] == [
        ("basket", "done", 1, 1),
        ("prices", "done", 2, 2),
        ("orders", "done", 1, 1),
    ]
    agents = {agent["id"]: agent for agent in run["agents"]}
    assert agents["prices/reviewer"]["answers"] == 2
    assert agents["basket/implementer"]["facts"] > 0
    flowed: dict[str, set[Any]] = {edge["to"]: set() for edge in run["edges"]}
    for edge in run["edges"]:
        flowed[edge["to"]] |= {tuple(run["facts"][place].values())[:3] for place in edge["facts"]}
        assert edge["from"].partition("/")[0] != edge["to"].partition("/")[0], "a task's ledger has its own facts"
    really: dict[str, set[str]] = {}
    for (task, role, _), ids in asked.given.items():
        really.setdefault(f"{task}/{role}", set()).update(ids)
    assert {name: len(facts) for name, facts in flowed.items()} == {
        name: len(ids) for name, ids in really.items() if ids
    }
    assert flowed["orders/implementer"]


def test_a_run_of_another_project_is_asked_for_by_its_place_and_one_that_is_gone_is_refused(tmp_path: Path):
    source = source_of(tmp_path)
    with_run(source, "first")
    with_run(source, "second", folder="/repo/other")
    found = VIEWS["dispatch"](source, {})
    assert [row["run"] for row in found["runs"]] == ["second", "first"]
    assert found["run"]["run"] == "second"
    first = found["runs"][1]
    assert VIEWS["dispatch"](source, {"run": "first", "place": first["place"]})["run"]["project"] == "shop"
    for query in ({"run": "gone"}, {"run": "first", "place": "../.."}):
        with pytest.raises(InputError, match="not stored here any more"):
            VIEWS["dispatch"](source, query)


def test_only_the_newest_answers_are_looked_into_and_their_number_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    source = source_of(tmp_path)
    with_run(source)
    whole = VIEWS["dispatch"](source, {})["run"]
    monkeypatch.setattr(dispatches, "_MOST_STEPS", 2)
    run = VIEWS["dispatch"](source, {})["run"]
    assert (run["steps"], run["steps_read"]) == (6, 2)
    assert {edge["to"] for edge in run["edges"]} == {"orders/implementer", "orders/reviewer"}
    assert [edge for edge in whole["edges"] if edge["to"].startswith("orders/")] != []
    assert run["agents"] == whole["agents"]


def test_a_plan_of_which_nothing_was_answered_yet_is_shown(tmp_path: Path):
    source = source_of(tmp_path)
    with closing(SqliteSessionFactStore(source.place("/repo/shop"), run_id="new", settings=Settings())) as facts:
        stored_manager(facts, Settings()).init_run("new", [PlanTask("one", "Write it.")])
    run = VIEWS["dispatch"](source, {})["run"]
    assert (run["open"], run["steps"], run["edges"], run["facts"]) == (1, 0, [], [])
    assert [agent["answers"] for agent in run["agents"]] == [0, 0]


def test_a_home_without_runs_has_none(tmp_path: Path):
    source = source_of(tmp_path)
    assert VIEWS["dispatch"](source, {}) == {"runs": [], "run": None}
    with_tasks(source)
    assert VIEWS["dispatch"](source, {}) == {"runs": [], "run": None}
    assert VIEWS["tasks"](source, {})["agents"] == []
