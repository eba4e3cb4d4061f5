"""The table of a client's events: every row can be reached, and a fault in one keeps no other from its say."""

import json
import re
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.hooks.builders import SESSION, User, session
from undrift.clients.events import ENTRIES
from undrift.errors import StoreError
from undrift.hooks import events
from undrift.hooks.answer import answer
from undrift.hooks.call import HookCall
from undrift.hooks.events import EVENTS, EventWork, workers
from undrift.hooks.reply import HookReply, output
from undrift.values.restored import MOST_PARTS

ROWS = [(event, work) for event, works in EVENTS.items() for work in works]


@pytest.mark.parametrize(("event", "row"), ROWS)
def test_every_row_names_a_module_that_does_the_work(event: str, row: EventWork):
    source = row.sources[0] if row.sources else ""
    assert import_module(f"undrift.hooks.{row.module}").work in list(workers(event, source))


def test_a_row_for_some_kinds_of_start_is_passed_over_at_the_others():
    assert list(workers("SessionStart", "elsewhere")) == []
    assert list(workers("NoSuchEvent", "")) == []


def test_what_is_installed_are_events_of_the_table_and_parts_that_the_program_takes():
    assert {entry.event for entry in ENTRIES} <= EVENTS.keys()
    asked = [word for entry in ENTRIES for word in entry.options if word.startswith("--part=")]
    assert asked == [f"--part={part}" for part in range(1, MOST_PARTS + 1)]
    kinds = {source for work in EVENTS["SessionStart"] for source in work.sources}
    assert {word for entry in ENTRIES for word in re.split(r"\|", entry.matcher) if word} >= kinds


def test_a_row_that_fails_is_one_line_in_the_log_and_the_others_have_their_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def fails(_: HookCall) -> HookReply:
        raise StoreError("no room")

    modules = {"undrift.hooks.fails": fails, "undrift.hooks.says": lambda call: HookReply(f"seen by {call.client}")}
    monkeypatch.setattr(events, "EVENTS", {"SessionStart": (EventWork("fails"), EventWork("says"))})
    monkeypatch.setattr(events, "import_module", lambda name: SimpleNamespace(work=modules[name]))
    user = User(tmp_path)
    user.write(session())
    assert user.starts("startup") == "seen by claude"
    assert [line.split(" ", 1)[1] for line in user.log()] == ["claude SessionStart: StoreError: no room"]


def test_an_event_that_is_in_no_row_says_nothing(tmp_path: Path):
    user = User(tmp_path)
    assert answer("Stop", json.dumps({"session_id": SESSION}).encode(), user.options()) == ""
    assert "no such event: Stop" in user.log()[0]


def test_what_several_rows_say_is_one_object():
    decided = HookReply(fields={"permissionDecision": "ask"})
    told = json.loads(output("PreToolUse", [HookReply("one", "two"), HookReply(), HookReply("three", "four"), decided]))
    assert told == {
        "systemMessage": "two four",
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "ask",
            "additionalContext": "one\nthree",
        },
    }


def test_nothing_said_is_nothing_printed():
    assert output("SessionStart", [HookReply(), HookReply()]) == ""


def test_a_sentence_for_the_person_alone_reaches_no_model():
    assert json.loads(output("UserPromptSubmit", [HookReply(sentence="Cold.")])) == {"systemMessage": "Cold."}
