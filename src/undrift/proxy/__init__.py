"""The gateway: agents send it their requests, and it manages their windows on the way to the provider.

Law: an entrance. Nothing is decided here that `Session` decides; after any fault here, the client's own bytes go upstream.
"""

from undrift.proxy.config import GatewayConfig, Upstream, upstream_of
from undrift.proxy.server import Server

__all__ = ["GatewayConfig", "Server", "Upstream", "upstream_of"]
