"""Clients that are known by their recordings only, and the libraries that programs are written with. Pure."""

from undrift.profiles.base import ClientTool, PlanTool, Profile

__all__ = ["LIBRARIES", "RECORDED"]


RECORDED = (
    Profile(
        "copilot",
        "Copilot CLI",
        format="copilot-cli",
        tools=(
            ClientTool("view", "read", path="path"),
            ClientTool("create", "edit", path="path"),
            ClientTool("create_file", "edit"),
            ClientTool("edit_file", "edit"),
            ClientTool("insert_edit_into_file", "edit"),
            ClientTool("replace_string_in_file", "edit"),
            ClientTool("read_bash", "shell"),
        ),
    ),
    Profile(
        "openhands",
        "OpenHands",
        format="openhands",
        tools=(
            ClientTool("str_replace_editor", "edit", path="path", old="old_str", new="new_str", kinds={"view": "read"}),
            ClientTool("execute_bash", "shell", command="command"),
            ClientTool("terminal", "shell", command="command"),
        ),
    ),
    Profile(
        "pi",
        "pi",
        format="pi",
        tools=(
            ClientTool("read", "read", path="path"),
            ClientTool("edit", "edit", path="path", old="oldText", new="newText"),
            ClientTool("write", "edit", path="path"),
            ClientTool("shell_exec", "shell", command="command"),
        ),
    ),
    Profile(
        "swe-agent",
        "SWE-agent",
        format="swe-agent",
        tools=(
            ClientTool("open", "read", path="path"),
            ClientTool("find_file", "search", pattern="file_name"),
            ClientTool("insert", "edit"),
            ClientTool("str_replace", "edit"),
        ),
    ),
    Profile(
        "qwen",
        "Qwen Code",
        version="0.24.4",
        format="qwen-code",
        tools=(ClientTool("notebook_edit", "edit", path="notebook_path"),),
    ),
    Profile("kimi", "Kimi Code", version="2.1.0", format="kimi-code"),
    Profile(
        "cline",
        "Cline CLI",
        version="3.0.65",
        format="cline",
        tools=(
            ClientTool("read_files", "read"),
            ClientTool("run_commands", "shell"),
            ClientTool("search_codebase", "search"),
            ClientTool("fetch_web_content", "fetch"),
        ),
    ),
    Profile(
        "continue",
        "Continue CLI",
        version="1.5.47",
        format="continue",
        tools=(
            ClientTool("Fetch", "fetch", path="url"),
            ClientTool("Checklist", "plan", plan=PlanTool("list", text="checklist")),
        ),
    ),
    Profile(
        "others",
        "",
        tools=(
            ClientTool("search", "search", path="path", pattern="query"),
            ClientTool("fetch", "fetch", path="url"),
            ClientTool("todo_write", "plan", plan=PlanTool("list", text="todos")),
            ClientTool("todo_read", "plan", plan=PlanTool()),
        ),
    ),
)
"""Clients that are known by their recordings; the last has the names that several of them use."""

LIBRARIES = (
    Profile("anthropic", "SDK of Anthropic", agents=("Anthropic/", "AsyncAnthropic/")),
    Profile("openai", "SDK of OpenAI", agents=("OpenAI/", "AsyncOpenAI/")),
    Profile("langchain", "LangChain", agents=("langchain",)),
    Profile("openai-agents", "openai-agents", agents=("Agents/",)),
    Profile("pydantic-ai", "pydantic-ai", agents=("pydantic-ai",)),
    Profile("google", "SDK of Google", agents=("google-genai-sdk",)),
)
"""Libraries, which come under their own names."""
