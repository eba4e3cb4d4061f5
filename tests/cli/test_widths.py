"""Every text fits 80 columns and reads well at 60; every example of a help text runs."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

import click
import pytest

from tests.cli.builders import environment, replayed, undrift, written
from tests.cli.page import PAGE
from tests.cli.page import written as written_page
from tests.cli.test_commands import LISTED
from tests.cli.test_terminal import compacted_session
from tests.stores.on_server import address_of, skip_without_server
from tests.task_sessions import TaskSession
from undrift.cli import main
from undrift.stores.projects import keep, place_of
from undrift.values.rule import rule_id

ROOT = Path(__file__).parents[2]
CHANGES = ("rules add", "rules remove", "memory edit", "memory forget", "memory import", "memory export")
SERVING = ("proxy", "agent mcp", "web")
"""Commands that run until they are ended."""
LONG = re.compile(r"\S{50,}")
"""A path, an id or an address: it may be longer than a line, and is not broken."""


def too_wide(text: str, columns: int) -> list[str]:
    """The lines that do not fit, but for a command to copy and for a path, which stand alone."""
    lines = [line for line in text.splitlines() if len(line) > columns]
    return [line for line in lines if not line.startswith("  undrift ") and not LONG.fullmatch(line.strip())]


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("words", ["", *LISTED, "why", "uninstall", "bench", "session drift"])
def test_every_help_fits(words: str, columns: int):
    shown = undrift(*words.split(), "--help", columns=columns)
    assert shown.exit_code == 0
    assert not too_wide(shown.stdout, columns)


# ------------------------------------------------------------------------------------------- a home to look into


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with recorded sessions, a plan, a request and a home in which each command finds something."""
    folder = tmp_path_factory.mktemp("demo")
    for name in ("session.jsonl", "sessions/a.jsonl", "claude/projects/p/own.jsonl"):
        written(folder / name, compacted_session())
    shutil.copytree(ROOT / "examples" / "dispatch", folder, dirs_exist_ok=True)
    (folder / "serve.toml").write_text('home = ".undrift-serve"\nlisten = "127.0.0.1:0"\n')
    (folder / "request.json").write_text('{"messages": [{"role": "user", "content": "Go."}]}')
    for name in ("claude", "codex"):
        client = folder / "bin" / name
        client.parent.mkdir(exist_ok=True)
        client.write_text("#!/bin/sh\nexit 0\n")
        client.chmod(0o755)
    home = folder / ".undrift"
    records = keep(place_of(home, folder, shares=True)).records
    here = ("--home", home, "--project", folder)
    session = TaskSession(records)
    (folder / "reference").write_text(session.does("fix-login", content="Fix the login")[0])
    session.close()
    for text in ("We use PostgreSQL for the cache.", "We use SQLite for the cache."):
        undrift("remember", text, "--trust", "user" if "Post" in text else "assistant", *here)
    memories = json.loads(undrift("memory", "list", *here, "--json").stdout)["memories"]
    (folder / "memory").write_text(memories[-1]["id"])
    (folder / "CLAUDE.md").write_text("# Rules\n- Run `make check` before each commit.\n")
    undrift("checkpoint", "before-refactoring", *here)
    undrift("backup", folder / "undrift-backup.db", *here)
    replayed(folder / "session.jsonl", records)
    return folder


def variables(place: Path) -> dict[str, str]:
    own = {"CLAUDE_CONFIG_DIR": str(place / "claude"), "CODEX_HOME": str(place / "none"), "COLUMNS": "80"}
    path = os.pathsep.join([str(place / "bin"), str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return environment(**own, HOME=str(place), PATH=path)


def ran(place: Path, words: list[str], *, stdin: Path | None = None) -> tuple[int, str]:
    """Run a command in the folder; return its exit code and its stderr. One that becomes a client has its own process."""
    if words[0] == "wrap":
        command = [sys.executable, "-m", "undrift", *words]
        own = subprocess.run(
            command,
            cwd=place,
            env=variables(place),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return own.returncode, own.stderr
    given = stdin.read_bytes() if stdin else None
    with chdir(place):
        done = undrift(*words, env=dict(variables(place)), stdin=given)
    fault = done.exception
    if fault is not None and not isinstance(fault, SystemExit):
        raise fault
    return done.exit_code, done.stderr


def reference(place: Path) -> str:
    return (place / "reference").read_text()


@pytest.mark.parametrize(
    "line",
    [
        *("autopsy", "autopsy session.jsonl", "autopsy session.jsonl sessions/a.jsonl", "replay --budget 6k"),
        *("replay session.jsonl --budget 6k", "session list", "session tasks", "session history", "session diff 0"),
        *(
            "memory search cache",
            "memory conflicts",
            "memory list --all",
            "memory import CLAUDE.md --yes",
            "memory export --markdown",
            "doctor",
            "doctor -v",
            "recall REF --why",
            "recall --find value_3_1",
        ),
        *("recall task:fix-login --why", "agent facts", "store backup b.db", "config", "install claude --yes", ""),
    ],
)
def test_the_outputs_of_the_main_commands_fit(place: Path, monkeypatch: pytest.MonkeyPatch, line: str):
    words = line.replace("REF", reference(place)).split() if "REF" in line else line.split()
    monkeypatch.chdir(place)
    done = undrift(*words, env=dict(variables(place)))
    assert done.exit_code in (0, 1), done.stderr
    assert done.stdout or line == "agent facts"
    shown = "\n".join(one for one in done.stdout.splitlines() if not re.match(r"[-+ ] +\"|[-+@]{2}", one))  # a diff
    assert not too_wide(shown, 80)


# ------------------------------------------------------------------------------------------- examples


def examples() -> list[tuple[str, str]]:
    """Each example of a help text, with the command that has it."""
    found = []
    for words in LISTED:
        context, command = click.Context(main), main
        for word in words.split():
            inner = command.get_command(context, word) if isinstance(command, click.Group) else None
            assert inner is not None
            command = inner  # type: ignore[assignment]
        lines = (command.help or "").splitlines()
        found += [(words, line.strip()) for line in lines if line.strip().startswith("undrift ")]
    return found


EXAMPLES = examples()


def test_most_commands_have_an_example():
    groups = {"memory", "rules", "session", "agent", "store", "team", "bench", "completion", "agent hook"}
    assert {words for words, _ in EXAMPLES} >= set(LISTED) - groups


@pytest.mark.parametrize(("words", "line"), EXAMPLES, ids=[line for _, line in EXAMPLES])
def test_every_example_of_a_help_text_runs(place: Path, tmp_path: Path, words: str, line: str):
    if (
        words.startswith(("session rewind", "session undo", "store", "install", "setup", "session checkpoint"))
        or words in CHANGES
    ):
        copy = tmp_path / "copy"  # what an example changes is not seen by the others
        # a gateway of an earlier example may end in between, and its record with it
        shutil.copytree(place, copy, ignore=shutil.ignore_patterns("gateway-*.json"))
        (records,) = (copy / ".undrift" / "projects").iterdir()
        here = keep(place_of(copy / ".undrift", copy)).records
        shutil.copytree(records, here, dirs_exist_ok=True, ignore=lambda *_: ["project.json"])
        if words == "store adopt":  # a store of an earlier version stood at the top of the home
            for path in here.glob("undrift.*"):
                path.rename(copy / ".undrift" / path.name)
        place = copy
    if words == "session undo":
        assert ran(place, ["rewind", "before-refactoring"])[0] == 0
    text, _, given = line.partition(" < ")
    if words == "rules remove":
        assert ran(place, ["rules", "add", "Use tabs."])[0] == 0
    names = {"REF": reference(place), "ID": (place / "memory").read_text(), "RULE": rule_id("Use tabs.")}
    typed = [names.get(word, word) for word in shlex.split(text)[1:]]
    if words == "bench rules":  # all episodes take minutes
        typed += ["--limit", "1", "--compactions", "1", "--modes", "hooks", "--jobs", "1"]
    if words in ("store move", "store sync") or words.startswith("team"):
        typed = on_server(typed, address_of(tmp_path, organisation="acme"))
    if words in ("install", "setup", "memory forget", "memory import", "store adopt", "team drop", "team destroy"):
        typed.append("--yes")
    if words.startswith(SERVING) or "--config" in typed:
        assert_serves(place, typed)
        return
    if words in ("handoff", "continue"):  # else the client takes the place of this process: test_handoff.py starts one
        code, errors = ran(place, [typed[0], "--print", *typed[1:]])
        assert code == 0 or "no recorded session of this project" in errors, errors
        return
    code, errors = ran(place, typed, stdin=place / given if given else None)
    assert code == 0 or (words == "team drop" and "the server has no sessions" in errors), errors
    assert "Traceback" not in errors


def on_server(typed: list[str], address: str) -> list[str]:
    """Let an example be about a home on a server, which has one person with a key; skips without a server."""
    skip_without_server()
    if typed[0] == "store":
        return [address if word.startswith("postgresql://") else word for word in typed]
    made = undrift("team", "key", "ann@example.org", "--home", address, "--json")
    assert made.exit_code == 0, made.output
    key = json.loads(made.stdout)["key"]
    return [*(key[:16] if word == "LABEL" else word for word in typed), "--home", address]


def assert_serves(place: Path, typed: list[str]) -> None:
    """Start a command, wait until it says where it listens, and end it."""
    typed = [*typed, "--json", *(["--port", "0"] if not {"--port", "--config"} & set(typed) else [])]
    command = [sys.executable, "-m", "undrift", *typed]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=place, env=variables(place), text=True, **pipes) as serving:  # type: ignore[call-overload]
        assert serving.stdout is not None
        assert serving.stdout.readline().startswith("{")
        serving.terminate()  # SIGINT would be ignored where the tests run in the background of a shell
        serving.communicate(timeout=30)


def test_what_is_too_wide_is_found():
    wide = "word " * 17
    path = "/" + "x" * 90
    assert too_wide(f"{wide}\n{path}\n  undrift replay {path}\nshort", 80) == [wide]


def test_the_page_of_the_commands_is_made_of_their_help():
    assert written_page(PAGE.read_text(encoding="utf-8")) == PAGE.read_text(encoding="utf-8"), (
        "python -m tests.cli.page"
    )
    assert PAGE.read_text(encoding="utf-8").count("<!--end-->") == len(LISTED) - len(
        {"memory", "session", "agent", "store", "team", "bench", "rules"}
    )
