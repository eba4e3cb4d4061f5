"""The blocks that left, on the page: by whom, whether they were used again, and the actions that bring them back or destroy them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.builders import codex_session, written
from tests.hooks.builders import SESSION, User, compacted
from tests.web.builders import acted, managed, recorded, source_of, turns
from undrift.hooks.brought import brought_texts
from undrift.recordings.files import Homes
from undrift.web.source import PageSource
from undrift.web.views import VIEWS

NAME = "s1"
RECORDS = turns([3_000 + 500 * number for number in range(30)])
LONGER = turns([3_000 + 500 * number for number in range(31)])
BUDGET_TOKENS = 6_000


@pytest.fixture
def source(tmp_path: Path) -> PageSource:
    """A session that undrift's gateway shortened."""
    recorded(tmp_path, NAME, RECORDS)
    managed(tmp_path, NAME, RECORDS, budget_tokens=BUDGET_TOKENS)
    return source_of(tmp_path)


def rows_of(source: PageSource, key: str = NAME) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = VIEWS["left"](source, {"key": key})["rows"]
    return rows


def named(row: dict[str, Any], **more: str) -> dict[str, Any]:
    return {"key": NAME, "session_id": row["session_id"], "ref": row["ref"], "by": row["by"], **more}


def a_result(source: PageSource) -> dict[str, Any]:
    return next(row for row in rows_of(source) if row["what"].startswith("result of Read"))


def next_request(home: Path) -> str:
    """The text of the next request of the session."""
    return json.dumps(managed(home, NAME, LONGER, budget_tokens=BUDGET_TOKENS, since=30)[0].body)


def test_each_block_has_its_reason_and_what_it_saves(source: PageSource):
    found = VIEWS["left"](source, {"key": NAME})
    assert found["count"] == len(found["rows"]) > 12
    assert {row["by"] for row in found["rows"]} == {"undrift"}
    assert all(row["reason"] and row["usd_a_turn"] is not None for row in found["rows"])
    assert all(row["back"] == "" and row["pin"] == "" for row in found["rows"])


def test_what_is_brought_back_is_in_the_next_request_and_the_page_says_so(source: PageSource, tmp_path: Path):
    row = a_result(source)
    done = acted(source, "bring-back", named(row))
    assert done.status == 200
    assert next(one["back"] for one in rows_of(source) if one["ref"] == row["ref"]) == "waiting"
    assert "Brought back by the user" in next_request(tmp_path)
    assert next(one["back"] for one in rows_of(source) if one["ref"] == row["ref"]) == "sent"


def test_a_pin_stays_and_each_action_can_be_undone(source: PageSource, tmp_path: Path):
    row = a_result(source)
    back = acted(source, "bring-back", named(row)).json["undo"]
    pin = acted(source, "pin", named(row)).json["undo"]
    here = next(one for one in rows_of(source) if one["ref"] == row["ref"])
    assert (here["back_pin"], here["pin"]) == (back, pin)
    for undone in (back, pin):
        assert acted(source, "bring-undo", named(row) | {"ref": undone}).status == 200
    here = next(one for one in rows_of(source) if one["ref"] == row["ref"])
    assert (here["back"], here["pin"]) == ("", "")
    text = next_request(tmp_path)
    assert "Brought back" not in text
    assert "[Pinned" not in text


def test_a_purge_asks_says_what_it_cannot_reach_and_is_final(source: PageSource, tmp_path: Path):
    row = a_result(source)
    acted(source, "bring-back", named(row))
    look = VIEWS["purge-look"](source, named(row))
    assert look["recording"].endswith("s1.jsonl")
    assert acted(source, "purge", named(row)).status == 400, "it is not confirmed"
    done = acted(source, "purge", named(row, confirm=row["ref"]))
    assert (done.status, done.json["removed"]["originals"]) == (200, 1)
    assert done.json["recording"].endswith("s1.jsonl")
    assert done.json["copies"] == [], "what was brought back went with it"
    assert row["ref"] not in {one["ref"] for one in rows_of(source)}
    assert "Brought back" not in next_request(tmp_path)


@pytest.mark.parametrize("name", ["bring-back", "pin", "bring-undo", "purge"])
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"key": NAME},
        {"key": NAME, "session_id": "anthropic:other", "ref": "0" * 16},
        {"key": NAME, "session_id": "anthropic:s1", "ref": "0" * 16, "confirm": "0" * 16},
        {"key": NAME, "session_id": ["anthropic:s1"], "ref": {"a": 1}},
        {"key": "../s1", "session_id": "anthropic:s1", "ref": "'; DROP TABLE originals; --"},
        {"key": NAME, "session_id": "anthropic:s1", "ref": "\x00" * 40, "confirm": "\x00" * 40},
        {"key": NAME, "session_id": "claude:s1", "ref": "0" * 16, "by": "client"},
    ],
)
def test_hostile_names_are_refused_in_words_and_change_nothing(source: PageSource, name: str, given: dict[str, Any]):
    before = rows_of(source)
    answer = acted(source, name, given)
    assert answer.status == 400
    assert len(answer.json["error"]) > 20
    assert rows_of(source) == before


def test_what_was_read_again_later_names_its_turn(tmp_path: Path):
    again = turns([3_000 + 500 * number for number in range(33)])
    call = again[61]["message"]["content"][0]
    assert call["input"]["file_path"] == "/repo/shop/part_30.py"
    call["input"]["file_path"] = "/repo/shop/part_2.py"
    recorded(tmp_path, NAME, again)
    managed(tmp_path, NAME, again[:61], budget_tokens=BUDGET_TOKENS)
    found = VIEWS["left"](source_of(tmp_path), {"key": NAME})
    assert {row["used_again_turn"] for row in found["rows"]} == {None, 31}
    assert found["used_again"] == 1


def test_a_result_names_its_file_and_stands_for_its_call(source: PageSource):
    rows = [row for row in rows_of(source) if row["what"].startswith("result of Read")]
    assert all(re.fullmatch(r"/repo/shop/part_\d+\.py", row["place"]) for row in rows)
    assert not [
        row
        for row in rows_of(source)
        if row["what"].startswith("call of") and row["place"] in {r["place"] for r in rows}
    ]
    assert all(1 <= row["left_turn"] <= 30 for row in rows)
    assert all("budget of 6,000 tokens" in row["why"] for row in rows)


def test_a_file_is_said_to_be_in_the_window_or_gone_or_never_read(source: PageSource):
    gone = a_result(source)["place"]
    here = next(
        f"/repo/shop/part_{n}.py"
        for n in range(28, 0, -1)
        if f"/repo/shop/part_{n}.py" not in {r["place"] for r in rows_of(source)}
    )

    def found(words: str) -> list[tuple[str, bool]]:
        view = VIEWS["whereabouts"](source, {"key": NAME, "q": words})
        return [(row["place"], row["is_here"]) for row in view["found"]]

    assert found(here) == [(here, True)]
    assert found(gone.rpartition("/")[2]) == [(gone, False)]
    assert found("part_999.py") == []
    assert found("") == []
    assert found("\0" * 9_000) == []
    (row,) = VIEWS["whereabouts"](source, {"key": NAME, "q": here})["found"]
    assert row["turn"] == int(re.findall(r"\d+", here)[0]) + 2, "the first prompt with its result"


# ------------------------------------------------------------------------------------------------- hooks alone


def hooked(tmp_path: Path) -> tuple[User, PageSource]:
    """A session with a compaction of the client's own, and hooks that have run in it."""
    user = User(tmp_path)
    records = turns([9_000, 11_000, 13_000, 4_000], title="Find the parser.")
    user.write([*records[:-2], *compacted(1), *records[-2:]])
    user.home.mkdir()
    user.prompts("Go on.")
    return user, PageSource(user.home, Homes(claude=user.claude_home, codex=tmp_path / "codex"))


def test_what_a_compaction_removed_is_said_with_the_next_message_once(tmp_path: Path):
    user, source = hooked(tmp_path)
    found = VIEWS["left"](source, {"key": SESSION})
    assert (found["can_bring_back"], {row["by"] for row in found["rows"]}) == (True, {"client"})
    row = next(one for one in found["rows"] if one["what"].startswith("result of Read"))
    given = {**named(row), "key": SESSION}
    assert acted(source, "bring-back", given).status == 200
    assert rows_of(source, SESSION)[found["rows"].index(row)]["back"] == "waiting"
    said = user.prompts("Go on.")
    assert "Brought back by the user" in said
    assert "compute_part_" in said
    assert rows_of(source, SESSION)[found["rows"].index(row)]["back"] == "sent"
    assert "Brought back" not in user.prompts("And on.")


def test_a_pin_is_said_again_after_each_compaction_until_it_is_undone(tmp_path: Path):
    user, source = hooked(tmp_path)
    row = next(one for one in rows_of(source, SESSION) if one["what"].startswith("result of Read"))
    given = {**named(row), "key": SESSION}
    acted(source, "pin", given)
    assert "Brought back" in user.prompts("Go on.")
    assert "Brought back" in user.starts("compact")
    assert "Brought back" in user.starts("compact")
    acted(source, "bring-undo", given)
    assert "Brought back" not in user.starts("compact")


def test_where_no_hook_has_run_the_remedy_is_said(tmp_path: Path):
    records = turns([9_000, 11_000, 13_000, 4_000])
    recorded(tmp_path, NAME, [*records[:-2], *compacted(1), *records[-2:]])
    source = source_of(tmp_path)
    row = rows_of(source)[0]
    answer = acted(source, "bring-back", named(row))
    assert answer.status == 400
    assert "undrift install claude" in answer.json["error"]


def test_a_long_text_is_cut_to_what_the_client_takes(tmp_path: Path):
    user, source = hooked(tmp_path)
    folder = next((user.home / "hooks").iterdir())
    row = rows_of(source, SESSION)[0]
    acted(source, "bring-back", {**named(row), "key": SESSION})
    (path,) = folder.glob("brought.json")
    value = json.loads(path.read_text())
    value[0]["text"] = "x" * 50_000
    path.write_text(json.dumps(value))
    said = user.prompts("Go on.")
    assert len(said) < 9_500
    assert f"undrift recall {row['ref']}" in said


@pytest.mark.parametrize("content", ["", "null", "{}", "[1]", '[{"ref": 1}]', '[{"ref": "a"}]', "[" * 100_000])
def test_a_damaged_file_of_texts_says_nothing(tmp_path: Path, content: str):
    user, _ = hooked(tmp_path)
    folder = next((user.home / "hooks").iterdir())
    (folder / "brought.json").write_text(content)
    assert brought_texts(folder) == ()
    assert user.prompts("Go on.") == ""


def test_of_a_client_without_such_a_hook_the_other_ways_are_named(tmp_path: Path):
    records = codex_session()
    compacted = {
        "timestamp": "2026-03-01T10:00:00.000Z",
        "type": "compacted",
        "payload": {"message": "They read files."},
    }
    path = tmp_path / ".codex" / "sessions" / "2026" / "03" / "01" / f"rollout-{SESSION}.jsonl"
    written(path, [*records, compacted, *records[-1:]])
    source = source_of(tmp_path)
    (one,) = source.sessions()
    rows = rows_of(source, one.key)
    answer = acted(source, "bring-back", named(rows[0]) | {"key": one.key})
    assert answer.status == 400
    assert "undrift wrap codex" in answer.json["error"]
