"""A session begins or is resumed: says what another session of its folder left open."""

from undrift.errors import SettingsError
from undrift.hooks import aside
from undrift.hooks.call import HookCall
from undrift.hooks.reply import HookReply
from undrift.settings import Settings
from undrift.values.clock import now_ms

__all__ = ["work"]

_ID_CHARACTERS = 36
"""The length of a UUID, with which both clients' file names end."""


def work(call: HookCall) -> HookReply:
    """Return the offer of open work; have what it names recorded, and earlier sessions read."""
    if call.options.part != 1:
        return HookReply()
    from undrift.hooks.earlier import left_open

    if call.source == "startup" and _learns():
        aside.begin(call)
    offer, path = left_open(call, now_ms=now_ms())
    if path is not None:  # what is offered can be recalled
        aside.record(call, path.stem[-_ID_CHARACTERS:], str(path))
    return HookReply(offer)


def _learns() -> bool:
    """Tell whether the settings let sessions teach; a wrong setting is reported elsewhere."""
    try:
        return Settings.from_environment().learns == "all"
    except SettingsError:
        return False
