"""The machine's own browser, driven by Playwright, for the tests that walk the page as a person would."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.report.browser import BROWSERS, browser_path

__all__ = ["driven_browser", "sync_api"]

sync_api = pytest.importorskip("playwright.sync_api", reason="`make web-test` installs Playwright")


@contextmanager
def driven_browser() -> Iterator[Any]:
    """Open the browser; skip where the machine has none."""
    program = browser_path()
    if program is None:
        pytest.skip(f"needs a browser: one of {', '.join(BROWSERS)}")
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield found
        found.close()
