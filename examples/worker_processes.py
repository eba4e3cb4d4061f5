"""Three processes, one home: each works in a session of its own, and all share one memory.

    pip install undrift anthropic
    export ANTHROPIC_API_KEY=...
    python examples/worker_processes.py spawn

Processes may share a home: its sessions, its memory, its originals. They may not share an open Session or a wrapped
client, so each process opens its own after it has started. Then it does not matter whether it was forked or spawned.
"""

import multiprocessing
import sys
from pathlib import Path

from anthropic import Anthropic

import undrift

JOBS = {"north": "Read modules 1 to 8.", "middle": "Read modules 4 to 11.", "south": "Read modules 7 to 14."}
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = [{"name": "read_file", "description": "Read a file.", "input_schema": SCHEMA}]


def work(name: str) -> str:
    """Do one job in this process; its session is `job-NAME`, whoever runs it."""
    windows: list[undrift.Prepared] = []
    with undrift.Session.open(f"job-{name}", settings=undrift.Settings(budget_tokens=12_000)) as session:
        client = undrift.wrap(Anthropic(), session=session, on_prepared=windows.append)
        messages = [{"role": "user", "content": JOBS[name]}]
        while True:
            reply = client.messages.create(model="claude-sonnet-4-6", max_tokens=4_000, messages=messages, tools=TOOLS)
            messages.append({"role": "assistant", "content": reply.content})
            results = [
                {"type": "tool_result", "tool_use_id": call.id, "content": Path(call.input["path"]).read_text()}
                for call in reply.content
                if call.type == "tool_use"
            ]
            if not results:
                break
            messages.append({"role": "user", "content": results})
        session.remember(f"The process {name} says: {reply.content[0].text}", speaker=name)
    last = windows[-1]
    return f"job-{name}: {len(messages)} messages, {last.tokens_before:,} tokens, {last.tokens_after:,} sent"


def main(method: str) -> None:
    context = multiprocessing.get_context(method)
    with context.Pool(len(JOBS)) as pool:
        for line in pool.map(work, JOBS):
            print(line)
    with undrift.Session.open("reader") as session:
        for line in sorted(memory.content for memory in session.memories()):
            print(f"remembered: {line}")


if __name__ == "__main__":
    main(sys.argv[1])
