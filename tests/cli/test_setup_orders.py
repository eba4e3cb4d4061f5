"""``undrift setup --undo`` after any order of commands that wrote into the same file: the bytes from before."""

import socket
from itertools import permutations
from pathlib import Path

import pytest

from tests.cli.builders import undrift
from tests.cli.test_install_gateway import recalling
from tests.cli.test_replay import NEEDS_POSIX
from tests.cli.test_setup import tree

pytestmark = NEEDS_POSIX

JSON = [
    "",
    "\n",
    "\ufeff",
    "{ }",
    "{\n}\n",
    '{"permissions":{"allow":["X"],"deny":["Y"]},"env":{}}',
    '{"env":{"ANTHROPIC_BASE_URL":"https://a.example"},\r\n\t"hooks": {"SessionStart":[]}}',
]
TOML = [
    "",
    "\n",
    "# mine",
    'model = "x"\n\n[mcp_servers.mine]\ncommand = "a"\n',
    'openai_base_url = "https://a.example"\r\n',
]
COMMENTED = ["", "{ } // none", '{\n  // mine\n  "mcp": {},\n}\n', '{"provider": {"openai": {"options": {}}}}']
FILES = [
    *(("claude", ".claude/settings.json", ("hooks", "--allow-recall"), text) for text in JSON),
    *(("codex", ".codex/config.toml", ("--mcp",), text) for text in TOML),
    *(("opencode", ".config/opencode/opencode.json", ("--mcp",), text) for text in COMMENTED),
]


@pytest.mark.parametrize(("client", "name", "parts", "text"), FILES)
def test_the_bytes_come_back_after_any_order(tmp_path: Path, client: str, name: str, parts: tuple[str, ...], text: str):
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = ("--port", str(found.getsockname()[1]))
    orders = permutations((*parts, "--gateway", "setup"), 2)
    for number, order in enumerate(orders):
        home = tmp_path / str(number)
        path = home / name
        path.parent.mkdir(parents=True)
        path.write_bytes(text.encode())
        environment: dict[str, str | None] = {"HOME": str(home), "PATH": recalling(tmp_path / "programs" / str(number))}
        before = tree(home)
        for part in order:
            words = ["setup"] if part == "setup" else ["install", client, *((part,) if part != "hooks" else ())]
            done = undrift(*words, "--yes", *(port if part == "--gateway" else ()), env=environment)
            assert done.exit_code == 0, done.output
        assert path.read_bytes() != text.encode()
        assert undrift("setup", "--undo", "--yes", env=environment).exit_code == 0
        assert tree(home) == before, order
