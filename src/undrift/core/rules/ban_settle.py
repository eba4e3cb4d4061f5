"""Settles the clauses of a rule with each other: moods and things that one takes from another. Pure, linear in the clauses.

Law: a clause that forbids and names nothing is about the things that were named before it.
"""

import re
from collections.abc import Sequence

from undrift.core.rules.ban_frames import Frame
from undrift.core.rules.ban_stems import stem_of
from undrift.core.rules.ban_table import subcommands
from undrift.core.rules.targets import CommandTarget

__all__ = ["BANS", "by_default", "joined", "settle"]

BANS = frozenset({"forbid", "protect", "reserve"})
"""The moods of clauses that forbid."""

_ATTACHED = frozenset({"(", ":", ",", "-"})
_JUDGES = re.compile(r"\b(?:is|are|isn't|aren't|gets?|has|have|needs?|does|do|can|=)\b|'s\b")
_FEELS = re.compile(r"(?:i|i'm|i've|we|we're|we've|it|this|that|they)\b")
_WANTS = re.compile(
    r"\b(?:should|must|always|remember|make sure|can|could|need|needs|want|wants|please|feel|when|every|each|if|whether|will|would|prefer)\b"
)
_BARE_NOT = re.compile(
    r"(?:but )?not (?!by\b|you|your|me\b|to\b|for\b|on\b|in\b|even\b|here|with|again|through|from|ever\b|allowed|ok|once|yours|until|unless|one\b|a \w+ more|run\b|change|edit|touch|delet)\w"
)


def joined(frames: Sequence[Frame]) -> list[Frame]:
    """Return the frames, with what stands in brackets taken into what stands before them."""
    found: list[Frame] = []
    for frame in frames:
        if found and frame.clause.link == "(" and frame.mood == "" and frame.has_things and not frame.verbs:
            last = found[-1]
            if frame.paths:
                last.rows = [row for row in last.rows if not row.of("files") or row.of("run")]
            last.paths += frame.paths
            last.commands += frame.commands
            last.flags += frame.flags
            last.branches += frame.branches
            last.rows += frame.rows
        else:
            found.append(frame)
    return found


def by_default(frames: Sequence[Frame]) -> bool:
    """Forbid what a rule names of which no clause forbids anything: a sentence that binds and asks for nothing is a ban."""
    if any(
        frame.mood in ("order", "void")
        or (frame.clause.link not in ("told", "if") and _WANTS.search(frame.clause.text))
        for frame in frames
    ):
        return False
    judged = [frame for frame in frames if frame.has_things and _is_judgement(frame)][:2]
    for frame in judged:
        frame.mood = "forbid" if frame.verbs else "reserve"
    return bool(judged)


def _is_judgement(frame: Frame) -> bool:
    """Return whether a clause of no known mood says what something is, and is no person's feeling or reason."""
    text = frame.clause.text
    is_open = frame.mood in ("", "told", "only") and frame.clause.link not in ("told", "if")
    return is_open and not _FEELS.match(text) and _JUDGES.search(text) is not None


def settle(frames: Sequence[Frame]) -> None:
    """Give clauses that name nothing what was named before them, and clauses that only name something their mood."""
    for at, frame in enumerate(frames):
        if before := frames[at - 1] if at else None:
            _turn(frame, before)
            if frame.mood in BANS and not frame.has_things and before.commands and (name := _subcommand(frame, before)):
                frame.commands, frame.verbs = [CommandTarget((before.commands[0].words[0], name))], []
                continue
        if frame.clause.mood == "consent":
            is_open = before is not None and before.mood in ("", "order", "only", "permit") and before.has_things
            frame.mood = "forbid" if is_open and not frame.has_things else "told"
            frame.words, frame.acts, frame.raw, frame.verbs = [], [], [], []
        elif frame.mood not in BANS:
            continue
        if frame.is_pronoun and frame.rows and not (frame.paths or frame.branches):
            _take_place(frame, frames[:at])
        if _names_nothing(frame, frames[:at]):
            _take_earlier(frame, frames[:at])


def _turn(frame: Frame, before: Frame) -> None:
    """Change the mood of a clause for that of the one before it."""
    is_bare = not frame.verbs and not frame.words and not _JUDGES.search(frame.clause.text)
    if not frame.mood and before.mood in BANS and frame.clause.link in _ATTACHED and frame.has_things and is_bare:
        frame.mood, frame.verbs, frame.is_by_hand = before.mood, list(before.verbs), before.is_by_hand
    is_named = bool(frame.commands or frame.flags or frame.paths)
    if frame.mood == "forbid" and before.mood in ("", "told") and not is_named and _BARE_NOT.match(frame.clause.text):
        frame.mood = "told"  # ``it checks names, not values``


def _take_place(frame: Frame, earlier: Sequence[Frame]) -> None:
    """Give ``nobody pushes there`` the branch that was named before it."""
    places = next((one for one in reversed(earlier) if one.branches or one.paths), None)
    if places and all(row.of("does") for row in frame.rows):
        frame.branches, frame.paths = places.branches, places.paths


def _names_nothing(frame: Frame, earlier: Sequence[Frame]) -> bool:
    if frame.has_things:
        return False
    is_loose = any(one.has_things for one in earlier) and not frame.verbs and not frame.clause.text.startswith("no ")
    return frame.is_pronoun or not frame.words or is_loose


def _take_earlier(frame: Frame, earlier: Sequence[Frame]) -> None:
    moods = ("", "order", "told", "only", "permit", *BANS)
    nearest = next((one for one in reversed(earlier) if (one.has_things or one.words) and one.mood in moods), None)
    if nearest is None or (nearest.mood == "order" and frame.verbs and not frame.is_pronoun):
        return
    if nearest.mood in ("permit", "only", "order"):
        nearest.mood = "told"
    frame.take(nearest)


def _subcommand(frame: Frame, before: Frame) -> str:
    """Return the word of a clause that is what the program named before it does: ``terraform plan is fine, apply is mine``."""
    named = before.commands[0].words
    if len(named) < 2:
        return ""
    return next(
        (
            token.text
            for token in frame.clause.tokens
            if stem_of(token.text) in subcommands()
            and token.text not in ("run", "use", "start", "set", "make", "get", "go")
        ),
        "",
    )
