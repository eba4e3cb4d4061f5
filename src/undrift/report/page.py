"""Findings -> one HTML page that opens from a disk. Pure.

Law: no script, no remote asset, a content security policy that allows neither; every text goes through `markup.text`.
A redacted page is made from redacted findings alone.
"""

from collections.abc import Sequence

from undrift.core.autopsy.findings import Compaction
from undrift.recordings.autopsy import Postmortem, totals
from undrift.recordings.headline import as_share
from undrift.recordings.redaction import redacted
from undrift.report.cover import PRODUCT, Cover, explanation, foot, head, tiles
from undrift.report.headline import headline_of
from undrift.report.markup import count, day, tag, text, thousands
from undrift.report.session import SessionPart, session_name
from undrift.report.style import STYLE, policy

__all__ = ["OPENING", "page"]

OPENING = "<!doctype html>\n<!-- a report of undrift autopsy -->"
"""The beginning of every page of ours; a file without it belongs to another program, and is never replaced."""
_TITLE = "Losses of compactions · undrift autopsy"
_MOST_SECTIONS = 100
"""So many sessions have a part of their own: at 6 to 8 kB each, the page stays below a megabyte."""
_LEGEND = (
    ("k1", "tokens in the window"),
    ("k2", "compaction, with its number"),
    ("k3", "results that were read again; larger: more tokens"),
)


def page(found: Sequence[Postmortem], cover: Cover, next_commands: Sequence[tuple[str, str]] = ()) -> str:
    """Give the page. `next_commands`: what each does, and the command."""
    headline = headline_of(found, totals(found))  # figures alone, and two rules without their texts would be one
    if cover.redacted:
        found = [redacted(one) for one in found]
    compacted = [one for one in found if one.autopsy.compactions] or list(found)
    parts = [SessionPart(one, n, cover.redacted, len(compacted) == 1) for n, one in enumerate(compacted, 1)]
    body: list[str] = []
    if headline.sums.compactions:
        body += [tiles(headline, compacted[0].budget_tokens), *explanation(found, headline)]
    if len(parts) > 1:
        body.append(_index(parts))
    keys = [tag("span", tag("i", class_=kind), text(name)) for kind, name in _LEGEND]
    zone = "" if cover.redacted else text("Times are in UTC.")
    body += [tag("p", *keys, zone, class_="legend"), *(part.section() for part in parts[:_MOST_SECTIONS])]
    content = tag("body", head(found, headline, cover), tag("main", *body), foot(cover, next_commands))
    sentences = " ".join(headline.sentences(yours=False))
    return f"{OPENING}\n{tag('html', _head(sentences, cover), content, lang='en')}\n"


def _head(sentences: str, cover: Cover) -> str:
    about = {"og:title": sentences, "og:description": PRODUCT, "og:type": "article", "og:site_name": "undrift"}
    named = {
        "description": f"{sentences} {PRODUCT}",
        "generator": f"undrift {cover.version}",
        "referrer": "no-referrer",
    }
    return tag(
        "head",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{text(policy())}">',
        '<meta name="viewport" content="width=device-width,initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        *(f'<meta name="{name}" content="{text(value)}">' for name, value in named.items()),
        *(f'<meta property="{name}" content="{text(value)}">' for name, value in about.items()),
        tag("title", _TITLE),
        f"<style>{STYLE}</style>",
    )


def _index(parts: Sequence[SessionPart]) -> str:
    """Give the table of the sessions, each with a link to its part of the page."""
    heads = (("session", ""), ("lost", ""), ("with undrift", ""), ("read again", ""))
    row = tag("tr", *(tag("th", name, class_=kind, scope="col") for name, kind in heads))
    table = tag("table", tag("thead", row), tag("tbody", *map(_index_row, parts)), class_="index")
    note = "Lost: the share of what the agent used next that is not in the summary. Read again: in tokens."
    if any(compaction.encrypted for part in parts for compaction in part.one.autopsy.compactions):
        note += " ?: the summary is encrypted."
    if len(parts) > _MOST_SECTIONS:
        note += f" The first {_MOST_SECTIONS} have a timeline below."
    return tag("section", tag("h2", "Sessions"), tag("p", note, class_="soft"), table, class_="card")


def _index_row(part: SessionPart) -> str:
    one = part.one
    compactions = one.autopsy.compactions
    times = [compaction.at_ms for compaction in compactions if compaction.at_ms]
    several = [count(len(compactions), "compaction")] if len(compactions) > 1 else []
    about = " · ".join([*([day(times[0])] if times else []), *several])
    name = text(session_name(one, part.number))
    link = tag("a", name, href=f"#s{part.number}") if part.number <= _MOST_SECTIONS else name
    again = sum(compaction.fetched.tokens for compaction in compactions)
    figures = (*_losses(compactions), thousands(again))
    row_head = tag("th", link, tag("span", text(about)), scope="row")
    return tag("tr", row_head, *(tag("td", text(figure)) for figure in figures))


def _losses(compactions: Sequence[Compaction]) -> tuple[str, str]:
    """Give the lost shares of a session, without and with undrift; compactions with an encrypted summary do not count."""
    judged = [c for c in compactions if not c.encrypted]
    used = sum(c.identifiers + c.lines for c in judged)
    if not used:
        none = "?" if compactions and not judged else "–"  # noqa: RUF001 - a dash, no minus
        return none, none
    held = sum(c.native.identifiers + c.native.lines for c in judged)
    both = sum(h.identifiers + h.lines for h in (c.together or c.native for c in judged))
    return as_share(1 - held / used), as_share(1 - both / used)
