"""Managers of context windows that can be measured: ours, the controls, the ceilings, and others' if they are installed.

A manager is one function, `Fit`: messages and a budget in, messages out. One file is one adapter; a new one is a file and
a line in `ADAPTERS`.

Law: nothing is imported until it is measured; what is absent is named with the reason. A manager sees the history before
a turn alone. Only the ceilings know what comes later.
"""

import importlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from typing import Any

from undrift.bench.sessions import Case
from undrift.errors import InputError

__all__ = ["ADAPTERS", "Fit", "Message", "NEEDS_A_MODEL", "WindowManager", "installed", "named", "of_package"]

Message = dict[str, Any]
"""A message of the Anthropic form, with a list of blocks."""

Fit = Callable[[Sequence[Message], int], Sequence[Message]]
"""Gets the whole history before a turn and a budget in tokens, and gives the messages that are sent.

The history grows from call to call, and its messages stay the same objects; they must not be changed. The budget is
for the messages alone: the system text is sent beside them.
"""


@dataclass(frozen=True, slots=True)
class WindowManager:
    """A manager that can be measured.

    Args:
        package: The distribution that it comes from; empty for a part of this program.
        version: Its version, or the date of the rule that is simulated.
        how: The configuration, in a few words.
        start: Opens it for one session.
    """

    name: str
    package: str
    version: str
    how: str
    start: Callable[[Case], AbstractContextManager[Fit]]


ADAPTERS = (
    "langchain_trim",
    "langchain_trim_agent",
    "langchain_clear",
    "pydantic_ai_clear",
    "pydantic_ai_window",
    "headroom",
    "strands",
    "adk",
    "agent_framework",
    "openai_agents",
    "llama_index",
)
"""The modules of this package that hold an adapter of another's manager. Each has `find() -> WindowManager`."""

NEEDS_A_MODEL = (
    ("LangChain SummarizationMiddleware", "langchain"),
    ("deepagents summarization", "deepagents"),
    ("pydantic-ai-harness SummarizingCompaction", "pydantic-ai-harness"),
    ("Strands SummarizingConversationManager", "strands-agents"),
    ("Google ADK EventsCompactionConfig", "google-adk"),
    ("MS Agent Framework SummarizationStrategy", "agent-framework-core"),
    ("OpenAI Agents SDK OpenAIResponsesCompactionSession", "openai-agents"),
    ("llama-index ChatSummaryMemoryBuffer", "llama-index-core"),
    ("mem0", "mem0ai"),
    ("OpenHands LLM condenser", "openhands-sdk"),
)
"""Strategies of others that ask a model. No text stands in for its answer, so they are not run."""


def installed() -> tuple[list[WindowManager], list[str]]:
    """Return the managers of others that can be measured here, and of the rest why not."""
    found: list[WindowManager] = []
    absent: list[str] = []
    for name in ADAPTERS:
        adapter = importlib.import_module(f"{__name__}.{name}")
        try:
            found.append(adapter.find())
        except (ImportError, AttributeError, PackageNotFoundError) as error:
            absent.append(
                f"{(adapter.__doc__ or name).partition(chr(10))[0]} not installed, or another version of it ({error})"
            )
    return found, absent


def of_package(name: str, module: str) -> Any:
    """Import a module of another's package, only now. `name`: the adapter, for the reader of the error."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"{name} needs {module}: {error}") from error


def named(address: str) -> WindowManager:
    """Return the manager that a user wrote: ``MODULE:FUNCTION``, a `Fit`. Raises InputError: there is none."""
    module, _, function = address.partition(":")
    try:
        fit: Fit = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"{address}: is no function that can be imported ({error}); write MODULE:FUNCTION") from error
    return WindowManager(address, "", "", "as it is", lambda _: nullcontext(fit))
