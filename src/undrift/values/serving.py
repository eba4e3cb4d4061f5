"""The configuration of a gateway that serves a team: frozen values, checked by `undrift.settings.serving`. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from undrift.values.scope import LOCAL

__all__ = ["KeyLine", "Limit", "OidcConfig", "ServeConfig"]


@dataclass(frozen=True, slots=True)
class KeyLine:
    """A key in the configuration: its SHA-256, and its person and project."""

    person: str
    project: str
    sha256: str

    @property
    def key_id(self) -> str:
        """The first digits of the hash, which name the key."""
        return self.sha256[:12]


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcConfig:
    """The issuer whose tokens are taken, and the claims that name a member.

    `jwks_url`: the address of the issuer's public keys. `organisation_claim`: empty: all are of the configured one.
    """

    issuer: str
    audience: str
    jwks_url: str
    person_claim: str = "email"
    project_claim: str = "project"
    organisation_claim: str = ""
    algorithms: tuple[str, ...] = ("RS256", "ES256")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The limits of one person, or of one project. None means: there is no such limit.

    `burst`: the requests that may come at once; None: as many as in a minute.
    """

    requests_per_minute: int | None = None
    burst: int | None = None
    tokens_per_day: int | None = None
    usd_per_day: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeConfig:
    """The configuration of `undrift serve`.

    Args:
        home: A folder, or the address of a server such as ``postgresql://host/name``.
        files: The folder for the files of a gateway whose home is a server's.
        upstreams: Provider to address; the others have their default.
        organisation: Of the keys, and of tokens that name none.
        trusted_proxies: Networks whose ``X-Forwarded-For`` is believed.
        memory: The memory that the process may use, as in ``2G``; empty: a quarter of the machine's.
        metrics_sha256: The hash of the key for metrics and open sessions; empty: no key opens them.
        most_labels: The most pairs of person and project with figures of their own.
        wrong_keys_per_minute: From one address; beyond, the answer is 429.
        notice_s: How long a stopped gateway still takes requests, so that a balancer sees that it is not ready.
        drain_s: How long running requests may take after that.
        session: Settings of all sessions, by their names.
    """

    home: str
    files: str = ""
    host: str = "127.0.0.1"
    port: int = 8787
    organisation: str = LOCAL
    upstreams: Mapping[str, str] = field(default_factory=dict)
    keys: tuple[KeyLine, ...] = ()
    oidc: OidcConfig | None = None
    person_limit: Limit = field(default_factory=Limit)
    project_limit: Limit = field(default_factory=Limit)
    trusted_proxies: tuple[str, ...] = ()
    log: Literal["json", "text"] = "json"
    memory: str = ""
    metrics_sha256: str = ""
    most_labels: int = 100
    wrong_keys_per_minute: int = 30
    notice_s: float = 5.0
    drain_s: float = 300.0
    session: Mapping[str, Any] = field(default_factory=dict)
