"""The picture of README: ``python -m website.shot`` writes docs/images/readme.png. Needs a browser on the PATH.

Law: what it shows is a run. The left half is what `undrift autopsy` prints of the session that this repository ships, the right
half is `undrift web` with the same session, in an empty home.
"""

import base64
import html
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.report.browser import Browser, browser_path
from website.stage import ROOT

__all__ = ["COMMAND", "LINES", "PICTURE", "main", "printed"]

COMMAND = ("autopsy", "examples/compacted-session.jsonl")
LINES = 23
"""So many lines of the output stand in the picture."""
PICTURE = ROOT / "docs" / "images" / "readme.png"
_WIDTH, _HEIGHT, _PAGE_WIDTH, _PAGE_HEIGHT = 1_280, 516, 900, 740
_READY = "!document.querySelector('main[aria-busy]') && !document.querySelector('.waiting') && !!document.querySelector('main h1')"
_FRAME = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; width: {width}px; height: {height}px; background: #0e1720; display: flex; gap: 20px; padding: 20px; box-sizing: border-box; }}
pre {{ margin: 0; width: 600px; box-sizing: border-box; padding: 16px; border-radius: 8px; background: #14202b; color: #f2f6fa; overflow: hidden;
  font: 11.6px/1.56 "DejaVu Sans Mono", monospace; }}
pre b {{ color: #55d68b; font-weight: 400; }} pre i {{ color: #ff9152; font-style: normal; }}
div {{ flex: 1; border-radius: 8px; overflow: hidden; background: #fff; }} img {{ width: 100%; display: block; }}
</style><pre><b>$ undrift {command}</b>
{lines}</pre><div><img src="data:image/png;base64,{page}"></div>"""


def _environment(home: Path) -> Mapping[str, str]:
    return {"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "80"}


def printed() -> list[str]:
    """Return the first lines that the command prints, in an empty home."""
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-m", "undrift", *COMMAND]
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=_environment(Path(home)),
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=True,
        )
    return done.stdout.splitlines()[:LINES]


@contextmanager
def _living_page(home: Path) -> Iterator[str]:
    """Serve the living page of a home; give its address."""
    sessions = home / ".claude" / "projects" / "-repo"
    sessions.mkdir(parents=True)
    session = ROOT / COMMAND[1]
    (sessions / session.name).write_bytes(session.read_bytes())
    command = [sys.executable, "-m", "undrift", "web", "--port", "0", "--no-open"]
    with subprocess.Popen(
        command, cwd=home, env=_environment(home), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as child:
        assert child.stdout is not None
        try:
            found = next(filter(None, (re.search(r"http://\S+", line) for line in child.stdout)))
            yield found[0]
        finally:
            child.terminate()


def _page(browser: Browser, address: str) -> bytes:
    """Return the view of the session as it is shown to a person."""
    tab = browser.open(f"{address}#/")
    tab.show(_PAGE_WIDTH, "light")
    _wait(tab.evaluate)
    view = tab.evaluate("document.querySelector('main a[href^=\"#/session/\"]').getAttribute('href')")
    tab.evaluate(f"location.hash = {view + '/compactions'!r}")
    _wait(tab.evaluate)
    return tab.picture(_PAGE_HEIGHT)


def _wait(evaluate: Callable[[str], object]) -> None:
    """Wait until a view is drawn."""
    ask = f"""new Promise(done => {{ const look = () => {_READY} ? setTimeout(() => done(true), 400) : setTimeout(look, 50); setTimeout(look, 200); }})"""
    evaluate(ask)


def main() -> int:
    """Write the picture."""
    program = browser_path()
    if program is None:
        print("needs a browser: chromium or chrome on the PATH")
        return 1
    lines = "\n".join(html.escape(line) for line in printed())
    with (
        tempfile.TemporaryDirectory() as profile,
        tempfile.TemporaryDirectory() as home,
        Browser(program, Path(profile)) as browser,
        _living_page(Path(home)) as address,
    ):
        page = base64.b64encode(_page(browser, address)).decode("ascii")
        frame = Path(home) / "frame.html"
        text = _FRAME.format(width=_WIDTH, height=_HEIGHT, command=" ".join(COMMAND), lines=lines, page=page)
        frame.write_text(text, encoding="utf-8")
        tab = browser.open(frame.as_uri())
        tab.show(_WIDTH, "light")
        PICTURE.write_bytes(tab.picture(_HEIGHT))
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
