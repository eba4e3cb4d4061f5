"""A team's gateway in a process of its own, as `undrift serve` starts it, and what its members ask it."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.proxy.builders import Heard, ask
from undrift.values.member import hash_of

ANA, BEN, OPERATOR = ("0123456789abcdef" * 4, "fedcba9876543210" * 4, "00112233445566778899aabbccddeeff" * 2)
"""The keys of two people of one project, and that of the operator."""

BODY = {"model": "claude-opus-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello."}]}


@dataclass
class Serving:
    """A running gateway: its address, its process, and where its log goes."""

    url: str
    process: subprocess.Popen[str]
    log: Path = field(default_factory=Path)

    def ask(self, key: str, body: Mapping[str, Any] = BODY, *, path: str = "/v1/messages", **more: Any) -> Heard:
        """Send a request of the member with this key."""
        return ask(self.url, f"/{key}/via/anthropic{path}", body, **more)

    def get(self, path: str, key: str = "") -> Heard:
        """Ask one of the gateway's own routes."""
        return ask(self.url, path, method="GET", headers={"authorization": f"Bearer {key}"} if key else {})

    def metrics(self) -> str:
        """Return the figures that the operator sees."""
        heard = self.get("/undrift/metrics", OPERATOR)
        assert heard.status == 200
        return heard.body.decode()


def configuration(home: Path | str, upstream: str, more: str = "") -> str:
    """Return a configuration with Ana and Ben in the project shop. `more`: tables."""
    lines = [f"home = {json.dumps(str(home))}", 'listen = "127.0.0.1:0"', more.partition("[")[0]]
    lines += ["[upstreams]", *(f"{name} = {json.dumps(upstream)}" for name in ("anthropic", "openai", "gemini"))]
    for person, key in (("ana", ANA), ("ben", BEN)):
        lines += ["[[keys]]", f'person = "{person}"', 'project = "shop"', f'sha256 = "{hash_of(key)}"']
    lines += ["[metrics]", f'sha256 = "{hash_of(OPERATOR)}"', "most_labels = 1"]
    lines += ["[session]", 'token_counter = "characters/4"'] if "[session]" not in more else []
    return "\n".join([*lines, "".join(more.partition("[")[1:])]) + "\n"


@contextmanager
def serving(home: Path | str, upstream: str, more: str = "", **variables: str) -> Iterator[Serving]:
    """Start `undrift serve` with the configuration and these variables; stop it at the end."""
    with tempfile.TemporaryDirectory() as folder:
        file, log = Path(folder, "serve.toml"), Path(folder, "log")
        file.write_text(configuration(home, upstream, more), encoding="utf-8")
        command = [sys.executable, "-m", "undrift", "serve", "--config", str(file), "--json"]
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("UNDRIFT_", "OTEL_"))}
        with (
            log.open("w") as errors,
            subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, text=True, env={**kept, **variables}, bufsize=1
            ) as process,
        ):
            assert process.stdout is not None
            said = []
            for line in process.stdout:
                said.append(line)
                if line.startswith("}"):
                    break
            try:
                assert said, f"it did not start: {log.read_text()}"
                yield Serving(json.loads("".join(said))["url"], process, log)
            finally:
                process.kill() if process.poll() is None else None
                process.wait(30)
