"""Tabs of the page's tests: the page served, a view opened, and what each tab must have been when it is closed."""

from tests.report.browser import Browser, Tab
from tests.report.test_in_browser import AXE, AXE_RUN, OUTSIDE, screens
from tests.web.test_in_browser import SHOWN, thrown, until

__all__ = ["closed", "fits", "opened"]


def opened(browser: Browser, address: str, view: str) -> Tab:
    """Open a view in a tab of its own, and wait until it is there."""
    tab = browser.open(address + view)
    until(tab, SHOWN)
    return tab


def closed(browser: Browser, tab: Tab, refused: int = 0) -> None:
    """Close a tab; it must have been silent, but for requests that the server refused."""
    assert len([one for one in tab.complaints() if "400 (Bad Request)" in one]) == refused == len(tab.complaints())
    assert thrown(browser) == []
    tab.call("Page.close")


def fits(tab: Tab) -> None:
    """Check a tab at every size and in both schemes: nothing stands outside, and an accessibility checker finds nothing."""
    if AXE.is_file():
        tab.evaluate(AXE.read_text(encoding="utf-8"))
    for width, scheme in screens():
        tab.show(width, scheme)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width, tab.evaluate(OUTSIDE)
        assert not AXE.is_file() or tab.evaluate(AXE_RUN) == []
