"""How much the hooks give back: no more than the window has place for."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.builders import Record, answered, called, claude, listing
from tests.hooks.builders import User, compacted, with_ids
from undrift.core.text.tokens import characters_per_4
from undrift.hooks.answer import answer
from undrift.hooks.room import TextRoom, room_of
from undrift.recordings.restore import restore
from undrift.transcripts.figures import RecordedFigures, figures
from undrift.values.usage import PromptUsage
from undrift.values.window import ContextEntry

RULE = "Never touch the file build.lock."
REQUEST = "Find out where value_0 is computed."


def at_work(prompts: list[int], first: int = 0) -> list[Record]:
    """An agent that reads a file a turn, whose prompts were so large."""
    records = []
    for number, tokens in enumerate(prompts, first):
        usage = {"input_tokens": 5, "cache_read_input_tokens": tokens - 5, "output_tokens": 20}
        answer = claude("assistant", [called(number, file_path=f"/repo/src/part_{number}.py")], at_s=number)
        answer["message"] |= {"usage": usage, "id": f"msg-{number}"}
        records += [answer, claude("user", [answered(number, listing(number))], at_s=number)]
    return records


def compaction(tokens: int, at_s: int = 0) -> list[Record]:
    boundary, summary = compacted(at_s)
    stamp = f"2026-03-01T10:{at_s // 60:02}:{at_s % 60:02}.500Z"
    return [{**boundary, "timestamp": stamp, "compactMetadata": {"preTokens": tokens}}, {**summary, "timestamp": stamp}]


def session(since: list[int], before: list[int] | None = None) -> list[Record]:
    """A session that was compacted once: its prompts before and since."""
    before = before or [11_000, 15_000, 20_000, 25_000, 30_000]
    asked = claude("user", f"{REQUEST}\n{RULE}")
    earlier = [asked, *at_work(before), *compaction(max(before), len(before))]
    return with_ids([*earlier, *at_work(since, len(before) + 1)])


def given_back(user: User, records: list[Record], *, announced: bool = True) -> str:
    """Return what the client puts into the window, all parts of it."""
    user.write(records)
    if announced:
        user.pre_compact()
    user.add([{**record, "uuid": f"end-{number}"} for number, record in enumerate(compaction(0, 3_000))])
    text = user.restored()
    assert user.log() == []
    return text


@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize(("left_tokens", "most"), [(25_000, 500), (20_000, 1_000), (10_000, 2_000)])
def test_a_text_takes_a_tenth_of_what_the_last_compaction_left_free(
    tmp_path: Path, left_tokens: int, most: int, announced: bool
):
    text = given_back(User(tmp_path), session([left_tokens, left_tokens + 900, 29_000, 29_900]), announced=announced)
    assert most * 0.7 <= characters_per_4(text) <= most
    assert RULE in text


@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize("answers", [1, 2])
def test_soon_after_a_compaction_only_the_users_words_come_back(tmp_path: Path, answers: int, announced: bool):
    before = [20_000, 90_000, 160_000]
    text = given_back(User(tmp_path), session([60_000, 155_000][:answers], before), announced=announced)
    assert RULE in text
    assert characters_per_4(text) <= 500
    assert [line for line in text.splitlines() if not line.startswith(("#", "Copied"))] == [RULE, REQUEST]


@pytest.mark.parametrize("announced", [True, False])
def test_before_the_client_gives_up_nothing_comes_back(tmp_path: Path, announced: bool):
    again = [*compaction(160_000, 5), *at_work([60_000, 155_000], 6)]
    records = with_ids([*session([60_000, 155_000], [20_000, 90_000, 160_000]), *again])
    assert given_back(User(tmp_path), records, announced=announced) == ""


def test_a_window_that_lasted_longer_ends_the_row(tmp_path: Path):
    again = [*compaction(160_000, 9), *at_work([60_000, 155_000], 10)]
    records = with_ids([*session([60_000, 90_000, 120_000, 155_000], [20_000, 90_000, 160_000]), *again])
    assert RULE in given_back(User(tmp_path), records)


def test_a_window_that_is_full_again_before_any_answer_gets_the_users_words(tmp_path: Path):
    text = given_back(User(tmp_path), session([], [20_000, 90_000, 160_000]))
    assert [line for line in text.splitlines() if not line.startswith(("#", "Copied"))] == [RULE, REQUEST]


def test_many_rules_stay_under_500_tokens(tmp_path: Path):
    records = session([60_000], [20_000, 90_000, 160_000])
    said = [f"Always keep the column number_{number} of the table where it is." for number in range(200)]
    typed = [claude("user", "\n".join(said[first : first + 40]), uuid=f"rules-{first}") for first in range(0, 200, 40)]
    text = given_back(User(tmp_path), [*typed, *records])
    assert 300 <= characters_per_4(text) <= 500
    assert "number_199 " in text
    assert "older ones are left out: undrift rules lists them" in text


def test_soon_after_a_compaction_without_any_typed_words_nothing_comes_back(tmp_path: Path):
    records = session([60_000], [20_000, 90_000, 160_000])
    records[0]["message"]["content"] = "<command-name>/go</command-name>"
    assert given_back(User(tmp_path), records) == ""


@pytest.mark.parametrize("since", [[50_000, 80_000, 120_000, 160_000], []])
def test_a_large_window_gets_a_long_text(tmp_path: Path, since: list[int]):
    first = [20_000, *range(60_000, 156_000, 3_000)]
    records = session(since, first) if since else with_ids([claude("user", f"{REQUEST}\n{RULE}"), *at_work(first)])
    assert 9_000 <= characters_per_4(given_back(User(tmp_path), records)) <= 9_900


@pytest.mark.parametrize("announced", [True, False])
def test_a_compaction_by_hand_does_not_show_how_large_the_window_is(tmp_path: Path, announced: bool):
    user = User(tmp_path)
    user.write(with_ids([claude("user", f"{REQUEST}\n{RULE}"), *at_work([*range(11_000, 31_000, 1_000)])]))
    if announced:
        user.pre_compact(trigger="manual")
    end = compaction(30_000, 3_000)
    end[0]["compactMetadata"]["trigger"] = "manual"
    user.add(end)
    assert 4_500 <= characters_per_4(user.restored()) <= 5_100


@pytest.mark.parametrize(
    ("trigger", "least", "most"), [("manual", 4_500, 5_100), ("auto", 0, 1_000), ("\ud800", 0, 1_000)]
)
def test_a_text_that_is_asked_for_before_it_is_prepared_knows_how_the_compaction_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trigger: str, least: int, most: int
):
    monkeypatch.setattr("undrift.hooks.aside.start_process", lambda *_: None)  # the process that prepares it is late
    user = User(tmp_path)
    user.write(with_ids([claude("user", f"{REQUEST}\n{RULE}"), *at_work([*range(11_000, 31_000, 1_000)])]))
    assert answer("PreCompact", user.payload("PreCompact", trigger=trigger), user.options(now=False)) == ""
    assert least <= characters_per_4(user.restored()) <= most
    assert user.log() == []


def test_a_window_that_was_full_once_is_known_to_a_compaction_by_hand(tmp_path: Path):
    user = User(tmp_path)
    user.write(session([25_000, 26_000, 27_000, 28_000]))
    user.pre_compact(trigger="manual")
    assert characters_per_4(user.restored()) <= 500


def test_a_session_without_figures_gets_the_text_as_before(tmp_path: Path):
    records = session([60_000, 70_000, 80_000, 90_000], [20_000] * 20)
    for record in records:
        record.pop("compactMetadata", None)
        record.get("message", {}).pop("usage", None)
    assert 4_500 <= characters_per_4(given_back(User(tmp_path), records)) <= 5_100


def test_the_budget_of_restore_itself_is_as_it_was(tmp_path: Path):
    records = session([29_000, 29_500, 29_600, 29_900, *[29_950] * 8])
    path = User(tmp_path).write(records)
    assert 4_000 <= restore(path).tokens <= 5_000


@pytest.mark.parametrize("hostile", [-1, True, 1 << 70, 1.5e308, "9", None, [], {}])
def test_figures_of_any_shape_fail_nothing(tmp_path: Path, hostile: Any):
    records = session([25_000, 26_000, 27_000, 28_000])
    for record in records:
        if usage := record.get("message", {}).get("usage"):
            usage["input_tokens"] = usage["cache_read_input_tokens"] = hostile
        if "compactMetadata" in record:
            record["compactMetadata"] = {"preTokens": hostile}
    assert RULE in given_back(User(tmp_path), records)


def codex(*inputs: int) -> list[str]:
    line = '{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":%d},'
    line += '"last_token_usage":{"input_tokens":%d},"model_context_window":258400}}}'
    counted = [line % (number + 1, tokens) for number, tokens in enumerate(inputs)]
    return [*counted[:3], '{"type":"compacted","payload":{"message":""}}', *counted[3:]]


def test_the_counts_of_codex_say_it_too():
    found = figures(codex(11_000, 20_000, 30_000, 25_000, 26_000, 29_000), format="codex")
    assert room_of(found, (), None) == TextRoom(500)
    assert room_of(figures(codex(11_000, 20_000, 30_000, 25_000), format="codex"), (), None) == TextRoom(
        500, words_only=True
    )


def test_the_summary_that_codex_records_as_an_answer_is_none():
    again = [*codex(11_000, 20_000, 30_000, 25_000, 28_000, 30_000), '{"type":"compacted","payload":{"message":""}}']
    found = figures(again, format="codex")
    assert room_of(found, (), found.boundaries[-1]).words_only
    longer = [*codex(11_000, 20_000, 30_000, 25_000, 28_000, 29_000, 30_000), again[-1]]
    found = figures(longer, format="codex")
    assert not room_of(found, (), found.boundaries[-1]).words_only


def test_a_part_of_a_file_says_nothing_of_what_was_free_at_its_beginning():
    found = RecordedFigures((PromptUsage(5, None, 90_000, 0), PromptUsage(9, None, 100_000, 0)), (), sub_agent=False)
    nothing: tuple[ContextEntry, ...] = ()
    assert room_of(found, nothing, None, whole=False) == TextRoom()
    assert room_of(found, nothing, None) == TextRoom(500)


@pytest.mark.parametrize(("most_tokens", "least", "most"), [(60_000, 4_500, 5_100), (130_000, 7_000, 9_900)])
def test_a_compaction_by_hand_gets_more_if_the_prompts_show_that_there_is_room(
    tmp_path: Path, most_tokens: int, least: int, most: int
):
    user = User(tmp_path)
    prompts = [*range(11_000, most_tokens + 1, (most_tokens - 11_000) // 60)]
    user.write(with_ids([claude("user", f"{REQUEST}\n{RULE}"), *at_work(prompts)]))
    user.pre_compact(trigger="manual")
    assert least <= characters_per_4(user.restored()) <= most
