"""What clients record of their own prompts and compactions."""

from typing import Any

import pytest

from tests.transcripts.builders import assistant, claude, codex, lines, said, user
from undrift.transcripts.figures import RecordedFigures, figures

USAGE = {
    "input_tokens": 3,
    "cache_read_input_tokens": 1_000,
    "cache_creation_input_tokens": 50,
    "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 40},
    "output_tokens": 7,
}


def of_claude(*records: object) -> RecordedFigures:
    return figures(lines(*records), format="claude-code")


def of_codex(*records: object) -> RecordedFigures:
    return figures(lines(*records), format="codex")


def answer(usage: object, **more: Any) -> dict:
    record = assistant(said("Yes."), **more)
    record["message"]["usage"] = usage
    return record


def test_a_prompt_is_all_that_was_sent_cached_or_not():
    (prompt,) = of_claude(user("Go."), answer(USAGE)).prompts
    assert (prompt.line, prompt.prompt_tokens, prompt.cached_tokens) == (2, 1_053, 1_000)
    assert (prompt.written_tokens, prompt.written_long_tokens) == (10, 40)
    assert prompt.at_ms == 1_767_323_045_678


def test_a_message_in_parts_is_one_prompt_and_its_last_part_counts():
    first, last = answer({**USAGE, "input_tokens": 1}, id="m-1"), answer(USAGE, id="m-1")
    (prompt,) = of_claude(first, last).prompts
    assert (prompt.line, prompt.prompt_tokens) == (1, 1_053)


def test_side_chains_errors_and_repeated_records_are_not_counted():
    aside = answer(USAGE, isSidechain=True)
    failed = answer(USAGE, isApiErrorMessage=True)
    once = answer(USAGE)
    assert len(of_claude(user("Go."), aside, failed, once, once).prompts) == 1


def test_a_session_that_begins_as_a_side_chain_is_a_sub_agent_s():
    assert of_claude(user("Go.", isSidechain=True)).sub_agent
    assert not of_claude(user("Go."), user("Go.", isSidechain=True)).sub_agent
    assert of_codex(codex("session_meta", id="c", source={"subagent": {"other": "x"}})).sub_agent
    assert not of_codex(codex("session_meta", id="c", source="cli")).sub_agent


def test_a_boundary_says_what_it_weighed_and_what_it_kept():
    given = {"trigger": "manual", "preTokens": 1_234, "preservedMessages": {"allUuids": ["a", "b", 3]}}
    boundary = claude("system", subtype="compact_boundary", compactMetadata=given)
    (found,) = of_claude(user("Go."), boundary, user("Summary.", isCompactSummary=True)).boundaries
    assert (found.line, found.trigger, found.tokens_before, found.kept_ids) == (2, "manual", 1_234, ("a", "b"))


def test_a_summary_without_a_boundary_is_one():
    (found,) = of_claude(user("Go."), user("Summary.", isCompactSummary=True)).boundaries
    assert (found.line, found.trigger, found.tokens_before) == (2, "", None)


def test_codex_counts_each_prompt_once_and_keeps_what_it_can_cache():
    def counted(sent: int, cached: int, total: int) -> dict:
        info = {
            "last_token_usage": {"input_tokens": sent, "cached_input_tokens": cached},
            "total_token_usage": {"total_tokens": total},
        }
        return codex("event_msg", kind="token_count", info=info)

    found = of_codex(counted(100, 0, 110), counted(100, 0, 110), counted(150, 100, 270)).prompts
    assert [(one.prompt_tokens, one.cached_tokens, one.written_tokens) for one in found] == [
        (100, 0, 100),
        (150, 100, 50),
    ]


def test_a_replacement_names_the_texts_that_stayed_and_whether_its_summary_is_encrypted():
    kept = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Never push."}]}
    sealed = {"type": "compaction", "encrypted_content": "x"}
    clear, closed = of_codex(
        codex("compacted", message="", replacement_history=[kept]),
        codex("compacted", message="", replacement_history=[kept, sealed]),
    ).boundaries
    assert (clear.kept_texts, clear.encrypted) == (("Never push.",), False)
    assert (closed.kept_texts, closed.encrypted) == (("Never push.",), True)


@pytest.mark.parametrize(
    "record",
    [
        "{",
        "[]",
        {"type": "assistant", "message": "usage", "isSidechain": "compact_boundary"},
        {"type": "assistant", "message": {"id": 3, "usage": {"input_tokens": -1, "cache_read_input_tokens": "many"}}},
        {"type": "assistant", "message": {"usage": {"input_tokens": True, "cache_creation": []}}},
        {"type": "system", "subtype": "compact_boundary", "compactMetadata": 3},
        {"type": "system", "subtype": "compact_boundary", "compactMetadata": {"preservedMessages": {"allUuids": 3}}},
        {"type": "compacted", "payload": {"replacement_history": [3, {"content": 3}, {"content": [3, None]}]}},
        {"type": "event_msg", "payload": {"type": "token_count", "info": None}},
        {"type": "session_meta", "payload": None},
    ],
)
@pytest.mark.parametrize("format_", ["claude-code", "codex"])
def test_no_line_breaks_the_reading(record: object, format_: str):
    found = figures(lines(record, "", record), format=format_)
    assert all(prompt.prompt_tokens > 0 for prompt in found.prompts)


def test_a_prompt_has_its_model_its_end_and_the_life_of_its_cache():
    first = answer(USAGE, id="m-1", model="claude-opus-5")
    last = answer(USAGE, id="m-1", model="claude-opus-5", timestamp="2026-01-02T03:04:09.000Z")
    (prompt,) = of_claude(first, last).prompts
    assert (prompt.model, prompt.life_seconds) == ("claude-opus-5", 3_600)
    assert (prompt.at_ms, prompt.ended_ms) == (1_767_323_045_678, 1_767_323_049_000)


@pytest.mark.parametrize(
    ("written", "life"),
    [({"ephemeral_5m_input_tokens": 50}, 300), ({}, None), ({"ephemeral_1h_input_tokens": -1}, None), ("x", None)],
)
def test_the_life_is_what_the_answer_says_or_unknown(written: object, life: int | None):
    (prompt,) = of_claude(answer({**USAGE, "cache_creation": written})).prompts
    assert prompt.life_seconds == life


def test_an_interruption_and_the_client_s_own_summary_are_requests():
    interrupted = user([said("[Request interrupted by user for tool use]")])
    own = claude("system", subtype="away_summary", content="While you were away")
    plain = user("What does [Request interrupted by user] mean?")
    found = of_claude(user("Go."), answer(USAGE), interrupted, own, plain)
    assert [(one.line, one.kind) for one in found.requests] == [(3, "request"), (4, "request")]


def test_all_that_concerns_the_cache_comes_in_the_order_of_the_file():
    boundary = claude("system", subtype="compact_boundary", compactMetadata={})
    found = of_claude(answer(USAGE), user("[Request interrupted by user]"), boundary, answer(USAGE))
    kinds = [getattr(one, "kind", "answer") for one in found.in_order()]
    assert kinds == ["answer", "request", "compacted", "answer"]
