"""The page in a real browser, on a phone, a tablet and a desk, in light and dark: readable, whole and silent.

`make browsers` needs a Chromium and axe-core and runs all of it; `make test` runs what is installed, on two screens.
"""

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.report.browser import BROWSERS, Browser, Tab, browser_path
from tests.report.builders import compacted_session
from tests.report.test_page import COVER, TAGS, Markup, hostile
from undrift.recordings.autopsy import Postmortem, examine
from undrift.report import page, picture

ALL = os.environ.get("UNDRIFT_TEST_BROWSERS") == "all"
AXE = Path(__file__).parents[2] / "build/browsers/node_modules/axe-core/axe.min.js"
SCREENS = [(width, scheme) for width in (390, 768, 1440) for scheme in ("light", "dark")]
PAGES = ("one", "many", "shared", "hostile", "uncompacted")
LEAST_LETTER_PIXELS = 11
NARROWEST_PIXELS = 320

LETTERS = """[...document.querySelectorAll("body *")].filter(one => one.checkVisibility() && [...one.childNodes].some(
    child => child.nodeType === 3 && child.data.trim())).map(one => {
  const scale = one instanceof SVGElement ? Math.abs(one.getScreenCTM().a) : 1;
  return [one.textContent.trim().slice(0, 40), parseFloat(getComputedStyle(one).fontSize) * scale];
})"""
OUTSIDE = """[...document.querySelectorAll("body *")].filter(one => one.checkVisibility() &&
    (one.getBoundingClientRect().right > document.documentElement.clientWidth + 1 || one.getBoundingClientRect().left < -1)
  ).map(one => `${one.tagName} ${one.textContent.slice(0, 40)} ${one.getBoundingClientRect().right}`)"""
FOCUSED = """(() => { const one = document.activeElement; const style = getComputedStyle(one);
  return [one.tagName, style.outlineStyle, parseFloat(style.outlineWidth)]; })()"""
AXE_RUN = """axe.run(document, {preload: false, resultTypes: ["violations"],
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}).then(
  result => result.violations.map(one => [one.id, one.nodes.length, one.nodes[0].html.slice(0, 200)]))"""


def screens() -> list[tuple[int, str]]:
    return SCREENS if ALL else [(390, "dark"), (1440, "light")]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = browser_path()
    if program is None:
        assert not ALL, (
            f"`make browsers` needs one of {', '.join(BROWSERS)}; Debian and Ubuntu: apt-get install chromium"
        )
        pytest.skip(f"needs a browser: one of {', '.join(BROWSERS)}")
    with Browser(program, tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def pages(folder: Path) -> dict[str, str]:
    """A page of each kind."""
    found = [examine(compacted_session().written(folder / "session.jsonl"))]
    several = [
        dataclasses.replace(found[0], title=f"{'A long title of words ' * 4}{n}", path="/x" * 90) for n in range(12)
    ]
    shared = dataclasses.replace(COVER, redacted=True)
    nothing = dataclasses.replace(found[0], autopsy=dataclasses.replace(found[0].autopsy, compactions=()))
    next_commands = [("Restore it after each compaction from now on", "undrift install claude")]
    return {
        "one": page(found, COVER, next_commands),
        "many": page(several, COVER, next_commands),
        "shared": page([*several, sealed(found[0])], shared, next_commands),
        "hostile": hostile(folder),
        "uncompacted": page([nothing], COVER),
    }


def sealed(one: Postmortem) -> Postmortem:
    (compaction,) = one.autopsy.compactions
    encrypted = dataclasses.replace(compaction, encrypted=True)
    return dataclasses.replace(one, autopsy=dataclasses.replace(one.autopsy, compactions=(encrypted,)))


@pytest.fixture(params=PAGES)
def tab(request: pytest.FixtureRequest, browser: Browser, pages: dict[str, str], folder: Path) -> Tab:
    path = folder / f"{request.param}.html"
    path.write_text(pages[request.param], encoding="utf-8")
    return browser.open(path.as_uri())


def opened(browser: Browser, folder: Path, text: str) -> Tab:
    path = folder / "opened.html"
    path.write_text(text, encoding="utf-8")
    return browser.open(path.as_uri())


def unfolded(tab: Tab) -> Tab:
    tab.evaluate('document.querySelectorAll("details").forEach(one => { one.open = true; })')
    return tab


def test_nothing_is_asked_for_but_the_page_itself_and_nothing_is_refused(tab: Tab):
    assert len(tab.requests()) == 1
    assert tab.requests()[0].startswith("file:///")
    assert tab.complaints() == []


def test_no_page_scrolls_sideways_and_no_letter_is_too_small(tab: Tab):
    unfolded(tab)
    for width, scheme in [*screens(), (NARROWEST_PIXELS, "light")]:
        tab.show(width, scheme)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width, tab.evaluate(OUTSIDE)
        assert tab.evaluate(OUTSIDE) == []
        letters = tab.evaluate(LETTERS)
        assert letters
        assert [one for one in letters if one[1] < LEAST_LETTER_PIXELS] == []


def test_the_headline_and_the_explanation_are_on_the_first_screen_of_a_phone(tab: Tab):
    tab.show(390, "light")
    for selector in ("h1", ".what"):
        bottom = tab.evaluate(f'document.querySelector("{selector}").getBoundingClientRect().bottom')
        assert bottom <= 844


def test_each_stop_of_the_keyboard_is_seen(tab: Tab):
    tab.show(1440, "light")
    stops = tab.evaluate('document.querySelectorAll("a, summary").length')
    for _ in range(min(stops, 20)):
        tab.press("Tab")
        name, style, width = tab.evaluate(FOCUSED)
        assert name in {"A", "SUMMARY"}
        assert style != "none"
        assert width >= 2


def test_a_link_of_the_index_leads_to_its_session(browser: Browser, folder: Path, pages: dict[str, str]):
    tab = opened(browser, folder, pages["many"])
    tab.show(390, "light")
    tab.evaluate("document.querySelector(\"a[href='#s12']\").click()")
    top = tab.evaluate('document.querySelector("#s12").getBoundingClientRect().top')
    assert 0 <= top < 844


def test_an_accessibility_checker_finds_nothing(tab: Tab):
    if not AXE.is_file():
        assert not ALL, f"{AXE} is missing"
        pytest.skip("needs axe-core: make browsers")
    tab.evaluate(AXE.read_text(encoding="utf-8"))
    unfolded(tab)
    for width, scheme in screens():
        tab.show(width, scheme)
        assert tab.evaluate(AXE_RUN) == []


def test_a_browser_runs_nothing_of_a_hostile_session(browser: Browser, folder: Path, pages: dict[str, str]):
    tab = opened(browser, folder, pages["hostile"])
    assert tab.evaluate("document.title") == "Losses of compactions · undrift autopsy"
    assert set(Markup(tab.evaluate("document.documentElement.outerHTML")).tags) <= TAGS


def test_the_picture_stays_inside_its_frame(browser: Browser, folder: Path):
    found = [examine(compacted_session().written(folder / "session.jsonl"))]
    for each in (found, [sealed(found[0])]):
        path = folder / "card.svg"
        path.write_text(picture(each, COVER), encoding="utf-8")
        tab = browser.open(path.as_uri())
        tab.show(1_200, "light")
        boxes = tab.evaluate(
            '[...document.querySelectorAll("text")].map(one => { const box = one.getBBox();'
            " return [one.textContent, box.x, box.y, box.x + box.width, box.y + box.height]; })"
        )
        assert len(boxes) >= 8
        assert [box for box in boxes if box[1] < 0 or box[2] < 0 or box[3] > 1_200 or box[4] > 630] == []
        assert overlapping(boxes) == []


def overlapping(boxes: list[list[Any]]) -> list[tuple[str, str]]:
    """The pairs of texts that cover more of each other than the space between two lines."""
    slack = 8
    return [
        (a[0], b[0])
        for n, a in enumerate(boxes)
        for b in boxes[:n]
        if min(a[3], b[3]) - max(a[1], b[1]) > 0 and min(a[4], b[4]) - max(a[2], b[2]) > slack
    ]


def test_the_browser_tests_can_fail(browser: Browser, folder: Path, pages: dict[str, str]):
    head, body = pages["one"].split("<main>")
    tab = opened(browser, folder, f"{head}<main><script>document.title='owned'</script>{body}")
    assert tab.evaluate("document.title") != "owned"
    assert any("Content Security Policy" in one for one in tab.complaints())
    loose = '<!doctype html><meta name="viewport" content="width=device-width"><body>'
    tab = opened(browser, folder, f"{loose}<script>document.title='owned'</script><pre>{'x' * 900}</pre>")
    tab.show(390, "light")
    assert tab.evaluate("document.title") == "owned"
    assert tab.evaluate("document.documentElement.scrollWidth") > 390
    small = '<svg width="100" viewBox="0 0 1000 100"><text font-size="12" y="20">small</text></svg>'
    assert [round(one[1], 1) for one in opened(browser, folder, loose + small).evaluate(LETTERS)] == [1.2]


def test_the_accessibility_checker_can_fail(browser: Browser, folder: Path):
    if not AXE.is_file():
        pytest.skip("needs axe-core: make browsers")
    tab = opened(browser, folder, '<!doctype html><p style="color:#bbb;background:#fff">pale</p><img src="">')
    tab.evaluate(AXE.read_text(encoding="utf-8"))
    assert {one[0] for one in tab.evaluate(AXE_RUN)} >= {"color-contrast", "html-has-lang", "image-alt"}
