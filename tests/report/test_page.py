"""The page: complete in itself, and deaf to whatever a recording says."""

import base64
import hashlib
import html
import os
import re
import stat
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.report.builders import Session, compacted_session, work
from undrift.core.autopsy.findings import GivenUse, Held
from undrift.errors import InputError
from undrift.recordings.autopsy import examine
from undrift.report import Cover, check_target, page, write_page
from undrift.report.page import OPENING

EVIL = [
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    '"><svg onload="document.title=\'owned\'">',
    "</title><script>document.title='owned'</script>",
    "</style><iframe src='http://192.0.2.1/'></iframe>",
    "' onmouseover='document.title=\"owned\"",
    "&lt;b&gt;javascript:alert(1)",
    "\x00\x1b[31m\u202e\u2028\ud83d\ude00",
]
TAGS = set(
    re.findall(
        r"\w+",
        "html head meta title style body header main h1 h2 h3 p div b span section svg g path line text rect circle "
        "table thead tbody tr th td details summary blockquote footer i a code ul ol li",
    )
)


COVER = Cover("0.1.0", 1_772_400_000_000)


class Markup(HTMLParser):
    """Every tag and attribute of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def made(tmp_path: Path, session: Session | None = None, name: str = "session.jsonl") -> str:
    found = [examine((session or compacted_session()).written(tmp_path / name))]
    return page(found, COVER)


def hostile(tmp_path: Path) -> str:
    """A page of a session in which every text that a page shows is an attack."""
    session = Session(model=EVIL[0]).user("Go. " + " ".join(f"Never allow {evil} anywhere near here." for evil in EVIL))
    for number, evil in enumerate(EVIL):
        code = "".join(f"value_{number}_{line} = read_it(source_{number}, {line})  # {evil}\n" for line in range(12))
        session.call(f"{evil}__read_file", code, file_path=evil)
    session.compaction("Go on.", trigger=EVIL[1], preTokens=9_000)
    for number, evil in enumerate(EVIL):
        code = "".join(f"value_{number}_{line} = read_it(source_{number}, {line})  # {evil}\n" for line in range(12))
        session.call(f"{evil}__read_file", code, file_path=evil).said(f"value_{number}_3 = read_it(source_{number}, 3)")
    return made(tmp_path, session, "x<script>onerror=1.jsonl")


def test_the_page_shows_the_findings(tmp_path: Path):
    text = " ".join(Markup(made(tmp_path)).words)
    for expected in (
        "Your compaction lost 100% of what the agent used next.",
        "Reading it again cost under $0.01.",
        "What is this?",
        "undrift 0.1.0",
        "autopsy, made 1 Mar 2026",
        "Compaction 1, automatic",
        "/repo/src/client.py",
        "Never touch the vendored",
    ):
        assert expected in text


def test_the_page_shows_what_the_compaction_cost_beside_undrifts_text_and_sending_everything(tmp_path: Path):
    shown = " ".join(made(tmp_path).split())
    assert re.search(r"It cost \$\d+\.\d\d: the call that wrote the summary", shown)
    assert re.search(r"text would have cost \$\d+\.\d\d\.", shown)
    assert re.search(r"sending everything would have cost \$\d+\.\d\d, as estimated", shown)
    assert "<h3>Bill</h3>" in shown


def test_the_timeline_marks_the_compaction_and_what_was_read_again(tmp_path: Path):
    text = made(tmp_path)
    assert text.count('class="cut"') == 1
    assert text.count("known tokens, call +") >= 1
    assert '<path d="M' in text


def test_a_session_of_many_compactions_and_rules_stays_a_page(tmp_path: Path):
    found = examine(compacted_session().written(tmp_path / "session.jsonl"))
    (compaction,) = found.autopsy.compactions
    rules = tuple(replace(compaction.lost_rules[0], text=f"Never touch {number}.") for number in range(30))
    many = tuple(replace(compaction, number=number, lost_rules=rules) for number in range(1, 121))
    text = page([replace(found, autopsy=replace(found.autopsy, compactions=many))], COVER)
    assert "20 later compactions count in the figures at the top only." in text
    assert (text.count("<h3>Compaction "), text.count("<blockquote>"), text.count("and 10 more")) == (100, 2_000, 100)


def test_many_sessions_have_an_index_and_the_first_of_them_a_part_each(tmp_path: Path):
    found = examine(compacted_session().written(tmp_path / "session.jsonl"))
    text = page([found] * 103, COVER)
    assert (text.count("<section><h2>"), text.count('<h2 id="s')) == (0, 100)
    assert (text.count('href="#s'), text.count('scope="row"><a'), text.count('<th scope="row">')) == (100, 100, 603)
    assert "The first 100 have a timeline below." in text
    assert len(text) < 1_000_000


def test_what_a_hook_gave_back_is_on_the_page(tmp_path: Path):
    found = examine(compacted_session().written(tmp_path / "session.jsonl"))
    (compaction,) = found.autopsy.compactions
    held = Held(7, 2, 4_900)
    given = GivenUse(tokens=4_900, held=held, together=held, alone=Held(5, 1, 300), results=1, cost=5_000.0)
    helped = replace(found.autopsy, compactions=(replace(compaction, given=given),))
    text = page([replace(found, autopsy=helped)], COVER)
    assert (
        "undrift gave back 4,900 tokens after it: they hold 9 of the 12 names and lines that the agent used next."
        in text
    )
    assert "undrift gave back" not in page([found], COVER)


def test_a_page_without_a_compaction_says_so(tmp_path: Path):
    text = made(tmp_path, work(Session().user("Go.")))
    assert "This session was never compacted, so nothing was removed." in text


@pytest.mark.parametrize("make", [made, hostile])
def test_every_tag_is_one_of_ours_and_none_can_load_or_run_anything(tmp_path: Path, make):
    markup = Markup(make(tmp_path))
    assert set(markup.tags) <= TAGS
    assert markup.open == []
    names = {name for name, _ in markup.attributes}
    assert not {name for name in names if name.startswith("on")}
    assert not names & {"src", "style", "srcset", "action", "xlink:href", "background", "data", "poster"}
    links = {value for name, value in markup.attributes if name == "href"}
    places = {f"#{value}" for name, value in markup.attributes if name == "id"}
    assert links <= places


def test_a_hostile_session_is_shown_and_not_obeyed(tmp_path: Path):
    text = hostile(tmp_path)
    words = "".join(Markup(text).words)
    for evil in EVIL[:-1]:
        assert words.count(evil) >= 2  # as a tool's name and as a path
        if "<" in evil:
            assert evil not in text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202e]", text)


@pytest.mark.parametrize("make", [made, hostile])
def test_the_policy_allows_this_style_sheet_and_nothing_else(tmp_path: Path, make):
    text = make(tmp_path)
    match = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)
    style = re.search("<style>(.*?)</style>", text, re.DOTALL)
    assert match
    assert style
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert html.unescape(match[1]) == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    assert "url(" not in style[1]
    assert "@import" not in style[1]
    assert text.index("Content-Security-Policy") < text.index("<style>")


def test_no_address_of_another_host_stands_in_the_page(tmp_path: Path):
    assert not re.search(r"(?:https?:)?//[a-z0-9]", made(tmp_path))


def examined(tmp_path: Path):
    path = compacted_session().written(tmp_path / "session.jsonl")
    found = [examine(path)]
    return path, found


def test_the_page_is_written_whole_and_leaves_no_draft(tmp_path: Path):
    _, found = examined(tmp_path)
    out = tmp_path / "page.html"
    write_page(out, found, COVER)
    assert out.read_text(encoding="utf-8") == page(found, COVER)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "session.jsonl"]
    if os.name == "posix":
        assert stat.S_IMODE(out.stat().st_mode) == 0o600


def test_an_earlier_page_is_replaced(tmp_path: Path):
    _, found = examined(tmp_path)
    out = tmp_path / "page.html"
    out.write_text(f"{OPENING}<p>old", encoding="utf-8")
    write_page(out, found, COVER)
    assert "old" not in out.read_text(encoding="utf-8")[:100]


def test_a_page_of_somebody_else_is_never_replaced(tmp_path: Path):
    _, found = examined(tmp_path)
    out = tmp_path / "page.html"
    out.write_text("<!doctype html><p>my own page", encoding="utf-8")
    with pytest.raises(InputError, match="no report of undrift"):
        write_page(out, found, COVER)
    assert out.read_text(encoding="utf-8") == "<!doctype html><p>my own page"


def test_a_recording_is_never_written_whatever_its_name_and_way(tmp_path: Path):
    path, found = examined(tmp_path)
    before = path.read_bytes()
    link = tmp_path / "link.html"
    link.symlink_to(path)
    hard = tmp_path / "hard.html"
    hard.hardlink_to(path)
    for out in (path, link, hard):
        with pytest.raises(InputError, match="is one of the recordings"):
            write_page(out, found, COVER, sources=[path])
        with pytest.raises(InputError, match="no report of undrift"):
            write_page(out, found, COVER)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "words"),
    [("absent/page.html", "its folder does not exist"), ("", "is a folder"), ("notes.txt", "no report of undrift")],
)
def test_a_target_that_is_no_page_is_refused_with_a_remedy(tmp_path: Path, name: str, words: str):
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match=words):
        check_target(tmp_path / name)
    assert (tmp_path / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_a_disk_that_refuses_leaves_what_stood_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    _, found = examined(tmp_path)
    out = tmp_path / "page.html"
    out.write_text(f"{OPENING}old", encoding="utf-8")

    def refuse(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="No space left"):
        write_page(out, found, COVER)
    assert out.read_text(encoding="utf-8") == f"{OPENING}old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "session.jsonl"]
