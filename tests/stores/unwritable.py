"""Homes that cannot be written, really: on a file system that is mounted read-only, or in a folder without the right to write.

Run as a program, in a process that may do that: ``python -m tests.stores.unwritable KIND FOLDER`` makes homes, takes the right
to write away, uses them, and prints what came of it as JSON.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from undrift.errors import StoreError
from undrift.settings import Settings

__all__ = ["HOMES", "in_place", "refusal"]

_OPEN: list[Any] = []
"""Sessions that are still open when their process is killed: one that nothing refers to would be closed in order."""

HOMES = ("closed", "killed", "without-shm")
"""Closed in order; its process killed; and that one copied without the ``-shm``, as archives and images have it."""
_SETTINGS = {"budget_tokens": 1_500, "policy": "recency", "embedder": "none"}
_STEPS = {
    "file-system": "mount -t tmpfs -o mode=700 undrift-test {0} && exec {1} file-system {0}",
    "folder": "exec {1} folder {0}",
}


def refusal(kind: str) -> str:
    """Why such a place cannot be made here; empty where it can."""
    if kind == "folder" and os.geteuid():
        return ""
    command = {"file-system": ["unshare", "-m", "true"], "folder": _without_override(["true"])}[kind]
    if os.geteuid() or not shutil.which(command[0]):
        return f"needs root and {command[0]}"
    return "" if subprocess.run(command, capture_output=True).returncode == 0 else f"{command[0]} is refused here"


def in_place(kind: str, folder: Path) -> dict[str, Any]:
    """Make homes in a place that cannot be written, use them, and return what came of it, by home."""
    program = f"{sys.executable} -m tests.stores.unwritable"
    command = ["sh", "-c", _STEPS[kind].format(folder, program)]
    if kind == "file-system":
        command = ["unshare", "-m", *command]
    elif not os.geteuid():
        command = _without_override(command)
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def _without_override(command: Sequence[str]) -> list[str]:
    """As root, but for the right to write what the mode of a folder forbids."""
    return ["setpriv", "--bounding-set", "-dac_override", *command]


def _main(kind: str, folder: Path) -> None:
    from tests.stores.builders import database

    made: Any = None
    for name in HOMES[:2]:
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            os.write(writer, json.dumps(_filled(folder / name, closes=name == "closed")).encode())
            os.kill(os.getpid(), signal.SIGKILL)
        os.close(writer)
        os.waitpid(child, 0)
        made = json.loads(os.read(reader, 1 << 20))
    shutil.copytree(folder / "killed", folder / "without-shm")
    database(folder / "without-shm").with_name("undrift.db-shm").unlink()
    if kind == "folder":
        for name in HOMES:
            (folder / name).chmod(0o500)
            database(folder / name).chmod(0o400)
    else:
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
    before = _names(folder)
    used = {name: _used(folder / name, *made) for name in HOMES}
    print(json.dumps({**used, "untouched": before == _names(folder)}))


def _filled(home: Path, *, closes: bool) -> tuple[list[Any], list[Any], list[str]]:
    """Make a home with decisions, a task and a memory; return its history, the window, and references of what left."""
    from tests.builders import assistant, body, call, result, sent, text, user
    from undrift import Session

    session = Session.open("s", home=home, settings=Settings(**_SETTINGS))  # type: ignore[arg-type]
    session.start_task("read", content="Read them all.")
    session.remember("The main database is SQLite.")
    history = [user("Read them.")]
    prepared = session.prepare(body(*history))
    for number in range(12):
        said = f"the number 7 stands in file {number} " * 20
        history += [
            assistant(text("I look."), call(f"c{number}", path=f"{number}.py")),
            user(result(f"c{number}", said)),
        ]
        prepared = session.prepare(body(*history))
    if closes:
        session.close()
    else:
        _OPEN.append(session)
    return history, sent(prepared), [one.ref for one in prepared.actions if one.kind == "pruned"]


def _used(home: Path, history: list[Any], window: list[Any], refs: list[str]) -> dict[str, Any]:
    from tests.builders import assistant, body, sent, user
    from tests.cli.builders import undrift
    from undrift import Session

    commands = [["recall", refs[0]], ["sessions"], ["tasks"], ["search", "main database"], ["why", refs[0]], ["doctor"]]
    with tempfile.TemporaryDirectory() as elsewhere:
        commands.append(["store", "backup", f"{elsewhere}/backup.db"])
        outcomes = {one[0]: undrift(*one, "--home", home) for one in commands}
    said = {name: [done.exit_code, done.stdout + done.stderr] for name, done in outcomes.items()}
    with Session.open("s", home=home, settings=Settings(**_SETTINGS)) as session:  # type: ignore[arg-type]
        prepared = session.prepare(body(*history))
        text = session.recall(refs[0])
        again = session.prepare(body(*history, assistant("Good."), user("more " * 400)))
        refused = ""
        try:
            session.remember("The parser is written in Rust.")
        except StoreError as error:
            refused = str(error)
    return {
        **said,
        "recalled": text,
        "left": [one.ref for one in prepared.actions if one.kind == "pruned"] == refs,
        "window": sent(prepared) == window != history,
        "goes_on": sent(again)[: len(window)] == window,
        "warnings": [*prepared.warnings, *again.warnings],
        "refused": refused,
    }


def _names(folder: Path) -> list[tuple[str, int]]:
    return sorted((str(one), one.stat().st_size) for one in folder.rglob("*"))


if __name__ == "__main__":
    _main(sys.argv[1], Path(sys.argv[2]))
