"""A loop of one's own over the SDK of a provider: ``own_loop.py anthropic|chat|responses|gemini TASK``. Streams each answer."""

import json
import subprocess
import sys
from typing import Any

SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
MODEL = "gpt-5.5"


def shell(command: str) -> str:
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False).stdout


def anthropic(task: str) -> str:
    from anthropic import Anthropic

    client = Anthropic()
    messages: list[Any] = [{"role": "user", "content": task}]
    tool = {"name": "shell", "description": "Run a command.", "input_schema": SCHEMA}
    while True:
        with client.messages.stream(
            model="claude-sonnet-4-5", max_tokens=1000, messages=messages, tools=[tool]
        ) as stream:
            answer = stream.get_final_message()
        messages.append({"role": "assistant", "content": answer.content})
        calls = [block for block in answer.content if block.type == "tool_use"]
        if not calls:
            return "".join(block.text for block in answer.content if block.type == "text")
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": shell(call.input["command"])} for call in calls
        ]
        messages.append({"role": "user", "content": results})


def chat(task: str) -> str:
    from openai import OpenAI

    client = OpenAI()
    messages: list[Any] = [{"role": "user", "content": task}]
    tool = {"type": "function", "function": {"name": "shell", "description": "Run a command.", "parameters": SCHEMA}}
    while True:
        with client.chat.completions.stream(model=MODEL, messages=messages, tools=[tool]) as stream:
            message = stream.get_final_completion().choices[0].message
        calls = message.tool_calls or []
        if not calls:
            return message.content or ""
        made = [
            call.model_dump(include={"id": True, "type": True, "function": {"name", "arguments"}}) for call in calls
        ]
        messages.append({"role": "assistant", "content": message.content, "tool_calls": made})
        for call in calls:
            output = shell(json.loads(call.function.arguments)["command"])
            messages.append({"role": "tool", "tool_call_id": call.id, "content": output})


def responses(task: str) -> str:
    from openai import OpenAI

    client = OpenAI()
    items: list[Any] = [{"role": "user", "content": task}]
    tool = {"type": "function", "name": "shell", "description": "Run a command.", "parameters": SCHEMA, "strict": False}
    while True:
        with client.responses.stream(
            model=MODEL, input=items, tools=[tool], store=False, include=["reasoning.encrypted_content"]
        ) as stream:
            answer = stream.get_final_response()
        calls = [item for item in answer.output if item.type == "function_call"]
        if not calls:
            return answer.output_text
        items += [item.model_dump(exclude_none=True, exclude={"parsed_arguments", "status"}) for item in answer.output]
        for call in calls:
            output = shell(json.loads(call.arguments)["command"])
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": output})


def gemini(task: str) -> str:
    from google import genai
    from google.genai import types

    client = genai.Client()
    declared = {"name": "shell", "description": "Run a command.", "parameters_json_schema": SCHEMA}
    config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=[declared])])
    contents = [types.Content(role="user", parts=[types.Part(text=task)])]
    while True:
        parts: list[Any] = []
        for chunk in client.models.generate_content_stream(model="gemini-3.8-flash", contents=contents, config=config):
            parts += chunk.candidates[0].content.parts or []
        contents.append(types.Content(role="model", parts=parts))
        calls = [part.function_call for part in parts if part.function_call]
        if not calls:
            return "".join(part.text or "" for part in parts if not part.thought)
        results = [
            types.Part(
                function_response=types.FunctionResponse(
                    id=call.id, name=call.name, response={"output": shell(call.args["command"])}
                )
            )
            for call in calls
        ]
        contents.append(types.Content(role="user", parts=results))


if __name__ == "__main__":
    print({"anthropic": anthropic, "chat": chat, "responses": responses, "gemini": gemini}[sys.argv[1]](sys.argv[2]))
