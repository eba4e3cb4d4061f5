"""A TCP round robin: the stand-in for Caddy if the machine has none, and the way to a port inside a namespace.

It knows no HTTP: no health checks, no affinity, no TLS. A target that refuses the connection is passed over.
"""

import asyncio
import contextlib
import itertools
import sys
from collections.abc import Sequence

__all__ = ["main", "relay"]


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while piece := await source.read(65_536):
            sink.write(piece)
            await sink.drain()
    with contextlib.suppress(OSError):
        sink.write_eof()


async def relay(host: str, port: int, targets: Sequence[tuple[str, int]]) -> None:
    """Accept connections until it is cancelled, and pass each to the next target that takes it."""
    turn = itertools.cycle(range(len(targets)))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = next(turn)
        with contextlib.closing(writer):
            for target in (*targets[first:], *targets[:first]):
                try:
                    there, back = await asyncio.open_connection(*target)
                except OSError:
                    continue
                with contextlib.closing(back):
                    await asyncio.gather(_pump(reader, back), _pump(there, writer))
                return

    server = await asyncio.start_server(answer, host, port)
    async with server:
        await server.serve_forever()


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)


def main(arguments: Sequence[str]) -> None:
    """Run ``HOST:PORT TARGET:PORT ...``."""
    listen, *targets = (_address(one) for one in arguments)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(relay(*listen, targets))


if __name__ == "__main__":
    main(sys.argv[1:])
