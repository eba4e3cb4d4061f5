"""Our MCP server in the configuration of each client: put in beside what is there, and taken out to the byte."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.builders import undrift
from tests.clients.test_hook_entries import ENDS, LAYOUTS, VALUES, text_of
from undrift.clients import SERVED
from undrift.clients.base import EntryScope
from undrift.clients.serverfile import NAME, is_our_server
from undrift.errors import InputError

WORDS = ["/opt/a b/python", "-P", "-m", "undrift", "mcp", '--home=/h/"\u00fc\\x']
OTHERS = ["/opt/a b/python", "-P", "-m", "undrift", "mcp", "--home=/other"]
JSON_CLIENTS = ["claude", "gemini", "opencode"]
CONTAINER = {"claude": "mcpServers", "gemini": "mcpServers", "opencode": "mcp"}
TOML = [
    "",
    "\n",
    'model = "x"',
    'model = "x"\n',
    '# mine\r\nmodel = "x"\r\n\r\n[a]\r\nb = [\r\n  "[c]",\r\n]\r\n',
    '[mcp_servers.other]\ncommand = "a"\n\n[mcp_servers.other.env]\nA = "1"\n',
    'mcp_servers.other = { command = "a" }\n',
    "[mcp_servers]\n",
    'text = """\n[mcp_servers.undrift]\n"""\n',
]


@given(
    st.sampled_from(JSON_CLIENTS),
    st.dictionaries(st.text(max_size=6), VALUES, max_size=4),
    LAYOUTS,
    ENDS,
    st.booleans(),
)
def test_what_was_put_into_json_comes_out_to_the_byte(client: str, rest: dict, layout, end: str, has_others: bool):
    container = CONTAINER[client]
    rest.pop(container, None)
    before = text_of({**rest, **({container: {"other": {"command": "x"}}} if has_others else {})}, layout, end)
    served = SERVED[client]
    edited = served.installed(before, WORDS)
    assert served.has(edited.text, WORDS)
    assert not served.has(before, WORDS)
    assert served.home(edited.text) == Path('/h/"\u00fc\\x')
    found = json.loads(edited.text.removeprefix("\ufeff"))
    assert {**found[container], NAME: 0} == ({"other": {"command": "x"}} if has_others else {}) | {NAME: 0}
    assert served.without_ours(edited.text, edited.pieces, edited.containers) == before


@given(st.dictionaries(st.text(max_size=6), VALUES, max_size=4), LAYOUTS, ENDS, st.booleans(), st.booleans())
def test_the_newer_form_of_opencode_is_kept_where_a_file_has_it(
    rest: dict, layout, end: str, has_nested: bool, has_plain: bool
):
    nested = {"other": {"type": "local", "command": ["x"], "disabled": True}} if has_nested else {}
    plain = {"older": {"type": "local", "command": ["x"], "enabled": True}} if has_plain else {}
    before = text_of({**rest, "mcp": {**plain, "servers": nested, "timeout": 5}}, layout, end)
    served = SERVED["opencode"]
    edited = served.installed(before, WORDS)
    found = json.loads(edited.text.removeprefix("\ufeff"))["mcp"]
    assert found == {**plain, "servers": {**nested, NAME: {"type": "local", "command": WORDS}}, "timeout": 5}
    assert served.has(edited.text, WORDS)
    assert served.without_ours(edited.text, edited.pieces, edited.containers) == before
    assert json.loads(served.without_ours(edited.text).removeprefix("\ufeff")) == json.loads(
        before.removeprefix("\ufeff")
    )


@pytest.mark.parametrize("entry", [{"type": "local", "command": ["x"], "environment": {"A": "b"}}, {"enabled": False}])
def test_a_server_with_the_name_of_the_newer_list_is_a_server(entry: dict):
    edited = SERVED["opencode"].installed(json.dumps({"mcp": {"servers": entry}}), WORDS)
    ours = {"type": "local", "command": WORDS, "enabled": True}
    assert json.loads(edited.text) == {"mcp": {"servers": entry, NAME: ours}}


def test_our_server_in_both_lists_of_opencode_is_taken_out_of_both():
    opencode = SERVED["opencode"]
    both: dict[str, Any] = {
        "mcp": {NAME: {"type": "local", "command": OTHERS}, "servers": {NAME: {"type": "local", "command": WORDS}}}
    }
    assert opencode.has(json.dumps(both), WORDS), "opencode takes the newer one"
    assert json.loads(opencode.without_ours(json.dumps(both))) == {"mcp": {"servers": {}}}
    both["mcp"][NAME]["command"] = ["npx", "someone-elses"]
    with pytest.raises(InputError, match="another server"):
        opencode.home(json.dumps(both))


@pytest.mark.parametrize("client", JSON_CLIENTS)
def test_a_file_that_the_client_has_written_rewritten_is_cleared(client: str):
    served = SERVED[client]
    edited = served.installed('{"a": 1}', WORDS)
    rewritten = json.dumps({**json.loads(edited.text), "numStartups": 3}, indent=4)
    assert json.loads(served.without_ours(rewritten, edited.pieces, edited.containers)) == {"a": 1, "numStartups": 3}
    assert json.loads(served.without_ours(rewritten)) == {"a": 1, "numStartups": 3}


@pytest.mark.parametrize("client", JSON_CLIENTS)
def test_a_member_that_the_client_puts_before_ours_leaves_no_comma_behind(client: str):
    served = SERVED[client]
    edited = served.installed("{}", WORDS)
    rewritten = edited.text.replace("{", '{\n  "$schema": "x",', 1)
    assert json.loads(served.without_ours(rewritten, edited.pieces, edited.containers)) == {"$schema": "x"}


@pytest.mark.parametrize("before", TOML)
def test_what_was_put_into_toml_comes_out_to_the_byte(before: str):
    codex = SERVED["codex"]
    edited = codex.installed(before, WORDS)
    assert edited.text.startswith(before)
    entry = tomllib.loads(edited.text)["mcp_servers"][NAME]
    assert [entry["command"], *entry["args"]] == WORDS
    assert codex.has(edited.text, WORDS)
    assert codex.without_ours(edited.text, edited.pieces, edited.containers) == before


def test_toml_that_the_client_has_written_rewritten_is_cleared_or_left_alone():
    codex = SERVED["codex"]
    rewritten = (
        'model = "x"\n\n[mcp_servers.undrift]\ncommand = "/p"\nargs = [\n  "-m",\n  "undrift",\n  "mcp",\n  "--home=/h",\n]\n'
        '\n[mcp_servers.undrift.tools.recall]\napproval_mode = "approve"\n\n[z]\na = 1\n'
    )
    assert tomllib.loads(codex.without_ours(rewritten)) == {"model": "x", "z": {"a": 1}}
    inline = 'mcp_servers.undrift = { command = "/p", args = ["-m", "undrift", "mcp", "--home=/h"] }\n'
    with pytest.raises(InputError, match="take it out yourself"):
        codex.without_ours(inline)


@pytest.mark.parametrize(
    ("client", "text"),
    [
        ("claude", '{"mcpServers": []}'),
        ("claude", '{"mcpServers": {"undrift": {"command": "npx", "args": ["someone-elses"]}}}'),
        ("claude", '{"mcpServers": {"undrift": 1}}'),
        ("claude", "[]"),
        ("claude", '{"a": 1, "a": 2}'),
        ("claude", "{ // a comment\n}"),
        ("opencode", '{"mcp": {"undrift": {"type": "remote", "url": "http://example.invalid"}}}'),
        ("codex", "not toml"),
        ("codex", 'mcp_servers = { other = { command = "a" } }\n'),
        ("codex", "mcp_servers = 1\n"),
        ("codex", '[mcp_servers.undrift]\ncommand = "npx"\n'),
    ],
)
def test_what_is_not_ours_or_is_malformed_is_refused(client: str, text: str):
    with pytest.raises(InputError):
        SERVED[client].installed(text, WORDS) if SERVED[client].home(text) is None else None


def test_only_our_own_words_are_ours():
    assert is_our_server(WORDS)
    assert is_our_server(["C:\\x\\undrift.exe", "mcp", "--home=C:\\h"])
    for words in (None, [], "undrift mcp", ["undrift", "mcp"], ["undrift", "hook", "--home=/h"], [None, "undrift"]):
        assert not is_our_server(words)


def test_where_each_client_keeps_it(tmp_path: Path):
    home, project = tmp_path / ".x", tmp_path / "p"
    assert SERVED["claude"].settings(EntryScope(home)) == tmp_path / ".claude.json"
    assert SERVED["claude"].settings(EntryScope(home, is_own=True)) == home / ".claude.json"
    assert SERVED["claude"].settings(EntryScope(home, project)) == project / ".mcp.json"
    assert SERVED["codex"].settings(EntryScope(home)) == home / "config.toml"
    assert SERVED["gemini"].settings(EntryScope(home, project)) == project / ".gemini" / "settings.json"
    assert SERVED["opencode"].settings(EntryScope(home, project)) == project / "opencode.json"


@pytest.mark.parametrize("client", sorted(SERVED))
def test_the_command_shows_the_difference_installs_and_takes_out(tmp_path: Path, client: str):
    pytest.importorskip("mcp", reason="the extra mcp is not installed: pip install 'undrift[mcp]'")
    env: dict[str, str | None] = {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}
    path = SERVED[client].settings(EntryScope(tmp_path / SERVED[client].folder))
    path.parent.mkdir(parents=True, exist_ok=True)
    before = b'model = "x"\r\n' if client == "codex" else b'{\r\n\t"model" : "x" }'
    path.write_bytes(before)
    refused = undrift("install", client, "--mcp", env=env)
    assert refused.exit_code == 1
    assert f"--- {path}" in refused.stdout
    assert path.read_bytes() == before
    assert undrift("install", client, "--mcp", "--yes", env=env).exit_code == 0
    assert f"--home={tmp_path / '.undrift'}" in path.read_text()
    assert "installed already" in undrift("install", client, "--mcp", "--yes", env=env).stdout
    moved = undrift("install", client, "--mcp", "--yes", "--home", str(tmp_path / "b"), env=env)
    assert moved.exit_code == 0
    assert path.read_text().count("--home=") == 1
    assert undrift("uninstall", client, "--mcp", "--yes", env=env).exit_code == 0
    assert path.read_bytes() == before
    assert not (tmp_path / ".undrift").exists()
