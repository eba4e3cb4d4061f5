"""An agent on Google's SDK that reads files and runs commands, in windows of at most 20,000 tokens.

    pip install undrift google-genai
    export GEMINI_API_KEY=...
    python examples/loops/gemini_loop.py "Find out why the tests fail."

The model's commands run on your machine: use a container. `python examples/offline.py` runs it with a scripted model.
"""

import subprocess
import sys
from pathlib import Path

from google import genai
from google.genai import types

import undrift


def tool(name: str, argument: str) -> dict:
    schema = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return {"name": name, "description": f"{name} on this machine", "parameters_json_schema": schema}


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


client = undrift.wrap(genai.Client(), settings=undrift.Settings(budget_tokens=20_000), on_prepared=show)
contents = [types.Content(role="user", parts=[types.Part(text=sys.argv[1])])]
declared = [tool("read_file", "path"), tool("run", "command")]
config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=declared)])
while True:
    reply = client.models.generate_content(model="gemini-3.8-flash", contents=contents, config=config)
    contents.append(reply.candidates[0].content)
    results = []
    for part in contents[-1].parts or []:
        if part.text and not part.thought:
            print(part.text)
        elif call := part.function_call:
            print(call.name, *call.args.values())
            answer = {"output": use(call.name, call.args)}
            answer = types.FunctionResponse(id=call.id, name=call.name, response=answer)
            results.append(types.Part(function_response=answer))
    if not results:
        break
    contents.append(types.Content(role="user", parts=results))
