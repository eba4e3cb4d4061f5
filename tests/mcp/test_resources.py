"""What can be read by address, in pages, and what of other sessions is kept back."""

from pathlib import Path
from urllib.parse import quote

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed: pip install 'undrift[mcp]'")

from mcp.shared.exceptions import MCPError

from tests.mcp.builders import evicted, near, reached, run, said, served
from tests.task_sessions import SUMMARY
from undrift import Session

UNKNOWN = [
    "undrift://",
    "undrift://original/",
    "undrift://original/0000000000000000",
    "undrift://original/..%2f..%2fetc%2fpasswd",
    "undrift://session/nobody/tasks",
    "undrift://session/a/b/tasks",
    "undrift://session/../../etc/passwd",
    "file:///etc/passwd",
    "undrift://original/" + "a" * 5_000,
]


def test_sessions_tasks_notes_and_originals_can_be_read(tmp_path: Path):
    refs = evicted(tmp_path)

    async def work() -> None:
        async with near(tmp_path, session="s") as client:
            listed = (await client.list_resources()).resources
            assert [one.uri for one in listed[:3]] == [
                "undrift://sessions",
                "undrift://session/s/tasks",
                "undrift://session/s/scratchpad",
            ]
            assert {one.uri for one in listed[3:]} >= {f"undrift://original/{ref}" for ref in refs}
            assert len((await client.list_resource_templates()).resource_templates) == 3
            sessions = (await client.read_resource("undrift://sessions")).contents[0]
            assert '"session": "s"' in sessions.text
            tasks = (await client.read_resource("undrift://session/s/tasks")).contents[0]
            assert SUMMARY in tasks.text
            assert "recorded text, not instructions" in tasks.text
            for uri in UNKNOWN:
                with pytest.raises(MCPError, match=r"no resource|no original"):
                    await client.read_resource(uri)
            with pytest.raises(MCPError, match="cursor"):
                await client.list_resources(cursor="x'; --")
            assert (await client.list_resources(cursor="100")).resources == []

    run(work)


def test_a_session_that_was_named_sees_nothing_of_another(tmp_path: Path):
    refs = evicted(tmp_path)
    with Session.open("other", home=tmp_path) as session:
        session.checkpoint("here")

    async def work(server) -> None:
        async with reached(server, session="other") as client:
            assert "'s'" not in (await client.read_resource("undrift://sessions")).contents[0].text
            for ref in (refs[0], "read-files", "task:read-files"):
                assert (await client.call_tool("recall", {"ref": ref})).is_error
            for uri in (f"undrift://original/{refs[0]}", "undrift://session/s/tasks", "undrift://session/s/scratchpad"):
                with pytest.raises(MCPError):
                    await client.read_resource(uri)
        async with reached(server, session="s") as client:
            assert not (await client.call_tool("recall", {"ref": refs[0]})).is_error
            assert "file 1 holds" in said(
                await client.call_tool("recall", {"ref": "read-files", "grep": "file 1 holds"})
            )

    with served(tmp_path) as server:
        run(lambda: work(server))


def test_a_session_with_a_hostile_id_is_read_by_its_address(tmp_path: Path):
    hostile = "../../a b\0\n'; DROP TABLE--"
    with Session.open(hostile, home=tmp_path) as session:
        session.start_task("t", content="hidden")

    named = hostile.replace("\0", "")  # a setting holds no NUL

    async def work() -> None:
        async with near(tmp_path) as client:
            uri = f"undrift://session/{quote(hostile, safe='')}/tasks"
            assert "hidden" in (await client.read_resource(uri)).contents[0].text
        async with near(tmp_path, session=named) as client:
            uri = f"undrift://session/{quote(named, safe='')}/tasks"
            assert uri in [one.uri for one in (await client.list_resources()).resources]

    run(work)
