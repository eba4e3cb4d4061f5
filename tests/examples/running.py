"""Programs of the examples and samples of the pages, run offline. ``python -m tests.examples.running`` writes the screens again."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import Request, urlopen

__all__ = [
    "EXAMPLES",
    "LIBRARY",
    "QUESTIONS",
    "SCREENS",
    "Sample",
    "THREADS",
    "ask",
    "figures_shown",
    "main",
    "outputs",
    "run",
    "samples",
    "screens",
    "server",
]

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
SCREENS = EXAMPLES / "README.md"
LIBRARY = "docs/library.md"
THREADS = "docs/threads.md"
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

_DRIVER = """
import contextlib, io, json, sys, traceback
given, taken = sys.argv[1:]
found = []
for name, code in json.load(open(given)):
    printed, error = io.StringIO(), ""
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(code, name, "exec"), {"__name__": "__main__"})
    except BaseException:
        error = traceback.format_exc()
    found.append((name, printed.getvalue(), error))
json.dump(found, open(taken, "w"))
"""

_COMMAND = re.compile(r"^\$ python (examples/\S+\.py)(.*)$", re.MULTILINE)
_FIGURES = re.compile(r"^\$ for question .*\n((?:data: .*\n)*data: .*)$", re.MULTILINE)
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def environment(folder: Path) -> dict[str, str]:
    """Return the variables for a program that may open no connection beyond this machine. `folder`: for the guard."""
    (folder / "sitecustomize.py").write_text(GUARD, encoding="utf-8")
    return {**os.environ, "PYTHONPATH": str(folder)}


def run(words: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program with its arguments, such as ``examples/offline.py examples/loops/gemini_loop.py``."""
    return subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=environment(folder), capture_output=True, text=True, check=False
    )


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


@dataclass(frozen=True, slots=True)
class Sample:
    """A block of Python of a page. `printed`: what the page says that it prints; None if it says nothing."""

    name: str
    code: str
    printed: str | None


def samples(page: str) -> list[Sample]:
    """Return the blocks of Python of a page; a block of text right behind one is what it prints."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = list(_BLOCK.finditer(text))
    found = []
    for block, after in zip(blocks, [*blocks[1:], None], strict=True):
        if block[1] == "python":
            follows = after is not None and after[1] == "text" and not text[block.end() : after.start()].strip()
            printed = after[2] if after is not None and follows else None
            line = text.count("\n", 0, block.start()) + 2
            found.append(Sample(f"{page}:{line}", block[2], printed))
    return found


def outputs(page: str) -> dict[str, tuple[str, str]]:
    """Run the samples of a page, each by itself, in one offline process; return what each prints, and its error."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        given, taken, driver = folder / "samples.json", folder / "outputs.json", folder / "driver.py"
        given.write_text(json.dumps([(sample.name, sample.code) for sample in samples(page)]), encoding="utf-8")
        driver.write_text(_DRIVER, encoding="utf-8")
        done = run(["examples/offline.py", str(driver), str(given), str(taken)], folder)
        assert taken.exists(), done.stderr
        found = json.loads(taken.read_text(encoding="utf-8"))
    return {name: (printed, error) for name, printed, error in found}


def main() -> None:
    """Write the screens of ``examples/README.md`` and the outputs of the pages again, from runs."""
    for name in (LIBRARY, THREADS):
        _write_outputs(name)
    if "--samples" not in sys.argv:
        _write_screens()


def _write_outputs(name: str) -> None:
    page = ROOT / name
    text = page.read_text(encoding="utf-8")
    found = outputs(name)
    for sample in samples(name):
        printed, error = found[sample.name]
        if error:
            print(f"{sample.name}: {error}")
        elif sample.printed is not None:
            block = f"```python\n{sample.code}```\n\n```text\n"
            assert f"{block}{sample.printed}" in text
            text = text.replace(f"{block}{sample.printed}```", f"{block}{printed}```")
    page.write_text(text, encoding="utf-8")


def _write_screens() -> None:
    text = SCREENS.read_text(encoding="utf-8")
    for command, screen in screens():
        with tempfile.TemporaryDirectory() as folder:
            done = run(command.split(), Path(folder))
        assert done.returncode == 0, done.stderr
        text = text.replace(f"$ python {command}\n{screen}", f"$ python {command}\n{done.stdout}")
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as address:
        figures = [ask(address, "ann", "refunds")[1] for _ in range(QUESTIONS)]
    text = text.replace(figures_shown(text), "\n".join(figures))
    SCREENS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
