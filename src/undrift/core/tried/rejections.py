"""Finds what the user said no to: a call that was refused, or the agent's last step, in a message that refuses it plainly. Pure.

Law: only words that the user typed count. A question, or a no that ends a talk, rejects nothing. A message refuses only what the
agent did or proposed since the user's last message: a "no" before a noun, or behind an answer, is no refusal.
"""

import re
from collections.abc import Mapping, Sequence

from undrift.core.text.typed import user_texts
from undrift.core.tried.paths import short_path
from undrift.core.tried.statements import sentences_of
from undrift.profiles import acts_of
from undrift.profiles.reading import is_reading
from undrift.values.attempt import Attempt
from undrift.values.window import ContextEntry

__all__ = ["rejections"]

_REFUSED = re.compile(
    r"\s{0,9}(?:the user doesn't want to (?:proceed|take this action)|.{0,80}\brejected by (?:the )?user\b)",
    re.IGNORECASE,
)
_USERS_WORDS = re.compile(r"the user said:\s*(?P<words>\S.*)", re.DOTALL)
_NO = re.compile(
    r"(?:no|nope|nah)(?:\s{0,3}[,.!;:\u2014-]+\s{0,3}|\s+)(?P<then>\S.*)"
    r"|(?:please )?(?:undo|revert|roll back|take back)\b|stop \w{2,30}ing\b"
    r"|(?:that'?s|this is|it'?s) (?:wrong|not (?:what|right|how))|not (?:what i|like th)|i (?:did ?n'?t|did not|never) (?:ask|want)",
    re.IGNORECASE,
)
_DIRECTS = re.compile(
    r"(?:please )?(?:don'?t|do not|never|not|stop|undo|revert|leave|keep|use|put|drop|remove|i (?:did ?n'?t|did not|never|want)"
    r"|we (?:want|need|should)|you should|it should|let'?s|instead|rather)\b",
    re.IGNORECASE,
)
"""The words behind a no that refuses: what to do, or not to do, instead. A report ("no client id is set") begins otherwise."""

_STEP = re.compile(
    r"\b(?:shall|should) (?:i|we)\b|\b(?:want|like) me to\b"
    r"|^(?:i will|i'?ll|i'?m going to|i (?:propose|suggest|recommend)|i would|i'?d|my recommendation|next,? i)\b",
    re.IGNORECASE,
)
"""An agent's sentence that proposes a step."""

_FRIENDLY = re.compile(
    r"\b(?:thanks?|thank you|looks? good|lgtm|all good|that'?s (?:all|it|fine|ok)|perfect|great|go ahead)\b",
    re.IGNORECASE,
)
_PAUSE = re.compile(
    r"\b(?:first\W{0,3}$|hang on|hold on|wait|pause|one sec|later|keep going|continue|carry on|go on|done it|let me|we are back|i'?m running)\b|\?(?:\s|$)"
    r"|the user wants to clarify|your questions?\b",
    re.IGNORECASE,
)
"""The user has a question, or wants to do or see something before."""

_WORDS_CHARACTERS = 300
_WHAT_CHARACTERS = 160
_LINES = 200


def rejections(entries: Sequence[ContextEntry]) -> list[Attempt]:
    """Return what the user said no to and did not let pass later, each with the user's own words as the reason."""
    typed = {entry.id for entry in user_texts(entries)}
    calls: dict[str, tuple[str, str]] = {}
    found: dict[str, Attempt] = {}
    step = changed = ("", "")
    refused: tuple[str, tuple[str, ...]] | None = None
    for place, entry in enumerate(entries):
        about = entry.metadata or {}
        kind, call = about.get("kind"), calls.get(entry.pair_id or "")
        if kind == "call":
            calls[entry.pair_id or ""] = (_what(about), entry.id)
            refused = None
        elif kind == "text" and about.get("role") == "assistant":
            step = (_proposed(entry.content), entry.id)
        elif kind == "result" and call is not None:
            if about.get("is_error") is not True:
                found.pop(call[0], None)  # the user let it pass in the end
                changed = call if call[0] else changed
            elif call[0] and _REFUSED.match(entry.content[:400]):
                refused = (call[0], (call[1], entry.id))
                if (words := _USERS_WORDS.search(entry.content[:2_000])) is not None:
                    _note(found, *refused, words["words"], place)
                    refused = None
        elif entry.id in typed:
            last = step if step[0] else changed
            if refused is not None:
                _note(found, refused[0], (*refused[1], entry.id), entry.content, place)
            elif last[0] and _is_no(entry.content):
                _note(found, last[0], (last[1], entry.id), entry.content, place)
            refused, step, changed = None, ("", ""), ("", "")
    return list(found.values())


def _note(found: dict[str, Attempt], what: str, entry_ids: tuple[str, ...], words: str, place: int) -> None:
    """Keep what the user said no to; a question, or a wish to wait, is no rejection."""
    flat = _flat(words)
    if flat and not flat.endswith("?") and not _PAUSE.search(flat[:_WORDS_CHARACTERS]):
        found.pop(what, None)
        reason = flat[:_WORDS_CHARACTERS]
        found[what] = Attempt("rejection", what, "the user said no", reason, "", entry_ids, place)


def _is_no(text: str) -> bool:
    """Tell whether a message refuses: it begins with a no and says what to do instead, or asks to take something back."""
    flat = _flat(text)
    if len(flat) > _WORDS_CHARACTERS or _FRIENDLY.search(flat) or (said := _NO.match(flat)) is None:
        return False
    return said["then"] is None or _DIRECTS.match(said["then"]) is not None


def _what(about: Mapping[str, object]) -> str:
    """Return the command or the file of a call that changes something; empty for a look, a question or a plan."""
    given = about.get("input")
    acts = acts_of(str(about.get("tool_name") or ""), given if isinstance(given, Mapping) else {})
    for act in acts:
        if act.kind == "shell" and act.command and not is_reading(act):
            return f"`{_flat(act.command)[:_WHAT_CHARACTERS]}`"
        if act.kind == "edit" and act.path:
            before = {line.strip() for text in act.old for line in text.split("\n")[:_LINES]}
            after = (line.strip() for text in act.new for line in text.split("\n")[:_LINES])
            line = next((line for line in after if line and line not in before), "")
            shown = short_path(act.path)
            return f"{shown}: `{line[:_WHAT_CHARACTERS]}`" if line else shown
    return ""


def _proposed(text: str) -> str:
    """Return the last sentence at the end of an agent's text that proposes a step; empty if none does."""
    steps = [one for one in sentences_of(text[-1_400:]) if len(one) >= 15 and _STEP.search(one)]
    return steps[-1][:_WHAT_CHARACTERS] if steps else ""


def _flat(text: str) -> str:
    return " ".join(text[:2_000].split())
