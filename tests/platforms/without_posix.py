"""Takes from this process what POSIX alone has, then does a person's work: ``python -m tests.platforms.without_posix KIND DIR``.

KIND is ``imports``, ``library``, ``commands`` or ``hook``. Law: packages are imported before, for they have branches of their own for each
system; only undrift runs without the names. `sys.platform` says win32 from then on. What stays POSIX here: paths, the console, the file system.
"""

import asyncio
import importlib
import json
import os
import pkgutil
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

__all__ = ["MODULES", "NAMES", "main"]

ROOT = Path(__file__).parents[2]
MODULES = ("fcntl", "grp", "pwd", "resource", "termios", "tty", "pty", "readline", "syslog", "posix_ipc")
NAMES: Mapping[str, str] = {
    "os": "fork forkpty getuid geteuid getgid getegid getgroups setsid setpgid killpg nice pread pwrite major minor sysconf uname"
    " mkfifo chown fchown fchmod lchown O_NOFOLLOW O_NONBLOCK O_CLOEXEC O_DIRECTORY pidfd_open register_at_fork"
    " sched_getaffinity getloadavg sync wait3 wait4 initgroups posix_fadvise fdatasync memfd_create",
    "signal": "SIGKILL SIGHUP SIGPIPE SIGXFSZ SIGALRM SIGUSR1 SIGUSR2 SIGCHLD setitimer alarm",
    "socket": "AF_NETLINK AF_UNIX",
    "time": "clock_gettime pthread_getcpuclockid tzset",
}
"""What Windows lacks: modules, and names of modules that it has."""
_FIRST = (
    "aiohttp anyio apsw click httptools markdown_it mcp mcp.server msgspec numpy rich.console rich.table uvicorn uvicorn.loops.auto"
    " uvicorn.protocols.http.auto uvicorn.lifespan.on wordllama concurrent.futures ctypes email http.client http.server"
    " logging.handlers multiprocessing webbrowser click.testing inspect pdb"
)
_OF_WINDOWS = {"os": "O_BINARY", "subprocess": "DETACHED_PROCESS CREATE_NEW_PROCESS_GROUP"}
"""Flags that Windows alone has; here they are 0, which asks for nothing."""


def _modules() -> list[str]:
    import undrift

    return [name for _, name, _ in pkgutil.walk_packages(undrift.__path__, "undrift.") if not name.endswith("__main__")]


def _leave_posix() -> None:
    """Import what is not ours, then remove the names."""
    for name in _FIRST.split():
        try:
            importlib.import_module(name)
        except ImportError:
            continue  # an extra that is not installed
    subprocess.run([sys.executable, "-c", ""], check=True)  # modules that these import at their first use
    shutil.disk_usage(ROOT)
    tempfile.gettempdir()
    asyncio.run(asyncio.sleep(0))
    time.localtime()
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    for module, names in NAMES.items():
        for name in names.split():
            if hasattr(sys.modules[module], name):
                delattr(sys.modules[module], name)
    for module, names in _OF_WINDOWS.items():
        for name in names.split():
            setattr(sys.modules[module], name, 0)
    os.supports_dir_fd = set()
    os.kill = _no_question
    sys.platform = "win32"


def _no_question(process: int, number: int) -> None:
    raise AssertionError(f"os.kill({process}, {number}): on Windows this is Ctrl+C, or the end of the process")


def imports(folder: Path) -> None:
    """Import every module."""
    for name in _modules():
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            missing = error.name or ""
            if missing.startswith("undrift") or missing in MODULES:
                raise
            print(f"not here: {missing}")


def library(folder: Path) -> None:
    """Trim a history, and manage a session that another process continues."""
    from undrift import Session, Settings, trim

    words = " ".join(f"value_{number} = compute({number})" for number in range(200))
    messages: list[dict] = []
    for number in range(20):
        messages += [
            {"role": "user", "content": f"Look at part {number}."},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": f"t{number}", "name": "read", "input": {"path": "a.py"}}],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": f"t{number}", "content": f"{number} {words}"}],
            },
            {"role": "assistant", "content": "Seen."},
        ]
    messages.append({"role": "user", "content": "Go on."})
    assert trim(messages, 20_000).tokens_after <= 20_000
    body = {"model": "claude-opus-4-5", "max_tokens": 100, "messages": messages}
    with Session.open("s", home=str(folder / "home"), settings=Settings(budget_tokens=20_000)) as session:
        prepared = session.prepare(body, wire="anthropic")
        assert prepared.new
        assert not prepared.warnings, prepared.warnings
        (ref, *_) = [action.ref for action in prepared.new if action.kind == "pruned"]
        assert session.recall(ref)
    with Session.open("s", home=str(folder / "home"), settings=Settings(budget_tokens=20_000)) as session:
        assert session.prepare(body, wire="anthropic").body == prepared.body


def commands(folder: Path) -> None:
    """Run the commands that read: of a recording, of a home with a store and with the file of a gateway."""
    from undrift.cli.keeper import start
    from undrift.errors import SettingsError
    from undrift.stores.gateways import Presence, announce
    from undrift.stores.secret import http_token

    library(folder)
    home = folder / "home"
    http_token(home)
    announce(home, Presence("http://127.0.0.1:9", 9, os.getpid(), 1, {}))
    assert "Compaction 1" in _said("autopsy", str(ROOT / "examples" / "compacted-session.jsonl"))
    assert "still there" in _said(
        "replay", str(ROOT / "examples" / "demo-session.jsonl"), "--home", str(folder / "replay")
    )
    told = json.loads(_said("doctor", "--json", "--home", str(home), status=1))
    wrong = [one["text"] for one in told["findings"] if one["state"] == "wrong"]
    assert [text for text in wrong if "does not answer" not in text] == [], wrong
    assert len(wrong) == 1
    assert "undrift" in _said("doctor", "--report", "--home", str(home), status=1)
    _said("status", "--home", str(home))
    _said("store", "backup", str(folder / "copy.db"), "--home", str(home))
    with pytest.raises(SettingsError, match="needs a POSIX system"):
        start(["undrift"], home / "gateway.log")


def _said(*words: str, status: int = 0, given: str = "") -> str:
    from click.testing import CliRunner

    from undrift.cli import main as program

    done = CliRunner().invoke(program, words, input=given, catch_exceptions=False)
    assert done.exit_code == status, f"{words}: {done.exit_code}\n{done.output}"
    return done.output


def hook(folder: Path) -> None:
    """Let a hook answer the start of a session and a tool that a rule forbids."""
    home = folder / "home"
    for event in ("SessionStart", "UserPromptSubmit", "PreToolUse"):
        payload = {
            "session_id": "s-1",
            "transcript_path": str(folder / "none.jsonl"),
            "cwd": str(folder),
            "source": "startup",
            "prompt": "Fix it.",
            "tool_name": "Bash",
            "tool_input": {"command": "ls"},
            "hook_event_name": event,
        }
        _said("hook", event, "--client=claude", f"--home={home}", f"--client-home={folder}", given=json.dumps(payload))
    log = home / "hooks.log"
    assert not log.exists() or "Error" not in log.read_text(encoding="utf-8"), log.read_text(encoding="utf-8")


KINDS: tuple[Callable[[Path], None], ...] = (imports, library, commands, hook)


def main(arguments: list[str]) -> int:
    """Do one kind of work in a folder; return the exit code."""
    kind, folder = arguments
    _leave_posix()
    {one.__name__: one for one in KINDS}[kind](Path(folder))
    print("done")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
