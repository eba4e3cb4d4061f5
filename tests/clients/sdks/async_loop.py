"""A loop of one's own over the asynchronous SDK of a provider: ``async_loop.py anthropic|chat TASK``. Asks for the models first."""

import asyncio
import json
import subprocess
import sys
from typing import Any

SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}


def shell(command: str) -> str:
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False).stdout


async def anthropic(task: str) -> str:
    from anthropic import AsyncAnthropic

    async with AsyncAnthropic() as client:
        await client.models.list()
        messages: list[Any] = [{"role": "user", "content": task}]
        tool: Any = {"name": "shell", "description": "Run a command.", "input_schema": SCHEMA}
        while True:
            answer = await client.messages.create(
                model="claude-sonnet-4-5", max_tokens=1000, messages=messages, tools=[tool]
            )
            messages.append({"role": "assistant", "content": answer.content})
            calls = [block for block in answer.content if block.type == "tool_use"]
            if not calls:
                return "".join(block.text for block in answer.content if block.type == "text")
            results = [
                {"type": "tool_result", "tool_use_id": call.id, "content": shell(call.input["command"])}
                for call in calls
            ]
            messages.append({"role": "user", "content": results})


async def chat(task: str) -> str:
    from openai import AsyncOpenAI

    async with AsyncOpenAI() as client:
        await client.models.list()
        messages: list[Any] = [{"role": "user", "content": task}]
        function = {"name": "shell", "description": "Run a command.", "parameters": SCHEMA}
        tool: Any = {"type": "function", "function": function}
        while True:
            answer = await client.chat.completions.create(model="gpt-5.5", messages=messages, tools=[tool])
            message = answer.choices[0].message
            if not message.tool_calls:
                return message.content or ""
            messages.append(message.model_dump(exclude_none=True))
            for call in message.tool_calls:
                output = shell(json.loads(call.function.arguments)["command"])
                messages.append({"role": "tool", "tool_call_id": call.id, "content": output})


if __name__ == "__main__":
    print(asyncio.run({"anthropic": anthropic, "chat": chat}[sys.argv[1]](sys.argv[2])))
