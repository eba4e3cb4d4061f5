"""Anthropic's tool runner, which asks for message threads of its own accord: ``anthropic_runner.py TASK``."""

import subprocess
import sys

from anthropic import Anthropic, beta_tool


@beta_tool
def shell(command: str) -> str:
    """Run a command.

    Args:
        command: For the shell.
    """
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False).stdout


if __name__ == "__main__":
    runner = Anthropic().beta.messages.tool_runner(
        model="claude-sonnet-4-5",
        max_tokens=1000,
        tools=[shell],
        messages=[{"role": "user", "content": sys.argv[1]}],
    )
    print("".join(block.text for block in runner.until_done().content if block.type == "text"))
