"""Codex, as 0.169.0 and its recordings are. Pure.

Its default mode has one tool, ``exec``, whose argument is JavaScript that calls the others: ``tools.exec_command({cmd})``.
The tools themselves stand in the first item of the input (``additional_tools``).
"""

from undrift.profiles.base import ClientTool, GivenBack, PlanTool, Profile, Recall

__all__ = ["PROFILE"]

_AGENTS = (
    "close_agent", "followup_task", "interrupt_agent", "list_agents", "multi_agent_v1", "send_input", "send_message",
    "spawn_agent", "wait_agent",
)  # fmt: skip
_OTHERS = (
    "clock__curr_time", "create_goal", "get_goal", "image_generation", "list_mcp_resource_templates",
    "list_mcp_resources", "read_mcp_resource", "request_user_input", "request_user_input_async", "sleep", "update_goal",
)  # fmt: skip

_TOOLS = (
    ClientTool("exec", "shell", code="input"),
    ClientTool("exec_command", "shell", command="cmd"),
    ClientTool("shell_command", "shell", command="command"),
    ClientTool("shell", "shell", command="command"),
    ClientTool("local_shell", "shell", command="command"),
    ClientTool("container.exec", "shell", command="cmd"),
    ClientTool("unified_exec", "shell", command="command"),
    ClientTool("write_stdin", "shell"),
    ClientTool("apply_patch", "edit", patch="input"),
    ClientTool("view_image", "other", path="path"),
    ClientTool("web_search", "fetch", path="url", pattern="query"),
    ClientTool("update_plan", "plan", plan=PlanTool("list", text="plan")),
    ClientTool("tool_search", "load", pattern="query"),
    ClientTool("web__run", "fetch"),
    ClientTool("wait", "shell"),
    *(ClientTool(name, "agent") for name in _AGENTS),
    *(ClientTool(name, "other") for name in _OTHERS),
)

PROFILE = Profile(
    name="codex",
    title="Codex",
    version="0.169.0",
    format="codex",
    agents=("codex",),
    tools=_TOOLS,
    always_tools=True,
    is_typed=True,
    sub_agent_headers=("x-openai-subagent",),
    recall=Recall(has_shell=True, in_login_shell=True, mcp_tool="mcp__undrift__{tool}"),
    gives_back=GivenBack(user_tokens=20_000),
)
"""Codex."""
