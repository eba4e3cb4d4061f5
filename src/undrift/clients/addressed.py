"""The clients whose settings can name a gateway for every day, and the values that do so. Pure.

Law: these are the user's own settings, never a file of a project, because a value holds the owner's token.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from undrift.clients.base import EntryScope
from undrift.clients.linefile import EnvValues, TomlValues, YamlValues
from undrift.clients.valuefile import BLANK, JsonValues, ValueFile
from undrift.clients.wrapped import AIDER_VARIABLES, Addresses

__all__ = ["ADDRESSED", "Address", "AddressedClient", "gateway_of"]

_GATEWAY = re.compile(
    r"http://(?:127\.0\.0\.1|localhost|\[::1\]):([0-9]{1,5})(?:/([0-9a-f]{64}))?/via/[a-z]+(?:/[A-Za-z0-9/._-]*)?"
)


def gateway_of(value: Any) -> tuple[int, str] | None:
    """Return the port and the token in an address of a gateway on this machine. None means: it is another address."""
    found = _GATEWAY.fullmatch(value) if isinstance(value, str) else None
    return (int(found[1]), found[2] or "") if found else None


@dataclass(frozen=True, slots=True)
class Address:
    """One value that names the gateway.

    Args:
        key: Its path in the settings.
        providers: The providers whose requests it leads through the gateway.
        write: Addresses -> the value.
    """

    key: tuple[str, ...]
    providers: tuple[str, ...]
    write: Callable[[Addresses], Any]


@dataclass(frozen=True, slots=True)
class AddressedClient:
    """A client that can be pointed at a gateway by its user's settings.

    Args:
        folder: Of the user's home folder; with `variable` the one that overrides it.
        paths: Where the settings may stand; the last one that is there counts, else the first.
        addresses: The settings' text -> the values to set.
        status_line: The key of a command that prints a status line; empty if the client runs none.
        allowed: In JSON settings, the key of the list of what its agent may run without a question; empty if there is none.
    """

    name: str
    title: str
    folder: str
    paths: Callable[[EntryScope], tuple[Path, ...]]
    form: ValueFile
    addresses: Callable[[str], tuple[Address, ...]]
    notes: tuple[str, ...] = ()
    status_line: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()


def _in(*names: str) -> Callable[[EntryScope], tuple[Path, ...]]:
    return lambda scope: tuple(scope.client_home / name for name in names)


def _always(*addresses: Address) -> Callable[[str], tuple[Address, ...]]:
    return lambda _: addresses


def _of_codex(text: str) -> tuple[Address, ...]:
    """A provider of the user's own has its address in a table of its own; the built-in one's stands at the top."""
    values = TomlValues()
    if text.strip(BLANK):
        chosen = values.value(text, ("model_provider",))
        if isinstance(chosen, str) and values.value(text, ("model_providers", chosen, "base_url")) is not None:
            return (Address(("model_providers", chosen, "base_url"), ("openai",), lambda at: at.openai),)
    return (Address(("openai_base_url",), ("openai",), lambda at: at.openai),)


def _of_opencode(name: str, provider: str) -> Address:
    return Address(("provider", name, "options", "baseURL"), (provider,), lambda at: at.in_opencode[name])


def _of_litellm(variable: str, provider: str) -> Address:
    return Address((variable,), (provider,), lambda at: at.in_litellm[variable])


ADDRESSED: Mapping[str, AddressedClient] = {
    "claude": AddressedClient(
        "claude",
        "Claude Code",
        ".claude",
        _in("settings.json"),
        JsonValues(),
        _always(Address(("env", "ANTHROPIC_BASE_URL"), ("anthropic",), lambda at: at.anthropic)),
        status_line=("statusLine",),
        allowed=("permissions", "allow"),
    ),
    "codex": AddressedClient("codex", "Codex", ".codex", _in("config.toml"), TomlValues(), _of_codex),
    "gemini": AddressedClient(
        "gemini",
        "Gemini CLI",
        ".gemini",
        _in(".env"),
        EnvValues(),
        _always(Address(("GOOGLE_GEMINI_BASE_URL",), ("gemini",), lambda at: at.gemini)),
        notes=(
            "Gemini CLI reads one .env file. A project with its own, or one that you do not trust, uses no gateway.",
        ),
    ),
    "opencode": AddressedClient(
        "opencode",
        "opencode",
        ".config/opencode",
        _in("opencode.json", "opencode.jsonc"),
        JsonValues(comments=True),
        _always(
            _of_opencode("anthropic", "anthropic"),
            _of_opencode("openai", "openai"),
            _of_opencode("google", "gemini"),
        ),
    ),
    "aider": AddressedClient(
        "aider",
        "aider",
        "",
        _in(".aider.conf.yml"),
        YamlValues(),
        _always(
            Address(("openai-api-base",), ("openai",), lambda at: at.openai),
            Address(
                ("set-env",),
                ("anthropic", "gemini"),
                lambda at: [f"{name}={at.in_litellm[name]}" for name in AIDER_VARIABLES],
            ),
        ),
    ),
    "mini": AddressedClient(
        "mini",
        "mini-swe-agent",
        ".config/mini-swe-agent",
        _in(".env"),
        EnvValues(),
        _always(
            _of_litellm("OPENAI_API_BASE", "openai"),
            _of_litellm("ANTHROPIC_API_BASE", "anthropic"),
            _of_litellm("GEMINI_API_BASE", "gemini"),
        ),
    ),
}
"""Every client that can be pointed at the gateway for every day, by the name that one types."""
