"""mini-swe-agent: commands in the text are calls, what comes back is their result; its own keys and words are known."""

import json

import pytest

from tests.transcripts.builders import lines, meta, shape
from tests.transcripts.chat_samples import answered, asked, read_as, said
from tests.transcripts.samples import document
from undrift import transcripts
from undrift.transcripts import Recording, mini_swe_agent

RULES = said("system", "Answer with ONE command:\n```mswea_bash_command\nls\n```")
TASK = said("user", "Fix the login")
INFO = {
    "exit_status": "Submitted",
    "config": {"model": {"model_name": "model-x"}, "environment": {"cwd": "/repo"}},
    "mini_version": "1.9.1",
}


def run(command: str, before: str = "I look.", after: str = "", fence: str = "mswea_bash_command") -> dict:
    return said("assistant", f"{before}\n\n```{fence}\n{command}\n```{after}")


def came(output: str, code: int = 0) -> dict:
    return said("user", f"<returncode>{code}</returncode>\n<output>\n{output}\n</output>")


def read(*messages: object, rules: object = RULES) -> Recording:
    return read_as("mini-swe-agent", [rules, TASK, *messages])


def test_a_trajectory_is_recognised_and_read():
    file = document(
        {"info": INFO, "messages": [RULES, TASK, run("ls"), came("a.py")], "trajectory_format": "mini-swe-agent-1"}
    )
    got = transcripts.read(file)
    assert (got.format, got.model, got.cwd) == ("mini-swe-agent", "model-x", "/repo")
    assert shape(got.entries)[2:] == [
        ("assistant", "text", "I look."),
        ("assistant", "call", '{"command": "ls"}'),
        ("user", "result", came("a.py")["content"]),
    ]
    call, result = got.entries[3:]
    assert (meta(call)["tool_name"], meta(call)["input"]) == ("bash", {"command": "ls"})
    assert call.pair_id == result.pair_id == "command-3"
    assert not meta(result)["is_error"]
    assert got.skipped == {}


def test_the_messages_alone_are_recognised_by_what_the_model_is_told():
    assert transcripts.read(document([RULES, TASK, run("ls"), came("x")])).format == "mini-swe-agent"
    told = "Finish with `echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT`."
    assert transcripts.detect(document([said("user", [{"type": "text", "text": told}])])) == "mini-swe-agent"


def test_text_around_a_command_stays_and_a_failure_is_known():
    got = read(
        run("ls -x", after="\nWe shall see."),
        came("no", 2),
        run("ls"),
        came("", -1),
        run("ls"),
        said("user", "timed out"),
    )
    assert shape(got.entries)[2:4] == [
        ("assistant", "text", "I look.\n\nWe shall see."),
        ("assistant", "call", '{"command": "ls -x"}'),
    ]
    assert [meta(entry)["is_error"] for entry in got.entries if "is_error" in meta(entry)] == [True, True, False]


def test_a_command_without_words_is_a_call_alone_and_thoughts_stay():
    thinking = {**run("ls", before=""), "reasoning_content": "Hm"}
    got = read(run("ls", before=""), came("x"), thinking, came("y"))
    assert [kind for _, kind, _ in shape(got.entries)[2:]] == ["call", "result", "thinking", "call", "result"]


@pytest.mark.parametrize(
    "text",
    [
        "Nothing to run.",
        "```mswea_bash_command\nls\n```\n\n```mswea_bash_command\npwd\n```",
        "```mswea_bash_command\nls",
        "```mswea_bash_command ls\n```",
        "```mswea_bash_command\n\n```",
        "```bash\nls\n```",
    ],
)
def test_an_answer_without_exactly_one_command_runs_nothing(text):
    got = read(said("assistant", text), said("user", "Exactly one, please."))
    assert shape(got.entries)[2:] == [("assistant", "text", text), ("user", "text", "Exactly one, please.")]


def test_a_fence_that_is_none_hides_no_command():
    got = read(said("assistant", "```mswea_bash_command and then\n```mswea_bash_command\nls\n```"), came("x"))
    assert meta(got.entries[3])["input"] == {"command": "ls"}


def test_other_fences_are_known_by_the_rules():
    old = said("system", "Answer with a command. MINI_SWE_AGENT_FINAL_OUTPUT ends it.")
    assert meta(read(run("ls", fence="bash"), came("x"), rules=old).entries[3])["input"] == {"command": "ls"}
    tagged = said("assistant", "I look. <mswea_bash_command>ls</mswea_bash_command>")
    assert meta(read(tagged, came("x")).entries[3])["input"] == {"command": "ls"}


def test_tool_calls_of_the_later_version_are_read_as_they_are():
    stamp = {"extra": {"timestamp": 1767323045.5, "returncode": 1}}
    got = read(
        said("assistant", "```mswea_bash_command\nls\n```", tool_calls=[asked("c1")]),
        {**answered("c1"), **stamp},
        said("assistant", [{"type": "text", "text": "Done"}]),
        said("exit", "diff --git", extra={"exit_status": "Submitted"}),
    )
    assert shape(got.entries)[3:5] == [("assistant", "call", '{"command": "ls"}'), ("user", "result", "a.py")]
    assert got.entries[-1].timestamp == 1767323045500
    assert got.skipped == {"exit message": 1}


def test_a_return_code_in_the_record_counts():
    got = read(run("ls"), {**came("x"), "extra": {"returncode": 3}})
    assert meta(got.entries[-1])["is_error"] is True


def test_a_command_that_nothing_came_back_for_is_counted():
    got = read(run("ls"), run("pwd"))
    assert got.skipped == {"call without result": 2}


def test_what_is_no_message_is_counted():
    got = read_as("mini-swe-agent", {"messages": [RULES, 5, said("user", "hi")], "instance_id": "i-1", "trial": 1})
    assert (got.session_id, got.skipped) == ("i-1", {"unknown message: (none)": 1})


@pytest.mark.parametrize(
    "file",
    [
        ["mswea_bash_command"],
        document([said("assistant", "mswea_bash_command"), said("user", "hi")]),
        document({"note": "mswea_bash_command", "messages": [said("user", "hi")]}),
        document({"trajectory_format": "another-1", "messages": [said("user", "hi")]}),
        document({"mini_version": 1, "messages": []}),
    ],
)
def test_other_files_are_not_recognised(file):
    assert not mini_swe_agent.recognises(file)


def test_a_line_that_names_its_format_is_recognised():
    assert mini_swe_agent.recognises(lines({"messages": [], "trajectory_format": "mini-swe-agent-1.1"}))


def test_a_message_list_that_only_mentions_its_mark_later_is_another_format():
    for mention in ("mswea_bash_command", "What does mswea_bash_command mean?"):
        messages = [said("system", "Be brief."), said("user", "hi"), said("assistant", "hello"), said("user", mention)]
        assert not mini_swe_agent.recognises([json.dumps(messages)])
