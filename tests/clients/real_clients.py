"""The real clients against a scripted provider: with our hooks the text is in the next request, without them it is not.

Run by ``make clients``, which installs the clients; not part of ``make test``. No request leaves this machine.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from undrift.testing import AnthropicSimulator, Follow, Read, Say, ScriptedProvider, Shell, Turn

ROOT = Path(__file__).parents[2]
CLIENTS = Path(os.environ.get("UNDRIFT_TEST_CLIENTS") or ROOT / "build" / "clients")
MARK = "From before the compaction"
NEEDLE = "needle_47113_of_the_session"


@dataclass(frozen=True, slots=True)
class Place:
    """A user's home and project, both new."""

    home: Path
    project: Path
    environment: dict[str, str]

    def run(self, *words: str | Path, check: bool = True) -> str:
        """Run a program as that user in that project; its stdout."""
        run = subprocess.run(
            [str(word) for word in words],
            cwd=self.project,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert not check or run.returncode == 0, f"{words[0]}: {run.returncode}\n{run.stdout}\n{run.stderr}"
        return run.stdout

    def undrift(self, *words: str) -> str:
        return self.run(sys.executable, "-P", "-m", "undrift", *words)

    def log(self) -> str:
        path = self.home / ".undrift" / "hooks.log"
        return path.read_text(encoding="utf-8") if path.exists() else ""


def place(tmp_path: Path, **variables: str) -> Place:
    """Make a user with a project that holds a file worth remembering."""
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    lines = [f"def part_{number}(source, target):  # line {number}" for number in range(200)]
    lines[100] = f"def {NEEDLE}(source, target): return source + target"
    (project / "work.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LANG") if name in os.environ}
    kept["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), *([kept["PYTHONPATH"]] if "PYTHONPATH" in kept else [])])
    return Place(home, project, {**kept, "HOME": str(home), "NO_PROXY": "127.0.0.1", **variables})


def program(*steps: str) -> Path:
    path = CLIENTS.joinpath(*steps)
    if not path.exists():
        pytest.skip(f"needs the client in {path}: run `make clients`")
    return path


CLAUDE_SETTINGS = '{\n    "model": "claude-sonnet-4-5",\n\t"env": { "A" : "b" }\n}\n'


def claude_place(tmp_path: Path, provider: ScriptedProvider) -> Place:
    quiet = "DISABLE_TELEMETRY DISABLE_ERROR_REPORTING DISABLE_AUTOUPDATER CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"
    there = place(
        tmp_path,
        ANTHROPIC_BASE_URL=provider.url,
        ANTHROPIC_API_KEY="sk-" + "ant-fake",
        IS_SANDBOX="1",
        **dict.fromkeys(quiet.split(), "1"),
    )
    (there.home / ".claude").mkdir()
    (there.home / ".claude" / "settings.json").write_text(CLAUDE_SETTINGS, encoding="utf-8")
    return there


def claude_session(there: Place, claude: Path, provider: ScriptedProvider) -> None:
    """Read a file, run a command, compact, go on."""
    provider.say(
        Read(str(there.project / "work.py")), Shell("wc -l work.py"), Say("The file is read."), Say("I go on.")
    )
    tools = ("--allowedTools", "Bash", "Read", "--output-format", "json")
    session = json.loads(there.run(claude, "-p", "Read work.py and count its lines.", *tools))["session_id"]
    there.run(claude, "-p", "--resume", session, "/compact", *tools)
    there.run(claude, "-p", "--resume", session, "go on", *tools)


def test_claude_code_gets_back_what_its_compaction_dropped(tmp_path: Path):
    claude = program("claude", "node_modules", ".bin", "claude")
    with ScriptedProvider(summary="They read a file.") as provider:
        there = claude_place(tmp_path, provider)
        settings = there.home / ".claude" / "settings.json"
        there.undrift("install", "claude", "--yes")
        claude_session(there, claude, provider)
        newest = provider.of_kind("main")[-1]
        assert provider.of_kind("summary"), "the client did not compact"
        assert "They read a file." in newest.text
        assert MARK in newest.text, there.log()
        assert NEEDLE in newest.text
        assert there.log() == ""
        kept = ("--home", str(there.home / ".undrift"))
        found = there.undrift("recall", "--find", NEEDLE, *kept).split()[0]
        assert NEEDLE in there.undrift("recall", found, *kept)
        there.undrift("uninstall", "claude", "--yes")
        assert settings.read_text(encoding="utf-8") == CLAUDE_SETTINGS


@pytest.mark.parametrize("more", [(), ("--allow-recall",)])
def test_claude_code_runs_the_command_of_the_text_without_a_question_if_it_is_allowed(
    tmp_path: Path, more: tuple[str, ...]
):
    def recalled(text: str) -> Turn:
        command = re.search(r"/\S+ -P -m undrift recall --find WORDS --home \S+", text)
        assert command, text[-2_000:]
        return Shell(command[0].replace("WORDS", NEEDLE))

    claude = program("claude", "node_modules", ".bin", "claude")
    with ScriptedProvider(summary="They read a file.") as provider:
        there = claude_place(tmp_path, provider)
        there.undrift("install", "claude", "--yes", *more)
        provider.say(Read(str(there.project / "work.py")), Say("It is read."), Follow(recalled), Say("I go on."))
        tools = ("--allowedTools", "Read", "--output-format", "json")
        session = json.loads(there.run(claude, "-p", "Read work.py.", *tools))["session_id"]
        there.run(claude, "-p", "--resume", session, "/compact", *tools)
        there.run(claude, "-p", "--resume", session, "go on", *tools)
        answer = json.dumps(provider.of_kind("main")[-1].body["messages"][-1])
        assert ("requires approval" in answer) is (not more), answer
        assert ("To print one: " + shlex.join([sys.executable, "-P", "-m", "undrift", "recall"]) in answer) is bool(
            more
        )


def test_claude_code_without_the_hooks_has_lost_it(tmp_path: Path):
    claude = program("claude", "node_modules", ".bin", "claude")
    with ScriptedProvider(summary="They read a file.") as provider:
        claude_session(claude_place(tmp_path, provider), claude, provider)
        newest = provider.of_kind("main")[-1]
        assert provider.of_kind("summary"), "the client did not compact"
        assert MARK not in newest.text


def test_claude_code_that_compacts_by_itself_gets_it_back_each_time(tmp_path: Path):
    claude = program("claude", "node_modules", ".bin", "claude")
    with ScriptedProvider(summary="They read files.") as provider:
        there = claude_place(tmp_path, provider)
        (there.home / ".claude" / "settings.json").write_text('{"autoCompactWindow": 100000}', encoding="utf-8")
        there.undrift("install", "claude", "--yes")
        for number in range(8):
            lines = [f"def part_{number}_{line}(argument, other): return argument + {line}" for line in range(1_200)]
            (there.project / f"file_{number}.py").write_text("\n".join(lines), encoding="utf-8")
            provider.say(Read(str(there.project / f"file_{number}.py")))
        # soon after a compaction only the user's rules come back: there has to be one
        there.run(
            claude, "-p", "Read all files.\nNever change one.", "--allowedTools", "Read", "--output-format", "json"
        )
        assert there.log() == ""
        asked = [seen for seen in provider.requests if seen.kind != "side"]
        after = [later for seen, later in pairwise(asked) if (seen.kind, later.kind) == ("summary", "main")]
        assert len(after) > 1, "the client did not compact twice"
        assert [seen.text.count(MARK) for seen in after] == [1] * len(after)


def parts_of(there: Place) -> list[str]:
    """Return the text that was prepared last."""
    (kept,) = (there.home / ".undrift" / "hooks").glob("*/restore.json")
    parts: list[str] = json.loads(kept.read_text(encoding="utf-8"))["parts"]
    return parts


def compactions_of(there: Place) -> int:
    (session,) = (there.home / ".claude" / "projects").rglob("*.jsonl")
    return session.read_text(encoding="utf-8").count('"subtype":"compact_boundary"')


def long_reading(there: Place, provider: ScriptedProvider, files: int) -> None:
    """Have so many files read, each of about 13,000 tokens."""
    for number in range(files):
        lines = [f'    quoted("{number}_{line}", \\"{line}\\")\t# {"x" * (line % 60)}' for line in range(700)]
        (there.project / f"file_{number}.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
        provider.say(Read(str(there.project / f"file_{number}.py")))


def has_all_parts(there: Place, text: str) -> None:
    (kept,) = (there.home / ".undrift" / "hooks").glob("*/restore.json")
    parts = json.loads(kept.read_text(encoding="utf-8"))["parts"]
    assert len(parts) == 4, [len(part) for part in parts]
    assert all(5_000 < len(part) <= 9_900 for part in parts), [len(part) for part in parts]
    for part in parts:
        assert part.strip() in text
    assert there.log() == ""


def test_all_parts_of_a_long_text_arrive_whole(tmp_path: Path):
    claude = program("claude", "node_modules", ".bin", "claude")
    with ScriptedProvider(summary="They read files.") as provider:
        there = claude_place(tmp_path, provider)
        there.undrift("install", "claude", "--yes")
        long_reading(there, provider, 10)
        claude_session(there, claude, provider)
        assert compactions_of(there) == 1
        has_all_parts(there, provider.of_kind("main")[-1].text)


@pytest.mark.parametrize("refuses", [False, True])
def test_all_parts_arrive_whole_after_a_compaction_that_comes_by_itself(tmp_path: Path, refuses: bool):
    """Before the window is full, or when the provider refuses the prompt as too long."""
    claude = program("claude", "node_modules", ".bin", "claude")
    with ScriptedProvider(summary="They read files.") as provider:
        there = claude_place(tmp_path, provider)
        settings: dict[str, object] = {"autoCompactWindow": 200_000}
        if refuses:
            settings = {}  # its own limit is far above that of the provider
            short = AnthropicSimulator(window_tokens=150_000)
            provider._accounts["anthropic"] = short
        (there.home / ".claude" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
        there.undrift("install", "claude", "--yes")
        long_reading(there, provider, 14)
        provider.say(Say("All is read."))
        there.run(claude, "-p", "Read all files.", "--allowedTools", "Read", "--output-format", "json")
        assert any("prompt is too long" in seen.refused for seen in provider.requests) is refuses
        assert compactions_of(there) == 1
        has_all_parts(there, provider.of_kind("main")[-1].text)


def small_window_session(there: Place, claude: Path, provider: ScriptedProvider, percent: int, characters: int) -> int:
    """Read 20 files in a small window to the end; return the number of compactions."""
    there.environment.update(CLAUDE_CODE_AUTO_COMPACT_WINDOW="100000", CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=str(percent))
    for number in range(20):
        lines = [
            f"def part_{number}_{line}(argument, other): return argument + {line}" for line in range(characters // 50)
        ]
        (there.project / f"file_{number}.py").write_text("\n".join(lines), encoding="utf-8")
        provider.say(Read(str(there.project / f"file_{number}.py")))
    provider.say(Say("All is read."))
    tools = ("--tools", "Read", "--allowedTools", "Read", "--output-format", "json")
    said = json.loads(there.run(claude, "-p", "Read all files.\nNever change one.", *tools))
    assert said["result"] == "All is read."
    return compactions_of(there)


# the client keeps 20,000 of its window for the answer, so these are 24,000 and 28,000: its own prompt and the files that it
# attaches again leave room for a few steps
@pytest.mark.parametrize(("percent", "characters"), [(30, 5_000), (30, 6_000), (35, 6_000), (35, 7_000)])
def test_a_session_in_a_small_window_goes_on_as_long_with_the_hooks_as_without(
    tmp_path: Path, percent: int, characters: int
):
    claude = program("claude", "node_modules", ".bin", "claude")
    compactions = []
    for name in ("without", "with"):
        (tmp_path / name).mkdir()
        with ScriptedProvider(summary="They read files.") as provider:
            there = claude_place(tmp_path / name, provider)
            if name == "with":
                there.undrift("install", "claude", "--yes")
            compactions.append(small_window_session(there, claude, provider, percent, characters))
            assert not [seen.refused for seen in provider.requests if seen.refused]
            assert (MARK in "\n".join(seen.text for seen in provider.of_kind("main"))) == (name == "with"), there.log()
    assert compactions[0] > 1, "the client did not compact twice"
    assert abs(compactions[1] - compactions[0]) <= 1


def codex_place(
    tmp_path: Path, provider: ScriptedProvider, model: str = 'model = "gpt-5.5"', limit_tokens: int = 16_000
) -> Place:
    """`model`: a line of its settings; without one it takes its own, which works in code mode."""
    there = place(tmp_path, FAKE_KEY="sk-" + "fake")
    folder = there.home / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(codex_settings(provider.url, model, limit_tokens), encoding="utf-8")
    return there


def codex_settings(url: str, model: str = 'model = "gpt-5.5"', limit_tokens: int = 16_000) -> str:
    settings = f"""
        {model}
        model_provider = "loop"
        model_auto_compact_token_limit = {limit_tokens}
        [model_providers.loop]
        name = "loop"
        base_url = "{url}/v1"
        env_key = "FAKE_KEY"
        wire_api = "responses"
        [analytics]
        enabled = false
    """
    return "\n".join(line.strip() for line in settings.splitlines())


def codex_session(there: Place, codex: Path, provider: ScriptedProvider) -> None:
    """Read a file until the client compacts by itself, then go on in a new process."""
    steps = [Shell("cat work.py"), *[Shell(f"seq {number} 3000") for number in range(6)]]
    provider.say(*steps, Say("The file is read."), Say("I go on."))
    bypass = ("--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust")
    flags = ("--skip-git-repo-check", "--json", *bypass)
    there.run(codex, "exec", *flags, "Read work.py and count its lines.")
    there.run(codex, "exec", "resume", "--last", *flags, "go on")


def codex_program() -> Path:
    return program("codex", "node_modules", ".bin", "codex")


def test_codex_gets_back_what_its_compaction_dropped(tmp_path: Path):
    codex = codex_program()
    with ScriptedProvider(summary="They read a file.") as provider:
        there = codex_place(tmp_path, provider)
        there.undrift("install", "codex", "--yes")
        codex_session(there, codex, provider)
        kinds = [seen.kind for seen in provider.requests]
        assert "summary" in kinds, "the client did not compact"
        after = provider.requests[kinds.index("summary") + 1]
        assert MARK in after.text, there.log()
        assert there.log() == ""
        kept = ("--home", str(there.home / ".undrift"))
        recall = (sys.executable, "-m", "undrift", "recall")
        for _ in range(100):  # a process of its own records the session
            refs = there.run(*recall, "--find", NEEDLE, *kept, check=False).split()[:1]
            if refs and NEEDLE in there.run(*recall, refs[0], *kept):
                break
            time.sleep(0.1)
        else:
            pytest.fail("what was read cannot be recalled")
        there.undrift("uninstall", "codex", "--yes")
        assert not (there.home / ".codex" / "hooks.json").exists()


def test_codex_gets_all_parts_of_a_long_text(tmp_path: Path):
    """It counts bytes: the lines have characters of more than one."""
    codex = codex_program()
    with ScriptedProvider(summary="They read files.") as provider:
        there = codex_place(tmp_path, provider, limit_tokens=170_000)
        there.undrift("install", "codex", "--yes")
        for number in range(30):
            lines = [f"def part_{number}_{line}(источник, цель): return источник + {line}" for line in range(500)]
            (there.project / f"file_{number}.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
            provider.say(Shell(f"cat file_{number}.py"))
        provider.say(Say("All is read."))
        bypass = ("--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust")
        there.run(codex, "exec", "--skip-git-repo-check", "--json", *bypass, "Read all files.")
        kinds = [seen.kind for seen in provider.requests]
        assert kinds.count("summary") == 1, kinds
        has_all_parts(there, provider.requests[kinds.index("summary") + 1].text)


def test_codex_without_the_hooks_has_lost_it(tmp_path: Path):
    codex = codex_program()
    with ScriptedProvider(summary="They read a file.") as provider:
        codex_session(codex_place(tmp_path, provider), codex, provider)
        assert provider.of_kind("summary"), "the client did not compact"
        assert MARK not in "\n".join(seen.text for seen in provider.requests)


def test_codex_in_code_mode_gets_its_files_back_by_their_names(tmp_path: Path):
    codex = codex_program()
    with ScriptedProvider(summary="They read a file.") as provider:
        there = codex_place(tmp_path, provider, model="", limit_tokens=30_000)
        there.undrift("install", "codex", "--yes")
        codex_session(there, codex, provider)
        kinds = [seen.kind for seen in provider.requests]
        assert "summary" in kinds, "the client did not compact"
        after = provider.requests[kinds.index("summary") + 1].text
        assert MARK in after, there.log()
        assert "## Files in work" in after
        assert "### work.py" in after
        assert "### exec," not in after
        assert not [seen.refused for seen in provider.requests if seen.refused]
