"""Reads the files and folders that a rule's sentence names: paths, globs, and what people call them. Pure, bounded."""

import re

from undrift.core.rules.ban_concepts import PLACES
from undrift.core.rules.ban_spot import NamedThing, Spot
from undrift.core.rules.ban_words import PROGRAMS, STOPS, verb_of, words_in
from undrift.core.rules.targets import PathTarget

__all__ = ["FOLDERS", "is_written", "path_at", "place_at", "project_at"]

FOLDERS = words_in("""folder folders directory directories dir dirs subfolder tree package submodule path""")
"""Words behind the name of a folder."""

_FILES = frozenset({"file", "files", "config", "script", "module"})
_EXTENSION = re.compile(r"[\w*()\[\]@+-][\w*.()\[\]@+-]{0,120}\.(?:[a-z][a-z0-9]{0,9}|[A-Z]{1,5}|\*)", re.ASCII)
_EXTENSIONS = words_in(
    """.md .py .ts .tsx .js .jsx .json .yaml .yml .toml .proto .go .rs .sql .css .scss .html .lock .txt .sh .tf .c .h
    .cpp .java .kt .vue .ipynb"""
)
_NO_FILE = re.compile(
    r"(?:e\.g|i\.e|etc|vs|node\.js|next\.js|vue\.js|\d+\.\w+|v\d[\w.]*|asp\.net|\.net)\.?", re.IGNORECASE
)
_SLASHED = re.compile(
    r"(?:and/or|ci/cd|i/o|n/a|w/o|w/|tcp/ip|he/she|yes/no|on/off|read/write|client/server|input/output|tls/ssl)",
    re.IGNORECASE,
)
_PATH = re.compile(
    r"(?:[~.]{0,2}/)?[\w.*@+%\[\]{}$-]++(?>(?:/[\w.*@+%\[\]{}$-]*+)+)|/(?>(?:[\w.*-]++/?+)+)|~/[\w.*@+-]++|~/?|\.[A-Za-z][\w.*-]{1,60}",
    re.ASCII,
)
_KNOWN = words_in(
    """Makefile Dockerfile Jenkinsfile Procfile Gemfile Rakefile Justfile Vagrantfile LICENSE README CHANGELOG
    CODEOWNERS AGENTS CLAUDE node_modules third_party"""
)
_OF_FILES = words_in("change touch delete create read commit stage mine move work")
_BEFORE_NAME = words_in("touch touching the off of with leave or and our my disturb")
_BEFORE_PATH = words_in("in under inside of into to from touch edit modify change")
_NO_PLACE = STOPS | words_in(
    """anything everything something file files code nothing else existing other others git it's stuff things logic
    behavior behaviour configuration"""
)
_REPO = words_in("repo repository checkout project workspace worktree codebase")
_ROOTED = frozenset({"working", "project", "repo", "repository"})
_TWO_WORDS = re.compile(r"[a-z]{1,40}/[a-z]{1,40}")
_BRACED = re.compile(r"(.{0,100}?)\{([\w.,*-]{1,100})\}(.{0,100})")


def is_written(text: str) -> bool:
    """Say whether a word is a path as it is written, and no name that people use for files."""
    return "/" in text or "." in text or "*" in text or text in _KNOWN


def project_at(spot: Spot) -> NamedThing | None:
    """Read words for the project as a whole: ``this repo``, ``the project folder``."""
    end = spot.at
    while end < len(spot.tokens) and spot.tokens[end].text in ("this", "the", "our", "my", "current"):
        end += 1
    texts = [token.text for token in spot.tokens[end : end + 2]]
    is_long = len(texts) == 2 and texts[0] in _ROOTED and texts[1] in (*FOLDERS, "root")
    if not is_long and not (texts and texts[0] in _REPO):
        return None
    return NamedThing("project", (PathTarget("."),), end - spot.at + 1 + is_long)


def place_at(spot: Spot) -> NamedThing | None:
    """Read well-known files by what people call them, and ``the X folder``."""
    words = spot.ahead.split(" ", 4)
    follower = words[1]
    if spot.verb in _OF_FILES:
        for count in (3, 2, 1):
            if globs := PLACES.get(" ".join(words[:count])):
                is_more = count < len(words) and words[count] in (*FOLDERS, *_FILES)
                return NamedThing("path", tuple(PathTarget(glob) for glob in globs), count + is_more)
        if re.fullmatch(r"\.\w{1,10}", words[0]) and follower in _FILES:
            return NamedThing("path", (PathTarget("*" + words[0]),), 2)
    word = spot.raw
    is_name = re.fullmatch(r"[a-z][\w-]{2,40}", word) and word not in _NO_PLACE and follower not in FOLDERS
    if spot.verb == "touch" and spot.before in _BEFORE_NAME and is_name:
        return NamedThing("path", (PathTarget(word), PathTarget(word + ".*")), 1)
    if follower in FOLDERS and re.fullmatch(r"[\w.-]{2,60}", word) and words[0] not in STOPS and not verb_of(words[0]):
        return NamedThing("path", (PathTarget(word),), 2)
    return None


def path_at(spot: Spot) -> NamedThing | None:
    """Read a path, a glob, or the name of a file."""
    text = spot.raw.strip("'\"").rstrip(",:")
    if text == ".env":
        return NamedThing("path", (PathTarget(".env"), PathTarget(".env.*")), 1)
    if text in _KNOWN:
        return NamedThing("path", (PathTarget(text + ("*" if text.isupper() else "")),), 1)
    text = "*" + text if text.lower() in _EXTENSIONS else text
    is_file = text.startswith("*.") or _EXTENSION.fullmatch(text) is not None
    if _is_no_path(text) or not (is_file or _PATH.fullmatch(text)):
        return None
    if not is_file and (spot.verb == "connect" or _is_choice(text, spot)):
        return None
    anywhere = "/" not in text.lstrip("./") or "*" in text
    targets = tuple(PathTarget(glob, anywhere=anywhere or "*" in glob) for glob in _globs(text))
    return NamedThing("path", targets, 1 + (spot.follower in FOLDERS or spot.follower in _FILES))


def _is_no_path(text: str) -> bool:
    if "://" in text or len(text) > 200 or text.startswith("@") or _SLASHED.fullmatch(text) or _NO_FILE.fullmatch(text):
        return True
    return "/" in text and all(part in PROGRAMS or not part for part in text.split("/"))


def _is_choice(text: str, spot: Spot) -> bool:
    """Return whether two words with a slash between them are rather two words: ``shift/reduce``."""
    if spot.token.kind == "code" or spot.before in _BEFORE_PATH or spot.verb in (*_OF_FILES, ""):
        return False
    return _TWO_WORDS.fullmatch(text) is not None


def _globs(text: str) -> list[str]:
    """Return a path's globs: of ``a.{ts,js}`` two."""
    found = _BRACED.fullmatch(text)
    texts = [found[1] + inner + found[3] for inner in found[2].split(",")[:8]] if found else [text]
    return [re.sub(r"/\*{1,2}\Z", "", one).rstrip("/") or one for one in texts]
