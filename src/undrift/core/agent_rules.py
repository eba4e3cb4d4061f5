"""The rules and the tool for an agent, so that a summary can replace its finished work. Pure.

Law: the one source of these texts. The README, the MCP server and the gateway deliver them as they stand here.
"""

from typing import Any

__all__ = ["AGENT_RULES", "MIN_SUMMARY_CHARACTERS", "TASK_TOOLS", "TASK_TOOL_NAME", "TASK_TOOL_SCHEMA", "TOLD_BY_REPLY"]

MIN_SUMMARY_CHARACTERS = 15
"""Least length of a result summary, trimmed and without the annotation."""

TASK_TOOL_NAME = "task_update"

TOLD_BY_REPLY = frozenset({TASK_TOOL_NAME, "SigmaTaskUpdate"})
"""Calls of these, in an answer that `Session.record` is given, change tasks; the caller need not carry them out."""

TASK_TOOLS = frozenset({*TOLD_BY_REPLY, "mcp__undrift__task_update", "mcp__plugin_undrift_undrift__task_update"})
"""The tools by which tasks are changed, also from the server of a plugin: their own results are never tagged."""

AGENT_RULES = f"""\
1. Task first. Before you use any tool, set the task you work on to in_progress with {TASK_TOOL_NAME}. One task at a time.
2. Distil before it goes. When a task is completed, its tool outputs and your thinking leave the window and its summary
   replaces them. Put what you found, with file names, numbers and verdicts, into result_summary (at least
   {MIN_SUMMARY_CHARACTERS} characters). Put longer texts into active_context.md before you complete the task.
3. Groom the notes. active_context.md is volatile: when a sub-project is done, delete its sections.
4. Ask yourself before you complete a task: "Could I continue from summary and notes alone, without the raw logs?"
   If not, add what is missing. To get an original back: undrift recall REF
"""
"""The rules for agents, as a text for a system prompt: task first, distil before it goes, groom the notes."""

TASK_TOOL_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": "The task's id, as in fix-login."},
        "content": {"type": "string", "description": "The work to do; needed for a new task."},
        "status": {"type": "string", "enum": ["pending", "in_progress", "completed", "delegated", "cancelled"]},
        "acceptance_criteria": {"type": "array", "items": {"type": "string"}},
        "result_summary": {
            "type": "string",
            "description": f"With completed: what was found and done, at least {MIN_SUMMARY_CHARACTERS} characters. "
            "It replaces the task's logs.",
        },
        "delegated_to": {"type": "string"},
    },
    "required": ["id"],
}
"""Arguments of the task tool, as JSON schema: one task, of which only what changes is given."""
