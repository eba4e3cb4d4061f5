"""An agent on Anthropic's SDK that reads files and runs commands, in windows of at most 20,000 tokens.

    pip install undrift anthropic
    export ANTHROPIC_API_KEY=...
    python examples/loops/anthropic_loop.py "Find out why the tests fail."

The model's commands run on your machine: use a container. `python examples/offline.py` runs it with a scripted model.
"""

import subprocess
import sys
from pathlib import Path

from anthropic import Anthropic

import undrift


def tool(name: str, argument: str) -> dict:
    schema = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return {"name": name, "description": f"{name} on this machine", "input_schema": schema}


def use(name: str, given: dict) -> str:
    try:
        if name == "read_file":
            return Path(given["path"]).read_text()
        done = subprocess.run(given["command"], shell=True, capture_output=True, text=True, timeout=600)
        return done.stdout + done.stderr
    except Exception as error:  # the model reads what went wrong
        return f"{type(error).__name__}: {error}"


def show(prepared: undrift.Prepared) -> None:
    for action in prepared.new:
        if action.tokens_saved > 100:  # a call leaves with its result
            print(f"  {action.what} {action.kind}, {action.tokens_saved:,} tokens: {action.reason}")


client = undrift.wrap(Anthropic(), settings=undrift.Settings(budget_tokens=20_000), on_prepared=show)
messages = [{"role": "user", "content": sys.argv[1]}]
tools = [tool("read_file", "path"), tool("run", "command")]
while True:
    reply = client.messages.create(model="claude-sonnet-4-6", max_tokens=8_000, messages=messages, tools=tools)
    messages.append({"role": "assistant", "content": reply.content})
    results = []
    for block in reply.content:
        if block.type == "text":
            print(block.text)
        elif block.type == "tool_use":
            print(block.name, *block.input.values())
            result = use(block.name, block.input)
            results.append({"type": "tool_result", "tool_use_id": block.id, "content": result})
    if not results:
        break
    messages.append({"role": "user", "content": results})
