"""Writes the plugins of the clients and server.json: ``python -m plugins.write``, run by `make plugins`.

Law: the version is that of pyproject.toml, the hooks are those of `undrift install`, the rules are `undrift.AGENT_RULES`. Each
text has one source; the files in plugins/claude and plugins/codex are copies with their placeholders filled in.
"""

import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from release.about import about
from undrift import AGENT_RULES
from undrift.clients import CLIENTS
from undrift.clients.base import EntryScope

__all__ = ["ROOT", "SERVER_NAME", "main", "stale", "wanted"]

ROOT = Path(__file__).parents[1]
SERVER_NAME = "io.github.undrift/undrift"
"""In the MCP registry. Its first part must belong to the publisher; README names the same one as a proof."""

_NAME = "undrift"
_RELEASE = about()
_WANTED = f"'{_RELEASE.name}[mcp,vectors]=={_RELEASE.version}'" if _RELEASE.published else "'FOLDER[mcp,vectors]'"
_WHERE = "" if _RELEASE.published else ", with the folder of a clone, as no index has it yet"
_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
_SHORT = "Gives an agent back what a compaction removed, and a memory. No model, no network."
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
_SETTINGS = {"claude": (".claude/settings.json",)}
"""Files of a project that may list our hooks, beside the one that `undrift install --project` changes."""


@dataclass(frozen=True, slots=True)
class Packaged:
    """A client as its plugin needs it.

    `manifest`: the folder of plugin.json. `install`: the commands of a person; `after`: what is to do then.
    """

    name: str
    manifest: str
    server: Mapping[str, Any]
    more: Mapping[str, Any]
    install: str
    remove: str
    after: str

    @property
    def folder(self) -> str:
        return f"plugins/{self.name}"


_GLOB = f'"${{CODEX_HOME:-$HOME/.codex}}"/plugins/cache/*/{_NAME}/{_PROJECT["version"]}/undrift.sh'
_FIND = f'for script in {_GLOB}; do [ -f "$script" ] && exec sh "$script" mcp; done; exit 1'
PACKAGED = (
    Packaged(
        "claude",
        ".claude-plugin",
        {"command": "sh", "args": ["${CLAUDE_PLUGIN_ROOT}/undrift.sh", "mcp"]},
        {"author": {"name": _NAME}, "license": _PROJECT["license"], "keywords": _PROJECT["keywords"]},
        f"claude plugin marketplace add FOLDER   # a clone of the repository, or its address\nclaude plugin install {_NAME}@{_NAME}",
        f"claude plugin uninstall {_NAME}@{_NAME}",
        "Restart Claude Code. `/mcp` lists the server, `/hooks` the hooks.",
    ),
    Packaged(
        "codex",
        ".codex-plugin",
        # Codex names no folder of a plugin to its servers, and the working folder has to stay that of the project.
        {"command": "sh", "args": ["-c", _FIND], "env_vars": ["CODEX_HOME", "UNDRIFT_HOME"]},
        {
            "author": {"name": _NAME},
            "license": _PROJECT["license"],
            "keywords": _PROJECT["keywords"],
            "skills": "./skills/",
            "hooks": "./hooks/hooks.json",
            "mcpServers": "./.mcp.json",
            "interface": {"displayName": _NAME, "shortDescription": _SHORT, "category": "Productivity"},
        },
        f"codex plugin marketplace add FOLDER   # a clone of the repository, or its address\ncodex plugin add {_NAME}@{_NAME}",
        f"codex plugin remove {_NAME}@{_NAME}",
        "Start `codex`, type `/hooks` and trust the new entries: Codex runs no hook before.",
    ),
)


def wanted() -> dict[str, str]:
    """Return each generated file, by its path below the repository's root."""
    entry = {"name": _NAME, "description": _SHORT}
    source = {"source": "local", "path": "./plugins/codex"}
    policy = {"installation": "AVAILABLE", "authentication": "ON_INSTALL"}
    found = {
        ".claude-plugin/marketplace.json": _json(
            {
                "name": _NAME,
                "owner": {"name": _NAME},
                "description": _SHORT,
                "plugins": [{**entry, "source": "./plugins/claude"}],
            }
        ),
        ".agents/plugins/marketplace.json": _json(
            {"name": _NAME, "plugins": [{**entry, "source": source, "policy": policy, "category": "Productivity"}]}
        ),
        "server.json": _json(_server()),
    }
    for packaged in PACKAGED:
        found |= {f"{packaged.folder}/{path}": text for path, text in _files(packaged)}
    return found


def stale() -> list[str]:
    """Return the generated files that are not as they should be, and files beside them that nothing generates."""
    texts = wanted()
    there = [path for one in PACKAGED for path in (ROOT / one.folder).rglob("*") if path.is_file()]
    others = [name for name in (path.relative_to(ROOT).as_posix() for path in there) if name not in texts]
    old = [
        name for name, text in texts.items() if not (ROOT / name).is_file() or (ROOT / name).read_text("utf-8") != text
    ]
    return sorted(old + others)


def _files(packaged: Packaged) -> Iterator[tuple[str, str]]:
    client = CLIENTS[packaged.name]
    about = {"name": _NAME, "version": _PROJECT["version"], "description": _SHORT, **packaged.more}
    yield f"{packaged.manifest}/plugin.json", _json(about)
    yield ".mcp.json", _json({"mcpServers": {_NAME: packaged.server}})
    yield (
        "hooks/hooks.json",
        _json({"hooks": client.groups(lambda event, options: _hook(packaged.name, event, options))}),
    )
    filled = {
        "VERSION": _PROJECT["version"],
        "TITLE": client.title,
        "CLIENT": packaged.name,
        "FOLDER": client.folder,
        "SETTINGS": " ".join(_settings(packaged.name)),
        "RULES": AGENT_RULES.strip(),
        "INSTALL": packaged.install,
        "REMOVE": packaged.remove,
        "AFTER": packaged.after,
        "PACKAGE": _RELEASE.name,
        "HOWEVER": f"Install {'uv, or ' if _RELEASE.published else ''}undrift itself: pipx install {_WANTED}{_WHERE}.",
        "WHERE": f"To install undrift itself: `pipx install {_WANTED}`{_WHERE}.",
    }
    for source, path in (
        ("undrift.sh", "undrift.sh"),
        ("README.md", "README.md"),
        ("SKILL.md", "skills/recall-and-remember/SKILL.md"),
    ):
        text = (ROOT / "plugins" / source).read_text(encoding="utf-8")
        yield path, re.sub(r"@([A-Z]+)@", lambda found: filled[found[1]], text)


def _hook(client: str, event: str, options: Sequence[str]) -> str:
    """Return the command of a hook. The home and the client's folder are found by the script."""
    return " ".join([f'sh "${{CLAUDE_PLUGIN_ROOT}}/undrift.sh" hook {event} --client={client}', *options])


def _settings(name: str) -> list[str]:
    """Return the files that may list the hooks of `undrift install`, as words of the shell."""
    settings = CLIENTS[name].settings
    user, project = Path("$client_home"), Path("$project")
    own = (settings(EntryScope(user)), settings(EntryScope(user, project)))
    return [f'"{path}"' for path in (*own, *(project / path for path in _SETTINGS.get(name, ())))]


def _server() -> dict[str, Any]:
    extras = f"{_RELEASE.name}[mcp,vectors]=={_RELEASE.version}"
    package = {
        "registryType": "pypi",
        "identifier": _RELEASE.name,
        "version": _RELEASE.version,
        "runtimeHint": "uvx",
        "runtimeArguments": [{"type": "named", "name": "--with", "value": extras}],
        "packageArguments": [{"type": "positional", "value": "mcp"}],
        "transport": {"type": "stdio"},
        "environmentVariables": [
            {
                "name": "UNDRIFT_HOME",
                "description": "The folder of undrift's data; ~/.undrift without it.",
                "format": "filepath",
            }
        ],
    }
    return {
        "$schema": _SCHEMA,
        "name": SERVER_NAME,
        "title": _NAME,
        "description": "Memory, tasks and recall for agents: every tool result comes back word for word.",
        "version": _PROJECT["version"],
        "packages": [package],
    }


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def main() -> int:
    """Write every file that is not up to date; name each."""
    texts = wanted()
    for name in stale():
        if name in texts:
            (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / name).write_text(texts[name], encoding="utf-8")
            print(f"written: {name}")
        else:
            print(f"remove it, nothing generates it: {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
