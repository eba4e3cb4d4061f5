"""The configuration of a gateway. Law: it is fixed at the start; no request, header or project file can change it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from undrift.errors import SettingsError
from undrift.proxy.room import default_bytes
from undrift.settings import Settings
from undrift.values.clock import now_ms
from undrift.values.project import Place
from undrift.values.provider import Provider

__all__ = ["DEFAULT_UPSTREAMS", "GatewayConfig", "Upstream", "regional", "upstream_of"]

DEFAULT_UPSTREAMS: Mapping[Provider, str] = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com",
    "gemini": "https://generativelanguage.googleapis.com",
    "bedrock": "https://bedrock-runtime.us-east-1.amazonaws.com",
    "vertex": "https://aiplatform.googleapis.com",
    "chatgpt": "https://chatgpt.com",
}

_REGION = re.compile(r"[a-z][a-z0-9-]{0,40}")

_VERSIONS = ("/v1", "/v1beta")
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Upstream:
    """The address to which requests for one provider are sent.

    `path`: what stands before the path of each request; empty, or with a slash in front and none behind.
    """

    scheme: str
    host: str
    port: int
    path: str = ""


def regional(variables: Mapping[str, str]) -> dict[Provider, str]:
    """Return the default addresses, with those of Bedrock and Vertex AI in the user's region.

    `variables`: of the environment; a region with characters that no region has is ignored.
    """
    urls = dict(DEFAULT_UPSTREAMS)
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION"):  # the second wins, as in Amazon's libraries
        if _REGION.fullmatch(region := variables.get(name, "")):
            end = ".cn" if region.startswith("cn-") else ""
            urls["bedrock"] = f"https://bedrock-runtime.{region}.amazonaws.com{end}"
    if (region := variables.get("CLOUD_ML_REGION", "")) in ("us", "eu"):
        urls["vertex"] = f"https://aiplatform.{region}.rep.googleapis.com"
    elif region != "global" and _REGION.fullmatch(region):
        urls["vertex"] = f"https://{region}-aiplatform.googleapis.com"
    return urls


def upstream_of(url: str) -> Upstream:
    """Read the address of a provider, without a version at its end, because each request's path has one.

    Raises:
        SettingsError: It is none that requests could go to; the message says what is wrong, without the address's secrets.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise SettingsError(f"an upstream must be a URL as in https://api.example.com: {error}") from error
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
        raise SettingsError("an upstream must be a URL as in https://api.example.com, with http or https and a host")
    if parts.username is not None or parts.password is not None:
        raise SettingsError("an upstream's URL must hold no name or password: the clients bring their own keys")
    if parts.query or parts.fragment or any(c in url for c in " \t\r\n\\"):
        raise SettingsError("an upstream's URL must end with its path: no query, fragment, space or backslash")
    path = parts.path.rstrip("/")
    for version in _VERSIONS:
        path = path.removesuffix(version)
    return Upstream(parts.scheme, parts.hostname, port or _DEFAULT_PORTS[parts.scheme], path.rstrip("/"))


def _defaults() -> dict[Provider, Upstream]:
    return {provider: upstream_of(url) for provider, url in DEFAULT_UPSTREAMS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayConfig:
    """The configuration of a gateway.

    Args:
        host: Where to listen; the default is reachable from this machine alone.
        port: 0 takes a free one.
        recall_reachable: Whether agents can run ``undrift recall``; else it is named only in requests that offer our tool.
        place: The place of the project of all requests; None: each request tells its own.
        shares: Whether a home without records keeps each project's apart.
        keeps_notes: Whether sessions have active_context.md, which an agent on another machine could not read.
        deadline_s: How long managing a request may work, or stand still, before its original goes upstream.
        longest_wait_s: How long it may take with the wait for its turn.
        memory_bytes: The memory that the process may use; beyond, the sessions used longest ago are closed.
        most_body_bytes: A request larger than this is not managed, and goes upstream as it comes.
        head_deadline_s: How long the head of a request may take to come in.
        most_waiting: The most connections whose next request has no whole head yet; beyond, the oldest is closed.
        most_incoming_bytes: The most bytes in all bodies that are not yet whole.
        body_deadline_s: How long a body may take to come in. If it is not managed: its first MB, and then each piece.
        most_answer_bytes: An answer larger than this is not taken in; it reaches the client all the same.
        faults_to_bypass: After so many faults in a row a session is left alone until the store is healthy again.
        recovery_s: How long a session that is left alone waits before health is asked.
        shutdown_s: How long streams may continue after the signal to stop.
        clock: Gives Unix milliseconds; pauses between requests are measured by it.
    """

    settings: Settings
    upstreams: Mapping[Provider, Upstream] = field(default_factory=_defaults)
    host: str = "127.0.0.1"
    port: int = 8787
    recall_reachable: bool = False
    place: Place | None = None
    shares: bool = False
    keeps_notes: bool = True
    deadline_s: float = 5.0
    longest_wait_s: float = 60.0
    memory_bytes: int = field(default_factory=default_bytes)
    most_body_bytes: int = 64 << 20
    head_deadline_s: float = 10.0
    most_waiting: int = 1_024
    most_incoming_bytes: int = 256 << 20
    body_deadline_s: float = 60.0
    most_answer_bytes: int = 32 << 20
    faults_to_bypass: int = 3
    recovery_s: float = 10.0
    shutdown_s: float = 300.0
    clock: Callable[[], int] = now_ms
