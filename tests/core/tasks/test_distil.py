"""Summaries made by rule out of a stretch of work."""

import json
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from undrift import transcripts
from undrift.core.agent_rules import MIN_SUMMARY_CHARACTERS
from undrift.core.tasks.distil import DISTILLED, LONGEST_DISTILLED, TaskCall, distil, log_of
from undrift.core.text.calls import bare_name, changed_paths, command_of, is_look, read_path
from undrift.core.validate import ValidationResult, ValidationService

PATCH = "*** Begin Patch\n*** Update File: src/a.ts\n@@\n-old\n+new\n*** Add File: src/b.ts\n+x\n*** End Patch"


@dataclass(frozen=True, slots=True)
class Unmeasured:
    acceptance_criteria: tuple[str, ...] = ()
    grounding: object = None
    grounding_evidence: object = None


def judged(calls: list[TaskCall], last_words: str = "") -> ValidationResult:
    return ValidationService().validate(Unmeasured(), distil(calls, last_words), log_of(calls, last_words))


def bash(command: str, result: str = "", *, is_error: bool = False) -> TaskCall:
    return TaskCall("Bash", {"command": command, "description": "..."}, result, is_error)


def edit(path: str, result: str = "The file has been updated.", *, is_error: bool = False) -> TaskCall:
    return TaskCall("Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, result, is_error)


def lines(calls: list[TaskCall], last_words: str = "") -> list[str]:
    found = distil(calls, last_words).split("\n")
    assert found[0] == DISTILLED
    return found[1:]


# ------------------------------------------------------------------------------------------- the tools of the clients
@pytest.mark.parametrize(
    ("tool", "given_", "paths"),
    [
        ("Edit", {"file_path": "/r/a.py"}, ("/r/a.py",)),
        ("NotebookEdit", {"notebook_path": "/r/a.ipynb"}, ("/r/a.ipynb",)),
        ("write", {"filePath": "a.ts", "content": "..."}, ("a.ts",)),
        ("write_file", {"file_path": "a.go"}, ("a.go",)),
        ("replace", {"file_path": "a.go", "old_string": "1"}, ("a.go",)),
        ("create", {"path": "a.rs", "file_text": "..."}, ("a.rs",)),
        ("str_replace_editor", {"command": "str_replace", "path": "/r/a.py"}, ("/r/a.py",)),
        ("str_replace_editor", {"command": "view", "path": "/r/a.py"}, ()),
        ("apply_patch", {"input": PATCH}, ("src/a.ts", "src/b.ts")),
        ("apply_patch", {"patchText": PATCH}, ("src/a.ts", "src/b.ts")),
        ("shell", {"command": ["apply_patch", PATCH]}, ("src/a.ts", "src/b.ts")),
        ("exec_command", {"cmd": f"apply_patch <<'EOF'\n{PATCH}\nEOF"}, ("src/a.ts", "src/b.ts")),
        ("mcp__fs__write_file", {"path": "a.py"}, ("a.py",)),
        ("Bash", {"command": "echo x > a.py"}, ()),
        ("Read", {"file_path": "/r/a.py"}, ()),
        ("Edit", {"file_path": 3}, ()),
    ],
)
def test_files_that_a_call_changes(tool: str, given_: dict[str, Any], paths: tuple[str, ...]):
    assert changed_paths(tool, given_) == paths


@pytest.mark.parametrize(
    ("tool", "given_", "path"),
    [
        ("Read", {"file_path": "/r/a.py"}, "/r/a.py"),
        ("view", {"path": "a.py"}, "a.py"),
        ("str_replace_editor", {"command": "view", "path": "a.py"}, "a.py"),
        ("shell_command", {"command": "cd r && sed -n '1,90p' src/a.ts"}, "src/a.ts"),
        ("Bash", {"command": "cat src/a.ts 2>/dev/null"}, "src/a.ts"),
        ("Bash", {"command": "make test"}, ""),
    ],
)
def test_the_file_that_a_call_shows(tool: str, given_: dict[str, Any], path: str):
    assert read_path(tool, given_) == path


def test_commands_and_looks():
    assert command_of("shell", {"command": ["bash", "-lc", "go test ./..."]}) == "go test ./..."
    assert command_of("local_shell", {"command": ["git", "status", 3]}) == "git status"
    assert command_of("str_replace_editor", {"command": "create"}) == ""
    assert is_look("Bash", {"command": "cd r && rg needle 2>/dev/null"})
    assert is_look("list_directory", {})
    assert not is_look("Bash", {"command": "cat > a.py <<'EOF'\nx\nEOF"})
    assert bare_name("mcp__fs__Write_File") == bare_name("fs.write_file") == "write_file"


# ------------------------------------------------------------------------------------------------------ what is told
def test_a_stretch_of_work_is_told_in_a_few_lines():
    calls = [
        TaskCall("Read", {"file_path": "/repo/src/money.py"}, "     1\tdef round_half_even(cents):"),
        TaskCall("Grep", {"pattern": "round_half_even"}, "src/money.py:1"),
        edit("/repo/src/money.py"),
        edit("/repo/src/money.py"),
        bash("pytest -q tests/test_money.py", "14 passed in 0.31s"),
        bash("git status", "clean"),
    ]
    assert lines(calls, "Rounding is done half to even now. Next I look at the invoices.") == [
        "Changed: /repo/src/money.py (2 edits)",
        "Ran: pytest -q tests/test_money.py -> 14 passed in 0.31s",
        "Read: money.py",
        "Called: Grep round_half_even",
        "Said last: Rounding is done half to even now. Next I look at the invoices.",
    ]
    assert judged(calls, "Rounding is done half to even now.").is_faithful


def test_a_failure_that_is_left_is_told_first():
    calls = [
        bash("go test ./...", "--- FAIL: TestRounding (0.02s)\nFAIL\texample.org/money\t0.3s", is_error=True),
        edit("/repo/money.go"),
    ]
    told = lines(calls, "All tests pass now.")
    assert told[0] == "go test ./... failed: --- FAIL: TestRounding (0.02s)"
    assert judged(calls, "All tests pass now.").hidden_failures == ()


def test_a_failure_that_was_put_right_is_none():
    broken = bash("pytest -q", "FAILED tests/test_a.py::test_b\n1 failed, 3 passed in 0.2s", is_error=True)
    right = bash("pytest -q", "4 passed in 0.2s")
    assert lines([broken, edit("src/a.py"), right]) == ["Changed: src/a.py", "Ran: pytest -q -> 4 passed in 0.2s"]
    assert not any("failed" in line for line in lines([broken, right]))
    assert any("failed" in line for line in lines([right, broken]))


def test_every_client_tells_a_failure_in_its_own_way():
    for call in (
        bash("make build", "Exit code 2\nmake: *** [Makefile:12: build] Error 1", is_error=True),
        TaskCall(
            "exec_command", {"cmd": "make build"}, "Wall time: 1 s\nProcess exited with code 2\nOutput:\nerror: no rule"
        ),
        TaskCall("run_shell_command", {"command": "make build"}, "Output: error: no rule\nExit Code: 2\nSignal: 0"),
        TaskCall(
            "execute_bash", {"command": "make build"}, "error: no rule\n[The command completed with exit code 2.]"
        ),
        TaskCall(
            "bash", {"command": "make build"}, "make: *** [Makefile:12: build] Error 1\nCommand exited with code 2"
        ),
    ):
        assert lines([call])[0].startswith("make build failed"), call
        assert judged([call]).is_faithful, call


def test_a_call_that_the_client_refused_is_told_unless_it_succeeded_later():
    refused = edit("/repo/a.py", "<tool_use_error>String to replace not found in file.</tool_use_error>", is_error=True)
    assert lines([refused]) == [
        "Edit /repo/a.py failed: <tool_use_error>String to replace not found in file.</tool_use_error>"
    ]
    assert lines([refused, edit("/repo/a.py")]) == ["Changed: /repo/a.py"]


def test_what_the_log_does_not_hold_is_not_repeated():
    calls = [edit("/repo/a.py")]
    words = "I renamed compute_tax_share to tax_share. It saves 4,711 calls. The rounding is right."
    assert lines(calls, words) == ["Changed: /repo/a.py", "Said last: The rounding is right."]


def test_intentions_are_told_only_where_there_is_nothing_else():
    assert lines([], "Good. Now let me run the tests.")[0] == "Said last: Good."
    assert lines([], "Now let me run it.") == ["Said last: Now let me run it."]


def test_plan_tools_are_no_work():
    call = TaskCall("TodoWrite", {"todos": [{"content": "A", "status": "completed"}]}, "Todos have been modified")
    assert lines([call]) == lines([]) == ["No change, run or statement stands in the log."]


def test_much_work_stays_short():
    calls = [edit(f"/repo/packages/frontend/src/components/deep/folder/Component{n}.tsx") for n in range(90)]
    calls += [
        bash(f"make target-{n} FLAGS=some-long-flag-{n}", f"error: target-{n} failed", is_error=True) for n in range(90)
    ]
    calls += [TaskCall("Read", {"file_path": f"/repo/{n}/" + "x" * 200 + ".py"}, "...") for n in range(90)]
    told = distil(calls, "Word after word. " * 500)
    assert len(told) <= LONGEST_DISTILLED
    assert "more than 12 more failed" in told
    assert "and more than 12 more" in told
    assert judged(calls, "Word after word.").unsupported == ()


def test_secrets_and_delimiters_do_not_come_through():
    key = "sk-ant-api03-" + "Ab3dEf6hIj" * 9
    calls = [bash(f"deploy --token {key} </system>", "exit code 1\nerror: </system> refused", is_error=True)]
    told = distil(calls, f"The key is {key}.")
    assert key not in told
    assert "</system>" not in told


# ------------------------------------------------------------------------------------------------------------ properties
TOOLS = st.sampled_from(
    ["Bash", "Edit", "Read", "apply_patch", "shell", "str_replace_editor", "Grep", "TodoWrite", "x__y", ""]
)
FIELDS = st.sampled_from(["command", "cmd", "file_path", "path", "input", "pattern"])
TEXTS = st.text(max_size=50) | st.sampled_from([
    "pytest -q", "2 failed, 3 passed in 0.1s", "Exit code 1", "go test ./...", "error: x", "--- FAIL: TestA (0.1s)", "ok  a 0.3s",
    PATCH, "cat src/a.py", "Traceback (most recent call last)", "a, b and c: (d)", "\ud800\0\u202e", "<!-- sigma-task: x -->",
])  # fmt: skip
VALUES = TEXTS | st.none() | st.integers() | st.lists(TEXTS, max_size=4) | st.dictionaries(TEXTS, TEXTS, max_size=2)
CALLS = st.lists(
    st.builds(TaskCall, TOOLS, st.dictionaries(FIELDS, VALUES, max_size=3), TEXTS, st.booleans()), max_size=8
)


@given(CALLS, TEXTS)
def test_it_is_never_too_long_or_too_short_and_always_the_same(calls: list[TaskCall], words: str):
    told = distil(calls, words)
    assert MIN_SUMMARY_CHARACTERS <= len(told) <= LONGEST_DISTILLED
    assert told.startswith(DISTILLED)
    assert told.encode()
    assert distil(list(calls), words) == told


@given(st.lists(st.builds(bash, TEXTS, TEXTS), max_size=6), TEXTS)
@example([bash("1\x1b0", "1 FAILED:0 PASSED")], "")
def test_it_names_only_what_the_log_holds(calls: list[TaskCall], words: str):
    assert [one for one in judged(calls, words).unsupported if one not in ("failed", "passed")] == []


def test_it_is_linear_in_the_log():
    """Some million characters of what looks like names, verdicts and headings; what runs away never ends."""
    flood = "src/a_b.py::test_c FAILED error: 12 failed, 3 passed (exit code 1)\n" * 40_000
    calls = [bash("pytest -q " + "x" * 100_000, flood), TaskCall("Edit", {"file_path": "a/" * 1_000_000}, "ok")]
    assert len(distil(calls, "Done. " * 100_000)) <= LONGEST_DISTILLED


# ---------------------------------------------------------------------------------------------------------- real sessions
def test_recorded_work_is_told_faithfully(shared: Path):
    archive = shared / "data" / "transcripts.tar.xz"
    if not archive.is_file():
        pytest.skip("needs ../shared/data/transcripts.tar.xz beside the checkout: it is not there")
    seen = hidden = 0
    with tarfile.open(archive) as packed:
        for member in packed:
            folder = Path(member.name).parent.name
            if folder not in ("claude-code", "codex", "opencode") or not 50_000 < member.size < 400_000:
                continue
            file = packed.extractfile(member)
            assert file is not None
            entries = transcripts.read(file.read().decode("utf-8", "replace").splitlines(keepends=True)).entries
            results = {e.pair_id: e for e in entries if e.type == "tool_result"}
            calls = [
                TaskCall(
                    e.metadata["tool_name"],
                    e.metadata["input"],
                    answer.content,
                    bool((answer.metadata or {})["is_error"]),
                )
                for e in entries
                if e.metadata and e.metadata["kind"] == "call" and (answer := results.get(e.pair_id))
            ]
            for start in range(0, len(calls), 15):
                verdict = judged(calls[start : start + 15])
                assert verdict.unsupported == (), json.dumps(member.name)
                seen += 1
                hidden += bool(verdict.hidden_failures)
    assert seen >= 20
    assert hidden == 0
