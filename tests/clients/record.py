"""The fixtures of recordings, recorded again: ``python -m tests.clients.record [--write] [FORMAT]...`` (``make recordings``).

It starts the real programs against the scripted provider in a new home, masks what a client wrote itself (instructions,
tools, reminders), and prints what undrift reads. ``--write`` replaces the fixtures and `versions.json`, which says what
each was recorded from. No request leaves this machine. Not part of ``make test``.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.clients.matrix import enter, is_inside
from tests.clients.programs import CLIENTS, PROGRAMS
from tests.clients.recordable import NOTE, RECORDABLE, SENTENCES, SUMMARY, Recordable
from undrift import transcripts
from undrift.testing import ScriptedProvider, Seen

__all__ = ["Between", "FIXTURES", "Session", "VERSIONS", "fixture_of", "main", "masked", "recorded", "version_of"]

FIXTURES = Path(__file__).parents[1] / "transcripts" / "recorded"
VERSIONS = FIXTURES / "versions.json"

_MOST_WORDS = 5
_WORD = re.compile(r"[^\W\d_]{2,}")
_TAG = re.compile(r"\s*<[\w-]+>\n?")
_MASK = r"\[\d+ characters of the client\]"
_SAID = re.compile("|".join([*map(re.escape, sorted(SENTENCES, key=len, reverse=True)), _MASK]))
_DEFINES = ("inputSchema", "input_schema", "parameters")
_TIME_OUT_S = 300


Between = Callable[[str], AbstractContextManager[str]]


@dataclass(frozen=True, slots=True)
class Session:
    """The text of a session, and the requests that the client sent. `said`: what the client printed."""

    text: str
    requests: tuple[Seen, ...]
    said: str


def recorded(client: Recordable, folder: Path, between: Between = nullcontext) -> Session:
    """Run a client in a new home below a folder. `between`: address of the provider -> where a gateway before it is."""
    home, project = folder / "home", folder / "project"
    for each in (home, project):
        each.mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", str(project)], check=True)
    (project / "note.txt").write_text(f"{NOTE}\n", encoding="utf-8")
    scripted = ScriptedProvider(client.script, summary=SUMMARY, without_tools=client.without_tools)
    with scripted as provider, between(provider.url) as at:
        for path, content in client.files(at).items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(content, encoding="utf-8")
        environment = {**_environment(client, home), **client.environment(at)}
        said = [_ran(client, words, project, environment) for words in client.runs(at)]
        text = (
            _ran(client, client.exported(said[0]), project, environment) if client.exported else _text(client, folder)
        )
        return Session(_without_places(text, folder), provider.requests, "\n".join(said))


def _environment(client: Recordable, home: Path) -> dict[str, str]:
    path = f"{PROGRAMS['claude'].path}:{client.executable.parent}:{os.environ['PATH']}"
    return {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "TERM": "xterm", "NO_PROXY": "127.0.0.1", "USER": "me"}


def _ran(client: Recordable, words: Sequence[str], project: Path, environment: Mapping[str, str]) -> str:
    done = subprocess.run(
        [str(client.executable), *words], cwd=project, env=environment, input=client.typed, capture_output=True,
        text=True, errors="replace", timeout=_TIME_OUT_S, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(
            f"{client.title} ended with {done.returncode}:\n{done.stdout[-2_000:]}\n{done.stderr[-2_000:]}"
        )
    return done.stdout


def _text(client: Recordable, folder: Path) -> str:
    found = sorted(folder.glob(client.session), key=lambda path: path.name)
    texts = [path.read_text(encoding="utf-8") for path in found]
    return texts[0] if len(texts) == 1 else "".join(f"{json.dumps(json.loads(text))}\n" for text in texts)


def _without_places(text: str, folder: Path) -> str:
    """Replace the folders of this machine, also where a client has made a name of one."""
    for place, shown in (
        (folder / "project", "/home/me/project"),
        (folder / "home", "/home/me"),
        (CLIENTS, "/opt/clients"),
    ):
        text = text.replace(str(place), shown)
        text = text.replace(re.sub(r"\W", "-", str(place)), re.sub(r"\W", "-", shown))
    machine = os.uname()
    return text.replace(str(folder), "/home").replace(machine.release, "6.1.0").replace(machine.nodename, "machine")


def masked(text: str) -> str:
    """Mask what the client wrote itself: keep names, numbers and the sentences of the script."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        return json.dumps(_masked(json.loads(text)), indent=1, ensure_ascii=False) + "\n"
    except ValueError:
        rows = (json.dumps(_masked(json.loads(row)), ensure_ascii=False) for row in text.splitlines() if row.strip())
        return "".join(f"{row}\n" for row in rows)


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return _json_in_text(value) or "".join(_pieces(value))
    if isinstance(value, list):
        return [_masked(child) for child in value]
    if not isinstance(value, dict):
        return value
    if "name" in value and any(key in value for key in _DEFINES) and not value.get("arguments"):
        return {"name": value["name"]}  # the definition of a tool
    return {key: _masked(child) for key, child in value.items()}


def _json_in_text(text: str) -> str:
    """Mask the arguments of a call that stand in a string; empty where a string holds no object."""
    try:
        found = json.loads(text) if text.startswith("{") else None
    except ValueError:
        found = None
    return json.dumps(_masked(found)) if isinstance(found, dict) else ""


def _pieces(text: str) -> Iterator[str]:
    """Yield the sentences of the script as they are, and what stands between them masked if it is long."""
    at = 0
    for found in [*_SAID.finditer(text), None]:
        between = text[at : found.start() if found else len(text)]
        is_prose = len(_WORD.findall(between)) > _MOST_WORDS and " " in between
        tag = opening[0] if (opening := _TAG.match(between)) else ""
        yield f"{tag}[{len(between)} characters of the client]" if is_prose else between
        if found:
            yield found[0]
            at = found.end()


def fixture_of(name: str) -> Path:
    """Return the fixture of a format; its suffix is that of the client's own file."""
    suffix = Path(RECORDABLE[name].session).suffix or ".json"
    return FIXTURES / f"{name}{'.jsonl' if name == 'openhands' else suffix}"


def version_of(client: Recordable, folder: Path) -> str:
    """Return the version that a program prints."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = _environment(client, folder)
    done = subprocess.run(client.version, env=environment, capture_output=True, text=True, timeout=120, check=False)
    found = re.search(r"\d+\.\d+\.\d+(?:[.-]?\w+)*", done.stdout + done.stderr)
    return found[0] if found else "?"


def main(words: Sequence[str]) -> int:
    """Record the clients of these formats, or all; return 1 if one was not read."""
    if not is_inside():
        enter([sys.executable, "-m", "tests.clients.record", *words])
    known: dict[str, Any] = json.loads(VERSIONS.read_text(encoding="utf-8")) if VERSIONS.exists() else {}
    for name in [word for word in words if not word.startswith("--")] or RECORDABLE:
        client = RECORDABLE[name]
        if not client.is_there():
            print(f"SKIPPED {name}: not installed in {client.executable}")
            continue
        with tempfile.TemporaryDirectory(prefix="undrift-record-") as folder:
            session = recorded(client, Path(folder) / "run")
            version = version_of(client, Path(folder) / "version")
        text = masked(session.text)
        found = transcripts.read(text.splitlines(keepends=True))
        print(
            f"{name} {version}: {found.format}, {len(found.entries)} entries, {len(text):,} characters, {dict(found.skipped)}"
        )
        if "--write" in words:
            FIXTURES.mkdir(exist_ok=True)
            fixture_of(name).write_text(text, encoding="utf-8")
            known[name] = {"program": client.title, "package": client.package, "version": version}
            VERSIONS.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
