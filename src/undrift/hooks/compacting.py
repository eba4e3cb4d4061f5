"""Before a compaction: records the session and prepares the text, while the client waits for its summary.

Law: nothing is printed: it would reach the prompt of the summary. The work is done in a process of its own.
"""

from undrift.hooks import aside, home
from undrift.hooks.call import HookCall
from undrift.hooks.reply import HookReply

__all__ = ["ANNOUNCED", "WAIT_MS", "work"]

ANNOUNCED = "announced"
"""The file in a session's folder with the trigger of the newest compaction."""

WAIT_MS = 8_000
"""For a text that another process is preparing; all parts are asked for at once."""


def work(call: HookCall) -> HookReply:
    """Start the work, or with `now` do it."""
    if call.options.now:
        _do(call)
        return HookReply()
    with call.open():
        pass  # what cannot be read is reported in this call's log line, as is a home that cannot be written to
    home.write_small(call.folder() / ANNOUNCED, call.trigger.encode("utf-8", "replace"))
    aside.start_process({**call.payload, "at_ms": call.at_ms}, call.options)
    return HookReply()


def _do(call: HookCall) -> None:
    if call.source == aside.BEGUN:
        from undrift.hooks.learning import learn_earlier

        learn_earlier(call)
        return
    with call.open() as transcript:
        from undrift.hooks.sweep import sweep_one
        from undrift.hooks.work import prepare, record

        try:
            if call.source != aside.EARLIER:
                with home.locked(call.folder() / "lock", WAIT_MS):
                    prepare(call, transcript)
        finally:
            record(call, transcript)
        sweep_one(call)
