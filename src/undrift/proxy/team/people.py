"""Finds the member that a request is of, by its key.

Law: deny by default. A key is compared by its hash with every known one, in a time that does not depend on where they
differ. Who shows too many wrong keys gets no more look-ups.
"""

import asyncio
import hmac
import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from undrift.proxy.team.buckets import Buckets
from undrift.proxy.team.oidc import OidcTokens, is_token_form
from undrift.values.member import Credentials, Member, hash_of
from undrift.values.serving import KeyLine, ServeConfig

__all__ = ["FileKeys", "Network", "People", "TooManyWrong", "client_of"]

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_KNOWN_S = 60.0  # a key that is withdrawn in the store is good for so long
_MOST_KNOWN = 4_096
_THREADS = 4  # what looks up keys; a slow issuer must not take the threads of requests
_MOST_CHARACTERS = 16_384
_LONGEST_ADDRESS = 64


class TooManyWrong(Exception):
    """The client has shown too many wrong keys; `wait_s`: after so many seconds it may try again."""

    def __init__(self, wait_s: float) -> None:
        super().__init__("too many wrong keys")
        self.wait_s = wait_s


class FileKeys:
    """The keys of the configuration. `organisation`: of all of them."""

    def __init__(self, lines: Sequence[KeyLine], organisation: str) -> None:
        self._members = [
            (line.sha256.encode("ascii"), Member(line.person, line.project, organisation, line.key_id))
            for line in lines
        ]

    def member(self, key: str) -> Member | None:
        """Return the member whose key this is. None means: no member has it."""
        shown, found = hash_of(key).encode("ascii"), None
        for known, member in self._members:  # all of them, so that the time tells nothing
            if hmac.compare_digest(shown, known):
                found = member
        return found


class People:
    """The members of a team; use it on the event loop alone.

    `store`: the keys that the server's store keeps, if it keeps any. `clock`: seconds that only grow.
    """

    def __init__(
        self, config: ServeConfig, store: Credentials | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._file = FileKeys(config.keys, config.organisation)
        self._oidc = None if config.oidc is None else OidcTokens(config.oidc, config.organisation)
        self._store = store
        self._clock = clock
        self._wrong = Buckets(config.wrong_keys_per_minute, None)
        self._known: OrderedDict[str, tuple[float, Member]] = OrderedDict()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="undrift-keys")

    async def find(self, key: str, wanted: str, client: str) -> Member | None:
        """Return the member of a key or a token. None means: no member has it.

        Args:
            key: As the client shows it; empty: it shows none.
            wanted: The project that the client names, if its token is good for several.
            client: Its address, by which wrong keys are counted.

        Raises:
            TooManyWrong: This client has shown too many.
            StoreError: It cannot be known now.
        """
        if not key or len(key) > _MOST_CHARACTERS:
            return None
        if (found := self._file.member(key)) is None:
            found = await self._looked_up(key, wanted, client)
        return found

    async def _looked_up(self, key: str, wanted: str, client: str) -> Member | None:
        """Ask the store or the issuer's keys; a client with too many wrong keys does not make us ask."""
        now_s, hashed = self._clock(), hash_of(key)
        if (known := self._known.get(hashed)) is not None and now_s < known[0]:
            return known[1]
        if wait_s := self._wrong.wait_s(client, now_s):
            raise TooManyWrong(wait_s)
        found: Member | None = None
        loop = asyncio.get_running_loop()
        if self._oidc is not None and is_token_form(key):
            found = await loop.run_in_executor(self._threads, self._oidc.member, key, wanted)
        elif self._store is not None:
            found = await loop.run_in_executor(self._threads, self._store.member, key)
            if found is not None:
                self._known[hashed] = now_s + _KNOWN_S, found
                while len(self._known) > _MOST_KNOWN:
                    self._known.popitem(last=False)
        if found is None:
            self._wrong.take(client, now_s)
        return found

    def close(self) -> None:
        """End the threads; a look-up that runs is not waited for."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def client_of(peer: str, given: Mapping[str, str], trusted: Sequence[Network]) -> str:
    """Return the address of a client: of the other end, or what a trusted proxy there says of it.

    The last address in ``X-Forwarded-For`` that is no trusted proxy's counts: those before it are the client's own words.

    `trusted`: the networks of these proxies.
    """
    if not _is_in(peer, trusted):
        return peer
    return next((one for one in reversed(_forwarded(given)) if not _is_in(one, trusted)), peer)[:_LONGEST_ADDRESS]


def _forwarded(given: Mapping[str, str]) -> list[str]:
    return [one.strip() for one in given.get("x-forwarded-for", "").split(",") if one.strip()]


def _is_in(text: str, networks: Sequence[Network]) -> bool:
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return any(address in network for network in networks)
