"""Small message lists and events, as the clients that keep such lists write them; every value is made up."""

import json
from typing import Any

from undrift import transcripts
from undrift.transcripts import Recording

Record = dict[str, Any]


def said(role: str, content: Any = ..., **more: Any) -> Record:
    """A message; without a content where none is given."""
    return {"role": role, **({} if content is ... else {"content": content}), **more}


def asked(call_id: str, name: str = "bash", arguments: Any = '{"command": "ls"}') -> Record:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def answered(call_id: str, content: Any = "a.py") -> Record:
    return said("tool", content, tool_call_id=call_id)


def event(number: int, source: str, **fields: Any) -> Record:
    """An event of OpenHands; `number` is its id."""
    stamp = f"2026-01-02T03:04:{number % 60:02}.000001"
    return {"id": number, "timestamp": stamp, "source": source, "message": "shown only", **fields}


def act(number: int, action: str, source: str = "agent", asked: Any = None, **args: Any) -> Record:
    return event(number, source, action=action, args=args, **({"tool_call_metadata": asked} if asked else {}))


def observed(number: int, cause: int, observation: str = "run", content: Any = "a.py", **more: Any) -> Record:
    return event(number, "agent", observation=observation, cause=cause, content=content, **{"extras": {}, **more})


def requested(call_id: str, response_id: str, *calls: Record, name: str = "execute_bash") -> Record:
    """What OpenHands keeps beside an action of the model's answer."""
    message = {"role": "assistant", "content": "I look.", "tool_calls": list(calls)}
    response = {"id": response_id, "model": "model-x", "choices": [{"message": message}]}
    return {"function_name": name, "tool_call_id": call_id, "model_response": response}


def read_as(name: str, value: Any, indent: int | None = 2) -> Recording:
    """Read a document by a named reader."""
    return transcripts.read(json.dumps(value, indent=indent).splitlines(keepends=True), format=name)
