"""The results of a search of the page, and the view of an original: of any query, of every project, without secrets."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.builders import assistant, body, call, result, user
from tests.web.builders import asked, recorded, source_of, turns
from undrift.errors import InputError
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.stores.projects import keep
from undrift.web.source import PageSource
from undrift.web.views import VIEWS

SECRET = "ghp_" + "a1B2c3D4e5" * 4
HOSTILE = [
    '"',
    "'; DROP TABLE originals; --",
    "a OR b AND NOT c NEAR(d, 2) *",
    "parser\0parser",
    "x" * 10_000,
    "word " * 2_000,
    "\ud800",
    "\u202e\u2066%_^$\\",
    "(((" * 500,
    "-",
    "0" * 16,
    "m" + "0" * 16,
    "../../etc/passwd",
]


def managed(source: PageSource, folder: str, words: str, session: str = "claude:s1", count: int = 12) -> None:
    """Work in a session of a project until texts with some words have left its window."""
    texts = [f"{words} number {number} ".ljust(900, "y") for number in range(count)]
    rounds = [
        message
        for number, text in enumerate(texts)
        for message in (assistant(call(f"c{number}", path=f"{number}.py")), user(result(f"c{number}", text)))
    ]
    with Session.open(session, home=keep(source.place(folder)), settings=Settings(budget_tokens=900)) as opened:
        assert opened.prepare(body(user("Go."), *rounds)).actions


def remembered(source: PageSource, folder: str, text: str, **fields: str) -> str:
    with Session.open("claude:s1", home=keep(source.place(folder)), keeps_notes=False) as opened:
        return opened.remember(text, **fields).id  # type: ignore[arg-type]


def found(source: PageSource, query: str) -> Any:
    return VIEWS["find"](source, {"q": query})


@pytest.mark.parametrize("query", ["walrus", "WALRUS shop", "claude walrus", "opus walrus", "s1", "/repo/shop"])
def test_a_session_is_found_by_its_title_project_folder_client_model_and_key(tmp_path: Path, query: str):
    recorded(tmp_path, "s1", turns([9_000], title="Feed the walrus."))
    recorded(tmp_path, "other", [{**one, "cwd": "/repo/elsewhere"} for one in turns([9_000], title="Find the parser.")])
    assert [row["key"] for row in found(source_of(tmp_path), query)["sessions"]] == ["s1"]


def test_a_session_needs_all_words(tmp_path: Path):
    recorded(tmp_path, "s1", turns([9_000], title="Feed the walrus."))
    assert found(source_of(tmp_path), "walrus zebra")["sessions"] == []


def test_memories_of_every_project_and_of_the_person_are_found_each_once(tmp_path: Path):
    source = source_of(tmp_path)
    here = remembered(source, "/repo/shop", "The walrus service runs on port 8080.")
    there = remembered(source, "/repo/other", "The walrus database is SQLite.")
    mine = remembered(source, "/repo/other", "I feed the walrus with tabs, not spaces.", scope="user")
    rows = found(source, "walrus")["memories"]
    assert sorted(row["id"] for row in rows) == sorted([here, there, mine])
    assert {row["id"]: row["project"] for row in rows} == {here: "shop", there: "other", mine: ""}
    assert [row["id"] for row in found(source, there)["memories"]][:1] == [there]
    assert [row["id"] for row in found(source, "walrus database")["memories"]][:1] == [there]


def test_originals_of_every_project_are_found_and_each_can_be_opened(tmp_path: Path):
    source = source_of(tmp_path)
    recorded(tmp_path, "s1", turns([9_000]))
    managed(source, "/repo/shop", "the walrus is fed at noon")
    managed(source, "/repo/other", "the walrus sleeps", session="claude:gone")
    rows = found(source, "walrus")["originals"]
    assert {row["project"] for row in rows} == {"shop", "other"}
    assert {row["session_key"] for row in rows if row["project"] == "shop"} == {"s1"}
    (key,) = {row["session_key"] for row in rows if row["project"] == "other"}
    assert key.endswith(":claude:gone"), "no recording is there; the page shows its decisions"
    for row in rows:
        query = {"project": row["project_key"], "ref": row["ref"], "q": "walrus"}
        one = VIEWS["original"](source, query)
        assert "walrus" in one["text"]
        assert (one["what"], one["kind"], one["pages"]) == ("result of Read", "pruned", 1)
        assert one["reason"]
        assert [line["number"] for line in one["lines"]] == [1]
    first = rows[0]["ref"]
    assert found(source, first)["originals"][0]["ref"] == first


@pytest.mark.parametrize("query", HOSTILE)
def test_any_text_is_a_legal_query(tmp_path: Path, query: str):
    source = source_of(tmp_path)
    recorded(tmp_path, "s1", turns([9_000]))
    managed(source, "/repo/shop", "the walrus is fed at noon")
    remembered(source, "/repo/shop", "The walrus service runs on port 8080.")
    said = found(source, query)
    json.dumps(said).encode("ascii")
    assert said["unread"] == []
    assert len(said["query"]) <= 1_000


@pytest.mark.parametrize("query", ["", "   ", "\0\x1b\n"])
def test_an_empty_query_finds_nothing(tmp_path: Path, query: str):
    recorded(tmp_path, "s1", turns([9_000]))
    said = found(source_of(tmp_path), query)
    assert (said["query"], said["sessions"], said["memories"], said["originals"]) == ("", [], [], [])


def test_a_query_in_an_address_finds_the_same(tmp_path: Path):
    recorded(tmp_path, "s1", turns([9_000], title="Feed the walrus & the 100% zebra."))
    answer = asked(source_of(tmp_path), "/undrift/api/find?q=%26%20100%25%20walrus%FF")
    assert answer.status == 200
    assert answer.json["query"].startswith("& 100% walrus")


def test_no_secret_is_shown_nor_found(tmp_path: Path):
    source = source_of(tmp_path)
    recorded(tmp_path, "s1", turns([9_000], title=f"The walrus key is {SECRET}"))
    managed(source, "/repo/shop", f"walrus token {SECRET} at noon")
    remembered(source, "/repo/shop", f"The walrus password is {SECRET}.")
    said = found(source, "walrus")
    assert all(len(said[name]) >= 1 for name in ("sessions", "memories", "originals"))
    assert SECRET not in json.dumps(said)
    assert "[masked:" in json.dumps(said)
    row = said["originals"][0]
    one = VIEWS["original"](source, {"project": row["project_key"], "ref": row["ref"], "q": "token"})
    assert SECRET not in json.dumps(one)
    assert one["masked"] == 1
    assert found(source, SECRET)["sessions"] == []


def test_a_store_that_cannot_be_read_is_named_and_hides_nothing(tmp_path: Path):
    source = source_of(tmp_path)
    remembered(source, "/repo/shop", "The walrus service runs on port 8080.")
    managed(source, "/repo/broken", "the walrus sleeps")
    for one in source.place("/repo/broken").records.glob("undrift.db*"):
        one.write_bytes(b"no database" * 1_000)
    said = found(source, "walrus")
    assert said["unread"] == ["broken"]
    assert len(said["memories"]) == 1


def test_a_search_writes_no_file_of_notes_and_no_operation(tmp_path: Path):
    source = source_of(tmp_path)
    remembered(source, "/repo/shop", "The walrus service runs on port 8080.")
    place = source.place("/repo/shop")
    with source.store(place) as store:
        assert store is not None
        before = store.operations("claude:s1")
    names = {one.name for one in place.records.iterdir()}
    assert found(source, "walrus")["memories"]
    with source.store(place) as store:
        assert store is not None
        assert store.operations("claude:s1") == before
    assert {one.name for one in place.records.iterdir()} == names


def test_a_long_original_is_read_by_pages_that_hold_all_of_it(tmp_path: Path):
    source = source_of(tmp_path)
    lines = [f"line {number} {'walrus' if number == 2_500 else 'zebra'}" for number in range(1, 3_001)]
    text = "\n".join(lines) + "\n" + "z" * 50_000
    long = user(result("c0", text))
    after = [
        message
        for n in range(1, 6)
        for message in (assistant(call(f"c{n}", path="a.py")), user(result(f"c{n}", "ok " * 300)))
    ]
    with Session.open(
        "claude:s1", home=keep(source.place("/repo/shop")), settings=Settings(budget_tokens=2_000)
    ) as opened:
        assert opened.prepare(body(user("Go."), assistant(call("c0", path="0.py")), long, *after)).actions
    (row,) = [one for one in found(source, "walrus")["originals"] if one["what"] == "result of Read"]
    query = {"project": row["project_key"], "ref": row["ref"], "q": "walrus"}
    first = VIEWS["original"](source, query)
    pages = [VIEWS["original"](source, {**query, "page": str(n + 1)}) for n in range(first["pages"])]
    assert "".join(one["text"] for one in pages) == text
    assert all(len(one["text"]) <= 20_000 for one in pages)
    (hit,) = [line for line in first["lines"] if "walrus" in line["text"]]
    assert hit["number"] == 2_500
    assert "line 2500 walrus" in pages[hit["page"] - 1]["text"]
    assert pages[1]["text"].startswith(lines[pages[1]["first_line"] - 1])
    for page in ("0", "-1", "x", "9" * 30, "\u0663", "999999"):
        assert VIEWS["original"](source, {**query, "page": page})["page"] in (1, first["pages"])


def test_what_cannot_be_seen_in_an_original_is_shown_as_its_escape(tmp_path: Path):
    source = source_of(tmp_path)
    managed(source, "/repo/shop", "walrus \u202egnp.exe \x1b[31m\x00 caf\u00e9")
    row = found(source, "walrus")["originals"][0]
    text = VIEWS["original"](source, {"project": row["project_key"], "ref": row["ref"]})["text"]
    assert text.startswith("walrus \\u202egnp.exe \\x1b[31m\\x00 caf\u00e9 number")


@pytest.mark.parametrize(
    ("project", "ref", "said"),
    [
        ("", "0" * 16, "no such project"),
        ("../shop", "0" * 16, "no such project"),
        (None, "0" * 16, "no text with this reference"),
        (None, "", "16 characters"),
        (None, "0" * 10_000, "16 characters"),
        (None, "\0" * 16, "16 characters"),
    ],
)
def test_an_original_that_is_not_there_is_an_error_with_a_remedy(
    tmp_path: Path, project: str | None, ref: str, said: str
):
    source = source_of(tmp_path)
    remembered(source, "/repo/shop", "The walrus service runs on port 8080.")
    key = source.place("/repo/shop").records.name if project is None else project
    with pytest.raises(InputError, match=f"{said}.*"):
        VIEWS["original"](source, {"project": key, "ref": ref})


def test_a_purged_original_says_so(tmp_path: Path):
    source = source_of(tmp_path)
    managed(source, "/repo/shop", "the walrus is fed at noon")
    row = found(source, "walrus")["originals"][0]
    with Session.open("claude:s1", home=source.place("/repo/shop")) as opened:
        opened.purge(row["ref"])
    answer = asked(source, f"/undrift/api/original?project={row['project_key']}&ref={row['ref']}")
    assert answer.status == 400
    assert "purged" in answer.json["error"]


def test_a_search_of_20_projects_takes_about_a_second(tmp_path: Path):
    source = source_of(tmp_path)
    for number in range(20):
        remembered(source, f"/repo/p{number}", f"The walrus service {number} runs on port {8_000 + number}.")
    found(source, "walrus")
    begun_s = time.perf_counter()
    assert len(found(source, "walrus service")["memories"]) == 20
    assert time.perf_counter() - begun_s < 3, "about 0.4 s on an idle machine"
