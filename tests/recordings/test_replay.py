"""A replay sends what the client would have sent, counts it by hand's reckoning, and says what pruning did."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import problems
from tests.cli.builders import answered, called, claude, codex_session, listing, long_session, said, written
from tests.stores.builders import commit
from undrift import transcripts
from undrift.core.text.tokens import characters_per_4
from undrift.errors import StoreError
from undrift.recordings.files import open_recording
from undrift.recordings.replay import ReplayReport, replay, replay_folder
from undrift.recordings.replay.history import ATTACHED_AGAIN, SUMMARY, THINKING, TOO_EARLY, ReplayedHistory, history_of
from undrift.settings import Settings
from undrift.stores.sqlite import SqliteStore

EXACT = Settings(token_counter="characters/4")


def run(path: Path, *, settings: Settings = EXACT, **more: Any) -> ReplayReport:
    """Replay a file into a home beside it."""
    return replay(open_recording(path), path, home=path.parent / "home", settings=settings, **more)


def with_budget(tokens: int) -> Settings:
    return replace(EXACT, budget_tokens=tokens)


def history(tmp_path: Path, *records: dict) -> ReplayedHistory:
    return history_of(open_recording(written(tmp_path / "session.jsonl", records)))


def texts(found: ReplayedHistory) -> list[tuple[str, list[str]]]:
    """What a test wants to see of messages: role, and of each block what it says or which call it is of."""

    def shown(block: dict) -> str:
        return block.get("text") or block.get("name") or f"-> {block['content']}"

    return [(message["role"], [shown(block) for block in message["content"]]) for message in found.messages]


# ------------------------------------------------------------------------------------------- what is replayed


def test_the_history_is_what_a_provider_takes(tmp_path: Path):
    found = history(
        tmp_path,
        claude("assistant", [said("Before anyone asked.")]),
        claude("user", "Hello."),
        claude("assistant", [called(1), called(2), called(3, "Lost")]),
        claude("user", [said("By the way:"), answered(2, "two"), answered(1, "one"), answered(9, "of nothing")]),
        claude("assistant", [said("Done.")]),
    )
    assert texts(found) == [
        ("user", ["Hello."]),
        ("assistant", ["Read", "Read"]),
        ("user", ["-> one", "-> two", "By the way:"]),
        ("assistant", ["Done."]),
    ]
    assert problems(found.messages) == ()
    assert found.turns == (1, 3)
    assert dict(found.left_out) == {TOO_EARLY: 1}


def test_thinking_stays_out_and_is_counted(tmp_path: Path):
    thought = {"type": "thinking", "thinking": "Let me see.", "signature": "abc"}
    found = history(
        tmp_path,
        claude("user", "Hello."),
        claude("assistant", [thought, said("Hi.")]),
        claude("user", "And now?"),
        claude("assistant", [thought]),
        claude("user", "Well?"),
    )
    assert texts(found) == [("user", ["Hello."]), ("assistant", ["Hi."]), ("user", ["And now?", "Well?"])]
    assert found.left_out[THINKING] == 2


def test_the_clients_own_compaction_is_undone(tmp_path: Path):
    def attached(type_: str, **more: Any) -> dict:
        return {"type": "attachment", "isSidechain": False, "attachment": {"type": type_, **more}}

    found = history(
        tmp_path,
        claude("user", "Hello."),
        claude("assistant", [called(1)]),
        claude("user", [answered(1, "one")]),
        claude("assistant", [said("Halfway.")]),
        {"type": "system", "subtype": "compact_boundary", "isSidechain": False},
        claude("user", "We had got halfway.", isCompactSummary=True),
        attached("compact_file_reference", filename="src/part_1.py"),
        attached("queued_command", prompt="And be quick."),
        claude("assistant", [said("Going on.")]),
        attached("compact_file_reference", filename="src/part_2.py"),
        claude("user", "Good."),
    )
    assert texts(found)[3:] == [
        ("assistant", ["Halfway."]),
        ("user", ["And be quick."]),
        ("assistant", ["Going on."]),
        ("user", ["src/part_2.py", "Good."]),
    ]
    assert dict(found.left_out) == {SUMMARY: 1, ATTACHED_AGAIN: 1}


def test_a_file_that_opens_with_a_summary_keeps_it(tmp_path: Path):
    found = history(
        tmp_path, claude("user", "What was before.", isCompactSummary=True), claude("assistant", [said("Going on.")])
    )
    assert texts(found) == [("user", ["What was before."]), ("assistant", ["Going on."])]
    assert not found.left_out


def test_instructions_before_the_first_answer_are_the_system_prompt(tmp_path: Path):
    later = codex_session(1)[2]
    found = history(tmp_path, *codex_session(1), later)
    assert [entry.content for entry in found.system] == ["Be brief.", "Work in the sandbox."]
    assert texts(found)[0] == ("user", ["Find out where the value is computed."])
    assert texts(found)[-1] == ("user", ["Work in the sandbox."])  # said later, it must not change what went before
    assert [entry.content for entry in found.numbered][:2] == ["Be brief.", "Work in the sandbox."]


_BLOCKS = st.one_of(
    st.sampled_from([said("Words."), said(" "), {"type": "thinking", "thinking": "Hm."}, {"type": "image"}]),
    st.just({"type": "document", "source": {"type": "text", "data": " "}}),
    st.builds(called, st.integers(0, 3)),
    st.builds(answered, st.integers(0, 3), st.sampled_from(["", "found"])),
)
_RECORDS = st.one_of(
    st.builds(claude, st.sampled_from(["user", "assistant"]), st.lists(_BLOCKS, max_size=3)),
    st.builds(claude, st.just("user"), st.just("So far."), isCompactSummary=st.just(True)),
    st.just({"type": "system", "subtype": "compact_boundary", "isSidechain": False}),
)


@given(st.lists(_RECORDS, max_size=20))
def test_whatever_was_recorded_is_sent_in_a_form_that_the_provider_takes(records: list[dict]):
    recording = transcripts.read(json.dumps(record) for record in [claude("user", "Hello."), *records])
    found = history_of(recording)
    assert problems(found.messages[: found.turns[-1]] if found.turns else []) == ()
    assert [len(entries) for entries in found.entries] == [len(message["content"]) for message in found.messages]
    sent = [entry for entries in found.entries for entry in entries]
    assert len({entry.id for entry in sent}) == len(sent)  # nothing twice
    unpaired = [entry for entry in recording.entries if entry.metadata and entry.metadata.get("unpaired")]
    assert len(sent) + sum(found.left_out.values()) + len(unpaired) >= len(recording.entries)


# ------------------------------------------------------------------------------------------- what is counted


def test_tokens_and_cost_are_those_of_the_prompts_reckoned_by_hand(tmp_path: Path):
    listed = "a line of a listing\n" * 50
    path = written(
        tmp_path / "session.jsonl",
        [
            claude("user", "Look into it.", at_s=0),
            claude("assistant", [called(1, path="a.py")], at_s=10),
            claude("user", [answered(1, listed)], at_s=20),
            claude("assistant", [said("Found.")], at_s=30),
            claude("user", "Thanks.", at_s=40),
            claude("assistant", [said("Any time.")], at_s=40 + 600),  # after a pause nothing is cached
        ],
    )
    asked, call = characters_per_4("Look into it."), characters_per_4('{"path":"a.py"}')
    first = asked
    second = first + call + characters_per_4(listed)
    third = second + characters_per_4("Found.") + characters_per_4("Thanks.")
    report = run(path)
    assert (report.turns, report.tokens_before) == (3, first + second + third)
    assert (report.peak_before, report.peak_after) == (third, third)
    # claude-opus-4-6 reads at 0.1 and writes at 1.25
    assert report.cost.before == pytest.approx(1.25 * first + 0.1 * first + 1.25 * (second - first) + 1.25 * third)
    assert report.cost.usd(1_000_000) == 5.0
    assert (report.cost.model, report.cost.priced_as) == ("claude-opus-4-6", "claude-opus-4-6")


def test_cost_and_tokens_count_the_same_texts_in_tokens_of_the_model(tmp_path: Path):
    path = written(tmp_path / "session.jsonl", codex_session(8))
    # one price for all: then cost is tokens, whatever is cached
    models = tmp_path / "models.json"
    models.write_text(json.dumps([{"name": "gpt-5.5", "read_ratio": 1, "write_ratio": 1, "token_factor": 1.7}]))
    report = run(path, settings=Settings(models_file=str(models), budget_tokens=3_500))
    assert report.prunes
    assert report.cost.before == report.tokens_before
    assert report.cost.after == report.tokens_after


def test_within_the_budget_nothing_changes(tmp_path: Path):
    report = run(written(tmp_path / "session.jsonl", long_session(10)))
    assert report.tokens_after == report.tokens_before > 0
    assert report.cost.after == report.cost.before > 0
    assert (report.actions, report.left, report.prunes, report.cost.refetch) == ({}, (), (), 0)
    assert report.survival == report.survival_before
    assert (report.over_budget_turns, report.beyond_window_turns, report.warnings) == (0, 0, ())


def test_above_the_budget_what_left_is_told_and_can_be_recalled(tmp_path: Path):
    path = written(tmp_path / "session.jsonl", long_session(30))
    report = run(path, settings=replace(with_budget(6_000), policy="recency"))
    assert report.peak_before > 12_000
    assert report.peak_after <= report.budget_tokens == 6_000
    assert (report.budget_reason, report.over_budget_turns) == ("as set", 0)
    assert len(report.prunes) > 1
    assert report.prunes[0].turn > 6_000 // 500
    assert sum(prune.blocks for prune in report.prunes) == report.actions["pruned"] > 20
    (left,) = report.left
    assert (left.what, left.tool, left.blocks) == ("tool", "Read", report.actions["pruned"])
    assert left.tokens == sum(prune.tokens for prune in report.prunes)
    assert left.example.type == "tool_result"
    with SqliteStore.open(replay_folder(tmp_path / "home", path), create=False) as store:
        assert store.original(left.ref).entry.content == left.example.content
        refs = [decision.ref for decision in store.decisions(store.sessions()[0].session_id).values()]
        recalled = {store.original(ref).entry.content for ref in refs}
    assert {listing(number) for number in range(10)} <= recalled


def test_two_replays_tell_the_same(tmp_path: Path):
    path = written(tmp_path / "session.jsonl", long_session(30))
    first, second = (run(path, settings=with_budget(6_000)) for _ in range(2))
    assert replace(first, prepare_ms=(0, 0)) == replace(second, prepare_ms=(0, 0))


def test_what_was_needed_and_had_left_is_told(tmp_path: Path):
    path = written(tmp_path / "session.jsonl", long_session(30, last="It is value_0_1, computed by compute_part_0_1."))
    everything = run(path).survival
    assert (everything.identifiers, everything.share) == (2, 1.0)
    report = run(path, settings=with_budget(6_000))
    assert (report.survival.identifiers, report.survival.share) == (2, 0.0)
    assert report.survival_before == everything
    # one more turn over the cached window, and the one block that held both again
    window = report.tokens_after - run(written(path, long_session(30)[:-1]), settings=with_budget(6_000)).tokens_after
    assert report.cost.refetch == pytest.approx(0.1 * window + 1.25 * characters_per_4(listing(0)))


def test_where_pruning_costs_more_the_report_says_by_how_much(tmp_path: Path):
    path = written(tmp_path / "session.jsonl", long_session(14))  # over the budget only just, and then it is over
    report = run(path, settings=with_budget(6_500))
    assert len(report.prunes) == 1
    assert report.tokens_after < report.tokens_before
    assert report.cost.change > 0


def test_what_must_stay_may_exceed_the_budget_and_is_counted(tmp_path: Path):
    path = written(tmp_path / "session.jsonl", long_session(10))
    report = run(path, settings=with_budget(500))
    assert report.over_budget_turns > 5
    assert report.peak_after < report.peak_before
    assert sum("over budget" in warning for warning in report.warnings) == 1  # once, not once a turn


def test_prompts_beyond_the_models_window_are_counted(tmp_path: Path):
    models = tmp_path / "models.json"
    models.write_text(json.dumps([{"name": "claude-opus-4-6", "window_tokens": 8_000}]))
    path = written(tmp_path / "session.jsonl", long_session(30))
    report = run(path, settings=replace(EXACT, models_file=str(models)))
    assert (report.window_tokens, report.budget_tokens) == (8_000, 6_000)
    assert "75% of the window of 8,000 tokens of claude-opus-4-6" in report.budget_reason
    assert 0 < report.beyond_window_turns < 31


def test_the_reason_of_the_budget_names_the_limit_that_counts(tmp_path: Path):
    path = written(tmp_path / "session.jsonl", [claude("user", "Hello."), claude("assistant", [said("Hi.")], model="")])
    assert "that is assumed, as the model is not known" in run(path).budget_reason
    threshold = run(path, settings=replace(EXACT, prune_threshold_tokens=9_000))
    assert threshold.budget_tokens == 9_000
    assert threshold.budget_reason.startswith("the setting prune_threshold_tokens")


def test_a_question_without_an_answer_is_no_error(tmp_path: Path):
    report = run(written(tmp_path / "session.jsonl", [claude("user", "Hello?")]))
    assert (report.turns, report.tokens_before, report.cost.before, report.cost.change) == (0, 0, 0, 0)
    assert any("nothing to replay" in warning for warning in report.warnings)


def test_a_model_that_binds_its_thinking_is_named(tmp_path: Path):
    records = [claude("user", "Hello."), claude("assistant", [said("Hi.")], model="claude-opus-5-5")]
    report = run(written(tmp_path / "session.jsonl", records))
    assert any("claude-opus-5-5 binds its signed thinking" in warning for warning in report.warnings)


def test_progress_goes_from_none_to_all(tmp_path: Path):
    seen: list[tuple[int, int]] = []
    run(written(tmp_path / "session.jsonl", long_session(2)), progress=lambda done, total: seen.append((done, total)))
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]


# ------------------------------------------------------------------------------------------- what is on disk


def test_each_file_has_a_folder_that_is_made_anew(tmp_path: Path):
    path = written(tmp_path / "session.jsonl", long_session(30))
    first = run(path, settings=with_budget(6_000))
    folder = Path(first.home)
    assert (
        folder
        == replay_folder(tmp_path / "home", path)
        == replay_folder(tmp_path / "home", tmp_path / "x/../session.jsonl")
    )
    written(folder / "mine.txt", ["Not yours."])
    second = run(path, settings=with_budget(100_000))
    with SqliteStore.open(second.home, create=False) as store:
        assert store.sessions() == ()  # nothing is left of the first
    assert (folder / "mine.txt").read_text(encoding="utf-8") == "Not yours."
    assert run(written(tmp_path / "other.jsonl", long_session(1))).home != first.home


def test_the_homes_own_store_is_not_touched(tmp_path: Path):
    home = tmp_path / "home"
    with SqliteStore.open(home) as store:
        commit(store, "live", "note", at_ms=1)
    run(written(tmp_path / "session.jsonl", long_session(30)), settings=with_budget(6_000))
    with SqliteStore.open(home, create=False) as store:
        assert [row.session_id for row in store.sessions()] == ["live"]


@pytest.mark.parametrize("planted", ["replays", "folder", "undrift.db", "undrift.db-wal"])
def test_no_link_is_followed(tmp_path: Path, planted: str):
    path = written(tmp_path / "session.jsonl", long_session(1))
    folder = replay_folder(tmp_path / "home", path)
    target = tmp_path / "target"
    treasure = written(target / "undrift.db", ["precious"])
    place = {"replays": folder.parent, "folder": folder}.get(planted, folder / planted)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target if planted in ("replays", "folder") else treasure)
    with pytest.raises(StoreError, match=r"link.*remove it, or choose another --home"):
        run(path)
    assert treasure.read_text(encoding="utf-8") == "precious"
    assert place.is_symlink()


def test_a_replay_that_is_stopped_leaves_nothing(tmp_path: Path):
    def stop(done: int, _: int) -> None:
        if done == 20:
            raise KeyboardInterrupt

    path = written(tmp_path / "session.jsonl", long_session(30))
    with pytest.raises(KeyboardInterrupt):
        run(path, settings=with_budget(6_000), progress=stop)
    assert not replay_folder(tmp_path / "home", path).exists()


def test_a_home_that_cannot_be_made_is_one_sentence(tmp_path: Path):
    written(tmp_path / "home", ["a file in the folder's place"])
    with pytest.raises(StoreError, match="a file stands where a folder is needed"):
        run(written(tmp_path / "session.jsonl", long_session(1)))


# ------------------------------------------------------------------------------------------- real sessions


def test_a_real_session_is_replayed_within_its_budget(recorded_files: tuple[Path, ...]):
    found = (path for path in recorded_files if path.parent.name in ("claude-code", "codex"))
    path = next(path for path in found if 100_000 < path.stat().st_size < 400_000)
    everything = run(path)
    report = run(path, settings=with_budget(everything.peak_before // 2))
    assert everything.turns > 5
    assert everything.survival_before.share == 1.0
    assert report.prunes
    assert report.tokens_after < report.tokens_before == everything.tokens_before
    assert not report.over_budget_turns or any("over budget" in warning for warning in report.warnings)


def test_a_prune_after_a_pause_and_one_that_leaves_the_beginning_alone_say_what_they_saved(tmp_path: Path):
    records = long_session(100)
    for record in records[60:]:  # the agent's user has had a coffee when the window was nearly full for the second time
        stamp = record["timestamp"]
        record["timestamp"] = stamp.replace("T10:", "T11:")
    cheapest = replace(with_budget(12_000), prune_when="cheapest")
    report = run(written(tmp_path / "session.jsonl", records), settings=cheapest)
    pauses = [prune for prune in report.prunes if prune.moment == "pause"]
    partial = [prune for prune in report.prunes if prune.moment == "budget" and prune.saved]
    assert len(pauses) == 1
    assert pauses[0].turn == 31
    assert pauses[0].saved == pytest.approx(1.25 * pauses[0].tokens, rel=0.05)
    assert partial
    for prune in partial:  # what was read from the cache instead of written, at 0.1 and 1.25
        assert 0.4 * 12_000 * 1.15 < prune.saved < 12_000 * 1.15
    assert all(9_000 <= prune.target_tokens <= 10_800 for prune in report.prunes)
    plain = run(tmp_path / "session.jsonl", settings=replace(with_budget(12_000), prune_when="over_budget"))
    assert {prune.moment for prune in plain.prunes} == {"budget"}
    assert not any(prune.saved for prune in plain.prunes)
