"""An agent on OpenAI's SDK (Responses) that reads files and runs commands, in windows of at most 20,000 tokens.

    pip install undrift openai
    export OPENAI_API_KEY=...
    python examples/loops/openai_responses_loop.py "Find out why the tests fail."

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
    return {"type": "function", "name": name, "parameters": schema}


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
items = [{"role": "user", "content": sys.argv[1]}]
tools = [tool("read_file", "path"), tool("run", "command")]
while True:
    # Send the whole history each time: with previous_response_id the provider would hold it.
    reply = client.responses.create(model="gpt-5.5", input=items, tools=tools)
    items += reply.output
    if reply.output_text:
        print(reply.output_text)
    calls = [item for item in reply.output if item.type == "function_call"]
    if not calls:
        break
    for call in calls:
        given = json.loads(call.arguments)
        print(call.name, *given.values())
        items.append({"type": "function_call_output", "call_id": call.call_id, "output": use(call.name, given)})
