"""The view of one compaction: its texts beside each name, file and line that the agent needed later, and the fate of each rule.

Law: what counts as needed, held or lost is what `undrift autopsy` counts. Texts are masked before they are cut.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from undrift.core.autopsy import rules
from undrift.core.autopsy.given import GivenTexts, given_texts
from undrift.core.autopsy.native import CompactionRecord, NativeTexts, native_texts
from undrift.core.autopsy.steps import Step, steps_of
from undrift.core.autopsy.used import Learned, Used, window_of
from undrift.core.restore import restore
from undrift.core.text.references import Reference, name_in, references_in
from undrift.core.text.safe_lines import label
from undrift.core.text.secrets import mask
from undrift.core.text.tokens import characters_per_4
from undrift.errors import InputError
from undrift.recordings.figures import compaction_records
from undrift.recordings.files import open_recording
from undrift.web.read_again import places_of
from undrift.web.source import PageSource
from undrift.web.watching import WatchedSession

__all__ = ["compaction"]

_MOST_NEEDED = 600
_MOST_RULES = 200
_MOST_CHARACTERS = 80_000
_LINE_CHARACTERS = 300
_MASKED_CHARACTERS = 10_000
"""Masked before it is cut: half a secret is not recognised."""

_SECRET = "masked: it stood in a secret"
_BUDGET_TOKENS = 5_000
"""As `undrift autopsy` has it by default."""


@dataclass(frozen=True, slots=True)
class _CompactionTexts:
    """The texts that stood in the window after a compaction, or would have."""

    native: NativeTexts
    given: GivenTexts
    restored: str


def compaction(source: PageSource, query: Mapping[str, str]) -> dict[str, Any]:
    """Return one compaction of a session. `query`: ``key``, and its ``number``, from 1."""
    one = source.session(query.get("key", ""))
    number = int(query["number"]) if query.get("number", "").isdecimal() and len(query["number"]) < 9 else 0
    return source.kept(one, f"compaction {number}", lambda: _examined(one, number))


def _examined(one: WatchedSession, number: int) -> dict[str, Any]:
    recording = open_recording(one.path, format=one.format)
    steps = steps_of(recording.entries)
    places = places_of(steps, recording.compactions)
    if not 1 <= number <= len(places):
        raise InputError(f"this session has {len(places)} compactions; choose a number from 1 to that")
    index = places[number - 1]
    after = steps[index : places[number] if number < len(places) else len(steps)]
    record = compaction_records(recording, one.figures).get(index)
    restored = restore(recording.entries[:index], budget_tokens=_BUDGET_TOKENS, count=characters_per_4).text
    texts = _CompactionTexts(native_texts(steps, index, record), given_texts(after), restored)
    return {
        "number": number,
        "summary": _summary(steps, texts.native, record),
        "given": _text(texts.given.texts),
        "undrift": _text([texts.restored] if texts.restored else []),
        "needed": _needed(steps, index, after, texts),
        "rules": _rules(steps, index, texts),
    }


def _summary(steps: Sequence[Step], native: NativeTexts, record: CompactionRecord | None) -> dict[str, Any]:
    """Return the client's summary, and beside it what it kept or attached again."""
    written = [steps[at].entry.content for at in sorted(native.own) if steps[at].kind == "summary"]
    kept = [text for text in native.texts if text not in set(written)]
    return {
        "is_encrypted": record is not None and record.encrypted,
        "written": _text(written),
        "kept": _text(kept),
    }


def _text(texts: Sequence[str]) -> dict[str, Any] | None:
    """Return a text without secrets; None: there is none."""
    if not texts:
        return None
    whole = "\n\n".join(texts)
    return {
        "text": mask(whole).text[:_MOST_CHARACTERS],
        "tokens": sum(map(characters_per_4, texts)),
        "characters": len(whole),
        "is_cut": len(whole) > _MOST_CHARACTERS,
    }


def _needed(steps: Sequence[Step], index: int, after: Sequence[Step], texts: _CompactionTexts) -> dict[str, Any]:
    """Return what the agent used next and had learned before; first what no text held."""
    learned = Learned()
    for step in steps[:index]:
        learned.take(step)
    used = learned.used_in(window_of(after), texts.native.own | texts.given.places)
    held = {
        "summary": learned.references_held(used, texts.native.texts, strict=False),
        "given": learned.references_held(used, texts.given.texts, strict=True),
        "undrift": learned.references_held(used, [texts.restored], strict=True),
        "read_again": used.fetched,
    }
    shown = _shown_in(used.references, steps[:index])
    paths = frozenset(_paths(steps[:index]))

    def row(reference: Reference) -> dict[str, Any]:
        name, text = reference
        place = shown.get(reference, "")
        kind = "file" if name == "identifier" and text in paths else name
        text = _SECRET if place is None else _line(text)
        return {"kind": kind, "text": text, "from": place or "", **{key: reference in has for key, has in held.items()}}

    rows = sorted(map(row, used.references), key=_order)
    counted = _counted(used, held, has_given=bool(texts.given.texts))
    return {"rows": rows[:_MOST_NEEDED], "count": len(rows), **counted}


def _order(row: Mapping[str, Any]) -> tuple[int, str, str]:
    return sum(row[name] for name in ("summary", "given", "undrift")), row["kind"], row["text"]


def _counted(used: Used, held: Mapping[str, frozenset[Reference]], *, has_given: bool) -> dict[str, Any]:
    """Return how much of what was needed each text held, and how much none of them did."""
    in_window = held["summary"] | held["given"]
    return {
        "by": {name: len(found) for name, found in held.items() if name != "given" or has_given},
        "in_no_text": len(used.references - in_window - held["undrift"]),
    }


def _shown_in(wanted: Iterable[Reference], before: Sequence[Step]) -> dict[Reference, str | None]:
    """Return the file or command whose result showed each reference last; None: it stood in a secret there."""
    left, found = set(wanted), dict[Reference, str | None]()
    for step in reversed(before):
        if not left:
            break
        if step.kind not in ("result", "user", "client", "summary"):
            continue
        if here := references_in(step.entry.content) & left:
            left -= here
            safe = references_in(mask(step.entry.content).text)
            place = _line(step.target) or {"user": "your words"}.get(step.kind, step.kind)
            found |= {one: place if one in safe else None for one in here}
    return found


def _paths(steps: Iterable[Step]) -> Iterator[str]:
    """Yield the names of files that the agent's calls gave, whole and without their folders."""
    for step in steps:
        for act in step.acts:
            if act.path:
                yield from filter(None, (name_in(act.path), name_in(act.path.rpartition("/")[2])))


def _rules(steps: Sequence[Step], index: int, texts: _CompactionTexts) -> dict[str, Any]:
    """Return each rule of the user before a compaction, with the first text after it that has the rule."""
    stated = rules.rules_of(steps[:index])
    later = steps[index:]
    said = [step.entry.content for step in later if step.kind not in ("result", "silent")]
    results = [step.entry.content for step in later if step.kind == "result"]
    has_begun = any(step.kind in ("said", "call") for step in later)
    rests = {
        "summary": rules.lost(stated, texts.native.texts, [], calls=0),
        "given": rules.lost(stated, texts.given.texts, [], calls=0),
        "later": rules.lost(stated, said, [], calls=0),
        "result": rules.lost(stated, said, results, calls=0),
    }
    absent = {fate: {(rule.entry_id, rule.text) for rule in rest} for fate, rest in rests.items()}
    rows = []
    for rule in stated:
        text = mask(rule.text).text
        fate = next(
            (fate for fate, rest in absent.items() if (rule.entry_id, text) not in rest),
            "lost" if has_begun else "open",
        )
        rows.append({"text": label(text, _LINE_CHARACTERS), "fate": fate})
    kept = sum(row["fate"] in ("summary", "given") for row in rows)
    return {
        "rows": rows[:_MOST_RULES],
        "before": len(rows),
        "after": kept,
        "lost": sum(row["fate"] == "lost" for row in rows),
    }


def _line(text: str) -> str:
    return label(text[:_MASKED_CHARACTERS], _LINE_CHARACTERS)
