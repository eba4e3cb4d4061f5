"""A server that was given no session has one of its own: two agents never share a task slot."""

from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed: pip install 'undrift[mcp]'")

from mcp_types import Implementation

from tests.mcp.builders import evicted, near, run, said, stdio
from undrift import Session
from undrift.mcp.place import ServedHome
from undrift.mcp.slot import SessionClaim
from undrift.settings import Settings

START = {"status": "in_progress", "content": "work"}


@pytest.mark.parametrize("folders", [("a", "b"), ("a", "a")], ids=["two projects", "two terminals of one project"])
def test_two_servers_of_one_home_have_a_task_each(tmp_path: Path, folders: tuple[str, str]):
    for name in folders:
        (tmp_path / name).mkdir(exist_ok=True)
    one, other = (tmp_path / name for name in folders)

    async def work() -> None:
        home = tmp_path / "home"
        async with stdio(home, "--tools", "all", cwd=one) as first, stdio(home, "--tools", "all", cwd=other) as second:
            for client, task in ((first, "fix-login"), (second, "add-cache")):
                answer = await client.call_tool("task_update", {"id": task, **START})
                assert not answer.is_error, said(answer)
            states = [(await client.call_tool("status", {})).structured_content for client in (first, second)]
            assert [state["working_on"] for state in states] == [["fix-login"], ["add-cache"]]
            assert states[0]["session"] != states[1]["session"]

    run(work)


def test_a_server_that_is_started_anew_in_its_folder_goes_on(tmp_path: Path):
    """And it is named so that a person sees whose it is."""
    (tmp_path / "My Project").mkdir()
    seen: list[str] = []

    async def work(task: dict[str, str]) -> None:
        info = Implementation(name="Claude Code\x1b]0;\n../", version="1")
        async with stdio(tmp_path / "home", "--tools", "all", cwd=tmp_path / "My Project", client_info=info) as client:
            if task:
                assert not (await client.call_tool("task_update", task)).is_error
            state = (await client.call_tool("status", {})).structured_content
            assert state["working_on"] == ["fix-login"]
            seen.append(state["session"])

    run(lambda: work({"id": "fix-login", **START}))
    run(lambda: work({}))
    assert seen[0] == seen[1]
    assert seen[0].startswith("mcp-my-project-claude-code-0-")


def test_what_another_session_recorded_is_still_found(tmp_path: Path):
    """The hooks record into the client's own session."""
    refs = evicted(tmp_path)

    async def work() -> None:
        async with near(tmp_path) as client:
            found = await client.call_tool("search", {"query": "file 1 holds"})
            assert refs[1] in found.structured_content["refs"]
            assert f"lines of {refs[1]}:\n1: " in found.structured_content["data"]
            assert not (await client.call_tool("recall", {"ref": refs[1]})).is_error

    run(work)


def test_a_look_makes_nothing(tmp_path: Path):
    place = ServedHome(tmp_path, Settings())
    with Session.open("other", home=tmp_path) as session:
        session.checkpoint("here")
    before = sorted(tmp_path.rglob("*"))
    looked = place.session_id()
    with place.look() as session:
        assert session is not None
    assert [path for path in sorted(tmp_path.rglob("*")) if path not in before and "undrift.db" not in path.name] == []
    assert place.session_id(to_write=True) == looked == place.session_id()


def test_a_session_that_is_named_is_the_one(tmp_path: Path):
    place = ServedHome(tmp_path, Settings(), session="mine")
    assert (place.session_id(), place.session_id("theirs")) == ("mine", "theirs")


@pytest.mark.parametrize("client", ["", "\0\n/../..", "é" * 10_000, "x" * 10_000, "\udcff"])
def test_a_name_is_short_and_plain_whatever_a_client_calls_itself(tmp_path: Path, client: str):
    slot = SessionClaim(tmp_path, "/srv/\udcff/../A b")
    name = slot.claim(client)
    assert name.isascii()
    assert len(name) < 80
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert SessionClaim(tmp_path, "/srv/\udcff/../A b").claim(client) != name


def test_a_home_that_cannot_be_written_to_still_gives_each_process_a_name(tmp_path: Path):
    (tmp_path / "file").write_text("")
    assert SessionClaim(tmp_path / "file" / "home", "/repo").claim("c").startswith("mcp-repo-c-")


def test_what_lies_in_the_way_of_a_lock_is_passed_over(tmp_path: Path):
    first = SessionClaim(tmp_path, "/repo").free("c")
    (tmp_path / "mcp").mkdir()
    (tmp_path / "mcp" / f"{first}.lock").symlink_to(tmp_path / "elsewhere")
    assert SessionClaim(tmp_path, "/repo").claim("c").startswith(first)
    assert not (tmp_path / "elsewhere").exists()
