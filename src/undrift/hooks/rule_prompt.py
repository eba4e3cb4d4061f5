"""A message is about to be sent: the rules in it are known at once, for the calls that follow it. Only rules that were added or
removed since are printed, for the agent.

Law: the person waits, so a message without a word that lays down, lifts or limits is only counted. The next compaction finds
the rules that it may still hold.
"""

import re

from undrift.hooks import home
from undrift.hooks.call import HookCall
from undrift.hooks.reply import HookReply
from undrift.hooks.rules import count_request, has_changed

__all__ = ["work"]

_MOST_CHARACTERS = 1 << 20
_CUE = re.compile(
    r"\b(?=[abdefhiklmnopqrsuw])(?:never|always|don'?t|dont|not|no|nothing|only|must|should|stop|quit|avoid|without|unless|instead|off|hands|alone|frozen|leave"
    r"|forbidden|banned|allowed|may|forget|ignore|lifted|longer|again|except|rules?|ask|before|every|each|any|prefer|use|keep"
    r"|from now on|read-only|untouched)\b",
    re.IGNORECASE,
)


def work(call: HookCall) -> HookReply:
    """Write the rules of the message into the session's folder, and say which rules were added or removed by a command."""
    prompt = call.payload.get("prompt")
    if call.options.part != 1 or not isinstance(prompt, str) or not 0 < len(prompt) <= _MOST_CHARACTERS:
        return HookReply()
    if prompt.lstrip().startswith("<"):  # a client's own words
        return HookReply()
    folder = call.folder()
    is_new = has_changed(folder)
    if not is_new and _CUE.search(prompt.replace("\u2019", "'")) is None:
        with home.locked(folder / home.RULES_LOCK, home.RULES_WAIT_MS):
            count_request(folder)
        return HookReply()
    from undrift.hooks.rule_keeper import add_message

    return HookReply(add_message(call, prompt, reads_again=is_new))
