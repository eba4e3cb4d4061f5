"""A prompt on the page: each block is the one that was sent, by its hash, and unknown ones are counted."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from tests.builders import parts
from tests.cli.builders import listing
from tests.web.builders import asked, managed, recorded, source_of, turns
from undrift.stores.sent_prompts import append_sent
from undrift.web.views import VIEWS
from undrift.window.sent_recorder import records_in

NAME = "s1"
COUNT = 30
RECORDS = turns([3_000 + 500 * number for number in range(COUNT)])
BUDGET_TOKENS = 6_000


def shown(home: Path, turn: int, start: int = 0) -> dict[str, Any]:
    return VIEWS["prompt"](source_of(home), {"key": NAME, "turn": str(turn), "from": str(start)})


def sent_texts(body: Any) -> list[str]:
    """The texts of a request, as a reader of the page sees them."""
    found = []
    for part in (part for message in body["messages"] for part in parts(message)):
        if part["type"] == "tool_use":
            found.append(part["input"]["file_path"])
        else:
            found.append(part["text"] if part["type"] == "text" else part["content"])
    return found


def test_every_block_that_was_sent_is_shown_in_its_order_and_checked(tmp_path: Path):
    recorded(tmp_path, NAME, RECORDS)
    prepared = managed(tmp_path, NAME, RECORDS, budget_tokens=BUDGET_TOKENS)
    for turn in (1, 12, COUNT):
        page = shown(tmp_path, turn)
        assert (page["is_checked"], page["is_whole"]) == (True, True)
        rows = [row for row in page["rows"] if row["status"] in ("sent", "ours")]
        texts = sent_texts(prepared[turn - 1].body)
        assert len(rows) == len(texts)
        assert all(
            row["text"] == text or (row["kind"] == "call" and text in row["text"])
            for row, text in zip(rows, texts, strict=True)
        )
    assert shown(tmp_path, 1)["counts"]["left"] == 0
    last = shown(tmp_path, COUNT)
    left = [row for row in last["rows"] if row["status"] == "left"]
    assert last["counts"]["left"] > 10
    assert all(row["reason"] and row["ref"] and row["usd_a_turn"] > 0 for row in left)
    assert sum(row["tokens"] for row in left) == sum(
        action.tokens_saved for action in prepared[-1].actions if action.tokens_saved > 0
    )


def test_a_changed_recording_is_noticed_and_nothing_is_guessed(tmp_path: Path):
    path = recorded(tmp_path, NAME, RECORDS)
    managed(tmp_path, NAME, RECORDS, budget_tokens=90_000)
    path.write_text(path.read_text().replace("Find the parser.", "Find the lexer.").replace("value_3_0 ", "value_3_9 "))
    page = shown(tmp_path, COUNT)
    assert (page["is_checked"], page["is_whole"]) == (True, False)
    assert page["counts"]["unseen"] == 2
    assert page["unseen_characters"] == len("Find the parser.") + len(listing(3))
    assert all(row["text"] == "" for row in page["rows"] if row["status"] == "unseen")


def test_without_a_hash_the_recording_is_shown_and_said_to_be_no_more(tmp_path: Path):
    recorded(tmp_path, NAME, RECORDS)
    page = shown(tmp_path, 5)
    assert (page["is_checked"], page["is_whole"], page["sum"]) == (False, False, "")
    assert page["counts"]["recorded"] == 9
    assert page["rows"][0]["text"] == "Find the parser."


def test_reminders_of_the_client_are_counted_and_not_shown(tmp_path: Path):
    recorded(tmp_path, NAME, RECORDS)
    reminder = "<system-reminder>\nToday is a day.\n</system-reminder>"
    sent = [dict(record) for record in RECORDS]
    sent[0] = {
        **sent[0],
        "message": {
            **sent[0]["message"],
            "content": [{"type": "text", "text": reminder}, {"type": "text", "text": "Find the parser."}],
        },
    }
    content = [dict(part) for part in sent[2]["message"]["content"]]
    content[0]["content"] += f"\n\n{reminder}"
    sent[2] = {**sent[2], "message": {**sent[2]["message"], "content": content}}
    managed(tmp_path, NAME, sent, budget_tokens=90_000)
    page = shown(tmp_path, 4)
    assert page["is_whole"]
    assert page["counts"]["added"] == 1
    assert page["added_characters"] == 2 * len(reminder)
    assert "Today is a day" not in repr(page)


def test_a_long_prompt_comes_in_pages(tmp_path: Path):
    recorded(tmp_path, NAME, turns([3_000 + number for number in range(120)]))
    first, last = shown(tmp_path, 120), shown(tmp_path, 120, 200)
    assert (first["count"], len(first["rows"]), first["from"]) == (239, 60, 0)
    assert (last["from"], last["rows"][0]["number"], len(last["rows"])) == (200, 200, 39)


@pytest.mark.parametrize("turn", ["", "0", "31", "-1", "1e9", "9" * 40, "x", "²"])
def test_a_turn_that_is_none_is_refused_with_the_turns_there_are(tmp_path: Path, turn: str):
    recorded(tmp_path, NAME, RECORDS)
    answer = asked(source_of(tmp_path), f"/undrift/api/prompt?key={NAME}&turn={turn}")
    assert answer.status == 400
    assert "turns 1 to 30" in answer.json["error"]


def test_secrets_are_masked(tmp_path: Path):
    secret = "ghp_" + "a1B2c3D4e5" * 4
    records = turns([3_000, 3_500], title=f"The token is {secret} here.")
    recorded(tmp_path, NAME, records)
    managed(tmp_path, NAME, records, budget_tokens=90_000)
    page = shown(tmp_path, 2)
    assert secret not in repr(page)
    assert "The token is" in page["rows"][0]["text"]


def test_a_request_of_another_conversation_is_not_taken_for_the_turn(tmp_path: Path):
    recorded(tmp_path, NAME, RECORDS)
    managed(tmp_path, NAME, RECORDS[:41], budget_tokens=90_000)
    place = source_of(tmp_path).place("/repo/shop")
    records = records_in(place.records, f"anthropic:{NAME}")
    usage = source_of(tmp_path).session(NAME).figures.prompts[19]
    other = replace(
        records[0],
        at_ms=records[19].at_ms,
        tokens=usage.prompt_tokens,
        before="",
        kept=0,
        new=(("t" + "0" * 16 + "9",),),
        ids=("x",),
        edits={},
    ).summed()
    append_sent(place.records, f"anthropic:{NAME}", {**asdict(other), "edits": {}})
    page = shown(tmp_path, 20)
    assert page["sum"] == records[19].sum
    assert page["is_whole"]


def test_blocks_that_the_gateway_replaced_by_their_files_are_counted(tmp_path: Path):
    recorded(tmp_path, NAME, RECORDS)
    managed(tmp_path, NAME, RECORDS[:9], budget_tokens=90_000)
    place = source_of(tmp_path).place("/repo/shop")
    newest = records_in(place.records, f"anthropic:{NAME}")[-1]
    append_sent(place.records, f"anthropic:{NAME}", {"restored": 2, "sum": newest.sum})
    page = shown(tmp_path, 4)
    assert (page["is_whole"], page["counts"]["unseen"]) == (False, 2)
