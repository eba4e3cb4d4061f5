"""Small sessions of the clients beside Claude Code and Codex, as they write them; every value is made up."""

import json
from typing import Any

Record = dict[str, Any]

STAMP = "2026-01-02T03:04:05.678Z"
STAMP_MS = 1767323045678


def document(value: Any, indent: int | None = 2) -> list[str]:
    """A file that is one JSON document, as its lines."""
    return json.dumps(value, indent=indent, ensure_ascii=False).splitlines(keepends=True)


# ------------------------------------------------------------------------------------------- Gemini CLI


def gemini(type_: str, content: Any, id: str = "", **more: Any) -> Record:
    record = {"timestamp": STAMP, "type": type_, "content": content, **more}
    return {"id": id, **record} if id else record


def gemini_call(
    call_id: str, name: str = "read_file", result: Any = ..., status: str = "success", **args: Any
) -> Record:
    if result is ...:
        result = [answered(call_id, output="done")]
    return {
        "id": call_id,
        "name": name,
        "args": args,
        "result": result,
        "status": status,
        "resultDisplay": "shown only",
    }


def answered(call_id: str, **response: Any) -> Record:
    return {"functionResponse": {"id": call_id, "name": "read_file", "response": response}}


def chat(*messages: Any, **more: Any) -> Record:
    about = {"sessionId": "g-1", "projectHash": "0a1b", "startTime": STAMP, "lastUpdated": STAMP, "kind": "main"}
    return {**about, "messages": list(messages), **more}


GEMINI = chat(
    gemini("user", [{"text": "Fix the login"}], id="u1"),
    gemini(
        "gemini",
        "I look.",
        id="a1",
        model="gemini-x",
        thoughts=[{"subject": "Looking", "description": "The login first.", "timestamp": STAMP}],
        toolCalls=[
            gemini_call("c1", path="a.py"),
            gemini_call("c2", result=[answered("c2", error="no")], status="error"),
        ],
    ),
    gemini("info", "Request cancelled.", id="i1"),
    gemini("gemini", [{"text": "Done"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}], id="a2"),
    summary="A title",
)
GEMINI_LINES = [
    {key: value for key, value in GEMINI.items() if key != "messages"},
    GEMINI["messages"][0],
    {**GEMINI["messages"][1], "toolCalls": []},
    {"$set": {"lastUpdated": STAMP}},
    GEMINI["messages"][1],
    {"$rewindTo": "a1"},
    {"$set": {"messages": [gemini("user", "<state_snapshot>much</state_snapshot>", id="s1"), GEMINI["messages"][1]]}},
    gemini("gemini", "On we go", id="a3", model="gemini-x"),
]


# ------------------------------------------------------------------------------------------- opencode


def turn(role: str, *parts: Any, **info: Any) -> Record:
    about = {"role": role, "time": {"created": STAMP_MS}, "id": "msg", "sessionID": "ses_1", **info}
    if role == "assistant":
        about = {"modelID": "model-x", "providerID": "someone", **about}
    return {"info": about, "parts": list(parts)}


def part(type_: str, **fields: Any) -> Record:
    return {"type": type_, "sessionID": "ses_1", **fields}


def tool(call_id: str, output: Any = "done", status: str = "completed", **given: Any) -> Record:
    held = {"output": output} if status == "completed" else {"error": output} if status == "error" else {}
    state = {"status": status, "input": given, "title": "shown only", "time": {"start": STAMP_MS, "end": STAMP_MS + 9}}
    return part("tool", id=f"prt_{call_id}", tool="read", callID=call_id, state={**state, **held})


def export(*messages: Any, **more: Any) -> Record:
    info = {"id": "ses_1", "slug": "calm-day", "projectID": "p", "directory": "/repo", "title": "A title"}
    return {"info": {**info, "version": "1.4.3", "time": {"created": STAMP_MS}}, "messages": list(messages), **more}


OPENCODE = export(
    turn("user", part("text", text="Fix the login", id="prt_1")),
    turn(
        "assistant",
        part("step-start", id="prt_2"),
        part("reasoning", text="Hm", id="prt_3", metadata={"anthropic": {"signature": "c2ln"}}),
        part("text", text="I look.", id="prt_4"),
        tool("c1", path="a.py"),
        tool("c2", "no", "error"),
        part("step-finish", id="prt_5", tokens={"input": 3}),
        part("text", text="Two more.", id="prt_6"),
        tool("c3", status="running"),
    ),
    turn("user", part("compaction", auto=True, id="prt_7")),
    turn("assistant", part("text", text="We did much.", id="prt_8"), summary=True, mode="compaction"),
    turn("user", part("text", text="Go on", synthetic=True, id="prt_9")),
    turn("assistant", part("text", text="Done", id="prt_10")),
)


# ------------------------------------------------------------------------------------------- Copilot CLI


def event(type_: str, id: str = "", **data: Any) -> Record:
    return {"type": type_, "data": data, "id": id, "timestamp": STAMP, "parentId": None}


def request(call_id: str, name: str = "bash", **given: Any) -> Record:
    return {"toolCallId": call_id, "name": name, "arguments": given, "type": "function"}


COPILOT = [
    event("session.start", "e1", sessionId="p-1", version=1, selectedModel="model-x", context={"cwd": "/repo"}),
    event("system.message", "e2", role="system", content="Be brief."),
    event(
        "user.message", "e3", content="Fix it", transformedContent="<now/>\n\nFix it", attachments=[{"type": "file"}]
    ),
    event(
        "assistant.message",
        "e4",
        model="model-x",
        content="I look.",
        reasoningText="Hm",
        reasoningOpaque="QUFB",
        toolRequests=[request("c1", command="ls"), request("c2", "view", path="a.py")],
    ),
    event("tool.execution_start", "e5", toolCallId="c1", toolName="bash", arguments={"command": "ls"}),
    event("tool.execution_complete", "e6", toolCallId="c1", success=True, result={"content": "a.py"}),
    event("tool.execution_complete", "e7", toolCallId="c2", success=False, error={"message": "no", "code": "failure"}),
    event("session.compaction_complete", "e8", success=True, summaryContent="We did much."),
    event("assistant.message", "e9", model="model-x", content="Done", toolRequests=[]),
]


# ------------------------------------------------------------------------------------------- pi


def pi(type_: str, **fields: Any) -> Record:
    return {"type": type_, "timestamp": STAMP, **fields}


def pi_message(role: str, content: Any = ..., **fields: Any) -> Record:
    held = {} if content is ... else {"content": content}
    return pi("message", message={"role": role, **held, "timestamp": STAMP_MS, **fields})


PI = [
    pi("session", id="q-1", cwd="/repo", version=3, modelId="model-x", provider="someone"),
    pi_message("user", [{"type": "text", "text": "Fix the login"}]),
    pi_message(
        "assistant",
        [
            {"type": "thinking", "thinking": "Hm", "thinkingSignature": "c2ln"},
            {"type": "text", "text": "I look."},
            {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a.py"}},
        ],
        model="model-x",
        stopReason="toolUse",
    ),
    pi_message("toolResult", [{"type": "text", "text": "x"}, {"type": "image", "data": "AA"}], toolCallId="c1"),
    pi("compaction", summary="We did much.", firstKeptEntryIndex=1, tokensBefore=9),
    pi_message("bashExecution", command="ls", output="a.py", exitCode=0),
    pi_message("assistant", [{"type": "text", "text": "Done"}], model="model-x", stopReason="stop"),
]


# ------------------------------------------------------------------------------------------- SWE-agent


def entry(role: str, content: Any, **more: Any) -> Record:
    return {"role": role, "content": content, "agent": "main", **more}


def function(call_id: str, name: str = "bash", arguments: str = '{"command": "ls"}') -> Record:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def step(response: str, action: str, observation: str) -> Record:
    return {"action": action, "observation": observation, "response": response, "thought": "", "state": "{}"}


def trajectory(*history: Any, **more: Any) -> Record:
    steps = [step("Look.\n\n```\nls -a\n```", "ls -a\n", "a.py")]
    return {"environment": "main", "trajectory": steps, "history": list(history), "info": {}, **more}


SWE_AGENT = trajectory(
    entry("system", "You are an engineer.", message_type="system_prompt"),
    entry("user", [{"type": "text", "text": "Shown before"}], message_type="demonstration", is_demo=True),
    entry("user", "Fix the login"),
    entry("assistant", "Look.\n\n```\nls -a\n```", thought="Look.", action="ls -a\n"),
    entry("user", "a.py"),
    entry(
        "assistant", "Now edit.", action="edit a.py", tool_calls=[function("c1")], thinking_blocks=[{"thinking": "Hm"}]
    ),
    entry("tool", [{"type": "text", "text": "edited"}], tool_call_ids=["c1"]),
    entry("assistant", "Done", action=""),
    replay_config=json.dumps({"agent": {"model": {"name": "model-x"}}}),
)
