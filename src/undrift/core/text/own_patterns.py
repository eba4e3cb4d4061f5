"""The rules of our own that find secrets: one list, vendors' tokens first, names beside values last. Pure data."""

import re

from undrift.core.text.patterns import END, START, Pattern
from undrift.core.text.secret_values import (
    is_assigned_secret,
    is_authorization,
    is_bearer,
    is_key_block,
    is_url_password,
)
from undrift.core.text.vendor_tokens import VENDOR_TOKENS

__all__ = ["OWN_PATTERNS"]

_DIGIT = r"(?=[A-Za-z_-]{0,64}+[0-9])"  # what tells a token from a long word


def _token(name: str, literals: str, rest: str) -> Pattern:
    """Make the pattern of a vendor's token: space-separated prefixes, then `rest`."""
    prefixes = tuple(literals.split())
    return Pattern(name, prefixes, f"{START}(?:{'|'.join(map(re.escape, prefixes))}){rest}", in_run=True)


# The name of a variable that holds a secret. "key" counts only after a word that makes it one.
_NAMED = (
    r"(?i:pass(?:word|wd|phrase|code|(?![A-Za-z]))|pwd|secret|token|credential"
    r"|(?:(?<=api)|(?<=api.)|(?<=access)|(?<=access.)|(?<=private.)|(?<=auth.)|(?<=account)|(?<=account.)"
    r"|(?<=encryption.)|(?<=signing.)|(?<=master.))key)"
    r"[A-Za-z0-9_-]{0,24}+"
)
_ASSIGNED = r"(?:[ ]{0,4}\\{0,3}[\"'`\]]){0,2}(?:[ ]{1,4}(?i:value)(?=[ ]?=))?(?:[ ]?:[ ]?[A-Za-z][A-Za-z.| \[\]]{0,24}(?==))?[ \t]{0,8}(?:=>|:=|={1,3}|:|>)[ \t]{0,8}"
_QUOTED = r"[bru]?\\{0,3}[\"'`]([^\s\"'`\\]{6,4096}+)\\{0,3}[ ]{0,4}[\"'`]"
# A query's next name ends a value, any other & belongs to it.
_BARE = r"((?>(?:[A-Za-z0-9+/_.~!@#$%^*-]|:(?=[A-Za-z0-9])|&(?![A-Za-z][A-Za-z0-9_.-]{0,40}+=)){6,4096})={0,2}+)(?=$|[\s\"',;)\\&<|}\]])"
# Alone on the next line, as a block of YAML has it too.
_NEXT_LINE = (
    r"(?:[|>][+-]?)?(?:\\?\r?\n|(?:\\{1,4}r)?\\{1,4}n){1,2}[ \t]{0,32}(?:\\{0,7}[\"'`])?([A-Za-z0-9+/_.~!@#$%^*=-]{10,4096}+)"
    r"(?=[\"'`]?[ \t]{0,8}(?:$|[\r\n\\\"]))"
)
_SECRET_WORDS = ("pass", "pwd", "secret", "token", "credential", "key")

OWN_PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        "private-key",
        ("-----BEGIN ",),
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:([^-]{0,32768}+(?>(?:-{1,4}+[^-]{1,32768}+){0,64}))-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"|((?>(?:(?>(?:\s|\\[nr]){0,4})[A-Za-z0-9+/=]{24,1024}+){1,512})))",  # the second: its end was cut off
        accept=is_key_block,
    ),
    _token("aws-access-key-id", "AKIA ASIA", rf"[A-Z0-9]{{16}}{END}"),
    Pattern(
        "aws-secret-key",
        ("secret",),
        r"(?i:secret[_-]?(?:access[_-]?)?key)(?:\\{0,3}[\"'\]]){0,2}[ \t]{0,4}(?:=>|[:=>])[ \t]{0,4}(?:\\{0,3}[\"'])?"
        r"([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        group=1,
        folded=True,
    ),
    _token("anthropic-key", "sk-ant-", r"[\w-]{20,}+"),
    _token("openrouter-key", "sk-or-", r"[\w-]{20,}+"),
    _token("openai-key", "sk-", rf"(?:(?:proj|svcacct|admin|None)-{_DIGIT}[\w-]{{20,}}+|{_DIGIT}[A-Za-z0-9]{{20,}}+)"),
    _token("github-token", "gh", r"[oprsu]_[A-Za-z0-9]{36,}+"),
    _token("github-token", "github_pat_", r"\w{22,}+"),
    _token("gitlab-token", "gl", r"(?:agent|cbt|dt|ft|imt|oas|pat|ptt|rt|soat)-[\w-]{20,}+"),
    _token("slack-token", "xox", r"[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}+"),
    _token("slack-token", "xapp-", r"[0-9]-[A-Za-z0-9-]{10,}+"),
    Pattern(
        "slack-webhook",
        ("hooks.slack.com/",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_+-]{20,}+)",
        group=1,
    ),
    Pattern("discord-webhook", ("/api/webhooks/",), r"/api/webhooks/[0-9]{15,22}/([\w-]{40,}+)", group=1),
    _token("stripe-key", "sk_ rk_", r"(?:live|test)_[A-Za-z0-9]{16,}+"),
    _token("webhook-secret", "whsec_", r"[A-Za-z0-9+/]{24,}+={0,2}+"),
    _token("twilio-key", "SK", rf"[0-9a-f]{{32}}{END}"),
    _token("sendgrid-key", "SG.", r"[\w-]{16,64}+\.[\w-]{16,}+"),
    _token("npm-token", "npm_", r"[A-Za-z0-9]{36,}+"),
    _token("pypi-token", "pypi-", r"[\w-]{50,}+"),
    _token("huggingface-token", "hf_", r"[A-Za-z0-9]{30,}+"),
    _token("google-api-key", "AIza", r"[\w-]{35,}+"),
    _token("google-oauth", "ya29. GOCSPX- 1//0", rf"{_DIGIT}[\w-]{{20,}}+"),
    _token("groq-key", "gsk_", r"[A-Za-z0-9]{40,}+"),
    _token("xai-key", "xai-", r"[A-Za-z0-9]{40,}+"),
    _token("perplexity-key", "pplx-", r"[A-Za-z0-9]{40,}+"),
    _token("replicate-token", "r8_", r"[A-Za-z0-9]{37,}+"),
    _token("digitalocean-token", "dop_v1_", rf"[a-f0-9]{{64}}{END}"),
    _token("shopify-token", "shp", rf"(?:at|ca|pa|ss)_[A-Fa-f0-9]{{32}}{END}"),
    _token("databricks-token", "dapi", rf"[a-f0-9]{{32}}{END}"),
    _token("docker-token", "dckr_pat_", r"[\w-]{20,}+"),
    _token("atlassian-token", "ATATT3", r"[\w=-]{50,}+"),
    _token("linear-key", "lin_api_", r"[A-Za-z0-9]{40,}+"),
    _token("notion-token", "ntn_", r"[A-Za-z0-9]{40,}+"),
    _token("postman-key", "PMAK-", r"[A-Za-z0-9-]{40,}+"),
    _token("grafana-token", "glsa_", r"[A-Za-z0-9_]{32,}+"),
    _token("vault-token", "hvs.", r"[\w-]{24,}+"),
    _token("age-key", "AGE-SECRET-KEY-1", rf"[0-9A-Z]{{58}}{END}"),
    *(_token(name, literals, rest) for name, literals, rest in VENDOR_TOKENS),
    Pattern("terraform-token", (".atlasv1.",), r"(?<=[A-Za-z0-9])\.atlasv1\.([\w=-]{60,}+)", group=1),
    Pattern(
        "putty-key",
        ("Private-Lines: ",),
        r"Private-Lines: [0-9]{1,4}(?>(?:\s|\\{1,3}[nr]){1,4})([A-Za-z0-9+/=]{1,1024}+"
        r"(?:(?>(?:\s|\\{1,3}[nr]){1,4})[A-Za-z0-9+/=]{1,1024}+(?![-:])){0,512})",
        1,
        is_key_block,
    ),
    Pattern("jwk-private", ('"d"', '"d\\'), r"\"d\\{0,7}\"[ ]?:[ ]?\\{0,7}\"([\w-]{40,}+)\\{0,7}\"", group=1),
    Pattern("telegram-token", (":AA",), r"(?<=[0-9]{8}):(AA[\w-]{33,}+)", group=1),
    _token("jwt", "eyJ", r"(?:(?<![\w-]eyJ)[\w-]{8,2048}+|[\w-]{8,256}+)\.eyJ[\w-]{8,16384}+\.[\w-]{8,}+"),
    Pattern(
        "authorization",
        ("authorization",),
        r"(?i:authorization)(?:\\{0,3}[\"'`\]]){0,2}[ \t]{0,4}[:=,][ \t]{0,4}(?:\\{0,3}[\"'`])?"
        r"(?:([A-Za-z][A-Za-z0-9-]{2,20}) {1,4})?([A-Za-z0-9._~+/-]{8,}+={0,2}+)(?!\()",
        group=2,
        accept=is_authorization,
        folded=True,
    ),
    Pattern(
        "authorization",
        ("bearer ",),
        r"(?i:bearer) {1,4}([A-Za-z0-9._~+/-]{16,}+={0,2}+)",
        group=1,
        accept=is_bearer,
        folded=True,
    ),
    Pattern(
        "url-password",
        ("://",),
        r"://([^\s/@:\"'`<>\\]{0,64}+):([^\s/\"'`<>\\]{1,128})@(?=[A-Za-z0-9\[])",
        group=2,
        accept=is_url_password,
    ),
    Pattern(
        "secret",
        _SECRET_WORDS,
        f"{_NAMED}{_ASSIGNED}(?:{_QUOTED}|{_BARE}|{_NEXT_LINE})",
        -1,
        is_assigned_secret,
        folded=True,
    ),
)
