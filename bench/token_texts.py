"""Texts of many kinds from what is installed on this machine, cut into entries: what the token estimate is fitted to and judged on.

Law: only reads. The same folders give the same entries; nothing of them is kept.
"""

import base64
import gettext
import hashlib
import json
import os
import random
import re
import struct
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from html.parser import HTMLParser
from itertools import zip_longest
from pathlib import Path

from undrift.errors import TranscriptError
from undrift.recordings.files import open_recording

__all__ = ["Entry", "MOST_CHARACTERS", "entries_of", "translations"]

MOST_CHARACTERS = 300_000
"""Of one kind, by default: as many as a few hundred entries have."""

_SHORTEST, _LONGEST = 200, 20_000  # characters of an entry, drawn so that every length is as likely as twice of it
_FROM_ONE_FILE = 24_000
_SUFFIXES = {
    ".py": "Python",
    ".js": "JavaScript",
    ".mjs": "JavaScript",
    ".cjs": "JavaScript",
    ".ts": "TypeScript",
    ".tsx": "TypeScript",
    ".c": "C",
    ".h": "C",
    ".hpp": "C",
    ".rs": "Rust",
    ".go": "Go",
    ".css": "CSS",
    ".scss": "CSS",
    ".html": "HTML",
    ".md": "prose",
    ".rst": "prose",
    ".txt": "prose",
    ".json": "JSON",
    ".ipynb": "JSON",
    ".yaml": "YAML",
    ".yml": "YAML",
    ".sh": "shell",
    ".csv": "CSV",
    ".xml": "XML",
    ".svg": "XML",
}
_MINIFIED_LINE = 400  # characters of a line, on average
_SKIPPED = frozenset({"__pycache__", "testdata", "iso-codes", "encodings"})  # the last: tables of all rare characters
_MARKUP_LANGUAGE = re.compile(r'<html[^>]*\blang="([A-Za-z]+)(?:-[^"]*)?"')
_PLACE_LANGUAGE = re.compile(r"(?:\.|/(?:help|html)/)([a-z]{2})(?:[-_]\w+)?(?:\.html$|/)")  # page.de.html, help/pt_BR/


# fmt: off
_BLOCKS = (
    (0xA1, 0x100), (0x100, 0x180), (0x180, 0x2B0), (0x2B0, 0x370), (0x370, 0x400), (0x400, 0x500), (0x530, 0x590),
    (0x5D0, 0x5F0), (0x620, 0x6D0), (0x710, 0x7C0), (0x900, 0x980), (0x980, 0xA00), (0xA00, 0xA80), (0xA80, 0xB00),
    (0xB00, 0xB80), (0xB80, 0xC00), (0xC00, 0xC80), (0xC80, 0xD00), (0xD00, 0xD80), (0xD80, 0xE00), (0xE00, 0xE60),
    (0xE80, 0xF00), (0xF00, 0x1000), (0x1000, 0x10A0), (0x10A0, 0x1100), (0x1200, 0x1400), (0x1780, 0x1800),
    (0x1E00, 0x2000), (0x2010, 0x2060), (0x2190, 0x2800), (0x3041, 0x30FF), (0x3105, 0x3300), (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A0), (0xE000, 0xE100), (0xF900, 0xFB00), (0xFF01, 0xFFE0), (0x1F300, 0x1F6D0), (0x20000, 0x20800),
)
# fmt: on
"""Blocks of Unicode: a text of any of them must not count for nothing, met or not."""

_TYPED = "aeiotnsrkjxAETX0123456789    \n\n.,;:-_=/(){}[]<>*#\"'" + "éłжあ中"


@dataclass(frozen=True, slots=True)
class Entry:
    """A text of 200 to 20,000 characters, its kind (``Python``, ``language pl``), and the package or repository it is from."""

    kind: str
    package: str
    text: str


def entries_of(
    folders: Sequence[Path], transcripts: Sequence[Path] = (), *, characters: int = MOST_CHARACTERS
) -> list[Entry]:
    """Cut what is below some folders into entries, a few from every file and from as many packages as there are.

    Args:
        folders: Each folder or file in them is a package; a system's catalogues of messages are one.
        transcripts: Recorded sessions; the texts of tools in them are the kind ``tool output``.
        characters: Most of one kind.

    Returns:
        Entries, kind by kind.
    """
    texts: dict[str, dict[str, list[tuple[str, str]]]] = {}  # kind -> package -> what orders the texts, text
    for kind, package, name, text in (*_installed(folders), *_tool_output(transcripts)):
        key = hashlib.sha256(f"{kind}\n{name}".encode()).hexdigest()
        texts.setdefault(kind, {}).setdefault(package, []).append((key, text))
    for kind, text in _made(folders) if folders else ():
        texts.setdefault(kind, {}).setdefault("made", []).append(("", text))
    found: list[Entry] = []
    for kind in sorted(texts):
        found += _cut(kind, texts[kind], characters)
    return found


def _cut(kind: str, by_package: dict[str, list[tuple[str, str]]], characters: int) -> Iterator[Entry]:
    """Take texts from one package after the other until there are enough characters, and cut them."""
    queues = [[(package, text) for _, text in sorted(by_package[package])] for package in sorted(by_package)]
    taken = 0
    for package, text in (one for turn in zip_longest(*queues) for one in turn if one is not None):
        lot = random.Random(hashlib.sha256(text[:2_000].encode("utf-8", "replace")).digest())
        start = 0
        while len(text) - start >= _SHORTEST:
            size = int(_SHORTEST * (_LONGEST / _SHORTEST) ** lot.random())
            part = text[start : start + size]
            yield Entry(kind, package, part)
            start += size
            taken += len(part)
        if taken >= characters:
            return


# ------------------------------------------------------------------------------------------------------------- installed


def _installed(folders: Sequence[Path]) -> Iterator[tuple[str, str, str, str]]:
    """Give kind, package, name and text of the files below the folders."""
    for folder in folders:
        per_package: dict[tuple[str, str], int] = {}
        for path in _files_below(folder):
            places = path.relative_to(folder).parts
            package = folder.name if places[1:2] == ("LC_MESSAGES",) else places[0].split("-")[0]
            name = "/".join(places)
            if (kind := _SUFFIXES.get(path.suffix)) is None and path.suffix not in {".mo", ".po"}:
                continue
            if kind is not None:
                if per_package.get((package, path.suffix), 0) >= 300:  # of one package, these tell enough
                    continue
                per_package[package, path.suffix] = per_package.get((package, path.suffix), 0) + 1
            for kind_, text in _read(path, kind):
                yield kind_, package, f"{package}/{name}", text


def _files_below(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder, followlinks=True):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in sorted(names):
            yield Path(place) / name


def _read(path: Path, kind: str | None) -> Iterator[tuple[str, str]]:
    """Give kind and text of a file: none where it is not UTF-8, or too short."""
    if path.suffix in {".mo", ".po"}:
        yield from translations(path)
        return
    try:
        text = path.read_bytes()[: 40 * _FROM_ONE_FILE].decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return
    if len(text) < _SHORTEST or kind is None:
        return
    if kind == "HTML" and (found := _MARKUP_LANGUAGE.search(text) or _PLACE_LANGUAGE.search(path.as_posix())):
        yield f"language {found[1].lower()}", _without_markup(text)[:_FROM_ONE_FILE]
    elif kind == "JSON":
        yield from _json(text)
    elif kind in {"JavaScript", "CSS"} and len(text) > _MINIFIED_LINE * (text.count("\n") + 1):
        yield f"{kind}, minified", _middle(text)
    else:
        yield kind, _middle(text)
        if kind == "Python":
            yield from _changed(path.name, text)


def _middle(text: str) -> str:
    """Take a part of a long text, from a third of it on: openings are licences and imports."""
    start = len(text) // 3 if len(text) > 2 * _FROM_ONE_FILE else 0
    return text[start : start + _FROM_ONE_FILE]


def _json(text: str) -> Iterator[tuple[str, str]]:
    try:
        value = json.loads(text)
    except ValueError:
        return
    plain = sum(map(str.isascii, text[:_FROM_ONE_FILE])) / len(text[:_FROM_ONE_FILE])
    if plain < 0.9:
        yield "JSON, other scripts", _middle(json.dumps(value, separators=(",", ":"), ensure_ascii=False))
        yield "JSON, escaped", _middle(json.dumps(value))
        return
    yield "JSON, indented", _middle(json.dumps(value, indent=2, ensure_ascii=False))
    yield "JSON, compact", _middle(json.dumps(value, separators=(",", ":"), ensure_ascii=False))


def _changed(name: str, text: str) -> Iterator[tuple[str, str]]:
    """Make a difference of a file to itself with some lines gone or changed."""
    lot = random.Random(len(text))
    before = text[:_FROM_ONE_FILE].splitlines()
    after = [line.replace("self", "this") if lot.random() < 0.1 else line for line in before if lot.random() > 0.04]
    difference = "\n".join(unified_diff(before, after, f"a/{name}", f"b/{name}", lineterm=""))
    if len(difference) >= _SHORTEST:
        yield "diff", difference


def translations(path: Path) -> Iterator[tuple[str, str]]:
    """Give the translated sentences of a catalogue as the text of its language."""
    places = path.parts
    language = places[places.index("LC_MESSAGES") - 1] if "LC_MESSAGES" in places else ""
    language = re.split(r"[_@.-]", language)[0].lower()
    if not language or language == "en":
        return
    try:
        if path.suffix == ".mo":
            with path.open("rb") as file:
                pairs = gettext.GNUTranslations(file)._catalog.items()  # type: ignore[attr-defined]
            words = [text for given, text in pairs if given and isinstance(text, str) and text != given]
        else:
            words = _of_catalogue(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, AssertionError, IndexError, struct.error):  # catalogues of old, badly made ones
        return
    text = "\n".join(word for word in words if len(word) >= 12)  # sentences rather than labels
    if len(text) >= _SHORTEST:
        yield f"language {language}", text[:_FROM_ONE_FILE]


def _of_catalogue(text: str) -> list[str]:
    """Read the translations of a ``.po`` file."""
    found = []
    for block in text.split("\n\n"):
        if (
            "#, fuzzy" in block
            or (match := re.search(r'^msgstr(?:\[0\])? ((?:".*"\n?)+)', block, re.MULTILINE)) is None
        ):
            continue
        quoted = "".join(line[1:-1] for line in match[1].splitlines())
        found.append(quoted.replace("\\n", "\n").replace('\\"', '"'))
    return found[1:]  # the first is the header


class _Plain(HTMLParser):
    """Keeps what a reader sees."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def handle_data(self, data: str) -> None:
        if words := " ".join(data.split()):
            self.parts.append(words)


def _without_markup(text: str) -> str:
    parser = _Plain()
    parser.feed(text)
    return "\n".join(parser.parts)


# ------------------------------------------------------------------------------------------------------ recorded and made


def _tool_output(folders: Iterable[Path]) -> Iterator[tuple[str, str, str, str]]:
    """Give what tools answered in recorded sessions; a repository is the file name's part before ``__``."""
    for folder in folders:
        for path in sorted(folder.rglob("*.jsonl")):
            try:
                entries = open_recording(path).entries
            except TranscriptError:
                continue
            owner = path.name.split("__")[0]
            texts = [
                entry.content for entry in entries if entry.type == "tool_result" and len(entry.content) >= _SHORTEST
            ]
            lot = random.Random(path.name)
            for number, text in enumerate(lot.sample(texts, min(len(texts), 12))):
                yield "tool output", owner, f"{path.name} {number}", text[:_LONGEST]


def _made(folders: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Make what is on no disk as such: listings, logs, and the random kinds."""
    lot = random.Random(" ".join(folder.name for folder in folders))
    size = 60_000
    yield "base64", base64.b64encode(lot.randbytes(size)).decode()
    yield "base64", base64.encodebytes(lot.randbytes(size // 2)).decode()
    yield "hashes", "\n".join(lot.randbytes(32).hex() for _ in range(size // 65))
    yield "hashes", lot.randbytes(size // 2).hex()
    yield "UUIDs", "\n".join(str(uuid.UUID(bytes=lot.randbytes(16), version=4)) for _ in range(size // 37))
    yield (
        "numbers",
        "\n".join(
            " ".join(
                f"{lot.uniform(0, 10 ** lot.randint(0, 6)):.{lot.randint(0, 6)}f}" for _ in range(lot.randint(1, 9))
            )
            for _ in range(size // 50)
        ),
    )
    yield "hex dump", _hex_dump(lot.randbytes(size // 4))
    for low, high in _BLOCKS:
        known = [character for character in map(chr, range(low, high)) if character.isprintable()] or [chr(low)]
        for _ in range(3):
            words = ("".join(lot.choices(known, k=lot.randint(1, 9))) for _ in range(60))
            yield "any characters", " ".join(words)
    for _ in range(300):
        pattern = "".join(lot.choices(_TYPED, k=lot.randint(1, 4)))
        yield "repetitions", pattern * (lot.randint(200, 2_000) // len(pattern) + 1)
    for folder in folders:
        yield "listing", _listing(folder, lot)
    log = _log(lot, folders)
    yield "log", log
    yield "terminal", _terminal(lot, log)


def _hex_dump(data: bytes) -> str:
    rows = []
    for start in range(0, len(data), 16):
        part = data[start : start + 16]
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
        rows.append(f"{start:08x}  {part[:8].hex(' ')}  {part[8:].hex(' ')}  |{shown}|")
    return "\n".join(rows)


def _listing(folder: Path, lot: random.Random) -> str:
    """List folders as ``ls -lR`` does."""
    rows: list[str] = []
    for place, _, names in os.walk(folder):
        if len(rows) > 1_500:
            break
        if lot.random() < 0.5:
            continue
        rows += ["", f"{Path(place).relative_to(folder)}:", f"total {len(names) * 8}"]
        for name in sorted(names)[:40]:
            month, day, minute = (
                lot.choice(("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Sep", "Oct", "Nov", "Dec")),
                lot.randint(1, 28),
                lot.randint(0, 1439),
            )
            rows.append(
                f"-rw-r--r-- 1 {lot.choice(('root', 'ubuntu', 'runner'))} root {int(10 ** lot.uniform(1, 6)):>8} "
                f"{month} {day:>2} {minute // 60:02}:{minute % 60:02} {name}"
            )
    return "\n".join(rows)[: 3 * _FROM_ONE_FILE]


def _log(lot: random.Random, folders: Sequence[Path]) -> str:
    """Write a log of a service, its words taken from the names of files."""
    words = [path.stem for folder in folders for path, _ in zip(_files_below(folder), range(400), strict=False)] or [
        "nothing"
    ]
    rows = []
    for _ in range(900):
        stamp = f"2026-{lot.randint(1, 12):02}-{lot.randint(1, 28):02}T{lot.randint(0, 23):02}:{lot.randint(0, 59):02}:{lot.randint(0, 59):02}"
        level = lot.choice(("INFO", "INFO", "INFO", "DEBUG", "WARNING", "ERROR"))
        word, other = lot.choice(words), lot.choice(words)
        rows.append(
            lot.choice(
                (
                    f"{stamp}.{lot.randint(0, 999):03}Z {level:<7} [{word}] request_id={lot.randbytes(6).hex()} took {lot.uniform(0.1, 900):.1f} ms",
                    f"{stamp} {level} {word}.{other}: connection from 10.{lot.randint(0, 255)}.{lot.randint(0, 255)}.{lot.randint(1, 254)}:{lot.randint(1024, 65535)} closed",
                    f'10.0.{lot.randint(0, 9)}.{lot.randint(1, 254)} - - [{lot.randint(1, 28)}/Oct/2026:10:{lot.randint(10, 59)}:{lot.randint(10, 59)} +0000] "GET /{word}/{other}?id={lot.randint(1, 99999)} HTTP/1.1" {lot.choice((200, 200, 304, 404, 500))} {lot.randint(100, 99999)}',
                    f"tests/{word}/test_{other}.py::test_{word}_{lot.randint(1, 40)} {lot.choice(('PASSED', 'PASSED', 'FAILED', 'SKIPPED'))} [{lot.randint(1, 99):>3}%]",
                )
            )
        )
    return "\n".join(rows)


def _terminal(lot: random.Random, log: str) -> str:
    """Write what a program writes to a terminal: colours, lines that are written over, letters in bold by overstriking."""
    rows = []
    for row in log.splitlines():
        first, _, rest = row.partition(" ")
        name = rest[-30:]
        share = lot.randint(0, 40)
        rows.append(
            lot.choice(
                (
                    f"\x1b[{lot.randint(30, 37)}m{first}\x1b[0m {rest}",
                    f"\x1b[1;{lot.randint(90, 97)}m{first}\x1b[39;49m\x1b[0m \x1b[38;5;{lot.randint(16, 255)}m{rest}\x1b[0m\x1b[K",
                    f"\x1b[2K\x1b[1G[{'#' * share}{'.' * (40 - share)}] {share * 5 // 2}%\r",
                    f"{share * 5 // 2:3}%" + "\b" * 4,
                    "|\b/\b-\b\\\b" * lot.randint(1, 9) + name,
                    "".join(f"{letter}\b{letter}" for letter in name),
                )
            )
        )
    return "\n".join(rows)
