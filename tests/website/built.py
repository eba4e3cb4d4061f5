"""The built site, page by page: its links, anchors, parts and what it loads. Only reads."""

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

__all__ = ["SITE", "Page", "pages"]

SITE = Path(os.environ.get("UNDRIFT_TEST_SITE") or "build/site").resolve()
if "UNDRIFT_TEST_SITE" not in os.environ:
    pytest.skip("`make site-test` builds the site and looks at it", allow_module_level=True)
_LOADING = {
    "script": "src",
    "img": "src",
    "link": "href",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
}
_COUNTED = ("li", "table", "tr", "pre", "h1", "h2", "h3", "h4", "img")


@dataclass
class Page:
    """One page of the site.

    `parts`: the number of elements by name, of its article alone. `loads`: all that a browser fetches with it.
    """

    path: Path
    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    parts: Counter[str] = field(default_factory=Counter)


class _Reader(HTMLParser):
    def __init__(self, page: Page) -> None:
        super().__init__()
        self.page = page
        self._article = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given: Mapping[str, str] = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.page.ids.add(given["id"])
        if tag == "a" and "href" in given:
            self.page.links.append(given["href"])
        is_loaded = tag != "link" or given.get("rel") not in ("prev", "next", "canonical")
        if tag in _LOADING and _LOADING[tag] in given and is_loaded:
            self.page.loads.append(given[_LOADING[tag]])
        self._article += tag == "article"
        if self._article and tag in _COUNTED:
            self.page.parts[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        self._article -= tag == "article"


@cache
def pages() -> dict[str, Page]:
    """Return each page of the site by its path."""
    found = {}
    for path in sorted(SITE.rglob("*.html")):
        page = Page(path)
        _Reader(page).feed(path.read_text(encoding="utf-8"))
        found[path.relative_to(SITE).as_posix()] = page
    return found
