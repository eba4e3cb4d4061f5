"""Each way to start undrift, from the files of a release alone: ``python -m tests.release.try_release DIST [--network]``.

Each way has an empty home and no network (`tests.release.empty_machine`). It takes packages
from a folder that was filled before, so the seconds are without the download; the bytes are those an index would have sent.
With --network the machine is the ordinary one, with its index. Run by `make release-try`.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from release.about import About, about
from release.archives import unpack
from tests.plugins.try_wheel import INITIALIZE, Trial
from tests.release import empty_machine

__all__ = ["Cost", "cost_of", "main", "words_of_entry"]

_HANDSHAKE = json.dumps(INITIALIZE) + "\n"
_DIST_INFO = re.compile(r"([A-Za-z0-9_.]+)-([^-/]+)\.dist-info")


@dataclass(frozen=True, slots=True)
class Files:
    """The files of a release in a folder of their own, the archives unpacked."""

    folder: Path
    release: About
    packages: Path

    @property
    def wheel(self) -> Path:
        return self.folder / self.release.wheel

    @property
    def archive(self) -> Path:
        return self.folder / self.release.archive

    @property
    def source(self) -> Path:
        return self.folder / self.release.archive.removesuffix(".tar.gz")

    @property
    def session(self) -> Path:
        return self.source / "examples" / "compacted-session.jsonl"

    def plugin(self, client: str) -> Path:
        return self.folder / client / "plugins" / client

    def unpack(self) -> None:
        unpack(self.archive, self.folder)
        for client in ("claude", "codex"):
            name = f"{self.release.name}-{client}-plugin-{self.release.version}.zip"
            with zipfile.ZipFile(self.folder / name) as archive:
                archive.extractall(self.folder / client)


@dataclass(frozen=True, slots=True)
class Cost:
    """The price of a start: packages, bytes that an index would have sent, bytes in the home afterwards."""

    packages: int
    fetched_bytes: int
    kept_bytes: int


def cost_of(home: Path, packages: Path) -> Cost:
    """Look at the packages in a home, and at their files in the folder of packages."""
    sizes = {_identity(*path.name.split("-")[:2]): path.stat().st_size for path in packages.glob("*.whl")}
    found, kept = set[tuple[str, str]](), dict[tuple[int, int], int]()
    for folder, names, files in os.walk(home):
        found |= {_identity(*match.groups()) for name in names if (match := _DIST_INFO.fullmatch(name))}
        for name in files:
            status = (Path(folder) / name).lstat()
            kept[status.st_dev, status.st_ino] = status.st_size  # uv links a file from its cache: it counts once
    return Cost(len(found), sum(sizes.get(one, 0) for one in found), sum(kept.values()))


def _identity(name: str, version: str) -> tuple[str, str]:
    return re.sub(r"[-_.]+", "-", name).lower(), version


def words_of_entry(entry: dict) -> list[str]:
    """Return the command that a client makes of the first package of server.json, as the registry describes it."""
    (package,) = entry["packages"]
    words = [package["runtimeHint"]]
    for argument in package.get("runtimeArguments", []):
        words += [argument["name"], argument["value"]] if argument["type"] == "named" else [argument["value"]]
    words.append(f"{package['identifier']}@{package['version']}")
    return [*words, *(argument["value"] for argument in package.get("packageArguments", []))]


# ----------------------------------------------------------------------------------------------------------------- ways
def _says_version(trial: Trial, files: Files, words: Sequence[str]) -> None:
    said = trial.run(words)
    assert said.strip() == f"undrift {files.release.version}", said


def _answers(trial: Trial, files: Files, words: Sequence[str]) -> None:
    answer = json.loads(trial.run(words, _HANDSHAKE, trial.alone_on_path()).splitlines()[0])
    assert answer["result"]["serverInfo"]["version"] == files.release.version, answer


def uvx_wheel(trial: Trial, files: Files) -> None:
    _says_version(trial, files, ["uvx", "--quiet", "--from", str(files.wheel), "undrift", "--version"])


def uvx_wheel_all_autopsy(trial: Trial, files: Files) -> None:
    words = ["uvx", "--quiet", "--from", f"{files.wheel}[all]", "undrift", "autopsy", str(files.session)]
    assert "Compaction 1" in trial.run(words)


def uvx_source_archive(trial: Trial, files: Files) -> None:
    _says_version(trial, files, ["uvx", "--quiet", "--from", str(files.archive), "undrift", "--version"])


def uvx_folder_all_autopsy(trial: Trial, files: Files) -> None:
    """Start as in a clone: from the folder of the source."""
    words = ["uvx", "--quiet", "--from", f"{files.source}[all]", "undrift", "autopsy", str(files.session)]
    assert "Compaction 1" in trial.run(words)


def pipx_run_wheel(trial: Trial, files: Files) -> None:
    _says_version(trial, files, ["pipx", "run", "--spec", str(files.wheel), "undrift", "--version"])


def pipx_install_wheel_all(trial: Trial, files: Files) -> None:
    program = trial.home / ".local" / "bin" / "undrift"
    if not program.exists():
        trial.run(["pipx", "install", "--quiet", f"{files.wheel}[all]"])
    _says_version(trial, files, [str(program), "--version"])


def pip_install_wheel(trial: Trial, files: Files) -> None:
    venv = trial.home / "venv"
    if not venv.exists():
        trial.run(["python3", "-m", "venv", str(venv)])
        trial.run([str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", str(files.wheel)])
    _says_version(trial, files, [str(venv / "bin" / "undrift"), "--version"])


def _hook(trial: Trial, files: Files, client: str) -> None:
    """Run the plugin's own command for the start of a session, with a shell as the client does."""
    hooks = json.loads((files.plugin(client) / "hooks" / "hooks.json").read_text(encoding="utf-8"))["hooks"]
    command = hooks["SessionStart"][0]["hooks"][0]["command"]
    variables = {**trial.alone_on_path(), "CLAUDE_PLUGIN_ROOT": str(files.plugin(client))}
    assert trial.run(["sh", "-c", command], "{}", variables) == ""
    log = (trial.home / ".undrift" / "hooks.log").read_text(encoding="utf-8")
    assert "the payload names no session" in log, log


def plugin_of_claude_hook(trial: Trial, files: Files) -> None:
    _hook(trial, files, "claude")


def plugin_of_codex_hook(trial: Trial, files: Files) -> None:
    _hook(trial, files, "codex")


def plugin_of_claude_server(trial: Trial, files: Files) -> None:
    told = json.loads((files.plugin("claude") / ".mcp.json").read_text(encoding="utf-8"))["mcpServers"]["undrift"]
    words = [word.replace("${CLAUDE_PLUGIN_ROOT}", str(files.plugin("claude"))) for word in told["args"]]
    _answers(trial, files, [told["command"], *words])


def plugin_of_codex_server(trial: Trial, files: Files) -> None:
    """The server finds the plugin's script where Codex installs it."""
    place = trial.home / ".codex" / "plugins" / "cache" / "undrift" / "undrift" / files.release.version
    if not place.exists():
        shutil.copytree(files.plugin("codex"), place)
    told = json.loads((place / ".mcp.json").read_text(encoding="utf-8"))["mcpServers"]["undrift"]
    _answers(trial, files, [told["command"], *told["args"]])


def registry_entry(trial: Trial, files: Files) -> None:
    entry = json.loads((files.folder / "server.json").read_text(encoding="utf-8"))
    _answers(trial, files, words_of_entry(entry))


WAYS: tuple[tuple[Callable[[Trial, Files], None], str], ...] = (
    (uvx_wheel, "uvx"),
    (uvx_wheel_all_autopsy, "uvx"),
    (uvx_source_archive, "uvx"),
    (uvx_folder_all_autopsy, "uvx"),
    (pipx_run_wheel, "pipx"),
    (pipx_install_wheel_all, "pipx"),
    (pip_install_wheel, "uvx"),
    (plugin_of_claude_hook, "uvx"),
    (plugin_of_claude_server, "uvx"),
    (plugin_of_codex_hook, "uvx"),
    (plugin_of_codex_server, "uvx"),
    (registry_entry, "uvx"),
)


def _timed(way: Callable[[Trial, Files], None], trial: Trial, files: Files) -> float:
    begun = time.monotonic()
    way(trial, files)
    return time.monotonic() - begun


def _tried(scratch: Path, files: Files, tools: Path, *, offline: bool) -> None:
    """Go each way twice, and print a row of it."""
    links = {"UV_FIND_LINKS": str(files.packages), "PIP_FIND_LINKS": str(files.packages)}
    nothing_else = {"UV_OFFLINE": "1", "PIP_NO_INDEX": "1", "UV_PYTHON_DOWNLOADS": "never"} if offline else {}
    path = {"PATH": os.pathsep.join([str(tools), f"{sys.base_prefix}/bin", "/usr/local/bin", "/usr/bin", "/bin"])}
    print(f"{'from the built files alone':28}{'first':>8}{'again':>8}{'packages':>10}{'fetched':>10}{'on disk':>10}")
    for way, program in WAYS:
        home = scratch / f"home of {way.__name__}"
        home.mkdir()
        trial = Trial(home, files.wheel, tools, program, {**links, **nothing_else, **path}, is_alone=offline)
        first, again = _timed(way, trial, files), _timed(way, trial, files)
        cost = cost_of(home, files.packages)
        print(
            f"{way.__name__:28}{first:6.1f} s{again:6.1f} s{cost.packages:10}{cost.fetched_bytes / 1e6:7.1f} MB"
            f"{cost.kept_bytes / 1e6:7.1f} MB",
            flush=True,
        )
        empty_machine.discard(home, scratch)


def main(arguments: Sequence[str]) -> int:
    """Try the release in a folder; return the exit code."""
    offline = "--network" not in arguments
    if offline and (why := empty_machine.impossible()):
        print(f"SKIPPED: {why}")
        return 0
    dist = Path(next(word for word in arguments if not word.startswith("-"))).resolve()
    scratch = Path(tempfile.mkdtemp(prefix="undrift-release-"))
    try:
        files = Files(scratch / "dist", about(), scratch / "packages")
        shutil.copytree(dist, files.folder)
        files.unpack()
        empty_machine.packages_into(files.packages, files.wheel, sys.executable)
        tools = scratch / "tools"
        subprocess.run([sys.executable, "-m", "venv", str(tools)], check=True)
        named = [f"{name}=={version}" for name, version in _tools()]
        quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([str(tools / "bin" / "python"), *quiet, *named], check=True, stderr=subprocess.DEVNULL)
        os.chdir(scratch)
        if offline:
            empty_machine.enter()
        _tried(scratch, files, tools / "bin", offline=offline)
    finally:
        os.chdir("/")
        empty_machine.discard(scratch, scratch)
    return 0


def _tools() -> list[tuple[str, str]]:
    from importlib import metadata

    return [(name, metadata.version(name)) for name in ("uv", "pipx")]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
