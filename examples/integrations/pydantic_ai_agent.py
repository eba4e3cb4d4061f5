"""A Pydantic AI agent whose window undrift manages. Runs offline: the model is a script.

pip install undrift pydantic-ai-slim
python examples/integrations/pydantic_ai_agent.py
"""

import tempfile
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from undrift import Session, Settings
from undrift.integrations.pydantic_ai import UndriftHistory

FILES = 24


def read_file(name: str) -> str:
    """Return a file of the project."""
    return "\n".join(f"{name}:{line}: value_{line} = compute({line}, mode='{name}')" for line in range(60))


def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Read one file after the other, then answer."""
    asked = [part.args_as_dict()["name"] for one in messages for part in one.parts if isinstance(part, ToolCallPart)]
    number = max((int(name[6:8]) for name in asked), default=0) + 1
    if number > FILES:
        return ModelResponse([TextPart("All files are read.")])
    return ModelResponse([ToolCallPart("read_file", {"name": f"module{number:02}.py"}, f"call_{number}")])


def main() -> None:
    """Run the agent, and print each window before and after."""
    windows: list[Any] = []

    def show(prepared: Any) -> None:
        windows.append(prepared)
        print(
            f"{len(windows):4}  {prepared.tokens_before:14,}  {prepared.tokens_after:17,}  {prepared.budget_tokens:6,}"
        )

    settings = Settings(budget_tokens=5_000)  # the scripted model counts words, and undrift believes what it reports
    with tempfile.TemporaryDirectory() as home, Session.open("example", home=home, settings=settings) as session:
        session.pin("requirements", "Read every module. Never change a file.")
        history = UndriftHistory(session, on_prepared=show)
        agent = Agent(FunctionModel(scripted), instructions="You read code.", tools=[read_file], capabilities=[history])
        print("call  history's tokens  sent to the model  budget")
        result = agent.run_sync("Read the project.")
        print(f"\nThe run's own history has all {len(result.all_messages())} messages; its answer: {result.output}")
        left = next(action for action in windows[-1].actions if action.tokens_saved > 0)
        print(f"The first block that left: {left.reason}. recall({left.ref}): {session.recall(left.ref)[:60]!r}")


if __name__ == "__main__":
    main()
