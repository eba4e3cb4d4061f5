"""An agent on OpenAI's SDK (Chat Completions) that reads files and runs commands, in windows of at most 20,000 tokens.

    pip install undrift openai
    export OPENAI_API_KEY=...
    python examples/loops/openai_chat_loop.py "Find out why the tests fail."

The model's commands run on your machine: use a container. `python examples/offline.py` runs it with a scripted model.
"""

import json
import subprocess
import sys
from pathlib import Path

from openai import OpenAI

import undrift


def tool(name: str, argument: str) -> dict:
    schema = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


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


client = undrift.wrap(OpenAI(), settings=undrift.Settings(budget_tokens=20_000), on_prepared=show)
messages = [{"role": "user", "content": sys.argv[1]}]
tools = [tool("read_file", "path"), tool("run", "command")]
while True:
    reply = client.chat.completions.create(model="gpt-5.5", messages=messages, tools=tools)
    message = reply.choices[0].message
    messages.append(message)
    if message.content:
        print(message.content)
    if not message.tool_calls:
        break
    for call in message.tool_calls:
        given = json.loads(call.function.arguments)
        print(call.function.name, *given.values())
        result = use(call.function.name, given)
        messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
