"""The real clients: the open work of one starts in the other, with the plan and the files in the first request.

Run by ``make clients``, which installs the clients; not part of ``make test``. No request leaves this machine.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.clients.real_clients import (
    CLAUDE_SETTINGS,
    NEEDLE,
    Place,
    claude_place,
    codex_program,
    codex_settings,
    program,
)
from undrift.testing import Read, Say, ScriptedProvider, Shell, Use

OPEN, DONE = "Measure part_100 again", "Read the file with the parts"
BYPASS = ("--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust")


def both(tmp_path: Path, provider: ScriptedProvider) -> Place:
    """A user with both clients on the PATH, and no hooks."""
    there = claude_place(tmp_path, provider)
    assert (there.home / ".claude" / "settings.json").read_text(encoding="utf-8") == CLAUDE_SETTINGS
    folder = there.home / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(codex_settings(provider.url, limit_tokens=200_000), encoding="utf-8")
    programs = [program(name, "node_modules", ".bin", name).parent for name in ("claude", "codex")]
    there.environment["PATH"] = os.pathsep.join([*map(str, programs), there.environment["PATH"]])
    there.environment["FAKE_KEY"] = "sk-" + "fake"
    return there


def hands_over(there: Place, *words: str) -> None:
    command = [sys.executable, "-P", "-m", "undrift", *words]
    environment = {name: value for name, value in there.environment.items() if name not in ("CLAUDECODE", "GEMINI_CLI")}
    done = subprocess.run(
        command, cwd=there.project, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


def works_in_claude(there: Place, provider: ScriptedProvider) -> None:
    claude = program("claude", "node_modules", ".bin", "claude")
    steps = [Use("TaskCreate", {"subject": subject, "description": subject}) for subject in (DONE, OPEN)]
    provider.say(
        *steps,
        Use("TaskUpdate", {"taskId": "1", "status": "completed"}),
        Read(str(there.project / "work.py")),
        Shell("nosuchtool --fast"),
        Say("The parts are read; next I measure part_100."),
    )
    tools = ("--allowedTools", "Bash", "Read", "TaskCreate", "TaskUpdate", "--output-format", "json")
    there.run(claude, "-p", "Make the parts in work.py faster. Never rename a part.", *tools)


def first_request(provider: ScriptedProvider, known: int) -> str:
    requests = provider.of_kind("main")[known:]
    assert requests, "the client asked nothing"
    return requests[0].text


def assert_has_the_open_work(text: str, parts: Sequence[str]) -> None:
    missing = [part for part in parts if part not in text]
    assert not missing, f"{missing}\n{text[-6_000:]}"


def test_claude_codes_work_starts_in_codex_and_goes_back_with_plan_and_files(tmp_path: Path):
    codex_program()
    with ScriptedProvider() as provider:
        there = both(tmp_path, provider)
        works_in_claude(there, provider)
        known = len(provider.of_kind("main"))
        provider.say(Shell("cat work.py"), Say("Measured; the figures are next."))
        hands_over(there, "handoff", "--to", "codex", "--", "exec", *BYPASS)
        text = first_request(provider, known)
        assert_has_the_open_work(
            text,
            [
                "Never rename a part.", f"- [pending] {OPEN}", f"- [completed] {DONE}", "work.py", NEEDLE,
                "next I measure part_100", "`nosuchtool --fast` failed", "undrift recall --find",
            ],
        )  # fmt: skip
        assert NEEDLE in there.undrift("recall", there.undrift("recall", "--find", NEEDLE).split()[0])
        known = len(provider.of_kind("main"))
        provider.say(Say("I continue in Claude Code."))
        hands_over(there, "handoff", "--to", "claude", "--", "-p")
        assert_has_the_open_work(
            first_request(provider, known),
            [f"- [pending] {OPEN}", "Never rename a part.", "work.py", NEEDLE, "Measured; the figures are next."],
        )


def test_a_new_session_of_claude_code_continues_the_newest_one(tmp_path: Path):
    with ScriptedProvider() as provider:
        there = both(tmp_path, provider)
        works_in_claude(there, provider)
        known = len(provider.of_kind("main"))
        provider.say(Say("I continue."))
        hands_over(there, "continue", "--", "-p")
        assert_has_the_open_work(
            first_request(provider, known), [f"- [pending] {OPEN}", NEEDLE, "Never rename a part."]
        )


def test_a_client_that_reports_json_still_names_the_text_in_its_own_record(tmp_path: Path):
    with ScriptedProvider() as provider:
        there = both(tmp_path, provider)
        works_in_claude(there, provider)
        shown = json.loads(there.undrift("handoff", "--json"))
        assert shown["open_steps"] == [OPEN]
        assert shown["client"] == "claude"
