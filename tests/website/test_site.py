"""The built site: every link leads somewhere in it, every page is whole, and nothing comes from another host."""

import re
from collections import Counter
from urllib.parse import unquote, urlsplit

import pytest
from markdown_it import MarkdownIt

from tests.website.built import SITE, Page, pages
from website import stage

GENERATOR = "https://zensical.org/"
"""The one link of the frame to another host: the foot of each page names the generator."""
ELSEWHERE = re.compile("https?:|//")


def place_of(name: str) -> str:
    """Return the path of a page in the site."""
    return (
        re.sub(r"(?:README|index)\.md$", "index.html", name)
        if name.endswith(("README.md", "index.md"))
        else name[:-2] + "html"
    )


PLACES = {place_of(name): source for name, source in stage.pages().items()}


def test_every_page_is_built_and_no_other() -> None:
    assert sorted(pages()) == sorted([*PLACES, "404.html"])


def test_every_link_leads_to_a_page_and_a_heading() -> None:
    found, seen = [], 0
    for name, page in pages().items():
        for link in page.links if name != "404.html" else ():
            parts = urlsplit(link)
            if parts.scheme or link.startswith("//"):
                continue
            seen += 1
            target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
            place = target.relative_to(SITE).as_posix()
            is_page = place in pages()
            if not target.is_file() or (
                parts.fragment and is_page and unquote(parts.fragment) not in pages()[place].ids
            ):
                found.append(f"{name}: {link}")
    assert found == []
    assert seen > 5_000
    print(f"{seen:,} links of {len(pages())} pages")


def test_the_links_to_other_hosts_are_those_of_the_sources() -> None:
    every = "\n".join(source.read_text(encoding="utf-8") for source in PLACES.values())
    other = {link for page in pages().values() for link in page.links if ELSEWHERE.match(link)} - {GENERATOR}
    assert [link for link in sorted(other) if link not in every] == []
    print(*sorted(other), sep="\n")


def test_a_page_loads_nothing_from_another_host() -> None:
    assert {load for page in pages().values() for load in page.loads if ELSEWHERE.match(load)} == set()
    for path in SITE.rglob("*.css"):
        assert not re.search(r"url\(\s*['\"]?(?:https?:)?//|@import", path.read_text(encoding="utf-8")), path.name


def parts_of(text: str) -> Counter[str]:
    """Return the elements of a page as CommonMark has them."""
    html = MarkdownIt("commonmark").enable("table").render(text)
    return Counter(re.findall(r"<(li|table|tr|pre|h[1-4]|img)[ >]", html))


@pytest.mark.parametrize("place", PLACES)
def test_a_page_has_the_parts_that_its_text_has(place: str) -> None:
    """The generator reads another Markdown: a list without an empty line before it would be one paragraph."""
    page: Page = pages()[place]
    wanted = parts_of(PLACES[place].read_text(encoding="utf-8"))
    assert {name: page.parts[name] for name in wanted} == dict(wanted)
