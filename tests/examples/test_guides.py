"""The command lines of the guides run in the order of their page, and print what it shows, in a home with one recorded session."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples.running import environment

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SESSION = ROOT / "examples" / "compacted-session.jsonl"
GUIDES = [DOCS / "start.md", *sorted((DOCS / "guides").glob("*.md"))]
LEFT_OUT = "…"
RUN_ELSEWHERE = {"docs/integrations.md": "needs five frameworks: tests/integrations/test_examples.py runs its programs"}
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(page: Path) -> list[tuple[str, list[str]]]:
    """Return each command of a page with the lines that it shows."""
    found: list[tuple[str, list[str]]] = []
    for block in _BLOCK.findall(page.read_text(encoding="utf-8")):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def flat(text: str) -> str:
    return " ".join(text.split())


def not_printed(shown: list[str], printed: str) -> list[str]:
    """Return the shown lines that are not printed, in their order; an ellipsis replaces any lines, or the rest of one."""
    lines, at, missing = [flat(line) for line in printed.splitlines()], 0, []
    for line in (flat(line).removesuffix(LEFT_OUT).rstrip() for line in shown):
        place = next((n for n in range(at, len(lines)) if lines[n].startswith(line)), None) if line else at
        if place is None:
            missing.append(line)
        elif line:
            at = place + 1
    return missing


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A person's home: one session that Claude Code recorded, the folder of Codex, and `undrift` and `python` on the PATH."""
    sessions = tmp_path / "home" / ".claude" / "projects" / "-repo"
    sessions.mkdir(parents=True)
    (sessions / SESSION.name).write_bytes(SESSION.read_bytes())
    (tmp_path / "home" / ".codex").mkdir()
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, words in {"undrift": "-m undrift ", "python": ""}.items():
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {words}"$@"\n', encoding="utf-8")
        program.chmod(0o755)
    return tmp_path / "home"


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.name)
def test_a_guide_shows_what_its_commands_print(page: Path, home: Path, tmp_path: Path) -> None:
    found = commands(page)
    assert found
    path = f"{tmp_path / 'bin'}:/usr/bin:/bin"
    given = environment(tmp_path)
    variables = {
        "HOME": str(home),
        "PATH": path,
        "PYTHONPATH": f"{ROOT / 'src'}:{given['PYTHONPATH']}",
        "COLUMNS": "80",
    }
    for command, shown in found:
        done = subprocess.run(
            shlex.split(command), cwd=ROOT, env=variables, capture_output=True, text=True, encoding="utf-8", check=False
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        printed = done.stdout.replace(str(home), "~")
        assert not_printed(shown, printed) == [], f"docs/{page.name}, {command}, prints:\n{printed}"


def test_a_line_that_is_not_printed_is_found() -> None:
    assert not_printed(["a  1", LEFT_OUT, "c", "b 2"], "a 1 more\nb 2\nc\n") == ["b 2"]


def test_no_guide_shows_a_command_in_another_form() -> None:
    """A block with a prompt is one of these, so none escapes the test above."""
    others = [
        path.relative_to(ROOT).as_posix()
        for path in DOCS.rglob("*.md")
        for kind, block in re.findall(r"^```(\w*)\n(.*?)^```$", path.read_text(encoding="utf-8"), re.M | re.S)
        if re.search(r"^\$ ", block, re.M) and (kind != "console" or path not in GUIDES)
    ]
    assert sorted(set(others)) == list(RUN_ELSEWHERE)
