"""Seed 003, requirement by requirement: a finished task's logs give way to its summary, and come back."""

import dataclasses
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import undrift
from tests.builders import Json, assistant, body, call, opened, parts, result, sent, text, thinking, user
from tests.cli.builders import undrift as program
from tests.task_sessions import SUMMARY, TaskSession, log_text
from undrift import AGENT_RULES, TASK_TOOL_SCHEMA, Session, Settings, StreamStripper, SummaryRejected, ValidationService
from undrift.core.tasks.life import MAIN_AGENT
from undrift.core.window.ended_tasks import Ended
from undrift.values.prepared import Prepared
from undrift.values.window import ContextEntry, Task
from undrift.wire.form import ProviderReply

ROOT = Path(__file__).parents[2]
SUCCESS = "\n\n\u2705 [Sigma Validation] All criteria met (Score: 1.00)"
FAILURE = "\n\n\u26a0\ufe0f [Sigma Validation] Missing criteria: "


def prepared(session: TaskSession) -> Prepared:
    return session.session.prepare(body(*session.history))


def texts(found: Prepared, role: str, type_: str) -> list[str]:
    """What the blocks of one type say in the messages of a role that are sent."""
    field = "content" if type_ == "tool_result" else "text"
    blocks = [part for message in sent(found) if message["role"] == role for part in parts(message)]
    return [part[field] for part in blocks if part["type"] == type_]


def answer(*calls: tuple[str, Json], said: str = "") -> Json:
    """What a provider answers: words and calls."""
    made = [{"type": "tool_use", "id": f"t{n}", "name": name, "input": given} for n, (name, given) in enumerate(calls)]
    return {"type": "message", "role": "assistant", "content": [*([text(said)] if said else []), *made]}


def test_r3_01_the_notes_stand_in_the_folder_of_the_seed_and_outlive_every_task(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    session = TaskSession(Path(".sigma"), "run-1")
    notes = Path(".sigma/archives/run-1/active_context.md")
    assert not notes.exists()
    assert session.session.scratchpad.path == notes
    assert notes.read_text() == ""  # there as soon as its path is told, so that an agent's own tools can edit it
    notes.write_text("## Login\nThe token is compared in auth.py line 12.\n## Old\nNobody needs this.\n")
    session.does("read")
    assert "auth.py line 12" in session.session.scratchpad.read()
    assert any("auth.py line 12" in one for one in texts(prepared(session), "user", "text"))
    session.session.scratchpad.drop("Old")  # groomed once a sub-project is done
    assert notes.read_text() == "## Login\nThe token is compared in auth.py line 12.\n"


@pytest.mark.parametrize("budget_tokens", [14_000, 50_000])
def test_r3_02_tasks_hold_a_window_of_14k_to_50k_without_the_budget_taking_anything(tmp_path, budget_tokens):
    session = TaskSession(tmp_path, budget_tokens=budget_tokens)
    kinds: set[str] = set()
    found = prepared(session)
    for number in range(20):
        session.starts(f"task-{number}", "all tests pass")
        session.works(10 * number, 3, log_text(number).ljust(10_000, "x"))
        session.completes(f"task-{number}")
        found = prepared(session)
        kinds |= {action.kind for action in found.actions}
        assert found.tokens_after <= budget_tokens
    assert found.tokens_before > 150_000
    assert "evicted" in kinds
    assert not any("older than the newest that fit" in action.reason for action in found.actions)


def test_r3_03_only_the_step_from_in_progress_to_completed_evicts(tmp_path):
    session = TaskSession(tmp_path)
    session.starts("read", "all tests pass")
    session.works(0, 3)
    assert session.prepare() == []
    session.session.update_task("read", status="pending")
    assert session.prepare() == []
    session.session.update_task("other", content="x")
    session.session.complete_task("other", SUMMARY)  # it was never in progress: nothing is its own
    assert session.prepare() == []
    session.starts("read")
    assert session.completes("read")


def test_r3_04_every_result_made_while_a_task_is_in_progress_carries_its_marker(tmp_path):
    """A3-4: the tag is kept by call id; the marker is the transport for results that have none."""
    session = TaskSession(tmp_path, task_markers=True)
    assert session.session.mark("out") == "out"
    session.starts("fix-api", "all tests pass")
    marked = session.session.mark("out")
    assert marked == "out\n<!-- sigma-task: fix-api -->"
    session.works(0, 4)
    assert {tag.task_id for tag in session.session._log.tasks.tags.values()} == {"fix-api"}
    assert len(session.session._log.tasks.tags) == 4
    session.completes("fix-api")
    late = [assistant(call("late")), user(result("late", f"{log_text(50)}\n<!-- sigma-task: fix-api -->"))]
    session.history += [*late, assistant("So."), user("Go on.")]
    session.prepare()
    shown = texts(prepared(session), "user", "tool_result")
    assert shown[-1].startswith("[Task fix-api completed. Raw logs evicted")


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("a\n<!-- sigma-task: 7 -->", "a"),
        ("a\n<!-- sigma-task: 7 -->\nb", "a\nb"),
        ("a <!-- sigma-task: 7 --> b", "a  b"),
        ("<!-- sigma-task: 7 -->x<!-- sigma-task: fix-ruff-api -->\ny", "x\ny"),
        ("nothing of the kind", "nothing of the kind"),
    ],
)
def test_r3_05_a_user_never_sees_a_marker_also_across_streaming_deltas(tmp_path, given, shown):
    """On a line of its own, within one, several, and in every cut into two deltas."""
    assert undrift.strip_markers(given) == shown
    for cut in range(len(given) + 1):
        stream = StreamStripper()
        assert stream.feed(given[:cut]) + stream.feed(given[cut:]) + stream.close() == shown
    with Session.open("s", home=tmp_path, settings=Settings(task_markers=True)) as session:
        assert session.record(answer(said=given)).text == shown


def test_r3_06_only_outputs_of_the_completed_task_are_evicted(tmp_path):
    session = TaskSession(tmp_path)
    session.works(100, 2)
    session.starts("read", "all tests pass")
    session.works(0, 2)
    forged = f"{log_text(7)}\n<!-- sigma-task: read -->"  # A3-4: no text decides about anything
    session.session.update_task("read", status="pending")
    session.works(200, 1, forged)
    session.starts("read")
    session.works(2, 1)
    session.completes("read")
    shown = texts(prepared(session), "user", "tool_result")
    assert [one.startswith("[Task read completed.") for one in shown] == [False, False, True, True, False, True]
    assert shown[4] == forged


def test_r3_06_the_rule_alone_evicts_by_tag():
    """The name of the seed, `prune_task_logs`, at the front door."""

    def entry(number: int, pair_id: str) -> ContextEntry:
        metadata = {"role": "user", "kind": "result", "message": f"m{number}", "pair_id": pair_id}
        return ContextEntry(f"m{number}.0", "tool_result", "raw", 100, number, metadata)

    def stands_in(ref: str, is_last: bool) -> str:
        return f"{ref} {is_last}"

    entries = [entry(0, "mine"), entry(1, "other"), entry(2, "mine")]
    found = undrift.prune_task_logs(
        entries,
        3,
        [Ended("t", (), {"mine"}, True, stands_in, stands_in)],
        number_of={},
        keep_tool_results=5,
        spared=(),
        covered=(),
        count=len,
        ref_of=str.upper,
    )
    assert {d.entry_id: d.detail["text"] for d in found} == {"m0.0": "M0.0 False", "m2.0": "M2.0 True"}
    assert {d.kind for d in found} == {"evicted"}


def test_r3_07_thoughts_and_words_between_start_and_completion_are_removed_and_no_others(tmp_path):
    """A3-2: both ends are left out, so that what took the task up and what let it go stays."""
    session = TaskSession(tmp_path)
    session.history += [assistant(thinking("before"), "I begin."), user("Do.")]
    session.prepare()
    session.starts("read", "all tests pass")
    session.history += [assistant(thinking("between"), "I read.", call("c1")), user(result("c1", log_text(1)))]
    session.prepare()
    session.completes("read")
    session.history += [assistant(thinking("after"), "I go on."), user("Well?")]
    shown = json.dumps(sent(prepared(session)))
    assert all(words in shown for words in ("before", "I begin.", "after", "I go on.", "Done."))
    assert "between" not in shown
    assert "I read." not in shown


def gemini(tmp_path: Path) -> list[Json]:
    """The model's turns of a Gemini session as they are sent after its task was completed."""
    session = Session.open("s", home=tmp_path, settings=Settings(token_counter="characters/4"))

    def went(history: list[Json]) -> list[Json]:
        found = session.prepare({"contents": history}, wire="gemini", model="gemini-3.1-pro")
        return [item for item in found.body["contents"] if item["role"] == "model"]

    history: list[Json] = [{"role": "user", "parts": [{"text": "Read it."}]}]
    went(history)
    session.start_task("read", acceptance_criteria=("all tests pass",))
    made = {"functionCall": {"name": "Read", "args": {}}, "thoughtSignature": "c2lnLWNhbGw="}
    thoughts = [
        {"text": "I wonder.", "thought": True},
        {"text": "I think.", "thought": True, "thoughtSignature": "c2lnLWZpcnN0"},
        {"text": "I look.", "thoughtSignature": "c2lnLXNlY29uZA=="},
    ]
    history.append({"role": "model", "parts": [*thoughts, made]})
    history.append(
        {"role": "user", "parts": [{"functionResponse": {"name": "Read", "response": {"output": log_text(1)}}}]}
    )
    went(history)
    session.complete_task("read", SUMMARY)
    history += [{"role": "model", "parts": [{"text": "Done."}]}, {"role": "user", "parts": [{"text": "Next."}]}]
    return went(history)


def test_r3_08_the_first_signature_of_a_turn_is_collected_before_it_is_tombstoned(tmp_path):
    tombstone = gemini(tmp_path)[0]["parts"][0]
    assert tombstone["thoughtSignature"] == "c2lnLWZpcnN0"


def test_r3_09_one_thought_tombstone_stands_for_all_words_of_a_turn(tmp_path):
    turn, last = gemini(tmp_path)
    tombstone, *rest = turn["parts"]
    assert tombstone["thought"] is True
    assert tombstone["text"].startswith("[Assistant thinking/text for task read evicted to save tokens. \nSUMMARY: ")
    assert [next(iter(part)) for part in rest] == ["functionCall"]
    assert last["parts"] == [{"text": "Done."}]


def test_r3_10_calls_stay_as_they_were_with_their_own_signatures(tmp_path):
    made = gemini(tmp_path / "gemini")[0]["parts"][-1]
    assert made == {"functionCall": {"name": "Read", "args": {}}, "thoughtSignature": "c2lnLWNhbGw="}
    session = TaskSession(tmp_path / "anthropic")
    session.does("read")
    before = [part for m in session.history for part in parts(m) if part["type"] == "tool_use"]
    after = [part for m in sent(prepared(session)) for part in parts(m) if part["type"] == "tool_use"]
    assert after == before != []


def test_r3_11_the_tombstone_of_an_output_is_that_of_the_seed_letter_for_letter(tmp_path):
    """A3-7: only the last one has the summary, the others the short form; A3-6: one line more says how to get it back."""
    session = TaskSession(tmp_path)
    session.does("fix-ruff-api")
    first, *_, last = texts(prepared(session), "user", "tool_result")
    said, line = last.rsplit("\n", 1)
    assert said == f"[Task fix-ruff-api completed. Raw logs evicted to archive. \nSUMMARY: {SUMMARY}{SUCCESS}]"
    assert first.startswith("[Task fix-ruff-api completed. Raw logs evicted to archive.]\nOriginal: undrift recall ")
    assert session.session.recall(line.removeprefix("Original: undrift recall ")) == log_text(2)


def test_r3_12_the_tombstone_of_words_is_that_of_the_seed_letter_for_letter(tmp_path):
    session = TaskSession(tmp_path)
    session.does("fix-ruff-api")
    words = [one for one in texts(prepared(session), "assistant", "text") if one != "Done."]
    opening = "[Assistant thinking/text for task fix-ruff-api evicted to save tokens."
    assert words[-1].rsplit("\n", 1)[0] == f"{opening} \nSUMMARY: {SUMMARY}{SUCCESS}]"
    assert all(one.startswith(f"{opening}]\nOriginal: undrift recall ") for one in words[:-1])


def test_r3_13_the_summary_comes_from_the_stored_task_and_not_from_a_call(tmp_path):
    """A3-8: it is the annotated one, also after a restart; another summary in a later call changes nothing."""
    session = TaskSession(tmp_path)
    session.does("read")
    (stored,) = session.session.tasks()
    window = prepared(session).body
    reply = answer(("task_update", {"id": "read", "status": "completed", "result_summary": "Something else was done."}))
    assert session.session.record(reply).task_results[0].is_error
    session.close()
    again = opened(tmp_path).prepare(body(*session.history))
    assert again.body == window
    assert stored.annotated_summary == SUMMARY + SUCCESS
    assert f"SUMMARY: {stored.annotated_summary}]" in texts(again, "user", "tool_result")[-1]


@pytest.mark.parametrize(
    ("fields", "is_valid", "missing"),
    [
        ({"acceptance_criteria": ("all tests pass",)}, True, ()),
        ({"acceptance_criteria": ("all tests pass", "the changelog is updated")}, False, ("the changelog is updated",)),
        ({"grounding": {"evidence_required": True}}, False, ("grounding evidence",)),
        ({"grounding": {"evidence_required": True}, "grounding_evidence": {"queries_executed": ["q"]}}, True, ()),
        ({"grounding": {"strategy": "pgc_cite"}, "grounding_evidence": {"queries_executed": ["q"]}}, False, ("grounding evidence",)),
        ({}, False, ()),
    ],
)  # fmt: skip
def test_r3_14_a_completion_is_measured_against_criteria_or_grounding(tmp_path, fields, is_valid, missing):
    """AX-1: nothing to measure is not valid."""
    with opened(tmp_path) as session:
        session.update_task("read", content="Read", status="in_progress", **fields)
        verdict = session.complete_task("read", SUMMARY).validation
    assert verdict is not None
    assert (verdict["is_valid"], tuple(verdict["missing_criteria"])) == (is_valid, missing)
    found = ValidationService().validate(Task("read", **fields), SUMMARY)
    assert (found.is_valid, found.missing_criteria) == (is_valid, missing)


def test_r3_15_the_verdict_is_appended_before_the_tombstone_is_made(tmp_path):
    """A3-10: between 0.7 and 1 the failure line has the score behind it."""
    session = TaskSession(tmp_path)
    session.starts("part", "all tests pass", "the changelog is updated", "the number 7 stands in each")
    session.works(0, 6)
    session.completes("part")
    missing = f"{SUMMARY}{FAILURE}the changelog is updated"
    assert session.session.tasks()[0].annotated_summary == missing
    assert any(f"SUMMARY: {missing}]" in one for one in texts(prepared(session), "assistant", "text"))
    most = Task("t", acceptance_criteria=("all tests pass", "the number 7", "every file", "was read", "a changelog"))
    assert ValidationService().validate(most, SUMMARY).annotation == f"{FAILURE}a changelog (Score: 0.80)"
    assert (
        ValidationService().validate(Task("t", acceptance_criteria=("all tests pass",)), SUMMARY).annotation == SUCCESS
    )


def test_r3_16_the_model_is_told_of_15_characters_and_14_are_rejected(tmp_path):
    """A3-11: counted on the trimmed text without the annotation."""
    assert "at least\n   15 characters" in AGENT_RULES
    assert "at least 15 characters" in TASK_TOOL_SCHEMA["properties"]["result_summary"]["description"]
    with opened(tmp_path) as session:
        session.start_task("a")
        for short in ("", "x" * 14, "  " + "x" * 14 + " \n", "x" * 14 + SUCCESS):
            with pytest.raises(SummaryRejected, match=r"14|0 characters"):
                session.complete_task("a", short)
            assert session.tasks()[0].status == "in_progress"
        assert session.complete_task("a", "x" * 15).status == "completed"


@pytest.mark.parametrize("value", ["true", "false", None])
def test_r3_17_the_log_is_written_where_the_seed_says_if_debug_archive_is_true(tmp_path, monkeypatch, value):
    """A3-5: the store has the originals in any case."""
    monkeypatch.chdir(tmp_path)
    given = Settings.from_environment({} if value is None else {"DEBUG_ARCHIVE": value}, home=".sigma")
    session = TaskSession(Path(given.home), "run-1", debug_archive=given.debug_archive)
    refs = session.does("fix-api")
    log = Path(".sigma/archives/run-1/fix-api.log")
    assert log.exists() == (value == "true")
    assert log_text(1) in {session.session.recall(ref) for ref in refs}
    session.close()
    asked = program("archive", "fix-api", "--home", ".sigma")
    assert asked.exit_code == 0, asked.output
    assert log_text(1) in log.read_text()


def test_r3_18_the_tombstone_names_the_file_to_grep_and_grep_finds_it_there(tmp_path, monkeypatch):
    """A3-5, A3-6: only of an output, and only where that file is written."""
    monkeypatch.chdir(tmp_path)
    session = TaskSession(Path(".sigma"), "run-1", debug_archive=True)
    session.does("fix-api")
    found = prepared(session)
    tombstones = texts(found, "user", "tool_result")
    hints = {re.findall(r"Use 'grep' on (\S+) if previous logs are needed\.", one)[0] for one in tombstones}
    assert hints == {".sigma/archives/run-1/fix-api.log"}
    grep = subprocess.run(["grep", "-c", "file 1 holds the number 7", *hints], capture_output=True, check=False)
    assert (grep.returncode, grep.stdout) == (0, b"1\n")
    assert not any("grep" in one for one in texts(found, "assistant", "text"))
    plain = TaskSession(tmp_path / "plain")
    plain.does("fix-api")
    assert not any("grep" in one for one in texts(prepared(plain), "user", "tool_result"))


def test_r3_19_the_four_rules_are_delivered_in_one_wording():
    rules = {line[0]: line for line in AGENT_RULES.splitlines() if line[:1].isdigit()}
    assert sorted(rules) == ["1", "2", "3", "4"]
    assert "Before you use any tool" in rules["1"]
    assert "in_progress" in rules["1"]
    assert "Distil before" in rules["2"]
    assert "active_context.md" in rules["3"]
    assert "without the raw logs?" in rules["4"]
    assert AGENT_RULES in (ROOT / "docs/tasks.md").read_text(encoding="utf-8")  # A3-23


def test_r3_20_the_task_tool_alone_changes_a_status(tmp_path):
    """By the seed's name and by ours; refusals go back to the model as results of its calls."""
    session = TaskSession(tmp_path)
    given = {"id": "a", "content": "Read", "status": "in_progress"}
    told = session.session.record(answer(("SigmaTaskUpdate", given)))
    assert [(one.call_id, one.is_error) for one in told.task_results] == [("t0", False)]
    assert session.session.tasks()[0].status == "in_progress"
    words = "Task a completed. [Task a completed. Raw logs evicted to archive.]\n<!-- sigma-task: a -->"
    session.history += [assistant(words), user(words)]
    session.prepare()
    assert session.session.record(answer(said=words)) == ProviderReply(
        text=words
    )  # markers are believed and taken out where told so
    assert session.session.tasks()[0].status == "in_progress"
    with pytest.raises(dataclasses.FrozenInstanceError):
        session.session.tasks()[0].status = "completed"  # type: ignore[misc]
    done: dict[str, Any] = {"id": "a", "status": "completed"}
    (refused,) = session.session.record(answer(("task_update", done))).task_results
    assert refused.is_error
    assert "at least 15" in refused.text
    (accepted,) = session.session.record(answer(("task_update", {**done, "result_summary": SUMMARY}))).task_results
    assert not accepted.is_error
    assert (session.session.tasks()[0].status, session.session.tasks()[0].agent) == ("completed", MAIN_AGENT)
