"""The price of prompts by cause: sums that were counted by hand, which add up; and the figures of a window beside them."""

import math
from pathlib import Path
from typing import Any

import pytest

from tests.builders import body, rounds, user
from tests.cli.builders import Record, answered, called, claude, codex_session, listing, written
from tests.hooks.builders import compacted, with_ids
from tests.web.builders import asked, recorded, source_of, turns
from undrift.core.text.tokens import characters_per_4
from undrift.recordings.autopsy import examine
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.settings.model_table import lookup
from undrift.values.clock import day_of, now_ms
from undrift.web.causes import CAUSES, caused_prompts, session_bill
from undrift.web.views import VIEWS
from undrift.web.watching import WatchedSession

HOUR_S = 3_600
MILLION = 1_000_000
USD = 5.0
"""Of a million plain input tokens of claude-opus-4-6; read at a tenth, written at 1.25, for an hour at 2."""


def prompt(number: int, tokens: int, read: int, *, at_s: int, file: int | None = None, **more: Any) -> list[Record]:
    """A turn: an answer to a prompt of so many tokens, and the result of the file that it reads."""
    usage = {
        "input_tokens": tokens - read - more.get("written", tokens - read) - more.get("long", 0),
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": more.get("written", tokens - read) + more.get("long", 0),
        "cache_creation": {
            "ephemeral_5m_input_tokens": more.get("written", tokens - read),
            "ephemeral_1h_input_tokens": more.get("long", 0),
        },
        "output_tokens": 10,
    }
    file = number if file is None else file
    answer = claude("assistant", [called(number, file_path=f"/repo/shop/part_{file}.py")], at_s=at_s)
    answer["message"] |= {"usage": usage, "id": f"msg-{number}"}
    return [answer, claude("user", [answered(number, listing(file))], at_s=at_s)]


def eventful() -> list[Record]:
    """New work, a compaction, a result that is read again, a pause, and a cache that was lost without one."""
    records = [claude("user", "Find the parser.")]
    records += prompt(0, 20_000, 0, at_s=0)  # 4 tokens of the user: 19,996 of system prompt and tools
    records += prompt(1, 26_000, 20_000, at_s=10)
    records += compacted(1)
    records += prompt(2, 24_000, 20_000, at_s=20, file=0)  # the summary is new to the cache
    records += prompt(3, 25_000, 24_000, at_s=30)  # with the 480 tokens of part_0, known from before
    records += prompt(4, 27_000, 0, at_s=340)  # 310 seconds later
    records += prompt(5, 28_000, 5_000, at_s=350)
    return [{**record, "cwd": "/repo/shop"} for record in with_ids(records)]


def today(records: list[Record]) -> list[Record]:
    for record in records:
        if "timestamp" in record:
            record["timestamp"] = record["timestamp"].replace("2026-03-01", day_of(now_ms()))
    return records


def test_the_causes_of_a_session_are_those_that_are_counted_by_hand(tmp_path: Path):
    recorded(tmp_path, "s1", eventful())
    source = source_of(tmp_path)
    found = VIEWS["causes"](source, {"key": "s1"})
    fixed = 20_000 - characters_per_4("Find the parser.")
    assert found["fixed_tokens"] == fixed == 19_996
    tools_written = fixed + fixed + (fixed - 5_000)  # the first prompt, the one after the pause, and of the last one
    tools_read = 3 * fixed + 5_000
    tokens = {
        "work": 4 + 6_000 + (1_000 - 480) + 0 + 1_000,
        "history": 4 + 4 + (24_000 - fixed),
        "fetched": 480,
        "rewritten": 4_000 + (25_000 - fixed) + (27_000 - 5_000 - (fixed - 5_000)),
        "tools": 6 * fixed,
    }
    tokens["work"] += 2_000  # of the prompt after the pause, 25,000 stood in the cache
    assert {cause: row["tokens"] for cause, row in found["causes"].items()} == tokens
    assert sum(tokens.values()) == found["tokens"] == 20_000 + 26_000 + 24_000 + 25_000 + 27_000 + 28_000
    written, read = 1.25 * USD / MILLION, 0.1 * USD / MILLION
    usd = {cause: size * written for cause, size in tokens.items()}
    usd |= {"history": tokens["history"] * read, "tools": tools_written * written + tools_read * read}
    assert {cause: row["usd"] for cause, row in found["causes"].items()} == pytest.approx(usd, abs=1e-6)
    assert found["rewritten"] == {
        "compaction": {"prompts": 1, "tokens": 4_000, "usd": pytest.approx(4_000 * written, abs=1e-6)},
        "pause": {"prompts": 1, "tokens": 25_000 - fixed, "usd": pytest.approx((25_000 - fixed) * written, abs=1e-6)},
        "prune": {"prompts": 0, "tokens": 0, "usd": 0},
        "change": {"prompts": 1, "tokens": 27_000 - fixed, "usd": pytest.approx((27_000 - fixed) * written, abs=1e-6)},
    }
    assert found["usd"] == pytest.approx(sum(row["usd"] for row in found["causes"].values()), abs=1e-9)
    assert [(row["turn"], row["cause"]) for row in found["dearest"]][:2] == [(5, "tools"), (6, "tools")]
    assert found == session_bill(source, source.session("s1"))


@pytest.mark.parametrize("fixed_tokens", [0, 1, 7_000, 19_996, 50_000])
@pytest.mark.parametrize("fetched", [{}, {3: 480}, {0: 99_999, 3: 99_999, 5: 99_999}])
def test_the_causes_of_each_prompt_sum_up_to_its_tokens_and_its_price(
    tmp_path: Path, fixed_tokens: int, fetched: dict[int, int]
):
    records = [*eventful(), *prompt(9, 40_000, 10_000, at_s=400, written=5_000, long=20_000)]
    one = WatchedSession(recorded(tmp_path, "s1", records))
    one.look()
    row = lookup("claude-opus-4-6")
    found = list(caused_prompts(one, (), fixed_tokens, fetched))
    assert len(found) == 7
    for cause in found:
        usage = cause.usage
        assert tuple(cause.tokens) == CAUSES
        assert min(cause.tokens.values()) >= 0
        assert sum(cause.tokens.values()) == usage.prompt_tokens
        plain = usage.prompt_tokens - usage.cached_tokens - usage.written_tokens - usage.written_long_tokens
        units = plain + row.read_ratio * usage.cached_tokens + row.write_ratio * usage.written_tokens
        units += row.write_ratio_for(HOUR_S) * usage.written_long_tokens
        assert cause.usd is not None
        assert math.isclose(sum(cause.usd.values()), units * USD / MILLION, rel_tol=1e-12)


def test_what_was_read_again_is_what_the_autopsy_finds(tmp_path: Path):
    path = recorded(tmp_path, "s1", eventful())
    found = examine(path)
    (compaction,) = found.autopsy.compactions
    assert compaction.fetched.tokens == 480
    assert found.autopsy.bill.fixed_tokens == 19_996
    bill = VIEWS["causes"](source_of(tmp_path), {"key": "s1"})
    assert bill["causes"]["fetched"]["tokens"] == compaction.fetched.tokens
    assert bill["fixed_tokens"] == found.autopsy.bill.fixed_tokens


def test_a_result_that_is_read_again_later_is_found_as_the_file_grows(tmp_path: Path):
    records = eventful()
    path = recorded(tmp_path, "s1", records[:9])
    source = source_of(tmp_path)
    assert VIEWS["causes"](source, {"key": "s1"})["causes"]["fetched"]["tokens"] == 0
    written(path, records)
    assert VIEWS["causes"](source, {"key": "s1"})["causes"]["fetched"]["tokens"] == 480
    late = [
        record
        for n in range(40)
        for record in prompt(100 + n, 29_000 + n, 28_000, at_s=360 + n, file=1 if n == 35 else 100 + n)
    ]
    written(path, [*records, *late])
    assert VIEWS["causes"](source, {"key": "s1"})["causes"]["fetched"]["tokens"] == 480, "the 30 calls are over"
    again = VIEWS["causes"](source_of(tmp_path), {"key": "s1"})
    assert VIEWS["causes"](source, {"key": "s1"}) == again


def test_a_session_whose_first_prompt_held_a_long_text_does_not_guess_its_tools(tmp_path: Path):
    recorded(tmp_path, "s1", turns([9_000, 10_000], title="word " * 3_000))
    found = VIEWS["causes"](source_of(tmp_path), {"key": "s1"})
    assert found["fixed_tokens"] is None
    assert found["causes"]["tools"] == {"tokens": None, "usd": None}
    assert found["unknown"] == {"fetched": 0, "tools": 2}
    assert found["tokens"] == 19_000 == sum(row["tokens"] or 0 for row in found["causes"].values())


def test_the_bill_sums_the_same_by_each_group(tmp_path: Path):
    recorded(tmp_path, "s1", today(eventful()))
    recorded(tmp_path, "s2", [{**record, "cwd": "/repo/other"} for record in today(turns([30_000, 40_000]))])
    source = source_of(tmp_path)
    found = VIEWS["bill"](source, {"days": "2"})
    assert (found["prompts"], found["unpriced"], found["undated"], found["saved"]) == (8, 0, 0, {"sessions": 0})
    sessions = [VIEWS["causes"](source, {"key": key}) for key in ("s1", "s2")]
    assert found["usd"] == pytest.approx(sum(one["usd"] for one in sessions), abs=1e-5)
    for rows in found["by"].values():
        assert sum(row["prompts"] for row in rows) == 8
        assert sum(row["tokens"] for row in rows) == found["tokens"]
        assert sum(row["usd"] for row in rows) == pytest.approx(found["usd"], abs=1e-5)
        for row in rows:
            assert row["usd"] == pytest.approx(sum(row["causes"].values()), abs=1e-9)
        for cause in CAUSES:
            whole = found["causes"][cause]["usd"]
            assert sum(row["causes"][cause] for row in rows) == pytest.approx(whole, abs=1e-5)
    assert {row["name"] for row in found["by"]["project"]} == {"shop", "other"}
    assert {row["title"] for row in found["by"]["session"]} == {"Find the parser."}
    assert VIEWS["bill"](source, {"days": "x"})["days"] == 7


def test_a_prompt_of_another_day_is_in_the_bill_of_more_days_alone(tmp_path: Path):
    records = today(turns([30_000]))
    for record in records:
        record["timestamp"] = f"{day_of(now_ms() - 3 * 86_400_000)}T10:00:00.000Z"
    recorded(tmp_path, "s1", records)
    source = source_of(tmp_path)
    assert VIEWS["bill"](source, {"days": "3"})["usd"] is None
    assert [row["prompts"] for row in VIEWS["bill"](source, {"days": "4"})["by"]["day"]] == [1]


def test_a_new_turn_is_in_the_next_answer(tmp_path: Path):
    records = today(turns([30_000, 40_000]))
    path = recorded(tmp_path, "s1", records[:3])
    source = source_of(tmp_path)
    assert VIEWS["bill"](source, {})["prompts"] == 1
    written(path, records)
    assert VIEWS["bill"](source, {})["prompts"] == 2


def test_a_model_without_a_price_is_counted_and_not_guessed(tmp_path: Path):
    records = today(turns([9_000]))
    for record in records:
        if "model" in record["message"]:
            record["message"]["model"] = "somebody-else-1"
    recorded(tmp_path, "s1", records)
    source = source_of(tmp_path)
    found = VIEWS["bill"](source, {})
    assert (found["prompts"], found["unpriced"], found["usd"]) == (1, 1, None)
    (row,) = found["by"]["model"]
    assert (row["name"], row["usd"], set(row["causes"].values())) == ("somebody-else-1", None, {None})
    assert found["causes"]["tools"]["tokens"] > 0
    card = VIEWS["now"](source, {})["sessions"][0]
    assert (card["usd"], card["unpriced"]) == (None, 1)


def test_a_card_shows_the_name_without_the_project_and_the_price_so_far(tmp_path: Path):
    recorded(tmp_path, "s1", eventful())
    source = source_of(tmp_path)
    (card,) = VIEWS["now"](source, {})["sessions"]
    assert (card["project"], card["name"]) == ("shop", "Find the parser.")
    assert card["usd"] == pytest.approx(VIEWS["causes"](source, {"key": "s1"})["usd"], abs=1e-5)
    assert card["unpriced"] == 0


def test_pins_and_what_left_are_those_of_the_store(tmp_path: Path):
    recorded(tmp_path, "s1", turns([9_000, 10_000]))
    source = source_of(tmp_path)
    before = VIEWS["now"](source, {})["sessions"][0]["window"]
    assert "pins" not in before["parts"]
    with Session.open("anthropic:s1", home=source.place("/repo/shop"), settings=Settings(budget_tokens=900)) as session:
        session.pin("spec", "All names carry units. " * 20)
        assert session.prepare(body(user("Go."), *rounds(12))).actions
        counted = sum(one.tokens_saved for one in session.prepare(body(user("Go."), *rounds(12))).actions)
    window = VIEWS["now"](source_of(tmp_path), {})["sessions"][0]["window"]
    assert 100 <= window["parts"]["pins"] <= 200
    kinds = ("system", "results", "calls")
    assert window["parts"]["pins"] + sum(window["parts"][kind] for kind in kinds) == sum(
        before["parts"][kind] for kind in kinds
    )
    assert window["parts"]["results"] < before["parts"]["results"], "the recording has it still, the window has not"
    assert sum(window["parts"].values()) == window["used_tokens"]
    assert window["left_tokens"] >= counted > 0


def test_the_system_prompt_stands_apart_where_the_client_records_it(tmp_path: Path):
    records: list[Record] = codex_session()
    count = {"input_tokens": 9_000, "cached_input_tokens": 0, "output_tokens": 5}
    info = {"last_token_usage": count, "total_token_usage": {"total_tokens": 9_005}}
    records.append(
        {"timestamp": "2026-03-01T10:00:01.000Z", "type": "event_msg", "payload": {"type": "token_count", "info": info}}
    )
    written(tmp_path / ".codex" / "sessions" / "2026" / "rollout-1.jsonl", records)
    (row,) = VIEWS["now"](source_of(tmp_path), {})["sessions"]
    parts = row["window"]["parts"]
    assert parts["system"] == characters_per_4("Be brief.") + characters_per_4("Work in the sandbox.")
    assert parts["answers"] == characters_per_4("Done.")
    assert sum(parts.values()) == 9_000
    assert (
        parts["tools"] == 9_000 - parts["system"] - parts["user"] - parts["results"] - parts["calls"] - parts["answers"]
    )


def test_a_long_recording_whose_middle_was_not_read_does_not_say_what_was_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("undrift.web.watching._MOST_BYTES", 12_000)
    late = [record for n in range(40) for record in prompt(100 + n, 29_000 + n, 28_000, at_s=360 + n)]
    recorded(tmp_path, "s1", [*eventful(), *late])
    found = VIEWS["causes"](source_of(tmp_path), {"key": "s1"})
    assert 6 < found["prompts"] < 46
    assert found["causes"]["fetched"] == {"tokens": None, "usd": None}
    assert found["unknown"]["fetched"] == found["prompts"]
    assert found["usd"] == pytest.approx(sum(row["usd"] or 0 for row in found["causes"].values()))


def test_a_session_that_is_gone_is_an_answer(tmp_path: Path):
    for view in ("causes?key=x", "compaction?key=x&number=1"):
        answer = asked(source_of(tmp_path), f"/undrift/api/{view}")
        assert answer.status == 400


def test_what_a_prune_of_undrift_made_the_provider_write_again_is_named_so(tmp_path: Path):
    recorded(tmp_path, "s1", turns([10_000, 12_000, 9_000, 9_500], cached=0.5))
    one = source_of(tmp_path).session("s1")
    plain, pruned = (list(caused_prompts(one, (), pruned_tokens=given)) for given in ({}, {2: 4_000}))
    assert pruned[2].reason == "prune"
    assert pruned[2].tokens["rewritten"] == 12_000 - 4_000 - 4_500
    assert plain[2].tokens["rewritten"] != pruned[2].tokens["rewritten"]
    assert [row.reason for row in pruned[:2]] == [row.reason for row in plain[:2]]
    assert sum(pruned[2].tokens.values()) == 9_000


def test_a_damaged_store_does_not_take_the_bill_away(tmp_path: Path):
    recorded(tmp_path, "s1", today(turns([10_000, 12_000])))
    place = source_of(tmp_path).place("/repo/shop")
    with Session.open("anthropic:s1", home=place, settings=Settings(budget_tokens=900)) as session:
        assert session.prepare(body(user("Go."), *rounds(12))).actions
    whole = VIEWS["bill"](source_of(tmp_path), {})
    (place.records / "undrift.db").write_bytes(b"no database of ours" * 400)
    source = source_of(tmp_path)
    damaged = VIEWS["bill"](source, {})
    assert damaged["prompts"] == whole["prompts"] == 2
    assert damaged["usd"] == whole["usd"]
    assert VIEWS["causes"](source, {"key": "s1"})["prompts"]
