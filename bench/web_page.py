"""The cost of the living page: the processor while sessions grow, and what a request of the gateway waits for it.

    python -m bench.web_page [--sessions 50] [--seconds 30]

Prints the share of a core that `undrift web` takes with an open page, and the milliseconds of a request with and without it, in turn.
With Playwright and a browser (`make web-test` installs it) also how a session of 1,000 turns opens and scrolls.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.hooks.builders import compacted
from tests.proxy.builders import gateway
from tests.report.browser import browser_path
from tests.web.builders import recorded, turns
from undrift.testing import RawUpstream, Send, response

MANY_TURNS = 1_000
LONG_TASKS = """window.tasks = [];
new PerformanceObserver(list => window.tasks.push(...list.getEntries().map(one => one.duration))).observe({type: "longtask", buffered: true});"""
LAST_BAR = """() => new Promise(done => {
  const look = () => {
    const paint = performance.getEntriesByName("first-contentful-paint")[0];
    const turn = document.querySelector(".readout p b")?.textContent;
    return paint && turn === "Turn 1,000" ? done(performance.now() - paint.startTime) : requestAnimationFrame(look);
  };
  look();
})"""
SCROLL = """() => new Promise(done => {
  let at = 0;
  const step = () => {
    scrollTo(0, (at += 60));
    return at < document.documentElement.scrollHeight ? requestAnimationFrame(step) : setTimeout(done, 300);
  };
  step();
})"""
NODES = "document.querySelectorAll('*').length"
TURNS = 200
SECONDS_BETWEEN_TURNS = 10
ROUNDS = 12
REQUESTS = 40
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--seconds", type=int, default=30)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for number in range(given.sessions):
            recorded(home, f"live-{number}", turns([20_000 + 90 * turn for turn in range(TURNS)]))
        with page(home) as (process, url), listening(url):
            share = watched(home, process, given.sessions, given.seconds)
            print(f"{given.sessions} sessions, a turn each in {SECONDS_BETWEEN_TURNS} s: {share:.2%} of a core")
            print(f"the same, nothing written: {watched(home, process, 0, given.seconds):.2%} of a core")
    with tempfile.TemporaryDirectory() as folder:
        waited(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        painted(Path(folder))


@contextmanager
def page(home: Path) -> Iterator[tuple["subprocess.Popen[bytes]", str]]:
    """`undrift web` over a home."""
    command = [sys.executable, "-P", "-m", "undrift", "web", "--port", "0", "--no-open", "--json"]
    around = {**os.environ, "HOME": str(home)}
    with subprocess.Popen(command, env=around, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        said = b""
        while not said.rstrip().endswith(b"}"):
            said += process.stdout.readline()
        try:
            yield process, json.loads(said)["url"]
        finally:
            process.terminate()


@contextmanager
def listening(url: str) -> Iterator[None]:
    """An open page: it hears all that is live, until the server ends."""

    def hear() -> None:
        try:
            with urllib.request.urlopen(f"{url}api/live") as stream:
                while stream.readline():
                    pass
        except OSError:
            pass

    threading.Thread(target=hear, daemon=True).start()
    time.sleep(8)  # the first look reads every file
    yield


def watched(home: Path, process: "subprocess.Popen[bytes]", sessions: int, seconds: int) -> float:
    """Return the share of a core that the page takes while so many sessions grow."""
    files = sorted((home / ".claude" / "projects").rglob("live-*.jsonl"))[:sessions]
    new = turns([40_000, 40_100], first=TURNS)[:2]
    text = "".join(json.dumps(record) + "\n" for record in new)
    before, began_s, number = processor_s(process.pid), time.monotonic(), 0
    while (past_s := time.monotonic() - began_s) < seconds:
        while files and number < past_s * len(files) / SECONDS_BETWEEN_TURNS:
            with files[number % len(files)].open("a", encoding="utf-8") as file:
                file.write(text)
            number += 1
        time.sleep(0.05)
    return (processor_s(process.pid) - before) / (time.monotonic() - began_s)


def processor_s(pid: int) -> float:
    """Return the seconds of the processor that a process took, its threads included."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_A_SECOND


def waited(home: Path) -> None:
    """Print what requests of a gateway take with its page open and closed, in turn, so that both see the same machine."""
    for number in range(20):
        recorded(home, f"live-{number}", turns([20_000 + 90 * turn for turn in range(TURNS)]))
    os.environ["HOME"] = str(home)
    body = json.dumps({"model": "claude-opus-4-5", "max_tokens": 9, "messages": history(40)}).encode()
    found: dict[str, list[float]] = {"closed": [], "open": []}
    with (
        RawUpstream(lambda _: [Send(response(b'{"id": "m"}'))]) as upstream,
        gateway(home / ".undrift", upstream.url) as server,
    ):
        url = server.base_urls["anthropic"] + "/v1/messages"
        with urllib.request.urlopen(server.page_url) as answer:
            page_url = answer.geturl()
        for _ in range(ROUNDS):
            found["closed"] += asked(url, body)
            stream = urllib.request.urlopen(f"{page_url}api/live")
            stream.readline()
            found["open"] += asked(url, body)
            stream.close()
    for name, times in found.items():
        times.sort()
        print(
            f"page {name}: {statistics.median(times):.2f} ms a request, 95% below {times[int(0.95 * len(times))]:.2f} ms"
        )


def painted(home: Path) -> None:
    """Print how a session of 1,000 turns opens: first paint to last bar, long tasks while it scrolls, nodes of the document."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("skipped: the browser needs Playwright")
        return
    records = turns([20_000 + 150 * (number % 500) for number in range(MANY_TURNS)], title="A long day.")
    recorded(home, "long", [*records[:1_001], *compacted(1), *records[1_001:]])
    with page(home) as (_, url), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        times = []
        for _ in range(3):
            tab = browser.new_page()
            tab.add_init_script(LONG_TASKS)
            tab.goto(f"{url}#/session/long")
            times.append(tab.evaluate(LAST_BAR))
            tab.evaluate("window.tasks.length = 0")
            tab.evaluate(SCROLL)
            longest, nodes = tab.evaluate("Math.max(0, ...window.tasks)"), tab.evaluate(NODES)
            tab.close()
        shown = ", ".join(f"{one:.0f}" for one in times)
        print(
            f"1,000 turns: {shown} ms from first paint to last bar; longest task while it scrolls {longest:.0f} ms; {nodes} nodes"
        )
        browser.close()


def history(count: int) -> list[dict[str, object]]:
    return [
        {"role": "assistant" if number % 2 else "user", "content": f"message {number} " * 60}
        for number in range(count + 1)
    ]


def asked(url: str, body: bytes) -> list[float]:
    times = []
    for _ in range(REQUESTS):
        request = urllib.request.Request(url, body, {"content-type": "application/json"})
        began_s = time.perf_counter()
        with urllib.request.urlopen(request) as answer:
            answer.read()
        times.append((time.perf_counter() - began_s) * 1_000)
    return times


if __name__ == "__main__":
    main()
