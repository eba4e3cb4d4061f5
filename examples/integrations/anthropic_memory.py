"""Claude's memory tool over undrift's store. Runs offline: the provider is a script on the loopback interface.

    pip install undrift anthropic
    python examples/integrations/anthropic_memory.py

Two conversations share one memory: what the first writes down, the second finds, and going back in time takes it away.
"""

import tempfile
from typing import Any

import anthropic
from anthropic import beta_tool

from undrift import Session
from undrift.integrations.anthropic_memory import UndriftMemoryTool
from undrift.testing import Say, ScriptedProvider, Use

NOTE = "# Decisions\n- Local runs use SQLite\n"
FIRST = (
    Use("memory", {"command": "view", "path": "/memories"}),
    Use("memory", {"command": "create", "path": "/memories/project/decisions.md", "file_text": NOTE}),
    Say("I wrote it down."),
)
SECOND = (
    Use("memory", {"command": "view", "path": "/memories"}),
    Use("memory", {"command": "view", "path": "/memories/project/decisions.md"}),
    Say("Local runs use SQLite."),
)


@beta_tool
def list_modules() -> str:
    """List the modules of the project."""
    return "app.py store.py"


def converse(question: str, script: Any, tool: UndriftMemoryTool) -> None:
    """Run one conversation to its end, and print its first and its last window."""
    with ScriptedProvider(script) as provider:
        client = anthropic.Anthropic(base_url=provider.url, api_key="none", max_retries=0)
        message = client.beta.messages.tool_runner(
            model="claude-sonnet-5-5",
            max_tokens=1_000,
            messages=[{"role": "user", "content": question}],
            tools=[tool, list_modules],
            thread=False,  # each request carries the whole window, so that it can be shown
        ).until_done()
        windows = [seen.body["messages"] for seen in provider.requests if seen.kind == "main"]
    print(f"user: {question}\nClaude: {message.content[-1].text}")
    print(
        f"window before: {len(windows[0])} message; after: {len(windows[-1])} messages, what the tool answered among them:"
    )
    for part in (part for sent in windows[-1] for part in sent["content"] if not isinstance(part, str)):
        if part["type"] == "tool_result":
            print("    " + str(part["content"]).replace("\n", "\n    "))


def main() -> None:
    """Run both conversations, then take the memory back."""
    with tempfile.TemporaryDirectory() as home, UndriftMemoryTool("project", home=home) as tool:
        converse("Which database do we use for local runs? SQLite. Remember it.", FIRST, tool)
        converse("Which database do we use for local runs?", SECOND, tool)
        with Session.open("project", home=home) as session:
            session.rewind(0)
        print(
            "after the session was taken back to its beginning:\n    "
            + tool.files.view("/memories").replace("\n", "\n    ")
        )


if __name__ == "__main__":
    main()
