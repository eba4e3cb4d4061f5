"""Tests of the page's tasks and runs in a real browser: hostile texts stay texts, keys reach the graph, many rows stay few nodes."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.report.browser import Browser
from tests.web.builders import recorded, serving, source_of, turns
from tests.web.tabs import closed, fits, opened
from tests.web.test_in_browser import FOREIGN, NODES, TITLES, text_of
from tests.web.test_tasks import sub_agent, with_run, with_tasks
from undrift.session.session import Session

MOST_NODES = 2_000
AGENTS = 130


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a session of hostile tasks and sub-agents, one of many, and a run of three tasks."""
    folder = tmp_path_factory.mktemp("home")
    source = source_of(folder)
    for key in ("hostile-1", "many-1"):
        recorded(folder, key, turns([12_000, 15_000], title="Find the parser of dates."))
    for number, text in enumerate(TITLES.values()):
        path = sub_agent(folder, of="hostile-1", id_=f"h{number}", note={"agentType": text, "description": text})
        lines = path.read_text(encoding="utf-8").replace("It is called by main alone.", json.dumps(text)[1:-1])
        path.write_text(lines.replace("Find who calls the parser.", json.dumps(text)[1:-1]), encoding="utf-8")
    for number in range(AGENTS):
        sub_agent(folder, of="many-1", id_=f"m{number}")
    with Session.open("claude:hostile-1", home=source.place("/repo/shop")) as session:
        for number, text in enumerate(TITLES.values()):
            session.start_task(f"{number} {text}", content=text, acceptance_criteria=(text,))
            session.complete_task(f"{number} {text}", f"It is done, and this is all: {text}")
    with Session.open("claude:many-1", home=source.place("/repo/shop")) as session:
        session.change_tasks([{"id": f"t{n}", "content": f"Task number {n}"} for n in range(300)])
    with_tasks(source, "claude:s9")
    with_run(source)
    return folder


@pytest.fixture(scope="module")
def address(home: Path) -> Iterator[str]:
    with serving(source_of(home)) as url:
        yield url


@pytest.mark.parametrize("view", ["#/tasks", "#/session/hostile-1/tasks"])
def test_hostile_tasks_and_sub_agents_are_texts(browser: Browser, address: str, view: str):
    tab = opened(browser, address, view)
    assert "<img src=x onerror=" in tab.evaluate("document.querySelector('main').textContent")
    tab.evaluate("document.querySelectorAll('summary').forEach(one => one.click())")
    assert tab.evaluate(FOREIGN) == []
    assert tab.evaluate("window.owned") is None
    closed(browser, tab)


def test_an_agent_and_a_line_of_the_graph_are_chosen_by_keys_and_told_in_text(browser: Browser, address: str):
    tab = opened(browser, address, "#/tasks")
    assert len(text_of(tab, ".graph .box")) == 6
    tab.evaluate("document.querySelector('.graph .line').focus()")
    tab.press("Enter")
    told = text_of(tab, ".readout")[0]
    assert "of basket, implementer in the prompts of prices, implementer" in told
    assert "task:basket summary Wrote the basket of the shop." in told
    assert len(text_of(tab, ".graph .picked")) == 1
    tab.evaluate("[...document.querySelectorAll('.graph .box')].at(-1).focus()")
    tab.press("Enter")
    assert "orders, reviewer · 1 answer" in text_of(tab, ".readout")[0]
    tab.evaluate("document.querySelector('td button.link').click()")
    assert text_of(tab, ".readout")[0] == told
    assert len(text_of(tab, "td button.link")) == len(text_of(tab, ".graph .line"))
    closed(browser, tab)


def test_many_tasks_and_sub_agents_stand_a_page_at_a_time(browser: Browser, address: str):
    tab = opened(browser, address, "#/session/many-1/tasks")
    assert tab.evaluate(NODES) <= MOST_NODES
    assert text_of(tab, ".pager span") == ["tasks 1 to 20 of 300", f"sub-agents 1 to 12 of {AGENTS}"]
    assert text_of(tab, ".tiles b")[0] == str(AGENTS)
    closed(browser, tab)


@pytest.mark.parametrize("view", ["#/tasks", "#/session/hostile-1/tasks"])
def test_the_views_of_tasks_fit_every_screen(browser: Browser, address: str, view: str):
    tab = opened(browser, address, view)
    fits(tab)
    closed(browser, tab)
