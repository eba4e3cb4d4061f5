"""The bill, the compactions and what left in a real browser: new figures come by themselves, hostile texts stay texts."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import body, rounds, user
from tests.report.browser import Browser
from tests.report.test_in_browser import AXE, AXE_RUN, OUTSIDE, screens
from tests.web.builders import recorded, serving, source_of, turns
from tests.web.tabs import closed, opened
from tests.web.test_bill import eventful, today
from tests.web.test_compactions import RULES, session
from tests.web.test_in_browser import FOREIGN, NODES, TITLES, only_in_full, text_of, until
from undrift.session.session import Session
from undrift.settings import Settings

MOST_NODES = 1_000
SESSIONS = 30
HOSTILE = "hostile-1"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a session of every cause, many small ones, and one whose summary, names and rules are hostile."""
    folder = tmp_path_factory.mktemp("home")
    recorded(folder, "s1", today(eventful()))
    for number in range(SESSIONS):
        recorded(folder, f"small-{number}", today(turns([9_000 + number], title=f"Small {number}.")))
    hostile = "\n".join(TITLES.values())
    text = json.dumps(session(hostile * 40))
    for title in TITLES.values():
        rule = f"Never {title} the build of the wheel."
        text = text.replace(json.dumps(RULES)[1:-1], json.dumps(f"{RULES}\n{rule}")[1:-1], 1)
    recorded(folder, HOSTILE, json.loads(text.replace("/repo/shop/part_0.py", json.dumps(TITLES["image"])[1:-1])))
    return folder


@pytest.fixture(scope="module")
def address(home: Path) -> Iterator[str]:
    with serving(source_of(home)) as url:
        yield url


@only_in_full
def test_new_prompts_come_into_the_bill_and_leave_the_focus_the_page_and_what_is_open(
    browser: Browser, address: str, home: Path
):
    tab = opened(browser, address, "#/bill/7")
    assert f"for {SESSIONS + 6} prompts" in text_of(tab, ".causes .figure")[0]
    until(tab, "document.querySelector('.live').textContent.trim() === 'live'")
    tab.evaluate("""(() => {
      document.querySelector(".causes details").open = true;
      const list = [...document.querySelectorAll(".bill section")].at(-1);
      list.querySelector(".pager button").click();
      list.querySelectorAll("th a")[3].focus();
      scrollTo(0, 400);
      window.held = document.activeElement.getAttribute("href");
    })()""")
    assert text_of(tab, ".bill section:last-child .pager span")[-1] == f"sessions 13 to 24 of {SESSIONS + 1}"
    recorded(home, "s1", today([*eventful(), *turns([29_000], first=90)]))
    until(tab, f"document.querySelector('.causes .figure').textContent.includes('for {SESSIONS + 7} prompts')")
    assert tab.evaluate("document.querySelector('.causes details').open") is True
    assert tab.evaluate("document.activeElement.getAttribute('href') === window.held") is True
    assert text_of(tab, ".bill section:last-child .pager span")[-1] == f"sessions 13 to 24 of {SESSIONS + 1}"
    assert tab.evaluate("scrollY") == 400
    assert tab.evaluate(NODES) <= MOST_NODES
    closed(browser, tab)


@only_in_full
def test_a_compactions_texts_are_texts_and_stand_in_few_nodes(browser: Browser, address: str):
    tab = opened(browser, address, f"#/session/{HOSTILE}/compactions")
    until(tab, "document.querySelector('article details')")
    tab.evaluate("document.querySelectorAll('article > details').forEach(one => one.open = true)")
    until(tab, "document.querySelector('.beside pre')")
    assert tab.evaluate(FOREIGN) == []
    assert tab.evaluate("window.owned") is None
    assert TITLES["image"] in "\n".join(text_of(tab, ".beside pre"))
    assert tab.evaluate(NODES) <= MOST_NODES
    fates = text_of(tab, "article > details:last-child table:last-of-type td")
    assert "never mentioned again" in fates
    closed(browser, tab)


def test_what_a_session_cost_and_why_is_one_part_that_any_view_can_show(browser: Browser, address: str):
    tab = opened(browser, address, "#/bill/7")
    tab.evaluate("""import("./causes.js").then(({sessionCauses}) => {
      const made = sessionCauses("s1", new AbortController().signal);
      made.id = "placed";
      document.querySelector("main").append(made);
    })""")
    until(tab, "document.querySelector('#placed h3')")
    assert text_of(tab, "#placed h2, #placed h3") == ["What it cost, and why", "The dearest prompts"]
    assert "1 prompt after a pause" in " ".join(text_of(tab, "#placed li"))
    closed(browser, tab)


@only_in_full
def test_what_leaves_comes_into_the_list_and_leaves_the_filter(browser: Browser, address: str, home: Path):
    tab = opened(browser, address, "#/session/small-1/left")
    assert "Nothing was removed from this window" in " ".join(text_of(tab, "section p"))
    until(tab, "document.querySelector('.live').textContent.trim() === 'live'")
    settings = Settings(budget_tokens=900)
    place = source_of(home).place("/repo/shop")
    rows = 0
    for count in (12, 20):
        with Session.open("claude:small-1", home=place, settings=settings) as managed:
            managed.prepare(body(user("Go."), *rounds(count)))
        recorded(home, "small-1", today(turns([9_001, 9_000 + count], title="Small 1.")))
        until(tab, f"document.querySelectorAll('.memories > li').length > {rows}")
        rows = tab.evaluate("document.querySelectorAll('.memories > li').length")
        if count == 12:
            tab.evaluate("""(box => {
              box.focus();
              box.value = "path";
            })(document.querySelector("#filter"))""")
    assert tab.evaluate("document.activeElement.id") == "filter"
    assert tab.evaluate("document.querySelector('#filter').value") == "path"
    tab.evaluate("document.querySelector('nav [data-view=bill]').click()")
    until(tab, "/What undrift saved/.test(document.querySelector('main').textContent)")
    said = tab.evaluate("document.querySelector('main').textContent")
    assert "Older sessions are under All." in said
    assert "So far prunes cost more than they saved" in said
    closed(browser, tab)


@only_in_full
def test_the_views_fit_every_screen_and_an_accessibility_checker_finds_nothing(browser: Browser, address: str):
    for view in ("#/", "#/bill/7", f"#/session/{HOSTILE}/compactions", "#/session/s1/compactions"):
        tab = opened(browser, address, view)
        until(tab, "!document.querySelector('.waiting')")
        tab.evaluate("document.querySelectorAll('main details').forEach(one => one.open = true)")
        if "compactions" in view:
            until(tab, "document.querySelector('.beside')")
        if AXE.is_file():
            tab.evaluate(AXE.read_text(encoding="utf-8"))
        for width, scheme in screens():
            tab.show(width, scheme)
            assert tab.evaluate("document.documentElement.scrollWidth") <= width, (view, tab.evaluate(OUTSIDE))
            assert not AXE.is_file() or tab.evaluate(AXE_RUN) == []
        closed(browser, tab)
