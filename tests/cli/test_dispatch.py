"""`undrift dispatch`: a plan file, real programs, a store that outlives a kill, and errors that say what to do."""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.builders import on_a_terminal, process, undrift
from undrift.core.dispatch.plan import parse_plan
from undrift.errors import DispatchError

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "examples/dispatch/plan.toml"
AGENT = f"{sys.executable} -m undrift.testing.agents"
PATHS = {"PYTHONPATH": str(ROOT / "src")}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", PATHS["PYTHONPATH"])  # for the agents, which are processes of their own
    return tmp_path / "home"


def plan(folder: Path, tasks: int = 2, script: dict[str, Any] | None = None, **fields: Any) -> Path:
    """Write a plan in JSON, whose agents follow a script."""
    (folder / "script.json").write_text(json.dumps(script or {}))
    commands = {role: f"{AGENT} {role} script.json" for role in ("implementer", "reviewer")}
    made = [{"id": f"t{n}", "prompt": f"Change src/part_{n}.py.", "files": [f"src/part_{n}.py"]} for n in range(tasks)]
    path = folder / "plan.json"
    path.write_text(json.dumps({"tasks": made, "commands": commands} | fields))
    return path


def shown(path: Path, home: Path, *arguments: str) -> dict[str, Any]:
    result = undrift("dispatch", path, "--home", home, "--json", *arguments)
    assert result.stderr == ""
    report: dict[str, Any] = json.loads(result.stdout)
    assert result.exit_code == (0 if report["done"] else 1)
    return report


def refusal(*arguments: str | Path) -> str:
    result = undrift("dispatch", *arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    (line,) = result.stderr.splitlines()
    return line


def test_the_demo_plan_runs_without_any_agent_program(home: Path):
    result = undrift("dispatch", DEMO, "--home", home, columns=200)
    assert result.exit_code == 0, result.output
    assert "model  reviewer 1: needs changes: Refuse a number below 1 in Basket.add, with a test." in result.stdout
    assert "model  implementer 2: Basket.add refuses a number below 1 with ValueError." in result.stdout
    assert "storage  implementer 1: no result: marker_missing" in result.stdout
    assert "does not hold" not in result.stdout  # what the script expects of the prompts was in them
    assert "4 of 4 tasks done" in result.stdout
    facts = undrift("facts", "--home", home, "--tag", "convention")
    assert "prices in a basket are integers of pence" in facts.stdout


def test_a_run_that_is_done_asks_nobody_again(tmp_path: Path, home: Path):
    path = plan(tmp_path)
    first = shown(path, home)
    (tmp_path / "script.json").unlink()  # whoever were asked now would fail
    assert shown(path, home) == first
    assert [(one["id"], one["state"], one["attempts"], one["reviews"]) for one in first["tasks"]] == [
        ("t0", "done", 1, 1),
        ("t1", "done", 1, 1),
    ]


def test_another_name_is_another_run(tmp_path: Path, home: Path):
    path = plan(tmp_path, tasks=1)
    names = {shown(path, home)["run"], shown(path, home, "--run", "again")["run"]}
    assert len(names) == 2
    assert "again" in names


def test_what_is_halted_says_why_and_is_taken_up_when_asked(tmp_path: Path, home: Path):
    blocked = {"result": {"assessment": "blocked", "issues": [{"message": "the key is missing"}]}}
    path = plan(tmp_path, script={"reviewer": {"t0": [blocked]}})
    result = undrift("dispatch", path, "--home", home)
    assert result.exit_code == 1
    assert "Task t0 is halted: the reviewer is blocked: important: the key is missing." in result.stdout
    assert "--retry-halted" in result.stdout
    assert [one["state"] for one in shown(path, home)["tasks"]] == ["halted", "open"]
    assert [one["state"] for one in shown(path, home, "--retry-halted")["tasks"]] == ["done", "done"]


def test_options_stand_in_for_the_plan_s_own(tmp_path: Path, home: Path):
    path = plan(tmp_path, tasks=1, commands={}, max_attempts=9)
    quiet = [f"{sys.executable} -c 1", "--reviewer", f"{AGENT} reviewer script.json", "--max-attempts", "2"]
    report = shown(path, home, "--implementer", *quiet)
    (only,) = report["tasks"]
    assert (only["state"], only["attempts"]) == ("halted", 2)
    assert only["failures"][0].startswith("marker_missing")
    slow = shown(path, home, "--implementer", f'{sys.executable} -c "import time; time.sleep(99)"', "--timeout", "0.2",
                 "--reviewer", "true", "--run", "slow", "--max-attempts", "1")  # fmt: skip
    assert "it took more than 0.2 seconds" in slow["tasks"][0]["halt_reason"]


def test_each_level_goes_to_its_provider(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch):
    line = f"{AGENT} implementer {{}}.json"
    commands = {
        "implementer": {name: line.format(name) for name in ("small", "complex")},
        "reviewer": f"{AGENT} reviewer small.json",
    }
    path = tmp_path / "plan.json"
    tasks = [
        {"id": "easy", "prompt": "Fix a typo in the README"},
        {"id": "hard", "prompt": "Redesign the scheduler and its lock"},
    ]
    path.write_text(json.dumps({"tasks": tasks, "commands": commands}))
    for name in ("small", "complex"):
        said = {one["id"]: [{"result": {"summary": f"by {name}"}}] for one in tasks}
        (tmp_path / f"{name}.json").write_text(json.dumps({"implementer": said}))
    refused = undrift("dispatch", path, "--home", home)
    assert refused.exit_code == 1
    assert "no command for provider simple of the implementer: the plan has small, complex" in refused.stderr
    assert "UNDRIFT_ROUTE_SIMPLE" in refused.stderr
    result = undrift("dispatch", path, "--home", home, "--json", env={"UNDRIFT_ROUTE_SIMPLE": "small"})
    assert [one["summary"] for one in json.loads(result.stdout)["tasks"]] == ["by small", "by complex"]


@pytest.mark.skipif(os.name != "posix", reason="kills as POSIX has them")
def test_a_run_that_is_killed_goes_on_where_it_was(tmp_path: Path, home: Path):
    fix = {"result": {"assessment": "needs_changes", "required_fixes": ["Do it better."]}}
    again = [{"sleep_s": 0.02}, {"sleep_s": 0.02, "expects": ["Do it better."]}]
    ids = ["t0", "t1"]
    script = {"reviewer": {one: [fix] for one in ids}, "implementer": dict.fromkeys(ids, again)}
    path = plan(tmp_path, script=script)
    kills = 0
    while True:
        with process(
            "dispatch", path, "--home", home, before="import sys; sys.stdout.reconfigure(line_buffering=True); "
        ) as running:
            assert running.stdout is not None
            for _ in range(2 + kills % 3):  # before an answer is taken in, and after it
                running.stdout.readline()
            if running.stdout.readline() == b"" or kills >= 4:
                running.communicate()
                break
            running.send_signal(signal.SIGKILL)
            kills += 1
    assert kills >= 3
    report = shown(path, home)
    assert [(one["state"], one["attempts"], one["reviews"]) for one in report["tasks"]] == [("done", 2, 2)] * 2
    assert all("Do it better." in one["summary"] for one in report["tasks"])
    said = json.loads(undrift("facts", "--home", home, "--json").stdout)
    assert json.dumps(said).count('"relation": "reviewed_as"') == 2


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_ends_the_agent_and_costs_no_attempt(tmp_path: Path, home: Path):
    path = plan(tmp_path, tasks=1, script={"implementer": {"t0": [{"sleep_s": 600}]}})
    unbuffered = "import sys; sys.stdout.reconfigure(line_buffering=True); "
    with process("dispatch", path, "--home", home, before=unbuffered) as running:
        assert running.stdout is not None
        assert b"implementer 1: sent" in running.stdout.readline()
        running.send_signal(signal.SIGINT)
        out, err = running.communicate()
    assert (running.returncode, out) == (130, b"")
    assert err == b"undrift: interrupted; run the same command again to continue\n"
    (tmp_path / "script.json").write_text("{}")
    assert [(one["state"], one["attempts"]) for one in shown(path, home)["tasks"]] == [("done", 1)]


def test_on_a_terminal_the_lines_stay_readable(tmp_path: Path, home: Path):
    text = on_a_terminal("dispatch", plan(tmp_path, tasks=1), "--home", home, columns=100)
    assert "t0  implementer 1: Did task t0. → dispatch reviewer" in text
    assert "1 of 1 task done" in text


# --------------------------------------------------------------------------------------------------------- wrong plans


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "tasks must be a list of 1 to 1,000 objects: add [[tasks]] with id and prompt"),
        ("tasks = 3", "tasks must be a list"),
        ("a = [", "no TOML: "),
        ('[[tasks]]\nid = "a"', "tasks[0].prompt is missing: add it"),
        ('[[tasks]]\nid = "a b"\nprompt = "p"', "tasks[0]: id must have 1 to 64 letters, digits, _, . and -"),
        ('[[tasks]]\nid = "a"\nprompt = " "', "tasks[0]: prompt of task a must be a text that says something"),
        ('[[tasks]]\nid = "a"\nprompt = "p"\nfiles = "x"', "files of task a must be a list of texts, not 'x'"),
        ('[[tasks]]\nid = "a"\nprompt = "p"\ncriteria = [1]', "criteria of task a must be a list of texts"),
        ('[[tasks]]\nid = "a"\nprompt = "p"\nfile = "x"', "tasks[0] has no 'file': it may have id, prompt, criteria, files"),
        ('[[tasks]]\nid = "a"\nprompt = "p"\n[[tasks]]\nid = "a"\nprompt = "q"', "two tasks have the id a"),
        ('timeout = 1\n[[tasks]]\nid = "a"\nprompt = "p"', "the plan has no 'timeout': it may have tasks, commands"),
        ('timeout_s = true\n[[tasks]]\nid = "a"\nprompt = "p"', "timeout_s must be a number of seconds above 0"),
        ('max_attempts = 0\n[[tasks]]\nid = "a"\nprompt = "p"', "max_attempts must be an integer from 1 to 1,000, not 0"),
        ('context = 1\n[[tasks]]\nid = "a"\nprompt = "p"', "context must be a text"),
        ('[[tasks]]\nid = "a"\nprompt = "p"\n[commands]\ntester = "x"', "commands has no 'tester'"),
        ('[[tasks]]\nid = "a"\nprompt = "p"\n[commands]\nreviewer = "x \'y"', "commands.reviewer: No closing quotation: close"),
        ('[[tasks]]\nid = "a"\nprompt = "p"\n[commands.reviewer]\nsmall = ""', "commands.reviewer.small is empty"),
        ('[[tasks]]\nid = "a"\nprompt = "p"\n[commands]\nreviewer = 1', "commands.reviewer must be a line of words, not 1"),
    ],
)  # fmt: skip
def test_a_wrong_plan_names_the_place_and_the_remedy(text: str, message: str, tmp_path: Path, home: Path):
    path = tmp_path / "plan.toml"
    path.write_text(text)
    line = refusal(path, "--home", home)
    assert line.startswith(f"undrift: {path}: ")
    assert message in line
    assert not home.exists()


def test_a_plan_that_is_no_text_or_too_deep_is_refused(tmp_path: Path, home: Path):
    path = tmp_path / "plan.json"
    path.write_bytes(b"\xff")
    assert "not UTF-8" in refusal(path, "--home", home)
    for deep in ("[" * 100_000, '{"tasks": ' + "[" * 100_000):
        path.write_text(deep)
        assert "no JSON" in refusal(path, "--home", home)
    with pytest.raises(DispatchError, match="no TOML"):
        parse_plan("a = " + "[" * 100_000, "toml")
    assert refusal(tmp_path / "gone.toml").endswith("No such file or directory")


def test_a_plan_without_programs_is_refused_before_anything_is_stored(tmp_path: Path, home: Path):
    assert "no command for the implementer: put implementer" in refusal(plan(tmp_path, commands={}), "--home", home)
    path = plan(tmp_path, commands={"implementer": "no-such-agent-4711 -p", "reviewer": "true"})
    assert "no-such-agent-4711: there is no such program" in refusal(path, "--home", home)
    assert not home.exists()
