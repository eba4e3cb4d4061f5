"""Hostile texts in every field and address, in a real browser: nothing runs, nothing is asked for elsewhere, nothing breaks.

`make web-test` plays each text through each view; `make browsers` plays some of them.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.report.browser import Browser, Tab
from tests.report.test_in_browser import ALL
from tests.web.builders import TOKEN, asked, serving
from tests.web.payloads import BIG, COMPACTED, IS_WHOLE, MANAGED, NAMED, PAYLOADS, hostile_home, hostile_source, sample
from tests.web.test_in_browser import SHOWN, thrown, until
from tests.web.test_share import ADDRESS, Parsed, shared

TEXTS = PAYLOADS if IS_WHOLE else sample(10)
PLACES, PARTS = (4, 6) if IS_WHOLE else (5, 1)
"""The places of an address in which each text stands; and the parts of a long test, each of which has its own time."""

pytestmark = pytest.mark.skipif(not ALL, reason="`make browsers` and `make web-test` run it")

TABS = ("", "/compactions", "/left", "/tasks", "/turn/2")
WHOLE = ("#/", "#/bill/366", "#/memory", "#/tasks", "#/find/")
BAD_NAME = "bad\\xff\\xfe"
BROKEN = "This could not be shown"

FOREIGN = """[...document.querySelectorAll(":is(main, dialog) :is(img, iframe, object, embed, form, script, style, link, meta, base, math, video, audio, a, [src], [srcdoc], [ping], [xlink\\\\:href])")]
  .filter(one => !(one.matches("a") && (one.getAttribute("href") ?? "#").startsWith("#")))
  .concat([...document.querySelectorAll("*")].filter(one => [...one.attributes].some(({name}) => /^on/i.test(name))))
  .concat([...document.querySelectorAll("html > :not(head, body), head > :not(meta, title, link, script), body > :not(a, header, main, footer, dialog)")])
  .map(one => one.outerHTML.slice(0, 300))"""
"""Elements and attributes that no text may become, anywhere on the page."""

STATE = f"""[window.owned ?? null, {{}}.owned ?? null, location.pathname, {FOREIGN}, /native code/.test(document.body.innerText)]"""

IN_A_FILE = re.compile(
    "html|head|meta|title|style|body|p|main|article|section|div|header|footer|h[1-3]|span|b|bdi|i|ul|ol|li|dl|dt|dd|table|caption|"
    "thead|tbody|tr|th|td|svg|path|text|circle|g|mark|code|pre|details|summary|del|small"
)
"""Elements that a shared file may have; none of them runs or asks for anything."""

REVEAL = """(async () => {
  const wait = ms => new Promise(done => setTimeout(done, ms));
  const all = selector => [...document.querySelectorAll(selector)];
  const press = one => one.dispatchEvent(new MouseEvent("click", {bubbles: true}));
  for (let turn = 0; turn < 60; turn++) {
    all("main details:not([open]) > summary").forEach(one => one.click());
    all("main .graph [role=button], main .events button, main .told button").slice(0, 40).forEach(press);
    const on = all("main .pager button").filter(one => /^Show (\\d+ more|the next part)/.test(one.textContent));
    on.forEach(one => one.click());
    await wait(turn ? 20 : 120);
    if (!on.length && turn) break;
  }
})()"""
"""Opens what is folded, draws each page of each list, and picks what can be picked."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    hostile_home(folder, TEXTS)
    return folder


@pytest.fixture(scope="module")
def address(home: Path) -> Iterator[str]:
    with serving(hostile_source(home, TEXTS)) as url:
        yield url


@pytest.fixture
def tab(browser: Browser, address: str) -> Iterator[Tab]:
    """A tab with the page; afterwards nothing must have failed, and no other place must have been asked."""
    found = browser.open(address)
    until(found, SHOWN)
    yield found
    is_silent(browser, found, address)
    found.call("Page.close")


def is_silent(browser: Browser, tab: Tab, address: str) -> None:
    """Check that nothing was refused or thrown, no other place was asked, and no other page was opened."""
    assert [one for one in tab.complaints() if "status of 400" not in one] == [], "a view that is not there is a 400"
    assert thrown(browser) == []
    ours = (address, f"blob:{address.partition(TOKEN)[0]}")
    assert [one for one in tab.requests() if not one.startswith(ours)] == []
    pages = [one["url"] for one in browser.call("Target.getTargets")["targetInfos"] if one["type"] == "page"]
    assert all(one.startswith((address, "about:blank")) for one in pages), pages


def go(tab: Tab, fragment: str) -> None:
    """Follow an address of the page, and wait until its view is there."""
    tab.evaluate(f"""new Promise(done => {{
      addEventListener("hashchange", done, {{once: true}});
      setTimeout(done, 1_000);
      const before = location.href;
      location.hash = {json.dumps(fragment)};
      if (location.href === before) done();
    }})""")
    until(tab, SHOWN)


def is_inert(tab: Tab, address: str) -> None:
    """Check that no text has become anything else, and that the page is still there."""
    owned, inherited, path, foreign, is_code = tab.evaluate(STATE)
    assert (owned, inherited, foreign, is_code) == (None, None, [], False)
    assert address.endswith(path)


def coded(text: str) -> str:
    return quote(text.encode("utf-8", "replace"), safe="")


@pytest.mark.parametrize("part", range(PARTS))
def test_each_view_of_each_session_shows_hostile_texts_as_texts(tab: Tab, address: str, home: Path, part: int):
    keys = [one.key for one in hostile_source(home, TEXTS).sessions()]
    assert {NAMED, BIG, MANAGED, COMPACTED, BAD_NAME} <= set(keys)
    assert any("constructor:toString" in one for one in keys)
    for key in keys[part::PARTS]:
        for view in TABS:
            go(tab, f"#/session/{coded(key)}{view}")
            assert view.startswith("/turn") or tab.evaluate("document.querySelector('h1').textContent") != BROKEN, key
            tab.evaluate(REVEAL)
            is_inert(tab, address)
    go(tab, f"#/session/{coded(NAMED)}")
    assert tab.evaluate("document.querySelector('h1 bdi').textContent").startswith("Find ")


@pytest.mark.parametrize("view", WHOLE)
def test_each_view_of_all_sessions_shows_hostile_texts_as_texts(tab: Tab, address: str, view: str):
    go(tab, view)
    for _ in range(2):
        tab.evaluate(REVEAL)
        is_inert(tab, address)
    assert view == "#/find/" or "owned" in tab.evaluate("document.querySelector('main').textContent"), "it shows none"


def addresses(text: str, number: int) -> Iterator[str]:
    """Yield addresses with a text in each of their places; of many texts each stands in some of them."""
    code = coded(text)
    found = (
        f"#/find/{code}",
        f"#/memory/{code}",
        f"#/session/{code}",
        f"#/session/{code}/left/{code}",
        f"#/session/{coded(BIG)}/left/{code}",
        f"#/session/{coded(BIG)}/{code}",
        f"#/session/{coded(MANAGED)}/turn/{code}",
        f"#/bill/{code}",
        f"#/tasks/{code}/{code}",
        f"#/original/{code}/{code}/{code}",
        f"#/{text}",
        f"#/session/{text}",
        f"#/{code}/{code}/{code}/{code}",
    )
    yield from (found[(number * PLACES + at) % len(found)] for at in range(PLACES))


@pytest.mark.parametrize("part", range(PARTS))
def test_each_address_is_text(tab: Tab, address: str, part: int):
    for number, text in [*enumerate((*TEXTS, "constructor", "__proto__", "toString"))][part::PARTS]:
        for one in addresses(text.encode("utf-8", "replace").decode(), number):
            go(tab, one)
            is_inert(tab, address)


@pytest.mark.parametrize("name", ["constructor", "__proto__", "toString", "valueOf"])
def test_the_name_of_a_function_is_no_view(tab: Tab, address: str, name: str):
    for one in (f"#/session/{BIG}/{name}", f"#/{name}", f"#/bill/{name}", f"#/tasks/{name}/{name}"):
        go(tab, one)
        is_inert(tab, address)


def test_each_word_that_is_looked_for_is_text(tab: Tab, address: str, home: Path):
    source = hostile_source(home, TEXTS)
    row = next(row for row in asked(source, f"/undrift/api/left?key={BIG}").json["rows"] if row["by"] == "undrift")
    key = asked(source, f"/undrift/api/left?key={BIG}").json["project_key"]
    for text in TEXTS[:: 1 + len(TEXTS) // 100]:
        plain = json.dumps(text.encode("utf-8", "replace").decode()[:900])
        go(tab, f"#/original/{coded(key)}/{row['ref']}/{coded(text[:300])}")
        is_inert(tab, address)
        tab.evaluate(
            f"(box => {{ box.value = {plain}; box.form.requestSubmit(); }})(document.querySelector('.search input'))"
        )
        until(tab, SHOWN)
        is_inert(tab, address)
    for view in ("#/memory", f"#/session/{BIG}/left"):
        go(tab, view)
        for text in TEXTS[:: 1 + len(TEXTS) // 20]:
            plain = json.dumps(text.encode("utf-8", "replace").decode())
            tab.evaluate(f"""(async box => {{
              box.value = {plain};
              box.dispatchEvent(new Event("input"));
              await new Promise(done => setTimeout(done, 200));
            }})(document.querySelector("main [type=search]"))""")
            is_inert(tab, address)


PRESS = """(async (words, said) => {
  const named = [...document.querySelectorAll("main button")].find(one => one.textContent.trim() === words && one.checkVisibility());
  if (!named) return false;
  named.click();
  const end = Date.now() + 3_000;
  while (Date.now() < end && !document.querySelector(said)) await new Promise(done => setTimeout(done, 20));
  return !!document.querySelector(said);
})"""


@pytest.mark.parametrize(
    ("view", "words", "shown"),
    [
        ("#/memory", "Edit", "main textarea"),
        ("#/memory", "Forget", "main .notice p"),
        ("#/memory", "This one holds", "main .notice p"),
        ("#/memory", "Undo the edit", "main .notice p"),
        (f"#/session/{BIG}/left", "Bring back", "main [id$='-undo']"),
        (f"#/session/{MANAGED}/left", "Pin", "main [id$='-undo']"),
        (f"#/session/{COMPACTED}/left", "Bring back", "main [id$='-undo']"),
        (f"#/session/{BIG}/left", "Purge…", "dialog[open]"),
    ],
)
def test_what_an_action_says_is_text(tab: Tab, address: str, view: str, words: str, shown: str):
    go(tab, view)
    if words == "Undo the edit":
        tab.evaluate("document.querySelector('#state-superseded').click()")
    assert tab.evaluate(f"{PRESS}({json.dumps(words)}, {json.dumps(shown)})"), f"{view} has no {words}"
    is_inert(tab, address)
    if shown == "dialog[open]":
        tab.evaluate("document.querySelector('dialog .danger').click()")
        until(tab, "/Destroyed/.test(document.querySelector('dialog').textContent)")
        is_inert(tab, address)


@pytest.mark.parametrize("texts", ["figures", "texts"])
@pytest.mark.parametrize(
    "view", ["#/", "#/memory", "#/tasks", f"#/session/{BIG}/left", f"#/session/{MANAGED}/turn/3", "#/find/owned"]
)
def test_a_shared_file_is_as_inert(browser: Browser, address: str, tmp_path: Path, view: str, texts: str):
    tab = browser.open(address)
    until(tab, SHOWN)
    go(tab, view)
    tab.evaluate(REVEAL)
    path = shared(browser, tab, tmp_path / "got", texts)
    is_silent(browser, tab, address)
    tab.call("Page.close")
    found = Parsed(path.read_text(encoding="utf-8"))
    assert [one for one in found.elements if not IN_A_FILE.fullmatch(one)] == []
    assert [one for one in found.attributes if ADDRESS.match(one[0])] == []
    if texts == "figures":
        assert "owned" not in found.text
    opened = browser.open(path.as_uri())
    assert opened.evaluate("[window.owned ?? null, document.scripts.length, document.links.length]") == [None, 0, 0]
    assert opened.complaints() == []
    assert {one for one in opened.requests() if one != path.as_uri()} == set()
    opened.call("Page.close")


def test_the_checks_can_fail(browser: Browser, address: str):
    found = browser.open(address)
    until(found, SHOWN)
    for broken in (
        "window.owned = 1",
        "document.querySelector('main').append(document.createElement('iframe'))",
        "document.body.prepend(document.createElement('x-y'))",
        "document.body.append(Object)",
        "Object.prototype.owned = 2",
    ):
        found.evaluate(f"void ({broken})")
        with pytest.raises(AssertionError):
            is_inert(found, address)
        found.call("Page.reload")
        until(found, SHOWN)
    found.call("Page.close")
