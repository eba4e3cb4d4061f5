"""A headless Chromium, driven through the pipe of its own debugging protocol: no driver and no further package.

The protocol: https://chromedevtools.github.io/devtools-protocol. Messages are JSON, each ends with a null byte.
"""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

__all__ = ["BROWSERS", "Browser", "Tab", "browser_path"]

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
_ABOVE = 10
_PLACED = """import os, sys
for number, end in enumerate(sys.argv[1:3], 3):
    os.dup2(int(end), number)
os.execv(sys.argv[3], sys.argv[3:])"""
"""A program that becomes the browser, with its ends of the pipes as descriptors 3 and 4, where it reads and writes."""
_READ_BYTES = 1 << 20


def browser_path() -> str | None:
    """The first browser on the PATH."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


class Browser:
    """One process of the browser, with a profile of its own."""

    def __init__(self, program: str, profile: Path) -> None:
        (theirs, self._in), (self._out, their_out) = os.pipe(), os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, _ABOVE) for end in (theirs, their_out)]

        command = [program, *_FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PLACED, *map(str, ends), *command],
            pass_fds=ends,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (theirs, their_out, *ends):
            os.close(end)
        self._number = 0
        self._rest = b""
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self._in)
        os.close(self._out)
        self._process.terminate()
        self._process.wait(30)

    def call(self, method: str, session: str | None = None, /, **given: Any) -> dict[str, Any]:
        """Call a method and return its result; events that come before it are kept in `events`."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": given}
        os.write(self._in, json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self.events.append(answer)

    def read(self) -> dict[str, Any]:
        """Wait for the next message."""
        while b"\0" not in self._rest:
            more = os.read(self._out, _READ_BYTES)
            assert more, "the browser ended"
            self._rest += more
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)

    def open(self, address: str) -> "Tab":
        """Open an address in a tab of its own, and wait until it is loaded."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        tab = Tab(self, self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])
        for domain in ("Page", "Network", "Log", "Runtime"):
            tab.call(f"{domain}.enable")
        self.events.clear()
        tab.call("Page.navigate", url=address)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.read())
        return tab


class Tab:
    """One open page."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session

    def call(self, method: str, /, **given: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **given)

    def evaluate(self, script: str) -> Any:
        """Return the value of an expression, which the page's content security policy does not bind."""
        done = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done.get("exceptionDetails")
        return done["result"].get("value")

    def show(self, width: int, scheme: str) -> None:
        """Show the page on a screen of a width, in pixels, in the scheme ``light`` or ``dark``."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=844, deviceScaleFactor=1, mobile=width < 600
        )
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def press(self, key: str) -> None:
        """Press and release a key by its name."""
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=9)

    def picture(self, height: int = 4_000) -> bytes:
        """Return the page as a PNG, from its top down to a height."""
        size = self.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": size[0], "height": min(size[1], height), "scale": 1}
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        return base64.b64decode(shot["data"])

    def requests(self) -> list[str]:
        """Return the addresses that were asked for since the page was opened."""
        return [given["request"]["url"] for given in self._events("Network.requestWillBeSent")]

    def complaints(self) -> list[str]:
        """Return what the browser logged, such as a breach of the policy."""
        return [given["entry"]["text"] for given in self._events("Log.entryAdded")]

    def _events(self, method: str) -> list[Mapping[str, Any]]:
        return [event["params"] for event in self._browser.events if event.get("method") == method]
