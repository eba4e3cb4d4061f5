"""The state that all requests of a gateway share, and one request as the server passes it."""

import asyncio
from dataclasses import dataclass, field

from undrift.proxy import headers
from undrift.proxy.answers import Receive, Send
from undrift.proxy.config import GatewayConfig
from undrift.proxy.connection import Connection
from undrift.proxy.incoming import BodyRoom
from undrift.proxy.metering import UsageMeter
from undrift.proxy.observe import Counters
from undrift.proxy.sessions import OpenSessions
from undrift.proxy.upstream import Pool
from undrift.proxy.workers import Workers
from undrift.values.member import Member
from undrift.values.project import Place
from undrift.values.provider import Provider

__all__ = ["Asgi", "GatewayContext"]


@dataclass(frozen=True, slots=True)
class Asgi:
    """A request as the server passes it to an ASGI application.

    `member`: the person who asks; `place`: of the member's records. None: the gateway has one owner.
    """

    method: str
    query: str
    pairs: headers.Pairs
    receive: Receive
    send: Send
    connection: Connection
    member: Member | None = None
    place: Place | None = None


@dataclass(slots=True)
class GatewayContext:
    """The state that all requests of a gateway share. `meter`: counts what members use; None: the gateway has one owner."""

    config: GatewayConfig
    sessions: OpenSessions
    pool: Pool
    workers: Workers
    figures: Counters = field(default_factory=Counters)
    last_success_s: dict[Provider, float] = field(default_factory=dict)
    meter: UsageMeter | None = None
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    room: BodyRoom = field(init=False)

    def __post_init__(self) -> None:
        self.room = BodyRoom(self.config.most_incoming_bytes)
