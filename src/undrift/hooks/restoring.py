"""After a compaction: gives back a part of what the session knew."""

from dataclasses import replace

from undrift.hooks import aside, home
from undrift.hooks.call import HookCall
from undrift.hooks.compacting import ANNOUNCED, WAIT_MS
from undrift.hooks.prepared import PreparedText, load
from undrift.hooks.reply import HookReply

__all__ = ["work"]


def work(call: HookCall) -> HookReply:
    """Return the part of the text that is asked for; the first one speaks to the person, and is recorded, for all."""
    prepared = _prepared(call)
    text = prepared.parts[call.options.part - 1] if len(prepared.parts) >= call.options.part else ""
    if call.options.part != 1:
        return HookReply(text)
    from undrift.hooks.given import record_given
    from undrift.hooks.rule_guard import say_again

    try:
        say_again(call.folder())
        record_given(call, prepared)
    except OSError as error:  # what was prepared is given all the same
        home.note(call.home, f"{call.client}: what was given back was not recorded: {error}")
    return HookReply(text, prepared.contents.sentence() if text else "")


def _prepared(call: HookCall) -> PreparedText:
    with call.open() as transcript:
        folder = call.folder()
        found = load(folder, transcript, call.format)
        if found is None:
            with home.locked(folder / "lock", WAIT_MS):
                found = load(folder, transcript, call.format)
                if found is None:  # PreCompact's process has not begun yet, nor has the client said how it was asked
                    from undrift.hooks.work import prepare

                    announced = (home.read_small(folder / ANNOUNCED) or b"").decode("utf-8", "replace")
                    found = prepare(replace(call, trigger=announced), transcript)
                    aside.record(call, call.session_id, call.transcript)
    return found
