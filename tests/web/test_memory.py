"""The memory on the page: what holds, what it superseded, conflicts, earlier moments, and what a person changes there."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.report.browser import Browser, Tab
from tests.web.builders import recorded, serving, source_of, turns
from tests.web.tabs import closed, fits, opened
from tests.web.test_in_browser import FOREIGN, NODES, TITLES, only_in_full, text_of, until
from undrift.errors import InputError
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.stores.opening import open_store
from undrift.stores.projects import keep, place_at
from undrift.values.clock import now_ms
from undrift.values.memory import MemoryEntry
from undrift.values.project import Place
from undrift.values.scope import Scope
from undrift.web.actions import ACTIONS
from undrift.web.source import PageSource
from undrift.web.views import VIEWS

POSTGRES = "The main database is PostgreSQL."
SQLITE = "Actually, the main database is SQLite."
PORT, OTHER_PORT = "The port of the login service is 8080", "The port of the login service is 9090"
SECRET = "ghp_" + "a1B2c3D4e5" * 4


def kept_place(source: PageSource, folder: str = "/repo/shop") -> Place:
    return keep(source.place(folder))


def remembered(
    source: PageSource, /, *words: str, folder: str = "/repo/shop", session: str = "claude:s1", **fields: Any
) -> list[MemoryEntry]:
    with Session.open(session, home=kept_place(source, folder)) as chosen:
        return [chosen.remember(one, **{"trust": "user", **fields}) for one in words]


def seen(source: PageSource, **query: object) -> dict[str, Any]:
    found = VIEWS["memory"](source, {name: str(value) for name, value in query.items()})
    json.dumps(found)
    return found


def texts(found: dict[str, Any], state: str = "holds") -> list[str]:
    return [row["text"] for row in found["rows"] if row["state"] == state]


def named(found: dict[str, Any], text: str) -> dict[str, Any]:
    (row,) = [one for one in found["rows"] if one["text"] == text]
    return row


def done(source: PageSource, action: str, row: dict[str, Any], **more: object) -> dict[str, Any]:
    return ACTIONS[action](source, {"place": row["place"], "id": row["id"], **more})


def later() -> int:
    """Return a moment between what was before and what comes after."""
    time.sleep(0.005)
    at_ms = now_ms()
    time.sleep(0.005)
    return at_ms


def test_what_holds_comes_first_and_what_it_superseded_says_by_what_and_why(tmp_path: Path):
    source = source_of(tmp_path)
    old, new = remembered(source, POSTGRES, SQLITE, source="adr-7: Storage")
    found = seen(source)
    assert [row["state"] for row in found["rows"]] == ["holds", "superseded"]
    assert found["counts"] == {"conflicts": 0, "holds": 1, "superseded": 1, "hidden": 0}
    row = named(found, POSTGRES)
    assert (row["id"], row["by"], row["why"]) == (old.id, new.id, "the newer one has another value (database)")
    assert row["at_ms"] >= row["since_ms"] > 0
    assert (row["project"], row["type"], row["trust"], row["scope"]) == ("shop", "note", "user", "project")
    assert row["source"]["text"] == "adr-7: Storage"


def test_every_project_and_what_holds_in_all_of_them_is_there(tmp_path: Path):
    source = source_of(tmp_path)
    remembered(source, PORT)
    remembered(source, "The deploy needs two reviewers.", folder="/repo/till")
    remembered(source, "I prefer short answers.", scope="user")
    found = seen(source)
    assert {row["project"] for row in found["rows"]} == {"shop", "till", "every project"}
    assert len({row["place"] for row in found["rows"]}) == 3


def test_a_home_of_one_project_shows_its_memories(tmp_path: Path):
    source = source_of(tmp_path)
    with Session.open("s", home=place_at(source.home), settings=Settings()) as session:
        session.remember(PORT)
    (row,) = seen(source)["rows"]
    assert (row["project"], row["text"]) == ("this home", PORT)
    assert done(source, "memory-forget", row)["id"] == row["id"]
    assert texts(seen(source)) == []


def test_the_conflicts_are_those_of_the_engine_of_one_store_and_between_two(tmp_path: Path):
    source = source_of(tmp_path)
    remembered(source, PORT, SQLITE)
    remembered(source, OTHER_PORT, trust="tool")
    remembered(source, "The main database is MySQL.", scope="user")
    found = seen(source)
    with Session.open("claude:s1", home=kept_place(source)) as session:
        pairs = {frozenset((one.newer.id, one.older.id)) for one in session.conflicts()}
    assert {frozenset(side["id"] for side in one["sides"]) for one in found["conflicts"]} == pairs
    assert found["counts"]["conflicts"] == len(pairs) == 2
    by_rule = {one["rule"]: one for one in found["conflicts"]}
    assert [side["text"] for side in by_rule["value:port"]["sides"]] == [PORT, OTHER_PORT], "more trust stands first"
    assert by_rule["value:port"]["why"] == "the newer one is trusted less"
    assert by_rule["value:database"]["why"] == "they have different scopes"


def test_one_click_settles_a_conflict_and_another_one_takes_it_back(tmp_path: Path):
    source = source_of(tmp_path)
    remembered(source, PORT)
    remembered(source, OTHER_PORT, trust="tool")
    before = seen(source)
    dropped, kept = before["conflicts"][0]["sides"]
    sides = {name: {"place": side["place"], "id": side["id"]} for name, side in (("keep", kept), ("drop", dropped))}
    assert ACTIONS["memory-settle"](source, sides)["id"] == dropped["id"]
    found = seen(source)
    assert (texts(found), found["counts"]["conflicts"], texts(found, "hidden")) == ([OTHER_PORT], 0, [PORT])
    with pytest.raises(InputError, match="load the page again"):
        ACTIONS["memory-settle"](source, sides)
    done(source, "memory-restore", dropped)
    after = seen(source)
    assert after["counts"] == before["counts"]
    assert {row["id"] for row in after["rows"]} == {row["id"] for row in before["rows"]}


def test_what_was_forgotten_comes_back_as_it_was_and_what_came_since_stays(tmp_path: Path):
    source = source_of(tmp_path)
    _, new = remembered(source, POSTGRES, SQLITE, type="architectural_decision", source="adr-7")
    row = named(seen(source), SQLITE)
    assert done(source, "memory-forget", row) == {"id": new.id, "stays_superseded": 1}
    remembered(source, PORT)
    hidden = named(seen(source), SQLITE)
    assert (hidden["state"], hidden["why"]) == ("hidden", "forget")
    assert hidden["at_ms"] >= new.recorded_at_ms
    assert done(source, "memory-restore", hidden) == {"id": new.id}
    found = seen(source)
    assert texts(found) == [PORT, SQLITE]
    assert named(found, SQLITE) == row
    with pytest.raises(InputError, match="not hidden"):
        done(source, "memory-restore", hidden)


def test_what_holds_everywhere_is_changed_in_its_own_store(tmp_path: Path):
    source = source_of(tmp_path)
    remembered(source, "I prefer short answers.", scope="user")
    row = named(seen(source), "I prefer short answers.")
    done(source, "memory-edit", row, text="I prefer long answers.")
    found = seen(source)
    assert (texts(found), texts(found, "superseded")) == (["I prefer long answers."], ["I prefer short answers."])
    with open_store(source.home / "user", Scope(), create=False) as store:
        assert [one.session_id for one in store.sessions()] == ["user"]
    done(source, "memory-forget", named(found, "I prefer long answers."))
    done(source, "memory-restore", named(seen(source), "I prefer long answers."))
    assert texts(seen(source)) == ["I prefer long answers."]


def test_a_memory_of_one_session_is_shown_and_changed_as_that_session(tmp_path: Path):
    source = source_of(tmp_path)
    (entry,) = remembered(source, PORT, session="claude:other", scope="session")
    remembered(source, POSTGRES)
    assert named(seen(source), PORT)["scope"] == "session"
    at_ms = later()
    done(source, "memory-edit", named(seen(source), PORT), text=OTHER_PORT)
    assert named(seen(source), OTHER_PORT)["scope"] == "session"
    assert named(seen(source, as_of=at_ms), PORT)["id"] == entry.id


def test_edited_words_have_the_trust_of_a_user_and_the_old_ones_stay(tmp_path: Path):
    source = source_of(tmp_path)
    remembered(source, PORT, trust="assistant")
    edited = done(source, "memory-edit", named(seen(source), PORT), text=OTHER_PORT)
    found = seen(source)
    assert edited["is_changed"]
    assert named(found, OTHER_PORT)["trust"] == "user"
    assert (named(found, PORT)["by"], named(found, PORT)["why"]) == (edited["id"], "it was edited")
    with pytest.raises(InputError, match="superseded"):
        done(source, "memory-edit", named(found, PORT), text="x")


def test_an_edit_can_be_taken_back(tmp_path: Path):
    source = source_of(tmp_path)
    remembered(source, "The till prints receipts.")
    done(source, "memory-edit", named(seen(source), "The till prints receipts."), text="Ann waters the plants.")
    again = done(source, "memory-again", named(seen(source), "The till prints receipts."))
    found = seen(source)
    assert texts(found) == ["The till prints receipts."]
    assert [row["id"] for row in found["rows"] if row["state"] == "holds"] == [again["id"]]


def test_superseded_words_can_hold_again(tmp_path: Path):
    source = source_of(tmp_path)
    remembered(source, POSTGRES, SQLITE)
    again = done(source, "memory-again", named(seen(source), POSTGRES))
    found = seen(source)
    (row,) = [one for one in found["rows"] if one["state"] == "holds"]
    assert (row["id"], row["text"], again["conflicts"]) == (again["id"], POSTGRES, 0)
    assert sorted(texts(found, "superseded")) == sorted([POSTGRES, SQLITE])
    with pytest.raises(InputError, match="holds already"):
        done(source, "memory-again", row)


def test_an_earlier_moment_shows_what_was_known_then_the_forgotten_too(tmp_path: Path):
    source = source_of(tmp_path)
    begin = later()
    remembered(source, POSTGRES)
    remembered(source, "The till prints receipts.", folder="/repo/till")
    first = later()
    remembered(source, SQLITE, PORT)
    second = later()
    done(source, "memory-forget", named(seen(source), PORT))
    third = later()
    with Session.open("claude:s1", home=kept_place(source)) as session:
        session.rewind(1)
    assert texts(seen(source, as_of=begin)) == []
    then = seen(source, as_of=first)
    assert sorted(texts(then)) == sorted([POSTGRES, "The till prints receipts."])
    assert named(then, POSTGRES)["now"] == "holds", "a rewind took SQLite back"
    then = seen(source, as_of=second)
    assert set(texts(then)) == {SQLITE, PORT, "The till prints receipts."}
    assert texts(then, "superseded") == [POSTGRES]
    assert named(then, PORT)["now"] == named(then, SQLITE)["now"] == "hidden"
    assert PORT not in texts(seen(source, as_of=third))
    assert seen(source)["as_of_ms"] is None
    stops = seen(source)["stops_ms"]
    assert stops == sorted(stops)
    assert any(second < one < third for one in stops), "the moment of the forgetting"


def test_a_moment_is_the_same_for_all_sessions_of_a_project(tmp_path: Path):
    source = source_of(tmp_path)
    remembered(source, PORT)
    remembered(source, "Ann waters the plants.", session="claude:s2")
    between = later()
    remembered(source, "The till prints receipts.")
    remembered(source, "Bob feeds the cat.", session="claude:s2")
    assert set(texts(seen(source, as_of=between))) == {PORT, "Ann waters the plants."}
    assert len(texts(seen(source, as_of=now_ms()))) == 4


def test_what_was_pruned_is_shown_as_such_and_comes_back(tmp_path: Path):
    source = source_of(tmp_path)
    with Session.open("claude:s1", home=kept_place(source)) as session:
        session.memory.take_in(
            [{"id": "m" + "0" * 16, "content": PORT, "created_at_ms": now_ms(), "decay_weight": 0.01}]
        )
        assert session.prune_memories(dry_run=False).stale
    row = named(seen(source), PORT)
    assert (row["state"], row["why"]) == ("hidden", "prune_memories")
    done(source, "memory-restore", row)
    assert texts(seen(source)) == [PORT]


def test_a_moment_that_is_no_number_is_now(tmp_path: Path):
    source = source_of(tmp_path)
    remembered(source, PORT)
    for given in ("", "x", "-5", "1" * 40, "²"):
        assert texts(seen(source, as_of=given)) == [PORT]


def test_a_memory_names_the_recording_it_was_learned_from_and_the_line(tmp_path: Path):
    source = source_of(tmp_path)
    recorded(tmp_path, "s1", turns([9_000], title="Learn this."))
    remembered(source, PORT, source="session:claude:s1", metadata={"learned": {"line": 12}})
    remembered(source, POSTGRES, source="session:claude:gone")
    found = seen(source)
    origin = named(found, PORT)["source"]
    assert (origin["key"], origin["line"], origin["is_learned"]) == ("s1", 12, True)
    assert origin["title"].endswith("Learn this.")
    assert named(found, POSTGRES)["source"] == {
        "text": "", "line": None, "is_learned": True, "session": "claude:gone", "key": "", "title": "",
    }  # fmt: skip


def test_what_was_said_again_says_how_often_and_from_where(tmp_path: Path):
    source = source_of(tmp_path)
    remembered(source, "User prefers concise answers.", type="user_preference")
    remembered(source, "Keep answers short, please.", type="user_preference", source="CLAUDE.md")
    (row,) = seen(source)["rows"]
    assert row["again"] == {"times": 1, "sources": ["CLAUDE.md"]}


def test_texts_are_masked_and_cut_and_the_whole_one_can_be_asked_for(tmp_path: Path):
    source = source_of(tmp_path)
    with Session.open("s", home=kept_place(source), settings=Settings(mask_secrets=False)) as session:
        session.remember(f"The key is {SECRET}. " + "x" * 1_000)
    found = seen(source)
    (row,) = found["rows"]
    assert SECRET not in json.dumps(found)
    assert (len(row["text"]), row["is_cut"], row["is_masked"]) == (600, True, True)
    whole = VIEWS["memory-text"](source, {"place": row["place"], "id": row["id"]})["text"]
    assert SECRET not in whole
    assert whole.endswith("x" * 1_000)


HOSTILE: list[tuple[str, Callable[[dict[str, str]], dict[str, Any]]]] = [
    ("memory-forget", lambda row: {}),
    ("memory-forget", lambda row: {**row, "id": ["x"]}),
    ("memory-forget", lambda row: {**row, "id": "m0000000000000000"}),
    ("memory-forget", lambda row: {**row, "place": "../user"}),
    ("memory-forget", lambda row: {**row, "place": {"x": 1}}),
    ("memory-edit", lambda row: {**row, "text": "  "}),
    ("memory-edit", lambda row: {**row, "text": 7}),
    ("memory-edit", lambda row: {**row, "text": "x" * 20_000}),
    ("memory-settle", lambda row: {"keep": row, "drop": "x"}),
    ("memory-settle", lambda row: {"keep": row, "drop": row}),
    ("memory-restore", lambda row: row),
    ("memory-again", lambda row: {**row, "id": None}),
]


@pytest.mark.parametrize(("action", "given"), HOSTILE)
def test_a_hostile_action_changes_nothing_and_says_what_is_wrong(
    tmp_path: Path, action: str, given: Callable[[dict[str, str]], dict[str, Any]]
):
    source = source_of(tmp_path)
    remembered(source, PORT)
    (row,) = seen(source)["rows"]
    with pytest.raises(InputError):
        ACTIONS[action](source, given({"place": row["place"], "id": row["id"]}))
    assert seen(source)["rows"] == [row]


def test_a_store_that_cannot_be_read_is_named_and_the_others_are_shown(tmp_path: Path):
    source = source_of(tmp_path)
    remembered(source, PORT)
    remembered(source, POSTGRES, folder="/repo/till")
    (kept_place(source, "/repo/till").records / "undrift.db").write_bytes(b"no database" * 1_000)
    found = seen(source)
    assert (texts(found), found["unread"]) == ([PORT], ["till"])


def test_a_home_without_memories_is_empty(tmp_path: Path):
    found = seen(source_of(tmp_path))
    assert (found["rows"], found["conflicts"], found["stops_ms"], found["unread"]) == ([], [], [], [])


@pytest.fixture
def open_view(browser: Browser, tmp_path: Path) -> Iterator[Callable[[str], Tab]]:
    """Opens a view of this home's page; afterwards the tab must have been silent, and within the page."""
    tabs = []
    with serving(source_of(tmp_path)) as url:

        def go(view: str) -> Tab:
            tabs.append(opened(browser, url, view))
            return tabs[-1]

        yield go
        for tab in tabs:
            assert [one for one in tab.requests() if not one.startswith(url)] == []
            closed(browser, tab)


def press(tab: Tab, name: str, within: str = "main") -> None:
    """Press the first button with a name."""
    tab.evaluate(f"[...document.querySelectorAll('{within} button')].find(one => one.textContent === {name!r}).click()")


def says(tab: Tab, words: str) -> None:
    until(tab, f"document.querySelector('.notice').textContent.includes({words!r})")


def figures(tab: Tab) -> list[str]:
    return text_of(tab, ".tiles b")


def test_two_clicks_answer_whether_anything_is_wrong_and_mend_it(open_view: Callable[[str], Tab], tmp_path: Path):
    source = source_of(tmp_path)
    remembered(source, PORT)
    remembered(source, OTHER_PORT, trust="tool")
    tab = open_view("#/memory")
    assert "1 conflict to settle" in tab.evaluate("document.querySelector('main').textContent")
    press(tab, "This one holds", ".side:nth-child(2)")
    says(tab, f"Settled. Forgot “{PORT}”")
    assert (figures(tab), texts(seen(source))) == (["0", "0", "1", "1"], [OTHER_PORT])
    press(tab, "Undo")
    says(tab, "It is back")
    assert figures(tab) == ["1", "0", "2", "0"]
    assert sorted(texts(seen(source))) == sorted([PORT, OTHER_PORT])


@only_in_full
def test_a_line_is_edited_and_forgotten_in_its_place_and_both_are_undone(
    open_view: Callable[[str], Tab], tmp_path: Path
):
    source = source_of(tmp_path)
    remembered(source, "The till prints receipts.", "Ann waters the plants.")
    tab = open_view("#/memory")
    press(tab, "Edit", ".memories")
    until(tab, "document.querySelector('textarea')?.value === 'Ann waters the plants.'")
    assert tab.evaluate("document.activeElement.tagName") == "TEXTAREA"
    tab.evaluate("document.querySelector('textarea').value = 'Bob waters the plants.'")
    press(tab, "Save")
    says(tab, "Saved")
    assert "Bob waters the plants." in texts(seen(source))
    press(tab, "Undo")
    until(tab, "document.querySelector('.memories .said').textContent === 'Ann waters the plants.'")
    press(tab, "Forget", ".memories")
    says(tab, "Forgot “Ann waters the plants.”")
    assert texts(seen(source)) == ["The till prints receipts."]
    assert figures(tab)[2:] == ["1", "1"]
    press(tab, "Undo")
    says(tab, "It is back")
    assert sorted(texts(seen(source))) == sorted(["The till prints receipts.", "Ann waters the plants."])


@only_in_full
def test_the_slider_goes_back_by_keys_and_changes_nothing(open_view: Callable[[str], Tab], tmp_path: Path):
    source = source_of(tmp_path)
    remembered(source, POSTGRES)
    later()
    remembered(source, SQLITE)
    tab = open_view("#/memory")
    assert text_of(tab, ".memories .said") == [SQLITE]
    assert text_of(tab, ".was del") == [POSTGRES]
    tab.evaluate("document.querySelector('#as-of').stepDown(2)")
    tab.evaluate("document.querySelector('#as-of').dispatchEvent(new Event('input'))")
    until(tab, "document.querySelector('.memories .said').textContent.startsWith('The main database is PostgreSQL.')")
    assert text_of(tab, ".then") == ["superseded since"]
    assert text_of(tab, ".memories button") == []
    press(tab, "Back to now")
    until(tab, "document.querySelectorAll('.memories button').length")


@only_in_full
def test_a_page_has_fifty_lines_and_a_link_marks_one_on_its_page(open_view: Callable[[str], Tab], tmp_path: Path):
    source = source_of(tmp_path)
    with Session.open("s", home=kept_place(source)) as session:
        long = " words that are too long for a rule" * 12
        said = [f"{text} number {number}{long}" for number in range(32) for text in TITLES.values()]
        entries = session.memory.take_in([{"content": one} for one in said]).added
    assert len(entries) == 128
    tab = open_view(f"#/memory/{entries[3].id}")
    assert text_of(tab, ".named .said") == [seen(source)["rows"][-4]["text"]]
    assert text_of(tab, ".pager span") == ["lines 101 to 128 of 128"]
    assert tab.evaluate("document.querySelector('.named').getBoundingClientRect().top < innerHeight")
    press(tab, "Show the 50 before")
    assert len(text_of(tab, ".memories .said")) == 50
    assert tab.evaluate(NODES) <= 1_000
    assert tab.evaluate(FOREIGN) == []
    assert tab.evaluate("window.owned") is None
    tab.evaluate(
        "(box => { box.value = 'NUMBER 31 turned'; box.dispatchEvent(new Event('input')); })(document.querySelector('#filter'))"
    )
    until(tab, "document.querySelectorAll('.memories > li').length === 1")


@only_in_full
def test_the_memory_fits_every_screen_and_an_accessibility_checker_finds_nothing(
    open_view: Callable[[str], Tab], tmp_path: Path
):
    source = source_of(tmp_path)
    remembered(source, POSTGRES, SQLITE, PORT, source="x" * 150)
    remembered(source, OTHER_PORT, trust="tool")
    remembered(source, "word" * 100, folder="/repo/till")
    tab = open_view("#/memory")
    press(tab, "Edit", ".memories")
    until(tab, "document.querySelector('textarea')")
    fits(tab)
