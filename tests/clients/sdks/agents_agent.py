"""An agent of the OpenAI Agents SDK with a session of its own: ``agents_agent.py responses|chat TASK``."""

import subprocess
import sys

from agents import Agent, Runner, SQLiteSession, function_tool, set_default_openai_api, set_tracing_disabled


@function_tool
def shell(command: str) -> str:
    """Run a command."""
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False).stdout


if __name__ == "__main__":
    set_tracing_disabled(True)
    set_default_openai_api("responses" if sys.argv[1] == "responses" else "chat_completions")
    agent = Agent("reader", model="gpt-5.5", tools=[shell])
    print(Runner.run_sync(agent, sys.argv[2], session=SQLiteSession("one"), max_turns=50).final_output)
