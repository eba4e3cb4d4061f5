"""The living page in a real browser: it shows sessions as they grow, runs nothing of their texts, and stays small and silent."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.hooks.builders import compacted
from tests.report.browser import Browser, Tab
from tests.report.test_in_browser import ALL, AXE, AXE_RUN, LETTERS, OUTSIDE, screens
from tests.web.builders import recorded, serving, source_of, turns
from undrift.session.session import Session
from undrift.stores.projects import keep
from undrift.web import serve, views

STATIC = Path(serve.__file__).parent / "static"
MOST_BYTES, MOST_LINES, MOST_NODES = 170 << 10, 300, 2_000  # compressed over the wire: see test_app.py
LEAST_LETTER_PIXELS = 11
PLAIN, LONG = "plain-1", "long-1"
HOSTILE_KEY = "hostile-<b>&'\""
TITLES = {
    "image": "<img src=x onerror=\"window.owned='image'\">",
    "script": "</script><script>window.owned='script'</script>",
    "link": "javascript:window.owned='link'",
    "marks": "\u202egnp.exe\u202c \u2066turned",
}
TURNS = 1_000
GROWING = turns([8_000, 9_000, 11_000, 12_000], title="Growing.")
VIEWS = (
    "#/",
    "#/session/{}",
    "#/session/{}/turn/2",
    "#/session/{}/compactions",
    "#/session/{}/left",
    "#/session/{}/tasks",
    "#/bill/366",
    "#/memory",
    "#/tasks",
    "#/find/repo",
)
WITHOUT_SESSIONS = ("#/memory", "#/tasks")

NODES = "document.querySelectorAll('*').length"
FOREIGN = """[...document.querySelectorAll("main :is(img, iframe, object, embed, form, script, style, a, [src])")]
  .filter(one => !(one.matches("a") && one.getAttribute("href").startsWith("#")) && !one.matches("head > script[src='app.js']"))
  .map(one => one.outerHTML)"""
SHOWN = "!document.querySelector('main[aria-busy]') && !document.querySelector('.waiting') && document.querySelector('main h1')"

only_in_full = pytest.mark.skipif(not ALL, reason="`make browsers` and `make web-test` run it")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a small session, one of many turns with compactions, and ones whose every text is hostile."""
    folder = tmp_path_factory.mktemp("home")
    recorded(folder, PLAIN, turns([12_000, 15_000, 19_000], title="Find the parser of dates."))
    long = turns([20_000 + 150 * (number % 500) for number in range(TURNS)], title="A long day.")
    recorded(folder, LONG, [*long[:1_001], *compacted(1), *long[1_001:]])
    recorded(folder, "growing-1", GROWING[:5])
    for name, title in TITLES.items():
        records = turns([9_000, 9_500], title=title)
        for record in records:
            record["cwd"] = f"/repo/in {title.replace('/', '|')}"
            record["message"] |= {"model": title} if record["type"] == "assistant" else {}
        recorded(folder, f"{HOSTILE_KEY}{name}", records)
    return folder


@pytest.fixture(scope="module")
def address(home: Path) -> Iterator[str]:
    with serving(source_of(home)) as url:
        yield url


@pytest.fixture
def open_view(browser: Browser, address: str) -> Iterator[Callable[[str], Tab]]:
    """Opens a view of the page in a tab of its own; afterwards the tab must have been silent, and within the page."""
    tabs = []

    def opened(view: str) -> Tab:
        tab = browser.open(address + view)
        tabs.append(tab)
        until(tab, SHOWN)
        return tab

    yield opened
    for tab in tabs:
        assert tab.complaints() == []
        assert thrown(browser) == []
        assert [one for one in tab.requests() if not one.startswith(address)] == []
        tab.call("Page.close")


def until(tab: Tab, condition: str, seconds: int = 20) -> None:
    """Wait until an expression of the page is true."""
    tab.evaluate(f"""new Promise((done, failed) => {{
      const end = Date.now() + {seconds * 1_000};
      const look = () => ({condition}) ? done() : Date.now() > end ? failed(document.body.innerText) : setTimeout(look, 20);
      look();
    }})""")


def thrown(browser: Browser) -> list[Any]:
    """Return what the page's scripts threw, or wrote to the console as an error."""
    return [
        event["params"]
        for event in browser.events
        if event.get("method") == "Runtime.exceptionThrown"
        or (event.get("method") == "Runtime.consoleAPICalled" and event["params"]["type"] in {"error", "warning"})
    ]


def text_of(tab: Tab, selector: str) -> list[str]:
    found: list[str] = tab.evaluate(f"[...document.querySelectorAll({selector!r})].map(one => one.textContent)")
    return found


def of(view: str, key: str) -> str:
    return view.format(quote(key, safe=""))


def test_the_page_shows_each_session_by_its_name_and_says_that_it_is_live(open_view: Callable[[str], Tab]):
    tab = open_view("#/")
    names = text_of(tab, "article h2, .list th a")
    assert {"Find the parser of dates.", "A long day."} <= set(names)
    until(tab, "document.querySelector('.live').textContent.trim() === 'live'")
    assert "19k of 200k tokens, 10% full" in " ".join(text_of(tab, ".figure"))


@pytest.mark.parametrize("view", VIEWS)
def test_a_hostile_session_is_shown_as_text_and_nothing_of_it_runs(open_view: Callable[[str], Tab], view: str):
    for name in TITLES if "{" in view else ("image",):
        tab = open_view(of(view, HOSTILE_KEY + name))
        assert tab.evaluate(FOREIGN) == []
        assert tab.evaluate("window.owned") is None
        shown = tab.evaluate("document.querySelector('main').textContent")
        if view in WITHOUT_SESSIONS:
            continue
        if name == "image":
            assert "<img src=x onerror=" in shown
        assert tab.evaluate("document.querySelectorAll('main bdi').length") > 0


@only_in_full
def test_rows_of_what_left_are_text_and_at_most_one_page_of_them_is_there(
    open_view: Callable[[str], Tab], monkeypatch: pytest.MonkeyPatch
):
    row = {"by": "undrift", "session_id": "s", "kind": "pruned", "reason": "budget", "at_ms": 1, "moment": ""}
    row |= {"back": "", "back_pin": "", "pin": "", "used_again_turn": 1, "usd_a_turn": 0.01}
    hostile = list(TITLES.values())
    row |= {"place": hostile[0], "why": hostile[1], "left_turn": 1}
    rows = [
        {**row, "ref": f"r{n}", "tokens_saved": n, "what": hostile[n % 4], "line": f"{hostile[n % 4]} line {n}"}
        for n in range(2_000)
    ]
    found = {"rows": rows, "count": 2_000, "tokens": 1_999_000, "used_again": 2_000, "project_key": "p"}
    monkeypatch.setitem(views.VIEWS, "left", lambda *_: found | {"can_bring_back": True})
    tab = open_view(of("#/session/{}/left", PLAIN))
    assert tab.evaluate(NODES) <= MOST_NODES
    assert tab.evaluate("document.querySelector('.memories > li').textContent").startswith(hostile[0])
    tab.evaluate("document.querySelector('.pager button').click()")
    assert text_of(tab, ".pager span") == ["blocks 51 to 100 of 2,000"]
    assert tab.evaluate(NODES) <= MOST_NODES
    tab.evaluate(
        "(box => { box.value = 'LINE 1999'; box.dispatchEvent(new Event('input')); })(document.querySelector('#filter'))"
    )
    until(tab, "document.querySelectorAll('.memories > li').length === 1")
    assert tab.evaluate(FOREIGN) == []
    assert tab.evaluate("window.owned") is None


@only_in_full
def test_a_thousand_turns_are_one_path_a_series_and_each_can_be_picked_by_keys(open_view: Callable[[str], Tab]):
    tab = open_view(of("#/session/{}", LONG))
    assert tab.evaluate(NODES) <= MOST_NODES // 4
    assert tab.evaluate("document.querySelectorAll('.chart path.k').length") == 4
    assert text_of(tab, ".readout p b") == ["Turn 1,000"]
    tab.evaluate("document.querySelector('.chart').focus()")
    for key, turn in (("ArrowLeft", "999"), ("Home", "1"), ("ArrowRight", "2"), ("End", "1,000")):
        tab.press(key)
        assert text_of(tab, ".readout p b") == [f"Turn {turn}"]
    tab.evaluate("document.querySelector('.events button').click()")
    assert "compaction 1" in text_of(tab, ".readout .here")[0]
    assert "compaction 1" in text_of(tab, ".chart .said")[0]


@only_in_full
def test_a_new_turn_shows_by_itself_and_in_a_tab_that_was_hidden_once_it_is_seen(
    open_view: Callable[[str], Tab], home: Path
):
    now, one = open_view("#/"), open_view(of("#/session/{}", "growing-1"))
    assert text_of(one, ".readout p b") == ["Turn 2"]
    recorded(home, "growing-1", GROWING)
    until(one, "document.querySelector('.readout p b').textContent === 'Turn 4'")
    now.call("Page.bringToFront")
    until(now, "[...document.querySelectorAll('article')].some(one => /Growing[^]*4 turns/.test(one.textContent))")


@only_in_full
def test_every_view_fits_every_screen_and_an_accessibility_checker_finds_nothing(open_view: Callable[[str], Tab]):
    for view in VIEWS:
        tab = open_view(of(view, LONG))
        if AXE.is_file():
            tab.evaluate(AXE.read_text(encoding="utf-8"))
        for width, scheme in screens():
            tab.show(width, scheme)
            assert tab.evaluate("document.documentElement.scrollWidth") <= width, (view, tab.evaluate(OUTSIDE))
            assert [one for one in tab.evaluate(LETTERS) if one[1] < LEAST_LETTER_PIXELS] == []
            assert not AXE.is_file() or tab.evaluate(AXE_RUN) == []
        assert tab.evaluate(NODES) <= MOST_NODES


@only_in_full
@pytest.mark.parametrize("tab_of_it", ["left", "compactions", "tasks"])
def test_on_a_phone_a_tab_shows_its_own_content_first_under_one_row_of_tabs(
    open_view: Callable[[str], Tab], tab_of_it: str
):
    tab = open_view(of("#/session/{}/" + tab_of_it, LONG))
    tab.show(390, "light")
    assert len(set(tab.evaluate("[...document.querySelectorAll('.tabs a')].map(one => one.offsetTop)"))) == 1
    assert tab.evaluate("document.querySelector('.tabs').getBoundingClientRect().bottom") < 260
    assert "of 200k tokens · $" in text_of(tab, ".oneline .soft")[0]
    assert tab.evaluate("document.querySelector('#keys').checkVisibility()") is False
    tab.show(1440, "light")
    assert tab.evaluate("document.querySelector('#keys').checkVisibility()") is True


def test_the_keys_are_told_and_escape_brings_the_focus_back(open_view: Callable[[str], Tab]):
    tab = open_view("#/")
    tab.evaluate("document.querySelector('.brand').focus()")
    tab.press("?")
    until(tab, "document.querySelector('dialog[open]')")
    assert "find" in text_of(tab, "dialog dd")
    tab.call("Input.dispatchKeyEvent", type="rawKeyDown", key="Escape", code="Escape", windowsVirtualKeyCode=27)
    until(tab, "!document.querySelector('dialog')")
    assert tab.evaluate("document.activeElement.className") == "brand"


def test_the_words_of_a_search_go_when_another_view_opens(open_view: Callable[[str], Tab]):
    tab = open_view("#/find/parser")
    box = "document.querySelector('.search input').value"
    assert tab.evaluate(box) == "parser"
    tab.evaluate("document.querySelector('nav [data-view=bill]').click()")
    until(tab, f"document.querySelector('h1')?.textContent === 'Bill' && {box} === ''")


@only_in_full
def test_an_open_conflict_is_counted_in_the_navigation_and_its_lines_lead_up_to_it(browser: Browser, tmp_path: Path):
    source = source_of(tmp_path)
    with Session.open("notes", home=keep(source.place("/repo/shop"))) as session:
        session.remember("The port of the login service is 8080", trust="user")
        session.remember("The port of the login service is 9090", trust="tool")
    with serving(source) as url:
        tab = browser.open(url)
        until(tab, "document.querySelector('nav [data-view=memory]').textContent === 'Memory 1 conflict to settle'")
        tab.evaluate("document.querySelector('nav [data-view=memory]').click()")
        until(tab, "document.querySelector('.conflict')")
        assert sorted(text_of(tab, ".side .state")) == ["newer", "older"]
        assert {"said by you", "read by a tool"} <= set(" · ".join(text_of(tab, ".side .soft")).split(" · "))
        disputed = "[...document.querySelectorAll('.memories button')].filter(one => one.textContent === 'in dispute')"
        assert tab.evaluate(f"{disputed}.length") == 2
        tab.evaluate(f"{disputed}[0].click()")
        assert tab.evaluate("document.activeElement.className") == "conflict"
        tab.evaluate(
            "(one => { one.stepDown(); one.dispatchEvent(new Event('input')); })(document.querySelector('#as-of'))"
        )
        until(tab, "/A conflict can be settled only now/.test(document.querySelector('main').textContent)")
        tab.evaluate("[...document.querySelectorAll('button')].find(one => one.textContent === 'Back to now').click()")
        until(tab, "document.querySelector('.side button')")
        tab.evaluate("document.querySelector('.side button').click()")
        until(tab, "document.querySelector('nav [data-view=memory]').textContent.trim() === 'Memory'")
        assert thrown(browser) == []
        tab.call("Page.close")


@only_in_full
def test_a_session_that_is_gone_is_a_sentence_with_a_way_back(browser: Browser, address: str):
    tab = browser.open(address + "#/session/gone")
    until(tab, SHOWN)
    assert text_of(tab, "[role=alert]") == ["this session is not recorded here any more; go back to the list"]
    assert text_of(tab, ".pager a") == ["All sessions"]
    assert thrown(browser) == []


@only_in_full
def test_a_home_without_sessions_says_what_to_do(browser: Browser, tmp_path: Path):
    with serving(source_of(tmp_path)) as url:
        tab = browser.open(url)
        until(tab, "/No recorded session yet. Start Claude Code or Codex/.test(document.body.innerText)")
        tab.call("Page.close")


def test_the_browser_tests_can_fail(browser: Browser, address: str):
    tab = browser.open(address)
    until(tab, SHOWN)
    tab.evaluate("""(() => {
      const image = document.createElement("img");
      image.src = "http://127.0.0.1:9/x.png";
      document.querySelector("main").append(image);
      setTimeout(() => { throw new Error("thrown"); });
    })()""")
    tab.evaluate("new Promise(done => setTimeout(done, 100))")
    assert any("Content Security Policy" in one for one in tab.complaints())
    assert len(thrown(browser)) == 1
    assert len(tab.evaluate(FOREIGN)) == 1
    tab.call("Page.close")


def test_the_files_of_the_page_stay_small_and_each_says_its_law():
    files = sorted(STATIC.iterdir())
    assert sum(len(one.read_bytes()) for one in files) <= MOST_BYTES
    for one in files:
        lines = one.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= MOST_LINES, one.name
        assert one.suffix == ".svg" or "Law: " in "".join(lines[:4]), one.name
