"""The browser of the page's tests: one for each module, so that no complaint of one is taken for that of another."""

from collections.abc import Iterator

import pytest

from tests.report.browser import BROWSERS, Browser, browser_path


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser of this machine; without one the test is skipped."""
    program = browser_path()
    if program is None:
        pytest.skip(f"needs a browser: one of {', '.join(BROWSERS)}")
    with Browser(program, tmp_path_factory.mktemp("profile")) as found:
        yield found
