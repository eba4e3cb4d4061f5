"""The rules of our language. ``python -m tests.house.language PATH...`` prints the offenders below a path.

PATH is a room of the source, one of its files, or a Markdown file. A line of the output is file:line, the rule, the
remedy and the sentence. docs/GLOSSARY.md has the words to use.
"""

import ast
import re
import sys
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from tests.house.trees import nodes as nodes_of

__all__ = [
    "LONGEST_SENTENCE_WORDS",
    "WORDS",
    "Offence",
    "Passage",
    "help_offences",
    "main",
    "markdown_offences",
    "offences",
    "source_offences",
]

LONGEST_SENTENCE_WORDS = 25

WORDS = {
    r"anew": "again; rebuild, rewrite",
    r"as (?:it|they) c[ao]me": "unchanged",
    r"besides": "also",
    r"find(?:s|ing)? out|found out": "detect",
    r"g[io]ves? way|gave way": "is removed, is replaced",
    r"give[ns]? out|giving out|gave out": "return",
    r"goes by": "uses",
    r"gone on|goes on|go on|going on|went on": "continue",
    r"hereby|thereby|therein|thereof|whereby": "(name the thing)",
    r"in force": "active",
    r"in vain": "without effect",
    r"lets? go|letting go": "remove; evict a task, prune by budget",
    r"likewise": "also",
    r"nobody|somebody|anybody|everybody": "name who: a user, a process, a caller",
    r"reckon(?:s|ed|ing)?": "count, estimate",
    r"stands? for|standing for": "replace, mean",
    r"take[ns]? back|taking back|took back": "undo",
    r"take[ns]? up|taking up|took up": "start (a task), use (space)",
    r"tells? of|told of": "report, name",
    r"tick(?:s|ed)? off": "complete",
    r"thr[eo]ws? away|thrown away|throwing away": "remove, lose",
    r"to be had": "available",
    r"told": "say, report",
    r"vouch(?:e[sd])?": "trust",
    r"whatever|wherever|whoever|whomever": "any, every",
    r"what (?:is left )?of (?:it|them|that|this|the|a|an|its|their)": "(name the part)",
    r"whose (?:request )?(?:it|they) (?:is|are)": "(name the owner)",
}
"""Words that are not ours, as patterns, and what to say instead."""

INTERNAL_ID = re.compile(
    r"\b(?:R\d{1,2}-O?\d{1,2}|A[X\d]-\d{1,2}|WIRE [A-Z]\d+|RELIABILITY [A-Z]\d+|CONTRACT)\b|^Source:"
)
"""Ids of our own documents, and lines that name one as the source of a rule: they stand in tests and records."""

OPENINGS = {
    r"Of\b(?! course)": "say the subject first",
    r"What\b": "name the thing, not a clause",
    r"Where\b": "say when or if",
    r"Whose\b|Whether\b|Likewise\b": "name the thing, not a clause",
}
"""How no sentence begins that is not a question."""

FIRST_WORDS = OPENINGS | {r"How\b|Which\b|Why\b": "name the thing, not a clause"}
"""How no docstring and no help text begins."""

NAMES = frozenset({"anew", "behind", "fresh", "gone", "let_go", "loose", "made", "said", "taken", "taken_here", "told"})
_PUBLIC = ("src/undrift/values/prepared.py", "gone")  # `Prepared.gone`: a user's program names it
"""Participles and words that are no names of a function, a class, an argument or a field."""

QUOTED = (
    "Raw logs evicted to archive",
    "Assistant thinking/text for task",
    "goes on; the newest X of its outputs stay",
)
"""Texts that the seed documents give word by word, and one reason that stored decisions hold."""

_WORD = re.compile(rf"(?<![\w-])(?:{'|'.join(f'(?P<w{n}>{word})' for n, word in enumerate(WORDS))})(?![\w-])", re.I)
_SENTENCE_END = re.compile(
    r"(?<=[.!?])[\"')\]*_]*\s+(?=[\"'(\[*_]*(?:[A-Z0-9`]|undrift\b))|(?<=:)\s*\n|\n\s*\n|\n(?=\s*(?:[-*]|\d+\.)\s)"
)
_CODE = re.compile(r"``.+?``|`[^`\n]+(?:\n[^`\n]+)?`", re.S)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_URL = re.compile(r"\bhttps?://\S+")
_QUOTE = re.compile(r"\"[^\"\n]{1,200}\"|“[^”]{1,200}”")


@dataclass(frozen=True, slots=True)
class Passage:
    """A text with the place where it stands, and which rules apply to it."""

    path: str
    line: int
    text: str
    is_first: bool = False  # a docstring or a help text: its first word is looked at more strictly
    has_limit: bool = True  # its sentences are counted
    is_help: bool = False  # `undrift COMMAND --help` prints it


@dataclass(frozen=True, slots=True)
class Offence:
    """One broken rule."""

    path: str
    line: int
    rule: str
    remedy: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.remedy}: {self.sentence}"


# ------------------------------------------------------------------------------------------------------------ sentences


def _plain(text: str) -> str:
    """Replace code, links and addresses by one word each; the lines stay."""

    def blank(found: re.Match[str]) -> str:
        return "CODE" + "\n" * found[0].count("\n")

    text = _CODE.sub(blank, text)
    text = _LINK.sub(lambda found: found[1] or "LINK", text)
    return _URL.sub("LINK", text)


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield each sentence with the number of lines before it."""
    start = 0
    for end in [*(found for found in _SENTENCE_END.finditer(text)), None]:
        sentence = text[start : end.start() if end else len(text)]
        if sentence.strip():
            yield text.count("\n", 0, start + len(sentence) - len(sentence.lstrip())), " ".join(sentence.split())
        start = end.end() if end else 0


def offences(passage: Passage) -> Iterator[Offence]:
    """Find the broken rules of a passage."""
    for before, sentence in _sentences(_plain(passage.text)):

        def offence(rule: str, remedy: str, before: int = before, sentence: str = sentence) -> Offence:
            return Offence(passage.path, passage.line + before, rule, remedy, sentence[:160])

        words = [word for word in sentence.split() if re.search("[A-Za-z]", word.replace("CODE", ""))]
        if passage.has_limit and len(words) > LONGEST_SENTENCE_WORDS:
            yield offence("length", f"{len(words)} words, {LONGEST_SENTENCE_WORDS} at most")
        unquoted = _QUOTE.sub("QUOTE", sentence)
        if not any(text in sentence for text in QUOTED):
            for found in _WORD.finditer(unquoted):
                remedy = list(WORDS.values())[int(str(found.lastgroup)[1:])]
                yield offence("word", f"not “{found[0]}” but {remedy}")
        if internal := INTERNAL_ID.search(sentence):
            yield offence("id", f"{internal[0]} is internal: leave it out")
        rules = FIRST_WORDS if passage.is_first and not before else OPENINGS
        opening = sentence.lstrip("-*0123456789.( _")
        if not sentence.rstrip("*_)\"'").endswith("?"):
            for pattern, remedy in rules.items():
                if re.match(pattern, opening) and len(words) > 2:
                    yield offence("opening", remedy)


# ------------------------------------------------------------------------------------------------------------- Markdown


def _markdown(path: str, text: str) -> Iterator[Passage]:
    """Yield the paragraphs, headings and cells of a Markdown text; fenced code is left out."""
    fence, paragraph, begun = "", list[str](), 0
    for number, line in enumerate([*text.splitlines(), ""], 1):
        mark = re.match(r"\s*(```|~~~)", line)
        if mark and not fence:
            fence = mark[1]
        elif fence:
            fence = "" if mark and mark[1] == fence else fence
            continue
        is_apart = bool(mark) or not line.strip() or line.lstrip().startswith(("|", "#", "<!--", "<"))
        if is_apart and paragraph:
            yield Passage(path, begun, "\n".join(paragraph))
            paragraph = []
        if not is_apart:
            begun = begun if paragraph else number
            paragraph.append(line.lstrip("> "))
        elif line.lstrip().startswith("#"):
            yield Passage(path, number, line.lstrip("# ") + "?", has_limit=False)  # a heading may be a clause
        elif line.lstrip().startswith("|"):
            cells = re.split(r"(?<!\\)\|", _CODE.sub("CODE", line))
            yield from (Passage(path, number, cell) for cell in cells)


def markdown_offences(path: str, text: str) -> list[Offence]:
    """Find the broken rules of a Markdown file."""
    if "docs/adr/" in path and not path.endswith(
        "README.md"
    ):  # a record keeps its content; its title and summary are ours
        text = "\n".join(text.split("\n## ")[0].splitlines()[:8])
    found = [offence for passage in _markdown(path, text) for offence in offences(passage)]
    return [offence for offence in found if offence.rule != "id" or "docs/adr/" not in path]


# --------------------------------------------------------------------------------------------------------------- source


def _text_of(node: ast.AST) -> str | None:
    """Give the text of a string, of an f-string with its values as one word each, or of strings that are joined."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_text_of(part) or "X" for part in node.values)
    return None


def _is_prose(text: str) -> bool:
    """Tell whether a string is a text for people: four words, and no pattern, statement, record or list of words."""
    words = re.findall(r"(?<![\w\\])[a-z]{2,}(?![\w\\])", text, flags=re.I)
    is_code = re.search(r"\\[bsdwW]|\(\?|\[\^|CREATE |SELECT |INSERT |UPDATE |DELETE FROM", text)
    is_list = len(words) > 40 and not re.search(r"[.,:;!?]", text)
    return len(words) >= 4 and not is_code and not is_list and words != [word for word in words if word.isupper()]


def _is_command(node: ast.AST) -> bool:
    decorators = getattr(node, "decorator_list", ())
    return any(
        isinstance(one, ast.Call) and ast.unparse(one.func).endswith((".command", ".group")) for one in decorators
    )


def _docstrings(path: str, nodes: Sequence[ast.AST]) -> Iterator[tuple[ast.AST, Passage]]:
    """Yield each docstring: of a command whole, of others the first line with its limit and the rest without."""
    for node in nodes:
        body = getattr(node, "body", None)
        for at, statement in enumerate(body if isinstance(body, list) else ()):
            if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
                continue
            text = statement.value.value
            if not isinstance(text, str):
                continue
            first, cut, rest = text.partition("\n\n")
            if _is_command(node):
                yield statement.value, Passage(path, statement.lineno, text, is_first=True, is_help=True)
                continue
            yield statement.value, Passage(path, statement.lineno, first, is_first=at == 0)
            line = statement.lineno + first.count("\n") + cut.count("\n")
            yield statement.value, Passage(path, line, re.sub(r"\n +", "\n", rest), has_limit=False)


def _strings(path: str, nodes: Sequence[ast.AST], seen: set[int]) -> Iterator[Passage]:
    """Yield help texts, texts of errors, and any other string that is prose."""
    strict: dict[int, bool] = {}
    for node in nodes:
        parts = [node.exc] if isinstance(node, ast.Raise) and node.exc else []
        named = node.keywords if isinstance(node, ast.Call) else ()
        helps = [key.value for key in named if key.arg in ("help", "short_help", "epilog")]
        for part in parts:
            strict |= {id(one): False for one in ast.walk(part)}
        for part in helps:
            strict |= {id(one): True for one in ast.walk(part)}
    inner = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        text = _text_of(node)
        if text is None or id(node) in seen or id(node) in inner:
            continue
        if id(node) in strict or _is_prose(text):
            is_help = strict.get(id(node), False)
            yield Passage(path, getattr(node, "lineno", 1), text, is_help, id(node) in strict, is_help)


def _comments(path: str, text: str) -> Iterator[Passage]:
    """Yield the comments, lines that follow each other as one."""
    lines = iter(text.splitlines(keepends=True))
    begun, parts, last = 0, list[str](), 0
    for token in chain(tokenize.generate_tokens(lambda: next(lines, "")), [None]):
        if token is not None and token.type != tokenize.COMMENT:
            continue
        if token is None or not parts or token.start[0] != last + 1:
            if parts:
                yield Passage(path, begun, "\n".join(parts), has_limit=False)
            begun, parts = (token.start[0], []) if token else (0, [])
        if token is not None:
            parts.append(token.string.strip("#- ") if not token.string.startswith("# ---") else "")
            last = token.start[0]


def _names(path: str, nodes: Sequence[ast.AST]) -> Iterator[Offence]:
    """Find functions, classes, arguments and fields with a name that is none."""
    for node in nodes:
        name = getattr(node, "name", None) if isinstance(node, ast.FunctionDef | ast.ClassDef) else None
        if isinstance(node, ast.arg):
            name = node.arg
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name = node.target.id
        if name and name.strip("_") in NAMES and (path, name) != _PUBLIC:
            yield Offence(path, getattr(node, "lineno", 1), "name", "a noun or a verb", name)


def help_offences(path: str, text: str) -> list[Offence]:
    """Find the broken rules in the help texts of a Python file: docstrings of commands, lines of options."""
    nodes = nodes_of(text)
    texts = [passage for _, passage in _docstrings(path, nodes) if passage.is_help]
    texts += [passage for passage in _strings(path, nodes, set()) if passage.is_help]
    return [offence for passage in texts for offence in offences(passage)]


def source_offences(path: str, text: str) -> list[Offence]:
    """Find the broken rules of a Python file."""
    nodes = nodes_of(text)
    documented = list(_docstrings(path, nodes))
    seen = {id(node) for node, _ in documented}
    passages = chain((passage for _, passage in documented), _strings(path, nodes, seen), _comments(path, text))
    found = [*(offence for passage in passages for offence in offences(passage)), *_names(path, nodes)]
    return sorted(set(found), key=lambda offence: (offence.line, offence.rule, offence.remedy))


# -------------------------------------------------------------------------------------------------------------- command


def found_below(path: Path) -> Iterator[Offence]:
    """Yield the offences of a file, or of each Python and Markdown file below a folder."""
    files = sorted([*path.rglob("*.py"), *path.rglob("*.md")]) if path.is_dir() else [path]
    for file in files:
        offences_of = markdown_offences if file.suffix == ".md" else source_offences
        yield from offences_of(str(file), file.read_text(encoding="utf-8"))


def main(paths: list[str]) -> int:
    """Print the offences below the paths; 1 if there are any."""
    found = [offence for path in paths for offence in found_below(Path(path))]
    for offence in found:
        sys.stdout.write(f"{offence}\n")
    sys.stdout.write(f"{len(found)} offences\n")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
