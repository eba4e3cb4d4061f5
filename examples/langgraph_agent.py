"""A LangGraph agent whose model node asks through a wrapped client; checkpoints and windows live in one home.

    pip install undrift openai langgraph
    export OPENAI_API_KEY=...
    python examples/langgraph_agent.py

The state keeps every message. Only the request is managed, so each window fits the budget. The second question continues
the thread from its checkpoint, in a graph that was built again.
"""

import json
import operator
from pathlib import Path
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from openai import OpenAI

import undrift
from undrift.integrations.langgraph import UndriftSaver

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = [{"type": "function", "function": {"name": "read_file", "parameters": SCHEMA}}]


class State(TypedDict):
    messages: Annotated[list, operator.add]


def show(prepared: undrift.Prepared) -> None:
    if prepared.new:
        print(f"  {len(prepared.new)} changes: {prepared.tokens_before:,} tokens, {prepared.tokens_after:,} sent")


client = undrift.wrap(OpenAI(), settings=undrift.Settings(budget_tokens=16_000), on_prepared=show)


def model(state: State) -> dict:
    reply = client.chat.completions.create(model="gpt-5.5", messages=state["messages"], tools=TOOLS)
    return {"messages": [reply.choices[0].message.model_dump(exclude_none=True)]}


def read_files(state: State) -> dict:
    results = []
    for call in state["messages"][-1]["tool_calls"]:
        path = Path(json.loads(call["function"]["arguments"])["path"])
        text = path.read_text() if path.is_file() else f"there is no file {path}"
        results.append({"role": "tool", "tool_call_id": call["id"], "content": text})
    return {"messages": results}


def has_calls(state: State) -> str:
    return "read_files" if state["messages"][-1].get("tool_calls") else END


def ask(question: str) -> None:
    graph = StateGraph(State).add_node(model).add_node(read_files)
    graph.add_edge(START, "model").add_conditional_edges("model", has_calls).add_edge("read_files", "model")
    print(question)
    with UndriftSaver() as saver:
        config = {"configurable": {"thread_id": "taxes"}, "recursion_limit": 100}
        state = graph.compile(checkpointer=saver).invoke({"messages": [{"role": "user", "content": question}]}, config)
    print(f"  {len(state['messages'])} messages in the thread: {state['messages'][-1]['content']}")


ask("Read modules 1 to 7.")
ask("Now read modules 8 to 14.")
