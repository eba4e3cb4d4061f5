"""A replay prices by the recorded cache, and compares with the client's own compactions; every figure reckoned by hand."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.builders import answered, called, claude, codex_session, long_session, said, written
from undrift import transcripts
from undrift.core.autopsy.survival import Needs
from undrift.core.cost import Prices
from undrift.core.text.tokens import characters_per_4 as size
from undrift.recordings.figures import recorded_figures
from undrift.recordings.files import open_recording
from undrift.recordings.replay import NativeCost, ReplayReport, replay
from undrift.recordings.replay.history import history_of
from undrift.recordings.replay.native import NativeSide
from undrift.recordings.replay.side import Market, Side
from undrift.recordings.replay.texts import ReplayTexts
from undrift.settings import Settings

READ, SHORT, LONG, OUTPUT = 0.1, 1.25, 2.0, 5.0
LISTED = "    value = compute_the_part(source, target)\n" * 40
SUMMARY = "The value is computed in part one; part two is still to be read."
BOUNDARY: dict[str, Any] = {"type": "system", "subtype": "compact_boundary", "isSidechain": False}


def run(path: Path, budget: int = 100_000, **more: Any) -> ReplayReport:
    settings = Settings(token_counter="characters/4", budget_tokens=budget)
    recording = open_recording(path)
    recorded = recorded_figures(path, recording.format)
    return replay(recording, path, home=path.parent / "home", settings=settings, recorded=recorded, **more)


def compacted(*put_in: dict, boundary: dict | None = None) -> list[dict]:
    """A session that was compacted before its last answer."""
    return [
        claude("user", "Find the value.", at_s=0),
        claude("assistant", [called(1, path="part_1.py")], at_s=1),
        claude("user", [answered(1, LISTED)], at_s=2),
        claude("assistant", [said("Found.")], at_s=3),
        boundary or BOUNDARY,
        claude("user", SUMMARY, at_s=4, isCompactSummary=True),
        *put_in,
        claude("user", "Now part two.", at_s=5),
        claude("assistant", [said("Reading.")], at_s=6),
    ]


def native_of(path: Path, records: list[dict]) -> NativeCost:
    found = run(written(path / "session.jsonl", records)).cost.native
    assert found is not None
    return found


def test_the_window_restarts_at_the_summary_and_its_call_is_paid(tmp_path: Path):
    asked, call, listed = size("Find the value."), size('{"path":"part_1.py"}'), size(LISTED)
    second = asked + call + listed
    whole = second + size("Found.")  # what the summary's call reads, from the cache
    third = size(SUMMARY) + size("Now part two.")
    found = native_of(tmp_path, compacted())
    assert (found.compactions, found.limit_tokens, found.peak) == (1, whole, second)
    assert found.tokens == asked + second + third
    assert found.summaries == pytest.approx(READ * whole + OUTPUT * size(SUMMARY))
    assert found.prompts == pytest.approx(SHORT * asked + READ * asked + SHORT * (second - asked) + SHORT * third)
    assert found.cost == pytest.approx(found.prompts + found.summaries)


def test_what_the_client_attached_again_or_kept_is_in_its_window(tmp_path: Path):
    plain = native_of(tmp_path, compacted())
    attached = {"type": "attachment", "isSidechain": False}
    again = {**attached, "attachment": {"type": "compact_file_reference", "filename": "src/part_1.py"}}
    assert native_of(tmp_path, compacted(again)).tokens == plain.tokens + size("src/part_1.py")
    records = compacted(boundary={**BOUNDARY, "compactMetadata": {"preservedMessages": {"uuids": ["kept-1"]}}})
    records[2]["uuid"] = "kept-1"
    assert native_of(tmp_path, records).tokens == plain.tokens + size(LISTED)


def test_what_the_summary_lost_is_charged_as_it_is_to_the_managed_windows(tmp_path: Path):
    ending = [*long_session(30, last="It is value_0_1, computed by compute_part_0_1.")]
    records = [*ending[:-1], BOUNDARY, claude("user", SUMMARY, at_s=299, isCompactSummary=True), ending[-1]]
    report = run(written(tmp_path / "session.jsonl", records))
    native = report.cost.native
    assert native is not None
    assert (native.survival.identifiers, native.survival.share, report.survival.share) == (2, 0.0, 1.0)
    held = size(open_recording(tmp_path / "session.jsonl").entries[2].content)
    assert native.refetch == pytest.approx(READ * size(SUMMARY) + SHORT * held)
    assert native.total == pytest.approx(native.cost + native.refetch)
    assert report.cost.refetch == 0


def test_two_compactions_in_a_row_pay_two_summaries(tmp_path: Path):
    records = compacted()
    at = records.index(BOUNDARY)
    twice = [
        *records[: at + 2],
        BOUNDARY,
        claude("user", "Shorter.", at_s=4, isCompactSummary=True),
        *records[at + 2 :],
    ]
    found = native_of(tmp_path, twice)
    first = size("Find the value.") + size('{"path":"part_1.py"}') + size(LISTED) + size("Found.")
    assert found.compactions == 2
    assert found.summaries == pytest.approx(
        READ * first + OUTPUT * size(SUMMARY) + READ * size(SUMMARY) + OUTPUT * size("Shorter.")
    )


@pytest.mark.parametrize("records", [long_session(3), codex_session(3), compacted()[:6]])
def test_without_a_turn_after_a_compaction_there_is_nothing_to_compare_with(tmp_path: Path, records: list[dict]):
    assert run(written(tmp_path / "session.jsonl", records)).cost.native is None


def test_a_summary_that_nobody_can_read_is_counted(tmp_path: Path):
    records = codex_session(3)
    replacement = [{"type": "compaction", "encrypted_content": "xyz"}]
    closed = {
        "timestamp": "2026-03-01T10:00:00.000Z",
        "type": "compacted",
        "payload": {"replacement_history": replacement},
    }
    found = native_of(tmp_path, [*records[:-1], closed, records[-1]])
    assert (found.compactions, found.unreadable) == (1, 1)


# ------------------------------------------------------------------------------------------- the recorded cache


def paused(usage: dict | None) -> list[dict]:
    """Two prompts with ten minutes between them; `usage` stands in the first answer."""
    records = [
        claude("user", LISTED, at_s=0),
        claude("assistant", [said("Read.")], at_s=1),
        claude("user", "And now?", at_s=2),
        claude("assistant", [said("Done.")], at_s=601),
    ]
    if usage is not None:
        records[1]["message"]["usage"] = {"input_tokens": 3, "cache_creation_input_tokens": 900, **usage}
    return records


def usage_of(**written_tokens: int) -> dict:
    return {"cache_creation": {f"ephemeral_{life}_input_tokens": tokens for life, tokens in written_tokens.items()}}


@pytest.mark.parametrize(
    ("usage", "seconds", "recorded", "write", "is_warm"),
    [
        (None, 300, False, SHORT, False),
        (usage_of(h=0), 300, False, SHORT, False),  # an older client does not say which cache it wrote
        (usage_of(**{"5m": 900}), 300, True, SHORT, False),
        (usage_of(**{"1h": 900}), 3_600, True, LONG, True),
    ],
)
def test_the_life_and_the_write_price_are_the_recorded_ones(
    tmp_path: Path, usage: dict | None, seconds: int, recorded: bool, write: float, is_warm: bool
):
    cost = run(written(tmp_path / "session.jsonl", paused(usage))).cost
    assert (cost.cache_seconds, cost.cache_recorded, cost.write_price) == (seconds, recorded, write)
    first, rest = size(LISTED), size("Read.") + size("And now?")
    second = READ * first + write * rest if is_warm else write * (first + rest)
    assert cost.before == pytest.approx(write * first + second)


def test_the_engine_learns_the_recorded_life_and_does_not_prune_a_warm_cache(tmp_path: Path):
    def replayed(usage: dict) -> ReplayReport:
        records = long_session(20, characters=1_500)
        records[1]["message"]["usage"] = {"input_tokens": 3, "cache_creation_input_tokens": 900, **usage}
        late = [claude("user", "And?", at_s=200), claude("assistant", [said("Yes.")], at_s=200 + 1_500)]
        return run(written(tmp_path / "session.jsonl", [*records, *late]), budget=9_000)

    short, long = replayed(usage_of(**{"5m": 900})), replayed(usage_of(**{"1h": 900}))
    assert [prune.moment for prune in short.prunes] == ["pause"]
    assert long.prunes == ()


@pytest.mark.parametrize("tokens", [-1, 1 << 80, 1.5, "900", None, True])
def test_a_wrong_figure_tells_no_life(tmp_path: Path, tokens: Any):
    records = paused({"cache_creation_input_tokens": tokens, **usage_of(**{"1h": tokens})})
    assert run(written(tmp_path / "session.jsonl", records)).cost.cache_seconds == 300


# ------------------------------------------------------------------------------------------------ whatever was recorded

_BLOCKS = st.one_of(
    st.sampled_from([said("Words."), said(" "), {"type": "thinking", "thinking": "Hm."}]),
    st.builds(called, st.integers(0, 3)),
    st.builds(answered, st.integers(0, 3), st.sampled_from(["", "found", "much more was found"])),
)
_RECORDS = st.one_of(
    st.builds(claude, st.sampled_from(["user", "assistant"]), st.lists(_BLOCKS, max_size=3)),
    st.builds(claude, st.just("user"), st.just("So far."), isCompactSummary=st.just(True)),
    st.just(BOUNDARY),
)


@given(st.lists(_RECORDS, max_size=24))
def test_the_clients_windows_hold_what_followed_the_last_compaction_whatever_was_recorded(records: list[dict]):
    recording = transcripts.read(json.dumps(record) for record in [claude("user", "Hello."), *records])
    history = history_of(recording)
    texts = ReplayTexts(history, size)
    market = Market(Prices(READ, SHORT), 300, size)
    needs = Needs(tuple(history.numbered))
    native, everything = NativeSide(history, texts, {}, market, needs), Side(market, needs)
    for number in history.turns:
        sent = [text for message in history.messages[:number] for text in texts.of_message(message)]
        native.add(number, None)
        everything.add(number, sent, None)
        window = native.window
        put_in = [restart for restart in history.restarts if restart.messages <= number][-1:]
        kept = list(dict.fromkeys(entry.content for restart in put_in for entry in restart.put_in))
        assert [text for text, _ in window[: len(kept)]] == kept
        rest = window[len(kept) :]
        assert rest == sent[len(sent) - len(rest) :]
        assert put_in or rest == sent
    found = native.result
    assert (found is None) is not any(
        restart.messages <= number for restart in history.restarts for number in history.turns
    )
    if found is not None:
        assert found.tokens <= everything.tokens + len(history.turns) * size("So far.") * len(history.restarts)
        assert found.summaries >= 0
