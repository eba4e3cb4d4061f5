"""Finds secrets in a text and replaces them by markers, before anything is stored. Pure, and linear in the text.

One maintained list, `PATTERNS`. Each pattern names literals that every match begins with: they are found with
`str.find` (1 to 3 GB/s) and the expression is tried only if one stands, so that clean text costs little. Every
quantifier is bounded or possessive, and no unbounded one stands inside another: an expression cannot run away.
"""

import binascii
import functools
import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from undrift.core.text.pieces import pieces
from undrift.core.text.unescaped import unescaped
from undrift.core.text.vendor_tokens import VENDOR_TOKENS
from undrift.values.window import MaskedSpan

__all__ = ["Masked", "PATTERNS", "Pattern", "mask"]


# A marker may uncover what its secret hid: the value before it now ends earlier. One round finds all but such a case,
# the second as a rule nothing; the bound keeps a made-up chain of such cases linear.
_ROUNDS = 8


@dataclass(frozen=True, slots=True)
class Masked:
    """A text with its secrets replaced by markers.

    Args:
        text: The text with ``[masked:NAME]`` in the place of each secret; the same object when there was none.
        spans: What was masked, in order; positions in characters of the text before, not overlapping.
    """

    text: str
    spans: tuple[MaskedSpan, ...]


@dataclass(frozen=True, slots=True)
class Pattern:
    """One kind of secret.

    Args:
        literals: What a match begins with; one of them must stand in the text for `expression` to be tried.
        expression: Source of a regular expression that is matched from the first character of a literal on.
        group: The group that is the secret; 0 is all of the match, -1 the group that took part last.
        accept: Looks at a match once more; None accepts all.
        in_run: A literal stands in a run of `_RUN`, as a match is long and has no space: most texts have few of those.
    """

    name: str
    literals: tuple[str, ...]
    expression: str
    group: int = 0
    accept: Callable[[re.Match[str]], bool] | None = None
    folded: bool = False
    in_run: bool = False

    @property
    def regex(self) -> re.Pattern[str]:
        """The expression, compiled when it is first needed."""
        return _compiled(self.expression)


@functools.cache
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.ASCII)


def mask(text: str) -> Masked:
    """Replace every secret by ``[masked:NAME]``.

    Deterministic and idempotent: a masked text is left as it is. If secrets overlap, one marker covers them all. It
    has the name of the one that begins first, of the longest among those.
    """
    masked, spans = text, list[MaskedSpan]()
    for _ in range(_ROUNDS):
        found = _merged(_found(masked))
        if not found:
            break
        spans = sorted(spans + _unmasked(found, spans), key=lambda span: span.start)
        masked = _render(text, spans)
    return Masked(masked, tuple(spans))


def _render(text: str, spans: list[MaskedSpan]) -> str:
    """Give the text with a marker for each span."""
    parts: list[str] = []
    end = 0
    for span in spans:
        parts += (text[end : span.start], _marker(span))
        end = span.start + span.length
    parts.append(text[end:])
    return "".join(parts)


def _marker(span: MaskedSpan) -> str:
    return f"[masked:{span.name}]"


def _unmasked(found: list[MaskedSpan], spans: list[MaskedSpan]) -> list[MaskedSpan]:
    """Move what was found in a masked text to where it stands in the text before; none of it overlaps a marker."""
    moved: list[MaskedSpan] = []
    index = shift = 0
    for span in found:
        while index < len(spans) and spans[index].start <= span.start + shift:
            shift += spans[index].length - len(_marker(spans[index]))
            index += 1
        moved.append(MaskedSpan(span.name, span.start + shift, span.length))
    return moved


def _found(text: str) -> list[MaskedSpan]:
    """Give every secret as the text stands, and as it reads once its escape codes are gone; positions are the same."""
    read = unescaped(text)
    return _found_in(text) + (_found_in(read) if read != text else [])


def _found_in(text: str) -> list[MaskedSpan]:
    """Give every secret of every pattern, in no order, overlaps included."""
    # One byte for a character of any script: faster to search, and positions stay.
    plain = text if text.isascii() else text.encode("ascii", "replace").decode("ascii")
    folded = plain.lower()
    markers, runs = _markers(plain), "\n".join(_runs(plain))
    found: list[MaskedSpan] = []
    for pattern in PATTERNS:
        haystack = folded if pattern.folded else plain
        for literal in pattern.literals:
            at = -1 if pattern.in_run and literal not in runs else haystack.find(literal)
            while at >= 0:
                match = pattern.regex.match(text, at)
                after = at + 1
                if match and not _touches(match, markers) and (pattern.accept is None or pattern.accept(match)):
                    start, after = match.span(pattern.group if pattern.group >= 0 else match.lastindex or 0)
                    found.append(MaskedSpan(pattern.name, start, after - start))
                at = haystack.find(literal, after)
    return found


def _runs(plain: str) -> Iterator[str]:
    """Yield the runs of `_RUN`; it matches no character at which a piece ends, and looks behind at such a one."""
    for start, end in pieces(plain):
        yield from _compiled(_RUN).findall(plain, start, end)


def _markers(plain: str) -> list[tuple[int, int]]:
    """Give where our own markers stand; a token between the same brackets is no marker."""
    if "[masked:" not in plain:
        return []
    names = {pattern.name for pattern in PATTERNS}
    return [match.span() for match in _compiled(_MARKER).finditer(plain) if match[1] in names]


def _touches(match: re.Match[str], markers: list[tuple[int, int]]) -> bool:
    """Say whether a match overlaps what an earlier run has masked."""
    index = bisect_right(markers, (match.end(), -1)) - 1  # the last marker that begins before the match ends
    return index >= 0 and markers[index][1] > match.start()


def _merged(found: list[MaskedSpan]) -> list[MaskedSpan]:
    """Sort, and make one span of those that overlap."""
    merged: list[MaskedSpan] = []
    for span in sorted(found, key=lambda span: (span.start, -span.length)):
        if merged and span.start < merged[-1].start + merged[-1].length:
            last = merged[-1]
            end = max(last.start + last.length, span.start + span.length)
            merged[-1] = MaskedSpan(last.name, last.start, end - last.start)
        else:
            merged.append(span)
    return merged


_MARKER = r"\[masked:([a-z0-9-]{1,40})\]"

# Must not stand before a token: a letter or digit, unless it is the tail of an escape (\n in a JSON string).
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf]))"
_END = r"(?![A-Za-z0-9])"
_RUN = r"(?<![A-Za-z0-9_+/=.$-])[A-Za-z0-9_+/=.$-]{15,}+"
_DIGIT = r"(?=[A-Za-z_-]{0,64}+[0-9])"  # what tells a token from a long word


def _token(name: str, literals: str, rest: str) -> Pattern:
    """Make the pattern of a vendor's token: space-separated prefixes, then `rest`."""
    prefixes = tuple(literals.split())
    return Pattern(name, prefixes, f"{_START}(?:{'|'.join(map(re.escape, prefixes))}){rest}", in_run=True)


# --- what a value must look like -----------------------------------------------------------------------------------

_PLACEHOLDER = (
    r"(?i)x{4}|\*{3}|\.{3}|\$[({A-Z_]|\{\{|%[(s{]|[<>]|c(?:hange.?me|onfig\.)|your|e(?:xample|nviron)|d(?:ummy|efault)"
    r"|p(?:laceholder|rocess\.)|re(?:dact|place)|masked|in(?:sert|valid)|s(?:ample|ecrets?\.)|getenv|undefined|1234567"
    r"|abcdef[^0-9]|fixme|^passw(?:or)?d[0-9]{0,3}$"
)
_CHUNKS = r"[A-Za-z0-9]{1,4096}"
_LETTER_DIGIT = r"[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])"
_CLASS_CHANGE = r"[a-z](?=[A-Z0-9])|[A-Z](?=[a-z0-9])|[0-9](?=[A-Za-z])"
_STRONG_SYMBOL = r"[!@#$%^&*+=/?~]"
_LOCATION = r"#[0-9a-fA-F]{3,8}$|[a-z]{2,10}:|\.{0,2}/|~/|[A-Za-z0-9_-]{1,64}\.[a-z]{2,5}$"


def _is_mixed(value: str) -> bool:
    """A long value that no one would write by hand: letters and digits change places, and its characters vary."""
    if len(value) < 10 or _compiled(_PLACEHOLDER).search(value) or _compiled(_LOCATION).match(value):
        return False
    if not any(map(str.isdigit, value)) or _entropy(value) < 3.0:
        return False
    # Between digits, capitals and small letters a random run changes at every second character, HumpedNames2 at every
    # third; a short hexadecimal one may by chance stay below, but has more digits beside letters than any name.
    changes = len(_compiled(_LETTER_DIGIT).findall(value))
    return changes >= max(3, len(value) // 12) or len(_compiled(_CLASS_CHANGE).findall(value)) >= 0.4 * len(value)


def _is_password(value: str) -> bool:
    """A password that a human chose: letters with digits or symbols, six characters or more."""
    if len(value) < 6 or _compiled(_PLACEHOLDER).search(value) or _compiled(_LOCATION).match(value):
        return False
    kinds = (any(map(str.islower, value)), any(map(str.isupper, value)), any(map(str.isdigit, value)))
    letters = kinds[0] or kinds[1]
    return letters and (kinds[2] or (kinds[0] and kinds[1] and _compiled(_STRONG_SYMBOL).search(value) is not None))


def _entropy(value: str) -> float:
    """Shannon entropy of the characters, in bits per character."""
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values())


def _is_key_block(match: re.Match[str]) -> bool:
    """A block that holds key material, not dots or a sentence."""
    body = match[match.lastindex or 0]
    return sum(map(len, _compiled(_CHUNKS).findall(body))) >= 24 and "..." not in body


def _is_url_password(match: re.Match[str]) -> bool:
    """A password in a URL that is neither a template nor the word itself."""
    value = match[2]
    return value.lower() not in _EXAMPLE_PASSWORDS and value != match[1] and not _compiled(_PLACEHOLDER).search(value)


_EXAMPLE_PASSWORDS = frozenset(
    {"password", "passwd", "pass", "pwd", "pw", "secret", "token", "user", "x", "port", "key"}
)


def _is_authorization(match: re.Match[str]) -> bool:
    """The credentials of a header: of Basic what decodes to user:password, else letters with digits."""
    if (match[1] or "").lower() == "basic":
        return _is_basic(match[2])
    return _is_password(match[2]) and any(map(str.isdigit, match[2]))


def _is_basic(value: str) -> bool:
    try:
        return b":" in binascii.a2b_base64(value + "=" * (-len(value) % 4))
    except binascii.Error:
        return False


def _is_bearer(match: re.Match[str]) -> bool:
    return _is_mixed(match[1])


def _is_assigned_secret(match: re.Match[str]) -> bool:
    """A value that no human writes; under the name of a password also one that a human may choose.

    An unquoted value is code more often than not: no joints of a name or of a call may be in it.
    """
    bare = match.lastindex == 2
    value = match[match.lastindex or 0]
    if bare and "." in value:
        return False
    if _is_mixed(value):
        return True
    if match[0][:2].lower() not in ("pa", "pw") or not _is_password(value):
        return False
    return not bare or (any(map(str.isdigit, value)) and "_" not in value and "/" not in value)


# The name of a variable that holds a secret. "key" counts only after a word that makes it one.
_NAMED = (
    r"(?i:pass(?:word|wd|phrase|code|(?![A-Za-z]))|pwd|secret|token|credential"
    r"|(?:(?<=api)|(?<=api.)|(?<=access)|(?<=access.)|(?<=private.)|(?<=auth.)|(?<=account)|(?<=account.)"
    r"|(?<=encryption.)|(?<=signing.)|(?<=master.))key)"
    r"[A-Za-z0-9_-]{0,24}+"
)
_ASSIGNED = r"(?:[ ]{0,4}\\{0,3}[\"'`\]]){0,2}(?:[ ]?:[ ]?[A-Za-z][A-Za-z.| \[\]]{0,24}(?==))?[ \t]{0,8}(?:=>|:=|={1,3}|:|>)[ \t]{0,8}"
_QUOTED = r"[bru]?\\{0,3}[\"'`]([^\s\"'`\\]{6,4096}+)\\{0,3}[ ]{0,4}[\"'`]"
# A query's next name ends a value, any other & belongs to it.
_BARE = r"((?:[A-Za-z0-9+/_.~!@#$%^*-]|&(?![A-Za-z][A-Za-z0-9_.-]{0,40}+=)){6,4096}+={0,2}+)(?=$|[\s\"',;)\\&<|}\]])"
_SECRET_WORDS = ("pass", "pwd", "secret", "token", "credential", "key")

PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        "private-key",
        ("-----BEGIN ",),
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:([^-]{0,32768}+(?:-{1,4}+[^-]{1,32768}+){0,64}+)-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"|((?:(?:\s|\\[nr]){0,4}+[A-Za-z0-9+/=]{24,1024}+){1,512}+))",  # the second: its end was cut off
        accept=_is_key_block,
    ),
    _token("aws-access-key-id", "AKIA ASIA", rf"[A-Z0-9]{{16}}{_END}"),
    Pattern(
        "aws-secret-key",
        ("secret",),
        r"(?i:secret[_-]?(?:access[_-]?)?key)(?:\\{0,3}[\"'\]]){0,2}[ \t]{0,4}(?:=>|[:=>])[ \t]{0,4}\\{0,3}[\"']?"
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
    _token("twilio-key", "SK", rf"[0-9a-f]{{32}}{_END}"),
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
    _token("digitalocean-token", "dop_v1_", rf"[a-f0-9]{{64}}{_END}"),
    _token("shopify-token", "shp", rf"(?:at|ca|pa|ss)_[A-Fa-f0-9]{{32}}{_END}"),
    _token("databricks-token", "dapi", rf"[a-f0-9]{{32}}{_END}"),
    _token("docker-token", "dckr_pat_", r"[\w-]{20,}+"),
    _token("atlassian-token", "ATATT3", r"[\w=-]{50,}+"),
    _token("linear-key", "lin_api_", r"[A-Za-z0-9]{40,}+"),
    _token("notion-token", "ntn_", r"[A-Za-z0-9]{40,}+"),
    _token("postman-key", "PMAK-", r"[A-Za-z0-9-]{40,}+"),
    _token("grafana-token", "glsa_", r"[A-Za-z0-9_]{32,}+"),
    _token("vault-token", "hvs.", r"[\w-]{24,}+"),
    _token("age-key", "AGE-SECRET-KEY-1", rf"[0-9A-Z]{{58}}{_END}"),
    *(_token(name, literals, rest) for name, literals, rest in VENDOR_TOKENS),
    Pattern("terraform-token", (".atlasv1.",), r"(?<=[A-Za-z0-9])\.atlasv1\.([\w=-]{60,}+)", group=1),
    Pattern(
        "putty-key",
        ("Private-Lines: ",),
        r"Private-Lines: [0-9]{1,4}(?:\s|\\[nr]){1,4}+([A-Za-z0-9+/=]{1,1024}+"
        r"(?:(?:\s|\\[nr]){1,4}+[A-Za-z0-9+/=]{1,1024}+(?![-:])){0,512})",
        1,
        _is_key_block,
    ),
    Pattern("jwk-private", ('"d"', '\\"d\\"'), r"\\{0,3}\"d\\{0,3}\"[ ]?:[ ]?\\{0,3}\"([\w-]{40,}+)\\{0,3}\"", group=1),
    Pattern("telegram-token", (":AA",), r"(?<=[0-9]{8}):(AA[\w-]{33,}+)", group=1),
    _token("jwt", "eyJ", r"(?:(?<![\w-]eyJ)[\w-]{8,2048}+|[\w-]{8,256}+)\.eyJ[\w-]{8,16384}+\.[\w-]{8,}+"),
    Pattern(
        "authorization",
        ("authorization",),
        r"(?i:authorization)(?:\\{0,3}[\"'`\]]){0,2}[ \t]{0,4}[:=,][ \t]{0,4}\\{0,3}[\"'`]?"
        r"(?:([A-Za-z][A-Za-z0-9-]{2,20}) {1,4})?([A-Za-z0-9._~+/-]{8,}+={0,2}+)(?!\()",
        group=2,
        accept=_is_authorization,
        folded=True,
    ),
    Pattern(
        "authorization",
        ("bearer ",),
        r"(?i:bearer) {1,4}([A-Za-z0-9._~+/-]{16,}+={0,2}+)",
        group=1,
        accept=_is_bearer,
        folded=True,
    ),
    Pattern(
        "url-password",
        ("://",),
        r"://([^\s/@:\"'`<>\\]{0,64}+):([^\s/\"'`<>\\]{1,128})@(?=[A-Za-z0-9\[])",
        group=2,
        accept=_is_url_password,
    ),
    Pattern("secret", _SECRET_WORDS, f"{_NAMED}{_ASSIGNED}(?:{_QUOTED}|{_BARE})", -1, _is_assigned_secret, folded=True),
)
