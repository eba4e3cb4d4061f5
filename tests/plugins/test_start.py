"""The script of a plugin: which undrift it starts, what it says if it finds none, and that it never fails a client."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from plugins.write import PACKAGED, ROOT
from undrift import __version__

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a POSIX shell starts it")

SHELLS = [shell for shell in ("sh", "bash", "dash", "busybox") if shutil.which(shell)]
START = ("hook", "SessionStart", "--client=claude")
CANNOT = f"version {__version__} cannot be started"


@dataclass
class User:
    """A person with a home folder and a few programs on the PATH."""

    folder: Path
    client: str = "claude"
    variables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for each in (self.home, self.programs, self.project):
            each.mkdir(parents=True)
        for name in ("sh", "grep", "find", "date", "mkdir", "rm", "cat"):
            path = shutil.which(name)
            assert path, name
            (self.programs / name).symlink_to(path)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def programs(self) -> Path:
        return self.folder / "bin"

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def kept(self) -> Path:
        return self.home / ".undrift" / f"plugin-{__version__}-hook"

    def has(self, name: str, body: str) -> Path:
        """Put a program on the PATH."""
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        path.chmod(0o755)
        os.utime(path, (1, 1))
        return path

    def has_undrift(self) -> Path:
        """Put the undrift of these tests on the PATH."""
        return self.has("undrift", f'exec {shlex.quote(sys.executable)} -P -m undrift "$@"')

    def starts(self, *words: str, given: object = None, shell: str = "sh") -> "subprocess.CompletedProcess[str]":
        script = ROOT / "plugins" / self.client / "undrift.sh"
        program = [shutil.which(shell) or shell, *(["sh"] if shell == "busybox" else [])]
        return subprocess.run(
            [*program, script, *words],
            cwd=self.project,
            env={"HOME": str(self.home), "PATH": str(self.programs), **self.variables},
            input=json.dumps(given) if given is not None else "",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def log(self) -> str:
        path = self.home / ".undrift" / "hooks.log"
        return path.read_text(encoding="utf-8") if path.exists() else ""


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


def shown(run: "subprocess.CompletedProcess[str]") -> str:
    assert run.returncode == 0, run.stderr
    return str(json.loads(run.stdout)["systemMessage"]) if run.stdout else ""


@pytest.mark.parametrize("shell", SHELLS)
def test_without_any_program_it_says_so_once_at_the_start(user: User, shell: str) -> None:
    assert CANNOT in shown(user.starts(*START, shell=shell))
    assert user.log().count(CANNOT) == 1
    for quiet in (("hook", "PreCompact", "--client=claude"), (*START, "--part=1"), ("hook", "UserPromptSubmit")):
        assert shown(user.starts(*quiet, shell=shell)) == ""
    assert user.log().count(CANNOT) == 1


@pytest.mark.parametrize("shell", SHELLS)
def test_an_installed_undrift_of_the_version_answers(user: User, shell: str) -> None:
    program = user.has_undrift()
    run = user.starts(*START, given={"session_id": "no session/"}, shell=shell)
    assert (run.returncode, run.stdout) == (0, "")
    assert "the payload names no session" in user.log(), "undrift itself did not run"
    assert user.kept.read_text(encoding="utf-8").strip() == str(program)


def test_the_way_is_looked_for_once(user: User) -> None:
    user.has_undrift()
    user.starts(*START)
    user.has("uvx", ": >asked")
    user.has("pipx", ": >asked")
    before = user.log().count("\n")
    user.starts(*START)
    assert user.log().count("\n") > before, "undrift itself did not run"
    assert not list(user.folder.rglob("asked"))


def test_a_program_that_is_newer_than_the_note_is_looked_at_again(user: User) -> None:
    program = user.has_undrift()
    user.starts(*START)
    user.has("undrift", 'case $1 in --version) echo "undrift 99.0.0" ;; *) echo other >>"$HOME/ran" ;; esac')
    later = time.time() + 60
    os.utime(program, (later, later))
    user.has("uvx", f"echo {shlex.quote(str(user.folder / 'env'))}")
    (user.folder / "env" / "bin").mkdir(parents=True)
    shutil.copy(
        user.has("kept-undrift", f'exec {shlex.quote(sys.executable)} -P -m undrift "$@"'),
        user.folder / "env/bin/undrift",
    )
    user.starts(*START)
    assert user.kept.read_text(encoding="utf-8").strip() == str(user.folder / "env/bin/undrift")
    assert not (user.home / "ran").exists()


def test_uvx_is_asked_for_the_exact_version_and_its_program_is_kept(user: User) -> None:
    environment = user.folder / "env"
    (environment / "bin").mkdir(parents=True)
    shutil.copy(user.has("real", f'exec {shlex.quote(sys.executable)} -P -m undrift "$@"'), environment / "bin/undrift")
    user.has("uvx", f'echo "$*" >>"$HOME/asked"\necho {shlex.quote(str(environment))}')
    assert shown(user.starts(*START)) == ""
    assert user.kept.read_text(encoding="utf-8").strip() == str(environment / "bin/undrift")
    user.starts(*START)
    asked = (user.home / "asked").read_text(encoding="utf-8").splitlines()
    assert len(asked) == 1
    assert f"--from undrift=={__version__} " in asked[0]


def test_pipx_runs_the_exact_version(user: User) -> None:
    real = f"exec {shlex.quote(sys.executable)} -P -m undrift"
    user.has("pipx", f'echo "$*" >>"$HOME/asked"\nshift 4\n{real} "$@"')
    assert shown(user.starts(*START)) == ""
    assert user.kept.read_text(encoding="utf-8").strip() == "pipx"
    asked = (user.home / "asked").read_text(encoding="utf-8").splitlines()
    assert all(line.startswith(f"run --spec undrift=={__version__} undrift ") for line in asked)
    assert len(asked) == 2, "once to see that it works, once for the hook"


def test_while_the_version_is_not_published_the_index_is_asked_once_an_hour(user: User) -> None:
    user.has("uvx", 'echo asked >>"$HOME/asked"; echo "not found in the package registry" >&2; exit 1')
    user.has("pipx", "exit 1")
    for _ in range(3):
        assert CANNOT in shown(user.starts(*START))
    assert (user.home / "asked").read_text(encoding="utf-8") == "asked\n"
    two_hours_ago = time.time() - 7_200
    os.utime(user.kept, (two_hours_ago, two_hours_ago))
    user.starts(*START)
    assert (user.home / "asked").read_text(encoding="utf-8") == "asked\nasked\n"


def test_the_reason_of_uvx_can_be_read(user: User) -> None:
    user.has("uvx", 'echo "error: no route to the index" >&2; exit 1')
    told = shown(user.starts(*START))
    (named,) = re.findall(r"~/(\S+\.why)", told)
    assert (user.home / named).read_text(encoding="utf-8") == "error: no route to the index\n"
    assert (user.home / named).stat().st_mode & 0o777 == 0o600
    user.has_undrift()
    user.starts(*START)
    assert not (user.home / named).exists(), "it works again"


def test_what_is_installed_in_the_meantime_is_found_at_once(user: User) -> None:
    user.has("uvx", "exit 1")
    assert CANNOT in shown(user.starts(*START))
    user.has_undrift()
    assert shown(user.starts(*START)) == ""
    assert "payload" in user.log()


def test_another_version_is_the_last_resort(user: User) -> None:
    user.has("undrift", 'case $1 in --version) echo "undrift 99.0.0" ;; *) echo "$*" >>"$HOME/ran" ;; esac')
    user.has("uvx", "exit 1")
    assert shown(user.starts(*START)) == ""
    assert (user.home / "ran").read_text(encoding="utf-8").startswith("hook SessionStart --client=claude")


def test_a_program_that_fails_fails_no_client_and_is_looked_for_again(user: User) -> None:
    user.has("undrift", f'case $1 in --version) echo "undrift {__version__}" ;; *) exit 3 ;; esac')
    run = user.starts(*START)
    assert (run.returncode, run.stdout) == (0, "")
    assert not user.kept.exists()


@pytest.mark.parametrize("packaged", PACKAGED, ids=lambda packaged: packaged.name)
@pytest.mark.parametrize("of_project", [False, True])
def test_hooks_that_are_installed_too_do_not_fire_twice(tmp_path: Path, packaged, of_project: bool) -> None:
    user = User(tmp_path, packaged.name)
    user.has_undrift()
    scope = ["--project"] if of_project else []
    installer = [sys.executable, "-P", "-m", "undrift", "install", packaged.name, "--yes", *scope]
    done = subprocess.run(
        installer,
        cwd=user.project,
        env={"HOME": str(user.home), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    start = ("hook", "SessionStart", f"--client={packaged.name}")
    told = shown(user.starts(*start))
    assert f"undrift install {packaged.name} --undo" in told
    assert shown(user.starts("hook", "PreCompact", f"--client={packaged.name}")) == ""
    assert "payload" not in user.log(), "undrift itself ran"
    subprocess.run(
        [*installer, "--undo"],
        cwd=user.project,
        env={"HOME": str(user.home), "PATH": ""},
        check=True,
        capture_output=True,
    )
    assert shown(user.starts(*start)) == ""
    assert "payload" in user.log(), "undrift itself did not run"


def test_the_folder_of_the_client_is_the_one_that_it_names(user: User) -> None:
    own = user.folder / "elsewhere"
    user.variables["CLAUDE_PLUGIN_DATA"] = str(own / "plugins" / "data" / "undrift-undrift")
    user.has("undrift", f'case $1 in --version) echo "undrift {__version__}" ;; *) echo "$*" >>"$HOME/ran" ;; esac')
    user.starts(*START)
    assert f"--client-home={own}\n" in (user.home / "ran").read_text(encoding="utf-8")


def test_no_module_of_a_project_is_imported(user: User) -> None:
    user.variables["PYTHONPATH"] = str(user.project)
    for module in ("json", "undrift", "sitecustomize"):
        (user.project / f"{module}.py").write_text("open('stolen', 'w')\n", encoding="utf-8")
    user.has_undrift()
    user.starts(*START)
    assert "payload" in user.log(), "undrift itself did not run"
    assert not list(user.folder.rglob("stolen"))


@pytest.mark.parametrize("name", ["undrift", "uvx", "pipx", "grep", "mkdir"])
@pytest.mark.parametrize("path", [".:{}", "{}:", ":{}", "{}::bin", "bin:{}:*"])
def test_no_program_of_a_project_is_started(user: User, name: str, path: str) -> None:
    user.variables["PATH"] = path.format(user.programs)
    for folder in (user.project, user.project / "bin"):
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(f'#!/bin/sh\n: >"{user.folder}/stolen"\n', encoding="utf-8")
        (folder / name).chmod(0o755)
    assert CANNOT in shown(user.starts(*START))
    user.starts("mcp")
    assert not (user.folder / "stolen").exists()


def test_a_log_that_is_a_link_is_left_alone(user: User) -> None:
    (user.home / ".undrift").mkdir()
    target = user.folder / "target"
    target.write_text("", encoding="utf-8")
    (user.home / ".undrift" / "hooks.log").symlink_to(target)
    assert CANNOT in shown(user.starts(*START))
    assert target.read_text(encoding="utf-8") == ""


def test_a_server_that_cannot_be_started_says_why_and_fails(user: User) -> None:
    run = user.starts("mcp")
    assert run.returncode == 1
    assert run.stdout == ""
    assert CANNOT in run.stderr


def test_the_server_is_started_with_what_it_needs(user: User) -> None:
    pytest.importorskip("mcp", reason="the extra mcp is not installed: pip install 'undrift[mcp]'")
    user.has_undrift()
    asked = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
    }
    run = user.starts("mcp", given=asked)
    answer = json.loads(run.stdout.splitlines()[0])
    assert answer["result"]["serverInfo"]["name"] == "undrift"
