"""Make text from a session safe for a prompt: one line stays one line, and nothing in it ends or opens a section. Pure."""

import re

from undrift.core.text.secrets import mask

__all__ = ["label", "safe_line", "safe_lines"]

# Characters that a terminal or a model takes for a line end or for nothing at all: controls but the tab, separators,
# zero-width and direction marks, and the tag characters that hide a text in plain sight.
_UNSEEN = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\U000e0000-\U000e007f]"
)
_COLOUR = re.compile("\x1b\\[[0-9;]{0,20}[A-Za-z]")
# Tags and tokens by which clients and models part data from instructions. The bracket is replaced, the words stay.
_DELIMITER = re.compile(
    r"<(?=\s{0,8}+(?:/\s{0,8}+)?(?:[\w.-]{0,20}system|system[\w.-]{0,20}|user[\w.-]{0,20}|assistant|human|developer|instructions?"
    r"|tool_(?:use|result|call)s?|function_[\w-]{0,20}|invoke|parameter|antml|undrift[\w-]{0,20}|hook[\w-]{0,20}|\|)"
    r"(?:[\s>:|/]|$|im_|end))|\[(?=/?INST\])",
    re.IGNORECASE,
)
_OPENS = ("#", "Human:", "Assistant:", "System:", "User:", "===", "---", "```", "~~~")


def safe_line(line: str) -> str:
    """Make one line safe; a line that is already safe stays unchanged.

    A line that looks like a heading or a speaker is moved in by a space: our own headings stand at the edge.
    """
    if not line.isprintable():
        line = _UNSEEN.sub("", _COLOUR.sub("", line))
    if "<" in line or "[" in line:
        line = _DELIMITER.sub(lambda match: "\u2039" if match[0] == "<" else "(", line)
    return " " + line if line.startswith(_OPENS) else line


def safe_lines(lines: list[str]) -> list[str]:
    """Mask the secrets in a group of lines and make each line safe; the number of lines stays the same.

    A secret that spans lines leaves the rest of its lines empty.
    """
    text = "\n".join(lines)
    masked = mask(text)
    if masked.spans:
        pieces: list[str] = []
        end = 0
        for span in masked.spans:
            breaks = text.count("\n", span.start, span.start + span.length)
            pieces += (text[end : span.start], f"[masked:{span.name}]", "\n" * breaks)
            end = span.start + span.length
        text = "".join((*pieces, text[end:]))
    return [safe_line(line) for line in text.split("\n")]


def label(text: str, characters: int = 300) -> str:
    """Return a path or a command as part of a heading: one line, at most `characters` long."""
    line = safe_line(mask(" ".join(text.split())).text).strip()
    return line if len(line) <= characters else line[: characters - 1] + "…"
