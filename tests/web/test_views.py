"""What the views say of recorded sessions: windows by kinds, turns, marks, compactions, the bill."""

import json
import os
from pathlib import Path

import pytest

from tests.builders import body, rounds, user
from tests.cli.builders import codex_session, listing, written
from tests.hooks.builders import compacted
from tests.web.builders import managed, recorded, source_of, turns
from undrift.core.text.tokens import characters_per_4
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.web import watching
from undrift.web.views import VIEWS


def test_a_session_shows_its_window_in_the_providers_count_and_the_rest_of_it_as_system_and_tools(tmp_path: Path):
    recorded(tmp_path, "s1", turns([9_000, 10_000]))
    (row,) = VIEWS["now"](source_of(tmp_path), {})["sessions"]
    assert (row["key"], row["client"], row["project"], row["turns"]) == ("s1", "claude", "shop", 2)
    assert row["name"].endswith("Find the parser.")
    window = row["window"]
    assert window["used_tokens"] == sum(window["parts"].values()) == 10_000
    assert window["parts"]["results"] == 2 * characters_per_4(listing(0))
    assert window["parts"]["user"] == characters_per_4("Find the parser.")
    assert row["is_live"]


def test_the_cache_says_when_it_is_cold_and_what_the_next_prompt_costs(tmp_path: Path):
    recorded(tmp_path, "s1", turns([9_000, 10_000]))
    cache = VIEWS["now"](source_of(tmp_path), {})["sessions"][0]["cache"]
    assert cache["life_s"] == 300
    assert cache["cold_ms"] % 1_000 == 0
    assert 0 < cache["warm_usd"] * 10 < cache["cold_usd"]


def test_what_is_appended_gives_the_same_as_the_whole_file(tmp_path: Path):
    records = turns([9_000, 10_000, 11_000])
    path = recorded(tmp_path, "s1", records[:3])
    source = source_of(tmp_path)
    VIEWS["now"](source, {})
    text = "".join(f"{json.dumps(record)}\n" for record in [*records[3:], *compacted(9), *turns([7_000], first=20)])
    seen: dict[str, object] = {}
    for part in (text[:90], text[90:5_000], text[5_000:]):  # as a client writes: a line may be half there
        with path.open("a", encoding="utf-8") as file:
            file.write(part)
        seen = VIEWS["session"](source, {"key": "s1"})
    whole = VIEWS["session"](source_of(tmp_path), {"key": "s1"})
    assert seen == whole
    assert whole["session"]["compactions"] == 1
    assert whole["session"]["window"]["parts"]["results"] == characters_per_4(listing(20))


def test_a_file_that_became_shorter_is_read_again(tmp_path: Path):
    recorded(tmp_path, "s1", turns([9_000, 10_000, 11_000]))
    source = source_of(tmp_path)
    assert VIEWS["now"](source, {})["sessions"][0]["turns"] == 3
    recorded(tmp_path, "s1", turns([9_000]))
    assert VIEWS["now"](source, {})["sessions"][0]["turns"] == 1


def test_the_timeline_has_a_bar_a_turn_and_marks_where_something_happened(tmp_path: Path):
    records = [*turns([9_000, 10_000]), *compacted(5)]
    later = turns([6_000, 7_000], first=10)
    for record in later[2:]:
        record["timestamp"] = "2026-03-01T11:00:00.000Z"
    recorded(tmp_path, "s1", [*records, *later])
    found = VIEWS["session"](source_of(tmp_path), {"key": "s1"})
    assert [(turn["n"], turn["cached"] + turn["written"] + turn["plain"]) for turn in found["turns"]] == [
        (1, 9_000),
        (2, 10_000),
        (3, 6_000),
        (4, 7_000),
    ]
    assert [turn["answered"] for turn in found["turns"]] == [40] * 4
    assert found["turns"][0]["usd"] > found["turns"][1]["usd"] > 0, "the first one found nothing in the cache"
    assert {(mark["kind"], mark["turn"]) for mark in found["marks"]} == {("compaction", 3), ("pause", 4)}
    assert "a pause of 59 minutes" in {mark["text"] for mark in found["marks"]}


def test_what_left_is_shown_with_its_reason_and_a_line_without_secrets(tmp_path: Path):
    secret = "ghp_" + "a1B2c3D4e5" * 4
    recorded(tmp_path, "s1", turns([9_000]))
    source = source_of(tmp_path)
    with Session.open("claude:s1", home=source.place("/repo/shop")) as session:
        session.pin("spec", f"The key is {secret}.")
    (row,) = VIEWS["left"](source, {"key": "s1"})["rows"] or [{}]
    assert secret not in json.dumps(row)


def test_what_left_another_session_is_not_shown(tmp_path: Path):
    recorded(tmp_path, "s1", turns([9_000]))
    source = source_of(tmp_path)
    for name in ("claude:s10", "anthropic:other-s1-x", "claude:s1"):
        with Session.open(name, home=source.place("/repo/shop"), settings=Settings(budget_tokens=900)) as session:
            history = [user("Go."), *rounds(12)]
            assert session.prepare(body(*history)).actions
    rows = VIEWS["left"](source, {"key": "s1"})["rows"]
    assert {row["session_id"] for row in rows} == {"claude:s1"}
    assert all(row["reason"] and row["tokens_saved"] >= 0 for row in rows)
    assert {row["kind"] for row in rows} <= {"pruned", "cut", "trimmed", "folded", "noted"}
    marks = VIEWS["session"](source, {"key": "s1"})["marks"]
    assert "prune" in {mark["kind"] for mark in marks}


def test_what_left_a_session_of_codex_is_found_by_its_own_id(tmp_path: Path):
    id_ = "0b0c5f0e-1111-4222-8333-944445555666"
    path = tmp_path / ".codex" / "sessions" / "2026" / f"rollout-2026-03-01T10-00-00-{id_}.jsonl"
    written(path, codex_session())
    source = source_of(tmp_path)
    with Session.open(f"codex:{id_}", home=source.place("/repo"), settings=Settings(budget_tokens=900)) as session:
        assert session.prepare(body(user("Go."), *rounds(12))).new
    assert VIEWS["left"](source, {"key": path.stem})["count"]


def test_a_line_that_is_too_long_is_passed_over_and_costs_no_later_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(watching, "_LONGEST_LINE", 9_000)
    records = turns([9_000, 10_000, 11_000])
    records[3]["message"]["content"][0] = {"type": "text", "text": "x" * 50_000}
    recorded(tmp_path, "s1", records)
    (row,) = VIEWS["now"](source_of(tmp_path), {})["sessions"]
    assert row["window"]["used_tokens"] == 11_000


def test_a_file_that_became_a_pipe_holds_nothing_up(tmp_path: Path):
    path = recorded(tmp_path, "s1", turns([9_000]))
    source = source_of(tmp_path)
    VIEWS["now"](source, {})
    path.unlink()
    os.mkfifo(path)
    assert [row["key"] for row in VIEWS["now"](source, {})["sessions"]] == ["s1"]


def test_a_hostile_file_and_a_sub_agents_session_show_nothing(tmp_path: Path):
    folder = tmp_path / ".claude" / "projects" / "x"
    folder.mkdir(parents=True)
    (folder / "broken.jsonl").write_bytes(b"\xff{]\n" * 50)
    (folder / "empty.jsonl").touch()
    os.mkfifo(folder / "pipe.jsonl")
    recorded(tmp_path, "side", [{**record, "isSidechain": True} for record in turns([9_000])])
    assert VIEWS["now"](source_of(tmp_path), {})["sessions"] == []


def test_a_title_is_one_line_without_secrets(tmp_path: Path):
    secret = "ghp_" + "a1B2c3D4e5" * 4
    recorded(tmp_path, "s1", turns([9_000], title=f"Use {secret}\n\x1b[31m<img src=x onerror=alert(1)>"))
    (row,) = VIEWS["now"](source_of(tmp_path), {})["sessions"]
    assert secret not in row["name"]
    assert "\n" not in row["name"]
    assert "\x1b" not in row["name"]


def test_a_session_that_no_client_records_is_shown_by_its_decisions(tmp_path: Path):
    records = turns([3_000 + 500 * number for number in range(30)])
    managed(tmp_path, "sdk-1", records, budget_tokens=6_000)
    source = source_of(tmp_path)
    (row,) = VIEWS["now"](source, {})["sessions"]
    assert (row["is_recorded"], row["turns"], row["client"]) == (False, 0, "anthropic")
    found = VIEWS["left"](source, {"key": row["key"]})
    assert found["count"] > 20
    assert all(one["reason"] and one["line"] for one in found["rows"] if one["what"].startswith("result"))
    assert VIEWS["session"](source, {"key": row["key"]})["turns"] == []
    recorded(tmp_path, "sdk-1", records)
    assert [one["is_recorded"] for one in VIEWS["now"](source_of(tmp_path), {})["sessions"]] == [True]
