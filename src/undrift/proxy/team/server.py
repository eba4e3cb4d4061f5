"""The gateway of a team as a running server: it says that it is not ready, then lets the running requests end."""

import signal
import socket
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from undrift.proxy.app import Gateway
from undrift.proxy.config import GatewayConfig, regional, upstream_of
from undrift.proxy.room import bytes_of, default_bytes
from undrift.proxy.server import Server
from undrift.proxy.team.app import TeamGateway, TeamParts
from undrift.proxy.team.budgets import LocalDayCounts
from undrift.settings import Settings
from undrift.stores.files import make_folder
from undrift.stores.postgres.address import is_address
from undrift.stores.served import home_path
from undrift.values.provider import PROVIDERS, Provider
from undrift.values.serving import ServeConfig

__all__ = ["TeamServer", "gateway_config", "parts_of"]


def parts_of(serve: ServeConfig) -> TeamParts:
    """Return what is kept for all gateways of a team: a home that is a folder has counters of one process alone."""
    if not is_address(serve.home):
        return TeamParts(LocalDayCounts())
    from undrift.stores.postgres.people import ServerPeople  # the driver is loaded only if a server is the home

    people = ServerPeople(serve.home)
    return TeamParts(people, people)


def gateway_config(serve: ServeConfig, settings: Settings, variables: Mapping[str, str]) -> GatewayConfig:
    """Return the gateway's own part of a configuration.

    `variables`: of the environment, which name the regions of clouds. Raises SettingsError: a value is wrong.
    """
    defaults = regional(variables)
    urls: dict[Provider, str] = {name: serve.upstreams.get(name, defaults[name]) for name in PROVIDERS}
    return GatewayConfig(
        settings=settings,
        upstreams={name: upstream_of(url) for name, url in urls.items()},
        host=serve.host,
        port=serve.port,
        keeps_notes=False,  # the agents run on other machines, and each gateway would have files of its own
        memory_bytes=bytes_of(serve.memory) if serve.memory else default_bytes(),
        shutdown_s=serve.drain_s,
    )


class TeamServer(Server):
    """The server of a team's gateway.

    Args:
        config: The gateway's own part of the configuration; see `gateway_config`.
        serve: The team's part.
        parts: What is kept for all gateways; None: see `parts_of`.
        listening: See `Server`.
    """

    def __init__(
        self,
        config: GatewayConfig,
        serve: ServeConfig,
        parts: TeamParts | None = None,
        listening: socket.socket | None = None,
    ) -> None:
        self._serve, self._parts = serve, parts or parts_of(serve)
        self._notice: threading.Timer | None = None
        super().__init__(config, listening)

    def _application(self, config: GatewayConfig) -> Gateway:
        make_folder(home_path(config.settings.home))
        config = replace(config, port=self.port)
        self._gateway = TeamGateway(config, self._serve, self._parts, self.url, self._is_full)
        return self._gateway

    def _on_signal(self, number: int, frame: Any) -> None:
        """Be no longer ready at once, and stop after the notice; a second signal stops without the rest of it."""
        if self._gateway.is_draining:
            self._server.handle_exit(signal.SIGINT if self._server.should_exit else number, frame)
            return
        self._gateway.is_draining = True
        self._notice = threading.Timer(self._serve.notice_s, self.stop)
        self._notice.daemon = True
        self._notice.start()
