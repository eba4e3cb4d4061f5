"""The plugins and server.json are what their one source says: version, hooks and rules of the program itself."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import undrift
from plugins.write import PACKAGED, ROOT, SERVER_NAME, Packaged, stale, wanted
from undrift.clients import CLIENTS
from undrift.mcp.place import ServedHome
from undrift.mcp.tools import default_tools
from undrift.settings import Settings

jsonschema = pytest.importorskip("jsonschema", reason="comes with the extra mcp: pip install 'undrift[mcp]'")

VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
BY_NAME = pytest.mark.parametrize("packaged", PACKAGED, ids=lambda packaged: packaged.name)

_ARGUMENT: dict[str, Any] = {
    "type": "object",
    "required": ["type"],
    "oneOf": [
        {"properties": {"type": {"const": "named"}, "name": {"type": "string"}}, "required": ["name"]},
        {
            "properties": {"type": {"const": "positional"}},
            "anyOf": [{"required": ["value"]}, {"required": ["valueHint"]}],
        },
    ],
    "properties": {"value": {"type": "string"}, "default": {"type": "string"}, "isRepeated": {"type": "boolean"}},
}
_EXACT = {"type": "string", "pattern": r"^\d+\.\d+\.\d+[\w.+-]*$", "maxLength": 255}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["$schema", "name", "description", "version"],
    "properties": {
        "$schema": {
            "pattern": r"^https://static\.modelcontextprotocol\.io/schemas/\d{4}-\d\d-\d\d/server\.schema\.json$"
        },
        "name": {"type": "string", "pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$", "minLength": 3, "maxLength": 200},
        "title": {"type": "string", "minLength": 1, "maxLength": 100},
        "description": {"type": "string", "minLength": 1, "maxLength": 100},
        "version": _EXACT,
        "packages": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["registryType", "identifier", "version", "transport"],
                "properties": {
                    "registryType": {"enum": ["npm", "pypi", "nuget", "cargo"]},
                    "identifier": {"type": "string", "minLength": 1},
                    "version": _EXACT,
                    "runtimeHint": {"type": "string"},
                    "runtimeArguments": {"type": "array", "items": _ARGUMENT},
                    "packageArguments": {"type": "array", "items": _ARGUMENT},
                    "transport": {
                        "type": "object",
                        "required": ["type"],
                        "properties": {"type": {"const": "stdio"}},
                        "additionalProperties": False,
                    },
                    "environmentVariables": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["name"],
                            "properties": {
                                "name": {"type": "string"},
                                "description": {"type": "string"},
                                "format": {"enum": ["string", "number", "boolean", "filepath"]},
                                "isRequired": {"type": "boolean"},
                                "isSecret": {"type": "boolean"},
                                "default": {"type": "string"},
                            },
                            "additionalProperties": False,
                        },
                    },
                },
                "additionalProperties": False,
                "dependentRequired": {"runtimeArguments": ["runtimeHint"]},
            },
        },
    },
    "additionalProperties": False,
}
"""The registry's schema of 2025-12-11 for a package from an index that runs on stdio, in our words and more strictly."""


def server() -> dict[str, Any]:
    return json.loads((ROOT / "server.json").read_text(encoding="utf-8"))


def test_every_written_file_is_up_to_date() -> None:
    assert not stale(), "run `make plugins`"


def test_a_file_that_changed_or_that_nothing_writes_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = wanted()
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "plugins/claude/undrift.sh").write_text("echo other\n", encoding="utf-8")
    (tmp_path / "plugins/codex/left_over.json").write_text("{}", encoding="utf-8")
    monkeypatch.setattr("plugins.write.wanted", lambda: texts)
    monkeypatch.setattr("plugins.write.ROOT", tmp_path)
    assert stale() == ["plugins/claude/undrift.sh", "plugins/codex/left_over.json"]


def test_one_version_stands_everywhere() -> None:
    assert undrift.__version__ == VERSION
    for name, text in wanted().items():
        named = set(re.findall(r"\d+\.\d+\.\d+", re.sub(r"127\.0\.0\.1", "", text)))
        assert named <= {VERSION}, name
    assert server()["version"] == server()["packages"][0]["version"] == VERSION
    for packaged in PACKAGED:
        manifest = json.loads(wanted()[f"{packaged.folder}/{packaged.manifest}/plugin.json"])
        assert manifest["version"] == VERSION
        assert f"version='{VERSION}'" in wanted()[f"{packaged.folder}/undrift.sh"]


def test_no_placeholder_is_left() -> None:
    assert [name for name, text in wanted().items() if re.search("@[A-Z]+@", text)] == []


@BY_NAME
def test_the_hooks_are_those_that_install_would_write(packaged: Packaged) -> None:
    """The same events, matchers and times; the script in place of the Python that runs the installer."""
    script = 'sh "${CLAUDE_PLUGIN_ROOT}/undrift.sh"'
    written = json.loads(wanted()[f"{packaged.folder}/hooks/hooks.json"])["hooks"]
    installed = CLIENTS[packaged.name].groups(
        lambda event, options: " ".join([f"{script} hook {event} --client={packaged.name}", *options])
    )
    assert written == json.loads(json.dumps(installed))


@BY_NAME
def test_the_skill_names_tools_that_the_server_has(packaged: Packaged, tmp_path: Path) -> None:
    text = wanted()[f"{packaged.folder}/skills/recall-and-remember/SKILL.md"]
    front = re.match(r"---\nname: ([a-z-]+)\ndescription: ([^\n]+)\n---\n", text)
    assert front, "a skill begins with its name and its description"
    assert front[1] == "recall-and-remember"
    assert len(front[2]) <= 1_024
    assert undrift.AGENT_RULES.strip() in text
    served = {tool.name for tool in default_tools(ServedHome(tmp_path, Settings()))}
    called = set(re.findall(r"`(\w+)`", text)) & served
    assert called | {"task_update"} == served
    assert "task_update" in undrift.AGENT_RULES


def test_server_json_is_as_the_registry_asks() -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(server())
    assert server()["name"] == SERVER_NAME
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"<!-- mcp-name: {SERVER_NAME} -->" in readme, "the registry looks there for the proof of ownership"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("name",), "undrift"),
        (("description",), "x" * 101),
        (("version",), "latest"),
        (("packages", 0, "transport"), {"type": "pipe"}),
        (("packages", 0, "runtimeArguments"), [{"type": "named"}]),
        (("packages", 0, "surplus"), 1),
    ],
)
def test_the_schema_refuses(path: tuple[Any, ...], value: Any) -> None:
    changed: Any = server()
    inner = changed
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(changed)
