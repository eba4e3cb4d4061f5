"""Sessions that Hypothesis makes up, written as each client would write them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.transcripts import recordings, samples
from tests.transcripts.builders import answered, assistant, called, codex, item, lines, said, spoken, user

SNIPPETS = (
    "Fix the login",
    "ls -la\n\n# a comment",
    "```\nprint(1)\n```",
    '{"role": "user"}',
    "> quoted\n>> twice",
    "<returncode>1</returncode>\n<output>\n</output>",
    "\u2028\x85\x00\U0001f642",
)
STAMP = "2026-01-02T03:04:05"
STAMP_S = 1767323045.5


@dataclass(frozen=True)
class Turn:
    """What the user asks; what the agent thinks, says, runs (name, argument, output), and what it says after that."""

    asked: str
    thought: str
    said: str
    runs: tuple[tuple[str, str, str], ...]


words = st.one_of(st.sampled_from(SNIPPETS), st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40))
turns = st.lists(
    st.builds(
        Turn,
        words,
        words,
        words,
        st.lists(st.tuples(st.sampled_from(["bash", "read"]), words, words), max_size=2).map(tuple),
    ),
    min_size=1,
    max_size=4,
)


def claude_code(session: list[Turn]) -> list[str]:
    records = []
    for number, turn in enumerate(session):
        calls = [(f"t{number}.{index}", *run) for index, run in enumerate(turn.runs)]
        thinking = {"type": "thinking", "thinking": turn.thought, "signature": "c2ln"}
        asked = [called(call_id, name, given=given) for call_id, name, given, _ in calls]
        records += [user(turn.asked), assistant(thinking, said(turn.said), *asked, id=f"m{number}")]
        records += [user([answered(call_id, output)]) for call_id, _, _, output in calls]
    # the builders count on from test to test; the same session is to be the same file
    return lines(*[{**record, "uuid": f"u{number}"} for number, record in enumerate(records)])


def codex_lines(session: list[Turn]) -> list[str]:
    records = [codex("session_meta", id="s", cwd="/r"), codex("turn_context", model="gpt-x")]
    for number, turn in enumerate(session):
        records += [spoken("user", turn.asked), spoken("assistant", turn.said)]
        for index, (name, given, output) in enumerate(turn.runs):
            call_id = f"c{number}.{index}"
            records.append(item("function_call", call_id=call_id, name=name, arguments=json.dumps({"given": given})))
            records.append(item("function_call_output", call_id=call_id, output=output))
    return lines(*records)


def messages(session: list[Turn]) -> list[dict[str, Any]]:
    """The messages of a chat with tools."""
    made: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}]
    for number, turn in enumerate(session):
        calls = [(f"c{number}.{index}", *run) for index, run in enumerate(turn.runs)]
        asked = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps({"given": given})}}
            for call_id, name, given, _ in calls
        ]
        answer = {"role": "assistant", "content": turn.said, "reasoning_content": turn.thought}
        made += [{"role": "user", "content": turn.asked}, {**answer, "tool_calls": asked} if asked else answer]
        made += [{"role": "tool", "tool_call_id": call_id, "content": output} for call_id, _, _, output in calls]
    return made


def mini_swe_agent(session: list[Turn]) -> list[str]:
    made: list[dict[str, Any]] = [{"role": "system", "content": "Write a mswea_bash_command."}]
    for turn in session:
        made.append({"role": "user", "content": turn.asked})
        for _, given, output in turn.runs:
            made.append({"role": "assistant", "content": f"I run\n\n```mswea_bash_command\n{given}\n```", "extra": {}})
            made.append({"role": "user", "content": f"<returncode>0</returncode>\n<output>\n{output}</output>"})
        made.append({"role": "assistant", "content": turn.said, "extra": {"timestamp": STAMP_S}})
    info = {"mini_version": "1.1", "config": {"model": {"model_name": "m"}, "environment": {"cwd": "/r"}}}
    return samples.document({"info": info, "messages": made, "trajectory_format": "mini-swe-agent-1"})


def openhands(session: list[Turn]) -> list[str]:
    events: list[dict[str, Any]] = []

    def event(source: str, **fields: Any) -> int:
        events.append({"id": len(events), "timestamp": STAMP, "source": source, "message": "", **fields})
        return len(events) - 1

    for turn in session:
        event("user", action="message", args={"content": turn.asked, "image_urls": None})
        for name, given, output in turn.runs:
            cause = event("agent", action=name, args={"command": given, "thought": turn.thought, "hidden": False})
            event("agent", observation=name, cause=cause, content=output, extras={"metadata": {"exit_code": 0}})
        event("agent", action="message", args={"content": turn.said})
        event("environment", observation="agent_state_changed", content="", extras={"agent_state": "running"})
    return samples.document(events)


def openhands_sdk(session: list[Turn]) -> list[str]:
    events: list[dict[str, Any]] = [
        {"id": "c", "agent": {"llm": {"model": "m"}}, "workspace": {"working_dir": "/r"}, "persistence_dir": "."}
    ]

    def event(kind: str, source: str, **fields: Any) -> None:
        events.append({"kind": kind, "id": f"e{len(events)}", "timestamp": STAMP, "source": source, **fields})

    def text(content: str) -> list[dict[str, str]]:
        return [{"type": "text", "text": content}]

    event("SystemPromptEvent", "agent", system_prompt=text("Be brief.")[0], tools=[])
    for number, turn in enumerate(session):
        event("MessageEvent", "user", llm_message={"role": "user", "content": text(turn.asked)})
        for index, (name, given, output) in enumerate(turn.runs):
            call = {"id": f"c{number}.{index}", "name": name, "arguments": json.dumps({"given": given})}
            named = {"tool_name": name, "tool_call_id": call["id"]}
            event(
                "ActionEvent",
                "agent",
                thought=text(turn.thought),
                tool_call=call,
                llm_response_id=f"r{number}",
                **named,
            )
            event("ObservationEvent", "environment", observation={"content": text(output), "is_error": False}, **named)
        event("MessageEvent", "agent", llm_message={"role": "assistant", "content": text(turn.said)})
        event("ConversationStateUpdateEvent", "environment", key="stats", value={})
    return lines(*events)


def openhands_log(session: list[Turn]) -> list[str]:
    response = {"model": "m", "choices": [{"message": {"role": "assistant", "content": "Done"}}]}
    log = {"messages": messages(session), "response": response, "cost": 0.1, "timestamp": STAMP_S, "latency_sec": 1.5}
    return samples.document(log, indent=None)


def aider(session: list[Turn]) -> list[str]:
    rows = [
        "",
        "# aider chat started at 2026-01-02 03:04:05",
        "",
        "> Aider v0.50.1  ",
        "> Model: m with diff edit format  ",
    ]
    for turn in session:
        rows += ["", *(f"#### {row}  " for row in turn.asked.splitlines()), "", *turn.said.splitlines(), ""]
        rows += [f"> {row}  " for _, _, output in turn.runs for row in output.splitlines()]
    return [row + "\n" for row in rows]


WRITERS: Mapping[str, tuple[Callable[[list[Turn]], list[str]], ...]] = {
    "claude-code": (claude_code,),
    "codex": (codex_lines,),
    "mini-swe-agent": (mini_swe_agent,),
    "openhands": (openhands, openhands_log, openhands_sdk),
    "aider": (aider,),
    "openai-messages": (
        lambda session: samples.document(messages(session)),
        lambda session: lines(*messages(session)),
        lambda session: lines({"messages": messages(session)}, {"messages": messages(session)}),
    ),
}

# Of clients whose files are not made up here, one session that holds every kind of record.
WHOLE: Mapping[str, tuple[list[str], ...]] = {
    "gemini-cli": (samples.document(samples.GEMINI), lines(*samples.GEMINI_LINES)),
    "opencode": (samples.document(samples.OPENCODE),),
    "copilot-cli": (lines(*samples.COPILOT),),
    "pi": (lines(*samples.PI),),
    "swe-agent": (samples.document(samples.SWE_AGENT),),
    **{name: (recordings.rows(name),) for name in ("cline", "continue", "kimi-code", "qwen-code")},
}


def whole(name: str) -> st.SearchStrategy[list[str]]:
    """Files of one format, as its client writes them: every line with its end."""
    if name in WHOLE:
        made = st.sampled_from(WHOLE[name])
    else:
        made = st.tuples(st.sampled_from(WRITERS[name]), turns).map(lambda drawn: drawn[0](drawn[1]))
    return made.map(lambda file: [line if line.endswith("\n") else line + "\n" for line in file])
