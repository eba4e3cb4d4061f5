"""opencode, as 1.18.33 and its recordings are. Pure."""

import re

from undrift.profiles.base import ClientTool, PlanTool, Profile, Recall

__all__ = ["PROFILE"]

# A task that continues in the background has another state, and one that failed has no such tags. A long result lacks its end.
_REPORT = re.compile(r'<task id="(?P<agent>[\w-]{1,100})" state="completed">\n<task_result>\n', re.ASCII)
_REPORT_END = "\n</task_result>\n</task>"

_TOOLS = (
    ClientTool("read", "read", path="filePath"),
    ClientTool("grep", "search", path="path", pattern="pattern"),
    ClientTool("glob", "search", path="path", pattern="pattern"),
    ClientTool("list", "search", path="path"),
    ClientTool("webfetch", "fetch", path="url"),
    ClientTool("edit", "edit", path="filePath", old="oldString", new="newString"),
    ClientTool("write", "edit", path="filePath"),
    ClientTool("apply_patch", "edit", patch="patchText"),
    ClientTool("bash", "shell", command="command"),
    ClientTool("todowrite", "plan", plan=PlanTool("list", text="todos")),
    ClientTool("todoread", "plan", plan=PlanTool()),
    ClientTool("task", "agent", task="prompt", report=(_REPORT, _REPORT_END)),
    ClientTool("skill", "other"),
)

PROFILE = Profile(
    name="opencode",
    title="opencode",
    version="1.18.33",
    format="opencode",
    agents=("opencode",),
    tools=_TOOLS,
    always_tools=True,
    is_typed=True,
    family_headers=("x-session-id", "x-parent-session-id"),
    recall=Recall(has_shell=True, mcp_tool="undrift_{tool}"),
)
"""opencode."""
