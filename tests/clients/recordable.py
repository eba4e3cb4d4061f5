"""The programs whose recordings are fixtures: how each is started without a person, and where its session then lies."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.clients.programs import CLIENTS, PROGRAMS
from undrift.testing import Say, Shell, Turn, Use

__all__ = ["FAILED", "FOUND", "GO_ON", "RECORDABLE", "Recordable", "SENTENCES", "SUMMARY", "TASK"]

NOTE = "the needle_of_the_note stands here"
TASK = "Read the file note.txt with the shell, then say what it holds."
FOUND = "The note holds the needle_of_the_note."
SUMMARY = "A summary of the session."
GO_ON = "Go on with note.txt."
WENT_ON = "I go on with the needle_of_the_note."
FAILED = "cat: none_such.txt: No such file or directory"
READS, FAILS = "cat note.txt", "cat none_such.txt; exit 3"
FAILS_OPEN = "cat none_such.txt"  # where the shell stays the same from call to call
END = f"printf 'COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\\n{FOUND}\\n'"
SENTENCES = (
    NOTE,
    TASK,
    FOUND,
    SUMMARY,
    GO_ON,
    WENT_ON,
    FAILED,
    READS,
    FAILS,
    END,
    "A thought of the script.",
    "a step of the script",
)
"""All that a fixture says; what else a client wrote is masked."""

_KEY = "sk-" + "fake"
_SESSION = re.compile(r"\bses_\w+")

Words = Sequence[str]


@dataclass(frozen=True, slots=True)
class Recordable:
    """One client, run once or several times in one home and one project.

    Args:
        title: In the table.
        package: Its name in the registry, ``npm:NAME`` or ``pip:NAME``.
        executable: Absolute.
        runs: Address of the provider, without ``/v1`` -> the arguments of each run.
        environment: Address -> its variables.
        files: Address -> path from the folder of home and project -> content.
        session: The pattern of the files with its session, from that folder; several are joined, one a line.
        script: What the model says, with the names of its own tools.
        version: Prints it.
        exported: Printed by the first run -> the arguments that print the session; none where it lies in a file.
        without_tools: See `ScriptedProvider`.
        typed: What is typed into each run.
        compacts: The compactions that the runs hold.
    """

    title: str
    package: str
    executable: Path
    runs: Callable[[str], Sequence[Words]]
    environment: Callable[[str], Mapping[str, str]]
    files: Callable[[str], Mapping[str, str]]
    session: str
    script: Sequence[Turn]
    version: Words
    exported: Callable[[str], Words] | None = None
    without_tools: bool = False
    typed: str = ""
    compacts: int = 0

    def is_there(self) -> bool:
        return self.executable.exists()


def _bin(folder: str, name: str) -> Path:
    npm = CLIENTS / folder / "node_modules" / ".bin" / name
    return npm if npm.exists() else CLIENTS / folder / "bin" / name


def _says(path: Path) -> Words:
    return (str(path), "--version")


def _shown(path: Path, package: str) -> Words:
    return (str(path.parent / "python"), "-m", "pip", "show", package)


def _script(
    tool: str = "", key: str = "command", *, fails: str = FAILS, is_list: bool = False, **more: object
) -> list[Turn]:
    """Two commands, the second of which fails, and what the note holds. `tool`: where no profile knows its shell."""
    if not tool:
        return [Shell(READS), Shell(FAILS), Say(FOUND)]
    calls = [Use(tool, {key: [command] if is_list else command, **more}) for command in (READS, fails)]
    return [*calls, Say(FOUND)]


def _none(_: str) -> Mapping[str, str]:
    return {}


def _home(**files: str) -> Mapping[str, str]:
    return {f"home/{path}": content for path, content in files.items()}


def _claude() -> Recordable:
    path, known = _bin("claude", "claude"), PROGRAMS["claude"]
    tools = ("--allowedTools", "Bash", "--output-format", "json")
    return Recordable(
        "Claude Code", "npm:@anthropic-ai/claude-code", path,
        lambda _: (("-p", TASK, *tools), ("-p", "--continue", "/compact", *tools), ("-p", "--continue", GO_ON, *tools)),
        lambda url: {**known.variables, "ANTHROPIC_BASE_URL": url}, _none,
        "home/.claude/projects/*/*.jsonl", [*_script(), Say(WENT_ON)], _says(path), compacts=1,
    )  # fmt: skip


def _codex() -> Recordable:
    path = _bin("codex", "codex")
    flags = ("--skip-git-repo-check", "--json", "--dangerously-bypass-approvals-and-sandbox")
    return Recordable(
        "Codex", "npm:@openai/codex", path,
        lambda url: (("exec", *flags, "-c", f'openai_base_url="{url}/v1"', TASK),),
        lambda _: {"OPENAI_API_KEY": _KEY},
        lambda _: _home(**{".codex/config.toml": 'model = "gpt-5.5"\n[analytics]\nenabled = false\n'}),
        "home/.codex/sessions/**/*.jsonl", _script(), _says(path),
    )  # fmt: skip


def _gemini() -> Recordable:
    path, known = _bin("gemini", "gemini"), PROGRAMS["gemini"]
    return Recordable(
        "Gemini CLI", "npm:@google/gemini-cli", path,
        lambda _: (("-p", TASK, "--yolo", "--skip-trust"),),
        lambda url: {**known.variables, "GOOGLE_GEMINI_BASE_URL": url}, lambda _: _home(**known.files),
        "home/.gemini/tmp/*/chats/session-*.jsonl", _script(), _says(path),
    )  # fmt: skip


def _opencode() -> Recordable:
    path, known = _bin("opencode", "opencode"), PROGRAMS["opencode-anthropic"]
    settings = json.loads(known.files[".config/opencode/opencode.json"])

    def config(url: str) -> Mapping[str, str]:
        provider = {"provider": {"anthropic": {"options": {"baseURL": f"{url}/v1"}}}}
        return _home(**{".config/opencode/opencode.json": json.dumps({**settings, **provider})})

    return Recordable(
        "opencode", "npm:opencode-ai", path,
        lambda _: (("run", "--format", "json", TASK),), lambda _: known.variables, config,
        "", _script(), _says(path),
        exported=lambda said: ("export", found[0] if (found := _SESSION.search(said)) else ""),
    )  # fmt: skip


def _copilot() -> Recordable:
    path = _bin("copilot", "copilot")
    flags = ("--allow-all-tools", "--no-auto-update", "-p")
    provider = {"TYPE": "openai", "API_KEY": _KEY}
    return Recordable(
        "GitHub Copilot CLI", "npm:@github/copilot", path,
        lambda _: ((*flags, TASK), ("--continue", *flags, "/compact"), ("--continue", *flags, GO_ON)),
        lambda url: {
            **{f"COPILOT_PROVIDER_{name}": value for name, value in provider.items()},
            "COPILOT_PROVIDER_BASE_URL": f"{url}/v1", "COPILOT_MODEL": "gpt-5.5", "COPILOT_OFFLINE": "true",
        },
        _none, "home/.copilot/session-state/*/events.jsonl", [*_script(), Say(WENT_ON)], _says(path), compacts=1,
    )  # fmt: skip


def _pi() -> Recordable:
    path = _bin("pi", "pi")
    model = {"id": "gpt-5.5", "name": "gpt-5.5", "reasoning": False, "input": ["text"], "contextWindow": 200_000}
    cost = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0)

    def models(url: str) -> Mapping[str, str]:
        provider = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": _KEY}
        listed = {"loop": {**provider, "models": [{**model, "cost": cost, "maxTokens": 8_000}]}}
        return _home(**{".pi/agent/models.json": json.dumps({"providers": listed})})

    return Recordable(
        "pi", "npm:@mariozechner/pi-coding-agent", path,
        lambda _: (("--provider", "loop", "--model", "gpt-5.5", "-p", TASK),), lambda _: {"PI_OFFLINE": "1"}, models,
        "home/.pi/agent/sessions/*/*.jsonl", _script(), _says(path),
    )  # fmt: skip


def _qwen() -> Recordable:
    path = _bin("qwen", "qwen")
    flags = ("--yolo", "--auth-type", "openai")
    settings = {"privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False}}
    return Recordable(
        "Qwen Code", "npm:@qwen-code/qwen-code", path,
        lambda _: ((*flags, "-p", TASK), (*flags, "--continue", "-p", "/compress"), (*flags, "--continue", "-p", GO_ON)),
        lambda url: {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": _KEY, "OPENAI_MODEL": "gpt-5.5"},
        lambda _: _home(**{".qwen/settings.json": json.dumps(settings)}),
        "home/.qwen/projects/*/chats/*.jsonl",
        [*_script("run_shell_command", is_background=False), Say(WENT_ON)],
        _says(path), compacts=1,
    )  # fmt: skip


def _kimi() -> Recordable:
    """Its own compaction comes by itself, in a window of so few tokens that its prompt fills it."""
    path = _bin("kimicode", "kimi")
    provider = f'[providers.loop]\ntype = "openai"\nbase_url = "URL/v1"\napi_key = "{_KEY}"\n'
    model = '[models.loop]\nprovider = "loop"\nmodel = "gpt-5.5"\nmax_context_size = 24000\n'
    config = (
        f'default_model = "loop"\ntelemetry = false\n[loop_control]\nreserved_context_size = 2000\n{provider}{model}'
    )
    return Recordable(
        "Kimi Code", "npm:@moonshot-ai/kimi-code", path,
        lambda _: (("-p", TASK),), _none, lambda url: _home(**{".kimi-code/config.toml": config.replace("URL", url)}),
        "home/.kimi-code/sessions/*/*/agents/main/wire.jsonl",
        _script("Bash"),
        _says(path), compacts=2,
    )  # fmt: skip


def _cline() -> Recordable:
    path = _bin("cline", "cline")
    provider = ("-P", "openai-compatible", "-k", _KEY, "-m", "gpt-5.5")
    return Recordable(
        "Cline CLI", "npm:cline", path,
        lambda url: (
            ("auth", "-p", "openai-compatible", "-k", _KEY, "-m", "gpt-5.5", "-b", f"{url}/v1"),
            (*provider, TASK),
            ("hub", "stop"),  # it leaves a process behind
        ),
        lambda _: {"CLINE_NO_AUTO_UPDATE": "1", "CLINE_TELEMETRY_DISABLED": "1"}, _none,
        "home/.cline/data/sessions/*/*.messages.json", _script("run_commands", "commands", is_list=True), _says(path),
    )  # fmt: skip


def _continue() -> Recordable:
    path = _bin("continue", "cn")
    model = "  - {name: loop, provider: openai, model: gpt-5.5, apiBase: URL/v1, apiKey: KEY, useResponsesApi: false}\n"
    config = f"name: loop\nversion: 1.0.0\nschema: v1\nmodels:\n{model}".replace("KEY", _KEY)
    return Recordable(
        "Continue CLI", "npm:@continuedev/cli", path,
        lambda _: (("--config", "../home/config.yaml", "--auto", "-p", TASK),),
        lambda _: dict.fromkeys(("CONTINUE_TELEMETRY_ENABLED", "CONTINUE_CLI_ENABLE_TELEMETRY"), "0"),
        lambda url: _home(**{"config.yaml": config.replace("URL", url)}),
        "home/.continue/sessions/*-*.json", _script("Bash"), _says(path),
    )  # fmt: skip


def _openhands() -> Recordable:
    path = _bin("openhands", "openhands")
    return Recordable(
        "OpenHands CLI", "pip:openhands", path,
        lambda _: (("--headless", "--override-with-envs", "--always-approve", "-t", TASK),),
        lambda url: {
            "LLM_BASE_URL": f"{url}/v1", "LLM_MODEL": "openai/gpt-5.5", "LLM_API_KEY": _KEY,
            "LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENHANDS_SUPPRESS_BANNER": "1",
        },
        _none, "home/.openhands/conversations/*/*e*/event-*.json",
        _script("terminal", fails=FAILS_OPEN, security_risk="LOW"), _shown(path, "openhands"),
    )  # fmt: skip


def _mini() -> Recordable:
    path, known = _bin("mini", "mini"), PROGRAMS["mini"]
    words = (
        "-m",
        "openai/gpt-5.5",
        "-t",
        TASK,
        "-y",
        "--exit-immediately",
        "-c",
        "mini.yaml",
        "-o",
        "../session.traj.json",
    )
    return Recordable(
        "mini-swe-agent", "pip:mini-swe-agent", path,
        lambda _: (words,), lambda url: {**known.variables, "OPENAI_API_BASE": f"{url}/v1"}, _none,
        "session.traj.json", [*_script()[:2], Shell(END)], _shown(path, "mini-swe-agent"),
    )  # fmt: skip


def _aider() -> Recordable:
    path, known = _bin("aider", "aider"), PROGRAMS["aider"]
    words = [word for word in known.arguments(Path()) if word != "a.py"]
    return Recordable(
        "aider", "pip:aider-chat", path,
        lambda url: ((f"--openai-api-base={url}/v1", *words),), lambda _: known.variables, _none,
        "project/.aider.chat.history.md", [Say(FOUND)], _shown(path, "aider-chat"),
        without_tools=True, typed=f"/run {READS}\n{TASK}\n/exit\n",
    )  # fmt: skip


RECORDABLE: Mapping[str, Recordable] = {
    "claude-code": _claude(),
    "codex": _codex(),
    "gemini-cli": _gemini(),
    "opencode": _opencode(),
    "copilot-cli": _copilot(),
    "pi": _pi(),
    "qwen-code": _qwen(),
    "kimi-code": _kimi(),
    "cline": _cline(),
    "continue": _continue(),
    "openhands": _openhands(),
    "mini-swe-agent": _mini(),
    "aider": _aider(),
}
"""By the format of its recordings, a key of `undrift.transcripts.FORMATS`."""
