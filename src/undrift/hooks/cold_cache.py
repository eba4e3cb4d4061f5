"""Before a message: shows the person what it writes again if the prompt cache is cold. Nothing reaches the model."""

from undrift.hooks.call import HookCall, text_of
from undrift.hooks.reply import HookReply
from undrift.values.clock import now_ms

__all__ = ["work"]


def work(call: HookCall) -> HookReply:
    """Return the sentence that the message about to be sent writes the whole prompt again, if that is sure.

    A message that no user typed, as a wake-up of the client's own, gets none.
    """
    text = _sentence(call) if text_of(call.payload, "source") in ("", "user") else ""
    return HookReply(sentence=f"undrift: {text}") if text else HookReply()


def _sentence(call: HookCall) -> str:
    from undrift.hooks.gateway import sentences, window_of

    window = window_of(call.session_id, call.home)
    if window is not None:  # it knows what leaves before the request
        return " ".join(sentences(window, "text", "away", "free_prune"))
    from undrift.hooks.costs import notices_of

    try:
        transcript = call.open()
    except FileNotFoundError:  # the first message: nothing was sent before it
        return ""
    with transcript:
        notices = notices_of(transcript, call.format, now_ms())
    return next((notice.text for notice in notices if notice.kind == "away"), "")
