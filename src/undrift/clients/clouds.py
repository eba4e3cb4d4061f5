"""The clouds from which Claude Code can get its models: which one it uses, and whether its requests can be managed. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Cloud", "PAST_THE_GATEWAY", "SWITCH", "cloud_of", "cloud_with", "foundry_url"]

SWITCH = "CLAUDE_CODE_USE_"
"""The beginning of the variables that choose a cloud."""

PAST_THE_GATEWAY = "its requests there do not pass the gateway of `undrift install`: `undrift wrap claude` manages them, or says why not"
"""The end of a sentence about a user of a cloud: the settings name Anthropic's address only."""

_Environment = Mapping[str, str]
_TRUE = frozenset({"1", "true", "yes", "on"})


@dataclass(frozen=True, slots=True)
class Cloud:
    """A cloud with models of Claude.

    Args:
        switch: The variable that chooses it.
        address: The variable with its base URL.
        provider: The gateway's name for it.
        version: What the client expects at the end of the base URL.
        excludes: A variable that must be empty beside `address`.
        obstacle: The user's environment -> why its requests cannot be managed; empty if they can.
    """

    title: str
    switch: str
    address: str = ""
    provider: str = ""
    version: str = ""
    excludes: str = ""
    obstacle: Callable[[_Environment], str] = lambda _: "undrift has no address for it"


def _bedrock(given: _Environment) -> str:
    if not given.get("AWS_BEARER_TOKEN_BEDROCK", "").strip() and not _is_on(given, "CLAUDE_CODE_SKIP_BEDROCK_AUTH"):
        return (
            "Amazon's signature covers each request, so that nothing in it can change. Set a Bedrock API key "
            "(AWS_BEARER_TOKEN_BEDROCK) in place of AWS credentials"
        )
    region = given.get("AWS_REGION") or given.get("AWS_DEFAULT_REGION")
    small = given.get("ANTHROPIC_SMALL_FAST_MODEL_AWS_REGION")
    return _regions("ANTHROPIC_SMALL_FAST_MODEL_AWS_REGION") if small and small != region else ""


def _vertex(given: _Environment) -> str:
    region = given.get("CLOUD_ML_REGION")
    others = sorted(name for name, value in given.items() if name.startswith("VERTEX_REGION_") and value != region)
    return _regions(others[0]) if others else ""


def _regions(variable: str) -> str:
    return f"a gateway has one region, and {variable} names another one. Unset it"


_CLOUDS = (
    Cloud("Amazon Bedrock", f"{SWITCH}BEDROCK", "ANTHROPIC_BEDROCK_BASE_URL", "bedrock", obstacle=_bedrock),
    Cloud(
        "Microsoft Foundry",
        f"{SWITCH}FOUNDRY",
        "ANTHROPIC_FOUNDRY_BASE_URL",
        "anthropic",
        excludes="ANTHROPIC_FOUNDRY_RESOURCE",
        obstacle=lambda _: "",
    ),
    Cloud("Claude Platform on AWS", f"{SWITCH}ANTHROPIC_AWS"),
    Cloud("Claude on Google Cloud", f"{SWITCH}ANTHROPIC_GOOGLE_CLOUD"),
    Cloud("Amazon Bedrock (Mantle)", f"{SWITCH}MANTLE"),
    Cloud("Vertex AI", f"{SWITCH}VERTEX", "ANTHROPIC_VERTEX_BASE_URL", "vertex", "/v1", obstacle=_vertex),
)
"""In the order in which Claude Code asks for them."""


def cloud_of(given: _Environment) -> Cloud | None:
    """Return the cloud that Claude Code uses with this environment. None means: it asks Anthropic."""
    return next((cloud for cloud in _CLOUDS if _is_on(given, cloud.switch)), None)


def cloud_with(variables: Any, around: _Environment) -> Cloud | None:
    """Return the cloud that Claude Code uses with the ``env`` of its settings, laid over an environment."""
    own = variables if isinstance(variables, dict) else {}
    return cloud_of({**around, **{name: value for name, value in own.items() if isinstance(value, str)}})


def foundry_url(given: _Environment) -> str:
    """Return the address of the user's resource in Microsoft Foundry; empty if the environment names none."""
    resource = given.get("ANTHROPIC_FOUNDRY_RESOURCE", "").strip()
    url = f"https://{resource}.services.ai.azure.com/anthropic" if resource else ""
    return given.get("ANTHROPIC_FOUNDRY_BASE_URL") or url


def _is_on(given: _Environment, name: str) -> bool:
    return given.get(name, "").strip().lower() in _TRUE
