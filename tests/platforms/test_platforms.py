"""docs/platforms.md keeps its word: the parts that it says work on other systems run without what POSIX alone has."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.trees import nodes
from tests.platforms.without_posix import KINDS, MODULES, NAMES
from undrift.values.running import is_running

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src" / "undrift").rglob("*.py"))


@pytest.mark.skipif(sys.platform != "linux", reason="takes from Linux what the other systems lack")
@pytest.mark.parametrize("kind", [kind.__name__ for kind in KINDS])
def test_a_persons_work_is_done_without_posix(kind: str, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tests.platforms.without_posix", kind, str(tmp_path)]
    around = {name: value for name, value in os.environ.items() if not name.startswith(("UNDRIFT_", "DEVS_"))}
    around |= {"HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    done = subprocess.run(words, cwd=ROOT, env=around, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("done\n")


_USES = """from tests.platforms import without_posix
without_posix._leave_posix()
import os, signal
for words in {}:
    try:
        exec(words)
    except (ImportError, AttributeError) as error:
        print(error)
"""


def test_the_names_are_really_gone() -> None:
    used = {"import fcntl": "fcntl", "os.fork": "fork", "os.O_NOFOLLOW": "O_NOFOLLOW", "signal.SIGKILL": "SIGKILL"}
    assert all(name in (*MODULES, *NAMES["os"].split(), *NAMES["signal"].split()) for name in used.values())
    code = _USES.format([*used, "os.getpid"])
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    said = done.stdout.splitlines()
    assert (done.returncode, len(said)) == (0, len(used)), done.stderr
    assert all(name in line for name, line in zip(used.values(), said, strict=True)), said


def calls(path: Path, module: str, name: str) -> Iterator[int]:
    """Yield the lines at which a file calls a function of a module by its full name."""
    for node in nodes(path.read_text(encoding="utf-8")):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == f"{module}.{name}":
            yield node.lineno


def test_one_place_asks_the_system_about_a_process_and_not_on_windows() -> None:
    found = [
        path.relative_to(ROOT / "src" / "undrift").as_posix() for path in SOURCES if any(calls(path, "os", "kill"))
    ]
    assert found == ["values/running.py"]


def test_a_process_that_runs_ended_or_never_was_is_told_apart() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert is_running(child.pid) is True
        assert child.stdin is not None
        child.stdin.close()
        child.wait()
        assert is_running(child.pid) is False
    assert [is_running(number) for number in (0, -1, 1 << 40)] == [False, False, False]
    assert is_running(1) is True, "another user's process runs too"


def test_windows_is_asked_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert is_running(os.getpid()) is None
    assert is_running(0) is False


@pytest.mark.parametrize("unsafe", ["a.md", "a b", "../x", "C:\\x", "con", "NUL", "lpt1", "x:y", "ü", "", "a" * 300])
def test_a_name_from_outside_is_a_name_that_every_system_takes(unsafe: str) -> None:
    from undrift.stores.files import safe_name

    name = safe_name(unsafe)
    assert 0 < len(name) < 256
    assert not set(name) & set('<>:"/\\|?*')
    assert name.isascii()
    assert name.partition(".")[0].lower() not in {"con", "prn", "aux", "nul", "com1", "lpt1"}
    assert name not in (".", "..")
    assert not name.endswith((".", " "))
