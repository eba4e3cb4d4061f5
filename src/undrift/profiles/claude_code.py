"""Claude Code, as 2.1.330 and its recordings are. Pure."""

import re

from undrift.profiles.base import ClientTool, GivenBack, PlanTool, Profile, Recall

__all__ = ["PROFILE"]

_CREATED = re.compile(r"\bTask #(?P<key>\w{1,64}) created")
_SHOWN = re.compile(r"^#(?P<key>\w{1,64}) \[(?P<status>\w{1,20})\] (?P<text>.{1,4000})$", re.MULTILINE)

_OTHERS = (
    "AskUserQuestion", "BashOutput", "CronCreate", "CronDelete", "CronList", "EnterPlanMode", "EnterWorktree",
    "ExitPlanMode", "ExitWorktree", "KillShell", "ListAgents", "ListMcpResourcesTool", "ReadMcpResourceDirTool",
    "ReadMcpResourceTool", "ReportFindings", "ScheduleWakeup", "Skill", "SlashCommand", "TaskOutput", "TaskStop",
    "Workflow",
)  # fmt: skip

_TOOLS = (
    ClientTool("Read", "read", path="file_path"),
    ClientTool("NotebookRead", "read", path="notebook_path"),
    ClientTool("Grep", "search", path="path", pattern="pattern"),
    ClientTool("Glob", "search", path="path", pattern="pattern"),
    ClientTool("LS", "search", path="path"),
    ClientTool("LSP", "search", path="filePath"),
    ClientTool("WebFetch", "fetch", path="url"),
    ClientTool("WebSearch", "fetch", pattern="query"),
    ClientTool("Edit", "edit", path="file_path", old="old_string", new="new_string"),
    ClientTool("MultiEdit", "edit", path="file_path", old="old_string", new="new_string"),
    ClientTool("Write", "edit", path="file_path"),
    ClientTool("NotebookEdit", "edit", path="notebook_path"),
    ClientTool("Bash", "shell", command="command"),
    ClientTool("PowerShell", "shell", command="command"),
    ClientTool("Monitor", "shell", command="command"),
    ClientTool("TodoWrite", "plan", plan=PlanTool("list", text="todos")),
    ClientTool("TodoRead", "plan", plan=PlanTool()),
    ClientTool("TaskCreate", "plan", plan=PlanTool("create", text="subject", result=_CREATED)),
    ClientTool("TaskUpdate", "plan", plan=PlanTool("update", text="subject", key="taskId")),
    ClientTool("TaskList", "plan", plan=PlanTool("show", result=_SHOWN)),
    ClientTool("TaskGet", "plan", plan=PlanTool()),
    ClientTool("ToolSearch", "load", pattern="query"),
    *(ClientTool(name, "agent") for name in ("Agent", "Task", "SendMessage")),
    *(ClientTool(name, "other") for name in _OTHERS),
)

PROFILE = Profile(
    name="claude",
    title="Claude Code",
    version="2.1.330",
    format="claude-code",
    agents=("claude-cli",),
    tools=_TOOLS,
    always_tools=True,
    is_typed=True,
    sub_agent_headers=("x-claude-code-agent-id",),
    recall=Recall(
        has_shell=True,
        allowing=("Bash(undrift recall:*)",),
        variable="CLAUDECODE",
        mcp_tool="mcp__undrift__{tool}",
    ),
    gives_back=GivenBack(files=5, file_tokens=5_000, newest_tokens=10_000),  # the newest answer stays since 2.1.219
    gives_up=3,
)
"""Claude Code."""
