"""The tokens of vendors that begin with a prefix of their own: name, the prefixes, and what follows each. Pure data.

Published shapes, the length at its least; `core/text/secrets.py` says what must not stand before a token. A prefix that a word
could begin with is followed by a digit soon, or by hexadecimal of a fixed length.
"""

__all__ = ["VENDOR_TOKENS"]

_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_END = r"(?![A-Za-z0-9])"
_BASE58 = r"[1-9A-HJ-NP-Za-km-z]"
_DIGIT = r"(?=[A-Za-z_-]{0,64}+[0-9])"

VENDOR_TOKENS: tuple[tuple[str, str, str], ...] = (
    # models and what is built beside them
    ("aws-bedrock-key", "ABSK bedrock-api-key-", r"[A-Za-z0-9+/]{80,}+={0,2}+"),
    ("nvidia-key", "nvapi-", r"[\w-]{50,}+"),
    ("pinecone-key", "pcsk_", r"\w{40,}+"),
    ("tavily-key", "tvly-", rf"{_DIGIT}[A-Za-z0-9-]{{20,}}+"),
    ("jina-key", "jina_", rf"{_DIGIT}[\w-]{{40,}}+"),
    ("cerebras-key", "csk-", rf"{_DIGIT}[a-z0-9]{{40,}}+"),
    ("langsmith-key", "lsv2_", r"(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    ("langfuse-key", "sk-lf-", _UUID),
    ("elevenlabs-key", "sk_", rf"[0-9a-f]{{48}}{_END}"),
    ("voyage-key", "pa-", rf"{_DIGIT}[\w-]{{43}}(?![\w-])"),
    ("together-key", "tgp_v1_", r"[\w-]{40,}+"),
    ("fireworks-key", "fw_", rf"{_DIGIT}[A-Za-z0-9]{{22,24}}+{_END}"),
    ("e2b-key", "e2b_", rf"[0-9a-f]{{40}}{_END}"),
    ("firecrawl-key", "fc-", rf"[0-9a-f]{{32}}{_END}"),
    ("apify-token", "apify_api_", r"[A-Za-z0-9]{36,}+"),
    ("posthog-key", "phx_", rf"{_DIGIT}[A-Za-z0-9]{{40,}}+"),
    ("wandb-key", "wandb_v1_", r"\w{40,}+"),
    # clouds, hosts and data bases
    ("supabase-key", "sb_secret_ sbp_", rf"{_DIGIT}[\w-]{{20,}}+"),
    ("tailscale-key", "tskey-", rf"[a-z]{{2,12}}-{_DIGIT}[\w-]{{16,}}+"),
    ("planetscale-token", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[\w.=-]{32,}+"),
    ("doppler-token", "dp.", r"(?:pt|st|ct|sa|scim|audit)\.(?:[\w-]{1,40}\.)?[A-Za-z0-9]{40,}+"),
    ("vault-token", "hvb. hvr.", r"[\w-]{24,}+"),
    ("digitalocean-token", "doo_v1_ dor_v1_", rf"[a-f0-9]{{64}}{_END}"),
    ("heroku-key", "HRKU-", r"[\w-]{36,}+"),
    ("fly-token", "fm1_ fm2_ fm1a_ fm1r_ fo1_", rf"{_DIGIT}[\w+/,=-]{{40,}}+"),
    ("netlify-token", "nfp_", r"[A-Za-z0-9]{36,}+"),
    ("neon-key", "napi_", rf"{_DIGIT}[A-Za-z0-9]{{40,}}+"),
    ("cloudflare-key", "v1.0-", r"[0-9a-f]{24,128}-[0-9a-f]{128,}+"),
    ("cloudflare-key", "cfk_ cfut_ cfat_", r"[\w-]{40,}+"),
    ("aws-session-token", "IQoJb3JpZ2luX2Vj FwoGZXIvYXdz FQoGZXIvYXdz", r"[A-Za-z0-9+/]{100,}+={0,2}+"),
    ("pulumi-token", "pul-", rf"[0-9a-f]{{40}}{_END}"),
    ("alibaba-key-id", "LTAI", rf"{_DIGIT}[A-Za-z0-9]{{16,20}}+{_END}"),
    ("yandex-key", "AQVN", rf"{_DIGIT}[\w-]{{35,}}+"),
    ("yandex-key", "YC", rf"{_DIGIT}[\w-]{{38}}(?![\w-])"),
    ("yandex-token", "t1. c1.", r"[\w-]{10,2048}+={0,2}\.[\w-]{86}={0,2}"),
    ("docker-token", "dckr_oat_", r"[\w-]{20,}+"),
    ("buildkite-token", "bkua_", rf"[0-9a-f]{{40}}{_END}"),
    ("prefect-key", "pnu_", r"[A-Za-z0-9]{36,}+"),
    ("sourcegraph-token", "sgp_", rf"(?:[0-9a-f]{{16}}_|local_)?[0-9a-f]{{40}}{_END}"),
    # packages
    ("rubygems-key", "rubygems_", rf"[0-9a-f]{{48}}{_END}"),
    ("crates-token", "cio", rf"{_DIGIT}[A-Za-z0-9]{{32}}{_END}"),
    ("clojars-token", "CLOJARS_", rf"[0-9a-f]{{60}}{_END}"),
    # what watches
    ("sentry-token", "sntrys_ sntryu_", r"[\w+/=-]{50,}+"),
    ("grafana-token", "glc_", r"[A-Za-z0-9+/]{32,}+={0,2}+"),
    ("dynatrace-token", "dt0c01. dt0s01. dt0s16.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    ("newrelic-key", "NRAK- NRII- NRRA-", r"[\w-]{27,}+"),
    ("launchdarkly-key", "sdk- api-", _UUID),
    ("honeycomb-key", "hc", r"[a-z][ilm]k_[A-Za-z0-9]{26,}+"),
    # mail, chat, work
    ("mailgun-key", "key-", rf"[0-9a-f]{{32}}{_END}"),
    ("brevo-key", "xkeysib- xsmtpsib-", r"[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    ("resend-key", "re_", r"(?=\w{0,8}[0-9])[A-Za-z0-9]{8}_[A-Za-z0-9]{24}(?!\w)"),
    ("discord-token", "MD MT Mj Mz ND NT Nj Nz OD OT", rf"[\w-]{{22,26}}\.[\w-]{{6}}\.{_DIGIT}[\w-]{{27,}}+"),
    ("figma-token", "figd_ figu_", r"[\w-]{40,}+"),
    ("airtable-token", "pat", rf"[A-Za-z0-9]{{14}}\.[0-9a-f]{{64}}{_END}"),
    ("mapbox-token", "sk.eyJ tk.eyJ pk.eyJ", r"[\w-]{30,}+\.[\w-]{20,}+"),
    ("slack-token", "xoxe.xoxp- xoxe.xoxb- xoxe-", r"[0-9]-[A-Za-z0-9+/=-]{100,}+"),
    ("onesignal-key", "os_v2_app_ os_v2_org_", r"[a-z0-9]{60,}+"),
    ("zoho-token", "1000. 1001. 1003.", rf"[0-9a-f]{{32}}\.[0-9a-f]{{32}}{_END}"),
    ("x-bearer-token", "AAAAAAAAAAAAAAAAAAAA", r"(?>(?:[A-Za-z0-9+/]|%2[BF]){4,80})(?:%3D|=)[A-Za-z0-9]{40,}+"),
    ("hubspot-token", "pat-na1- pat-eu1- pat-na2-", _UUID),
    ("contentful-token", "CFPAT-", r"[\w-]{40,}+"),
    ("dropbox-token", "sl.", rf"(?:u\.)?{_DIGIT}[\w-]{{100,}}+"),
    ("linear-key", "lin_oauth_", r"[A-Za-z0-9]{40,}+"),
    ("typeform-token", "tfp_", r"[\w.-]{40,}+"),
    ("onepassword-token", "ops_eyJ", r"[A-Za-z0-9+/=_-]{100,}+"),
    ("adafruit-key", "aio_", rf"{_DIGIT}[A-Za-z0-9]{{28}}{_END}"),
    ("readme-key", "rdme_", r"[a-z0-9]{70}"),
    # money and parcels
    ("square-token", "sq0csp- sq0atp- sq0idp-", r"[\w-]{22,}+"),
    ("square-token", "EAAA", rf"{_DIGIT}[\w-]{{60}}{_END}"),
    ("braintree-token", "access_token$production$ access_token$sandbox$", r"[0-9a-z]{16}\$[0-9a-f]{32}"),
    ("plaid-token", "access-production- access-development- access-sandbox-", _UUID),
    ("shippo-token", "shippo_live_ shippo_test_", rf"[0-9a-f]{{40}}{_END}"),
    ("flutterwave-key", "FLWSECK-", r"[0-9a-f]{12,}+"),
    ("duffel-token", "duffel_live_ duffel_test_", r"[\w=-]{40,}+"),
    (
        "onfido-token",
        "api_live. api_live_us. api_live_ca. api_sandbox. api_sandbox_us. api_sandbox_ca.",
        r"(?=[\w.-]{0,40}[0-9])[\w-]{8,32}\.[\w-]{24,}+",
    ),
    ("bitcoin-key", "5H 5J 5K", rf"{_BASE58}{{49}}{_END}"),
    ("bitcoin-key", "Kw Kx Ky Kz L1 L2 L3 L4 L5", rf"{_BASE58}{{50}}{_END}"),
    ("easypost-key", "EZAK EZTK", rf"{_DIGIT}[A-Za-z0-9]{{54}}{_END}"),
)  # fmt: skip
