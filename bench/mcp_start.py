"""How long a client waits for `undrift mcp`: from the start of the process to the answer to initialize, on stdin and stdout.

Beside it stands a server of the package alone, with one tool: what is more than that is ours.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

from bench.figures import Claim, Figure, Report, ratio_claim

__all__ = ["measure"]

LIMIT_MS = 2_000.0
RATIO_LIMIT = 1.25

_BARE = """
import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server


async def listed(_context, _params):
    tool = types.Tool(name="nothing", description="Does nothing.", inputSchema={"type": "object"})
    return types.ListToolsResult(tools=[tool])


async def called(_context, _params):
    return types.CallToolResult(content=[])


async def serve():
    server = Server("bare", version="1", on_list_tools=listed, on_call_tool=called)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


anyio.run(serve)
"""
_OURS = "from undrift.__main__ import run; run()"  # what the installed script does
_CLIENT = {"name": "bench", "version": "1"}
_PARAMS = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": _CLIENT}
_INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _PARAMS}


def measure(rounds: int = 15) -> Report:
    """Measure fresh processes in turns, bytecode compiled: wall time, as a client waits, and CPU time of the whole process."""
    report = Report()
    if importlib.util.find_spec("mcp") is None or importlib.util.find_spec("resource") is None:
        report.skipped.append("initialize of undrift mcp: needs the extra `mcp` and a system with getrusage")
        return report
    with tempfile.TemporaryDirectory() as folder:
        sides = {
            "a bare server of the package mcp": ["-c", _BARE],
            "undrift mcp": ["-c", _OURS, "mcp", "--home", folder],
        }
        for arguments in sides.values():
            _started(arguments, folder)  # compiles
        samples: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
        for _ in range(rounds):
            for name, arguments in sides.items():
                samples[name].append(_started(arguments, folder))
    for kind, position in (("wall", 0), ("CPU", 1)):
        bare, ours = (
            Figure(f"initialize, {name}, {kind}", "ms", tuple(one[position] for one in found))
            for name, found in samples.items()
        )
        report.figures += [bare, ours]
        text = f"initialize of undrift mcp against a bare server, {kind} time"
        report.claims.append(ratio_claim(text, ours, bare, limit=RATIO_LIMIT if kind == "CPU" else None))
        if kind == "wall":
            report.claims.append(Claim("initialize of undrift mcp, p50 of wall time", ours.median, "ms", LIMIT_MS))
    return report


def _started(arguments: Sequence[str], bytecode: str) -> tuple[float, float]:
    """Start a server, ask it and end it; milliseconds until its answer, and those of CPU that all of it took."""
    resource: Any = importlib.import_module("resource")  # not on every system; `measure` has looked
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = bytecode
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-P", *arguments], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(_INITIALIZE).encode() + b"\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        waited = time.perf_counter() - started
        process.stdin.close()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if "serverInfo" not in json.loads(answer or b"{}").get("result", {}):
        raise AssertionError(f"{arguments[1][:40]!r} answered {answer[:200]!r}")
    return 1_000 * waited, 1_000 * float(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
