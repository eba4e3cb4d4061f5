"""Tests of what left and of the prompts in a real browser: an action says what it did, a prompt how sure it is."""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.cli.builders import Record, answered, called, claude, listing
from tests.hooks.builders import compacted, with_ids
from tests.report.browser import Browser, Tab
from tests.web.builders import recorded, serving, source_of, turns
from tests.web.tabs import closed, fits, opened
from tests.web.test_in_browser import FOREIGN, NODES, TITLES, only_in_full, text_of, until
from undrift.hooks.brought import brought_texts
from undrift.session.identity import Recognised
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.stores.files import safe_name
from undrift.stores.opening import open_store
from undrift.stores.projects import keep
from undrift.values.scope import Scope
from undrift.web.views import VIEWS
from undrift.window.context import SessionContext
from undrift.window.sent_recorder import SentRecorder

MOST_NODES = 2_000
MANAGED, COMPACTED = "managed-1", "compacted-1"
TURNS = 24
HREFS = "[...document.querySelectorAll('main a')].map(one => one.getAttribute('href'))"
BACK = "[id$='-bring-back']"


def body_of(records: list[Record]) -> dict[str, Any]:
    """The request that a client sends when it has recorded so much."""
    messages = [{"role": one["message"]["role"], "content": one["message"]["content"]} for one in records]
    return {"model": "claude-opus-4-6", "max_tokens": 4_000, "system": "Be brief.", "messages": messages}


def managed_records() -> list[Record]:
    """A session whose last turn reads again what its first ones read."""
    records = [claude("user", "Find the parser of dates.")]
    for number in range(TURNS):
        part = number if number < TURNS - 1 else 1
        usage = {"input_tokens": 5, "cache_read_input_tokens": 9_000, "output_tokens": 40}
        answer = claude("assistant", [called(number, file_path=f"/repo/shop/part_{part}.py")], at_s=10 * number)
        answer["message"] |= {"usage": usage, "id": f"msg-{number}"}
        records += [answer, claude("user", [answered(number, listing(number))], at_s=10 * number + 1)]
    return with_ids(records, "/repo/shop")


def managed(home: Path, key: str = MANAGED, budget_tokens: int = 4_000) -> None:
    """Record a session whose prompts went through undrift, which kept the hash of each."""
    records = managed_records()
    recorded(home, key, records)
    at_ms = [0]
    place = source_of(home).place("/repo/shop")
    store = open_store(place, Scope())
    given = Settings(budget_tokens=budget_tokens)
    context = SessionContext.of(f"claude:{key}", store, given, lambda: at_ms[0], home=place)
    with Session(context, recognised=Recognised(f"claude:{key}", "given"), sent=SentRecorder(context)) as session:
        for number in range(TURNS):
            answer = records[1 + 2 * number]
            at_ms[0] = int(datetime.fromisoformat(answer["timestamp"]).timestamp() * 1_000) - 500
            session.prepare(body_of(records[: 1 + 2 * number]))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a session behind undrift, and one that its client compacted, whose texts are hostile."""
    managed(tmp_path)
    records = turns([20_000 + n for n in range(60)], title=TITLES["image"])
    text = json.dumps([*records[:101], *compacted(1), *records[101:]])
    recorded(tmp_path, COMPACTED, json.loads(text.replace("value_7_0", json.dumps(TITLES["script"])[1:-1])))
    return tmp_path


@pytest.fixture
def address(home: Path) -> Iterator[str]:
    with serving(source_of(home)) as url:
        yield url


def click(tab: Tab, selector: str) -> None:
    """Click the first control of a selector, which then has the focus as if a person had clicked it."""
    tab.evaluate(f"(one => {{ one.focus(); one.click(); }})(document.querySelector({selector!r}))")


def prompt_of(turn: int) -> str:
    return f"document.querySelector('h1')?.textContent === 'Prompt of turn {turn}'"


def in_main(text: str) -> str:
    return f"document.querySelector('main').textContent.includes({text!r})"


def test_a_block_waits_for_the_next_prompt_and_stands_in_it_or_is_undone(browser: Browser, address: str, home: Path):
    tab = opened(browser, address, f"#/session/{MANAGED}/left/part_3.py")
    assert tab.evaluate("document.querySelector('#filter').value") == "part_3.py"
    assert len(text_of(tab, ".memories > li")) == 1
    click(tab, BACK)
    until(tab, in_main("Waits for the next prompt"))
    assert tab.evaluate("document.activeElement.id").endswith("-undo"), "the focus stays in the row"
    click(tab, "[id$='-undo']")
    until(tab, in_main("Not brought back."))
    assert tab.evaluate("document.activeElement.id").endswith("-bring-back")
    click(tab, BACK)
    until(tab, in_main("Waits for the next prompt"))
    place = source_of(home).place("/repo/shop")
    with Session.open(f"claude:{MANAGED}", home=place, settings=Settings(budget_tokens=4_000)) as session:
        sent = json.dumps(session.prepare(body_of(managed_records())).body)
    assert "compute_part_3_0" in sent
    more = managed_records()
    recorded(home, MANAGED, [*more, {**more[-2], "uuid": "u-last", "message": {**more[-2]["message"], "id": "msg-99"}}])
    until(tab, in_main("In the prompt since then. It leaves with the next prune."))
    closed(browser, tab)


@only_in_full
def test_a_pin_is_said_in_the_row_and_undone_there(browser: Browser, address: str):
    tab = opened(browser, address, f"#/session/{MANAGED}/left/part_4.py")
    click(tab, "[id$='-pin']")
    until(tab, in_main("Pinned: in every prompt from the next one on"))
    assert text_of(tab, ".acts button") == ["Purge…"]
    click(tab, "[id$='-undo']")
    until(tab, in_main("If a prompt has it already, it leaves with the next prune"))
    assert text_of(tab, ".acts button") == ["Bring back", "Pin", "Purge…"]
    closed(browser, tab)


def test_a_purge_needs_a_second_click_and_says_where_the_words_still_are(browser: Browser, address: str, home: Path):
    tab = opened(browser, address, f"#/session/{MANAGED}/left/part_5_")
    click(tab, "[id$='-purge']")
    until(tab, "document.querySelector('dialog[open]')")
    said = text_of(tab, "dialog")[0]
    assert "It is final" in said
    assert f"{MANAGED}.jsonl" in said
    assert tab.evaluate("document.activeElement.textContent") == "Keep it"
    tab.evaluate("document.activeElement.click()")
    until(tab, "!document.querySelector('dialog')")
    assert tab.evaluate("document.activeElement.id").endswith("-purge")
    assert "compute_part_5_0" in text_of(tab, ".memories code")[0], "nothing was destroyed"
    click(tab, "[id$='-purge']")
    until(tab, "document.querySelector('dialog .danger')")
    click(tab, "dialog .danger")
    until(tab, "/Destroyed/.test(document.querySelector('dialog').textContent)")
    assert f"{MANAGED}.jsonl" in text_of(tab, "dialog code")[0]
    recording = next(home.rglob(f"{MANAGED}.jsonl"))
    assert "compute_part_5_0" in recording.read_text(encoding="utf-8")
    click(tab, "dialog button")
    until(tab, "!document.querySelector('dialog')")
    found = [row for row in source_rows(home) if "part_5_" in row["line"]]
    assert found == []
    closed(browser, tab)


def looks_for(tab: Tab, words: str) -> None:
    """Write words into the filter of the list."""
    given = f"box.value = {words!r}; box.dispatchEvent(new Event('input'));"
    tab.evaluate(f"(box => {{ {given} }})(document.querySelector('#filter'))")


@only_in_full
def test_a_prune_leads_to_what_it_removed_and_the_address_goes_along_with_the_words(browser: Browser, address: str):
    tab = opened(browser, address, f"#/session/{MANAGED}")
    click(tab, "a[href$='left/turn:20']")
    until(tab, "document.querySelector('.memories')")
    rows = text_of(tab, ".memories > li")
    assert rows
    assert all("removed before turn 20" in one for one in rows)
    assert rows[0].startswith("result of Read · /repo/shop/part_")
    assert "in figures" in text_of(tab, ".memories details")[0]
    looks_for(tab, "")
    until(tab, f"location.hash === '#/session/{MANAGED}/left'")
    assert len(text_of(tab, ".memories > li")) > len(rows)
    looks_for(tab, "part_3.py")
    until(tab, f"location.hash === '#/session/{MANAGED}/left/part_3.py'")
    closed(browser, tab)


@only_in_full
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("part_22.py", "/repo/shop/part_22.py is still in the window: read in turn 24."),
        ("compute_part_3_9", "/repo/shop/part_3.py was removed; its row shows its first line alone."),
        ("zebra", "No single text of this session\u2019s recording has all these words."),
    ],
)
def test_words_that_no_removed_block_has_are_found_where_they_are(
    browser: Browser, address: str, words: str, sentence: str
):
    tab = opened(browser, address, f"#/session/{MANAGED}/left/{words}")
    until(tab, in_main(sentence))
    if words == "part_22.py":
        assert f"#/session/{MANAGED}/turn/{TURNS}" in tab.evaluate(HREFS)
    if words.startswith("compute"):
        click(tab, ".empty button")
        until(tab, "document.querySelectorAll('.memories > li').length === 1")
        assert tab.evaluate("document.querySelector('#filter').value") == "/repo/shop/part_3.py"
    closed(browser, tab)


@only_in_full
def test_keys_go_from_block_to_block_but_not_while_words_are_typed(browser: Browser, address: str):
    tab = opened(browser, address, f"#/session/{MANAGED}/left")
    places = []
    for key in ("j", "ArrowDown", "k"):
        tab.press(key)
        places.append(tab.evaluate("[...document.querySelectorAll('.memories > li')].indexOf(document.activeElement)"))
    assert places == [0, 1, 0]
    tab.evaluate("document.querySelector('#filter').focus()")
    tab.press("j")
    assert tab.evaluate("document.activeElement.id") == "filter"
    closed(browser, tab)


@only_in_full
def test_an_original_names_its_file_and_leads_to_the_way_back(browser: Browser, address: str, home: Path):
    row = next(row for row in source_rows(home) if row["place"].endswith("part_3.py"))
    project = keep(source_of(home).place("/repo/shop")).records.name
    tab = opened(browser, address, f"#/original/{project}/{row['ref']}")
    until(tab, in_main("/repo/shop/part_3.py"))
    assert row["why"] in text_of(tab, "main header")[0]
    assert f"#/session/{MANAGED}/left/{row['ref']}" in tab.evaluate(HREFS)
    closed(browser, tab)


def source_rows(home: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = VIEWS["left"](source_of(home), {"key": MANAGED})["rows"]
    return rows


@only_in_full
def test_only_what_was_read_again_is_listed_with_the_turn_that_read_it(browser: Browser, address: str):
    tab = opened(browser, address, f"#/session/{MANAGED}/left")
    tab.evaluate("document.querySelector('#again').click()")
    links = text_of(tab, ".memories b a")
    assert links == [f"turn {TURNS}"]
    tab.evaluate("document.querySelector('.memories b a').click()")
    until(tab, prompt_of(TURNS))
    closed(browser, tab)


@only_in_full
def test_an_action_that_fails_says_why_beside_its_row(browser: Browser, address: str, home: Path):
    tab = opened(browser, address, f"#/session/{MANAGED}/left/part_6_")
    with Session.open(f"claude:{MANAGED}", home=source_of(home).place("/repo/shop")) as session:
        session.purge(next(row["ref"] for row in source_rows(home) if "part_6_" in row["line"]))
    click(tab, BACK)
    until(tab, "document.querySelector('.memories [role=alert]')")
    assert "purged" in text_of(tab, ".memories > li [role=alert]")[0]
    closed(browser, tab, refused=1)


@only_in_full
def test_where_no_hook_ran_the_page_says_how_to_bring_back_and_has_no_button(browser: Browser, address: str):
    tab = opened(browser, address, f"#/session/{COMPACTED}/left")
    assert text_of(tab, ".note code") == ["undrift install claude"]
    assert text_of(tab, ".acts button") == []
    assert text_of(tab, ".pager span")[0].startswith("blocks 1 to 50 of ")
    assert tab.evaluate(FOREIGN) == []
    assert tab.evaluate("window.owned") is None
    assert tab.evaluate(NODES) <= MOST_NODES
    closed(browser, tab)


@only_in_full
def test_a_hook_that_ran_says_a_block_of_a_compaction_with_the_next_message(browser: Browser, address: str, home: Path):
    (home / ".undrift/hooks" / safe_name("claude-s-1")).mkdir(parents=True)
    tab = opened(browser, address, f"#/session/{COMPACTED}/left")
    click(tab, BACK)
    until(tab, in_main("Waits for the next prompt"))
    (brought,) = brought_texts(home / ".undrift/hooks" / safe_name("claude-s-1"))
    assert brought.text.splitlines()[0] in next(home.rglob(f"{COMPACTED}.jsonl")).read_text(encoding="utf-8")
    closed(browser, tab)


@only_in_full
def test_a_prompt_says_that_it_is_exactly_what_was_sent_and_keys_turn_its_pages(browser: Browser, address: str):
    tab = opened(browser, address, f"#/session/{MANAGED}/turn/{TURNS}")
    (said,) = text_of(tab, ".is-sure")
    assert said.startswith("Exactly as it was sent: ")
    left = len(text_of(tab, ".blocks > .left"))
    assert left > 4
    tab.press("[")
    until(tab, prompt_of(TURNS - 1))
    assert tab.evaluate("location.hash") == f"#/session/{MANAGED}/turn/{TURNS - 1}"
    tab.press("]")
    until(tab, prompt_of(TURNS))
    jump = "[...document.querySelectorAll('button')].find(one => one.textContent === 'Next removed').click()"
    tab.evaluate(jump)
    until(tab, f"document.querySelector('.jump [role]').textContent === '1 of {left}'")
    first = tab.evaluate("document.querySelector('.blocks > .left.at').id")
    tab.evaluate(jump)
    until(tab, f"document.querySelector('.blocks > .left.at').id !== {first!r}")
    assert tab.evaluate("document.activeElement.textContent") == "Next removed", "it can be pressed again"
    assert len(text_of(tab, ".blocks > .at")) == 1
    assert tab.evaluate(
        "(one => one.top >= 0 && one.bottom <= innerHeight)(document.querySelector('.at').getBoundingClientRect())"
    )
    tab.evaluate("document.querySelector('.blocks .left button').click()")
    until(tab, in_main("It waits for the next prompt; Removed undoes that."))
    assert tab.evaluate("document.activeElement.textContent") == "Removed"
    tab.evaluate("history.back()")
    until(tab, prompt_of(TURNS - 1) + " && document.querySelector('#after')")
    closed(browser, tab)


@only_in_full
def test_a_prompt_that_undrift_did_not_send_says_so_and_begins_where_it_begins(browser: Browser, address: str):
    tab = opened(browser, address, f"#/session/{COMPACTED}/turn/60")
    assert "undrift did not send it" in text_of(tab, ".note")[0]
    assert text_of(tab, ".blocks > .recorded") != [], "the first page shows what was in the prompt"
    assert tab.evaluate(NODES) <= MOST_NODES
    tab.evaluate(
        "[...document.querySelectorAll('button')].find(one => /before$/.test(one.textContent) && one.id === '').click()"
    )
    until(tab, "document.querySelectorAll('.blocks > .left').length === 60 && document.activeElement.matches('.left')")
    assert tab.evaluate(FOREIGN) == []
    assert tab.evaluate("window.owned") is None
    closed(browser, tab)


@only_in_full
def test_a_turn_that_is_none_is_a_sentence(browser: Browser, address: str):
    tab = opened(browser, address, f"#/session/{MANAGED}/turn/999")
    assert "the session has turns 1 to" in text_of(tab, "[role=alert]")[0]
    closed(browser, tab, refused=1)


def test_the_timeline_leads_to_the_prompt_and_to_why_it_was_forgotten(browser: Browser, address: str):
    tab = opened(browser, address, f"#/session/{MANAGED}")
    assert text_of(tab, ".tiles b")[0].startswith("$")
    until(tab, in_main("it cost"))  # the causes come after the tiles
    assert "it cost" in text_of(tab, ".causes h2")[0]
    assert text_of(tab, ".tiles button") == ["mostly system prompt and tools, 99%"]
    assert "$0.0045" in text_of(tab, ".causes td"), "a price of less than a cent has its digits"
    click(tab, ".tiles button")
    assert tab.evaluate("document.activeElement.textContent") == "What it cost, and why"
    tab.evaluate("document.querySelector('.chart').focus()")
    tab.press("ArrowLeft")
    tab.press("Enter")
    until(tab, prompt_of(TURNS - 1))
    tab.evaluate("history.back()")
    until(tab, "document.querySelector('#forgotten')")
    tab.evaluate(
        "document.querySelector('#forgotten').focus(); document.querySelector('#forgotten').value = 'part_2.py'"
    )
    tab.press("Enter")
    until(tab, "document.querySelector('#filter')")
    assert len(text_of(tab, ".memories > li")) == 1
    closed(browser, tab)


@only_in_full
def test_find_leads_to_what_left_with_the_words(browser: Browser, address: str):
    tab = opened(browser, address, f"#/find/{quote('compute_part_3_0')}")
    hrefs = tab.evaluate(HREFS)
    assert f"#/session/{COMPACTED}/left/compute_part_3_0" in hrefs
    assert [one for one in hrefs if one.startswith(f"#/session/{MANAGED}/left/")]
    closed(browser, tab)


@only_in_full
@pytest.mark.parametrize(
    "view",
    [
        f"#/session/{MANAGED}/left",
        f"#/session/{MANAGED}/turn/20",
        f"#/session/{COMPACTED}/turn/60",
        f"#/session/{MANAGED}",
    ],
)
def test_the_views_fit_every_screen_and_an_accessibility_checker_finds_nothing(
    browser: Browser, address: str, view: str
):
    tab = opened(browser, address, view)
    fits(tab)
    closed(browser, tab)
