"""Programs in the roles: what they print counts, what they do badly is said in a sentence, and none of them stays."""

import os
import shlex
import sys
import time
from pathlib import Path

import pytest

from tests.dispatch.builders import in_memory, task
from undrift.core.dispatch.prompt import CompiledPrompt
from undrift.dispatch import CommandAgents, Reply
from undrift.errors import DispatchError
from undrift.testing import agents as scripted

NEEDS_POSIX = pytest.mark.skipif(os.name != "posix", reason="sessions and signals of POSIX")


@pytest.fixture
def prompt() -> CompiledPrompt:
    manager = in_memory()
    manager.init_run("run", (task("a", "Say \ud800 and é."),))
    return manager.compile_prompt("run", "a")


def running(code: str, folder: Path, **limits: float) -> CommandAgents:
    """Agents that run this Python."""
    words = [sys.executable, "-c", code]
    return CommandAgents({"implementer": {"": words}, "reviewer": {"": words}}, folder, **limits)  # type: ignore[arg-type]


def test_a_program_gets_the_prompt_and_is_heard(tmp_path: Path, prompt: CompiledPrompt):
    code = "import sys, os; data = sys.stdin.buffer.read(); print(len(data), os.getcwd()); print('x', file=sys.stderr)"
    reply = running(code, tmp_path).answer(prompt)
    assert reply == Reply(f"{len(prompt.text.encode('utf-8', 'replace'))} {tmp_path.resolve()}\n")


def test_what_a_shell_would_do_is_not_done(tmp_path: Path, prompt: CompiledPrompt):
    words = (sys.executable, "-c", "import sys; print(sys.argv[1:])", "$(touch x)", ";", "`touch x`", "> x", "*")
    agents = CommandAgents({"implementer": {"": words}, "reviewer": {"": words}}, tmp_path)
    assert agents.answer(prompt).output == f"{list(words[3:])}\n"
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_never_reads_is_heard_all_the_same(tmp_path: Path):
    manager = in_memory()
    manager.init_run("run", (task("a", "word " * 100_000),))
    long = manager.compile_prompt("run", "a", max_prompt_tokens=10**9)
    assert running("print('done')", tmp_path).answer(long) == Reply("done\n")


def test_an_exit_code_is_a_fault_with_the_last_line_of_stderr(tmp_path: Path, prompt: CompiledPrompt):
    code = "import sys; print('some'); print('first\\nno key is set', file=sys.stderr); sys.exit(3)"
    assert running(code, tmp_path).answer(prompt) == Reply("some\n", "it ended with exit code 3: no key is set")


@NEEDS_POSIX
def test_a_signal_is_a_fault(tmp_path: Path, prompt: CompiledPrompt):
    reply = running("import os; os.kill(os.getpid(), 9)", tmp_path).answer(prompt)
    assert reply.fault == "it ended with signal 9"


def test_a_program_that_takes_too_long_is_ended(tmp_path: Path, prompt: CompiledPrompt):
    reply = running("import time; time.sleep(600)", tmp_path, timeout_s=0.3).answer(prompt)
    assert reply.fault == "it took more than 0.3 seconds and was ended"


def test_a_program_that_prints_without_end_is_ended(tmp_path: Path, prompt: CompiledPrompt):
    reply = running("while True: print('x' * 9999)", tmp_path, most_output_bytes=100_000).answer(prompt)
    assert reply == Reply("", "it printed more than 100,000 bytes and was ended")


def test_no_end_of_stderr_is_kept_but_the_last_of_it(tmp_path: Path, prompt: CompiledPrompt):
    code = "import sys; sys.stderr.write('x' * 5_000_000 + '\\nthe end'); sys.exit(1)"
    assert running(code, tmp_path).answer(prompt).fault == "it ended with exit code 1: the end"


@NEEDS_POSIX
def test_what_a_program_has_started_ends_with_it(tmp_path: Path, prompt: CompiledPrompt):
    child = f"{sys.executable} -c 'import time; time.sleep(600)' & echo $!"
    agents = CommandAgents({role: {"": ("sh", "-c", child)} for role in ("implementer", "reviewer")}, tmp_path)
    reply = agents.answer(prompt)
    assert reply.fault == ""
    process = int(reply.output)
    for _ in range(200):
        if not Path(f"/proc/{process}/cmdline").exists() or Path(f"/proc/{process}/cmdline").read_bytes() == b"":
            break
        time.sleep(0.05)
    else:
        pytest.fail("it still runs")


def test_a_provider_has_a_program_of_its_own(tmp_path: Path):
    small, other = (sys.executable, "-c", "1"), (sys.executable, "-c", "2")
    agents = CommandAgents({"implementer": {"small": small, "": other}, "reviewer": {"small": small}}, tmp_path)
    assert agents.words("implementer", "small") == list(small)
    assert agents.words("implementer", "complex") == list(other)
    with pytest.raises(DispatchError, match="no command for provider complex of the reviewer: the plan has small"):
        agents.words("reviewer", "complex")


def test_a_program_that_is_not_there_is_named_before_anything_runs(tmp_path: Path):
    here = {"": (sys.executable,)}
    for given in ("no-such-agent-4711", "./agent.sh", str(tmp_path / "gone")):
        with pytest.raises(DispatchError, match="there is no such program, which the reviewer's command begins with"):
            CommandAgents({"implementer": here, "reviewer": {"": (given,)}}, tmp_path)
    with pytest.raises(
        DispatchError, match=r"no command for the reviewer: put reviewer = .* or give it with --reviewer"
    ):
        CommandAgents({"implementer": here}, tmp_path)


@NEEDS_POSIX
def test_a_program_beside_the_plan_is_found(tmp_path: Path, prompt: CompiledPrompt):
    program = tmp_path / "agent.sh"
    program.write_text("#!/bin/sh\necho hello\n")
    program.chmod(0o700)
    agents = CommandAgents({role: {"": ("./agent.sh",)} for role in ("implementer", "reviewer")}, tmp_path)
    assert agents.answer(prompt) == Reply("hello\n")
    program.write_text("#!/no/such/interpreter\n")
    with pytest.raises(DispatchError, match="it cannot be started"):
        agents.answer(prompt)


def test_the_shipped_agents_answer_a_prompt(tmp_path: Path, prompt: CompiledPrompt):
    script = tmp_path / "script.json"
    script.write_text('{"implementer": {"a": [{"result": {"summary": "As scripted."}}]}}')
    line = "{python} -m undrift.testing.agents implementer script.json"
    agents = CommandAgents({role: {"": shlex.split(line)} for role in ("implementer", "reviewer")}, tmp_path)
    assert '"summary": "As scripted."' in agents.answer(prompt).output


def test_a_scripted_agent_follows_its_steps(prompt: CompiledPrompt):
    steps = [{"expects": ["no such text"]}]
    text, _ = scripted.answer("implementer", {"implementer": {"a": steps}}, prompt.text)
    assert '"status": "failed"' in text
    assert (
        scripted.answer("implementer", {"implementer": {"a": [{"print": "raw", "exit": 4}]}}, prompt.text)[0] == "raw"
    )
    assert '"assessment": "approved"' in scripted.answer("reviewer", {}, prompt.text)[0]
    with pytest.raises(ValueError, match="pipe a prompt"):
        scripted.answer("implementer", {}, "hello")
