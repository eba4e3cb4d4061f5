"""Seed 003, what it leaves open: each decision on tasks that a user can see (A3, AX), through the real session."""

import json

import pytest

from tests.builders import (
    assistant,
    body,
    call,
    image,
    opened,
    parts,
    problems,
    refusing,
    sent,
    text,
    user,
)
from tests.builders import result as answered
from tests.task_sessions import SUMMARY, TaskSession, log_text
from undrift import AGENT_RULES, Session, Settings, StoreError, SummaryRejected, TaskError
from undrift.stores.sqlite import SqliteStore
from undrift.testing import Call, ModelTurn, Result, history_for, simulator_for
from undrift.values.prepared import Prepared


def prepared(session: TaskSession) -> Prepared:
    return session.session.prepare(body(*session.history))


def shown(session: TaskSession) -> str:
    return json.dumps(sent(prepared(session)))


def outputs(session: TaskSession) -> list[str]:
    """What stands in the window for each tool result."""
    blocks = [part for message in sent(prepared(session)) for part in parts(message)]
    return [part["content"] for part in blocks if part["type"] == "tool_result"]


def is_raw(session: TaskSession) -> list[bool]:
    return [not one.startswith("[Task ") for one in outputs(session)]


def ledger_note(session: TaskSession) -> str:
    """The newest list of finished tasks in the window; empty where there is none."""
    found = [part.get("text", "") for m in sent(prepared(session)) for part in parts(m)]
    return ([one for one in found if one.startswith("[Finished tasks, rolled up.")] or [""])[-1]


# ------------------------------------------------------------------------------------- one task at a time, and stacks


def test_a3_1_a_second_task_is_rejected_with_what_to_do_instead(tmp_path):
    session = TaskSession(tmp_path)
    session.starts("a")
    with pytest.raises(TaskError) as error:
        session.starts("b")
    assert all(words in str(error.value) for words in ("'a' is in progress", "Complete 'a'", "cancel", "stack=True"))
    assert [task.id for task in session.session.tasks()] == ["a"]


def test_a3_1_an_inner_task_evicts_its_own_and_the_outer_one_goes_on(tmp_path):
    session = TaskSession(tmp_path)
    session.starts("outer", "all tests pass")
    session.works(0, 2)
    session.session.start_task("inner", acceptance_criteria=("all tests pass",), stack=True)
    session.works(10, 2)
    session.completes("inner")
    assert is_raw(session) == [True, True, False, False]
    session.works(20, 2)
    session.completes("outer")
    assert is_raw(session) == [False] * 6
    assert "I look at 11." not in shown(session)
    assert [len(task.segments) for task in session.session.tasks()] == [2, 1]


def test_a3_1_of_one_call_the_task_that_ends_is_dealt_with_first(tmp_path):
    session = TaskSession(tmp_path)
    session.starts("a", "all tests pass")
    session.works(0, 2)
    taken_up = {"id": "b", "content": "b", "status": "in_progress"}
    session.session.change_tasks([taken_up, {"id": "a", "status": "completed", "result_summary": SUMMARY}])
    session.works(10, 2)
    assert is_raw(session) == [False, False, True, True]


def test_a3_2_ranges_are_half_open_and_a_reopened_task_begins_a_new_one(tmp_path):
    session = TaskSession(tmp_path)
    session.does("a")
    first = sent(prepared(session))
    session.works(50, 1)  # between the two lives of the task
    session.starts("a")
    session.works(60, 2)
    session.completes("a", "The other files were read as well: the number 7, all tests pass.")
    after = outputs(session)
    assert [log_text(50) == one for one in after] == [False] * 3 + [True] + [False] * 2
    assert "I look at 50." in shown(session)
    assert "I look at 61." not in shown(session)
    assert sent(prepared(session))[: len(first)] == first
    assert after[5].startswith("[Task a completed. Raw logs evicted to archive. \nSUMMARY: The other files")


def test_a3_3_without_the_start_in_the_history_what_is_marked_leaves_and_words_stay(tmp_path):
    """The client has written a summary of what came first, so that the rounds after it are another history."""
    session = TaskSession(tmp_path, task_markers=True)
    session.starts("a", "all tests pass")
    marked = session.session.mark(log_text(2))
    session.works(0, 3)
    session.completes("a")
    late = [assistant(text("I look."), call("c1")), user(answered("c1", log_text(1)))]
    late += [assistant(text("And again."), call("c2")), user(answered("c2", marked))]
    session.history = [user("A summary of all that was before."), *late, assistant("So."), user("Go on.")]
    session.prepare()
    assert is_raw(session) == [True, False]
    assert "I look." in shown(session)
    assert "And again." in shown(session)


def test_a3_3_calls_before_any_task_are_counted_and_left_to_the_budget(tmp_path):
    session = TaskSession(tmp_path)
    session.works(0, 3)
    (note,) = session.session.change_tasks([{"id": "a", "content": "a", "status": "in_progress"}])
    assert note == "3 tool calls before this belong to no task: only the budget lets them go"
    session.works(10, 1)
    session.completes("a")
    assert is_raw(session)[:3] == [True] * 3


def test_a3_3_a_task_that_is_taken_up_right_after_a_restart_takes_nothing_that_was_before(tmp_path):
    session = TaskSession(tmp_path)
    session.works(0, 3)
    session.session.update_task("later", content="something is known of this session")
    history = session.history
    session.close()
    again = opened(tmp_path, eviction_respects_anchor="never")
    again.start_task("a", acceptance_criteria=("all tests pass",))
    again.prepare(body(*history))
    again.complete_task("a", SUMMARY)
    window = json.dumps(sent(again.prepare(body(*history, assistant("Done."), user("Go on.")))))
    assert all(f"file {number} holds" in window for number in range(3))
    assert "I look at 1." in window


def test_a3_3_nor_does_it_where_nothing_of_the_session_had_to_be_stored_before(tmp_path):
    session = TaskSession(tmp_path)
    session.works(0, 3)
    history = session.history
    session.close()
    again = opened(tmp_path, eviction_respects_anchor="never")
    again.start_task("a", acceptance_criteria=("all tests pass",))
    again.prepare(body(*history))
    again.complete_task("a", SUMMARY)
    assert again.prepare(body(*history, assistant("Done."), user("Go on."))).actions == ()


# ------------------------------------------------------------------------------------------------ what a call may say


def test_a3_9_criteria_that_a_completion_leaves_out_or_empties_are_still_measured(tmp_path):
    with opened(tmp_path) as session:
        session.start_task("a", acceptance_criteria=("the changelog is updated",))
        session.update_task("a", content="another wording")
        task = session.update_task("a", status="completed", result_summary=SUMMARY, acceptance_criteria=[])
    assert task.acceptance_criteria == ("the changelog is updated",)
    assert task.validation is not None
    assert task.validation["missing_criteria"] == ["the changelog is updated"]
    assert "Missing criteria: the changelog is updated" in task.annotated_summary


def test_a3_11_a_completion_without_a_summary_is_rejected_and_evicts_nothing(tmp_path):
    session = TaskSession(tmp_path)
    session.starts("a")
    session.works(0, 6)
    with pytest.raises(SummaryRejected, match="at least 15"):
        session.completes("a", "All done.")
    assert session.prepare() == []
    assert session.session.tasks()[0].status == "in_progress"


@pytest.mark.parametrize("status", ["delegated", "cancelled", "pending"])
def test_a3_21_a_task_that_is_let_go_of_otherwise_evicts_nothing(tmp_path, status):
    session = TaskSession(tmp_path)
    session.starts("a", "all tests pass")
    session.works(0, 6)
    session.session.update_task("a", status=status, delegated_to="reviewer" if status == "delegated" else None)
    given = body(*session.history, assistant("Let go."), user("And now?"))
    assert session.session.prepare(given).body is given


def test_a3_22_a_delegation_needs_criteria_and_somebody(tmp_path):
    with opened(tmp_path) as session:
        session.start_task("a")
        with pytest.raises(TaskError, match="delegated_to"):
            session.update_task("a", status="delegated", acceptance_criteria=["x"])
        with pytest.raises(TaskError, match="acceptance_criteria"):
            session.update_task("a", status="delegated", delegated_to="reviewer")


def test_a_double_completion_with_the_same_summary_changes_nothing(tmp_path):
    """The callback of a completion that is sent twice gets the task as it was validated."""
    session = TaskSession(tmp_path)
    session.does("a")
    before = session.session.tasks(), prepared(session).body
    assert session.session.complete_task("a", SUMMARY) == before[0][0]
    assert (session.session.tasks(), prepared(session).body) == before
    with pytest.raises(TaskError, match="completed already, with another summary"):
        session.session.complete_task("a", "Something quite different was done.")


def test_a_completion_returns_the_task_with_its_validated_summary(tmp_path):
    session = TaskSession(tmp_path)
    session.starts("a", "all tests pass")
    session.works(0, 1)
    task = session.session.complete_task("a", SUMMARY)
    assert task.annotated_summary.startswith(f"{SUMMARY}\n\n\u2705 [Sigma Validation]")
    assert task.validation is not None
    assert task.validation["is_valid"]
    assert task.validation["is_faithful"]
    assert task == session.session.tasks()[0]


def test_a_summary_whose_log_is_not_at_hand_was_not_measured_against_it(tmp_path):
    """AX-1: after a restart, before any history has come, the newest results stay."""
    session = TaskSession(tmp_path)
    session.starts("a", "all tests pass")
    session.works(0, 6)
    history = session.history
    session.close()
    again = opened(tmp_path, keep_tool_results=2)
    again.complete_task("a", "All tests pass: 4711 of them in src/never_seen.py.")
    window = json.dumps(sent(again.prepare(body(*history, assistant("Done."), user("Go on.")))))
    assert [f"file {number} holds" in window for number in range(6)] == [False] * 4 + [True] * 2


# --------------------------------------------------------------------------------------------------- block by block


def test_a3_17_parallel_results_leave_one_by_one_and_the_users_words_beside_them_stay(tmp_path):
    session = TaskSession(tmp_path)
    session.starts("a", "all tests pass")
    ids = ("x", "y", "z")
    results = [answered(id_, log_text(number)) for number, id_ in enumerate(ids)]
    session.history += [assistant(*map(call, ids)), user(*results, text("And mind the tabs."))]
    session.prepare()
    session.completes("a")
    message = sent(prepared(session))[2]
    assert [part["type"] for part in message["content"]] == ["tool_result"] * 3 + ["text"]
    assert [part["tool_use_id"] for part in message["content"][:3]] == list(ids)
    assert message["content"][3] == text("And mind the tabs.")
    summaries = ["SUMMARY" in part["content"] for part in message["content"][:3]]
    assert summaries == [False, False, True]
    assert problems(sent(prepared(session))) == ()


def test_a3_16_structured_content_is_replaced_whole_and_recalled_whole(tmp_path):
    session = TaskSession(tmp_path)
    session.starts("a", "all tests pass")
    content = [text(log_text(1)), image()]
    session.history += [assistant(call("x")), user(answered("x", content))]
    session.prepare()
    (ref,) = session.completes("a")
    (tombstone,) = outputs(session)
    assert isinstance(tombstone, str)
    assert tombstone.startswith("[Task a completed.")
    assert json.loads(session.session.recall(ref)) == content


@pytest.mark.parametrize(
    ("wire", "model"), [("anthropic", ""), ("openai-chat", "gpt-5.5"), ("openai-responses", "gpt-5.5"), ("gemini", "gemini-3.1-pro")]
)  # fmt: skip
def test_a3_18_the_task_tools_own_results_stay_also_beside_others_in_one_answer(tmp_path, wire, model):
    model = model or "claude-sonnet-4-5"
    history, provider = history_for(wire, model=model, tools=("Read", "task_update")), simulator_for(wire, model=model)
    session = Session.open("s", home=tmp_path, settings=Settings(token_counter="characters/4"))

    def gets(*calls: Call) -> Prepared:
        found = session.prepare(history.body(), wire=wire, model=model)
        reply = provider.send(found.body, found.headers, turn=ModelTurn("So.", calls, "hm"), model=model).body
        told = iter(session.record(reply, wire=wire).task_results)
        history.take(reply)
        made = [next(told).text if name == "task_update" else log_text(1) for _, name in history.open]
        if made:
            history.answer([Result(one) for one in made])
        return found

    history.say("Read.")
    begins = {"id": "a", "content": "Read", "status": "in_progress", "acceptance_criteria": ["all tests pass"]}
    gets(Call("task_update", begins), Call("Read", {"path": "a.py"}))
    gets(Call("task_update", {"id": "a", "status": "completed", "result_summary": SUMMARY}))
    gets()
    history.say("Next.")
    window = json.dumps(gets().body)
    assert "Task a is in_progress." in window
    assert "Task a is completed." in window
    assert "file 1 holds" not in window


# -------------------------------------------------------------------------------------------------- what stays for now


@pytest.mark.parametrize(
    ("rule", "is_met", "raw"),
    [
        ("on_failed_validation", True, 0),
        ("on_failed_validation", False, 2),
        ("always", True, 2),
        ("never", False, 0),
    ],
)
def test_ax_1_when_the_newest_results_of_a_completed_task_stay_raw(tmp_path, rule, is_met, raw):
    session = TaskSession(tmp_path, keep_tool_results=2, eviction_respects_anchor=rule)
    session.starts("a", "all tests pass" if is_met else "the changelog is updated")
    session.works(0, 5)
    session.completes("a")
    assert is_raw(session) == [False] * (5 - raw) + [True] * raw
    session.works(50, 2)  # newer ones displace them
    assert is_raw(session) == [False] * 5 + [True] * 2


def test_ax_1_a_summary_that_its_log_does_not_bear_out_keeps_them_raw_too(tmp_path):
    session = TaskSession(tmp_path, keep_tool_results=2)
    session.starts("a", "all tests pass")
    session.works(0, 3)
    session.completes("a", "All tests pass, the number 4711 is in src/never_seen.py.")
    assert is_raw(session) == [False, True, True]


@pytest.mark.parametrize(("number", "rolled"), [(5, 0), (6, 0), (7, 3)])
def test_a3_19_an_open_task_rolls_at_half_as_many_again(tmp_path, number, rolled):
    """Over and under the threshold: 4 stay, 7 are more than 4 and a half of them."""
    session = TaskSession(tmp_path, rolling_tool_results=4, keep_tool_results=2)
    session.starts("a")
    session.works(0, number)
    session.history += [assistant("So."), user("Go on.")]
    found = outputs(session)
    rolling = "[Task a in progress. Tool output evicted (Rolling Prune).]\nOriginal: undrift recall "
    assert [one.startswith(rolling) for one in found] == [True] * rolled + [False] * (number - rolled)
    assert "I look at 0." in shown(session)  # words stay as long as it goes on


def test_a3_19_the_anchored_ones_stay_and_it_is_off_by_default(tmp_path):
    session = TaskSession(tmp_path / "anchored", rolling_tool_results=1, keep_tool_results=6)
    session.starts("a")
    session.works(0, 9)
    assert is_raw(session) == [True] * 9
    session.works(20, 2)
    assert is_raw(session)[-6:] == [True] * 6
    plain = TaskSession(tmp_path / "off")
    plain.starts("a")
    plain.works(0, 40)
    assert is_raw(plain) == [True] * 40


def test_a3_19_what_rolled_out_and_what_is_completed_may_be_the_same_task(tmp_path):
    """A reopened task whose first results are still raw: two passes name one block."""
    session = TaskSession(tmp_path, rolling_tool_results=1, keep_tool_results=1, eviction_respects_anchor="always")
    session.starts("a")
    session.works(0, 1)
    session.completes("a")
    session.starts("a")
    for number in (1, 2, 3):  # rounds of which no request came here
        session.history += [assistant(call(f"c{number}")), user(answered(f"c{number}", log_text(number)))]
    session.history += [assistant("So."), user("Go on.")]
    session.prepare()
    assert is_raw(session) == [False, False, False, True]


# ------------------------------------------------------------------------------------------------- when they add up


def test_ax_2_old_tombstones_are_rolled_up_into_the_list_of_finished_tasks(tmp_path):
    session = TaskSession(tmp_path, budget_tokens=50_000, tombstone_share=0.05, finished_tasks_shown=3)
    for number in range(30):
        session.does(f"t{number}", first=100 * number, content=f"Do part {number}")
        tombstones = [one for one in outputs(session) if one.startswith("[Task ")]
        assert sum(len(one) for one in tombstones) // 4 < 2_500 + 1_000
    note = ledger_note(session)
    heading, *lines, end = note.split("\n")
    assert (heading, end) == ("[Finished tasks, rolled up. Raw logs evicted to archive.", "]")
    assert len(lines) == 3
    assert [line.split(" ", 2)[1] for line in lines] == sorted(line.split(" ", 2)[1] for line in lines)
    for line in lines:
        id_, rest = line.removeprefix("- ").split(" ", 1)
        assert f"[Task {id_} completed" not in shown(session)
        assert rest.startswith(f"(Do part {id_.removeprefix('t')}): {SUMMARY}")
        original = session.session.recall(rest.rsplit(" ", 1)[1])
        assert original in {f"I look at {100 * int(id_[1:]) + n}." for n in range(3)} | {
            log_text(100 * int(id_[1:]) + n) for n in range(3)
        }
    assert all(task.status == "completed" for task in session.session.tasks())


def test_ax_2_the_window_is_the_same_when_a_request_is_sent_again_right_after_tombstones_came(tmp_path):
    """What was decided at a message is not decided about twice."""
    session = TaskSession(tmp_path, budget_tokens=4_000, tombstone_share=0.01)
    for number in range(6):
        session.does(f"t{number}", first=100 * number)
        first = prepared(session)
        again = prepared(session)
        assert again.body == first.body
        assert first.warnings == again.warnings == ()


def test_ax_2_what_was_decided_at_a_message_waits_although_the_same_history_comes_again_with_more_to_say(tmp_path):
    """Half of a pair cannot leave: the pin stands in the window, and what does not fit is said."""
    session = TaskSession(tmp_path, budget_tokens=900, tombstone_share=1.0, keep_tool_results=1)
    session.does("a", rounds=5)
    session.session.pin("spec", "p" * 2_400)
    found = prepared(session)
    assert "p" * 2_400 in json.dumps(sent(found))
    assert [one.partition(":")[0] for one in found.warnings] == ["over budget"]
    assert problems(sent(found)) == ()


def test_ax_2_without_the_list_the_summaries_are_recalled_all_the_same(tmp_path):
    session = TaskSession(tmp_path, budget_tokens=20_000, tombstone_share=0.01, finished_tasks_shown=0)
    for number in range(8):
        session.does(f"t{number}", first=100 * number)
    assert ledger_note(session) == ""
    assert "[Task t0 completed" not in shown(session)
    assert session.session.tasks()[0].annotated_summary.startswith(SUMMARY)


def test_ax_5_the_store_numbers_tasks_as_they_are_taken_up_and_sessions_keep_theirs_apart(tmp_path):
    first, second = TaskSession(tmp_path, "first"), TaskSession(tmp_path, "second")
    first.session.update_task("later", content="x")
    first.does("1")
    second.does("1")
    first.starts("later")
    assert [(task.id, task.ordinal) for task in first.session.tasks()] == [("later", 2), ("1", 1)]
    assert [(task.id, task.ordinal) for task in second.session.tasks()] == [("1", 1)]


# --------------------------------------------------------------------------------------------- disk, and what is canon


def test_a3_5_what_cannot_be_stored_does_not_leave(tmp_path):
    session = TaskSession(tmp_path)
    session.starts("a", "all tests pass")
    session.works(0, 3)
    session.session.complete_task("a", SUMMARY)
    session.history += [assistant("Done."), user("Next.")]
    with refusing(tmp_path, "decisions"):
        failed = prepared(session)
    assert failed.body == body(*session.history)
    assert any("nothing left the window, because it could not be stored" in one for one in failed.warnings)
    with SqliteStore.open(tmp_path, create=False) as store:
        assert not [d for d in store.decided("s") if d.kind == "evicted"]
    assert len(session.prepare()) == 6


def test_a3_5_a_log_that_cannot_be_exported_is_a_warning_and_is_written_later(tmp_path):
    session = TaskSession(tmp_path, debug_archive=True)
    log = tmp_path / "archives" / "s" / "a.log"
    log.mkdir(parents=True)
    session.starts("a", "all tests pass")
    session.works(0, 2)
    session.session.complete_task("a", SUMMARY)
    session.history += [assistant("Done."), user("Next.")]
    found = prepared(session)
    assert any("could not be exported" in one for one in found.warnings)
    assert "[Task a completed." in json.dumps(sent(found))
    log.rmdir()
    assert prepared(session).warnings == ()
    assert log_text(1) in log.read_text()


def test_a3_13_the_eviction_is_applied_to_every_later_request_and_survives_restarts(tmp_path):
    """A proxy's client sends its whole history each time; nothing bounces back."""
    session = TaskSession(tmp_path)
    session.does("a")
    window, history = prepared(session).body, session.history
    session.close()
    for _ in range(2):
        with opened(tmp_path) as again:
            assert again.prepare(body(*history)).body == window
            longer = [*history, assistant("More."), user("Go on.")]
            assert sent(again.prepare(body(*longer)))[: len(history)] == window["messages"]


def test_a3_23_the_rules_come_as_one_text_for_agents_that_are_not_ours():
    assert Session.__doc__
    assert "task_update" in AGENT_RULES
    assert "undrift recall REF" in AGENT_RULES


def test_a_fault_while_completing_leaves_the_task_as_it_was(tmp_path):
    session = TaskSession(tmp_path)
    session.starts("a", "all tests pass")
    session.works(0, 2)
    with refusing(tmp_path, "tasks"), pytest.raises(StoreError):
        session.session.complete_task("a", SUMMARY)
    assert session.session.tasks()[0].status == "in_progress"
    assert session.prepare() == []
    assert session.completes("a")
