"""The sweep that the setting `retention` asks for, in the process that a hook starts aside.

Law: nothing is swept unless the person has set a limit; one session for each compaction, so that it is over soon.
"""

from undrift.core.home_age import swept_by
from undrift.hooks.call import HookCall
from undrift.settings import Settings
from undrift.stores.opening import open_store
from undrift.values.clock import now_ms
from undrift.values.retention import Retention
from undrift.values.scope import Scope
from undrift.window.sweep import sweep_sessions

__all__ = ["sweep_one"]


def sweep_one(call: HookCall) -> int:
    """Sweep the session of the call's project that was not used for longest, if it is beyond the limits; return the number of
    its originals.

    Raises SettingsError: a setting is wrong. Raises StoreError: the store refused; the next call continues.
    """
    limits = Retention.of(Settings.from_environment().retention)
    if limits.is_off:
        return 0
    with open_store(call.place(), Scope(), create=False) as store:
        at_ms = now_ms()
        chosen = swept_by(limits, store.sweepable(), now_ms=at_ms)[:1]
        return sweep_sessions(store, chosen, at_ms=at_ms) if chosen else 0
