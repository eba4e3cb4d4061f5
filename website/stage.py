"""Copies the pages of the site to build/website, as the generator reads them: ``python -m website.stage``.

Law: no text is changed. A list gets the empty line before it that Python-Markdown asks for and CommonMark does not. A link to a file
that is no page of the site becomes its path, because the site has no address of the repository.
"""

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from markdown_it import MarkdownIt

__all__ = ["CONFIG", "OUT", "ROOT", "main", "navigation", "pages", "staged"]

ROOT = Path(__file__).parents[1]
OUT = ROOT / "build" / "website"
CONFIG = Path(__file__).with_name("zensical.toml")
BESIDE = ("CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "ROADMAP.md", "SECURITY.md")
"""Pages at the top of the repository. README is not among them: the site has its own first page."""
INSIDE = ("examples/README.md", "plugins/README.md")
EVERY_RECORD = '"adr/*"'
_INDENT = 4
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?^ {0,3}\1[ \t]*$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")


def pages() -> dict[str, Path]:
    """Return each page of the site: its path there, and the file that it comes from."""
    docs = ROOT / "docs"
    found = {path.relative_to(docs).as_posix(): path for path in sorted(docs.rglob("*.md"))}
    return found | {name: ROOT / name for name in (*BESIDE, *INSIDE) if (ROOT / name).is_file()}


def navigation(text: str) -> str:
    """Return the settings of the generator with every record of a decision in the place of ``"adr/*"``."""
    records = sorted(path.name for path in (ROOT / "docs" / "adr").glob("[0-9]*.md"))
    return text.replace(EVERY_RECORD, ", ".join(f'"adr/{name}"' for name in records))


def staged(name: str, source: Path, every: Mapping[str, Path]) -> str:
    """Return a page as the generator reads it. `every`: all pages, by their paths in the site."""
    places = {path.resolve(): place for place, path in every.items()}
    return _outside_of_code(
        _with_room_for_lists(source.read_text(encoding="utf-8")),
        lambda text: _LINK.sub(lambda link: _led(link, Path(name), source, places), text),
    )


def _led(link: re.Match[str], name: Path, source: Path, places: Mapping[Path, str]) -> str:
    """Return a link as it leads from the page in the site: to a page, to a picture beside it, or nowhere."""
    mark, words, target = link.groups()
    path, hash_, anchor = target.partition("#")
    if not path or ":" in path:
        return link[0]
    found = (source.parent / path).resolve()
    if found.is_dir() and (found / "README.md") in places:
        found /= "README.md"
    if found in places:
        return f"{mark}[{words}]({os.path.relpath(places[found], name.parent)}{hash_}{anchor})"
    if found.suffix != ".md" and found.is_relative_to(ROOT / "docs"):
        return link[0]
    said = words.strip("`")
    shown = os.path.relpath(found, ROOT)
    return f"`{shown}`" if shown.endswith(said) else f"{words} (`{shown}`)"


def _outside_of_code(text: str, change: Callable[[str], str]) -> str:
    """Change a text, but not its fenced blocks and its spans of code."""

    def prose(part: str) -> str:
        # A link may have a span of code as its words, so a link is looked for first; a span with brackets stays.
        kept: list[str] = []

        def keep(found: re.Match[str]) -> str:
            kept.append(found[0])
            return f"\0{len(kept) - 1}\0"

        changed = change(_SPAN.sub(keep, part))
        while "\0" in changed:
            changed = re.sub(r"\0(\d+)\0", lambda found: kept[int(found[1])], changed)
        return changed

    parts, at = [], 0
    for fence in _FENCE.finditer(text):
        parts += [prose(text[at : fence.start()]), fence[0]]
        at = fence.end()
    return "".join([*parts, prose(text[at:])])


def _with_room_for_lists(text: str) -> str:
    """Put an empty line before each list and table that interrupts a paragraph, and indent what belongs to an item."""
    lines = text.split("\n")
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    before: set[int] = set()
    deeper: dict[int, int] = {}
    items: list[tuple[int, int]] = []
    for token in tokens:
        if token.map is None:
            continue
        if token.type in ("bullet_list_open", "ordered_list_open", "table_open", "fence"):
            before.add(token.map[0])
        if token.type == "list_item_open":
            items.append((token.map[0], token.map[1]))
    for first, last in items:
        mark = re.match(r"\s*(?:[-*+]|\d+[.)])\s+", lines[first])
        width = len(mark[0]) - len(lines[first]) + len(lines[first].lstrip()) if mark else 0
        for number in range(first + 1, last):
            deeper[number] = deeper.get(number, 0) + _INDENT - width if width else 0
    return "\n".join(_spaced(lines, before, deeper))


def _spaced(lines: Sequence[str], before: set[int], deeper: Mapping[int, int]) -> Iterator[str]:
    for number, line in enumerate(lines):
        if number in before and number and lines[number - 1].strip():
            yield ""
        more = deeper.get(number, 0)
        yield f"{' ' * more}{line}" if more > 0 and line.strip() else line


def main() -> int:
    """Write the pages, the pictures and the settings of the generator."""
    shutil.rmtree(OUT, ignore_errors=True)
    every = pages()
    for name, source in every.items():
        target = OUT / "pages" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(staged(name, source, every), encoding="utf-8")
    for path in (ROOT / "docs").rglob("*"):
        if path.is_file() and path.suffix != ".md":
            target = OUT / "pages" / path.relative_to(ROOT / "docs")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    shutil.copytree(Path(__file__).with_name("assets"), OUT / "pages" / "assets", dirs_exist_ok=True)
    icon = ROOT / "src" / "undrift" / "web" / "static" / "icon.svg"
    shutil.copyfile(icon, OUT / "pages" / "assets" / "icon.svg")
    (OUT / CONFIG.name).write_text(navigation(CONFIG.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"{len(every)} pages in {OUT.relative_to(ROOT)}/pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
