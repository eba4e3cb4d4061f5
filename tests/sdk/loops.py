"""Agent loops over the SDKs, as their documentation writes them, with a tool whose results are long."""

from typing import Any

from undrift.testing import Say, ScriptedProvider, Turn, Use

TOOL = {"name": "read", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}}}
FUNCTION = {"type": "function", "function": {"name": "read", "parameters": TOOL["input_schema"]}}
CLAUDE = "claude-opus-4-5"
GPT = "gpt-5.5"
PARTS = {"api_key": "none", "max_retries": 0}


def script(reads: int) -> list[Turn]:
    """Some reads of files, and a last word."""
    return [*(Use("read", {"path": f"part_{number}.py"}) for number in range(reads)), Say("Done.")]


def text_of(path: str) -> str:
    """A file of about 700 tokens, another one for each path."""
    return "\n".join(f"{path}:{line} total_{line} = add({line}, scale) # keeps the unit" for line in range(40))


def provider(reads: int) -> ScriptedProvider:
    """A provider whose model reads some files."""
    return ScriptedProvider(script(reads))


def claude_loop(client: Any, words: str = "Fix the totals.", turns: int = 99) -> list[Any]:
    """The loop of Anthropic's documentation; return the history."""
    messages: list[Any] = [{"role": "user", "content": words}]
    for _ in range(turns):
        reply = client.messages.create(model=CLAUDE, max_tokens=999, tools=[TOOL], messages=messages)
        messages.append({"role": "assistant", "content": reply.content})
        if reply.stop_reason != "tool_use":
            break
        messages.append({"role": "user", "content": results(reply)})
    return messages


def results(reply: Any) -> list[dict[str, Any]]:
    """The results of the calls in an answer of Anthropic's."""
    return [
        {"type": "tool_result", "tool_use_id": block.id, "content": text_of(block.input["path"])}
        for block in reply.content
        if block.type == "tool_use"
    ]
