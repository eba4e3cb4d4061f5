"""A LangChain agent whose window undrift manages. Runs offline: the model is a script.

pip install undrift langchain
python examples/integrations/langchain_agent.py
"""

import tempfile
from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool

from undrift import Session, Settings
from undrift.integrations.langchain import UndriftMiddleware

FILES = 24


@tool
def read_file(name: str) -> str:
    """Return a file of the project."""
    return "\n".join(f"{name}:{line}: value_{line} = compute({line}, mode='{name}')" for line in range(60))


class ScriptedModel(BaseChatModel):
    """Reads one file after the other, then answers."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Any:
        """Take the tools as they are: the script knows them."""
        return self

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        asked = [
            call["args"]["name"]
            for message in messages
            if isinstance(message, AIMessage)
            for call in message.tool_calls
        ]
        number = max((int(name[6:8]) for name in asked), default=0) + 1
        if number > FILES:
            answer = AIMessage("All files are read.")
        else:
            call = {"name": "read_file", "args": {"name": f"module{number:02}.py"}, "id": f"call_{number}"}
            answer = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=answer)])


def main() -> None:
    """Run the agent, and print each window before and after."""
    settings = Settings(budget_tokens=12_000)
    with tempfile.TemporaryDirectory() as home, Session.open("example", home=home, settings=settings) as session:
        session.pin("requirements", "Read every module. Never change a file.")
        print("call  messages' tokens  sent to the model  budget")
        calls: list[Any] = []

        def show(prepared: Any) -> None:
            calls.append(prepared)
            print(
                f"{len(calls):4}  {prepared.tokens_before:16,}  {prepared.tokens_after:17,}  {prepared.budget_tokens:6,}"
            )

        agent = create_agent(
            ScriptedModel(),
            [read_file],
            system_prompt="You read code.",
            middleware=[UndriftMiddleware(session, on_prepared=show)],
        )
        result = agent.invoke({"messages": [("user", "Read the project.")]}, {"recursion_limit": 200})
        left = next(action for action in calls[-1].actions if action.tokens_saved > 0)
        print(
            f"\nThe agent's own state has all {len(result['messages'])} messages; its answer: {result['messages'][-1].text}"
        )
        print(f"The first block that left: {left.reason}. recall({left.ref}): {session.recall(left.ref)[:60]!r}")


if __name__ == "__main__":
    main()
