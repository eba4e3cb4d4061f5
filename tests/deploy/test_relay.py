"""The stand-in for Caddy passes connections on in turn, and passes over a gateway that is away."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from deploy.relay import relay


@contextlib.asynccontextmanager
async def named(name: bytes) -> AsyncIterator[int]:
    """A server that answers each line with its name; yields its port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(name + b" " + line)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def said(port: int, line: bytes = b"hello\n") -> bytes:
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:  # it does not listen yet
            await asyncio.sleep(0.02)
            continue
        writer.write(line)
        writer.write_eof()
        answer = await reader.read()
        writer.close()
        return answer


async def free() -> int:
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    return port


async def answers(targets: list[int], count: int) -> list[bytes]:
    port = await free()
    task = asyncio.create_task(relay("127.0.0.1", port, [("127.0.0.1", one) for one in targets]))
    try:
        return [await said(port) for _ in range(count)]
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def test_connections_take_turns():
    async def main() -> list[bytes]:
        async with named(b"one") as one, named(b"two") as two:
            return await answers([one, two], 4)

    assert asyncio.run(main()) == [b"one hello\n", b"two hello\n", b"one hello\n", b"two hello\n"]


def test_a_target_that_is_away_is_passed_over():
    async def main() -> list[bytes]:
        async with named(b"two") as two:
            return await answers([await free(), two], 3)

    assert asyncio.run(main()) == [b"two hello\n"] * 3
