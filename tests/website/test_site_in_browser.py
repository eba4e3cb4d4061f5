"""The built site in a real browser: on a phone, from a folder and from a plain server. Its search asks no other host."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from tests.web.driven import driven_browser
from tests.website.built import SITE, pages

ROOT = Path(__file__).parents[2]
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1_280, "height": 900}
LEAST_LETTER_PIXELS = 10
MISSING = "404.html"
"""A server's page for an address that is not there: it loads from the root, so a folder cannot show it."""
README_WIDTH, SCREEN_PIXELS, SCREENS = 1_012, 1_080, 3
"""The column in which the pages of a repository are shown, and a common screen's height."""
WIDTH = "document.scrollingElement.scrollWidth"
WIDEST = """[...document.querySelectorAll("article *")].filter(one => one.getBoundingClientRect().right > innerWidth + 1)
  .filter(one => !one.closest("pre, .md-typeset__scrollwrap, .md-typeset__table, .highlight")).slice(0, 3).map(one => one.outerHTML.slice(0, 120))"""
SMALLEST = """Math.min(...[...document.querySelectorAll("article p, article li, article td, article code")]
  .filter(one => one.textContent.trim() && one.getClientRects().length).map(one => parseFloat(getComputedStyle(one).fontSize)))"""
BLANK_PICTURES = "[...document.images].filter(one => one.complete && !one.naturalWidth).map(one => one.src)"
ASKED = {"purge a memory": "memory", "x-undrift-bypass": "gateway", "budget costs": "cost"}
"""Words of a reader, and a page that must be among the first five results."""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that the base class has
        pass


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with driven_browser() as found:
        yield found


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A server of the standard library: it knows files and nothing else."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SITE))) as found:
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{found.server_address[1]}"
        found.shutdown()


@pytest.fixture(params=["folder", "server"])
def base(request: pytest.FixtureRequest, server: str) -> str:
    return server if request.param == "server" else SITE.as_uri()


@pytest.fixture
def watched(browser: Any, base: str) -> Iterator[tuple[Any, list[str], list[str]]]:
    """Give a tab on a desk, all that it asks of another place than the site, and all that it complains of."""
    context = browser.new_context(viewport=DESK)
    foreign, complaints = list[str](), list[str]()

    def look(route: Any) -> None:
        url = route.request.url
        if url.startswith((base, "data:", "blob:", "about:")):
            route.continue_()
        else:
            foreign.append(url)
            route.abort()

    context.route("**/*", look)
    tab = context.new_page()
    tab.on("console", lambda entry: complaints.append(entry.text) if entry.type == "error" else None)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    yield tab, foreign, complaints
    context.close()


def test_every_page_fits_a_phone(browser: Any) -> None:
    context = browser.new_context(viewport=PHONE, device_scale_factor=2, is_mobile=True, has_touch=True)
    tab, wide, small, blank, least = context.new_page(), [], [], [], 99.0
    for name in pages():
        if name == MISSING:
            continue
        tab.goto((SITE / name).as_uri())
        if (width := tab.evaluate(WIDTH)) > PHONE["width"] or tab.evaluate(WIDEST):
            wide.append((name, width, tab.evaluate(WIDEST)))
        if (letters := tab.evaluate(SMALLEST)) < LEAST_LETTER_PIXELS:
            small.append((name, letters))
        least = min(least, letters)
        blank += [(name, source) for source in tab.evaluate(BLANK_PICTURES)]
    context.close()
    assert (wide, small, blank) == ([], [], [])
    print(f"{len(pages()) - 1} pages at {PHONE['width']} pixels, smallest letters {least:.1f} pixels")


def test_every_page_opens_without_another_host_or_a_complaint(
    base: str, watched: tuple[Any, list[str], list[str]]
) -> None:
    tab, foreign, complaints = watched
    for name in set(pages()) - {MISSING}:
        tab.goto(f"{base}/{name}")
    assert (foreign, complaints) == ([], [])
    print(f"{len(pages()) - 1} pages from {base.partition(':')[0]}: 0 requests elsewhere")


@pytest.mark.parametrize("words", ASKED)
def test_search_finds_a_page_without_another_host(
    words: str, base: str, watched: tuple[Any, list[str], list[str]]
) -> None:
    tab, foreign, complaints = watched
    tab.goto(f"{base}/index.html")
    tab.locator(".md-search__button").click()
    tab.locator("input[type='text']").fill(words)
    results = tab.locator("a[href*='.html'][href*='h=']")
    results.first.wait_for(timeout=20_000)
    tab.wait_for_timeout(300)
    found = [results.nth(number).get_attribute("href") for number in range(min(5, results.count()))]
    print(base.partition(":")[0], words, "->", *(str(one).rpartition("/")[2].partition("?")[0] for one in found))
    assert any(f"{ASKED[words]}.html" in str(one) for one in found)
    results.first.click()
    tab.wait_for_load_state()
    assert tab.locator("article h1").count() == 1
    assert (foreign, complaints) == ([], [])


def test_a_phone_reaches_every_part_by_the_menu(browser: Any) -> None:
    context = browser.new_context(viewport=PHONE, is_mobile=True, has_touch=True)
    tab = context.new_page()
    tab.goto((SITE / "index.html").as_uri())
    tab.locator("label.md-header__button[for='__drawer']").click()
    tab.locator("label.md-nav__link", has_text="Reference").click()
    tab.locator(".md-nav a", has_text="Settings").last.click()
    tab.wait_for_load_state()
    assert tab.url.endswith("/settings.html")
    context.close()


def test_readme_is_three_screens(browser: Any, tmp_path: Path) -> None:
    """README as a repository shows it: 16 pixels, lines of 1.5, tables and code somewhat smaller."""
    style = """body { margin: 0; font: 16px/1.5 sans-serif; } pre, code { font: 13.6px/1.45 monospace; } pre { padding: 16px; overflow: auto; }
      table { border-collapse: collapse; } td, th { padding: 6px 13px; border: 1px solid; } img { max-width: 100%; }
      h1 { font-size: 2em; margin: 24px 0 16px; } h2 { font-size: 1.5em; margin: 24px 0 16px; padding-bottom: .3em; }
      h3 { font-size: 1.25em; margin: 24px 0 16px; } p, ul, pre, table, blockquote { margin: 0 0 16px; }"""
    body = MarkdownIt("commonmark").enable("table").render((ROOT / "README.md").read_text(encoding="utf-8"))
    page = tmp_path / "readme.html"
    page.write_text(f"<!doctype html><base href='{ROOT.as_uri()}/'><style>{style}</style>{body}", encoding="utf-8")
    tab = browser.new_page(viewport={"width": README_WIDTH, "height": SCREEN_PIXELS})
    tab.goto(page.as_uri())
    height = tab.evaluate("document.body.scrollHeight")
    tab.screenshot(path=str(tmp_path / "readme.png"), full_page=True)
    print(
        f"README: {height} pixels, {height / SCREEN_PIXELS:.2f} screens of {SCREEN_PIXELS}; {tmp_path / 'readme.png'}"
    )
    tab.close()
    assert height <= SCREENS * SCREEN_PIXELS
