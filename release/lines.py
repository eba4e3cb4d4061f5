"""The lines that start undrift in README and docs: ``python -m release.lines``, run by `make lines`.

Law: the variable `published` of pyproject.toml decides each line. Empty, the lines start from a file that `make release`
builds; else from the published name. A part stands between ``<!-- start: NAME -->`` and ``<!-- end -->``.
"""

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from release.about import ROOT, About, about

__all__ = ["PAGES", "PARTS", "main", "stale", "with_lines"]

PAGES = ("README.md", "docs/plugins.md", "docs/release.md", "docs/start.md")
_PART = re.compile(r"(<!-- start: ([a-z]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def _wanted(release: About, extra: str) -> str:
    """Return what uvx and pipx install: the published name, or the built file."""
    extras = f"[{extra}]" if extra else ""
    if release.published:
        name, _, version = release.published.partition("==")
        return f"{name}{extras}=={version}"
    return f"./dist/{release.wheel}{extras}"


def _try(release: About) -> str:
    """Return the one line that starts undrift from nothing; unpublished, it is typed in a clone."""
    return f"```sh\nuvx --from '{_wanted(release, 'all') if release.published else '.[all]'}' undrift autopsy\n```\n"


def _stay(release: About) -> str:
    """Return the sentence on how the command `undrift` stays; unpublished, its line is typed in a clone."""
    wanted = _wanted(release, "all") if release.published else ".[all]"
    return f"To keep the command `undrift`, type `uv tool install '{wanted}'` or `pipx install '{wanted}'`.\n"


def _each(release: About) -> str:
    """Return every way to start or install, a line each."""
    all_, base = (f"'{_wanted(release, extra)}'" for extra in ("all", ""))
    lines = [] if release.published else ["make release"]
    lines += [f"uvx --from {all_} undrift autopsy", f"pipx run --spec {all_} undrift autopsy"]
    lines += [f"pipx install {all_}", f"pip install {base}"]
    notes = {
        "make release": "in a clone: builds the files in dist/",
        f"pipx install {all_}": "stays, with every command",
        f"pip install {base}": "library, hooks, autopsy and replay alone",
    }
    width = max(len(line) for line in lines) + 2
    shown = [f"{line:{width}} # {notes[line]}" if line in notes else line for line in lines]
    return "```sh\n" + "\n".join(shown) + "\n```\n"


def _name(release: About) -> str:
    if release.published:
        return f"Published as `{release.published}`.\n"
    return "No index has undrift yet: all lines start from files that you build.\n"


PARTS: Mapping[str, Callable[[About], str]] = {"try": _try, "each": _each, "stay": _stay, "published": _name}
"""The parts of a page, by name."""


def with_lines(text: str, release: About) -> str:
    """Return a page with its parts rewritten. Raises KeyError: a part has a name that is none."""
    return _PART.sub(lambda found: f"{found[1]}{PARTS[found[2]](release)}{found[3]}", text)


def stale(root: Path = ROOT) -> list[str]:
    """Return the pages whose lines are not those of the variable."""
    release = about(root)
    texts = {page: (root / page).read_text(encoding="utf-8") for page in PAGES}
    return [page for page, text in texts.items() if with_lines(text, release) != text]


def main() -> int:
    """Write the lines of every page; name each page that changed."""
    for page in stale():
        path = ROOT / page
        path.write_text(with_lines(path.read_text(encoding="utf-8"), about()), encoding="utf-8")
        print(f"written: {page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
