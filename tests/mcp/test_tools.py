"""The tools over stdio: what they cost, what they answer, how they refuse, and what of it is marked as data."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed: pip install 'undrift[mcp]'")

from tests.builders import records_of
from tests.facts.builders import Clock, fact
from tests.mcp.builders import evicted, near, run, said, stdio
from tests.task_sessions import log_text
from undrift import AGENT_RULES, Session, Settings, token_count
from undrift.facts import SqliteSessionFactStore
from undrift.mcp.surface import ToolChoice

DEFAULT = ["task_update", "recall", "search", "remember"]
MORE = [
    "facts",
    "conflicts",
    "scratchpad_read",
    "scratchpad_write",
    "scratchpad_append",
    "checkpoint",
    "rewind",
    "status",
]
READING = {"recall", "search", "facts", "conflicts", "scratchpad_read", "status"}
MOST_TOKENS = 800


def listed(home: Path, tools: ToolChoice = "default") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []

    async def work() -> None:
        async with near(home, tools=tools) as client:
            result = await client.list_tools()
            found.extend(result.model_dump(mode="json", by_alias=True, exclude_none=True)["tools"])

    run(work)
    return found


def test_the_default_tools_cost_less_than_800_tokens(tmp_path: Path):
    tools = listed(tmp_path)
    assert [tool["name"] for tool in tools] == DEFAULT
    assert token_count(json.dumps({"tools": tools})) < MOST_TOKENS


def test_all_tools_say_truly_what_they_do(tmp_path: Path):
    tools = listed(tmp_path, "all")
    assert [tool["name"] for tool in tools] == DEFAULT + MORE
    for tool in tools:
        hints = tool["annotations"]
        assert hints.get("readOnlyHint", False) == (tool["name"] in READING)
        assert hints["openWorldHint"] is False
        if tool["name"] not in READING:
            assert hints["destructiveHint"] == (tool["name"] in {"scratchpad_write", "rewind"})
        assert tool["outputSchema"]["type"] == "object"
        assert tool["description"]


def test_the_rules_reach_an_agent_as_instructions_and_as_a_prompt(tmp_path: Path):
    async def work() -> None:
        async with stdio(tmp_path) as client:
            assert client.server_info is not None
            assert client.server_info.name == "undrift"
            assert AGENT_RULES in (client.instructions or "")
            prompts = await client.list_prompts()
            assert [prompt.name for prompt in prompts.prompts] == ["agent_rules", "resume"]
            (message,) = (await client.get_prompt("agent_rules")).messages
            assert message.content.text == AGENT_RULES

    run(work)


def test_a_task_is_done_and_its_rejection_says_how_to_repair_it(tmp_path: Path):
    async def work() -> None:
        async with stdio(tmp_path, "--session", "run-1") as client:
            begun = await client.call_tool("task_update", {"id": "t1", "content": "Fix it", "status": "in_progress"})
            assert begun.structured_content["status"] == "in_progress"
            (where,) = begun.structured_content["notes"]
            notes = records_of(tmp_path) / "archives" / "run-1" / "active_context.md"
            assert where == f"Put texts that are too long for its summary into {notes}"
            assert notes.is_file()
            short = await client.call_tool("task_update", {"id": "t1", "status": "completed", "result_summary": "ok"})
            assert short.is_error
            assert "needs at least 15" in said(short)
            assert "Complete it again" in said(short)
            second = await client.call_tool("task_update", {"id": "t2", "status": "in_progress"})
            assert second.is_error
            assert "t1" in said(second)
            done = await client.call_tool(
                "task_update",
                {"id": "t1", "status": "completed", "result_summary": "The cause was in auth.py, line 12."},
            )
            assert not done.is_error

    run(work)
    with Session.open("run-1", home=tmp_path) as session:
        assert [(task.id, task.status) for task in session.tasks()] == [("t1", "completed")]


def test_recall_gives_a_part_and_says_where_it_goes_on(tmp_path: Path):
    text = "\n".join(f"line {number} of it" for number in range(1, 501))
    refs = evicted(tmp_path, text)

    async def work() -> None:
        async with near(tmp_path) as client:
            first = await client.call_tool("recall", {"ref": refs[0]})
            assert first.structured_content["lines"] == 500
            assert first.structured_content["note"] == "More: lines=201-"
            assert "line 200 of it" in said(first)
            assert "line 201" not in said(first)
            assert said(first).endswith("More: lines=201-")
            part = await client.call_tool("recall", {"ref": refs[0], "lines": "10-12"})
            assert "\nline 10 of it\nline 11 of it\nline 12 of it\n" in said(part)
            assert "line 13" not in said(part)
            last = await client.call_tool("recall", {"ref": refs[0], "lines": "-2"})
            assert "\nline 499 of it\nline 500 of it\n" in said(last)
            found = await client.call_tool("recall", {"ref": refs[0], "grep": "LINE 77 "})
            assert "\n77: line 77 of it\n" in said(found)
            beyond = await client.call_tool("recall", {"ref": refs[0], "lines": "900-"})
            assert beyond.is_error
            assert "500 lines only" in said(beyond)

    run(work)


def test_recall_gives_the_lines_of_a_result_that_came_in_parts(tmp_path: Path):
    """As Codex' code mode has them: kept as the JSON of the parts, which would be one line that is cut."""
    output = "\n".join(f"line {number} of the file" for number in range(150))
    parts = [{"type": "input_text", "text": "Script completed"}, {"type": "input_text", "text": output}]
    items: list[Any] = [{"type": "message", "role": "user", "content": "go"}]
    for number in range(12):
        items.append({"type": "custom_tool_call", "call_id": f"c{number}", "name": "exec", "input": f"run({number})"})
        items.append({"type": "custom_tool_call_output", "call_id": f"c{number}", "output": parts})
    with Session.open("s", home=tmp_path, settings=Settings(budget_tokens=8_000)) as session:
        prepared = session.prepare({"model": "gpt-5.5", "input": items}, wire="openai-responses")
        originals = [session.original(action.ref) for action in prepared.actions]
    ref = next(one.ref for one in originals if one.entry.type == "tool_result")

    async def work() -> None:
        async with near(tmp_path) as client:
            text = said(await client.call_tool("recall", {"ref": ref, "lines": "70-80"}))
            assert "line 75 of the file" in text
            assert "of 151;" in text

    run(work)


def test_recall_of_a_task_lists_what_it_let_go_and_greps_in_it(tmp_path: Path):
    refs = evicted(tmp_path)

    async def work() -> None:
        async with near(tmp_path) as client:
            listing = await client.call_tool("recall", {"ref": "read-files"})
            assert all(ref in said(listing) for ref in refs)
            found = await client.call_tool("recall", {"ref": "task:read-files", "grep": "file 2 holds"})
            assert re.search(r"^[0-9a-f]{16}:1: file 2 holds", said(found), re.MULTILINE)
            whole = await client.call_tool("recall", {"ref": refs[-1]})
            assert log_text(2) in said(whole)

    run(work)


def test_what_is_remembered_is_found_and_superseded(tmp_path: Path):
    async def work() -> None:
        async with near(tmp_path) as client:
            first = await client.call_tool("remember", {"text": "The database is PostgreSQL 16."})
            again = await client.call_tool("remember", {"text": "The database is PostgreSQL 16."})
            assert again.structured_content["id"] == first.structured_content["id"]
            second = await client.call_tool("remember", {"text": "The database is SQLite."})
            assert second.structured_content["superseded"] == [first.structured_content["id"]]
            found = await client.call_tool("search", {"query": "which database"})
            assert found.structured_content["refs"][0] == second.structured_content["id"]
            assert "superseded: The database is PostgreSQL 16." in said(found)
            whole = await client.call_tool("recall", {"ref": second.structured_content["id"]})
            assert "\nThe database is SQLite.\n" in said(whole)

    run(work)


def test_what_a_tool_stated_supersedes_nothing_that_was_vouched_for(tmp_path: Path):
    with Session.open("s", home=tmp_path) as session:
        session.remember("The database is PostgreSQL 16.", trust="user")

    async def work() -> None:
        async with near(tmp_path) as client:
            poisoned = await client.call_tool("remember", {"text": "The database is MySQL.", "from_tool": True})
            assert poisoned.structured_content["superseded"] == []

    run(work)


def test_all_further_tools_work(tmp_path: Path):
    async def work() -> None:
        async with near(tmp_path, tools="all", session="s") as client:
            seq = (await client.call_tool("checkpoint", {"label": "before"})).structured_content["seq"]
            await client.call_tool("remember", {"text": "The port is 8080."})
            await client.call_tool("scratchpad_write", {"text": "## Notes\nfirst"})
            await client.call_tool("scratchpad_append", {"text": "second"})
            notes = await client.call_tool("scratchpad_read", {})
            assert "\n## Notes\nfirst\nsecond\n" in said(notes)
            status = await client.call_tool("status", {})
            assert status.structured_content["session"] == "s"
            assert status.structured_content["memories"] == 1
            back = await client.call_tool("rewind", {"to": str(seq)})
            assert back.structured_content == {"seq": seq}
            assert (await client.call_tool("status", {})).structured_content["memories"] == 0
            await client.call_tool("rewind", {"undo": True})
            assert (await client.call_tool("status", {})).structured_content["memories"] == 1
            both = await client.call_tool("rewind", {"to": 1, "undo": True})
            assert both.is_error
            assert (await client.call_tool("facts", {})).structured_content["count"] == 0
            assert (await client.call_tool("conflicts", {})).structured_content["count"] == 0

    run(work)


def test_facts_of_every_run_or_of_the_one_that_was_named(tmp_path: Path):
    clock = Clock(1_000)
    for run_id, place in (("one", "a.py"), ("two", "b.py")):
        with SqliteSessionFactStore(tmp_path, run_id=run_id, settings=Settings(), clock=clock) as store:
            store.add([fact(place, object="task:1"), fact(place, "must_fix", "log less", valid_to=2_000)])

    async def counts(session: str | None) -> list[int]:
        async with near(tmp_path, tools="all", session=session) as client:
            asked: list[dict[str, str]] = [{}, {"subject": "a.py"}, {"subject": "b.py"}, {"subject": "c.py"}]
            return [(await client.call_tool("facts", one)).structured_content["count"] for one in asked]

    async def work() -> None:
        assert await counts(None) == [2, 1, 1, 0]
        assert await counts("one") == [1, 1, 0, 0]

    run(work)


def test_a_tool_that_only_reads_makes_nothing(tmp_path: Path):
    home = tmp_path / "home"

    async def work() -> None:
        async with near(home, tools="all") as client:
            tools = (await client.list_tools()).tools
            for tool in tools:
                if tool.annotations.read_only_hint:
                    given = dict.fromkeys(tool.input_schema.get("required", ()), "task:none")
                    assert said(await client.call_tool(tool.name, given))
                    assert not home.exists(), f"{tool.name} has written something"
            await client.call_tool("checkpoint", {})
            assert home.exists(), "what would be noticed"

    run(work)
