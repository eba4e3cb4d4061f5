"""Programs of the examples and samples of the pages, run offline. ``python -m tests.examples.running`` writes the screens again."""

import importlib.util
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from urllib.request import Request, urlopen

__all__ = [
    "EXAMPLES",
    "QUESTIONS",
    "SCREENS",
    "Sample",
    "ask",
    "figures_shown",
    "main",
    "offline",
    "run",
    "samples",
    "screens",
    "server",
]

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
SCREENS = EXAMPLES / "README.md"
QUESTIONS = 6
"""So many times the page asks the server."""

GUARD = """
import sys

def refuse(event, arguments):
    if event in ("socket.connect", "socket.sendto"):
        arguments = arguments[1]
    elif event not in ("socket.getaddrinfo", "socket.gethostbyname"):
        return
    if arguments[0] not in ("127.0.0.1", "localhost", "::1", b"127.0.0.1", b"localhost"):
        raise AssertionError(f"a connection: {event} {arguments!r}")

sys.addaudithook(refuse)
"""
"""Runs at the start of each Python process, so that none of them reaches beyond this machine."""

_COMMAND = re.compile(r"^\$ python (examples/\S+\.py)(.*)$", re.MULTILINE)
_FIGURES = re.compile(r"^\$ for question .*\n((?:data: .*\n)*data: .*)$", re.MULTILINE)
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def offline() -> ModuleType:
    """Return ``examples/offline.py`` as a module."""
    spec = importlib.util.spec_from_file_location("offline", EXAMPLES / "offline.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def environment(folder: Path) -> dict[str, str]:
    """Return the variables for a program that may open no connection beyond this machine. `folder`: for the guard."""
    (folder / "sitecustomize.py").write_text(GUARD, encoding="utf-8")
    return {**os.environ, "PYTHONPATH": str(folder)}


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command line of a screen, such as ``examples/offline.py examples/loops/gemini_loop.py``."""
    words = [sys.executable, *command.split()]
    return subprocess.run(words, cwd=ROOT, env=environment(folder), capture_output=True, text=True, check=False)


def screens() -> Iterator[tuple[str, str]]:
    """Yield each command of ``examples/README.md`` that has a screen, and the screen."""
    for _, text in _BLOCK.findall(SCREENS.read_text(encoding="utf-8")):
        if found := _COMMAND.match(text):
            yield found[1] + found[2], text[found.end() + 1 :]


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """Serve the FastAPI example with the scripted model, as a person would in a second terminal; give its address."""
    command = [sys.executable, "examples/offline.py", "examples/fastapi_app.py", "0"]
    with subprocess.Popen(
        command,
        cwd=EXAMPLES.parent,
        env=environment(folder),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as child:
        assert child.stderr is not None
        lines: list[str] = []
        try:
            for line in child.stderr:
                lines.append(line)
                if found := re.search(r"running on (http://\S+)", line):
                    yield found[1]
                    break
            else:
                raise AssertionError("".join(lines))
        finally:
            os.killpg(child.pid, signal.SIGINT)  # as Ctrl-C does
            rest = child.stderr.read()
        assert "Traceback" not in rest


def ask(address: str, user: str, topic: str) -> tuple[str, str]:
    """Ask a question; return the streamed text and the line of figures at its end."""
    request = Request(f"{address}/{user}", data=f"Tell me about {topic}.".encode())
    with urlopen(request, timeout=60) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        events = response.read().decode().rstrip().split("\n\n")
    assert len(events) > 2, "streamed in parts"
    text, (name, figures) = "".join(events[:-1]), events[-1].split("\n")
    assert name == "event: done"
    return text, figures


def figures_shown(text: str) -> str:
    """Return the lines that the page shows for the questions to the server."""
    (found,) = _FIGURES.findall(text)
    return str(found)


class Sample:
    """A block of Python of a page, and what the page says that it prints; None if it says nothing."""

    def __init__(self, page: str, number: int, code: str, printed: str | None) -> None:
        self.name = f"{page}-{number}"
        self.code = code
        self.printed = printed


def samples(*pages: str) -> Iterator[Sample]:
    """Yield the blocks of Python of pages; a block of text right behind one is what it prints."""
    for page in pages:
        text = (ROOT / page).read_text(encoding="utf-8")
        found = list(_BLOCK.finditer(text))
        for number, block in enumerate(found):
            if block[1] != "python":
                continue
            after = found[number + 1] if number + 1 < len(found) else None
            between = text[block.end() : after.start()] if after else "x"
            yield Sample(
                page, number, block[2], after[2] if after and after[1] == "text" and not between.strip() else None
            )


def main() -> None:
    """Write the screens of ``examples/README.md`` again, from runs."""
    text = SCREENS.read_text(encoding="utf-8")
    for command, screen in screens():
        with tempfile.TemporaryDirectory() as folder:
            done = run(command, Path(folder))
        assert done.returncode == 0, done.stderr
        text = text.replace(f"$ python {command}\n{screen}", f"$ python {command}\n{done.stdout}")
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as address:
        figures = [ask(address, "ann", "refunds")[1] for _ in range(QUESTIONS)]
    text = text.replace(figures_shown(text), "\n".join(figures))
    SCREENS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
