"""An agent of Pydantic AI: ``pydantic_agent.py anthropic|openai|google TASK``."""

import subprocess
import sys

from pydantic_ai import Agent

MODELS = {"anthropic": "anthropic:claude-sonnet-4-5", "openai": "openai:gpt-5.5", "google": "google:gemini-3.8-flash"}


def shell(command: str) -> str:
    """Run a command."""
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False).stdout


if __name__ == "__main__":
    print(Agent(MODELS[sys.argv[1]], tools=[shell]).run_sync(sys.argv[2]).output)
