"""Journeys through the page in a real browser, driven by Playwright: an agent works behind a running gateway, a person looks and acts.

Run by ``make web-test`` and ``make browsers``, which install Playwright; the browser is the one of the machine. With UNDRIFT_PICTURES=DIR
the pictures of docs/web.md are written there.
"""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.proxy.builders import gateway
from tests.web.agent import SESSION, Agent, counted_answer
from tests.web.driven import driven_browser, sync_api
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.stores.projects import place_of
from undrift.testing import RawUpstream, Send, response

BUDGET_TOKENS = 9_000
READ = 30
PICTURES = os.environ.get("UNDRIFT_PICTURES", "")
MOST_TABS = 120
TIMEOUT_MS = 10_000
BACK = "Brought back by the user"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with driven_browser() as found:
        yield found


@dataclass
class Scene:
    """A gateway with its page, an agent behind it, and what the provider was sent."""

    agent: Agent
    upstream: RawUpstream
    url: str
    home: Path

    def goes_on(self, number: int) -> str:
        """Let the agent ask once more; return the request that the provider got."""
        self.agent.reads(number)
        sent: bytes = self.upstream.requests[-1].body
        return sent.decode()


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    monkeypatch.setenv("HOME", str(tmp_path))
    home = tmp_path / ".undrift"
    settings = Settings(home=str(home), budget_tokens=BUDGET_TOKENS, token_counter="characters/4")
    answer = counted_answer()
    with (
        RawUpstream(lambda request: [Send(response(answer(request.body)))]) as upstream,
        gateway(home, upstream.url, settings, shares=True) as server,
    ):
        agent = Agent(tmp_path, server.base_urls["anthropic"])
        for number in range(READ):
            agent.reads(number)
        yield Scene(agent, upstream, server.page_url, home)


@pytest.fixture
def opened(browser: Any, scene: Scene) -> Iterator[Callable[..., Any]]:
    """Opens the page at a size and in a scheme; afterwards it must have been silent, and within itself."""
    contexts, heard = [], []

    def go(width: int = 1440, scheme: str = "light") -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        context.set_default_timeout(TIMEOUT_MS)
        page = context.new_page()
        page.on("console", lambda one: heard.append(one.text) if one.type in ("error", "warning") else None)
        page.on("pageerror", lambda one: heard.append(str(one)))
        page.on(
            "request",
            lambda one: heard.append(one.url) if not one.url.startswith(("http://127.0.0.1:", "blob:")) else None,
        )
        page.goto(scene.url)
        page.get_by_role("heading", level=1).wait_for()
        return page

    yield go
    for context in contexts:
        context.close()
    assert heard == []


def picture(page: Any, name: str) -> None:
    """Write a picture for the documents, if they are being made."""
    if PICTURES:
        page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=str(Path(PICTURES) / f"web-{name}.png"))


def a_result(page: Any) -> tuple[str, Any]:
    """Look for one result that left, by its first word; return the word and its row."""
    text = page.locator("main li").filter(has_text="result of Read").first.inner_text()
    (word,) = re.findall(r"value_\d+_0", text)
    page.get_by_label("Look for").fill(word)
    page.get_by_text("1 block of").wait_for()
    return word, page.locator("main li").filter(has_text=word)


def to_what_left(page: Any) -> None:
    page.get_by_role("link", name="Find the parser of dates.").first.click()
    page.get_by_role("link", name="Removed").first.click()
    page.get_by_text("blocks were removed").first.wait_for()


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_why_a_block_left_and_back_into_the_next_upstream_request(
    scene: Scene, opened: Callable[..., Any], width: int, scheme: str
):
    page = opened(width, scheme)
    picture(page, f"now-{scheme}")
    to_what_left(page)
    word, row = a_result(page)
    assert "The window had reached its budget of 9,000 tokens." in row.inner_text()
    assert BACK not in scene.upstream.requests[-1].body.decode()
    row.get_by_role("button", name="Bring back").click()
    page.get_by_text("Waits for the next prompt").wait_for()
    picture(page, f"left-{scheme}")
    sent = scene.goes_on(READ)
    assert BACK in sent
    assert f"{word} = compute_part_" in sent
    page.get_by_text("In the prompt since then").wait_for(timeout=20_000)
    assert BACK in scene.goes_on(READ + 1), "it stays until a prune"
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_an_undo_before_the_next_prompt_leaves_it_as_it_was(scene: Scene, opened: Callable[..., Any]):
    page = opened()
    to_what_left(page)
    row = a_result(page)[1]
    row.get_by_role("button", name="Bring back").click()
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("Waits for the next prompt").wait_for(state="detached")
    row.get_by_role("button", name="Pin").click()
    page.get_by_text("Pinned").first.wait_for()
    page.get_by_role("button", name="Undo").click()
    row.get_by_role("button", name="Pin").wait_for()
    sent = scene.goes_on(READ)
    assert BACK not in sent
    assert "[Pinned" not in sent


def test_a_purge_asks_twice_says_what_it_cannot_reach_and_is_final(scene: Scene, opened: Callable[..., Any]):
    page = opened()
    to_what_left(page)
    word, row = a_result(page)
    row.get_by_role("button", name="Purge").click()
    dialog = page.get_by_role("dialog")
    assert f"{SESSION}.jsonl" in dialog.inner_text(), "the client's own recording still has it"
    dialog.get_by_role("button", name="Purge").click()
    page.locator("main").get_by_text(word).wait_for(state="detached")
    place = place_of(scene.home, scene.home.parent / "shop", shares=True)
    with Session.open(f"anthropic:{SESSION}", home=place, settings=Settings(home=str(place.records))) as session:
        assert session.find(word) == ()


def test_a_prompt_is_shown_as_it_was_sent_and_what_had_left_stands_in_it(scene: Scene, opened: Callable[..., Any]):
    page = opened()
    page.get_by_role("link", name="Find the parser of dates.").first.click()
    chart = page.get_by_role("slider").first
    chart.wait_for()
    picture(page, "session")
    chart.focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.get_by_text("Exactly as it was sent").wait_for()
    text = page.locator("main").inner_text()
    assert "blocks were removed before it" in text
    picture(page, "prompt")


def test_a_conflict_is_settled_and_time_goes_back(scene: Scene, opened: Callable[..., Any]):
    place = place_of(scene.home, scene.home.parent / "shop", shares=True)
    with Session.open("notes", home=place, settings=Settings(home=str(place.records))) as session:
        session.remember("The staging server is in Frankfurt.", trust="user")
        session.remember("The staging server is in Dublin.", trust="assistant")
        conflicts = session.conflicts()
    page = opened()
    page.get_by_role("navigation", name="Views").get_by_role("link", name="Memory").click()
    page.get_by_text("staging server").first.wait_for()
    picture(page, "memory")
    if conflicts:
        page.get_by_role("button", name="This one holds").first.click()
        page.get_by_role("button", name="Undo").first.wait_for()
    slider = page.get_by_role("slider").first
    slider.focus()
    page.keyboard.press("Home")
    page.get_by_text("staging server").first.wait_for()
    page.get_by_role("link", name="now").or_(page.get_by_role("button", name="now")).first.click()


def tab_to(page: Any, role: str, name: str) -> None:
    """Press Tab until a control has the focus; its focus must be seen."""
    wanted = page.get_by_role(role, name=name).first
    wanted.wait_for()
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if wanted.evaluate("one => one === document.activeElement"):
            seen = wanted.evaluate(
                "one => { const s = getComputedStyle(one); return s.outlineStyle !== 'none' || s.boxShadow !== 'none'; }"
            )
            assert seen, f"the focus of {name} cannot be seen"
            return
    raise AssertionError(f"{name} is not reached by Tab")


def test_the_keyboard_alone_brings_a_block_back(scene: Scene, opened: Callable[..., Any]):
    page = opened()
    tab_to(page, "link", "Find the parser of dates.")
    page.keyboard.press("Enter")
    tab_to(page, "link", "Removed")
    page.keyboard.press("Enter")
    tab_to(page, "searchbox", "Look for")
    page.keyboard.type("result of Read")
    tab_to(page, "button", "Bring back")
    page.keyboard.press("Enter")
    page.get_by_text("Waits for the next prompt").wait_for()
    assert BACK in scene.goes_on(READ)


def test_a_search_leads_from_a_word_to_why_it_left(scene: Scene, opened: Callable[..., Any]):
    page = opened()
    to_what_left(page)
    word = a_result(page)[0]
    page.keyboard.press("Escape")
    page.get_by_role("heading", level=1).focus()
    page.keyboard.press("/")
    page.keyboard.type(word)
    page.keyboard.press("Enter")
    page.get_by_role("link", name="result of Read").first.wait_for()
    picture(page, "find")
    page.get_by_role("link", name="result of Read").first.click()
    with suppress(sync_api.TimeoutError):
        page.get_by_text("budget").first.wait_for(timeout=2_000)
    assert word in page.locator("main").inner_text()
