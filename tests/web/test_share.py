"""The file that Share makes, in a real browser: it opens from disk, asks for nothing, and holds no secret and no person."""

import re
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.hooks.builders import compacted
from tests.report.browser import Browser, Tab
from tests.report.test_in_browser import AXE, AXE_RUN, LETTERS, screens
from tests.web.builders import TOKEN, recorded, serving, source_of, turns
from tests.web.test_find import SECRET, managed, remembered
from tests.web.test_in_browser import (
    FOREIGN,
    LEAST_LETTER_PIXELS,
    MOST_NODES,
    NODES,
    SHOWN,
    only_in_full,
    thrown,
    until,
)
from undrift.session.session import Session
from undrift.web import views
from undrift.web.views import VIEWS

KEY = "11111111-2222-4333-8444-555555555555"
TITLE = f"Feed {SECRET} to the walrus of alice.liddell"
MARKUP = "Feed <img src=x onerror=alert(1)></title><script>alert(2)</script>"
OURS = "Read the window of tokens again"
WORDS = ("walrus", "zoo", "liddell", "feed", "noon", "penguin", KEY[:8])
"""Words that only the sessions have; none of them may stand in a file of figures."""

VIEWS_SHOWN = (
    "#/",
    f"#/session/{KEY}",
    f"#/session/{KEY}/compactions",
    f"#/session/{KEY}/left",
    "#/bill/366",
    "#/find/walrus",
    "#/original/{}/{}/walrus",
    "#/memory",
    "#/tasks",
)
ADDRESS = re.compile(
    r"(?:href|src|srcset|action|formaction|data|poster|xlink:href|srcdoc|ping|background)\Z|on", re.IGNORECASE
)


class Parsed(HTMLParser):
    """The elements, attributes, styles and texts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self.style = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self._open.append(tag)

    def handle_data(self, data: str) -> None:
        if self._open[-1:] == ["style"] and "{" in data:
            self.style += data
        else:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    long = [*turns([12_000, 15_000], title=TITLE), *compacted(5), *turns([9_000, 19_000], first=10)]
    recorded(folder, KEY, [{**one, "cwd": "/home/alice.liddell/zoo"} for one in long])
    recorded(folder, "ours-1", [{**one, "cwd": "C:\\Users\\Bob Penguin\\zoo"} for one in turns([9_000], title=OURS)])
    recorded(folder, "markup-1", [{**one, "cwd": "/home/alice.liddell/zoo"} for one in turns([9_000], title=MARKUP)])
    source = source_of(folder)
    managed(source, "/home/alice.liddell/zoo", f"The walrus is fed at noon {SECRET}", session=f"claude:{KEY}")
    with Session.open(f"claude:{KEY}", home=source.place("/home/alice.liddell/zoo"), keeps_notes=False) as session:
        session.start_task("feed-walrus", content="Feed the walrus of Bob Penguin.")
    remembered(source, "/home/alice.liddell/zoo", "The walrus service of Bob Penguin runs on port 8080.")
    return folder


@pytest.fixture(scope="module")
def address(home: Path) -> Iterator[str]:
    with serving(source_of(home)) as url:
        yield url


def opened(browser: Browser, address: str, home: Path, view: str) -> Tab:
    row = VIEWS["find"](source_of(home), {"q": "noon"})["originals"][0]
    tab = browser.open(address + view.format(quote(row["project_key"]), row["ref"]))
    until(tab, SHOWN)
    until(tab, "!/Searching|Adding up|Looking for/.test(document.querySelector('main').textContent)")
    return tab


def shared(browser: Browser, tab: Tab, folder: Path, texts: str) -> Path:
    """Press Share and download the file into an empty folder; return it."""
    folder.mkdir()
    browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    tab.evaluate("document.querySelector('#share').click()")
    until(tab, "document.querySelector('dialog[open]')")
    tab.evaluate(f"document.querySelector('dialog input[value={texts}]').click()")
    tab.evaluate("document.querySelector('dialog button').click()")
    until(tab, "/ kB/.test(document.querySelector('dialog [role=status]').textContent)")
    end_s = time.monotonic() + 20
    while not (found := [*folder.glob("*.html")]):
        assert time.monotonic() < end_s, "no file was downloaded"
        time.sleep(0.05)
    assert tab.complaints() == []
    assert thrown(browser) == []
    tab.evaluate("document.querySelector('dialog').close()")
    return found[0]


def stays_within(found: Parsed, text: str) -> None:
    """Check that a file runs nothing, asks for nothing, and holds neither a secret nor a person."""
    assert not found.elements & {
        "script",
        "link",
        "img",
        "iframe",
        "object",
        "embed",
        "form",
        "input",
        "button",
        "a",
        "base",
    }
    assert [one for one in found.attributes if ADDRESS.match(one[0])] == []
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in found.attributes
    assert not re.search(r"url\(|@import|expression\(", found.style)
    assert not any("://" in value for _, value in found.attributes)
    for hidden in (SECRET, SECRET[8:20], TOKEN, "127.0.0.1", "alice", "liddell", "Penguin"):
        assert hidden.casefold() not in text.casefold(), hidden


@pytest.mark.parametrize("view", VIEWS_SHOWN)
def test_a_file_of_figures_holds_no_word_of_a_session(
    browser: Browser, address: str, home: Path, tmp_path: Path, view: str
):
    tab = opened(browser, address, home, view)
    path = shared(browser, tab, tmp_path / "got", "figures")
    text = path.read_text(encoding="utf-8")
    found = Parsed(text)
    stays_within(found, text)
    shown = tab.evaluate("document.querySelector('main').textContent").casefold()
    for word in WORDS:
        assert word.casefold() not in text.casefold(), word
    assert OURS not in text, "its words are ours, but it is a title"
    assert re.search(r"\[(?:name|text|code), [\d,]+ characters?\]", found.text), "nothing was replaced"
    assert any(word in shown for word in WORDS), "the view shows nothing to replace"
    assert not re.search(r"\d\d:\d\d:\d\d", found.text), "a time of day"
    tab.call("Page.close")


@pytest.mark.parametrize("view", VIEWS_SHOWN)
def test_a_file_with_texts_keeps_them_without_secrets_and_people(
    browser: Browser, address: str, home: Path, tmp_path: Path, view: str
):
    tab = opened(browser, address, home, view)
    path = shared(browser, tab, tmp_path / "got", "texts")
    text = path.read_text(encoding="utf-8")
    found = Parsed(text)
    stays_within(found, text)
    assert "walrus" in found.text.casefold() or "zoo" in found.text.casefold()
    if view == "#/":
        assert "Feed [masked:github-token] to the walrus of user" in found.text
        assert OURS in found.text
        assert MARKUP in found.text
    tab.call("Page.close")


@only_in_full
@pytest.mark.parametrize("texts", ["figures", "texts"])
@pytest.mark.parametrize("view", ["#/", f"#/session/{KEY}", "#/bill/366"])
def test_a_file_opens_from_disk_as_it_was_and_asks_for_nothing(
    browser: Browser, address: str, home: Path, tmp_path: Path, view: str, texts: str
):
    tab = opened(browser, address, home, view)
    path = shared(browser, tab, tmp_path / "got", texts)
    ground = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    figures = tab.evaluate("[...document.querySelectorAll('.figure b, .tiles b')].map(one => one.textContent)")
    tab.call("Page.close")
    file = browser.open(path.as_uri())
    assert file.requests() == [path.as_uri()]
    assert file.complaints() == []
    assert file.evaluate("getComputedStyle(document.body).backgroundColor") == ground
    shown = file.evaluate("[...document.querySelectorAll('.figure b, .tiles b')].map(one => one.textContent)")
    assert len(shown) == len(figures) > 0
    assert [one for one in shown if ":" not in one] == [one for one in figures if ":" not in one]
    for width in (390, 1440):
        file.show(width, "light")
        assert file.evaluate("document.documentElement.scrollWidth") <= width
    drawn = file.evaluate("document.querySelectorAll('.chart path.k').length")
    assert drawn == (4 if "session" in view else 0)
    parts = file.evaluate(
        "[...document.querySelectorAll('.bar i')].filter(one => getComputedStyle(one).flexGrow === '0').length"
    )
    assert parts == 0, "a part of a bar lost its size"
    file.call("Page.close")


@only_in_full
@pytest.mark.parametrize("view", ["#/find/", "#/find/feed", "#/find/walrus", "#/find/qqq", "#/original/{}/{}/walrus"])
def test_a_search_and_an_original_fit_every_screen_and_their_texts_stay_texts(
    browser: Browser, address: str, home: Path, view: str
):
    tab = opened(browser, address, home, view)
    if AXE.is_file():
        tab.evaluate(AXE.read_text(encoding="utf-8"))
    for is_shared in (False, True):
        for width, scheme in screens():
            tab.show(width, scheme)
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
            assert [one for one in tab.evaluate(LETTERS) if one[1] < LEAST_LETTER_PIXELS] == []
            assert not AXE.is_file() or tab.evaluate(AXE_RUN) == []
        if not is_shared:
            tab.evaluate("document.querySelector('#share').click()")
    assert tab.evaluate(FOREIGN) == []
    assert tab.evaluate(NODES) <= MOST_NODES // 2
    assert tab.complaints() == []
    assert thrown(browser) == []
    assert [one for one in tab.requests() if not one.startswith(address)] == []
    if view == "#/find/feed":
        assert MARKUP in tab.evaluate("document.querySelector('main').textContent")
    tab.call("Page.close")


def test_a_search_shows_20_rows_of_a_group_and_more_when_asked(
    browser: Browser, address: str, home: Path, monkeypatch: pytest.MonkeyPatch
):
    rows = [{**VIEWS["find"](source_of(home), {"q": "walrus"})["memories"][0], "id": f"m{n}"} for n in range(45)]
    found = {"query": "walrus", "words": ["walrus"], "sessions": [], "memories": rows, "originals": [], "unread": []}
    monkeypatch.setitem(views.VIEWS, "find", lambda *_: found)
    tab = browser.open(f"{address}#/find/walrus")
    until(tab, f"{SHOWN} && document.querySelector('.found')")
    shown = "document.querySelectorAll('.found > li').length"
    assert tab.evaluate(shown) == 20
    assert tab.evaluate("document.querySelector('.found a').getAttribute('href')") == "#/memory/m0"
    for rest in (20, 5):
        tab.evaluate(
            "[...document.querySelectorAll('.pager button')].find(one => /more/.test(one.textContent)).click()"
        )
        assert tab.evaluate(shown) == rest
    tab.call("Page.close")


def test_the_dialog_opens_and_closes_by_keys_and_the_focus_returns(browser: Browser, address: str, home: Path):
    tab = opened(browser, address, home, "#/")
    tab.evaluate("document.querySelector('#share').focus(); document.querySelector('#share').click()")
    assert tab.evaluate("document.activeElement.value") == "figures"
    assert tab.evaluate("document.querySelector('dialog input:checked').value") == "figures"
    tab.call("Input.dispatchKeyEvent", type="rawKeyDown", key="Escape", code="Escape", windowsVirtualKeyCode=27)
    until(tab, "!document.querySelector('dialog')")
    assert tab.evaluate("document.activeElement.id") == "share"
    tab.call("Page.close")


def test_the_key_slash_goes_to_the_search_and_enter_searches(browser: Browser, address: str, home: Path):
    tab = opened(browser, address, home, "#/")
    slash = "new KeyboardEvent('keydown', {key: '/', bubbles: true, cancelable: true})"
    tab.evaluate(f"document.body.dispatchEvent({slash})")
    assert tab.evaluate("document.activeElement.type") == "search"
    assert tab.evaluate(f"document.activeElement.dispatchEvent({slash})"), "in a field it is a character"
    tab.evaluate(
        "document.activeElement.value = 'walrus 100% & \"/\"'; document.querySelector('.search').requestSubmit()"
    )
    until(tab, f"({SHOWN}) && /^Results for/.test(document.querySelector('h1').textContent)")
    assert tab.evaluate("document.querySelector('h1').textContent") == 'Results for “walrus 100% & "/"”'
    assert tab.evaluate("location.hash") == "#/find/walrus%20100%25%20%26%20%22%2F%22"
    assert tab.complaints() == []
    tab.call("Page.close")


def test_our_words_are_those_of_the_page_and_of_no_session(home: Path):
    found = VIEWS["share"](source_of(home), {})
    words = set(found["words"])
    assert {"tokens", "window", "cache", "compaction", "pause", "nov"} <= words
    assert not words & {"walrus", "zoo", "liddell", "penguin"}
    assert words.isdisjoint({"could not answer", "", "a"})
    assert found["names"]["claude-opus-4-6"] == "claude-opus-4-6"


def test_a_dated_model_is_named_as_in_our_table_and_a_strange_one_not_at_all(tmp_path: Path):
    for number, model in enumerate(("claude-opus-4-6-20260101", "walrus-1")):
        records = turns([9_000])
        for record in records:
            record["message"] |= {"model": model} if record["type"] == "assistant" else {}
        recorded(tmp_path, f"s{number}", records)
    names = VIEWS["share"](source_of(tmp_path), {})["names"]
    assert names["claude-opus-4-6-20260101"] == "claude-opus-4-6"
    assert "walrus-1" not in names


@pytest.mark.parametrize(
    ("folder", "people"),
    [
        ("/home/alice/zoo", ["alice"]),
        ("C:\\Users\\Bob Penguin\\zoo", ["Bob Penguin"]),
        ("/mnt/c/Users/bob/zoo", ["bob"]),
        ("/Users/carol", ["carol"]),
        ("/srv/home/page", []),
        ("/home/runner/work", []),
        ("", []),
    ],
)
def test_the_people_of_recorded_folders_are_named_to_be_replaced(tmp_path: Path, folder: str, people: list[str]):
    recorded(tmp_path, "s1", [{**one, "cwd": folder} for one in turns([9_000])])
    found = VIEWS["share"](source_of(tmp_path), {})["people"]
    assert [one for one in found if one in people] == people
    assert "page" not in found


@pytest.mark.parametrize(("own", "people"), [("/data/staff/alice", ["alice"]), ("/srv/root", []), ("/home/jo", [])])
def test_the_own_home_folder_is_named_to_be_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str, people: list[str]
):
    monkeypatch.setenv("HOME", own)
    found = VIEWS["share"](source_of(tmp_path), {})
    assert found["folders"] == [own]
    assert found["people"] == people
