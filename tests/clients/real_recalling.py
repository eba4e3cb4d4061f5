"""The real Claude Code and Codex get something back by following the note of what left, by their shell and by our MCP server.

Run by ``make clients``, which installs the clients; not part of ``make test``. No request leaves this machine. The scripted
model runs the very command or tool that the note names, with an id of its list.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from tests.clients.matrix import Ran, Room, budget_of
from tests.clients.programs import PROGRAMS, ROOT, Program
from undrift.testing import Follow, Read, Say, Seen, Shell, Turn, Use

STEPS = 10
NOTE = re.compile(
    r"\[Left this window, oldest first \(recorded data, no instructions\)\. (?P<way>[^\n]*):\n(?P<list>[^\]]*)\]"
)
LINE = re.compile(r"^(?P<ref>[0-9a-f]{16}) (?P<words>.*big_(?P<number>\d+)\.txt.*)$", re.MULTILINE)
TOOL = re.compile(r"The tool (\S+) gives one back")
CODEX_WITHOUT_FLAGS = ("exec", "--skip-git-repo-check", "--json")


def listed(text: str) -> tuple[str, str, int]:
    """The way back, the first id of the note, and the number of its file."""
    note = NOTE.search(text)
    assert note, "no note of what left in the request"
    line = LINE.search(note["list"])
    assert line, note[0]
    return note["way"], line["ref"], int(line["number"])


def by_command(text: str) -> Turn:
    way, ref, _ = listed(text)
    command = re.search(r'"(undrift recall) ID"', way)
    assert command, way
    return Shell(f"{command[1]} {ref}")


def by_tool(text: str) -> Turn:
    way, ref, _ = listed(text)
    tool = TOOL.search(way)
    assert tool, way
    return Use(tool[1], {"ref": ref})


def by_code(text: str) -> Turn:
    """As Codex calls a tool of an MCP server in code mode."""
    way, ref, _ = listed(text)
    tool = re.search(r"mcp__undrift\w*", way)
    assert tool, way
    name = tool[0] if tool[0].endswith("recall") else f"{tool[0]}__recall"
    code = f"const r = await tools.{name}({json.dumps({'ref': ref})}); text(r.content.map(c => c.text).join());"
    return Use("exec", text=code)


def searched(text: str) -> Turn:
    """Load the tool first, as Claude Code's model does with a deferred one."""
    way, _, _ = listed(text)
    tool = TOOL.search(way)
    assert tool, way
    return Use("ToolSearch", {"query": f"select:{tool[1]}", "max_results": 5})


def room(
    folder: Path, name: str, arguments: Callable[[Sequence[str]], Sequence[str]], *steps: Turn, reads: bool
) -> Room:
    """A client that looks at ten files, and then does these steps."""
    program = PROGRAMS[name]
    if not program.is_there():
        pytest.skip(f"needs the client in {program.executable}: run `make clients`")
    project = folder / "project"

    def script(_: int) -> list[Turn]:
        paths = [project / f"big_{number}.txt" for number in range(1, STEPS + 1)]
        looks: list[Turn] = [Read(str(path)) if reads else Shell(f"cat {path.name}") for path in paths]
        return [*looks, *steps, Say(f"All {STEPS} files are read.")]

    chosen: Program = replace(program, script=script, arguments=lambda at: arguments(program.arguments(at)))
    found = Room(folder, chosen, STEPS)
    undrift = folder / "bin" / "undrift"
    undrift.write_text(
        f"#!/bin/sh\nPYTHONPATH='{ROOT / 'src'}' exec '{sys.executable}' -P -m undrift \"$@\"\n", "utf-8"
    )
    undrift.chmod(0o700)
    (found.home / ".profile").write_text(f"PATH='{undrift.parent}':$PATH\n", "utf-8")  # Codex has a login shell
    return found


def serve(there: Room, client: str) -> None:
    """Install our MCP server for this user, by our command."""
    words = [sys.executable, "-P", "-m", "undrift", "install", client, "--mcp", "--yes"]
    words += ["--home", str(there.home / ".undrift")]
    environment = {**there.environment(), "PYTHONPATH": str(ROOT / "src")}
    subprocess.run(words, cwd=there.project, env=environment, check=True, capture_output=True, timeout=60)


def budget_for(folder: Path, name: str) -> int:
    """A budget that not all of the files fit in."""
    wide = Room(folder, replace(PROGRAMS[name], script=lambda steps: [Shell("cat big_1.txt"), Shell("cat big_2.txt"), Say("All 2 files are read.")]), 2)  # fmt: skip
    found = budget_of(wide.managed(None), STEPS)
    assert found is not None
    return found + 700  # between two sizes: ids of a run differ in a few tokens


def main_requests(ran: Ran) -> list[Seen]:
    return [seen for seen in ran.asked if seen.kind == "main"]


def rewrites(ran: Ran) -> int:
    """The number of requests that do not begin with the whole history of the one before."""
    histories = [seen.body.get("messages") or seen.body.get("input") for seen in main_requests(ran)]
    plain = [[json.dumps(_plain(item), sort_keys=True) for item in history] for history in histories]
    return sum(after[: len(before)] != before for before, after in pairwise(plain))


def _plain(item: object) -> object:
    """An item without its cache marker, which moves from request to request."""
    if isinstance(item, dict):
        return {key: _plain(value) for key, value in item.items() if key != "cache_control"}
    return [_plain(one) for one in item] if isinstance(item, list) else item


def check(ran: Ran, budget: int, asked_in: int) -> None:
    """The file is not in the request with the note, and comes back with the result. `asked_in`: counted from the end."""
    assert ran.answer(STEPS), ran.said[-2_000:]
    assert not ran.refused
    assert not ran.faults
    assert max(ran.sizes) <= budget
    with_note, back = main_requests(ran)[-1 - asked_in], main_requests(ran)[-1]
    *_, number = listed(with_note.text)
    needle = f"needle_of_file_{number}_ stands here"
    assert needle not in with_note.text
    assert needle in back.text, back.text[-3_000:]


@pytest.fixture(autouse=True)
def _no_other_home(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("UNDRIFT_") and name != "UNDRIFT_TEST_CLIENTS"]:
        monkeypatch.delenv(name)


def test_claude_code_runs_the_command_of_the_note_and_wrap_has_allowed_it(tmp_path: Path):
    def only_read(words: Sequence[str]) -> Sequence[str]:
        return [word for word in words if word != "Bash"]

    budget = budget_for(tmp_path / "wide", "claude")
    ran = room(tmp_path / "a", "claude", only_read, Follow(by_command), reads=True).managed(budget)
    check(ran, budget, asked_in=1)
    without = room(tmp_path / "b", "claude", only_read, reads=True).managed(budget, more=("--no-recall-reachable",))
    assert "[Left this window" not in "".join(seen.text for seen in without.asked)
    upto = len(main_requests(without))
    assert rewrites(replace(ran, seen=tuple(main_requests(ran)[:upto]))) <= rewrites(without)


def test_claude_code_loads_the_tool_of_the_note_and_calls_it(tmp_path: Path):
    def with_tool(words: Sequence[str]) -> Sequence[str]:
        return [*words, "--allowedTools", "Read", "mcp__undrift__recall"]

    budget = budget_for(tmp_path / "wide", "claude")
    there = room(tmp_path / "a", "claude", with_tool, Follow(searched), Follow(by_tool), reads=True)
    serve(there, "claude")
    ran = there.managed(budget, more=("--no-recall-reachable",))
    check(ran, budget, asked_in=2)


@pytest.mark.parametrize("name", ["codex", "codex-code"])
def test_codex_runs_the_command_of_the_note_in_its_sandbox(name: str, tmp_path: Path):
    def in_sandbox(words: Sequence[str]) -> Sequence[str]:
        return [word for word in words if word != "--dangerously-bypass-approvals-and-sandbox"]

    budget = budget_for(tmp_path / "wide", name)
    ran = room(tmp_path / "a", name, in_sandbox, Follow(by_command), reads=False).managed(budget)
    check(ran, budget, asked_in=1)
    without = room(tmp_path / "b", name, in_sandbox, reads=False).managed(budget, more=("--no-recall-reachable",))
    upto = len(main_requests(without))
    assert rewrites(replace(ran, seen=tuple(main_requests(ran)[:upto]))) <= rewrites(without)


def test_codex_calls_the_tool_of_the_note_in_code_mode(tmp_path: Path):
    def unchanged(words: Sequence[str]) -> Sequence[str]:
        return [*words[:-1], "-c", "mcp_servers.undrift.required=true", words[-1]]

    budget = budget_for(tmp_path / "wide", "codex-code")
    there = room(tmp_path / "a", "codex-code", unchanged, Follow(by_code), reads=False)
    serve(there, "codex")
    ran = there.managed(budget, more=("--no-recall-reachable",))
    check(ran, budget, asked_in=1)
