"""Compare the names in a summary with the raw log. Pure; a number that may be derived from the log is accepted."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate, combinations

from undrift.core.validate.criteria import names_of
from undrift.core.validate.words import FAIL_STEMS, PASS, Sentence, meaning_of

__all__ = ["EvidenceLog", "unsupported_in"]

_CLAIMS = 200
"""How many names of one summary are looked up; a summary that names more is no summary."""
_SMALL = 12
"""Whole numbers up to here are counted by hand ("three places"), so only a count of tests is checked."""
_PAIRS_OF = 64
"""A log with more different numbers holds a pair for nearly every ratio, so ratios are not checked there."""

_NUMBER = re.compile(
    r"(?<![\w.,/#-])([~≈+-]?)(\d{1,15}(?:,\d{3}){0,5}(?:\.\d{1,15})?)\s?"
    r"(%|x\b|\u00d7|(?:ns|[µu]s|ms|s|sec|seconds?|min|minutes?|hours?|h|m|bytes?|[kKMGT]i?[Bb]?|B|tokens?|px)\b)?(?![\w-])"
)
_LOG_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_COUNT_OF = re.compile(
    r"\s?(?:\w{1,20}\s){0,2}?(tests?|passed|failed|failures?|errors?|specs?|examples?|scenarios?|checks?|assertions?)\b"
)
_COUNTED_ALIKE = (
    ("tests", "test", "passed", "passing", "ok", "specs", "spec", "examples", "example", "scenarios", "scenario", "checks",
     "check", "assertions", "assertion"),
    ("failed", "failures", "failure", "failing", "errors", "error"),
)  # fmt: skip
"""A summary adds up under one noun, and logs count under several: "3 passed" and "4 tests" are 7 tests."""
_ABOUT = re.compile(
    r"(?:about|around|roughly|nearly|almost|over|under|some|approximately|circa|ca\.)\s$", re.IGNORECASE
)
_CODE = re.compile(r"`([^`\n]{1,200})`")
_QUOTE = re.compile(r"\"([^\"\n]{4,200})\"|“([^“”\n]{4,200})”")
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*")
_PART = re.compile(r"[A-Za-z0-9]+")
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}$")
_LINE_REF = re.compile(r"(?::\d+(?:[:-]\d+)?|#L\d+(?:-L?\d+)?|\(\d+(?:,\d+)?\)?)$")
_HASH = re.compile(r"(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}$")
_VERSION = re.compile(r"v?\d+(?:[.:/T-]\d+)+\w{0,10}$")
_PLAIN_PAIR = re.compile(r"[A-Za-z]+/[A-Za-z]+(?:/[A-Za-z]+)?$")
_FOLDERS = frozenset({
    "src", "lib", "app", "apps", "test", "tests", "cmd", "pkg", "docs", "internal", "config", "scripts", "bin",
    "packages", "server", "client",
})  # fmt: skip
_KNOWN = frozenset({
    "github", "gitlab", "javascript", "typescript", "postgresql", "mysql", "sqlite", "macos", "ios", "openai",
    "numpy", "graphql", "mongodb", "nodejs", "node.js", "vue.js", "next.js", "pypi", "devops", "oauth2", "ipv4",
    "ipv6", "http2", "http/2", "utf-8", "utf8", "sha-256", "sha256", "sha1", "sha-1", "md5", "base64", "python3",
    "python2", "es6", "es2020", "x86", "x86_64", "x64", "arm64", "int64", "int32", "float64", "float32", "i18n",
    "l10n", "a11y", "e2e", "k8s", "p50", "p90", "p95", "p99", "e.g", "i.e", "etc", "ci/cd", "and/or", "i/o", "a/b",
    "n/a", "client/server", "read/write", "tcp/ip", "w3c", "s3", "ec2", "h2", "v1", "v2", "v3", "youtube",
    "linkedin", "camelcase", "snake_case", "pascalcase", "off-by-1",
})  # fmt: skip
_SCALES = (1.0, 1e3, 1e6, 1e9, 1024.0, 1024.0**2, 1024.0**3, 60.0, 3600.0, 1e-3, 1e-6, 1e-9)
_EVIDENCE_OF_PASS = (
    "pass",
    "success",
    "ok",
    "exit code 0",
    "complete",
    "finished",
    "done",
    "✓",
    "✔",
    "0 fail",
    "0 error",
)
_EVIDENCE_OF_FAIL = (
    "fail", "err", "exception", "conflict", "denied", "panic", "traceback", "abort", "crash", "timeout", "timed out",
    "warning", "expected", "exit code", "refused", "not found", "cannot", "invalid", "killed", "✗", "✕", "red", "broke",
)  # fmt: skip
_CHECKED = frozenset({
    "test", "spec", "ci", "suite", "build", "lint", "check", "example", "scenario", "mypi", "pytest",
})  # fmt: skip
_CODE_WORDS = frozenset({
    "true", "false", "none", "null", "yes", "no", "main", "master", "todo",
})  # fmt: skip


class EvidenceLog:
    """A raw log, ready to be asked whether it holds a name or a number. `texts`: the raw texts, in order."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.lower = "\n".join(texts).replace("\\\\", "/").lower()

    @cached_property
    def squashed(self) -> str:
        """The text without ``_`` and ``-``: other spellings of a name."""
        return self.lower.replace("_", "").replace("-", "")

    @cached_property
    def number_texts(self) -> frozenset[str]:
        """Every number as written, without commas between thousands and zeros around it."""
        found = {text for text in set(_LOG_NUMBER.findall(self.lower)) if len(text) <= 40}
        joined = {text for text in found if not text.isdigit()}
        whole = (found - joined).union(*(re.split(r"[.,]", text) for text in joined))
        return frozenset({_canonical(text) for text in joined} | {text.lstrip("0") or "0" for text in whole})

    @cached_property
    def numbers(self) -> list[float]:
        """The values of the numbers, ascending, each once."""
        return sorted({float(text) for text in self.number_texts if text.count(".") <= 1 and "," not in text})

    def holds(self, name: str) -> bool:
        """Tell whether a name occurs in any spelling: other case, or without its joints."""
        name = name.lower()
        if name in self.lower:
            return True
        bare = name.replace("_", "").replace("-", "")
        return len(bare) >= 6 and bare in self.squashed

    def holds_about(self, value: float, slack: float, scales: Sequence[float]) -> bool:
        """Tell whether some number, in one of the scales, lies within `slack` of `value`."""
        for scale in scales:
            low, high = (value - slack) * scale, (value + slack) * scale
            at = bisect_left(self.numbers, low * (1 - 1e-9))
            if at < len(self.numbers) and self.numbers[at] <= high * (1 + 1e-9):
                return True
        return False


def unsupported_in(summary: str, sentences: Sequence[Sentence], log: EvidenceLog) -> tuple[str, ...]:
    """Return what a summary names and its log clearly does not hold: names, paths, quotes, numbers, verdicts; in order."""
    found = [name for name in _names(summary) if not _is_held(name, log)]
    found += [quote for quote in _quotes(summary) if not _is_quoted(quote, log)]
    found += _numbers(summary, log)
    found += _verdicts(sentences, log)
    return tuple(dict.fromkeys(found))


def _names(summary: str) -> list[str]:
    names = [name for name in names_of(summary) if not _NUMBER.fullmatch(name) and _is_checkable(name)]
    for code in _CODE.findall(summary):
        names += [word for word in _IDENTIFIER.findall(code) if len(word) > 2 and word.lower() not in _CODE_WORDS]
    return list(dict.fromkeys(names))[:_CLAIMS]


def _is_checkable(name: str) -> bool:
    """Leave out standard names, English in two halves, list numbers, and what is a number with letters around it."""
    lower = name.lower().rstrip("s") if name.isupper() else name.lower()
    if lower in _KNOWN or name.lower() in _KNOWN:
        return False
    if _PLAIN_PAIR.fullmatch(name):
        return name.split("/")[0] in _FOLDERS
    letters = sum(map(str.isalpha, name))
    return letters >= 2 or bool(_VERSION.fullmatch(name))


def _is_held(name: str, log: EvidenceLog) -> bool:
    bare = _LINE_REF.sub("", name) or name
    if "(" in bare:
        bare = bare.split("(")[0] or bare
    if log.holds(name) or log.holds(bare):
        return True
    if _HASH.match(bare.lower()):
        return len(bare) > 7 and log.holds(bare[:7])
    if "/" in bare:
        return _is_held_path(bare, log)
    if "=" in bare:
        return all(log.holds(part) for part in bare.split("=") if part)
    if _EXTENSION.search(bare) and bare.count(".") == 1 and len(bare.rpartition(".")[2]) <= 4:
        return False
    parts = [part for part in re.split(r"\.|::|->|#", bare) if len(part) > 1]
    if len(parts) > 1:
        return all(log.holds(part) for part in parts)
    return "-" in bare and not bare.startswith("-") and not any(map(str.isdigit, bare))


def _is_held_path(path: str, log: EvidenceLog) -> bool:
    """A path counts as held if its file is named and each of its folders is, together or apart (after a ``cd``)."""
    parts = [part for part in path.split("/") if part not in ("", ".", "..", "~", "...")]
    return all(log.holds(part) for part in parts)


def _quotes(summary: str) -> list[str]:
    return [a or b for a, b in _QUOTE.findall(_CODE.sub(" ", summary)) if " " in (a or b).strip()][:_CLAIMS]


def _is_quoted(quote: str, log: EvidenceLog) -> bool:
    """A quotation may leave words out or change their form, so it is only missed when a word of it is nowhere."""
    return all(log.holds(word[:5]) for word in _PART.findall(quote) if len(word) > 4)


def _numbers(summary: str, log: EvidenceLog) -> Iterator[str]:
    text = _CODE.sub(lambda code: f" {code[1]} ", summary)
    for found in list(_NUMBER.finditer(text))[:_CLAIMS]:
        sign, digits, unit = found.groups()
        unit = unit or ""
        line_start = text.rfind("\n", 0, found.start()) + 1
        if not text[line_start : found.start()].strip() and text[found.end(2) : found.end(2) + 1] in (".", ")"):
            continue  # the number of a list's item
        count = _COUNT_OF.match(text, found.end(2))
        value = float(digits.replace(",", ""))
        if not unit and not count and value <= _SMALL and "." not in digits:
            continue
        about = sign in ("~", "≈") or bool(_ABOUT.search(text[: found.start()][-16:]))
        if not _is_known_number(digits, unit, value, log, about=about, count=count[1] if count else ""):
            yield f"{digits}{found[0][len(sign) + len(digits) :]}".strip() if unit else digits


def _is_known_number(digits: str, unit: str, value: float, log: EvidenceLog, *, about: bool, count: str) -> bool:
    if _canonical(digits.replace(",", "")) in log.number_texts or (value == 0 and count):
        return True
    decimals = len(digits.partition(".")[2])
    slack = 0.5 * 10.0**-decimals if (unit or decimals) else 0.0
    slack = max(slack, 0.1 * value) if about else slack
    scales = _SCALES if unit not in ("", "%", "x", "\u00d7") else (1.0, 100.0, 0.01) if unit == "%" else (1.0,)
    if slack and log.holds_about(value, slack, scales):
        return True
    if unit in ("%", "x", "\u00d7"):
        return _is_ratio(value, slack, unit, log)
    return bool(count or unit) and _is_sum(value, slack, count or unit, log)


def _is_ratio(value: float, slack: float, unit: str, log: EvidenceLog) -> bool:
    numbers = [number for number in log.numbers if number > 0]
    if len(numbers) > _PAIRS_OF:
        return True
    for low, high in combinations(numbers, 2):
        ratios = (high / low,) if unit != "%" else (100 * low / high, 100 - 100 * low / high, 100 * high / low - 100)
        if any(abs(ratio - value) <= slack * 1.01 for ratio in ratios):
            return True
    return False


def _is_sum(value: float, slack: float, noun: str, log: EvidenceLog) -> bool:
    """Tell whether the numbers that stand before the same noun add up to the value, or two of them differ by it."""
    alike = next((each for each in _COUNTED_ALIKE if noun.lower() in each), (noun.lower(),))
    nouns = "|".join(map(re.escape, alike))
    pattern = re.compile(rf"(?<![\d.])(\d{{1,15}}(?:\.\d{{1,15}})?)\s?(?:{nouns})(?!\w)")
    values = [float(match[1]) for match, _ in zip(pattern.finditer(log.lower), range(_PAIRS_OF), strict=False)]
    sums = {
        *accumulate(values),
        *(a + b for a, b in combinations(values, 2)),
        *(abs(a - b) for a, b in combinations(values, 2)),
    }
    return any(abs(each - value) <= slack + 1e-9 for each in sums)


def _verdicts(sentences: Sequence[Sentence], log: EvidenceLog) -> Iterator[str]:
    """Yield the verdicts on tests, builds and checks that nothing in the log speaks for."""
    for sentence in sentences:
        for clause in sentence.clauses:
            if not {meaning_of(each) for each in clause.stems} & _CHECKED:
                continue
            if PASS in clause.stems and not clause.denied and not any(word in log.lower for word in _EVIDENCE_OF_PASS):
                yield "passed"
            fails = clause.stems & FAIL_STEMS
            if fails and not clause.denied and not any(word in log.lower for word in _EVIDENCE_OF_FAIL):
                yield "failed"


def _canonical(text: str) -> str:
    """Return a number without thousands' commas, zeros before it, and zeros after its point."""
    head, point, tail = text.partition(".")
    groups = head.split(",")
    if len(groups) > 1 and all(len(group) == 3 for group in groups[1:]):
        head = "".join(groups)
    head = head.lstrip("0") or "0"
    if point and tail.isdigit():
        tail = tail.rstrip("0")
        return f"{head}.{tail}" if tail else head
    return head + point + tail
