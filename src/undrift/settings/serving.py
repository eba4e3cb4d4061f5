"""The file that configures `undrift serve`: read, checked, with the environment over it.

Law: the file is the operator's. A key that is not known is refused by its name. A variable wins over the file.
"""

import ipaddress
import os
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from undrift.errors import SettingsError
from undrift.settings import SETTINGS, Settings
from undrift.settings.rules import (
    COUNT,
    PORTION,
    TEXT,
    ValueRule,
    choice,
    parsed,
    setting_row,
    shown,
    suggestion,
)
from undrift.values.member import is_member_name
from undrift.values.provider import PROVIDERS
from undrift.values.serving import KeyLine, Limit, OidcConfig, ServeConfig

__all__ = ["SERVE_VARIABLES", "read_serve_config", "session_settings"]

_MOST_BYTES = 4 << 20  # 30,000 keys
_MOST_SECONDS = 86_400
_HASH = re.compile(r"[0-9a-f]{64}")
_LISTEN = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[^:\[\]\s]+)):(?P<port>[0-9]{1,5})")


def _is_listen(value: object) -> bool:
    found = _LISTEN.fullmatch(value) if isinstance(value, str) else None
    return found is not None and int(found["port"]) < 1 << 16


def _is_url(value: object) -> bool:
    try:
        parts = urlsplit(value) if isinstance(value, str) else None
    except ValueError:
        return False
    return parts is not None and parts.scheme in ("http", "https") and bool(parts.hostname)


def _is_networks(value: object) -> bool:
    try:
        return isinstance(value, list) and all(isinstance(one, str) and ipaddress.ip_network(one) for one in value)
    except ValueError:
        return False


def _words_of(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if one.strip()]


def _is_algorithms(value: object) -> bool:
    known = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
    return isinstance(value, list) and bool(value) and all(one in known for one in value)


def _is_seconds(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value <= _MOST_SECONDS  # type: ignore[operator]


def _is_money(value: object) -> bool:
    return type(value) in (int, float) and 0 < value < 1e9  # type: ignore[operator]


def _is_hash(value: object) -> bool:
    return isinstance(value, str) and _HASH.fullmatch(value) is not None


_NAME = ValueRule("a name of 1 to 128 characters", str, is_member_name)
_ADDRESS = ValueRule("an address and a port, as in 0.0.0.0:8787 or [::]:8787", str, _is_listen)
_URL = ValueRule("an http or https address", str, _is_url)
_SHA256 = ValueRule("64 hexadecimal digits, as `undrift serve key` prints them", str, _is_hash)
_NETWORKS = ValueRule("a list of networks, as in 10.0.0.0/8", _words_of, _is_networks)
_ALGORITHMS = ValueRule("a list of signatures with a public key, as in RS256", _words_of, _is_algorithms)
_SECONDS = ValueRule(f"a number of seconds from 0 to {_MOST_SECONDS}", PORTION.parse, _is_seconds)
_MONEY = ValueRule("US dollars, above 0", PORTION.parse, _is_money)
_SIZE = ValueRule("a size such as 512M or 2G", str, lambda v: isinstance(v, str) and v != "")


_LIMIT = {"requests_per_minute": COUNT, "burst": COUNT, "tokens_per_day": COUNT, "usd_per_day": _MONEY}
_TABLES: Mapping[str, Mapping[str, ValueRule]] = {
    "": {
        "home": TEXT,
        "files": TEXT,
        "listen": _ADDRESS,
        "organisation": _NAME,
        "trusted_proxies": _NETWORKS,
        "log": choice("json", "text"),
        "memory": _SIZE,
        "wrong_keys_per_minute": COUNT,
    },
    "upstreams": dict.fromkeys(PROVIDERS, _URL),
    "oidc": {
        "issuer": TEXT,
        "audience": TEXT,
        "jwks_url": _URL,
        "person_claim": TEXT,
        "project_claim": TEXT,
        "organisation_claim": TEXT,
        "algorithms": _ALGORITHMS,
    },
    "person_limit": _LIMIT,
    "project_limit": _LIMIT,
    "metrics": {"sha256": _SHA256, "most_labels": COUNT},
    "drain": {"notice_s": _SECONDS, "limit_s": _SECONDS},
}
"""Table of the file -> its keys and their rules; the empty name is the top."""

_KEY = {"person": _NAME, "project": _NAME, "sha256": _SHA256}


def _variable(table: str, name: str) -> str:
    """Return the variable of a key; the home has the one that every command reads."""
    if (table, name) == ("", "home"):
        return "UNDRIFT_HOME"
    return f"UNDRIFT_SERVE_{f'{table}_' if table else ''}{name}".upper()


SERVE_VARIABLES: Mapping[str, tuple[str, str]] = {
    _variable(table, name): (table, name) for table, names in _TABLES.items() for name in names
}
"""Variable -> the table and the key that it sets. The keys of people stand in the file alone."""


@dataclass(frozen=True, slots=True)
class _ServeFile:
    """The values of a file and of the environment: those of the tables by table and key, keys, settings of sessions."""

    given: Mapping[str, Mapping[str, Any]]
    keys: tuple[KeyLine, ...]
    session: Mapping[str, Any]


def read_serve_config(path: Path | None, variables: Mapping[str, str]) -> ServeConfig:
    """Return the configuration of a file, with the environment over it.

    Args:
        path: The file; None: the environment alone.
        variables: Of the environment.

    Raises:
        SettingsError: A key is not known or a value is wrong; the message names the place, the value and the rule.
    """
    found = _read(path)
    given: dict[str, dict[str, Any]] = {table: dict(values) for table, values in found.given.items()}
    for variable, (table, name) in SERVE_VARIABLES.items():
        if variable in variables:
            row = setting_row(name, variable, _TABLES[table][name])
            given.setdefault(table, {})[name] = parsed(row, variable, variables[variable])
    unknown = [n for n in variables if n.startswith("UNDRIFT_SERVE_") and n not in SERVE_VARIABLES]
    if unknown:
        name = min(unknown)
        raise SettingsError(f"{name[:80]} sets nothing.{suggestion(name, SERVE_VARIABLES, 0.7)}")
    return _config(str(path or "the environment"), given, found)


def session_settings(config: ServeConfig, variables: Mapping[str, str]) -> Settings:
    """Return the settings of all sessions: those of the environment over those of the file; no other file counts.

    `variables`: of the environment. Raises SettingsError: one is wrong.
    """
    rows = {row.name: row for row in SETTINGS}
    named = {name: value for name, value in config.session.items() if not set(rows[name].environment) & set(variables)}
    others = {name: value for name, value in variables.items() if name != "UNDRIFT_HOME"}
    return Settings.from_environment(others, **named, home=config.files or config.home)


def _read(path: Path | None) -> _ServeFile:
    if path is None:
        return _ServeFile({}, (), {})
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise SettingsError(f"{path}: must have at most {_MOST_BYTES >> 20} MiB")
        document = tomllib.loads(data.decode("utf-8-sig"))
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SettingsError(f"{path}: not valid TOML: {error}") from error
    tables = {name for name in _TABLES if name}
    top = {name: value for name, value in document.items() if name not in tables | {"keys", "session"}}
    given = {"": _checked(str(path), top, _TABLES[""], more=tables | {"keys", "session"})}
    for table in tables & set(document):
        given[table] = _checked(f"{path}: [{table}]", document[table], _TABLES[table])
    return _ServeFile(given, _keys(path, document.get("keys", [])), _session(path, document.get("session", {})))


def _checked(
    place: str, given: Any, rules: Mapping[str, ValueRule], more: frozenset[str] | set[str] = frozenset()
) -> dict[str, Any]:
    """Return the values of a table. Raises SettingsError: a key is not known, or a value breaks its rule."""
    if not isinstance(given, dict):
        raise SettingsError(f"{place}: must be a table")
    for name, value in given.items():
        if name not in rules:
            raise SettingsError(f"{place}: there is no key {shown(name)}.{suggestion(name, {*rules, *more}, 0.6)}")
        if not rules[name].check(value):
            raise SettingsError(f"{place}: {name} = {shown(value)}: must be {rules[name].words}")
    return given


def _keys(path: Path, given: Any) -> tuple[KeyLine, ...]:
    if not isinstance(given, list):
        raise SettingsError(f"{path}: keys must be tables, each with [[keys]] above it")
    lines = []
    for number, one in enumerate(given, 1):
        place = f"{path}: [[keys]] {number}"
        checked = _checked(place, one, _KEY)
        if missing := [name for name in _KEY if name not in checked]:
            raise SettingsError(f"{place}: {missing[0]} is missing")
        lines.append(KeyLine(**checked))
    counts = Counter(line.sha256 for line in lines)
    if twice := next((one for one, count in counts.items() if count > 1), ""):
        raise SettingsError(f"{path}: two [[keys]] have the hash {twice[:12]}...: one key belongs to one person")
    return tuple(lines)


def _session(path: Path, given: Any) -> Mapping[str, Any]:
    rules = {row.name: ValueRule(row.rule, row.parse, row.check) for row in SETTINGS if row.name != "home"}
    return _checked(f"{path}: [session]", given, rules)


def _config(place: str, given: Mapping[str, Mapping[str, Any]], found: _ServeFile) -> ServeConfig:
    top, metrics, drain = given.get("", {}), given.get("metrics", {}), given.get("drain", {})
    if "home" not in top:
        raise SettingsError(f"{place}: home is missing: a folder, or the address of a server. UNDRIFT_HOME sets it too")
    if "://" in top["home"] and "files" not in top:
        raise SettingsError(f"{place}: files is missing: with a server as home, a folder for what may be lost")
    more: dict[str, Any] = {n: top[n] for n in ("organisation", "log", "memory", "wrong_keys_per_minute") if n in top}
    if found_listen := _LISTEN.fullmatch(top.get("listen", "")):
        more |= {"host": found_listen["six"] or found_listen["host"], "port": int(found_listen["port"])}
    more |= {to: metrics[n] for n, to in (("sha256", "metrics_sha256"), ("most_labels", "most_labels")) if n in metrics}
    more |= {to: float(drain[n]) for n, to in (("notice_s", "notice_s"), ("limit_s", "drain_s")) if n in drain}
    return ServeConfig(
        home=_path(top["home"]),
        files=_path(top.get("files", "")),
        upstreams=dict(given.get("upstreams", {})),
        keys=found.keys,
        oidc=_oidc(place, given["oidc"]) if "oidc" in given else None,
        person_limit=Limit(**given.get("person_limit", {})),
        project_limit=Limit(**given.get("project_limit", {})),
        trusted_proxies=tuple(top.get("trusted_proxies", ())),
        session=found.session,
        **more,
    )


def _oidc(place: str, given: Mapping[str, Any]) -> OidcConfig:
    if missing := [name for name in ("issuer", "audience", "jwks_url") if name not in given]:
        raise SettingsError(f"{place}: [oidc]: {missing[0]} is missing")
    values: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in given.items()}
    return OidcConfig(**values)


def _path(text: str) -> str:
    """Return a folder with the user's own in place of ``~``; another text as it is."""
    return os.path.expanduser(text) if text.startswith("~") else text  # noqa: PTH111 - it does not raise
