"""`undrift manage`: a request in, the request to send out; to the byte, whatever the provider's form."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.builders import Json, assistant, body, opened, rounds, thinking, user
from tests.cli.builders import environment, everything, process, undrift
from tests.cli.test_replay import NEEDS_POSIX
from undrift.cli import main
from undrift.wire.forms import WIRES

WORDS = "answer of the tool, café, " * 60
PLAIN = ["--wire", "anthropic", "--session", "s", "--budget", "4000"]


def managed(given: bytes | Json, *arguments: str | Path) -> Result:
    """Run the program in this process with a request on stdin."""
    data = given if isinstance(given, bytes) else json.dumps(given, ensure_ascii=False, indent=1).encode()
    env: dict[str, str | None] = {name: None for name in os.environ if name.startswith("UNDRIFT_")}
    runner = CliRunner(env={**env, "UNDRIFT_TOKEN_COUNTER": "characters/4"})
    return runner.invoke(main, ["manage", *map(str, arguments)], input=data, prog_name="undrift")


def anthropic(turns: int) -> Json:
    return body(user("hello"), *rounds(turns, characters=1_500), max_tokens=7)


def openai_chat(turns: int) -> Json:
    messages: list[Json] = [{"role": "user", "content": "hello"}]
    for number in range(turns):
        made = {"id": f"c{number}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [made]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": f"{number} {WORDS}"})
    return {"model": "gpt-5.5", "messages": messages}


def openai_responses(turns: int) -> Json:
    items: list[Json] = [{"role": "user", "content": "hello"}]
    for number in range(turns):
        items.append({"type": "function_call", "call_id": f"c{number}", "name": "read", "arguments": "{}"})
        items.append({"type": "function_call_output", "call_id": f"c{number}", "output": f"{number} {WORDS}"})
    return {"model": "gpt-5.5", "input": items}


def gemini(turns: int) -> Json:
    contents: list[Json] = [{"role": "user", "parts": [{"text": "hello"}]}]
    for number in range(turns):
        answer = {"functionResponse": {"name": "read", "response": {"output": f"{number} {WORDS}"}}}
        contents.append({"role": "model", "parts": [{"functionCall": {"name": "read", "args": {"n": number}}}]})
        contents.append({"role": "user", "parts": [answer]})
        contents.append({"role": "model", "parts": [{"text": "so far"}]})
        contents.append({"role": "user", "parts": [{"text": f"go on {number}"}]})
    return {"contents": contents}


REQUESTS: dict[str, Callable[[int], Json]] = {
    "anthropic": anthropic,
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "gemini": gemini,
}
HISTORY = {"anthropic": "messages", "openai-chat": "messages", "openai-responses": "input", "gemini": "contents"}


# ------------------------------------------------------------------------------------------------ what comes out


@pytest.mark.parametrize("wire", WIRES)
def test_where_nothing_has_to_leave_the_very_bytes_come_out(tmp_path, wire):
    given = b"\n " + json.dumps(REQUESTS[wire](2), indent=3, ensure_ascii=False).encode() + b" \n\n"
    result = managed(given, "--wire", wire, "--session", "s", "--home", tmp_path / "home")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout_bytes == given


@pytest.mark.parametrize("wire", WIRES)
def test_what_has_to_leave_leaves_and_can_be_recalled(tmp_path, wire):
    home, given = tmp_path / "home", REQUESTS[wire](12)
    arguments = ("--wire", wire, "--session", "s", "--home", home, "--budget", "4000", "--model", "some-model")
    result = managed(given, *arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    sent = json.loads(result.stdout_bytes)
    assert {**sent, HISTORY[wire]: given[HISTORY[wire]]} == given
    assert len(sent[HISTORY[wire]]) < len(given[HISTORY[wire]])
    again = managed(given, *arguments, "--json")
    told = json.loads(again.stdout_bytes)
    assert told["body"] == sent
    assert b'"body": ' + result.stdout_bytes + b"," in again.stdout_bytes
    assert told["tokens_after"] <= told["budget_tokens"] == 4_000 < told["tokens_before"]
    assert (told["headers"], told["warnings"], told["new"]) == ({}, [], [])  # the first request has decided it all
    action = max(told["actions"], key=lambda one: one["tokens_saved"])
    assert set(action) == {"kind", "entry_id", "reason", "tokens_saved", "ref", "what"}
    assert undrift("recall", action["ref"], "--home", home).exit_code == 0


def test_it_decides_as_the_library_does(tmp_path):
    given = json.dumps(anthropic(12)).encode()
    expected = opened(tmp_path / "library", budget_tokens=4_000).prepare(given)
    result = managed(given, *PLAIN, "--home", tmp_path / "home")
    assert result.stdout_bytes == expected.body != given
    told = json.loads(managed(given, *PLAIN, "--json", "--home", tmp_path / "another").stdout_bytes)
    assert told["new"] == [action["ref"] for action in told["actions"]] != []


def test_what_left_stays_out_of_the_next_request(tmp_path):
    first, second = anthropic(12), anthropic(13)
    once = json.loads(managed(first, *PLAIN, "--home", tmp_path).stdout_bytes)["messages"]
    then = json.loads(managed(second, *PLAIN, "--home", tmp_path).stdout_bytes)["messages"]
    assert then == [*once, *second["messages"][-2:]]
    apart = managed(second, "--wire", "anthropic", "--session", "other", "--home", tmp_path / "apart")
    assert json.loads(apart.stdout_bytes) == second


def test_another_session_of_one_home_shares_what_left_of_the_same_history(tmp_path):
    first, second = anthropic(12), anthropic(13)
    once = json.loads(managed(first, *PLAIN, "--home", tmp_path).stdout_bytes)["messages"]
    fork = managed(second, "--wire", "anthropic", "--session", "fork", "--home", tmp_path)
    assert json.loads(fork.stdout_bytes)["messages"] == [*once, *second["messages"][-2:]]


def test_warnings_and_headers_stand_on_stderr_a_line_each(tmp_path):
    history = [user("hello"), *rounds(3), assistant(thinking("hm"), "so"), user("go"), *rounds(12, first=3)]
    given = body(*history, model="claude-opus-5-5", thinking={"type": "adaptive"})
    arguments = ("--wire", "anthropic", "--session", "s", "--budget", "300", "--home", tmp_path)
    result = managed(given, *arguments)
    told = json.loads(managed(given, *arguments, "--json").stdout_bytes)
    assert result.exit_code == 0
    assert json.loads(result.stdout_bytes) == told["body"]
    assert told["warnings"]
    assert told["headers"]
    headers = [f"header {name}: {value}" for name, value in told["headers"].items()]
    assert result.stderr.splitlines() == [*told["warnings"], *headers]


def test_a_history_that_the_provider_holds_goes_through_with_a_warning(tmp_path):
    given = b'{"model":"gpt-5.5", "previous_response_id":"resp_1","input":"go on"}'
    result = managed(given, "--wire", "openai-responses", "--session", "s", "--home", tmp_path)
    assert (result.exit_code, result.stdout_bytes) == (0, given)
    assert "passed through" in result.stderr


# ------------------------------------------------------------------------------------------------- whose session


def test_the_session_that_the_client_names_is_taken(tmp_path):
    named = {"user_id": json.dumps({"session_id": "abc"})}
    given = {**anthropic(12), "metadata": named}
    arguments = ("--wire", "anthropic", "--budget", "4000", "--home", tmp_path)
    result = managed(given, *arguments)
    assert result.exit_code == 0
    ref = json.loads(managed(given, *arguments, "--json").stdout_bytes)["actions"][0]["ref"]
    told = json.loads(undrift("recall", ref, "--home", tmp_path, "--json").stdout)
    assert told["session_id"] == "anthropic:abc"


@pytest.mark.parametrize("session", [(), ("--session", "")])
def test_a_session_that_nobody_names_is_found_again_by_what_it_holds(tmp_path, session):
    arguments = ("--wire", "anthropic", "--budget", "4000", "--home", tmp_path, *session)
    first = json.loads(managed(anthropic(12), *arguments, "--json").stdout_bytes)
    second = json.loads(managed(anthropic(14), *arguments, "--json").stdout_bytes)
    assert first["actions"] != []
    assert {a["ref"] for a in first["actions"]} <= {a["ref"] for a in second["actions"]}


@pytest.mark.parametrize(
    "arguments",
    [[], ["--session", "s"], ["--wire", "smoke", "--session", "s"], [*PLAIN, "--budget", "0"], [*PLAIN, "x"]],
)
def test_wrong_usage_is_told(arguments):
    result = managed(anthropic(1), *arguments)
    assert (result.exit_code, result.stdout_bytes) == (2, b"")
    assert "Usage: undrift manage" in result.stderr


# --------------------------------------------------------------------------------------------------- what is wrong


WRONG: list[tuple[bytes, str]] = [
    (b"", "the body must be a JSON object"),
    (b"[]", "the body must be a JSON object"),
    (b"{}", "messages: "),
    (b'{"messages":[]}', "messages: "),
    (b'{"messages":[{"role":5,"content":"a"}]}', "messages[0].role: must be a string, not int"),
    (b'{"messages":[{"role":"user","content":[{"type":"text"}]}]}', "messages[0].content[0].text: "),
    (b'{"messages":[{"role":"user","content":"\xff"}]}', "messages[0]: malformed JSON"),
    (b'{"messages":[{"role":"user","content":"a"}', "the body must be a JSON object"),
    (b'{"messages":[' + b"[" * 10_000 + b"]" * 10_000 + b"]}", "nested too deep"),
]


@pytest.mark.parametrize(("given", "words"), WRONG)
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_what_is_no_request_is_one_line_with_the_place_and_a_remedy(tmp_path, given, words, more):
    result = managed(given, *PLAIN, "--home", tmp_path, *more)
    assert (result.exit_code, result.stdout_bytes) == (1, b"")
    (line,) = result.stderr.splitlines()
    assert line.startswith("undrift: stdin: ")
    assert words in line
    assert "send this one unchanged" in line


def test_what_is_no_request_is_told_before_a_session_is_asked_for(tmp_path):
    result = managed(b"{'a'}", "--wire", "anthropic", "--home", tmp_path)
    assert (result.exit_code, result.stdout_bytes) == (1, b"")
    assert "the body must be a JSON object" in result.stderr


def test_bytes_that_are_no_text_never_stand_in_the_json(tmp_path):
    given = b'{"messages":[{"role":"user","content":"a"}],"unknown":"\xff"}'
    assert managed(given, *PLAIN, "--home", tmp_path).stdout_bytes == given
    result = managed(given, *PLAIN, "--home", tmp_path, "--json")
    assert (result.exit_code, result.stdout_bytes) == (1, b"")
    assert "malformed JSON" in result.stderr


def test_a_thread_is_declined_with_the_answer_to_give(tmp_path):
    given = body(user("hi"), thread={"type": "continue", "previous_message_id": "msg_1"})
    result = managed(given, *PLAIN, "--home", tmp_path)
    assert (result.exit_code, result.stdout_bytes) == (1, b"")
    (line,) = result.stderr.splitlines()
    assert "status 400" in line
    assert json.loads(line[line.index("{") :])["error"]["details"] == {"error_code": "thread_unsupported_request"}
    told = managed(given, *PLAIN, "--home", tmp_path, "--json")
    assert told.exit_code == 1
    answer = json.loads(told.stdout)["answer"]
    assert (answer["status"], answer["body"]["error"]["type"]) == (400, "invalid_request_error")
    assert "body" not in json.loads(told.stdout)  # which is what to send, where there is something to send


def test_a_home_that_cannot_be_is_an_error_and_nothing_is_printed(tmp_path):
    (tmp_path / "file").write_text("no folder")
    result = managed(anthropic(1), *PLAIN, "--home", tmp_path / "file")
    assert (result.exit_code, result.stdout_bytes) == (1, b"")
    assert str(tmp_path / "file") in result.stderr


# -------------------------------------------------------------------------------------------- pipes and terminals


def piped(data: bytes, home: Path, *more: str, **streams: Any) -> "subprocess.CompletedProcess[bytes]":
    """Run the program in a process of its own."""
    with process("manage", *PLAIN, "--home", home, *more, stdin=subprocess.PIPE, **streams) as running:
        out, err = running.communicate(data)
    return subprocess.CompletedProcess([], running.returncode, out, err)


def test_a_request_of_many_megabytes_goes_through_a_pipe_whole(tmp_path):
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 20_000_000}}
    given = json.dumps(body(user("look\r\n", picture))).encode()
    result = piped(given, tmp_path)
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout == given


def test_bytes_are_never_written_otherwise(tmp_path):
    given = '{"messages":\r\n[{"role":"user","content":"caf\u00e9 \U0001f600 \\u00e9\\r\\n\u009b2J\u2028"}]}\r\n\r\n'.encode()
    result = piped(given, tmp_path)
    assert (result.returncode, result.stdout) == (0, given)


@NEEDS_POSIX
def test_a_reader_that_has_gone_ends_it_without_a_traceback(tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    result = piped(json.dumps(anthropic(12)).encode(), tmp_path, stdout=writer)
    os.close(writer)
    assert result.returncode == 1
    assert b"Traceback" not in result.stderr


@NEEDS_POSIX
@pytest.mark.parametrize(("close", "words"), [("<&-", b"read from stdin"), (">&-", b"stdout is closed")])
def test_a_closed_end_is_told(tmp_path, close, words):
    line = f'exec "$0" -c "from undrift.cli import main; main()" manage {" ".join(PLAIN)} --home "$1" {close}'
    done = subprocess.run(
        ["sh", "-c", line, sys.executable, str(tmp_path)],
        input=None if close == "<&-" else b"{}",
        capture_output=True,
        env=environment(),
        check=False,
    )
    assert done.returncode in (1, 2)
    assert words in done.stderr
    assert done.stdout == b""


@NEEDS_POSIX
def test_at_a_terminal_it_asks_for_a_file(tmp_path):
    ours, theirs = os.openpty()
    with process("manage", *PLAIN, "--home", tmp_path, stdin=theirs) as running:
        os.close(theirs)
        out, err = running.communicate(timeout=60)
    os.close(ours)
    assert (running.returncode, out) == (2, b"")
    assert b"read from stdin" in err


@NEEDS_POSIX
def test_on_a_terminal_what_comes_out_is_harmless(tmp_path):
    ours, theirs = os.openpty()
    given = '{"messages":[{"role":"user","content":"\u009b2J"}]}'.encode()
    with process("manage", *PLAIN, "--home", tmp_path, stdin=subprocess.PIPE, stdout=theirs) as running:
        os.close(theirs)
        assert running.stdin is not None
        running.stdin.write(given)
        running.stdin.close()
        shown = everything(ours)
        assert running.stderr is not None
        assert b"redirect the output to a file for the exact bytes" in running.stderr.read()
    assert running.returncode == 0
    assert shown == b'{"messages":[{"role":"user","content":"\\x9b2J"}]}\r\n'


@NEEDS_POSIX
def test_a_session_id_of_any_bytes_does(tmp_path):
    given = json.dumps(anthropic(60)).encode()
    arguments = ["manage", "--wire", "anthropic", "--budget", "4000", "--home", str(tmp_path), "--session"]
    for name in ("a\udcff", "\u00e9 '", "-"):
        with process(*arguments, name, stdin=subprocess.PIPE) as running:
            out, err = running.communicate(given)
        assert (running.returncode, err) == (0, b""), name
        assert len(json.loads(out)["messages"]) < 121
