"""Texts to fit the token estimate on, and to test it on: pieces of files, sorted by what they are.

Law: only reads; the same folders give the same pieces. A folder is one source (a package, say): nothing of a source
that was fitted on is tested on.
"""

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

__all__ = ["Piece", "kind_of_prose", "pieces_below", "pieces_of_recordings"]

_LENGTHS = (200, 20_000)  # characters of a piece, log-uniform: what tools return
_FILE_LIMIT_BYTES = 2_000_000
_CHARACTERS_PER_KIND = 200_000  # of one source, so that no large one decides alone
_PIECES_PER_FILE = 8

_KINDS = {
    "Python": ".py .pyi",
    "JavaScript": ".js .mjs .cjs .jsx .ts .tsx .mts .vue",
    "markup": ".html .htm .xml .svg .css .scss",
    "other code": ".c .h .hpp .cc .cpp .go .rs .java .el .vim .lua .sh .s",
    "prose": ".md .rst .txt",
    "JSON": ".json",
    "translation": ".po",
    "log": ".log",
}
_KIND_OF = {suffix: kind for kind, suffixes in _KINDS.items() for suffix in suffixes.split()}
_MINIFIED_LINE = 250  # characters of a line on average

_SCRIPTS: tuple[tuple[str, str, float], ...] = (  # the first whose letters reach the share of all characters
    ("Japanese", "\u3040-\u30ff", 0.06),
    ("Korean", "\uac00-\ud7af", 0.1),
    ("Chinese", "\u4e00-\u9fff", 0.1),
    ("Cyrillic", "\u0400-\u04ff", 0.1),
    ("Greek", "\u0370-\u03ff", 0.1),
    ("Arabic, Hebrew", "\u0590-\u06ff\ufb50-\ufdff", 0.1),
    ("Thai, Khmer, Burmese", "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff", 0.1),
    ("Indic", "\u0900-\u0dff", 0.1),
    ("Armenian, Georgian", "\u0530-\u058f\u10a0-\u10ff", 0.1),
    ("Vietnamese", "\u1ea0-\u1eff", 0.04),
    ("Latin with marks", "\u00c0-\u024f", 0.008),
    ("other scripts", "\u0250-\u1fff\u2c00-\uffff\U00010000-\U0010ffff", 0.1),
)
_SCRIPT_RES = tuple((name, re.compile(f"[{letters}]"), share) for name, letters, share in _SCRIPTS)
_MESSAGES = re.compile(r'^msgstr(?:\[\d\])? ((?:"(?:[^"\\]|\\.)*"\n)+)', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Piece:
    """A text with its kind, and the source that it is from."""

    kind: str
    source: str
    text: str


def kind_of_prose(text: str) -> str:
    """Name the script that a text is written in; English is ``prose``."""
    for name, letters, share in _SCRIPT_RES:
        if sum(1 for _ in letters.finditer(text)) >= share * len(text):
            return name
    return "prose"


def pieces_below(folder: Path, *, seed: int = 1) -> Iterator[Piece]:
    """Cut the files below a folder in pieces, in an order that the seed gives, up to a limit of each kind."""
    random = Random(f"{seed} {folder.name}")  # a text as seed: the same on every run
    left: dict[str, int] = {}
    paths = sorted(p for p in folder.resolve().rglob("*") if p.suffix in _KIND_OF and p.is_file())
    random.shuffle(paths)
    hashed = 0
    for path in paths:
        for kind, text in _texts(path):
            for piece in _cut(text, random):
                sort = kind_of_prose(piece) if kind == "prose" else kind
                if left.setdefault(sort, _CHARACTERS_PER_KIND) > 0 and len(piece) >= _LENGTHS[0]:
                    left[sort] -= len(piece)
                    yield Piece(sort, folder.name, piece)
            if hashed < 20 and len(text) > 2_000:
                hashed += 1
                yield Piece("base64, hashes", folder.name, _opaque(text, hashed, random))


def _texts(path: Path) -> Iterator[tuple[str, str]]:
    """Yield what a file holds, by kind; nothing where it is too large or no UTF-8."""
    if path.stat().st_size > _FILE_LIMIT_BYTES:
        return
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return
    kind = _KIND_OF[path.suffix]
    if kind == "JavaScript" and len(text) > _MINIFIED_LINE * (text.count("\n") + 1):
        kind = "minified"
    if kind == "JSON":
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return
        yield "JSON, indented", json.dumps(value, indent=2, ensure_ascii=False)
        yield "JSON, compact", json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    elif kind == "translation":
        found = (_message(match[1]) for match in _MESSAGES.finditer(text))
        yield "prose", "\n".join(message for message in found if message)
    elif text:
        yield kind, text
        if kind in ("Python", "JavaScript", "other code"):
            yield "numbered lines", _numbered(text)


def _numbered(text: str) -> str:
    """Number the lines as the tools of agents do that show a file."""
    mark = "\t\u2192"[len(text) % 2]
    return "\n".join(f"{number:6}{mark}{line}" for number, line in enumerate(text.split("\n"), 1))


def _message(quoted: str) -> str:
    """Join the quoted lines of a gettext message; the header, which has lines of its own, is none."""
    text = "".join(line[1:-1] for line in quoted.splitlines())
    return "" if "Content-Type:" in text else text.replace('\\"', '"').replace("\\n", "\n").strip()


def _cut(text: str, random: Random) -> Iterator[str]:
    for _ in range(_PIECES_PER_FILE):
        low, high = _LENGTHS
        length = int(low * (high / low) ** random.random())
        start = random.randrange(max(1, len(text) - length))
        yield text[start : start + length]
        if length >= len(text):
            return


def _opaque(text: str, number: int, random: Random) -> str:
    """Make what stands for a file where nobody can read it: base64 in lines or in one, a dump, a list of digests."""
    packed = zlib.compress(text.encode())[: random.randint(200, 8_000)]
    if number % 4 == 0:
        return base64.b64encode(packed).decode()
    if number % 4 == 1:
        return base64.encodebytes(packed).decode()
    if number % 4 == 2:
        return packed.hex()
    rows = text.splitlines()[: random.randint(5, 100)]
    return "".join(f"{hashlib.sha256(row.encode()).hexdigest()}\n" for row in rows)


def pieces_of_recordings(folder: Path) -> Iterator[Piece]:
    """Take the entries of recorded sessions as they are: what tools returned, how they were called, what was said."""
    from undrift.errors import TranscriptError
    from undrift.recordings import open_recording

    for path in sorted(folder.rglob("*.jsonl")):
        try:
            recording = open_recording(path)
        except TranscriptError:
            continue
        for entry in _every(recording.entries, 7):
            kind = (entry.metadata or {}).get("kind")
            if kind in ("call", "result", "text") and len(entry.content) >= _LENGTHS[0]:
                yield Piece(f"recorded: {kind}", path.stem, entry.content)


def _every(values, step):
    return values[::step]
