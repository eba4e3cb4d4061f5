"""The values that a name, a command or a file's form tells: cookies, netrc, options, hashes of passwords, signed URLs. Pure data."""

import binascii
import re
from collections.abc import Callable
from functools import partial

from undrift.core.text.patterns import END, START, Pattern, compiled
from undrift.core.text.secret_values import is_given, is_mixed, is_password

__all__ = ["COMMANDS", "NAMED_VALUES"]

_Parts = tuple[list[tuple[int, int]], int]
_LINE = r"(?>(?:\\\r?\n|[^\r\n]){0,4096})"
_BREAK = r"(?:\r?\n|(?:\\{1,4}r)?\\{1,4}n)"
_GAP = r"(?>(?:\s|\\{1,4}[nrt]){1,16})"
_WORD = r"[^\s\"'`\\]{1,255}+"
_GIVEN = r"(?:\\{0,3}[\"'])?([^\s\"'`\\|<>]{3,512}+)"


def _in_line(name: str, literals: str, inner: str, accept: Callable[[str], bool]) -> Pattern:
    """Make the pattern of the values that `inner` finds behind a command, in its line."""
    words = tuple(literals.split())
    expression = f"{START}(?:{'|'.join(map(re.escape, words))}){_LINE}"
    return Pattern(name, words, expression, parts=partial(_in_command, inner, accept), in_word=True)


def _in_command(inner: str, accept: Callable[[str], bool], match: re.Match[str]) -> _Parts:
    found = compiled(inner).finditer(match.string, match.start(), match.end())
    return [part.span(1) for part in found if accept(part[1])], match.end()


# --- cookies -------------------------------------------------------------------------------------------------------

_SESSION = r"(?i)sess|sid|token|auth|csrf|xsrf|jwt|login|remember|secret"
_PAIR = r"(?<![A-Za-z0-9_.-])([^=;,:\s\"'`\\]{1,64})=([^;,\s\"'`\\<>]{8,4096}+)"


def _cookies(match: re.Match[str]) -> _Parts:
    """Give the values of a header that are not written by hand; a name of a session tells more of them."""
    found = []
    for pair in compiled(_PAIR).finditer(match.string, match.start(1), match.end()):
        is_session = compiled(_SESSION).search(pair[1]) is not None
        if (len(pair[2]) >= 16 and is_mixed(pair[2])) or (is_session and is_password(pair[2])):
            found.append(pair.span(2))
    return found, match.end()


# --- a Kubernetes secret -------------------------------------------------------------------------------------------

_DOCUMENT = 16_384
_DATA = (
    rf"(?:^|{_BREAK}[ ]{{0,16}}+|[{{,]\s{{0,80}}+)(\\{{0,3}}\")?(?:data|stringData)(?(1)\\{{0,3}}\"):[ ]?(\{{)?"
    r"(?=\s|\\|\"|(?(2)[A-Za-z]|\s))"
)
_KEY = r"(?:\\{0,3}[\"'])?[A-Za-z0-9._-]{1,48}+(?:\\{0,3}[\"'])?:[ ]?"
_CODED = r"[^\s\"'`\\{}\[\],]{4,65536}+"
_SHORT = r"[^\s\"'`\\{}\[\],]{4,40}+"
_ON_LINE = rf"{_BREAK}[ ]{{1,16}}{_KEY}(?:\\{{0,3}}[\"'])?({_CODED})(?:\\{{0,3}}[\"'])?"
_IN_BRACES = rf"(?:{_BREAK}[ ]{{0,32}}|[ ])?{_KEY}(?:\\{{0,3}}[\"']({_CODED})\\{{0,3}}[\"']|({_SHORT})(?=[,}}])),?"


def _kubernetes(match: re.Match[str]) -> _Parts:
    """Give the values below `data` in the document of the secret, which may stand before its kind."""
    text, at = match.string, match.start()
    begin = max(text.rfind("\n---", max(0, at - _DOCUMENT), at), at - _DOCUMENT, 0)
    end = text.find("\n---", at, at + _DOCUMENT)
    end = min(len(text), at + _DOCUMENT) if end < 0 else end
    own = _own_braces(text, begin, at, end) if '"' in match[0].partition(":")[0] else None
    found = list[tuple[int, int]]()
    for head in compiled(_DATA).finditer(text, begin, end):
        if (own is None) != (head[1] is None) or (own is not None and head.start(2) not in own):
            continue  # of another document, or of another object of this one
        value = _value(head, head.end(), end)
        while value and (own is None or value.lastindex == 1):  # without quotes, JSON has numbers and no secret
            if is_given(value[value.lastindex or 0]):
                found.append(value.span(value.lastindex or 0))
            value = _value(head, value.end(), end)
    return found, end


def _value(head: re.Match[str], at: int, end: int) -> re.Match[str] | None:
    """Give the name and the value that stand at a place of a map."""
    if head[2]:
        return compiled(_IN_BRACES).match(head.string, at, end)
    return compiled(_ON_LINE).match(head.string, at, end)


def _own_braces(text: str, begin: int, at: int, end: int) -> set[int]:
    """Give where the inner objects begin of the object in which a place stands."""
    braces, own, depth = compiled(r"[{}]"), set[int](), 0
    for brace in braces.finditer(text, at, end):
        if depth == 0:
            own.add(brace.start())
        depth += 1 if brace[0] == "{" else -1
        if depth < 0:
            break
    depth = 0
    for brace in reversed(list(braces.finditer(text, begin, at))):
        depth += 1 if brace[0] == "}" else -1
        if depth < 0:
            break
        if depth == 0:
            own.add(brace.start())
    return own


# --- what a value must be ------------------------------------------------------------------------------------------


def _is_port(value: str) -> bool:
    return value.replace(":", "").isdigit()


def _is_glued_password(value: str) -> bool:
    return is_password(value) and not _is_port(value)


def _is_user_and_password(value: str) -> bool:
    """Base64 of user:password in readable characters."""
    try:
        plain = binascii.a2b_base64(value.rstrip("=") + "=" * (-len(value.rstrip("=")) % 4))
    except binascii.Error:
        return False
    return b":" in plain[1:-1] and plain.isascii() and plain.decode().isprintable()


def _is_auth(match: re.Match[str]) -> bool:
    return _is_user_and_password(match[1])


def _is_spoken(match: re.Match[str]) -> bool:
    return is_mixed(match[1])


def _is_option(match: re.Match[str]) -> bool:
    """The value of a long option; `--token-limit` and `--password-file` get something else."""
    before = match.string[max(0, match.start() - 32) : match.start()]
    if not compiled(r"(?:^|[\s\"'`(=,\[])--?(?:[a-z0-9-]{0,30}-)?\Z").search(before):
        return False
    if compiled(r"(?i)-(?:file|path|id|name|limit|count|type|env|var|url|stdin|budget|length|size|through)").search(
        match[1]
    ):
        return False
    is_a_password = match[0][:2].lower() in ("pa", "pw")
    return is_password(match[2]) if is_a_password else is_mixed(match[2])


def _is_query_value(match: re.Match[str]) -> bool:
    return len(match[1]) >= 16 and is_mixed(match[1])


def _is_url_user(match: re.Match[str]) -> bool:
    return compiled(r"[0-9a-f]{32}(?::[0-9a-f]{32})?").fullmatch(match[1]) is not None or is_mixed(match[1])


def _is_pgpass(match: re.Match[str]) -> bool:
    return is_password(match[1]) or is_mixed(match[1])


def _is_netrc(match: re.Match[str]) -> bool:
    return is_given(match[1])


_QUERY_NAMES = ("sig", "signature", "code", "auth", "sid", "hmac", "ticket")
_HASH = (
    r"\$(?:(?:1|5|6|apr1)\$(?:rounds=[0-9]{1,9}\$)?[^\s$:\"'`\\]{0,16}\$[./A-Za-z0-9]{22,86}+"
    r"|2[abxy]\$[0-9]{2}\$[./A-Za-z0-9]{53}"
    r"|y\$[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{0,86}\$[./A-Za-z0-9]{43}"
    r"|argon2(?:id|i|d)\$(?:v=[0-9]{1,3}\$)?m=[0-9]{1,9},t=[0-9]{1,9},p=[0-9]{1,9}\$[A-Za-z0-9+/]{8,128}+\$[A-Za-z0-9+/]{16,256}+)"
)

COMMANDS: tuple[tuple[str, str, str, Callable[[str], bool]], ...] = (
    (
        "url-password",
        "curl",
        r"\s(?:-[a-zA-Z]{0,6}[uU]|--user|--proxy-user)[ =]?(?:\\{0,3}[\"'])?[^\s:\"'`\\]{0,128}:([^\s\"'`\\|<>]{2,512}+)",
        is_given,
    ),
    (
        "option-password",
        "mysql mysqldump mysqladmin mysqlimport mysqlsh mariadb",
        rf"\s-p{_GIVEN}",
        _is_glued_password,
    ),
    ("option-password", "sshpass", rf"\s-p ?{_GIVEN}", is_given),
    ("option-password", "redis-cli", rf"\s(?:-a|--pass) {_GIVEN}", is_given),
    ("option-password", "mongo mongosh mongodump", rf"\s-p ?{_GIVEN}", _is_glued_password),
    ("option-password", "docker podman helm", rf"\slogin\s[^|;&]{{0,64}}\s?-p ?{_GIVEN}", _is_glued_password),
    ("option-password", "ldapsearch ldapmodify ldapadd", rf"\s-w ?{_GIVEN}", is_given),
    ("option-password", "smbclient", rf"\s-U ?(?:\\{{0,3}}[\"'])?[^\s%\"']{{1,128}}%{_GIVEN}", is_given),
    ("option-password", "openssl", rf"\s-pass(?:in|out)? pass:{_GIVEN}", is_given),
)
"""Commands that are given a password: the marker's name, their names, what finds it in their line, and what it must be."""

NAMED_VALUES: tuple[Pattern, ...] = (
    Pattern(
        "cookie",
        ("cookie",),
        r"(?i:cookie)(?:\\{0,3}[\"'`])?(?:[ \t]{0,4}[:=,]|(?<=--cookie) )[ \t]{0,4}([^\r\n]{8,8192}+)",
        parts=_cookies,
        folded=True,
        in_word=True,
    ),
    Pattern(
        "netrc-password",
        ("machine ",),
        rf"machine[ \t]{{1,8}}{_WORD}{_GAP}(?:(?:login|account){_GAP}{_WORD}{_GAP}){{0,2}}password{_GAP}([^\s\"'`\\<>]{{1,512}}+)",
        1,
        _is_netrc,
        in_word=True,
    ),
    *(_in_line(*command) for command in COMMANDS),
    Pattern(
        "option-password",
        ("pass", "password", "passwd", "passphrase", "passcode", "pwd", "secret", "token", "credential", "key", "auth"),
        r"(?<=-)((?i:pass(?:word|wd|phrase|code)?|pwd|secret|token|credential|(?<=(?:api|ess)-)key|auth)[a-z0-9-]{0,24}+)"
        rf" {{1,4}}(?!-){_GIVEN}",
        2,
        _is_option,
        folded=True,
        in_word=True,
    ),
    Pattern(
        "spoken-password",  # as people write it in a sentence: "my password for staging is V"
        ("password", "passwort", "passwd", "passphrase", "passcode", "kennwort"),
        r"(?<![A-Za-z0-9_.-])(?i:pass(?:word|wort|wd|phrase|code)|kennwort)(?: (?:for|of|on|to|f\u00fcr) [A-Za-z0-9._-]{1,40}+(?: [A-Za-z0-9._-]{1,40}+){0,2})?"
        r"(?: ?: ?| (?i:is|was|ist|lautet):? | )(?:\\{0,3}[\"'`\u201c])?([^\s\\\"'`\u201c\u201d<>()\[\]{},;]{8,256}+)",
        1,
        _is_spoken,
        folded=True,
        in_word=True,
    ),
    Pattern(
        "password-hash",
        ("$1$", "$5$", "$6$", "$apr1$", "$2a$", "$2b$", "$2y$", "$2x$", "$y$", "$argon2"),
        rf"{_HASH}{END}",
    ),
    Pattern(
        "pgpass-password",
        (":5432:", ":6432:", ":*:"),
        r"(?<=[A-Za-z0-9*.\]-]):(?:[0-9]{4,5}|\*):[^\s:\"'`\\]{1,64}:[^\s:\"'`\\]{1,64}:([^\s:\"'`\\<>]{4,256}+)(?=$|[\s\"'`\\<])",
        1,
        _is_pgpass,
    ),
    Pattern(
        "url-user", ("://",), r"://([A-Za-z0-9_.~%-]{20,256}+(?::[0-9a-f]{32})?)@(?=[A-Za-z0-9\[])", 1, _is_url_user
    ),
    Pattern(
        "query-value",
        tuple(f"{name}=" for name in _QUERY_NAMES),
        rf"(?:(?<=[?&;])|(?<=[?&;]x-amz-)|(?<=[?&;]x-goog-)|(?<=[?&;]X-Amz-)|(?<=[?&;]X-Goog-))(?i:{'|'.join(_QUERY_NAMES)})"
        r"=([A-Za-z0-9%_.~+/=:-]{16,4096}+)",
        1,
        _is_query_value,
        folded=True,
        in_word=True,
    ),
    Pattern(
        "kubernetes-secret",
        ("kind",),
        r"kind(?:\\{0,3}\")?: ?(?:\\{0,3}\")?Secret(?![A-Za-z])",
        in_word=True,
        parts=_kubernetes,
    ),
    Pattern(
        "docker-auth",
        ("auth",),
        r"(?<=[\"_])auth(?:\\{0,3}[\"'])?[ \t]{0,4}[:=][ \t]{0,4}(?:\\{0,3}[\"'])?([A-Za-z0-9+/_-]{8,4096}+={0,2}+)",
        1,
        _is_auth,
        in_word=True,
    ),
    Pattern(
        "teams-webhook",
        ("webhook.office.com/webhookb2/",),
        r"webhook\.office\.com/webhookb2/([A-Za-z0-9@/-]{36,400}+)",
        1,
        in_word=True,
    ),
)
