"""`undrift handoff` and `undrift continue`: the session that they find, the client that they start, and what it gets."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.cli.builders import claude, environment, said
from tests.hooks.builders import SESSION, User, session, with_ids
from tests.warm.started import run
from undrift.clients.started import STARTED, first_prompt
from undrift.errors import InputError

SHOWS = f"#!{sys.executable}\nimport json, sys\nprint(json.dumps(sys.argv[1:]))\n"
OTHER = "22222222-0000-0000-0000-000000000000"
SECRET = "sk-ant-api03-" + "Ab1" * 30


class Desk:
    """A user at a project's folder, with a recorded session and programs in the place of clients."""

    def __init__(self, folder: Path) -> None:
        self.user = User(folder)
        self.project = folder / "project"
        self.programs = folder / "bin"
        for one in (self.project, self.programs):
            one.mkdir()
        self.home = folder / "undrift"
        self.environment = environment(
            HOME=str(folder),
            CLAUDE_CONFIG_DIR=str(self.user.claude_home),
            CODEX_HOME=str(folder / "codex"),
            PATH=f"{self.programs}{os.pathsep}{os.environ['PATH']}",
        )
        for name in ("CLAUDECODE", "GEMINI_CLI"):
            self.environment.pop(name, None)

    def works(self, *more: str, in_folder: Path | None = None, session_id: str = SESSION) -> Path:
        cwd = in_folder or self.project
        records = [*session(), *(claude("assistant", [said(text)], at_s=9) for text in more)]
        return self.user.write(with_ids(records, cwd), session_id)

    def has(self, client: str) -> None:
        program = self.programs / client
        program.write_text(SHOWS)
        program.chmod(0o755)

    def runs(self, *words: str, **variables: str) -> tuple[int, str, str]:
        own = words.index("--") if "--" in words else len(words)
        given = [*words[:own], "--home", str(self.home), *words[own:]]
        done = run(given, cwd=self.project, env={**self.environment, **variables})
        return done.returncode, done.stdout, done.stderr


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_another_client_starts_with_the_open_work_as_its_first_prompt(desk: Desk) -> None:
    desk.works("I found value_0; next I look at value_1.")
    desk.has("codex")
    code, shown, said_of_it = desk.runs("handoff", "--to", "codex", "--", "exec", "--json")
    assert code == 0, said_of_it
    first, second, prompt = json.loads(shown)
    assert (first, second) == ("exec", "--json")
    for part in (
        "where value_0 is computed.",
        "next I look at value_1.",
        "part_3.py",
        "undrift recall --find",
    ):
        assert part in prompt
    code, found, _ = desk.runs("recall", "--find", "value_0")
    assert code == 0
    assert found


def test_print_and_json_start_nothing_and_store_nothing(desk: Desk) -> None:
    path = desk.works()
    desk.has("codex")
    code, shown, said_of_it = desk.runs("handoff", "--to", "codex", "--print", "--budget", "700")
    assert (code, "where value_0 is computed." in shown, str(path) in said_of_it) == (0, True, True)
    assert len(shown) <= 700 * 4
    _, printed, _ = desk.runs("handoff", "--json")
    value = json.loads(printed)
    assert (value["path"], value["client"], value["session_id"]) == (str(path), "claude", SESSION)
    assert not desk.home.exists()


def test_the_newest_session_of_this_project_is_taken_and_one_of_another_is_refused_by_its_id(
    desk: Desk, tmp_path: Path
) -> None:
    here = desk.works()
    other = desk.works(in_folder=tmp_path / "elsewhere", session_id=OTHER)
    os.utime(here, (1_000, 1_000))
    assert json.loads(desk.runs("handoff", "--json")[1])["path"] == str(here)
    code, _, said_of_it = desk.runs("handoff", "--print", OTHER)
    assert (code, "is not of this project" in said_of_it, str(other) in said_of_it) == (1, True, True)
    assert desk.runs("handoff", "--print", str(other))[0] == 0
    assert json.loads(desk.runs("handoff", "--json", SESSION[:8])[1])["path"] == str(here)


def test_each_fault_names_its_remedy(desk: Desk) -> None:
    assert "name a file: undrift handoff FILE" in desk.runs("handoff", "--print")[2]
    desk.works()
    assert "--to claude or --to codex" in desk.runs("handoff")[2]
    assert "known are claude, codex, gemini" in desk.runs("handoff", "--to", "emacs")[2]
    missing = desk.runs("handoff", "--to", "mini", PATH=str(desk.programs))
    assert (missing[0], "pip install mini-swe-agent" in missing[2]) == (1, True)
    assert "has the id 'ffffffff'" in desk.runs("handoff", "--print", "ffffffff")[2]
    assert "larger --budget" in desk.runs("handoff", "--print", "--budget", "20")[2]
    desk.has("claude")
    inside = desk.runs("handoff", "--to", "claude", CLAUDECODE="1")
    assert (inside[0], "--print" in inside[2]) == (1, True)


def test_continue_starts_the_same_client_again(desk: Desk) -> None:
    desk.works()
    desk.has("claude")
    code, shown, _ = desk.runs("continue", "--", "-p")
    assert code == 0
    words = json.loads(shown)
    assert words[0] == "-p"
    assert "where value_0 is computed." in words[1]


def test_inside_a_client_the_text_waits_for_the_next_clear_and_is_given_once(desk: Desk) -> None:
    desk.works()
    code, shown, said_of_it = desk.runs("continue", CLAUDECODE="1")
    assert (code, shown, "next /clear" in said_of_it) == (0, "", True)
    assert desk.user.starts("clear", cwd="/elsewhere") == ""
    assert "where value_0 is computed." in desk.user.starts("clear", cwd=str(desk.project))
    assert desk.user.starts("clear", cwd=str(desk.project)) == ""


def test_secrets_reach_neither_the_prompt_nor_the_waiting_text(desk: Desk) -> None:
    desk.works(f"I used {SECRET} for it.")
    _, shown, _ = desk.runs("handoff", "--print")
    assert "for it." in shown
    assert SECRET not in shown
    desk.runs("continue", "--after-clear")
    assert SECRET not in desk.user.starts("clear", cwd=str(desk.project))


@pytest.mark.parametrize("client", sorted(STARTED))
def test_every_client_gets_the_text_or_a_file_with_it(client: str) -> None:
    words = first_prompt(client, "# Continue {this}", "/records/handoff.md", ["exec"])
    assert words[0] == "exec"
    assert ("# Continue {this}" in words) != ("/records/handoff.md" in words)


def test_a_text_that_no_command_line_takes_is_refused() -> None:
    with pytest.raises(InputError, match="smaller --budget"):
        first_prompt("codex", "x" * 130_000, "")
