"""The gateway's connections to the providers: one pool, without cookies, redirects or proxy variables.

Law: the host comes from the configuration alone; what a client sends can choose the path behind it and nothing else.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

from undrift.errors import SettingsError
from undrift.proxy.config import Upstream
from undrift.proxy.headers import Pairs
from undrift.values.extras import command_for
from undrift.values.provider import Provider

__all__ = ["Pool"]

_CONNECT_S = 30.0
_KEEP_ALIVE_S = 30.0
_LONGEST_HEADER_BYTES = 64 << 10
_NOT_ADDED = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")


class Pool:
    """The pool of connections to the providers. Create it on the event loop; `close` closes it.

    Raises SettingsError: the package aiohttp is not installed.
    """

    def __init__(self, upstreams: Mapping[Provider, Upstream]) -> None:
        try:
            import aiohttp
            from multidict import CIMultiDict
            from yarl import URL
        except ImportError as error:
            raise SettingsError(f"the gateway needs the package aiohttp ({error}): {command_for('proxy')}") from error
        self._url, self._headers = URL, CIMultiDict
        self._upstreams = upstreams
        self.failures: tuple[type[Exception], ...] = (aiohttp.ClientError, asyncio.TimeoutError, OSError)
        """The errors of a request or a stream if the provider, or the way to it, fails."""
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE_S, ttl_dns_cache=300),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S, sock_read=None),
            skip_auto_headers=_NOT_ADDED,
            max_line_size=_LONGEST_HEADER_BYTES,
            max_field_size=_LONGEST_HEADER_BYTES,
        )

    def request(
        self, provider: Provider, method: str, path: str, query: str, headers: Pairs, data: bytes | AsyncIterator[bytes]
    ) -> Any:
        """Return the context of a response. `headers`: the request's headers, repeated ones included."""
        upstream = self._upstreams[provider]
        url = self._url.build(
            scheme=upstream.scheme,
            host=upstream.host,
            port=upstream.port,
            path=upstream.path + path,
            query_string=query,
            encoded=True,
        )
        return self._session.request(
            method, url, data=data or None, headers=self._headers(headers), allow_redirects=False
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()
