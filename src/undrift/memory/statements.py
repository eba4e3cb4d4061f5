"""A text taken apart into its statements: items of lists, paragraphs, rows of tables, each with its heading. Pure.

Law: each statement stands in the text. A part that becomes no statement is named, with its line and the reason. A block of
code stays whole, with the words that introduce it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode

__all__ = ["LONGEST_STATEMENT_CHARACTERS", "LeftOut", "Statement", "Statements", "statements_in", "statements_typed"]

LONGEST_STATEMENT_CHARACTERS = 4_000
"""A brief shows at most 2,000."""

_MOST_STATEMENTS = 1_000
_LONGEST_CODE_CHARACTERS = 2_000
_LONGEST_ITEM_CHARACTERS = 350
"""An item with its inner list is one statement up to here; a longer text contradicts nothing (`LONGEST_STATEMENT`)."""
_LONGEST_PREFIX_CHARACTERS = 200
_LEAST_WORDS = 4
"""An item of fewer words gets its heading in front: "pnpm" alone says nothing."""
_LONGEST_LINE_OF_A_LIST = 60
"""A longer line that ends without a full stop is more likely part of a paragraph."""
_ENDS = (".", "!", "?", ";", "\u3002", "\uff01", "\uff1f")
_LISTS = frozenset({"bullet_list", "ordered_list"})
_CODE = frozenset({"fence", "code_block"})
_INTRODUCED = _LISTS | _CODE
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_IMPORT = re.compile(r"@\S+")
_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement. `heading`: the nearest heading above it; may be empty. `line`: its first line, from 1."""

    text: str
    heading: str
    line: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A part of a text that is no statement."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Statements:
    """The statements of a text, in their order, and the parts that are none."""

    found: tuple[Statement, ...]
    left_out: tuple[LeftOut, ...] = ()


def statements_in(text: str) -> Statements:
    """Return the statements of a Markdown text."""
    plain = _LINE_ENDS.sub("\n", text)
    front = _FRONT_MATTER.match(plain)
    body = plain if front is None else "\n" * front[0].count("\n") + plain[front.end() :]
    reading = _Reading()
    if front is not None:
        reading.leave_out(1, "front matter")
    reading.read(_tree(body).children)
    return reading.end()


def statements_typed(text: str) -> tuple[str, ...]:
    """Return the statements that a person typed: items of a list, paragraphs, or lines that are sentences.

    A text with anything else in it, such as a heading or code, is one statement.
    """
    if "\n" not in text.strip():
        return (text,)
    body = _LINE_ENDS.sub("\n", text)
    if any(node.type != "paragraph" and node.type not in _LISTS for node in _tree(body).walk() if _is_block(node)):
        return (text,)
    found = []
    for node in _tree(body).children:
        lines = _lines(node)
        if node.type == "paragraph" and len(lines) > 1 and _are_sentences(lines):
            found += lines
        else:
            reading = _Reading()
            reading.read([node])
            found += [one.text for one in reading.found]
    return tuple(found) or (text,)


class _Reading:
    """The statements that were found so far, below the newest heading."""

    def __init__(self) -> None:
        self.found: list[Statement] = []
        self.left_out: list[LeftOut] = []
        self._heading = ""
        self._too_many: list[int] = []

    def read(self, nodes: Sequence["SyntaxTreeNode"], prefix: str = "") -> None:
        """Take blocks that stand one after the other; a paragraph that ends with a colon introduces the next block."""
        lead: Statement | None = None
        for node in nodes:
            if lead is not None and node.type not in _INTRODUCED:
                self._add(lead.text, lead.line)
                lead = None
            if node.type == "paragraph" and _words(node).endswith(":"):
                lead = Statement(prefix + _words(node), self._heading, _line(node))
                continue
            self._block(node, prefix, lead)
            lead = None
        if lead is not None:
            self._add(lead.text, lead.line)

    def _block(self, node: "SyntaxTreeNode", prefix: str, lead: Statement | None) -> None:
        if node.type == "heading":
            self._heading = _words(node).strip("# ")
        elif node.type == "paragraph":
            self._paragraph(prefix + _words(node), _line(node))
        elif node.type in _LISTS:
            for item in node.children:
                self._item(item, _joined(prefix, lead))
        elif node.type in _CODE:
            self._code(node, lead.text if lead is not None else prefix)
        elif node.type == "table":
            self._table(node)
        elif node.type == "blockquote":
            self.read(node.children, prefix)
        elif node.type == "html_block":
            self.leave_out(_line(node), "HTML or a comment")

    def _paragraph(self, text: str, line: int) -> None:
        if _IMPORT.fullmatch(text):
            self.leave_out(line, f"{text[:80]} names another file: import that file")
        else:
            self._add(text, line)

    def leave_out(self, line: int, reason: str) -> None:
        """Note that a part is no statement."""
        self.left_out.append(LeftOut(line, reason))

    def end(self) -> Statements:
        """Return what was found."""
        if self._too_many:
            reason = f"{len(self._too_many):,} more statements: {_MOST_STATEMENTS:,} of one file is the most"
            self.leave_out(self._too_many[0], reason)
        return Statements(tuple(self.found), tuple(self.left_out))

    def _item(self, item: "SyntaxTreeNode", prefix: str) -> None:
        first = item.children[0] if item.children else None
        if first is None or first.type != "paragraph":
            self.read(item.children, prefix)
            return
        head, inner = _words(first), item.children[1:]
        if not inner:
            self._add(prefix + head if prefix else self._named(head), _line(item))
        elif head.endswith(":"):
            self.read(item.children, prefix)
        elif (whole := "\n".join([prefix + head, *_all_lines(inner)])) and len(whole) <= _LONGEST_ITEM_CHARACTERS:
            self._add(whole, _line(item))
        else:
            self._add(prefix + head, _line(item))
            self.read(inner, f"{head}: " if len(head) <= _LONGEST_PREFIX_CHARACTERS // 2 else "")

    def _named(self, text: str) -> str:
        is_short = len(text.split()) < _LEAST_WORDS
        return f"{self._heading}: {text}" if is_short and self._heading and self._heading not in text else text

    def _code(self, node: "SyntaxTreeNode", lead: str) -> None:
        code = node.content.strip("\n")
        if len(code) > _LONGEST_CODE_CHARACTERS:
            lines = code.count("\n") + 1
            self.leave_out(_line(node), f"code of {lines:,} lines, too long for a memory")
            if lead:
                self._add(lead.rstrip(), _line(node))
        elif code.strip():
            head = lead.rstrip() or (f"{self._heading}:" if self._heading else "")
            self._add(f"{head}\n{code}".lstrip("\n"), _line(node), is_code=True)

    def _table(self, node: "SyntaxTreeNode") -> None:
        rows = [[_words(cell) for cell in row.children] for part in node.children for row in part.children]
        names = rows[0]
        for number, row in enumerate(rows[1:]):
            cells = [f"{name}: {cell}" if name else cell for name, cell in zip(names, row, strict=False) if cell]
            self._add("; ".join(cells), _line(node) + 2 + number)

    def _add(self, text: str, line: int, *, is_code: bool = False) -> None:
        said = text.strip() if is_code or "\n" in text else " ".join(text.split())
        if not any(map(str.isalnum, said)):
            return
        if len(said) > LONGEST_STATEMENT_CHARACTERS:
            self.leave_out(line, f"{len(said):,} characters, too long for a memory")
        elif len(self.found) == _MOST_STATEMENTS:
            self._too_many.append(line)
        else:
            self.found.append(Statement(said, self._heading, line))


def _tree(text: str) -> "SyntaxTreeNode":
    """Return the blocks of a Markdown text; what stands in a line is not taken apart."""
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

    reader = MarkdownIt("commonmark").enable("table").disable(["inline", "reference"])
    return SyntaxTreeNode(reader.parse(text.replace("\0", "\ufffd")))


def _is_block(node: "SyntaxTreeNode") -> bool:
    return node.type not in ("root", "inline", "list_item")


def _line(node: "SyntaxTreeNode") -> int:
    return node.map[0] + 1 if node.map else 1


def _words(node: "SyntaxTreeNode") -> str:
    return " ".join(" ".join(child.content for child in node.children).split())


def _lines(node: "SyntaxTreeNode") -> list[str]:
    lines = (line.strip() for child in node.children for line in child.content.split("\n"))
    return [line for line in lines if line]


def _all_lines(nodes: Sequence["SyntaxTreeNode"]) -> Iterator[str]:
    """Yield the words of inner blocks: a line for each item, code as it is."""
    for node in nodes:
        for one in node.walk():
            if one.type == "paragraph":
                yield f"- {_words(one)}" if one.parent is not None and one.parent.type == "list_item" else _words(one)
            elif one.type in _CODE:
                yield one.content.strip("\n")


def _joined(prefix: str, lead: Statement | None) -> str:
    if lead is None:
        return prefix
    return f"{lead.text} " if len(lead.text) <= _LONGEST_PREFIX_CHARACTERS else ""


def _are_sentences(lines: Sequence[str]) -> bool:
    """Tell whether each line is a statement of its own, and no part of a broken paragraph."""
    return all(
        line.endswith(_ENDS) or (len(line) <= _LONGEST_LINE_OF_A_LIST and not following[0].islower())
        for line, following in pairwise(lines)
    )
