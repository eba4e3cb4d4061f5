"""A built wheel, started as a person starts it without an installation: ``python -m tests.plugins.try_wheel DIST [--short]``.

uvx and pipx run it alone and with the extra ``all``. The plugins' script finds it through each of them, as if it were published.
With --short, uvx alone runs the program and the script's hook. Run by `make wheel`; the packages are today's.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import urlopen

from undrift import __version__

__all__ = ["INITIALIZE", "Trial", "main"]

ROOT = Path(__file__).parents[2]
SESSION = ROOT / "examples" / "compacted-session.jsonl"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "try", "version": "1"},
    },
}


@dataclass(frozen=True, slots=True)
class Trial:
    """A person with an empty home, the wheel and one program that can run it.

    `more`: further variables. `is_alone`: no variable of this process but the language.
    """

    home: Path
    wheel: Path
    tools: Path
    program: str
    more: Mapping[str, str] = field(default_factory=dict)
    is_alone: bool = False

    def words(self, extra: str, *arguments: str) -> list[str]:
        """Return the command that runs undrift from the wheel."""
        wanted = f"{self.wheel}[{extra}]" if extra else str(self.wheel)
        start = {"uvx": ["uvx", "--quiet", "--from", wanted], "pipx": ["pipx", "run", "--spec", wanted]}[self.program]
        return [str(self.tools / start[0]), *start[1:], "undrift", *arguments]

    def environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if name == "LANG" or (not self.is_alone and name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"))
        }
        return {
            **kept,
            "HOME": str(self.home),
            "UV_FIND_LINKS": str(self.wheel.parent),
            "PIP_FIND_LINKS": str(self.wheel.parent),
            **self.more,
        }

    def run(self, words: Sequence[str], given: str = "", variables: Mapping[str, str] | None = None) -> str:
        done = subprocess.run(
            words,
            cwd=self.home,
            env={**self.environment(), **(variables or {})},
            input=given,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, f"{' '.join(words)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def alone_on_path(self) -> dict[str, str]:
        """Return a PATH with this one program and those of the system."""
        folder = self.home / "bin"
        folder.mkdir(exist_ok=True)
        if not (folder / self.program).exists():
            (folder / self.program).symlink_to(self.tools / self.program)
        return {"PATH": os.pathsep.join([str(folder), "/usr/local/bin", "/usr/bin", "/bin"])}


def version(trial: Trial) -> None:
    assert trial.run(trial.words("", "--version")).strip() == f"undrift {__version__}"


def autopsy(trial: Trial) -> None:
    assert "Compaction 1" in trial.run(trial.words("", "autopsy", str(SESSION)))


def server(trial: Trial) -> None:
    answer = json.loads(trial.run(trial.words("all", "mcp"), json.dumps(INITIALIZE) + "\n").splitlines()[0])
    assert answer["result"]["serverInfo"] == {"name": "undrift", "version": __version__}, answer


def gateway(trial: Trial) -> None:
    words = trial.words("all", "proxy", "--port", "0", "--json")
    with subprocess.Popen(words, cwd=trial.home, env=trial.environment(), stdout=subprocess.PIPE, text=True) as running:
        try:
            url = json.loads(running.stdout.readline() if running.stdout else "")["url"]
            with urlopen(f"{url}/undrift/health", timeout=30) as health:
                assert health.status == 200
        finally:
            running.terminate()


def memory_by_meaning(trial: Trial) -> None:
    trial.run(trial.words("all", "remember", "The release train leaves on the third Tuesday."))
    found = trial.run(trial.words("all", "search", "which day do we ship", "--json"))
    assert "third Tuesday" in found, found


def hook_of_plugin(trial: Trial) -> None:
    script = str(ROOT / "plugins" / "claude" / "undrift.sh")
    hook = ["sh", script, "hook", "SessionStart", "--client=claude"]
    assert trial.run(hook, "{}", trial.alone_on_path()) == ""
    log = (trial.home / ".undrift" / "hooks.log").read_text(encoding="utf-8")
    assert "the payload names no session" in log, log


def server_of_plugin(trial: Trial) -> None:
    script = str(ROOT / "plugins" / "claude" / "undrift.sh")
    answer = trial.run(["sh", script, "mcp"], json.dumps(INITIALIZE) + "\n", trial.alone_on_path())
    assert json.loads(answer.splitlines()[0])["result"]["serverInfo"]["version"] == __version__


STEPS: tuple[Callable[[Trial], None], ...] = (
    version,
    autopsy,
    hook_of_plugin,
    server,
    gateway,
    memory_by_meaning,
    server_of_plugin,
)
SHORT = STEPS[:3]


def main(arguments: Sequence[str]) -> int:
    """Try the one wheel of a folder; each step prints how long it took. Return the exit code."""
    folders = [word for word in arguments if not word.startswith("-")]
    (wheel,) = Path(folders[0]).resolve().glob("*.whl")
    is_short = "--short" in arguments
    tools = Path(sys.executable).parent
    for program in ("uvx",) if is_short else ("uvx", "pipx"):
        with tempfile.TemporaryDirectory() as folder:
            trial = Trial(Path(folder), wheel, tools, program)
            for step in SHORT if is_short else STEPS:
                begun = time.monotonic()
                step(trial)
                print(f"{program}: {step.__name__} ({time.monotonic() - begun:.1f} s)", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
