"""Keeps a session's rules known: when it starts, with each message, and before a compaction. Only rules that were added or removed
by a command are printed, for the agent.

Law: what was typed once stays, however long the session and however often it is compacted. Files and the person's own
additions are read again at a start and before a compaction, not at each message.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from undrift.hooks import home
from undrift.hooks.call import HookCall
from undrift.hooks.reply import HookReply
from undrift.hooks.rules import KeptRules, load_kept, save_rules, stamp_of
from undrift.values.rule import Rule
from undrift.values.window import ContextEntry

if TYPE_CHECKING:
    from undrift.core.rules.typed import TypedSaying

__all__ = ["add_handoff", "add_message", "known_rules", "work"]

_NEWEST_BYTES = 24 << 20
_FIRST_BYTES = 1 << 20
"""Holds the first prompt of a session, with what clients write before it."""


def work(call: HookCall) -> HookReply:
    """Write the rules of a session that starts; of one that began before the hooks did, what was typed till now.

    Returns:
        The rules that the person added by a command: nothing else tells the agent of them.
    """
    if call.options.part != 1:
        return HookReply()
    is_new = call.source == "resume" and not load_kept(call.folder()).requests
    entries, whole = _recorded(call) if is_new else ((), False)
    return HookReply(_keep(call, _Learned(entries=entries, whole=whole), reads=True)[1])


def add_message(call: HookCall, prompt: str, *, reads_again: bool = False) -> str:
    """Write the rules of a message that is about to be sent; none if a client wrote it in the person's name.

    The first prompt of a session that is handed over has the rules of the session before it.

    Args:
        prompt: The message.
        reads_again: Whether rules were added or removed by a command since they were read.

    Returns:
        The rules that were added or removed, for the agent.
    """
    if _is_typed(prompt):
        return _keep(call, _Learned(prompt=prompt), reads=reads_again)[1]
    add_handoff(call, prompt)
    return ""


def add_handoff(call: HookCall, text: str) -> None:
    """Write the rules in the text of a handoff, if nothing was typed before it; of another text nothing."""
    from undrift.core.restore.carried import rules_of_handoff

    if (rules := rules_of_handoff(text)) and not load_kept(call.folder()).requests:
        _keep(call, _Learned(handed=tuple(rule.text for rule in rules)), reads=False)


def known_rules(call: HookCall, entries: Sequence[ContextEntry], *, whole: bool) -> tuple[Rule, ...]:
    """Return the rules that hold and what is perhaps one, from a recording and from what was known before; write them down.

    `whole`: the entries are those of the whole session.
    """
    return _keep(call, _Learned(entries=entries, whole=whole), reads=True)[0]


@dataclass(frozen=True, slots=True)
class _Learned:
    """The news: a message, the rules of a handoff, or a recording. `whole`: it is that of the whole session."""

    prompt: str | None = None
    handed: tuple[str, ...] = ()
    entries: Sequence[ContextEntry] = ()
    whole: bool = False


def _keep(call: HookCall, new: _Learned, *, reads: bool) -> tuple[tuple[Rule, ...], str]:
    """Write the rules of a session; return them, and what the agent is to hear of added and removed ones.

    `reads`: read files and additions again; else what was read of them counts.
    """
    from undrift.core.restore.carried import carried_rules, handed_rules
    from undrift.core.rules.holding import holding
    from undrift.hooks.rule_news import news

    folder = call.folder()
    with home.locked(folder / home.RULES_LOCK, home.RULES_WAIT_MS):
        kept = load_kept(folder)
        given, books = tuple(replace(rule, later=()) for rule in kept.rules if rule.origin != "typed"), kept
        if reads:  # nothing else needs the project's files and the store's folder
            given, books = _given(call)
        typed, requests = _typed(kept, new.prompt, new.entries, whole=new.whole)
        handed = new.handed or kept.handed
        if new.entries and not handed:  # a client without a hook for messages says what it was handed over here first
            first = new.entries if new.whole else _first_entries(call)
            handed = tuple(rule.text for rule in carried_rules(first))
        held = holding(typed, (*given, *handed_rules(handed)))
        rules = tuple(rule for rule in held.shown if rule.id not in books.removed)
        known = frozenset(rule.id for rule in rules if rule.origin == "added") if reads else kept.known
        after = KeptRules(rules, typed, requests, books.removed, handed, books.books, known)
        save_rules(folder, after)
    return rules, news(kept, after) if reads else ""


def _typed(
    kept: KeptRules, prompt: str | None, entries: Sequence[ContextEntry], *, whole: bool
) -> tuple[tuple["TypedSaying", ...], int]:
    """Return what was typed about rules up to now, secrets masked, and the number of messages."""
    from undrift.core.rules.typed import sayings, sayings_in, texts_typed
    from undrift.core.text.secrets import mask

    def bare(one: "TypedSaying") -> "TypedSaying":
        return replace(one, text=mask(one.text).text)  # before it is named: a rule has one id in every file

    typed, requests = list(kept.typed), kept.requests
    if prompt is not None:
        requests += 1
        typed += map(bare, sayings_in(prompt, requests))
    if entries:
        found = [*map(bare, sayings(entries))]
        own, known = {one.text for one in found}, {one.text for one in typed}
        rest = [one for one in typed if one.text not in own]
        # of a part of the session the older ones are those that are known; of the whole of it, what is about to be typed
        typed = [*found, *rest] if whole else [*typed, *(one for one in found if one.text not in known)]
        requests = max(requests, len(texts_typed(entries))) if whole else requests
    return tuple(typed), requests


def _is_typed(prompt: str) -> bool:
    """Tell whether a person typed a message: clients send words of their own in the same way."""
    from undrift.core.text.typed import user_texts

    entry = ContextEntry("prompt", "reasoning", prompt, 0, 0, {"role": "user", "kind": "text", "message": 0})
    return any(user_texts([entry]))


def _recorded(call: HookCall) -> tuple[Sequence[ContextEntry], bool]:
    """Read the newest part of a session that began before the hooks did; and say whether that is all of it."""
    from undrift import transcripts
    from undrift.errors import TranscriptError

    try:
        with call.open() as transcript:
            start, _ = transcript.skip(max(0, transcript.size - _NEWEST_BYTES))
            lines = [line.text for line in transcript.lines(start)]
        return transcripts.read(lines, format=call.format).entries, not start
    except (OSError, TranscriptError):
        return (), False


def _first_entries(call: HookCall) -> Sequence[ContextEntry]:
    """Read the beginning of a session's recording; nothing if it cannot be read."""
    from undrift import transcripts
    from undrift.errors import TranscriptError

    try:
        with call.open() as transcript:
            lines = [line.text for line in transcript.batch(0, _FIRST_BYTES)]
        return transcripts.read(lines, format=call.format).entries
    except (OSError, TranscriptError):
        return ()


def _given(call: HookCall) -> tuple[tuple[Rule, ...], KeptRules]:
    """Return the rules of files and those that were added; and which were removed, with the stamps of what was read."""
    from undrift.hooks.rule_files import rules_of_files
    from undrift.settings.folder import existing_folder
    from undrift.stores.projects import place_of
    from undrift.stores.rule_book import added_rules, book_paths, is_removed

    folder = existing_folder(call.cwd)
    place = place_of(call.home, folder or Path(call.home), shares=True)
    session = f"{call.client}:{call.session_id}"
    root = Path(place.project.checkout or place.project.root) if place.project is not None else folder
    books = tuple(map(stamp_of, book_paths(place)))  # before they are read: a change since is seen the next time
    files = rules_of_files(folder, root, call.sessions.parent).rules
    return (*files, *added_rules(place, session)), KeptRules(removed=is_removed(place, session), books=books)
