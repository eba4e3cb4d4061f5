"""The compactions of a session: the texts beside what was needed, what was read again with its price, and the fate of each rule."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.builders import Record, answered, called, claude, listing, said
from tests.hooks.builders import SESSION, User, compacted, with_ids
from tests.hooks.builders import session as hook_session
from tests.web.builders import recorded, source_of, turns
from tests.web.test_bill import prompt
from undrift.errors import InputError
from undrift.recordings.autopsy import examine
from undrift.recordings.files import Homes
from undrift.values.restored import TITLE
from undrift.web.source import PageSource
from undrift.web.views import VIEWS

SECRET = "ghp_" + "a1B2c3D4e5" * 4
RULES = "Never touch the file build.lock. Always write the changelog in German. Do not rename the public functions."
SUMMARY = "This session is being continued.\nThe user said: never touch the file build.lock.\nThe value is value_0_3."
WORDS = "So value_0_3, value_1_4 and value_2_5 are it."


def session(summary: str = SUMMARY, *, given: str = "", later: str = WORDS, hides: bool = False) -> list[Record]:
    """Three files are read, the client compacts, one file is read again, and the agent uses names of all three."""
    records = [claude("user", f"Find the parser. {RULES}")]
    for number in range(3):
        records += prompt(number, 30_000 + 1_000 * number, 29_000 if number else 0, at_s=number)
    boundary, text = compacted(1)
    text["message"]["content"] = summary
    records += [{**boundary, "timestamp": "2026-03-01T10:00:05.000Z"}, text]
    if given:
        told = {"type": "hook_additional_context", "content": [given], "hookEvent": "SessionStart"}
        records.append({"type": "attachment", "attachment": told, "timestamp": "2026-03-01T10:00:06.000Z"})
    if later:
        records += prompt(3, 24_000, 20_000, at_s=10, file=0)
        answer = claude("assistant", [said(later), called(4, file_path="/repo/shop/part_9.py")], at_s=20)
        answer["message"] |= {"usage": prompt(4, 25_000, 24_000, at_s=20)[0]["message"]["usage"], "id": "msg-4"}
        records += [answer, claude("user", [answered(4, listing(9))], at_s=21)]
    return [{**record, "cwd": "/repo/shop"} for record in with_ids(records)]


def seen(tmp_path: Path, records: list[Record], number: int = 1) -> dict[str, Any]:
    recorded(tmp_path, "s1", records)
    return VIEWS["compaction"](source_of(tmp_path), {"key": "s1", "number": str(number)})


def test_each_name_that_was_needed_shows_which_texts_held_it_and_where_it_came_from(tmp_path: Path):
    found = seen(tmp_path, session())
    rows = {row["text"]: row for row in found["needed"]["rows"]}
    assert {"value_0_3", "value_1_4", "value_2_5"} <= set(rows)
    held = {
        name: [key for key in ("summary", "given", "undrift", "read_again") if row[key]] for name, row in rows.items()
    }
    assert held["value_0_3"] == ["summary", "undrift", "read_again"]
    assert held["value_1_4"] == held["value_2_5"] == ["undrift"]
    assert rows["value_1_4"]["from"] == "/repo/shop/part_1.py"
    assert rows["value_1_4"]["kind"] == "identifier"
    assert found["needed"]["in_no_text"] == 0
    assert found["needed"]["count"] == len(rows)


def test_the_counts_of_what_was_needed_are_those_of_the_autopsy(tmp_path: Path):
    given = f"{TITLE}\n    value_2_5 = compute_part_2_5(source, target)\n"
    records = session(given=given)
    path = recorded(tmp_path, "s1", records)
    (one,) = examine(path).autopsy.compactions
    assert one.ours is not None
    assert one.given is not None
    by = VIEWS["compaction"](source_of(tmp_path), {"key": "s1", "number": "1"})["needed"]["by"]
    assert by == {
        "summary": one.native.identifiers + one.native.lines,
        "undrift": one.ours.identifiers + one.ours.lines,
        "given": one.given.held.identifiers + one.given.held.lines,
        "read_again": one.fetched.identifiers + one.fetched.lines,
    }
    assert by["given"] == 1


def test_a_file_is_called_a_file_and_what_no_text_holds_comes_first(tmp_path: Path):
    line = f"    {listing(1).splitlines()[7].strip()}"
    records = session(later=f"{WORDS} It is in /repo/shop/part_1.py, below old_name_77:\n{line}\n")
    records[2]["message"]["content"][0]["content"] = (
        f"{listing(0)}\nsee /repo/shop/part_1.py\nold_name_77\n" + "x" * 30_000
    )
    needed = seen(tmp_path, records)["needed"]
    holders = [sum(row[key] for key in ("summary", "given", "undrift")) for row in needed["rows"]]
    assert holders == sorted(holders)
    kinds = {row["text"]: row["kind"] for row in needed["rows"]}
    assert (kinds["repo/shop/part_1.py"], kinds["old_name_77"], kinds[line.strip()]) == ("file", "identifier", "line")
    assert needed["in_no_text"] == holders.count(0)


def test_each_rule_has_its_fate(tmp_path: Path):
    given = f"{TITLE}\n## Rules that hold\nAlways write the changelog in German.\n"
    rules = seen(tmp_path, session(given=given))["rules"]
    assert {row["text"]: row["fate"] for row in rules["rows"]} == {
        "Never touch the file build.lock.": "summary",
        "Always write the changelog in German.": "given",
        "Do not rename the public functions.": "lost",
    }
    assert (rules["before"], rules["after"], rules["lost"]) == (3, 2, 1)


def test_a_rule_that_is_mentioned_later_is_not_lost_and_nothing_is_lost_before_the_next_word(tmp_path: Path):
    later = seen(tmp_path, session(later=f"{WORDS} I do not rename the public functions."))["rules"]
    assert [row["fate"] for row in later["rows"]] == ["summary", "lost", "later"]
    early = seen(tmp_path, session(later=""))["rules"]
    assert [row["fate"] for row in early["rows"]] == ["summary", "open", "open"]
    assert early["lost"] == 0


def test_the_lost_rules_are_those_of_the_autopsy(tmp_path: Path):
    recorded(tmp_path, "s1", session())
    source = source_of(tmp_path)
    (listed,) = VIEWS["compactions"](source, {"key": "s1"})["compactions"]
    rules = VIEWS["compaction"](source, {"key": "s1", "number": "1"})["rules"]
    assert [row["text"] for row in rules["rows"] if row["fate"] == "lost"] == listed["rules"]["lost"]
    assert rules["before"] == listed["rules"]["before"] == 3


def test_texts_are_masked_and_a_long_one_is_cut_and_says_so(tmp_path: Path):
    long = f"This session is being continued.\nThe key is {SECRET}.\n" + "A line of the summary.\n" * 5_000
    found = seen(tmp_path, session(long))
    written = found["summary"]["written"]
    assert written["is_cut"]
    assert len(written["text"]) == 80_000
    assert written["characters"] == len(long)
    assert SECRET not in json.dumps(found)
    assert "The key is [masked" in written["text"]


def test_a_line_within_a_secret_is_not_shown_as_needed(tmp_path: Path):
    pem = (
        "-----BEGIN RSA PRIVATE KEY-----\n"
        + "\n".join(f"MIIEvalue_{n}_/abcDEF0123456789" * 2 for n in range(8))
        + "\n-----END RSA PRIVATE KEY-----"
    )
    records = session(
        later="The key begins with MIIEvalue_0_/abcDEF0123456789MIIEvalue_0_/abcDEF0123456789, and value_1_4."
    )
    records[2]["message"]["content"][0]["content"] = f"{listing(0)}\n{pem}\n"
    found = seen(tmp_path, records)
    assert "MIIEvalue" not in json.dumps(found)


def test_an_encrypted_summary_is_said_to_be_one(tmp_path: Path):
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Keep going."}]}
    hidden = {"type": "compaction", "encrypted_content": "gAAAA" * 20}
    at = "2026-03-01T10:00:05.000Z"
    call = {"type": "function_call", "name": "shell", "call_id": "c1", "arguments": json.dumps({"cmd": "cat a.py"})}
    output = {"type": "function_call_output", "call_id": "c1", "output": listing(1)}
    counted = {"input_tokens": 9_000, "cached_input_tokens": 0, "output_tokens": 5}
    records = [
        {"type": "session_meta", "payload": {"id": "c-1", "cwd": "/repo"}},
        {"timestamp": at, "type": "response_item", "payload": item},
        {"timestamp": at, "type": "response_item", "payload": call},
        {"timestamp": at, "type": "response_item", "payload": output},
        {
            "timestamp": at,
            "type": "event_msg",
            "payload": {
                "type": "token_count",
                "info": {"last_token_usage": counted, "total_token_usage": {"total_tokens": 9_005}},
            },
        },
        {"timestamp": at, "type": "compacted", "payload": {"message": "", "replacement_history": [item, hidden]}},
    ]
    path = tmp_path / ".codex" / "sessions" / "2026" / "rollout-1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    found = VIEWS["compaction"](source_of(tmp_path), {"key": "rollout-1", "number": "1"})
    assert found["summary"]["is_encrypted"]
    assert found["summary"]["written"] is None
    assert "gAAAA" not in json.dumps(found)


def test_a_result_that_is_read_again_shows_its_tokens_and_its_price(tmp_path: Path):
    recorded(tmp_path, "s1", session())
    source = source_of(tmp_path)
    (one,) = VIEWS["compactions"](source, {"key": "s1"})["compactions"]
    assert one["number"] == 1
    assert set(one["texts"]) == {"summary", "undrift", "given", "read_again"}
    (fetch,) = one["fetches"]
    assert (fetch["what"], fetch["tokens"], fetch["known_tokens"]) == ("/repo/shop/part_0.py", 480, 480)
    assert fetch["usd"] == pytest.approx(480 * 1.25 * 5 / 1e6, abs=1e-6)
    assert one["fetched"] == {"count": 1, "usd": fetch["usd"]}
    assert VIEWS["causes"](source, {"key": "s1"})["causes"]["fetched"]["usd"] == fetch["usd"]


def test_what_the_hooks_gave_back_is_their_own_record_and_the_recorded_text(tmp_path: Path):
    someone = User(tmp_path)
    someone.write(hook_session())
    someone.pre_compact()
    someone.add(compacted(1))
    text = someone.restored()
    told = {"type": "hook_additional_context", "content": [text], "hookEvent": "SessionStart"}
    someone.add(
        [
            {
                "type": "attachment",
                "attachment": told,
                "uuid": "h-1",
                "cwd": "/repo",
                "timestamp": "2026-03-01T10:00:06.000Z",
            }
        ]
    )
    source = PageSource(someone.home, Homes(claude=someone.claude_home, codex=tmp_path / "codex"))
    (one,) = VIEWS["compactions"](source, {"key": SESSION})["compactions"]
    assert one["hooks"]["text"].startswith("undrift gave back ")
    assert one["hooks"]["counts"]["rules"] == 1
    given = VIEWS["compaction"](source, {"key": SESSION, "number": "1"})["given"]
    assert given["text"] == text
    assert one["texts"]["given"] is not None


def test_a_compaction_that_is_not_there_is_a_sentence(tmp_path: Path):
    recorded(tmp_path, "s1", session())
    source = source_of(tmp_path)
    for number in ("", "0", "2", "-1", "1e3", "9" * 40, "²"):
        with pytest.raises(InputError, match="choose a number"):
            VIEWS["compaction"](source, {"key": "s1", "number": number})


def test_a_session_without_a_compaction_has_none(tmp_path: Path):
    recorded(tmp_path, "s1", turns([9_000]))
    assert VIEWS["compactions"](source_of(tmp_path), {"key": "s1"}) == {"compactions": []}
