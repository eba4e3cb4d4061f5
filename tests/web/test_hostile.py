"""Hostile queries and bodies for every view and action: a refusal in words, no change, no file elsewhere; strangers get 401."""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.report.test_in_browser import ALL
from tests.web.builders import TOKEN, Answer, acted, asked
from tests.web.payloads import BIG, IS_WHOLE, MANAGED, PAYLOADS, hostile_home, hostile_source, sample
from tests.web.test_find import managed, remembered
from undrift.web import serve
from undrift.web.actions import ACTIONS
from undrift.web.memory import memory_places
from undrift.web.source import PageSource
from undrift.web.views import VIEWS

SOME = 12
TEXTS = PAYLOADS if IS_WHOLE else sample(SOME if ALL else 2)
SOME_VIEWS = tuple(VIEWS) if ALL else ("left", "memory", "prompt")
SOME_ACTIONS = tuple(ACTIONS) if ALL else ("bring-back", "memory-edit")
"""`make test` asks these; `make browsers` and `make web-test` ask all."""

OTHER = "/repo/other"
EACH = 6 if IS_WHOLE else 3
"""The step between the texts that stand in each place alone; each text stands in all places at once."""
PLACES = (
    "key",
    "number",
    "turn",
    "from",
    "q",
    "project",
    "ref",
    "page",
    "place",
    "id",
    "as_of",
    "days",
    "run",
    "session_id",
)
"""The names in the queries of the views."""


@pytest.fixture(scope="module")
def opened() -> Iterator[list[str]]:
    """The files that Python opens while the list is not closed by a last element."""
    paths: list[str] = []
    is_heard = [True]

    def hear(event: str, given: tuple[Any, ...]) -> None:
        if is_heard[0] and event == "open" and isinstance(given[0], str | bytes):
            paths.append(str(given[0] if isinstance(given[0], str) else given[0].decode("latin-1")))

    sys.addaudithook(hear)
    yield paths
    is_heard[0] = False


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> PageSource:
    """A home of hostile texts, and a second project with a memory and texts that left."""
    folder = tmp_path_factory.mktemp("asked")
    hostile_home(folder, sample(SOME))
    found = hostile_source(folder, sample(SOME))
    managed(found, OTHER, "the walrus sleeps", session="claude:other")
    remembered(found, OTHER, "The walrus service runs on port 8080.")
    return found


def kept(source: PageSource) -> dict[str, Any]:
    """Return all that an action can change: the files, and the operations and memories of each store."""
    files = {str(path): path.read_bytes() for path in source.home.parent.rglob("*") if path.is_file()}
    found: dict[str, Any] = {name: content for name, content in files.items() if ".db" not in name}
    for place in (*source.places(), *filter(None, [memory_places(source).get("*")])):
        with source.store(place) as store:
            assert store is not None
            found[str(place.records)] = (
                [
                    (row.session_id, store.last_seq(row.session_id), len(store.pins(row.session_id)))
                    for row in store.sessions()
                ],
                {one.id for one in store.memories.seen(None)},
            )
    return found


def plain(answer: Answer) -> Any:
    """Return the JSON of an answer that is one of a view or a refusal, in ASCII and without what JSON has not."""
    assert answer.status in (200, 400), answer.body[:300]
    assert answer.body.isascii()
    assert answer.headers["content-type"] == "application/json"
    found = json.loads(answer.body, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert answer.status == 200 or len(found["error"]) > 20
    return found


def valid(source: PageSource) -> dict[str, str]:
    """Return a query that each view has an answer to."""
    left = VIEWS["left"](source, {"key": BIG})
    row = next(row for row in left["rows"] if row["by"] == "undrift")
    rows = [one for one in VIEWS["memory"](source, {})["rows"] if one["place"] == left["project_key"]]
    memory = next(one for one in rows if one["state"] == "holds")
    run = VIEWS["dispatch"](source, {})["run"]
    return {
        "key": BIG,
        "number": "1",
        "turn": "1",
        "q": "walrus",
        "project": left["project_key"],
        "ref": row["ref"],
        "session_id": row["session_id"],
        "place": memory["place"],
        "id": memory["id"],
        "run": run["run"],
    }


def asked_for(source: PageSource, view: str, query: Mapping[str, str]) -> Answer:
    return asked(source, f"/undrift/api/{view}?{urlencode(query, errors='replace')}")


@pytest.mark.parametrize("view", SOME_VIEWS)
def test_a_view_answers_any_query_and_opens_nothing_elsewhere(source: PageSource, opened: list[str], view: str):
    good = valid(source)
    if view == "dispatch":
        good["place"] = good["project"]
    assert plain(asked_for(source, view, good)), "the query is valid"
    before = kept(source)
    opened.clear()
    for number, text in enumerate((*TEXTS, "9" * 5_000, "-" * 30_000, "1" * 8, "\u0663")):
        plain(asked_for(source, view, dict.fromkeys(PLACES, text)))
        if len(text) < 1_000 and number % EACH:
            continue
        for name in PLACES:
            plain(asked_for(source, view, good | {name: text}))
    for number, name in enumerate(PLACES):
        plain(asked_for(source, view, good | {name: sample(len(PLACES))[number]}))
        plain(asked_for(source, view, {name: value for name, value in good.items() if name != PLACES[number]}))
    ours = (str(source.home.parent), sys.prefix, sys.base_prefix, str(Path(serve.__file__).parents[1]))
    assert [one for one in opened if one.startswith("/") and not one.startswith((*ours, "/proc/", "/dev/"))] == []
    assert kept(source) == before


WRONG: tuple[Any, ...] = (
    None, True, 7, -1, 1e300, [], {}, [[]], {"a": {"b": [1]}}, "", " ", "\0", "\ud800", "x" * 20_000, "../..", "*", "m" + "0" * 16,
    {"__proto__": {"id": 1}}, ["claude:s1"], "'; DROP TABLE memories; --", "0" * 16,
)  # fmt: skip


def needs(action: str, good: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that an action needs, without one that would let it be carried out."""
    if action == "memory-settle":
        side = {"place": good["place"], "id": good["id"]}
        return {"keep": side, "drop": side}
    if action.startswith("memory"):
        return {"place": good["place"], "id": good["id"], "text": "Other words."}
    return {"key": BIG, "session_id": good["session_id"], "ref": good["ref"], "confirm": good["ref"]}


@pytest.mark.parametrize("action", SOME_ACTIONS)
def test_an_action_with_a_wrong_field_is_refused_and_changes_nothing(source: PageSource, action: str):
    good = needs(action, valid(source))
    names = [name for name in good if (name, action) != ("confirm", action) or action == "purge"]
    before = kept(source)
    for name in names:
        if name == "text" and action != "memory-edit":
            continue
        for value in (*WRONG, *(() if name == "text" else sample(SOME))):
            if name == "text" and isinstance(value, str) and 0 < len(value.strip()) <= 16_000:
                continue  # these are words
            answer = acted(source, action, good | {name: value})
            assert answer.status == 400, (name, value)
            plain(answer)
        assert acted(source, action, {key: value for key, value in good.items() if key != name}).status == 400
    assert kept(source) == before


def test_a_time_far_off_is_no_day_of_the_bill(source: PageSource):
    found = VIEWS["bill"](source, {"days": "366"})
    assert found["undated"] >= 3
    assert all(row["name"] < "9" for row in found["by"]["day"]), (
        "the page draws each day between the first and the last"
    )


def test_an_id_of_another_project_or_session_is_refused(source: PageSource):
    good = valid(source)
    other = source.place(OTHER)
    theirs = next(row for row in VIEWS["memory"](source, {})["rows"] if row["place"] == other.records.name)
    hit = next(row for row in VIEWS["find"](source, {"q": "walrus"})["originals"])
    before = kept(source)
    for action in ("memory-forget", "memory-edit", "memory-restore", "memory-again"):
        assert acted(source, action, {"place": good["place"], "id": theirs["id"], "text": "x"}).status == 400
    for action in ("bring-back", "pin", "bring-undo", "purge"):
        for more in (
            {"ref": hit["ref"]},
            {"session_id": "claude:other"},
            {"session_id": f"claude:{MANAGED}"},
            {"key": MANAGED},
        ):
            given = {**needs(action, good), **more}
            assert acted(source, action, given | {"confirm": given["ref"]}).status == 400, (action, more)
    assert asked_for(source, "original", {**good, "ref": hit["ref"]}).status == 400
    assert kept(source) == before


def test_words_of_an_edit_come_back_as_they_were_given(tmp_path: Path):
    hostile_home(tmp_path, sample(SOME))
    source = hostile_source(tmp_path, sample(SOME))
    row = next(row for row in VIEWS["memory"](source, {})["rows"] if row["state"] == "holds")
    given = {"place": row["place"], "id": row["id"]}
    for text in TEXTS:
        answer = acted(source, "memory-edit", given | {"text": text})
        done = plain(answer)
        if answer.status == 200:
            given["id"] = done["id"]
            said = plain(asked_for(source, "memory-text", given))["text"]
            assert said == text or "[masked" in said or text.strip() == said
    assert given["id"] != row["id"]


BODIES = [
    b"[]",
    b"null",
    b"7",
    b'"x"',
    b"{",
    b"\xff\xfe{}",
    b'{"a":' * 30_000,
    b"[" * 60_000,
    b"9" * 6_000,
    b'{"key": NaN}',
    b"{}" * 2,
    b"x" * 70_000,
]
KINDS = ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/json", "application/jsonp", "application/json,text/plain"]  # fmt: skip


@pytest.mark.parametrize("action", SOME_ACTIONS)
def test_a_body_that_is_no_json_object_or_of_a_form_is_refused(source: PageSource, action: str):
    path, before = f"/undrift/api/{action}", kept(source)
    good = json.dumps(needs(action, valid(source)) | {"by": ""}).encode()
    for body in BODIES:
        assert asked(source, path, {"content-type": "application/json"}, method="POST", body=body).status == 400
    padded = good[:-1] + b', "x": "' + b"x" * 70_000 + b'"}'
    assert asked(source, path, {"content-type": "application/json"}, method="POST", body=padded).status == 400
    for kind in KINDS:
        assert asked(source, path, {"content-type": kind} if kind else {}, method="POST", body=good).status == 400
    for method in ("GET", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "post"):
        assert asked(source, path, {"content-type": "application/json"}, method=method, body=good).status == 404
    assert kept(source) == before


STRANGERS: list[tuple[str, dict[str, str]]] = [
    ("", {}),
    ("b" * 64, {}),
    (TOKEN[:-1], {}),
    (TOKEN.upper(), {}),
    ("x/" + TOKEN, {}),
    ("", {"authorization": f"Bearer {TOKEN}"}),
    ("", {"x-undrift-token": TOKEN}),
    ("", {"cookie": TOKEN, "referer": f"http://127.0.0.1:8788/{TOKEN}/undrift/"}),
    *((TOKEN, {"origin": one}) for one in ("null", "http://evil.example", "https://127.0.0.1.evil.example", "file://", "http://127.0.0.1@evil.example", "http://[", "chrome-extension://a")),
    *((TOKEN, {"host": one}) for one in ("evil.example", "127.0.0.1.evil.example", "", "evil.example:8788", "127.0.0.1@evil.example", "localhost.")),
]  # fmt: skip


@pytest.mark.parametrize(("token", "headers"), STRANGERS)
def test_who_is_not_the_owner_gets_401_and_changes_nothing(source: PageSource, token: str, headers: dict[str, str]):
    good, before = valid(source), kept(source)
    for action in ACTIONS:
        body = json.dumps(needs(action, good)).encode()
        given = {"content-type": "application/json", **headers}
        answer = asked(source, f"/undrift/api/{action}", given, method="POST", token=token, body=body)
        assert (answer.status, TOKEN.encode() in answer.body) == (401, False)
    for view in VIEWS:
        answer = asked(source, f"/undrift/api/{view}?{urlencode(good)}", headers, token=token)
        assert (answer.status, TOKEN.encode() in answer.body) == (401, False)
    assert kept(source) == before
