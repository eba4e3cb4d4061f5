"""The configuration of `undrift serve`: what stands in the file, what the environment changes, and what is refused."""

from pathlib import Path

import pytest

from undrift.errors import SettingsError
from undrift.settings.serving import SERVE_VARIABLES, read_serve_config, session_settings
from undrift.values.serving import KeyLine, Limit, OidcConfig, ServeConfig

HASH = "0" * 64
WHOLE = f"""
home = "/var/lib/undrift"
listen = "[::]:9000"
organisation = "acme"
trusted_proxies = ["10.0.0.0/8", "::1"]
log = "text"
memory = "2G"
wrong_keys_per_minute = 5

[upstreams]
anthropic = "https://llm.example.com/anthropic"

[[keys]]
person = "ana"
project = "shop"
sha256 = "{HASH}"

[oidc]
issuer = "https://id.example.com"
audience = "undrift"
jwks_url = "https://id.example.com/keys"
person_claim = "sub"
algorithms = ["ES256"]

[person_limit]
requests_per_minute = 30
burst = 5
tokens_per_day = 1_000_000

[project_limit]
usd_per_day = 12.5

[metrics]
sha256 = "{HASH}"
most_labels = 7

[drain]
notice_s = 2.5
limit_s = 60

[session]
budget_tokens = "60%"
keep_tool_results = 3
"""


def read(tmp_path: Path, text: str, **environ: str) -> ServeConfig:
    file = tmp_path / "serve.toml"
    file.write_text(text, encoding="utf-8")
    return read_serve_config(file, environ)


def test_every_key_of_the_file_is_read(tmp_path: Path):
    assert read(tmp_path, WHOLE) == ServeConfig(
        home="/var/lib/undrift",
        host="::",
        port=9_000,
        organisation="acme",
        upstreams={"anthropic": "https://llm.example.com/anthropic"},
        keys=(KeyLine("ana", "shop", HASH),),
        oidc=OidcConfig(
            issuer="https://id.example.com",
            audience="undrift",
            jwks_url="https://id.example.com/keys",
            person_claim="sub",
            algorithms=("ES256",),
        ),
        person_limit=Limit(requests_per_minute=30, burst=5, tokens_per_day=1_000_000),
        project_limit=Limit(usd_per_day=12.5),
        trusted_proxies=("10.0.0.0/8", "::1"),
        log="text",
        memory="2G",
        metrics_sha256=HASH,
        most_labels=7,
        wrong_keys_per_minute=5,
        notice_s=2.5,
        drain_s=60.0,
        session={"budget_tokens": "60%", "keep_tool_results": 3},
    )


def test_the_environment_wins_over_the_file_and_alone_is_enough(tmp_path: Path):
    variables = {
        "UNDRIFT_HOME": "/srv",
        "UNDRIFT_SERVE_LISTEN": "127.0.0.1:1",
        "UNDRIFT_SERVE_PERSON_LIMIT_TOKENS_PER_DAY": "5",
        "UNDRIFT_SERVE_PROJECT_LIMIT_USD_PER_DAY": "1.5",
        "UNDRIFT_SERVE_TRUSTED_PROXIES": "10.0.0.1, 10.0.0.2",
        "UNDRIFT_SERVE_DRAIN_NOTICE_S": "0.5",
        "UNDRIFT_SERVE_UPSTREAMS_OPENAI": "https://o.example.com",
    }
    for found in (read(tmp_path, WHOLE, **variables), read_serve_config(None, variables)):
        assert (found.home, found.host, found.port) == ("/srv", "127.0.0.1", 1)
        assert (found.person_limit.tokens_per_day, found.project_limit.usd_per_day) == (5, 1.5)
        assert found.trusted_proxies == ("10.0.0.1", "10.0.0.2")
        assert (found.notice_s, found.upstreams["openai"]) == (0.5, "https://o.example.com")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("listen = '1:2'", "home is missing"),
        ("home = 'h'\nlistn = 'x'", "there is no key 'listn'. Did you mean listen?"),
        ("home = 'h'\nlisten = 'x'", "listen = 'x': must be an address and a port"),
        ("home = 'h'\nlisten = '1.1.1.1:99999'", "must be an address and a port"),
        ("home = 'h'\n[drain]\nnotice = 1", "[drain]: there is no key 'notice'. Did you mean notice_s?"),
        ("home = 'h'\n[drain]\nnotice_s = -1", "must be a number of seconds from 0"),
        ("home = 'h'\n[drain]\nnotice_s = nan", "must be a number of seconds from 0"),
        ("home = 'h'\n[drane]\n", "there is no key 'drane'. Did you mean drain?"),
        ("home = 'h'\ndrain = 3", "[drain]: must be a table"),
        ("home = 'h'\n[person_limit]\ntokens_per_day = 0", "must be an integer of at least 1"),
        ("home = 'h'\n[person_limit]\nusd_per_day = true", "must be US dollars"),
        ("home = 'h'\n[[keys]]\nperson = 'a'\nsha256 = '00'", "[[keys]] 1: sha256 = '00': must be 64 hexadecimal"),
        (f"home = 'h'\n[[keys]]\nperson = 'a'\nsha256 = '{HASH}'", "[[keys]] 1: project is missing"),
        (f"home = 'h'\n[[keys]]\nperson = ''\nproject = 'p'\nsha256 = '{HASH}'", "person = '': must be a name"),
        (f"home = 'h'\n[keys]\nsha256 = '{HASH}'", "keys must be tables, each with [[keys]] above it"),
        ("home = 'h'\n" + f"[[keys]]\nperson = 'a'\nproject = 'p'\nsha256 = '{HASH}'\n" * 2, "one key belongs to one"),
        ("home = 'h'\n[oidc]\nissuer = 'i'\naudience = 'a'", "[oidc]: jwks_url is missing"),
        ("home = 'h'\n[oidc]\n", "[oidc]: issuer is missing"),
        ("home = 'h'\n[oidc]\nalgorithms = ['HS256']", "a list of signatures with a public key"),
        ("home = 'h'\n[oidc]\nalgorithms = ['none']", "a list of signatures with a public key"),
        ("home = 'h'\ntrusted_proxies = ['everywhere']", "must be a list of networks"),
        ("home = 'h'\n[upstreams]\nanthropic = 'ftp://x'", "must be an http or https address"),
        ("home = 'h'\n[session]\nbudget = 3", "[session]: there is no key 'budget'"),
        ("home = 'h'\n[session]\nhome = 'x'", "[session]: there is no key 'home'"),
        ("home = 'h'\n[session]\nbudget_tokens = 0", "budget_tokens = 0: must be auto"),
        ("home = 'postgresql://db/undrift'", "files is missing"),
        ("home = ", "not valid TOML"),
    ],
)
def test_what_is_wrong_is_named_with_its_place_and_its_rule(tmp_path: Path, text: str, said: str):
    with pytest.raises(SettingsError) as error:
        read(tmp_path, text)
    assert said in str(error.value)
    assert str(tmp_path / "serve.toml") in str(error.value)


def test_a_variable_that_sets_nothing_or_breaks_a_rule_is_refused_by_its_name(tmp_path: Path):
    with pytest.raises(SettingsError, match=r"UNDRIFT_SERVE_LISTN sets nothing. Did you mean UNDRIFT_SERVE_LISTEN\?"):
        read(tmp_path, "home = 'h'", UNDRIFT_SERVE_LISTN="x")
    with pytest.raises(SettingsError, match="UNDRIFT_SERVE_METRICS_MOST_LABELS='no': must be an integer"):
        read(tmp_path, "home = 'h'", UNDRIFT_SERVE_METRICS_MOST_LABELS="no")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path):
    with pytest.raises(SettingsError, match="No such file"):
        read_serve_config(tmp_path / "none.toml", {})


def test_the_settings_of_sessions_come_from_the_file_and_a_variable_wins(tmp_path: Path):
    config = read(tmp_path, WHOLE)
    settings = session_settings(config, {"UNDRIFT_KEEP_TOOL_RESULTS": "9", "UNDRIFT_HOME": "/elsewhere"})
    assert (settings.budget_tokens, settings.keep_tool_results, settings.home) == ("60%", 9, "/var/lib/undrift")
    server = read(tmp_path, "home = 'postgresql://db/undrift'\nfiles = '/var/cache/undrift'")
    assert session_settings(server, {}).home == "/var/cache/undrift"


def test_the_page_names_every_key_and_every_variable():
    page = (Path(__file__).parents[2] / "docs" / "serve.md").read_text(encoding="utf-8")
    missing = [variable for variable, (_, name) in SERVE_VARIABLES.items() if f"`{name}`" not in page]
    assert missing == []
