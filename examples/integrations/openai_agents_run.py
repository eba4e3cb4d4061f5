"""An agent of the OpenAI Agents SDK whose items and window undrift keeps. Runs offline: the model is a script.

pip install undrift openai-agents
python examples/integrations/openai_agents_run.py
"""

import asyncio
import tempfile
from typing import Any

from agents import Agent, RunConfig, Runner, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call

from undrift import Session, Settings
from undrift.integrations.openai_agents import UndriftSession, undrift_filter

FILES = 24


@function_tool
def read_file(name: str) -> str:
    """Return a file of the project."""
    return "\n".join(f"{name}:{line}: value_{line} = compute({line}, mode='{name}')" for line in range(60))


async def main() -> None:
    """Run the agent twice on one session, and print each window before and after."""
    set_tracing_disabled(True)
    calls = [function_call("read_file", {"name": f"module{n:02}.py"}, call_id=f"call_{n}") for n in range(1, FILES + 1)]
    script = [*([call] for call in calls), [assistant_message("All files are read.")], [assistant_message("24 files.")]]
    model = ScriptedModel(script)
    agent = Agent("reader", instructions="You read code.", model=model, tools=[read_file])
    windows: list[Any] = []

    def show(prepared: Any) -> None:
        windows.append(prepared)
        print(
            f"{len(windows):4}  {prepared.tokens_before:14,}  {prepared.tokens_after:17,}  {prepared.budget_tokens:6,}"
        )

    with (
        tempfile.TemporaryDirectory() as home,
        Session.open("run-42", home=home, settings=Settings(budget_tokens=12_000)) as session,
        UndriftSession("run-42-items", home=home) as items,
    ):
        print("call  history's tokens  sent to the model  budget")
        config = RunConfig(call_model_input_filter=undrift_filter(session, on_prepared=show))
        for text in ("Read the project.", "How many files were there?"):
            result = await Runner.run(agent, text, session=items, run_config=config, max_turns=FILES + 2)
            print(f"user: {text}\nagent: {result.final_output}")
        kept = await items.get_items()
        sent = model.last_call.input if model.last_call is not None else []
        print(f"\nThe session holds all {len(kept)} items; the last window had {len(sent)}.")
        left = next(action for action in windows[-1].actions if action.tokens_saved > 0)
        print(f"The first block that left: {left.reason}. recall({left.ref}): {session.recall(left.ref)[:60]!r}")


if __name__ == "__main__":
    asyncio.run(main())
