"""Before a call of a tool: says which rule it plainly contradicts, in the words of the person who laid it down.

Law: it never allows or refuses a call by itself, and no store is opened. The setting `rule_guard` is read from the user's own
file alone, as a project controls the environment of a hook.
"""

import json
import sys
from pathlib import Path

from undrift.errors import SettingsError
from undrift.hooks.call import HookCall, text_of
from undrift.hooks.home import read_small, write_small
from undrift.hooks.reply import HookReply
from undrift.hooks.rules import load_rules_and_past
from undrift.settings import SETTINGS, environment
from undrift.settings.files import from_files

__all__ = ["SAID", "say_again", "work"]

SAID = "guarded.json"
"""In the folder of a session: how often each rule was said in this window."""

_MOST_TIMES = 3
"""A rule is said so many times in a window at the setting ``warn``; ``ask`` asks each time."""

_HEAD_CHARACTERS = 1_000
_DEEPEST = 40
_ASKS = frozenset({"claude"})
"""The clients that can be made to ask the person; the others take a refusal only, and a hook refuses nothing."""


def work(call: HookCall) -> HookReply:
    """Return the sentence of the rule that a call contradicts; nothing if it contradicts none, or the guard is off."""
    tool, given = text_of(call.payload, "tool_name"), call.payload.get("tool_input")
    folder = call.folder()
    if not tool or not isinstance(given, dict):
        return HookReply()
    known, past = load_rules_and_past(folder)
    rules = tuple(rule for rule in known if not rule.lifts)
    if not rules:
        return HookReply()
    mode = _mode()
    if mode == "off":
        return HookReply()
    from undrift.core.rules.contradicted import contradicted  # only a session with rules needs it
    from undrift.profiles import acts_of

    found = contradicted(rules, acts_of(tool, given), cwd=call.cwd, branch=_branch(call.cwd), past=past)
    if found is None:
        return HookReply()
    asks = mode == "ask" and call.client in _ASKS
    if not asks and not _may_say(folder, found.rule.id):
        return HookReply()
    from undrift.core.text.secrets import mask

    what = mask(found.what).text
    laid_down = "\n".join((found.rule.text, *found.rule.later))
    reason = f"This call contradicts a rule of the user ({found.rule.where}): {laid_down}\nWhat contradicts it: {what}"
    then = "do not make the call" if asks else "undo what the call did"
    context = f"{reason}\nIf the rule holds here, stop here: {then}, and ask the user."
    fields = {"permissionDecision": "ask", "permissionDecisionReason": f"undrift: {reason}"} if asks else {}
    sentence = "" if asks else f"undrift: a call contradicts your rule: {found.rule.text} ({what})"
    return HookReply(context, sentence, fields)


def say_again(folder: Path) -> None:
    """Count from 0 again: after a compaction the agent has not heard what was said before it."""
    (folder / SAID).unlink(missing_ok=True)


def _mode() -> str:
    """Return the setting of the user's own file; its default if the file sets none, or cannot be read.

    A mistyped file must not switch the guard off; `undrift doctor` names the fault.
    """
    own = {name: value for name, value in environment().items() if name == "APPDATA" and sys.platform == "win32"}
    try:
        placed = from_files(SETTINGS, None, own).get("rule_guard")
    except SettingsError:
        placed = None
    return str(placed.value if placed else next(one.default for one in SETTINGS if one.name == "rule_guard"))


def _may_say(folder: Path, rule: str) -> bool:
    """Note that a rule is said once more; False if it was said often enough."""
    try:
        value = json.loads(read_small(folder / SAID) or b"{}")
    except (ValueError, RecursionError):
        value = {}
    times = value if isinstance(value, dict) else {}
    before = times.get(rule, 0)
    if type(before) is not int or before >= _MOST_TIMES:
        return False
    write_small(folder / SAID, json.dumps({**dict(list(times.items())[-400:]), rule: before + 1}).encode("ascii"))
    return True


def _branch(cwd: str) -> str:
    """Return the branch that is checked out in a folder, from the files of git; empty if that is not plain."""
    place = Path(cwd)
    if not place.is_absolute():
        return ""
    for folder in (place, *list(place.parents)[:_DEEPEST]):
        marker = folder / ".git"
        if marker.is_dir():
            return _named(marker / "HEAD")
        if marker.is_file():
            pointed = _head(marker).removeprefix("gitdir:").strip()
            return _named(Path(folder, pointed) / "HEAD") if pointed else ""
    return ""


def _named(head: Path) -> str:
    text = _head(head).strip()
    return text.removeprefix("ref: refs/heads/") if text.startswith("ref: refs/heads/") else ""


def _head(path: Path) -> str:
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            return file.read(_HEAD_CHARACTERS).decode("utf-8", "replace")
    except OSError:
        return ""
