"""The slow work of the hooks: stores every original, and writes the text for the time after the compaction.

Law: recording reads only what is new, and doing it again is harmless; a text is made of the whole session, or of its
newest part if it is larger than any window.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import chain

from undrift import transcripts
from undrift.core.text.masking import masked_original
from undrift.core.text.secrets import mask
from undrift.core.text.tokens import characters_per_4
from undrift.errors import (
    RecallError,
    StoreBusy,
    StoreConflict,
    StoreCorrupt,
    StoreError,
    StoreVersionError,
    TranscriptError,
)
from undrift.hooks.call import CLIENTS, HookCall
from undrift.hooks.home import note, recall_command, write_small
from undrift.hooks.learning import Teaching, is_of_agent
from undrift.hooks.prepared import PartLimits, PreparedText, has_news, save, split
from undrift.hooks.room import UNKNOWN_TOKENS, TextRoom, room_of
from undrift.hooks.transcript import ReadPosition, Transcript, lines_before, stored_position
from undrift.memory.turns import repeated
from undrift.profiles import PROFILES, GivenBack
from undrift.stores.base import Context
from undrift.stores.contract import Store
from undrift.stores.opening import open_store
from undrift.transcripts.figures import Boundary, RecordedFigures, figures
from undrift.values.clock import now_ms
from undrift.values.restored import RestoredContents
from undrift.values.rule import Rule
from undrift.values.scope import Scope
from undrift.values.window import ContextEntry, Original

__all__ = ["parts_of", "prepare", "record"]

_TRIES = 8
_LESS = 0.95
_ALL = TextRoom()
_NOTHING = GivenBack()
_LIMITS = PartLimits()
_NEWEST_BYTES = 24 << 20
_BATCH_BYTES = 8 << 20
_RECORDED = "recorded.json"
_ROUNDS = 3
_INPUT, _SEAL = "input", "signature"
"""In metadata: what a call was given, and a provider's Base64 beside its model's thoughts."""


def prepare(call: HookCall, transcript: Transcript) -> PreparedText:
    """Write the text, store it for the hook that asks for it, and return it."""
    prepared = _prepare(call, transcript)
    for _ in range(_ROUNDS - 1):  # the client may still be writing the last results while it compacts
        if not has_news(transcript, prepared.position, call.format):
            break
        prepared = _prepare(call, transcript)
    return prepared


def _prepare(call: HookCall, transcript: Transcript) -> PreparedText:
    position, entries, room, whole = _newest(transcript, call)
    parts, contents = parts_of(
        entries,
        recall_command(call.home),
        room,
        PROFILES[call.client].gives_back,
        PartLimits(call.options.parts, CLIENTS[call.client].in_bytes),
        _rules(call, entries, whole=whole),
    )
    prepared = PreparedText(position, parts, contents)
    save(call.folder(), prepared)
    return prepared


def parts_of(
    entries: Sequence[ContextEntry],
    recall: str,
    room: TextRoom = _ALL,
    gives_back: GivenBack = _NOTHING,
    limits: PartLimits = _LIMITS,
    held: Sequence[Rule] | None = None,
) -> tuple[tuple[str, ...], RestoredContents]:
    """Return the text to restore, in parts, and what stands in it; nothing that the client gives back itself."""
    from undrift.core.restore import contents_of, restore, restore_words

    if room.words_only:
        rules = restore_words(
            entries, budget_tokens=room.tokens or 0, count=characters_per_4, gives_back=gives_back, rules=held
        )
        parts = split(mask(rules.text).text, limits) or ()
        return parts, contents_of(rules.items, "".join(parts))
    last_line = f"\n\nWords of what was left out find it, with its lines: {recall}\n"
    most = UNKNOWN_TOKENS if room.tokens is None else room.tokens
    budget_tokens = min(most, limits.tokens) - characters_per_4(last_line)
    for _ in range(_TRIES):
        if budget_tokens < 1:
            break
        restored = restore(
            entries, budget_tokens=budget_tokens, count=characters_per_4, gives_back=gives_back, rules=held
        )
        text = mask(restored.text).text
        if not text:
            break
        found = split(text.rstrip() + last_line, limits)
        if found is not None:
            return found, contents_of(restored.items, "".join(found))
        too_long = limits.length(text) / (limits.parts * limits.each)  # characters of several bytes
        budget_tokens = int(budget_tokens * min(_LESS, _LESS / too_long))
    return (), RestoredContents()


def _rules(call: HookCall, entries: Sequence[ContextEntry], *, whole: bool) -> tuple[Rule, ...] | None:
    """Return the rules that hold; None, which means those of the entries, if what is known of them cannot be written."""
    from undrift.hooks.rule_keeper import known_rules

    try:
        return known_rules(call, entries, whole=whole)
    except Exception as error:  # noqa: BLE001 - a file of a project may hold anything; the text is given all the same
        note(call.home, f"{call.client}: the rules were not kept: {type(error).__name__}: {error}")
        return None


def _newest(transcript: Transcript, call: HookCall) -> tuple[ReadPosition, tuple[ContextEntry, ...], TextRoom, bool]:
    """Read the session up to its last compaction, if nothing was done since, and remember how far; and say if that is all."""
    start, before = transcript.skip(max(0, transcript.size - _NEWEST_BYTES))
    read = [line for line in transcript.lines(start)]  # noqa: C416 - the offsets are looked at once more
    position = transcript.position(read[-1].end if read else start, before + len(read))
    texts = [line.text for line in read]
    recording = transcripts.read(chain(lines_before(before), texts), format=call.format)
    found = figures(chain(lines_before(before), texts), format=call.format)
    entries = recording.entries
    compaction = None
    if recording.compactions:
        last = recording.compactions[-1]
        if not any((entry.metadata or {}).get("role") == "assistant" for entry in entries[last:]):
            entries = entries[:last]
            compaction = _this(found, call)
    room = room_of(
        found,
        entries,
        compaction,
        whole=not start,
        by_hand=_by_hand(call, compaction),
        gives_up=PROFILES[call.client].gives_up,
    )
    return position, entries, room, not start


def _by_hand(call: HookCall, compaction: Boundary | None) -> bool:
    return "manual" in (call.trigger, compaction.trigger if compaction else "")


def _this(found: RecordedFigures, call: HookCall) -> Boundary | None:
    """The record of the compaction that the hook was called for; None if the last one was over before the call."""
    last = found.boundaries[-1] if found.boundaries else None
    if last is None or (call.at_ms is not None and last.at_ms is not None and last.at_ms < call.at_ms):
        return None
    return last


def record(call: HookCall, transcript: Transcript) -> int:
    """Store the new entries of a session's transcript and all their originals; return the number of entries.

    Raises StoreError: the store refused; what was not written is tried again the next time.
    """
    folder = call.folder()
    position = stored_position(folder / _RECORDED)
    if not transcript.knows(position):
        position = ReadPosition(*transcript.identity)
    number = 0
    with open_store(call.place(), Scope()) as store:
        if position.offset and not store.last_seq(f"{call.client}:{call.session_id}"):
            position = ReadPosition(*transcript.identity)  # the store was put aside since
        teaching = Teaching(store, call, is_of_agent=is_of_agent(transcript, call.format))
        while batch := transcript.batch(position.offset, _BATCH_BYTES):
            if call.is_purged():  # meanwhile
                break
            number += _write(store, teaching, call, position.lines, [line.text for line in batch])
            position = transcript.position(batch[-1].end, position.lines + len(batch))
            write_small(folder / _RECORDED, json.dumps(asdict(position)).encode("ascii"))
    return number


def _write(store: Store, teaching: Teaching, call: HookCall, before: int, texts: Sequence[str]) -> int:
    """Write the entries of some lines, and what they teach, in one transaction; blank lines replace those before them, as
    numbers are ids.
    """
    try:
        recording = transcripts.read(chain(lines_before(before), texts), format=call.format)
    except TranscriptError:
        return 0  # no message among them
    session_id = f"{call.client}:{call.session_id}"
    originals = [masked_original(_kept(entry), session_id, "window", True) for entry in recording.entries]
    at_ms = now_ms()
    payload = {"first_line": before + 1, "last_line": before + len(texts), "skipped": dict(recording.skipped)}

    def once() -> int:
        change = teaching.change(recording.entries, at_ms)
        learned, more = ((), {}) if change is None else change
        place, said = Context(store.scope.of(session_id), at_ms), {**payload, **more}
        try:
            store.commit(place, "recorded", [*originals, *learned], payload=said)
            return len(originals)
        except (StoreBusy, StoreConflict, StoreCorrupt, StoreVersionError):
            raise
        except StoreError:  # a rewritten file gives other content under a name in use; the first stays
            new = [original for original in originals if not _is_known(store, original)]
            store.commit(place, "recorded", [*new, *learned], payload=said)
            return len(new)

    number = repeated(once)
    if not before and (title := mask(recording.title).text):
        store.commit(Context(store.scope.of(session_id), at_ms), "named", payload={"name": title})
    return number


def _kept(entry: ContextEntry) -> ContextEntry:
    """Return an entry without the input of a call, which is its content, and without a seal.

    Only a request with that very thought needs its seal, and no request is made from this record; the transcript keeps it.
    A seal cannot be compressed: seals would be a quarter of what is written.
    """
    metadata = dict(entry.metadata or {})
    metadata.pop(_SEAL, None)
    if _INPUT in metadata and json.dumps(metadata[_INPUT], ensure_ascii=False) == entry.content:
        del metadata[_INPUT]
    return replace(entry, metadata=metadata) if entry.metadata and metadata != entry.metadata else entry


def _is_known(store: Store, original: Original) -> bool:
    try:
        store.original(original.ref)
    except RecallError:
        return False
    return True
