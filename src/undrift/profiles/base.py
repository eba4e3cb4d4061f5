"""The values of a client profile: its tools, its requests, and what its agent can do. Frozen, pure.

Law: a profile says what a recording of the real program shows. It decides nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = [
    "Act",
    "ClientTool",
    "GivenBack",
    "Kind",
    "PlanTool",
    "Profile",
    "Recall",
]

Kind = Literal["read", "search", "fetch", "edit", "shell", "plan", "load", "agent", "other"]
"""``fetch``: reads a page of the web. ``load``: gives the model tools that it could not see. ``agent``: asks a sub-agent."""


@dataclass(frozen=True, slots=True)
class PlanTool:
    """The way a tool changes or shows the client's own plan.

    Args:
        act: ``list`` replaces the whole plan. ``create`` and ``update`` are about one task, ``show`` prints all of them.
        text: The argument with the text of a task, or with the list.
        key: The argument with the number of a task.
        series: Tells the numbers of one list from those of another.
        result: Finds the tasks in the tool's result, by the groups ``key``, ``status`` and ``text``.
    """

    act: Literal["list", "create", "update", "show", "none"] = "none"
    text: str = ""
    key: str = ""
    series: str = "task"
    result: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True)
class ClientTool:
    """One tool of a client, and the names of the arguments that matter.

    Args:
        name: As the client writes it.
        path: The argument with the file or folder.
        command: The argument with a shell command.
        pattern: The argument with what is searched for.
        patch: The argument with a patch in the form of Codex.
        old: The argument with the text that an edit replaces.
        new: The argument with the text that an edit writes.
        code: The argument with JavaScript that makes the calls.
        task: The argument with the task of a sub-agent.
        report: The beginning of the result in which a sub-agent's last message stands, with the group ``agent`` for what
            the client calls it, and the end of that result.
        kinds: The kinds of single acts, by the value of the argument `command`.
    """

    name: str
    kind: Kind
    path: str = ""
    command: str = ""
    pattern: str = ""
    patch: str = ""
    old: str = ""
    new: str = ""
    code: str = ""
    task: str = ""
    report: tuple[re.Pattern[str], str] | None = None
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    plan: PlanTool | None = None


@dataclass(frozen=True, slots=True)
class Act:
    """One thing that a call does. A call of a tool that runs code may do several.

    Args:
        tool: The name as called, for code the one inside the code.
        given: The arguments, as far as they can be read.
        patch: A patch in the form of Codex.
        old: The texts that an edit replaces.
        new: The texts that an edit writes in their place.
    """

    kind: Kind
    tool: str
    given: Mapping[str, Any] = field(default_factory=dict)
    path: str = ""
    command: str = ""
    pattern: str = ""
    patch: str = ""
    old: tuple[str, ...] = ()
    new: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recall:
    """The ways in which the client's agent can recall what left.

    Args:
        has_shell: Whether its agent can run ``undrift recall`` in a shell, perhaps after a question to the user.
        in_login_shell: Whether that shell is the user's login shell, whose PATH may be another one.
        allowing: The words that allow the command without a question: for Claude Code in its settings, else in its command
            line; empty if there are none.
        variable: The environment variable that the client sets for the commands of its agent; empty if it sets none.
        mcp_tool: The name of a tool of our MCP server as the model sees it; ``{tool}`` is the place of the tool's own name.
    """

    has_shell: bool = False
    in_login_shell: bool = False
    allowing: tuple[str, ...] = ()
    variable: str = ""
    mcp_tool: str = ""

    def rules(self, command: str) -> tuple[str, ...]:
        """Return the words that allow ``undrift recall`` under both of its spellings.

        `command`: the words that start it in full, as the hooks' text names it.
        """
        full = (rule.replace("undrift recall", command) for rule in self.allowing)
        return tuple(dict.fromkeys((*self.allowing, *full)))


@dataclass(frozen=True, slots=True)
class GivenBack:
    """The contents that the client gives back by itself after its own compaction.

    Args:
        files: The most files that it attaches again.
        file_tokens: The most tokens of one of them.
        user_tokens: The most tokens of the user's texts that stay word for word.
        newest_tokens: The most tokens of the agent's newest answer and the results of its calls, which stay together word
            for word; more than any that is known to have stayed count as lost.
    """

    files: int = 0
    file_tokens: int = 0
    user_tokens: int = 0
    newest_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Profile:
    """One client as it is.

    Args:
        name: As one types it behind ``undrift install`` and ``undrift wrap``.
        version: The release that was recorded.
        format: The name of its recordings' format, if it has one of its own.
        agents: The beginnings of its user agents.
        systems: The beginnings of its system prompt; for clients that come under the name of an SDK.
        always_tools: Whether each request of a conversation offers tools, so that one without is a side request.
        sub_agent_headers: Headers that only a sub-agent's request has, beside that with its parent's session.
        family_headers: The headers with a request's own session and with its parent's; empty where the client sends none.
        is_typed: Whether a text of the user, alone in its message, is what a person typed. False: it may be the output of a tool.
        set_up: The beginnings of texts that it writes in the user's name before the first words of the user.
        gives_up: The client ends a session after so many compactions in a row, each within three answers of the last; 0 for
            never.
    """

    name: str
    title: str
    version: str = ""
    format: str = ""
    agents: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    tools: tuple[ClientTool, ...] = ()
    always_tools: bool = False
    sub_agent_headers: tuple[str, ...] = ()
    family_headers: tuple[str, str] = ("", "")
    recall: Recall = Recall()
    gives_back: GivenBack = GivenBack()
    gives_up: int = 0
    is_typed: bool = False
    set_up: tuple[str, ...] = ()
