"""Gemini CLI, as 0.61.0 and its recordings are. Pure."""

import re

from undrift.profiles.base import ClientTool, PlanTool, Profile, Recall

__all__ = ["PROFILE"]

_CREATED = re.compile(r"\bCreated task (?P<key>\w{1,64}):")
_SHOWN = re.compile(r"^- \[(?P<key>\w{1,64})\] (?P<text>.{1,4000}) \((?P<status>\w{1,20})\)$", re.MULTILINE)

_OTHERS = (
    "activate_skill", "enter_plan_mode", "list_background_processes", "read_background_output", "update_topic",
)  # fmt: skip

_TOOLS = (
    ClientTool("read_file", "read", path="file_path"),
    ClientTool("list_directory", "search", path="dir_path"),
    ClientTool("grep_search", "search", path="dir_path", pattern="pattern"),
    ClientTool("glob", "search", path="dir_path", pattern="pattern"),
    ClientTool("web_fetch", "fetch", pattern="prompt"),
    ClientTool("google_web_search", "fetch", pattern="query"),
    ClientTool("replace", "edit", path="file_path", old="old_string", new="new_string"),
    ClientTool("write_file", "edit", path="file_path"),
    ClientTool("run_shell_command", "shell", command="command"),
    ClientTool("write_todos", "plan", plan=PlanTool("list", text="todos")),
    ClientTool("tracker_create_task", "plan", plan=PlanTool("create", text="title", series="tracker", result=_CREATED)),
    ClientTool("tracker_update_task", "plan", plan=PlanTool("update", text="title", key="id", series="tracker")),
    ClientTool("tracker_list_tasks", "plan", plan=PlanTool("show", series="tracker", result=_SHOWN)),
    *(
        ClientTool(name, "plan", plan=PlanTool())
        for name in ("tracker_add_dependency", "tracker_get_task", "tracker_visualize")
    ),
    ClientTool("invoke_agent", "agent"),
    *(ClientTool(name, "other") for name in _OTHERS),
)

PROFILE = Profile(
    name="gemini",
    title="Gemini CLI",
    version="0.61.0",
    format="gemini-cli",
    agents=("GeminiCLI",),
    tools=_TOOLS,
    always_tools=True,
    is_typed=True,
    set_up=("This is the Gemini CLI",),
    recall=Recall(
        has_shell=True,
        variable="GEMINI_CLI",
        allowing=("--allowed-tools", "run_shell_command(undrift recall)"),  # its --policy would replace the user's own
        mcp_tool="mcp_undrift_{tool}",
    ),
)
"""Gemini CLI."""
