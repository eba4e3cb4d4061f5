"""Write the corpus of secret rules in src/undrift/core/text from a detector's package; a rule that is not understood is refused.

Run by `make secret-rules`. The package is pinned with its hashes in requirements/rules.txt, and carries the rules of
Betterleaks and of Veles. Their expressions are written for another engine: each is brought into the dialect of `re`,
bounded, and made to begin with a literal. requirements/secret_rules.toml says which are left out or rewritten, and why.
"""

import hashlib
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from importlib import metadata
from pathlib import Path
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

__all__ = ["PACKAGE", "Refused", "Rule", "converted", "files", "main", "upstream"]

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "src" / "undrift" / "core" / "text"
CHANGES = Path(__file__).with_suffix(".toml")
LOCK = Path(__file__).with_name("rules.txt")
PACKAGE = "kingfisher-secret-scanner"

# The three parts of upstream's rules for a vendor's name beside a value: what stands between, and what ends a value.
_JOINT = r"""(?:[ \t\w.-]{0,20})[\s'"]{0,3}"""
_OPERATOR = r"""(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}"""
_TAIL = r"""(?:\\?['"\x60]|[\s;]|\\[nr]|$)"""
_CONTEXT = re.compile(r"\(\?:[^()]*(?:\$|\\[zZ])[^()]*\)$|\\b$")  # after a value
_BEFORE = re.compile(r"^(?:\\b|\(\?:\^\|\[[^]]*\]\))")
_MARKED = re.compile(r"[A-Za-z0-9]+[_.+-]")
_MOST_LITERALS = 24
_LONGEST = 1_024
_LONGEST_INSIDE = 128
_LONGEST_JOINT = 4  # of what stands between the words of a name
_MOST_LEADS = 4
_SHORTEST_NAME = 3
_LONGEST_NAME = 40
_IN_RUN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+/=.$-")
_SHORTEST_RUN = 15


class Refused(ValueError):
    """A rule that this program does not understand: it says which, and what to do."""

    def __init__(self, rule: str, why: str) -> None:
        super().__init__(f"{rule}: {why}; leave it out or rewrite it in {CHANGES.name}")


@dataclass(frozen=True, order=True, slots=True)
class Rule:
    """One rule in our dialect.

    Args:
        table: "tokens" stand in a long run, "lines" anywhere, "named" are values behind a vendor's name.
        names: Of a named value, the expression of the name; else empty.
        ahead: So many characters of a line stand before its literal.
    """

    table: str
    name: str
    literals: tuple[str, ...]
    names: str
    expression: str
    ahead: int = 0


# --- from one dialect to the other -----------------------------------------------------------------------------------


def _dialect(rule: str, text: str) -> str:
    """Return an expression as `re` reads it: flags in the middle scoped, the end of a text in its spelling."""
    text = text.replace("[[:alnum:]]", "[A-Za-z0-9]").replace(r"\z", r"\Z").replace(r"\x60", "`")
    if re.search(r"\[:\w+:\]|\(\?[=!<]|\\[1-9]|\(\?x\)", text):
        raise Refused(rule, "a POSIX class, a look-around, a back-reference or a spaced expression")
    text = re.sub(r"\(\?P<\w+>", "(", text)
    while flags := re.search(r"(?<!\\)\(\?([ims]+)\)", text):
        end = _closing(text, flags.end())
        text = f"{text[: flags.start()]}(?{flags[1]}:{text[flags.end() : end]}){text[end:]}"
    return text


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """Yield the parts of an expression with their places: a class, an escape, or one character."""
    for match in re.finditer(r"\[\^?\]?(?:\\.|[^\]\\])*\]|\\.|.", text, re.DOTALL):
        yield match.start(), match[0]


def _closing(text: str, start: int) -> int:
    """Return where the group that `start` is in ends, or the end of the text."""
    depth = 1
    for at, piece in _pieces(text):
        if at >= start:
            depth += (piece == "(") - (piece == ")")
            if not depth:
                return at
    return len(text)


def _bounded(text: str, longest: int = _LONGEST_INSIDE) -> str:
    """Give every quantifier a bound; the last one takes all it can and gives nothing back."""
    out, before = "", ""
    for _, piece in _pieces(text):
        is_quantifier = piece in "+*" and before not in ("+", "*", "?", "}", "(", "|", "")
        out += f"{{{int(piece == '+')},{longest}}}" if is_quantifier else piece
        before = piece
    out = re.sub(r"\{(\d+),\}(?=\)*$)", rf"{{\1,{_LONGEST}}}+", out)
    out = re.sub(r"\{(\d+),\}(?==\{0,\d\}\)*$)", rf"{{\1,{_LONGEST}}}+", out)
    return re.sub(r"\{(\d+),\}", rf"{{\1,{longest}}}", out)


def _without_groups(text: str) -> str:
    """Make every group one that is not counted."""
    out = ""
    pieces = [piece for _, piece in _pieces(text)]
    for piece, after in zip(pieces, [*pieces[1:], ""], strict=True):
        out += "(?:" if piece == "(" and after != "?" else piece
    return out


def _unwrapped(text: str) -> str:
    """Take a group off that holds all of an expression and separates nothing."""
    while text.startswith("(?:") and _closing(text, 3) == len(text) - 1:
        inside, depth = text[3:-1], 0
        for _, piece in _pieces(inside):
            depth += (piece == "(") - (piece == ")")
            if piece == "|" and not depth:
                return text
        text = inside
    return text


def _literals(tree: Any) -> tuple[list[str], bool]:
    """Return what a match begins with, one of them, and whether that is all of it."""
    found = [""]
    for kind, given in tree:
        is_whole, ways = True, [""]
        if kind is op.AT:
            continue
        if kind is op.LITERAL:
            ways = [chr(given)]
        elif kind is op.IN and len(given) <= 4 and all(one is op.LITERAL for one, _ in given):
            ways = [chr(character) for _, character in given]
        elif kind is op.SUBPATTERN:
            ways, is_whole = _literals(given[3])
        elif kind is op.BRANCH:
            branches = [_literals(branch) for branch in given[1]]
            ways, is_whole = [way for some, _ in branches for way in some], all(whole for _, whole in branches)
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT) and given[:2] == (0, 1):
            ways, is_whole = _literals(given[2])
            ways = [*ways, ""]
        else:
            return found, False
        if len(found) * len(ways) > _MOST_LITERALS:
            return found, False
        found = [one + way for one in found for way in ways]
        if not is_whole:
            return found, False
    return found, True


def _leads(rule: str, expression: str, least: int) -> tuple[str, ...]:
    """Return the literals of an expression, the shorter of two that begin alike; in small letters if case does not count."""
    found = {one.lower() if expression.startswith("(?i:") else one for one in _literals(_parser.parse(expression))[0]}
    leads = sorted(one for one in found if not any(one.startswith(other) and one != other for other in found))
    if len(leads) > _MOST_LEADS and (common := _common(leads[0], leads[-1])):
        leads = [common]
    is_short = not leads or min(map(len, leads)) < least
    is_no_word = least == _SHORTEST_NAME and not all(re.match("[a-z]{3}", lead.lower()) for lead in leads)
    if is_short or is_no_word or any(" " in lead for lead in leads):
        raise Refused(rule, f"it begins with no literal of {least} characters, which are letters in a name: {leads}")
    return tuple(leads)


def _common(one: str, other: str) -> str:
    """Return what two literals begin with, if that is long enough to search for."""
    size = next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(one))
    return one[:size] if size >= _SHORTEST_NAME else ""


# --- one rule --------------------------------------------------------------------------------------------------------


def _name(rule: str) -> str:
    """Return the marker's name: the id without the number of a variant."""
    name = re.sub(r"\.\d+$", "", rule)
    name = re.sub(r"[^a-z0-9]+", "-", name)
    while len(name) > _LONGEST_NAME:
        name = name.rpartition("-")[0]
    return name


def _named(rule: str, expression: str) -> tuple[str, str]:
    """Take a rule for a name beside a value apart: the name, the value."""
    head, _, value = expression.partition(_OPERATOR)
    if not value.endswith(_TAIL) or _JOINT not in head:
        raise Refused(rule, "it is no name beside a value as the others are")
    is_all_folded = head.startswith("(?i)")
    head = head.removeprefix("(?i)").removeprefix("(?i:").removesuffix(")" if not is_all_folded else "")
    names = head.removesuffix(_JOINT)
    value = _dialect(rule, value.removesuffix(_TAIL))
    return names, f"(?i:{value})" if is_all_folded and value.lower() != value.upper() else value


def _token(rule: str, expression: str) -> Rule:
    """Make the rule of what has a form of its own."""
    text = expression
    while (cut := _BEFORE.sub("", text)) != text:
        text = cut
    while (cut := _CONTEXT.sub("", text.removesuffix(_TAIL))) != text:
        text = cut
    has_end = text != expression
    is_folded = re.match(r"\(\?i\)", text) is not None
    body = _bounded(_without_groups(_dialect(rule, text)))
    body = re.sub(r"^\(\?i:\\b", "(?i:", body)
    if is_folded and not body.startswith("(?i:"):
        raise Refused(rule, "its flags are not understood")
    body = re.sub(r"(?:\(\?:.{0,40}(?:\$|\\Z).{0,20}\)|\\b)\)$", ")", body) if is_folded else body
    if "\\b" in body or "$" in body.replace("\\$", "") or "^" in re.sub(r"\[\^", "", body):
        raise Refused(rule, f"a place is asked for inside it: {body}")
    body = f"(?i:{_unwrapped(body[4:-1])})" if is_folded and _closing(body, 4) == len(body) - 1 else _unwrapped(body)
    leads = _leads(rule, body, 2)
    is_in_run = all(set(lead) <= _IN_RUN for lead in leads) and _starts_in_run(body)
    end = r"(?![A-Za-z0-9])" if has_end or is_folded else ""
    return Rule("tokens" if is_in_run else "lines", _name(rule), leads, "", body + end)


def _starts_in_run(expression: str) -> bool:
    """Say whether the first 15 characters of every match belong to a run."""
    return _run_width(_parser.parse(expression))[0] >= _SHORTEST_RUN


def _run_width(tree: Any) -> tuple[int, bool]:
    """Return how many characters at the start of a match are surely those of a run, and whether that is all of it."""
    width = 0
    for kind, given in tree:
        least, is_whole = 0, False
        if kind is op.LITERAL:
            least, is_whole = (1, True) if chr(given) in _IN_RUN else (0, False)
        elif kind is op.IN:
            least, is_whole = (1, True) if all(_is_of_run(one) for one in given) else (0, False)
        elif kind is op.SUBPATTERN:
            least, is_whole = _run_width(given[3])
        elif kind is op.BRANCH:
            branches = [_run_width(branch) for branch in given[1]]
            least, is_whole = min(one for one, _ in branches), all(whole for _, whole in branches)
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            least, is_whole = _run_width(given[2])
            least *= given[0] if is_whole else min(given[0], 1)
        width += least
        if not is_whole:
            return width, False
    return width, True


def _is_of_run(one: Any) -> bool:
    kind, given = one
    if kind is op.LITERAL:
        return chr(given) in _IN_RUN
    if kind is op.RANGE:
        return all(chr(code) in _IN_RUN for code in range(given[0], given[1] + 1))
    return kind is op.CATEGORY and given in (op.CATEGORY_WORD, op.CATEGORY_DIGIT)


def converted(details: list[dict[str, Any]], changes: dict[str, Any]) -> list[Rule]:
    """Return upstream's rules in our dialect, sorted; refuse one that is not understood, and a change that is not needed."""
    left_out = {rule: why for why, rules in changes["left-out"].items() for rule in rules.split()}
    rewritten = changes["rewritten"]
    found: list[Rule] = []
    seen: set[str] = set()
    for detail in details:
        rule = detail["id"].split(".", 1)[1].removeprefix("secrets/")
        expression = detail["detection_regex"]
        seen.add(rule)
        if rule in left_out:
            continue
        if rule in rewritten:
            found.append(_rewritten(rule, expression, rewritten[rule]))
        elif _OPERATOR in expression:
            found.append(_beside_a_name(rule, *_named(rule, expression)))
        else:
            found.append(_token(rule, expression))
    if gone := sorted((left_out.keys() | rewritten.keys()) - seen):
        raise Refused(gone[0], "upstream has no such rule any more")
    return sorted(set(found))


def _beside_a_name(rule: str, names: str, value: str) -> Rule:
    """Make the rule of a value behind a name, or of the value alone if a prefix with a mark tells it."""
    bare = _bounded(_without_groups(value))
    bare = f"(?i:{_unwrapped(bare[4:-1])})" if bare.startswith("(?i:") else _unwrapped(bare)
    leads = {one.lower() for one in _literals(_parser.parse(bare))[0]}
    if min(map(len, leads)) >= 3 and all(_MARKED.match(lead) for lead in leads) and _starts_in_run(bare):
        return Rule("tokens", _name(rule), _leads(rule, bare, 2), "", bare + r"(?![A-Za-z0-9])")
    names = _unwrapped(_bounded(_without_groups(_dialect(rule, names)), _LONGEST_JOINT))
    return Rule("named", _name(rule), _leads(rule, f"(?i:{names})", _SHORTEST_NAME), names, bare)


def _rewritten(rule: str, expression: str, change: dict[str, Any]) -> Rule:
    """Take our own wording of a rule, as long as upstream's is the one that it was written for."""
    if (digest := hashlib.sha256(expression.encode()).hexdigest()[:12]) != change["of"]:
        raise Refused(rule, f"upstream has changed it (of = {digest!r} now)")
    if "names" in change:
        names = change["names"]
        return Rule("named", _name(rule), _leads(rule, f"(?i:{names})", _SHORTEST_NAME), names, change["value"])
    literals = tuple(change["literals"].split())
    return Rule(change["table"], _name(rule), literals, "", change["expression"], change.get("ahead", 0))


# --- the files -------------------------------------------------------------------------------------------------------

_HEAD = '''"""{what} Pure data, generated.

Written by `make secret-rules`; do not edit by hand. The rules are those of Betterleaks and Veles, as MongoDB Kingfisher
carries them, in our dialect; requirements/secret_rules.toml says which are left out, and why.

Package: {package} {version}, taken on {day}.
SHA-256 of what was read: {digest}
SHA-256 of the wheels: requirements/rules.txt, the last of them {wheel}
Betterleaks, Copyright (c) 2026 Zachary Rice: MIT License.
Veles (OSV-SCALIBR), Copyright 2025-2026 Google LLC: Apache License, Version 2.0.
Kingfisher, Copyright 2025-2026 MongoDB, Inc.: Apache License, Version 2.0.
NOTICE has the full text.
"""

# fmt: off
__all__ = {names}
'''


def upstream() -> tuple[str, list[dict[str, Any]]]:
    """Read all rules of the installed package; returns its version too."""
    from kingfisher_sdk.rules import Rules

    rules = Rules(confidence="low", cache=False)
    return metadata.version(PACKAGE), [rules.detail(one["id"]) for one in rules.metadata()]


def files(version: str, details: list[dict[str, Any]], changes: dict[str, Any], day: str) -> dict[str, str]:
    """Return the text of each generated file by its name."""
    read = [[one["id"], one["detection_regex"], one["visible"]] for one in details]
    rules = converted(details, changes)
    head = {
        "package": PACKAGE,
        "version": version,
        "day": day,
        "digest": hashlib.sha256(json.dumps(read).encode()).hexdigest(),
        "wheel": re.findall(r"sha256:([0-9a-f]{64})", LOCK.read_text(encoding="utf-8"))[-1],
    }
    tokens = [rule for rule in rules if rule.table == "tokens"]
    lines = [rule for rule in rules if rule.table == "lines"]
    named = [rule for rule in rules if rule.table == "named"]
    return {
        "corpus_tokens.py": _HEAD.format(what="Tokens that have a form of their own.", names='["TOKENS"]', **head)
        + _table("TOKENS", "The marker's name, the literals, the expression; all stand in a run.", tokens),
        "corpus_named.py": _HEAD.format(what="Values behind a vendor's name.", names='["LINES", "NAMED"]', **head)
        + _table("NAMED", "The marker's name, the literals, the expression of the name, that of the value.", named)
        + _table(
            "LINES", "The marker's name, the literal, the characters of a match before it, the expression.", lines
        ),
    }


def _table(name: str, says: str, rules: list[Rule]) -> str:
    kinds = {"TOKENS": "str, str, str", "NAMED": "str, str, str, str", "LINES": "str, str, int, str"}
    rows = []
    for rule in rules:
        between = {"TOKENS": [], "NAMED": [_quoted(rule.names)], "LINES": [str(rule.ahead)]}[name]
        cells = [_quoted(rule.name), _quoted(" ".join(rule.literals)), *between, _quoted(rule.expression)]
        rows.append(f"    ({', '.join(cells)}),")
    return "\n".join(["", f"{name}: tuple[tuple[{kinds[name]}], ...] = (", *rows, ")", f'"""{says}"""', ""])


def _quoted(text: str) -> str:
    if "\\" not in text and '"' not in text:
        return f'"{text}"'
    quote = "'" if '"' in text else '"'
    if quote in text:
        raise Refused(text, "it has quotes of both kinds")
    return f"{'r' if chr(92) in text else ''}{quote}{text}{quote}"


def main() -> int:
    """Write both files; keep the day of files that say the same."""
    version, details = upstream()
    if f"{PACKAGE}=={version}" not in LOCK.read_text(encoding="utf-8"):
        print(f"{PACKAGE} {version} is installed, which requirements/{LOCK.name} does not pin")
        return 1
    changes = tomllib.loads(CHANGES.read_text(encoding="utf-8"))
    former = FOLDER / "corpus_tokens.py"
    day = re.search(r"taken on ([0-9-]{10})", former.read_text(encoding="utf-8")) if former.exists() else None
    texts = files(version, details, changes, day[1] if day else "")
    if not day or any((FOLDER / name).read_text(encoding="utf-8") != text for name, text in texts.items()):
        texts = files(version, details, changes, date.today().isoformat())  # noqa: DTZ011 - the day on the wall
    for name, text in texts.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"src/undrift/core/text/{name}: {len(re.findall('^    [(]', text, re.MULTILINE))} rules")
    return 0


if __name__ == "__main__":
    sys.exit(main())
