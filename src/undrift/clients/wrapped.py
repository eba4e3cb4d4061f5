"""The way to make each client talk to a gateway: variables and words of its command line. Pure.

Law: no file of a client or a project is written. These variables end with the client's process, so that nothing has to be
put back, however it ends.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from undrift.clients.clouds import cloud_of
from undrift.errors import InputError
from undrift.profiles import PROFILES, Recall

__all__ = ["AIDER_VARIABLES", "Addresses", "WRAPPED", "Wrapped", "wrapped"]

_Environment = Mapping[str, str]

AIDER_VARIABLES = ("ANTHROPIC_API_BASE", "GEMINI_API_BASE")
"""The variables that aider sets; OpenAI's address has an option of its own."""

_GEMINI_COMMANDS = frozenset({"extension", "extensions", "gemma", "hook", "hooks", "mcp", "skill", "skills"})


@dataclass(frozen=True, slots=True)
class Addresses:
    """The base URL of each provider, in the format that clients expect.

    `openai`: with the version that its upstream has.
    """

    anthropic: str
    openai: str
    gemini: str
    bedrock: str = ""
    vertex: str = ""

    @property
    def in_litellm(self) -> Mapping[str, str]:
        """The addresses by the variables of LiteLLM."""
        return {
            "OPENAI_API_BASE": self.openai,
            "ANTHROPIC_API_BASE": self.anthropic,
            "GEMINI_API_BASE": self._gemini_version,
        }

    @property
    def in_opencode(self) -> Mapping[str, str]:
        """The addresses by opencode's names of the providers."""
        return {"anthropic": f"{self.anthropic}/v1", "openai": self.openai, "google": self._gemini_version}

    @property
    def _gemini_version(self) -> str:
        return f"{self.gemini}/v1beta"


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A client that can be pointed at a gateway from its outside.

    Args:
        words: Addresses and the user's environment -> what stands before the user's own arguments.
        recall: The ways in which its agent can recall what left.
        commands: Commands of its own that take no words about its agent.
    """

    program: str
    variables: Callable[[Addresses, _Environment], _Environment]
    words: Callable[[Addresses, _Environment], Sequence[str]] = lambda _, __: ()
    remedy: str = ""
    recall: Recall = field(default_factory=Recall)
    commands: frozenset[str] = frozenset()

    def allowing(self, arguments: Sequence[str]) -> Sequence[str]:
        """Return more words that allow its agent to run ``undrift recall`` without a question.

        `arguments`: the user's own. `words` have the words of Claude Code, in its settings.
        """
        is_command = bool(arguments) and arguments[0] in self.commands
        return () if is_command or self.words is _claude_words else self.recall.allowing

    def environment(self, at: Addresses, given: _Environment) -> dict[str, str]:
        """Return the environment of the client: the user's, the addresses, and no proxy on the way to them.

        Raises InputError: a variable of the user's that has to be joined with ours cannot be read.
        """
        out = {**given, **self.variables(at, given)}
        for name in ("NO_PROXY", "no_proxy"):
            known = given.get(name, "")
            out[name] = known if known == "*" else ",".join(filter(None, (known, "127.0.0.1", "localhost")))
        return out


def _anthropic(at: Addresses, _: _Environment) -> _Environment:
    return {"ANTHROPIC_BASE_URL": at.anthropic}


def _gemini(at: Addresses, _: _Environment) -> _Environment:
    return {"GOOGLE_GEMINI_BASE_URL": at.gemini}


def _every(at: Addresses, given: _Environment) -> _Environment:
    """The variables of the providers' SDKs, and those of LiteLLM."""
    return {
        **_anthropic(at, given),
        **_gemini(at, given),
        "OPENAI_BASE_URL": at.openai,
        **at.in_litellm,
    }


def _opencode(at: Addresses, given: _Environment) -> _Environment:
    """The configuration that opencode lays over all its files, joined with what the user has put there."""
    name = "OPENCODE_CONFIG_CONTENT"
    try:
        config = json.loads(given.get(name) or "{}")
        providers = config.setdefault("provider", {})
        for provider, url in at.in_opencode.items():
            providers.setdefault(provider, {}).setdefault("options", {})["baseURL"] = url
    except (ValueError, AttributeError, TypeError) as error:
        raise InputError(
            f"{name} is no JSON object of opencode's configuration ({error}): correct or unset it"
        ) from error
    return {name: json.dumps(config)}


def _claude(at: Addresses, given: _Environment) -> _Environment:
    """The address of Anthropic, and of the cloud that is used in its place, if its requests can be managed."""
    cloud = cloud_of(given)
    if cloud is None or cloud.obstacle(given):
        return _anthropic(at, given)
    urls = {"anthropic": at.anthropic, "bedrock": at.bedrock, "vertex": at.vertex}
    excluded = {cloud.excludes: ""} if given.get(cloud.excludes) else {}
    return {**_anthropic(at, given), cloud.address: urls[cloud.provider] + cloud.version, **excluded}


def _claude_words(at: Addresses, given: _Environment) -> Sequence[str]:
    """A settings file of the user may set the variables as well, and would win over the environment."""
    allowed = {"allow": [*PROFILES["claude"].recall.allowing]}  # joins what the user allows; it only reads
    return ("--settings", json.dumps({"env": _claude(at, given), "permissions": allowed}))


def _codex_words(at: Addresses, _: _Environment) -> Sequence[str]:
    return ("-c", f'openai_base_url="{at.openai}"')


def _aider_words(at: Addresses, _: _Environment) -> Sequence[str]:
    """An .env file of the project would win over the environment."""
    others = [f"--set-env={name}={at.in_litellm[name]}" for name in AIDER_VARIABLES]
    return (f"--openai-api-base={at.openai}", *others)


_WRAPPED = {
    "claude": Wrapped("claude", _claude, _claude_words, "npm install -g @anthropic-ai/claude-code"),
    "codex": Wrapped("codex", lambda _, __: {}, _codex_words, "npm install -g @openai/codex"),
    "gemini": Wrapped("gemini", _gemini, remedy="npm install -g @google/gemini-cli", commands=_GEMINI_COMMANDS),
    "opencode": Wrapped("opencode", _opencode, remedy="npm install -g opencode-ai"),
    "aider": Wrapped("aider", _every, _aider_words, "pip install aider-chat"),
    "mini": Wrapped("mini", _every, remedy="pip install mini-swe-agent"),
}

WRAPPED: Mapping[str, Wrapped] = {
    name: replace(client, recall=PROFILES[name].recall) for name, client in _WRAPPED.items()
}
"""Name -> the way for this client."""

_ALIASES = {"claude-code": "claude", "gemini-cli": "gemini", "mini-swe-agent": "mini"}


def wrapped(name: str) -> Wrapped:
    """Return the way for a client; any other program gets the variables of the providers' SDKs."""
    known = _ALIASES.get(name, name)
    return WRAPPED[known] if known in WRAPPED else Wrapped(name, _every)
