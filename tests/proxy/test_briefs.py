"""A sub-agent behind the gateway starts with a brief of its parent's session, once, and keeps it."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from undrift import Settings
from undrift.core.text.tokens import characters_per_4
from undrift.profiles import family_of
from undrift.proxy import GatewayConfig
from undrift.proxy.ask import Ask
from undrift.proxy.briefs import BRIEF_TOKENS
from undrift.proxy.sessions import OpenSessions

TITLE = "# From the session that gave this task (undrift)"
LINE = "def rounded_half_up(amount, digits): return quantized(amount, digits, ROUND_HALF_UP)"
TASK = "Detect where amounts are rounded in totals.py, and who calls it."
TOOLS = [{"name": "task", "description": "Ask an agent.", "input_schema": {"type": "object"}}]
AGENT = "opencode/1.18.33 ai-sdk"


@pytest.fixture
def sessions(tmp_path: Path) -> Iterator[OpenSessions]:
    opened = opened_in(tmp_path)
    yield opened
    opened.close()


def opened_in(home: Path) -> OpenSessions:
    return OpenSessions(GatewayConfig(settings=Settings(home=str(home), token_counter="characters/4")))


def asked(messages: list[Any], own: str, parent: str = "", **more: Any) -> Ask:
    body = {"model": "claude-sonnet-4-5", "max_tokens": 99, "tools": TOOLS, "messages": messages, **more}
    text = json.dumps(body).encode()
    return Ask("anthropic", text, None, "", "", time.monotonic() + 60, AGENT, bool(parent), "", own, parent)


def message(role: str, *content: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": list(content)}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def parents_history(line: str = LINE) -> list[Any]:
    read = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"filePath": "/repo/totals.py"}}
    shown = f"<content>\n1: import decimal\n2: \n3: {line}\n</content>"
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": shown}
    return [message("user", text("Read it, then ask an agent.")), message("assistant", read), message("user", result)]


def sent(sessions: OpenSessions, ask: Ask) -> Any:
    return json.loads(sessions.prepare(ask).body)["messages"]


def briefs(messages: list[Any]) -> list[str]:
    blocks = [block for one in messages if isinstance(one["content"], list) for block in one["content"]]
    return [block["text"] for block in blocks if TITLE in block.get("text", "")]


CHILD = [message("user", text(TASK))]
LATER = [*CHILD, message("assistant", text("I look.")), message("user", text("Continue."))]


def test_the_first_request_of_a_sub_agent_has_what_its_parent_read(sessions: OpenSessions):
    assert briefs(sent(sessions, asked(parents_history(), "ses_parent"))) == []
    (brief,) = briefs(sent(sessions, asked(CHILD, "ses_child", "ses_parent")))
    assert LINE in brief
    assert characters_per_4(brief) <= BRIEF_TOKENS


def test_later_requests_have_the_same_brief_also_after_a_restart(sessions: OpenSessions, tmp_path: Path):
    sent(sessions, asked(parents_history(), "ses_parent"))
    first = sent(sessions, asked(CHILD, "ses_child", "ses_parent"))
    sent(sessions, asked(parents_history("def other_47113(): pass"), "ses_parent"))
    assert sent(sessions, asked(CHILD, "ses_child", "ses_parent")) == first
    later = sent(sessions, asked(LATER, "ses_child", "ses_parent"))
    assert later[0] == first[0]
    sessions.close()
    again = opened_in(tmp_path)
    sent(again, asked(parents_history("def other_47113(): pass"), "ses_parent"))
    assert sent(again, asked(LATER, "ses_child", "ses_parent"))[0] == first[0]
    again.close()


def test_a_first_request_that_is_sent_again_after_a_restart_gets_no_second_brief(
    sessions: OpenSessions, tmp_path: Path
):
    sent(sessions, asked(parents_history(), "ses_parent"))
    first = sent(sessions, asked(CHILD, "ses_child", "ses_parent"))
    sessions.close()
    again = opened_in(tmp_path)
    sent(again, asked(parents_history(f"{LINE}  # half up"), "ses_parent"))
    assert sent(again, asked(CHILD, "ses_child", "ses_parent")) == first
    again.close()


@pytest.mark.parametrize(
    ("messages", "own", "parent"),
    [
        (CHILD, "ses_child", "ses_unknown"),
        (CHILD, "ses_child", "ses_child"),
        (CHILD, "ses_child", ""),
        (LATER, "ses_child", "ses_parent"),
        ([message("user", text("Write a poem about the sea."))], "ses_child", "ses_parent"),
    ],
)
def test_without_a_known_parent_or_task_a_request_goes_out_as_it_is(
    sessions: OpenSessions, messages: list[Any], own: str, parent: str
):
    sent(sessions, asked(parents_history(), "ses_parent"))
    assert sent(sessions, asked(messages, own, parent)) == messages


def test_a_title_request_of_the_parent_is_not_its_history(sessions: OpenSessions):
    sent(sessions, asked(parents_history(), "ses_parent"))
    title = asked([message("user", text("Generate a title."))], "ses_parent")
    title.body = json.dumps({k: v for k, v in json.loads(title.body).items() if k != "tools"}).encode()
    sessions.prepare(title)
    assert briefs(sent(sessions, asked(CHILD, "ses_child", "ses_parent")))


def test_only_a_client_that_names_its_sessions_has_a_family():
    headers = {"x-session-id": "a", "x-parent-session-id": "b"}
    assert family_of(AGENT, headers) == ("a", "b")
    assert family_of("opencode/1.18.33", {"x-session-id": "a"}) == ("a", "")
    assert family_of("claude-cli/2.1", headers) == family_of("curl/8", headers) == ("", "")
