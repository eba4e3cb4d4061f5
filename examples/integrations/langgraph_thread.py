"""A LangGraph agent that lives in undrift: checkpoints, long-term items and windows in one home. Runs offline.

    pip install undrift langchain langgraph
    python examples/integrations/langgraph_thread.py

The first run is stopped half-way and everything is closed; the second opens the home again and goes on with the thread.
"""

import tempfile
from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool

from undrift import Settings
from undrift.integrations.langchain import UndriftMiddleware
from undrift.integrations.langgraph import UndriftSaver, UndriftStore

SETTINGS = Settings(budget_tokens=12_000)
THREAD: Any = {"configurable": {"thread_id": "reading"}, "recursion_limit": 200}


@tool
def read_file(name: str) -> str:
    """Return a file of the project."""
    return "\n".join(f"{name}:{line}: value_{line} = compute({line}, mode='{name}')" for line in range(60))


class ScriptedModel(BaseChatModel):
    """Reads files up to a number, then answers."""

    until: int

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Any:
        """Take the tools as they are: the script knows them."""
        return self

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        calls = [call for message in messages if isinstance(message, AIMessage) for call in message.tool_calls]
        number = max((int(call["args"]["name"][6:8]) for call in calls), default=0) + 1
        answer = AIMessage(f"{self.until} files are read.")
        if number <= self.until:
            call = {"name": "read_file", "args": {"name": f"module{number:02}.py"}, "id": f"call_{number}"}
            answer = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=answer)])


def run(home: str, text: str, until: int) -> None:
    """Open the home, run the thread on, print the windows and what was found, close everything."""
    windows: list[Any] = []
    middleware = UndriftMiddleware(home=home, settings=SETTINGS, on_prepared=windows.append)
    with UndriftSaver(home, settings=SETTINGS) as saver, UndriftStore(home, settings=SETTINGS) as store:
        agent = create_agent(
            ScriptedModel(until=until), [read_file], middleware=[middleware], checkpointer=saver, store=store
        )
        before = len(agent.get_state(THREAD).values.get("messages", ()))
        result = agent.invoke({"messages": [("user", text)]}, THREAD)
        store.put(("project",), text, {"answer": result["messages"][-1].text})
        found = [(item.key, item.value["answer"]) for item in store.search(("project",), query="which files are read")]
    middleware.close()
    last = windows[-1]
    print(f"user: {text}\nagent: {result['messages'][-1].text}")
    print(f"  the thread had {before} messages, now it has {len(result['messages'])}")
    print(
        f"  last window: {last.tokens_before:,} tokens before, {last.tokens_after:,} after, budget {last.budget_tokens:,}"
    )
    print(f"  the store finds: {found}")


def main() -> None:
    """Run the thread, and run it on after a restart."""
    with tempfile.TemporaryDirectory() as home:
        run(home, "Read the first half.", 12)
        run(home, "Read the second half.", 24)


if __name__ == "__main__":
    main()
