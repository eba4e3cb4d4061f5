"""What an autopsy finds in a session, reckoned by hand."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.core.autopsy.bill import SentPrompt
from undrift.core.autopsy.examine import autopsy
from undrift.core.autopsy.findings import Autopsy
from undrift.core.autopsy.native import CompactionRecord
from undrift.core.cost import Prices
from undrift.values.window import ContextEntry, EntryType

PRICES = Prices(0.1, 1.25)
MINUTE_MS = 60_000
CODE = "\n".join(f"    timeout_{n} = read_timeout(settings_{n}, default_{n})" for n in range(12))
# Four identifiers, one line.
LINE = "timeout_3 = read_timeout(settings_3, default_3)"


class Talk:
    """Entries as a reader gives them, one call a minute."""

    def __init__(self) -> None:
        self.entries: list[ContextEntry] = []
        self.compactions: list[int] = []
        self.calls = 0

    def _add(self, role: str, kind: str, content: str, type_: EntryType = "reasoning", **more: Any) -> "Talk":
        number = len(self.entries)
        metadata = {"role": role, "kind": kind, "message": number, "line": number + 1, **more}
        at_ms = 1_000_000 + self.calls * MINUTE_MS
        tokens = -(-len(content) // 4)
        self.entries.append(ContextEntry(f"u-{number}:0", type_, content, tokens, at_ms, metadata, seq=number))
        return self

    def user(self, text: str, **more: Any) -> "Talk":
        return self._add("user", "text", text, **more)

    def said(self, text: str) -> "Talk":
        return self._add("assistant", "text", text)

    def call(self, tool: str, result: str, **given: Any) -> "Talk":
        self.calls += 1
        pair = f"p-{self.calls}"
        self._add("assistant", "call", str(given), pair_id=pair, tool_name=tool, input=given)
        return self._add("user", "result", result, "tool_result", pair_id=pair, tool_name=tool)

    def reads(self, count: int, start: int = 0) -> "Talk":
        for number in range(start, start + count):
            self.call("Read", f"nothing that anybody needs, number {number}\n" * 3, file_path=f"/other/{number}.md")
        return self

    def compacted(self, summary: str = "") -> "Talk":
        self.compactions.append(len(self.entries))
        return self._add("user", "summary", summary, "summary") if summary else self

    def examined(self, **more: Any) -> Autopsy:
        return autopsy(self.entries, self.compactions, **{"prices": PRICES, **more})


def work() -> Talk:
    """The agent reads the code that matters, and much else."""
    return Talk().user("Make the time-outs settable.").call("Read", CODE, file_path="/repo/timeouts.py").reads(20)


def newest(entries: Sequence[ContextEntry]) -> str:
    return entries[-1].content


def test_a_summary_without_what_was_used_holds_nothing():
    talk = work().compacted("We worked on time-outs.").call("Edit", "done", old_string=LINE)
    (found,) = talk.examined().compactions
    assert (found.lines, found.identifiers) == (0, 4)  # the line stands inside a call's text, not on a line of its own
    assert (found.native.identifiers, found.native.lines) == (0, 0)


def test_a_line_of_code_counts_when_the_agent_uses_it():
    (found,) = work().compacted("Go on.").said(f"It is this one:\n{LINE}\n").examined().compactions
    assert (found.identifiers, found.lines) == (4, 1)


def test_a_summary_holds_what_stands_in_it():
    talk = work().compacted(f"The line is\n{LINE}").said(f"So:\n{LINE}")
    (found,) = talk.examined().compactions
    assert (found.native.identifiers, found.native.lines) == (4, 1)


def test_what_restore_gives_is_asked_of_the_history_before_the_compaction():
    seen: list[int] = []

    def restore(entries: Sequence[ContextEntry]) -> str:
        seen.append(len(entries))
        return CODE

    talk = work().compacted("Go on.").said(f"So:\n{LINE}")
    (found,) = talk.examined(restore=restore).compactions
    assert seen == talk.compactions
    assert found.ours is not None
    assert found.together is not None
    assert (found.ours.identifiers, found.ours.lines) == (4, 1)
    assert (found.together.identifiers, found.together.lines) == (4, 1)


def test_a_bag_of_names_is_no_restoring():
    talk = work().compacted("Go on.").said(f"So:\n{LINE}")
    (found,) = talk.examined(restore=lambda _: "timeout_3 settings_3 default_3").compactions
    assert found.ours is not None
    assert found.ours.identifiers == 0


def test_without_restore_that_comparison_is_left_out():
    (found,) = work().compacted("Go on.").said(LINE).examined().compactions
    assert found.ours is None
    assert found.together is None


def test_what_the_user_named_again_was_not_lost():
    talk = work().compacted("Go on.").user(f"Change\n{LINE}").said(f"So:\n{LINE}")
    (found,) = talk.examined().compactions
    assert (found.identifiers, found.lines) == (0, 0)


def test_what_the_agent_made_up_itself_was_not_learned():
    talk = Talk().user("Go.").said(f"I shall write\n{LINE}").reads(3).compacted("Go on.").said(LINE)
    (found,) = talk.examined().compactions
    assert found.lines == 0


def test_only_the_next_thirty_calls_count():
    (found,) = work().compacted("Go on.").reads(31, start=50).said(LINE).examined().compactions
    assert found.window_calls == 30
    assert found.lines == 0


def test_reading_the_same_file_again_is_found_with_calls_and_minutes():
    talk = work().compacted("Go on.").reads(2, start=90).call("Read", CODE, file_path="/repo/timeouts.py")
    (found,) = talk.examined().compactions
    (fetch,) = found.fetches
    assert (fetch.call, fetch.session_call, fetch.tool, fetch.what) == (3, 24, "Read", "/repo/timeouts.py")
    assert fetch.after_ms == 3 * MINUTE_MS
    assert fetch.read_calls_before == 20
    assert fetch.known_tokens == fetch.tokens == talk.entries[-1].token_count


def test_what_was_used_after_it_was_read_again_counts_as_fetched():
    talk = work().compacted("Go on.").call("Read", CODE, file_path="/repo/timeouts.py").said(LINE)
    (found,) = talk.examined().compactions
    assert (found.fetched.identifiers, found.fetched.lines) == (found.identifiers, found.lines) == (4, 1)


def test_what_the_client_put_back_by_itself_is_not_fetched_again():
    talk = work().compacted(f"The file:\n{CODE}").call("Read", CODE, file_path="/repo/timeouts.py")
    (found,) = talk.examined().compactions
    assert found.fetches == ()


def test_a_second_look_at_what_was_read_again_counts_once():
    talk = work().compacted("Go on.")
    talk.call("Read", CODE, file_path="/repo/timeouts.py").call("Read", CODE, file_path="/repo/timeouts.py")
    assert len(talk.examined().compactions[0].fetches) == 1


@pytest.mark.parametrize(
    ("tool", "given", "counts"),
    [
        ("Bash", {"command": "cat timeouts.py"}, True),
        ("Bash", {"command": "cd /repo && sed -n 1,20p timeouts.py | head -5"}, True),
        ("exec_command", {"cmd": "bash -lc 'rg -n timeout src'"}, True),
        ("shell", {"command": ["bash", "-lc", "nl -ba timeouts.py"]}, True),
        ("Grep", {"pattern": "timeout"}, True),
        ("mcp__files__read_file", {"path": "timeouts.py"}, True),
        ("Bash", {"command": "make test 2>&1 | tail -30"}, False),
        ("Bash", {"command": "pytest -q"}, False),
        ("Bash", {"command": "cat > timeouts.py << EOF"}, False),
        ("Edit", {"file_path": "timeouts.py"}, False),
        ("Write", {"file_path": "timeouts.py"}, False),
    ],
)
def test_only_reading_is_fetching(tool: str, given: dict[str, object], counts: bool):
    (found,) = work().compacted("Go on.").call(tool, CODE, **given).examined().compactions
    assert bool(found.fetches) is counts


def test_a_search_that_shows_known_lines_with_their_places_counts():
    hits = "\n".join(f"src/timeouts.py:{number}:{line}" for number, line in enumerate(CODE.split("\n"), 1))
    (found,) = work().compacted("Go on.").call("Grep", hits, pattern="timeout").examined().compactions
    assert len(found.fetches) == 1


def test_reading_again_without_a_compaction_is_the_usual_and_stands_beside_it():
    talk = work().call("Read", CODE, file_path="/repo/timeouts.py").reads(15, start=40).compacted("Go on.").said("On.")
    (found,) = talk.examined().compactions
    assert found.usual_calls == 30
    assert found.usual_tokens == -(-len(CODE) // 4)
    assert found.fetches == ()


def test_a_secret_in_a_command_is_masked():
    secret = "sk-" + "ant-" + "api03-" + "Ab3" * 30
    talk = work().compacted("Go on.").call("Bash", CODE, command=f"curl -H 'x-api-key: {secret}' example.org")
    (fetch,) = talk.examined().compactions[0].fetches
    assert secret not in fetch.what
    assert "[masked:" in fetch.what


RULES = [
    "Never push to the main branch.",
    "Always run the linter before committing.",
    "Don't add new dependencies to the project.",
    "You must keep the public interface stable.",
    "Only touch files below the server folder.",
    "I don't want any emoji in messages.",
]


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_that_nothing_mentions_again_is_lost_and_shown_verbatim(rule: str):
    talk = Talk().user(f"Make it faster. {rule} Thanks.").reads(3).compacted("We make it faster.").said("Done.")
    (found,) = talk.examined().compactions
    assert [lost.text for lost in found.lost_rules] == [rule]
    assert found.rules == 1
    assert found.lost_rules[0].calls_before == 3


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_that_the_summary_repeats_in_its_own_words_is_not_lost(rule: str):
    words = " ".join(reversed(rule.strip(".").split()))
    talk = Talk().user(rule).reads(3).compacted(f"The user said: {words}").said("Done.")
    (found,) = talk.examined().compactions
    assert found.rules == 1
    assert found.lost_rules == ()


@pytest.mark.parametrize(
    "text",
    [
        "I don't know why it fails here.",
        "It never works on my machine.",
        "Must we always do that, really?",
        "Maybe never touch the cache layer.",
        "x = always_on && never(must_not);",
        "<local-command-stdout>You must restart the server now.</local-command-stdout>",
        "```\nNever change this generated file by hand.\n```",
        "Implement the following plan:\nAlways validate the incoming tokens.",
        "Always validate the incoming tokens. " + "More text. " * 1_000,
    ],
)
def test_speech_code_and_pasted_documents_are_no_rules(text: str):
    (found,) = Talk().user(text).reads(3).compacted("Go on.").said("Done.").examined().compactions
    assert found.rules == 0


def test_a_rule_that_a_tool_shows_word_for_word_is_not_lost():
    talk = Talk().user(RULES[0]).reads(3).compacted("Go on.").call("Read", f"# Rules\n- {RULES[0]}\n", file_path="R.md")
    assert talk.said("Done.").examined().compactions[0].lost_rules == ()


def test_text_of_the_client_is_no_rule_of_the_user():
    talk = Talk().user(RULES[0], meta=True).reads(3).compacted("Go on.").said("Done.")
    assert talk.examined().compactions[0].rules == 0


def test_right_after_a_compaction_it_is_too_early_to_call_a_rule_lost():
    (found,) = Talk().user(RULES[0]).reads(3).compacted("Go on.").examined().compactions
    assert (found.rules, found.lost_rules, found.window_calls) == (1, (), 0)


def test_a_compaction_before_the_first_call_threw_nothing_away():
    assert Talk().compacted("From an earlier file.").user("Go on.").reads(3).examined().compactions == ()


def test_texts_that_the_client_kept_count_as_held():
    talk = work()
    talk.compacted("Go on.").said(LINE)
    index = talk.compactions[0]
    by_text = talk.examined(records={index: CompactionRecord(kept_texts=(CODE,))}).compactions[0]
    by_id = talk.examined(records={index: CompactionRecord(kept_ids=frozenset({"u-2"}))}).compactions[0]
    assert by_text.native.lines == by_id.native.lines == 1
    assert talk.entries[2].content == CODE


def test_each_of_two_compactions_has_its_own_window():
    talk = work().compacted("One.").call("Read", CODE, file_path="/repo/timeouts.py").compacted("Two.").said(LINE)
    first, second = talk.examined().compactions
    assert (first.number, first.calls_after, first.lines) == (1, 1, 0)
    assert (second.number, second.calls_before, second.lines) == (2, 22, 1)
    assert len(first.fetches) == 1
    assert second.fetches == ()


def prompts(*sizes: tuple[int, int, int]) -> list[SentPrompt]:
    """Minute, tokens, cached."""
    return [
        SentPrompt(minute * MINUTE_MS, tokens, cached, tokens - cached, line=number + 2)
        for number, (minute, tokens, cached) in enumerate(sizes)
    ]


def test_the_bill_adds_up_what_the_provider_counted():
    bill = work().examined(prompts=prompts((0, 1_000, 0), (1, 2_000, 1_000))).bill
    assert bill.recorded
    assert (bill.prompts, bill.input_tokens) == (2, 3_000)
    assert bill.cost == pytest.approx(1_250 + 1_250 + 100)
    assert (bill.pauses, bill.cold_prompts, bill.cold_share) == (0, 0, 0)


def test_a_prompt_that_finds_the_cache_cold_after_a_pause_is_counted_with_its_share():
    bill = work().examined(prompts=prompts((0, 1_000, 0), (6, 2_000, 0))).bill
    assert (bill.pauses, bill.cold_prompts) == (1, 1)
    assert bill.cold_share == pytest.approx(2_000 / 3_000)


def test_a_pause_that_a_longer_cache_bridges_is_not_cold():
    bill = work().examined(prompts=prompts((0, 1_000, 0), (30, 2_000, 1_000))).bill
    assert (bill.pauses, bill.cold_prompts) == (1, 0)


def test_an_hour_s_cache_costs_twice_the_input_price():
    bill = work().examined(prompts=[SentPrompt(0, 1_000, 0, 0, 1_000, line=2)]).bill
    assert bill.cost == pytest.approx(2_000)


def test_what_no_text_explains_in_the_first_prompt_is_system_prompt_and_tools():
    talk = work()
    bill = talk.examined(prompts=prompts((0, 10_000, 0), (1, 11_000, 10_000))).bill
    fixed = 10_000 - talk.entries[0].token_count
    assert bill.fixed_tokens == fixed
    assert bill.fixed_cost == pytest.approx(1.25 * fixed + 0.1 * fixed)
    assert bill.tool_schema_tokens is None


def test_without_recorded_figures_the_prompts_are_estimated_and_nothing_is_said_of_tools():
    talk = work()
    found = talk.examined()
    assert not found.bill.recorded
    assert found.bill.prompts == 21
    assert found.bill.fixed_tokens is None
    assert found.timeline[0].tokens == talk.entries[0].token_count
    assert not found.timeline_recorded


def test_an_estimated_window_begins_again_after_a_compaction():
    found = work().compacted("Go on.").reads(2, start=70).examined()
    assert found.timeline[-2].tokens < found.timeline[-3].tokens
    (compaction,) = found.compactions
    assert not compaction.recorded
    assert compaction.tokens_before > 200


def test_recorded_sizes_stand_where_the_client_counted():
    talk = work().compacted("Go on.").reads(1, start=70)
    index = talk.compactions[0]
    line = index + 1
    sent = [SentPrompt(None, 9_000, 0, 0, line=line - 1), SentPrompt(None, 500, 0, 0, line=line + 1)]
    (found,) = talk.examined(prompts=sent, records={index: CompactionRecord(line=line)}).compactions
    assert (found.tokens_before, found.tokens_after, found.recorded, found.dropped_tokens) == (9_000, 500, True, 8_500)


def test_a_compaction_costs_its_summary_and_what_is_written_again():
    talk = work()
    line = len(talk.entries) + 1
    talk.compacted("Timeouts are read from the settings.").said("On.").call("Read", "x", file_path="/a").said("End.")
    sent = [
        SentPrompt(None, 9_000, 8_000, 1_000, line=line - 2),
        SentPrompt(None, 2_500, 500, 0, 2_000, line=line + 1),
        SentPrompt(None, 2_600, 2_500, 0, 100, line=line + 2),
        SentPrompt(None, 2_700, 2_600, 0, 100, line=line + 4),
    ]
    (found,) = talk.examined(
        prompts=sent, records={line - 1: CompactionRecord(line=line)}, restore=lambda _: "x" * 400
    ).compactions
    assert found.cost.summary == pytest.approx(0.1 * 9_000 + 5 * 9)
    assert found.cost.rewritten == pytest.approx(2.0 * 2_000)
    assert found.cost.total == pytest.approx(4_945)
    assert found.cost.restore == pytest.approx((2.0 + 2 * 0.1) * 100)  # written for an hour, then read twice


def test_sending_everything_reads_in_each_prompt_what_the_compaction_dropped():
    talk = work()
    line = len(talk.entries) + 1
    talk.compacted("So far.").said("On.").call("Read", "x", file_path="/a").said("End.")
    sent = [
        SentPrompt(None, 9_000, 0, 9_000, line=line - 2),
        SentPrompt(None, 2_000, 500, 1_500, line=line + 1),  # the first after it, without 7,000 that were dropped
        SentPrompt(None, 2_600, 2_000, 600, line=line + 2),
        SentPrompt(None, 2_700, 0, 2_700, line=line + 4),  # cold: all is written
    ]
    found = talk.examined(prompts=sent, records={line - 1: CompactionRecord(line=line)})
    assert found.compactions[0].dropped_tokens == 7_000
    first = 1.25 * 9_000
    second = 0.1 * 9_000  # nothing is new
    third = 0.1 * 2_000 + 1.25 * 600 + 0.1 * 7_000
    fourth = 1.25 * (2_700 + 7_000)
    assert found.bill.everything == pytest.approx(first + second + third + fourth)
    assert found.bill.summaries == found.compactions[0].cost.summary > 0


def test_without_a_compaction_sending_everything_is_what_was_done():
    assert work().examined().bill.everything is None


def test_where_nothing_was_counted_the_cost_of_a_compaction_is_estimated():
    talk = work()
    window = sum(entry.token_count for entry in talk.entries)
    talk.compacted("Timeouts are read from the settings.").said("On.").said("End.")
    (found,) = talk.examined().compactions
    assert found.cost.summary == pytest.approx(0.1 * window + 5 * 9)
    assert found.cost.rewritten == pytest.approx(1.25 * 9)
    assert found.cost.restore == 0


def test_after_the_last_compaction_only_the_summary_was_paid():
    (found,) = work().compacted("So far.").examined().compactions
    assert (found.cost.rewritten, found.cost.restore) == (0, 0)
    assert found.cost.summary > 0


def test_an_empty_session_has_no_findings():
    found = autopsy((), (), prices=PRICES)
    assert (found.calls, found.compactions, found.bill.cost, found.timeline) == (0, (), 0, ())


TEXTS = st.sampled_from(["", CODE, LINE, RULES[0], "Go on.", "\x00\u202e", "a" * 40])


@given(
    st.lists(st.tuples(st.sampled_from(["user", "said", "call", "bash", "compacted"]), TEXTS), max_size=30),
    st.booleans(),
)
def test_whatever_a_session_holds_the_findings_stay_in_range(acts: list[tuple[str, str]], asks: bool):
    talk = Talk()
    for act, text in acts:
        if act in ("call", "bash"):
            given_ = {"file_path": text} if act == "call" else {"command": f"cat {text}"}
            talk.call("Read" if act == "call" else "Bash", text, **given_)
        elif act == "compacted":
            talk.compacted(text)
        else:
            getattr(talk, act)(text)
    found = talk.examined(restore=newest if asks else None)
    assert 0 <= found.bill.cold_share <= 1
    for compaction in found.compactions:
        for held in (compaction.native, compaction.fetched, compaction.ours, compaction.together):
            if held is not None:
                assert 0 <= held.identifiers <= compaction.identifiers
                assert 0 <= held.lines <= compaction.lines
        assert len(compaction.lost_rules) <= compaction.rules
        assert compaction.window_calls <= 30
        assert all(fetch.call > 0 and fetch.known_tokens <= fetch.tokens for fetch in compaction.fetches)
