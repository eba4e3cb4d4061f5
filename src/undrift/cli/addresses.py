"""The addresses of a gateway, in the form that the clients of each provider expect."""

from undrift.clients.wrapped import Addresses
from undrift.proxy.owner import base_url

__all__ = ["addresses_of"]


def addresses_of(url: str, token: str, openai_upstream: str) -> Addresses:
    """Return the address of each provider. That of OpenAI ends with a version if the upstream's does.

    `token`: the owner's; empty to leave it out.
    """
    version = "/v1" if openai_upstream.rstrip("/").endswith("/v1") else ""
    others = {name: base_url(url, token, name) for name in ("anthropic", "gemini", "bedrock", "vertex")}
    return Addresses(openai=f"{base_url(url, token, 'openai')}{version}", **others)
