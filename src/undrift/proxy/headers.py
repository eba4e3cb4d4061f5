"""Choose the headers that cross the gateway. Pure.

Law: a request's header goes upstream only if that provider's list has it; so no provider is ever shown another one's key. A
response's headers reach the client, those apart that speak of the connection.
"""

from collections.abc import Iterable, Mapping, Sequence

from undrift.values.provider import Provider
from undrift.wire.request_headers import LISTS, joined

__all__ = ["Pairs", "downstream", "upstream"]

Pairs = list[tuple[str, str]]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ALL = _names(
    """
    accept accept-charset accept-encoding accept-language authorization baggage cache-control content-encoding content-type
    helicone-auth idempotency-key pragma priority prefer range if-match if-none-match if-modified-since
    if-unmodified-since sec-fetch-mode traceparent tracestate user-agent x-app x-client-request-id x-parent-session-id
    x-request-id
    """
)
_ALL_BEGINNINGS = ("x-stainless-", "x-session-", "x-b3-")
_CLAUDE = ("anthropic-", "x-claude-", "x-anthropic-")
_OPENAI = (
    _names(
        """
        api-key chatgpt-account-id conversation_id http-referer originator session-id session_id thread-id version
        x-initiator x-title
        """
    ),
    ("openai-", "x-openai-", "x-codex-", "x-ms-"),
)
_OF: Mapping[Provider, tuple[frozenset[str], tuple[str, ...]]] = {
    "anthropic": (frozenset({"x-api-key"}), _CLAUDE),
    "openai": _OPENAI,
    "chatgpt": _OPENAI,
    "gemini": (frozenset({"x-server-timeout"}), ("x-goog-", "x-gemini-", "x-vertex-ai-")),
    "bedrock": (frozenset(), ("x-amz-", "x-amzn-", *_CLAUDE)),
    "vertex": (frozenset(), ("x-goog-", "x-vertex-ai-", *_CLAUDE)),
}
_OF_THE_CONNECTION = _names(
    """
    connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding upgrade
    alt-svc
    """
)
_READABLE = frozenset({"gzip", "deflate", "identity"})


def upstream(
    provider: Provider, given: Iterable[tuple[str, str]], *, is_read: bool, added: Mapping[str, str] | None = None
) -> Pairs:
    """Return the headers to send to the provider, in their order, repeated ones included.

    Args:
        is_read: Whether the answer is taken in: then only codings are asked for that can be undone here.
        added: What an edited body needs; joined to a list that the client sends itself.
    """
    names, beginnings = _OF[provider]
    beginnings += _ALL_BEGINNINGS
    kept = [(name, value) for name, value in given if name in _ALL or name in names or name.startswith(beginnings)]
    if is_read:
        kept = [(name, _codings(value) if name == "accept-encoding" else value) for name, value in kept]
    for name, value in (added or {}).items():
        kept = _joined(kept, name.lower(), value)
    return kept


def downstream(given: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers of the response to the client."""
    pairs = ((name.lower(), value) for name, value in given)
    return [(name, value) for name, value in pairs if name.decode("latin-1") not in _OF_THE_CONNECTION]


def _codings(value: str) -> str:
    wanted = [one.strip() for one in value.split(",")]
    kept = [one for one in wanted if one.partition(";")[0].strip().lower() in _READABLE]
    return ", ".join(kept) or "identity"


def _joined(pairs: Pairs, name: str, value: str) -> Pairs:
    for number, (known, given) in enumerate(pairs):
        if known == name and name in LISTS:
            return [*pairs[:number], (name, joined(name, given, value)), *pairs[number + 1 :]]
    return [*((known, given) for known, given in pairs if known != name), (name, value)]
