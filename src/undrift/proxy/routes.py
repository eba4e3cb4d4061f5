"""Finds the provider of a request, and whether undrift can manage its form. Pure.

Law: the provider follows from the path, else from headers that only one provider's clients send. Without either, the
request goes nowhere: a key must not reach another vendor by a guess.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from undrift.proxy.config import PROVIDERS, Provider

__all__ = ["OWN", "Route", "VIA", "route_of"]

OWN = "/undrift"
"""All paths of the gateway itself begin so."""

VIA = "/via/"
"""In front of any path: ``/via/openai/v1/models`` names the provider where the rest would not."""

_MANAGED: Mapping[str, tuple[Provider, str]] = {
    "/messages": ("anthropic", "anthropic"),
    "/chat/completions": ("openai", "openai-chat"),
    "/responses": ("openai", "openai-responses"),
}
_VERSION = re.compile(r"/v1(?=/)")
_GEMINI = re.compile(
    r"/v1(?:beta1?|alpha)?/(?:models|tunedModels|projects/[^/]+/locations/[^/]+/publishers/google/models)"
    r"/(?P<model>[^/:]+):(?P<act>generateContent|streamGenerateContent)"
)
_GEMINI_PATHS = re.compile(
    r"/v1(?:beta1?|alpha|internal)(?=[/:]|$)|/v1/projects/|/v1/(?:tunedM|m)odels/[^/]+:|/upload/v1"
)
_ANTHROPIC_PATHS = re.compile(r"(?:/v1)?/(?:messages|complete|skills|organizations)(?=/|$)|/api/(?:claude|oauth|hello)")
_OPENAI_PATHS = re.compile(
    r"(?:/v1)?/(?:chat|responses|completions|embeddings|images|audio|moderations|assistants|threads|vector_stores|realtime|"
    r"conversations|fine_tuning|uploads|evals|containers|videos|batches)(?=/|$)|/openai/deployments/"
)
_HEADERS: Mapping[str, Provider] = {
    "anthropic-version": "anthropic",
    "anthropic-beta": "anthropic",
    "x-api-key": "anthropic",
    "x-goog-api-key": "gemini",
    "x-goog-api-client": "gemini",
    "openai-organization": "openai",
    "openai-project": "openai",
    "openai-beta": "openai",
    "chatgpt-account-id": "openai",
    "originator": "openai",
}
_AGENTS: tuple[tuple[str, Provider], ...] = (
    ("claude-cli", "anthropic"),
    ("Anthropic/", "anthropic"),
    ("AsyncAnthropic/", "anthropic"),
    ("OpenAI/", "openai"),
    ("AsyncOpenAI/", "openai"),
    ("AzureOpenAI/", "openai"),
    ("AsyncAzureOpenAI/", "openai"),
    ("codex", "openai"),
    ("google-genai-sdk/", "gemini"),
)
"""An SDK names the class of its client: the synchronous one and the asynchronous one differ."""


@dataclass(frozen=True, slots=True)
class Route:
    """The provider and address for a request. `wire`: the form if the request is managed, else empty."""

    provider: Provider
    path: str
    wire: str = ""
    model: str | None = None


def route_of(method: str, path: str, query: str, headers: Mapping[str, str]) -> Route | None:
    """Return the provider and address for a request. None means: nothing names its provider."""
    named, path = _via(path)
    inner = _VERSION.sub("", path, count=1) if path.startswith("/v1/") else path
    if method == "POST":
        if found := _GEMINI.fullmatch(path):
            return Route(named or "gemini", path, "gemini", found["model"])
        if inner in _MANAGED:
            provider, wire = _MANAGED[inner]
            return Route(named or provider, path, wire)
        if path.endswith("/chat/completions") and (named or _by_path(path)):
            return Route(named or _by_path(path) or "openai", path, "openai-chat")
    provider_ = named or _by_path(path) or _by_headers(query, headers)
    return None if provider_ is None else Route(provider_, path)


def _via(path: str) -> tuple[Provider | None, str]:
    if path.startswith(VIA):
        name, slash, rest = path[len(VIA) :].partition("/")
        for provider in PROVIDERS:
            if name == provider:
                return provider, slash + rest or "/"
    return None, path


def _by_path(path: str) -> Provider | None:
    if _GEMINI_PATHS.match(path):
        return "gemini"
    if _ANTHROPIC_PATHS.match(path):
        return "anthropic"
    return "openai" if _OPENAI_PATHS.match(path) and not path.startswith(("/v1/batches", "/batches")) else None


def _by_headers(query: str, headers: Mapping[str, str]) -> Provider | None:
    found: set[Provider] = {provider for name, provider in _HEADERS.items() if name in headers}
    agent = headers.get("user-agent", "")
    found |= {provider for start, provider in _AGENTS if agent.startswith(start)}
    if query.startswith("key=") or "&key=" in query:
        found.add("gemini")
    return found.pop() if len(found) == 1 else None
