"""Finds the provider of a request, and whether undrift can manage its form. Pure.

Law: the provider follows from the path, else from headers that only one provider's clients send. Without either, the
request goes nowhere: a key must not reach another vendor by a guess.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from undrift.values.provider import PROVIDERS, Provider

__all__ = ["CODEX", "OWN", "Route", "VIA", "by_login", "route_of"]

OWN = "/undrift"
"""All paths of the gateway itself begin so."""

VIA = "/via/"
"""In front of any path: ``/via/openai/v1/models`` names the provider where the rest would not."""

CODEX = "/backend-api/codex"
"""In front of the paths of Codex at ChatGPT."""

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
_VERTEX = re.compile(
    r"(?:/v1(?:beta1)?)?/projects/[^/]+/locations/[^/]+/publishers/anthropic/models/(?P<model>[^/:]+):(?:streamR|r)awPredict"
)
_COUNTS = "count-tokens"  # what Vertex AI has in place of a model when it counts
_BEDROCK = re.compile(r"/model/(?P<model>[^/]+)/invoke(?:-with-response-stream)?")
_CLAUDE = re.compile(r"claude-[A-Za-z0-9.-]+")
_OWN_PATHS: tuple[tuple[re.Pattern[str], Provider], ...] = (
    (re.compile(r"(?:/v1(?:beta1)?)?/projects/[^/]+/locations/[^/]+/publishers/anthropic/"), "vertex"),
    (re.compile(r"/model/[^/]+/(?:invoke|converse|count-tokens)"), "bedrock"),
    (re.compile(r"/backend-api/"), "chatgpt"),
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
    """The provider and address for a request.

    `wire`: the form if the request is managed, else empty. `needs`: a field without which the body has another form.
    """

    provider: Provider
    path: str
    wire: str = ""
    model: str | None = None
    needs: str = ""


def route_of(method: str, path: str, query: str, headers: Mapping[str, str]) -> Route | None:
    """Return the provider and address for a request. None means: nothing names its provider."""
    named, path = _via(path)
    inner = _VERSION.sub("", path, count=1) if path.startswith("/v1/") else path
    if method == "POST":
        if found := _GEMINI.fullmatch(path):
            return Route(named or "gemini", path, "gemini", found["model"])
        if (managed := _of_claude(named, path)) is not None:
            return managed
        if inner in _MANAGED:
            provider, wire = _MANAGED[inner]
            return Route(named or provider, path, wire)
        if path == f"{CODEX}/responses":
            return Route(named or "chatgpt", path, "openai-responses")
        if path.endswith("/chat/completions") and (named or _by_path(path)):
            return Route(named or _by_path(path) or "openai", path, "openai-chat")
    if (found_ := named or _by_path(path) or _by_headers(query, headers)) is None:
        return None
    is_foundry = method == "POST" and found_ == "anthropic" and path.endswith("/anthropic/v1/messages")
    return Route(found_, path, "anthropic" if is_foundry else "")


def by_login(route: Route, headers: Mapping[str, str]) -> Route:
    """Return the route of a request with a login of ChatGPT, which Codex sends to the base URL of OpenAI as well.

    The login is only good at ChatGPT's own address; the header with its account comes with every such request.
    """
    if route.provider != "openai" or "chatgpt-account-id" not in headers:
        return route
    inner = _VERSION.sub("", route.path, count=1)
    return replace(route, provider="chatgpt", path=inner if inner.startswith(f"{CODEX}/") else CODEX + inner)


def _of_claude(named: Provider | None, path: str) -> Route | None:
    """Return the route to a model of Claude in another vendor's cloud."""
    if (found := _VERTEX.fullmatch(path)) and found["model"] != _COUNTS:
        return Route(named or "vertex", path, "anthropic", _claude(found["model"]), "anthropic_version")
    if found := _BEDROCK.fullmatch(path):  # of other models as well, whose bodies have other forms
        return Route(named or "bedrock", path, "anthropic", _claude(found["model"]), "anthropic_version")
    return None


def _claude(path_part: str) -> str:
    """Return a model's name for the table of models; an inference profile of a user's own does not say which it is."""
    found = _CLAUDE.search(path_part)
    return found[0] if found else "claude"


def _via(path: str) -> tuple[Provider | None, str]:
    if path.startswith(VIA):
        name, slash, rest = path[len(VIA) :].partition("/")
        for provider in PROVIDERS:
            if name == provider:
                return provider, slash + rest or "/"
    return None, path


def _by_path(path: str) -> Provider | None:
    for pattern, provider in _OWN_PATHS:
        if pattern.match(path):
            return provider
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
