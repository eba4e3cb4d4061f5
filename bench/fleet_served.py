"""Sessions sent over HTTP to a process of `undrift serve`, beside the same turns through its code alone."""

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.commits import home_at
from bench.fleet_gateway import ReplayGateway
from bench.fleet_meters import cpu_of, resident_of
from bench.fleet_sessions import BUDGET_TOKENS, ReplaySession, synthetic_sessions
from bench.kept import Kept
from bench.proxy import started
from bench.proxy_parts import _stream
from tests.postgres_server import PostgresServer
from undrift.values.member import hash_of

__all__ = ["served"]


def served(server: PostgresServer, folder: Path, sessions: Sequence[ReplaySession]) -> dict[str, Any]:
    """Send the same sessions over HTTP to a process of `undrift serve`; its CPU, beside that of the code alone."""
    files, key = folder / "served", "a-key-of-the-fleet"
    files.mkdir()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    people = sorted({one.person for one in sessions})
    with started("upstream") as (provider, _):
        keys = "".join(
            f'[[keys]]\nperson = "{one}"\nproject = "shop"\nsha256 = "{hash_of(key + one)}"\n' for one in people
        )
        text = f'home = "{home_at(server.url(), "served", affinity="yes")}"\nfiles = "{files}"\nlisten = "127.0.0.1:{port}"\n'
        text += f'organisation = "fleet"\n[upstreams]\nanthropic = "{provider}"\n{keys}'
        text += f'[session]\nbudget_tokens = {BUDGET_TOKENS}\nembedder = "none"\n'
        (files / "serve.toml").write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "undrift", "serve", "--config", str(files / "serve.toml")]
        with (files / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
            try:
                _until_open(port, process)
                found = asyncio.run(_asked(f"http://127.0.0.1:{port}", process.pid, key, sessions))
            finally:
                process.terminate()
                process.wait(60)
    answer = b"".join(_stream())
    gateway = ReplayGateway(home_at(server.url(), "served_code", affinity="yes"), folder / "served_code", BUDGET_TOKENS)
    for turn in synthetic_sessions(1, turns=20)[0].turns:
        gateway.send(sessions[0], turn, answer)
    began = time.process_time()
    for one in sessions:
        for turn in one.turns:
            gateway.send(one, turn, answer)
    found["code_cpu_ms"] = 1_000 * (time.process_time() - began) / found["turns"]
    gateway.open.close()
    return found


def _until_open(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < until:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.2)
    raise RuntimeError("undrift serve does not start")


async def _asked(url: str, pid: int, key: str, sessions: Sequence[ReplaySession]) -> dict[str, Any]:
    kept, managed, turns = Kept(url), 0, 0
    warm = f"/{key}{sessions[0].person}/via/anthropic/v1/messages"
    for turn in synthetic_sessions(1, turns=20)[0].turns:
        await kept.ask(warm, turn.body)
    before = cpu_of(pid)
    for one in sessions:
        for turn in one.turns:
            answer = await kept.ask(f"/{key}{one.person}/via/anthropic/v1/messages", turn.body)
            managed += "x-undrift-bypass" not in answer.head
            turns += 1
    spent = 1_000 * (cpu_of(pid) - before) / turns
    kept.close()
    return {"turns": turns, "managed": managed, "turn_cpu_ms": spent, "resident_bytes": resident_of(pid)}
