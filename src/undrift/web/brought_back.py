"""The texts that were brought back or pinned in a session, and their state: by the gateway's store, and by the hooks' file.

Law: a state is read from what is on disk; ``sent`` means that a request or a message had it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from undrift.core.text.refs import ref_of
from undrift.core.window.additions import BACK
from undrift.hooks.brought import brought_texts
from undrift.stores.contract import Store
from undrift.stores.files import PURGED, safe_name
from undrift.values.window import ContextEntry
from undrift.web.source import PageSource
from undrift.web.watching import WatchedSession
from undrift.window.decisions import Decisions
from undrift.window.pinning import KINDS, unpinned_in

__all__ = ["Brought", "HookTexts", "PIN_TYPE", "pinned_text"]

PIN_TYPE: Literal["spec"] = "spec"
"""The type of a block that a person pins from the page."""


def pinned_text(entry: ContextEntry) -> str:
    """Return the text of a pin of a block: what it is, and its words."""
    return f"{entry.what}\n{entry.content}" if entry.what else entry.content


_HEARS_MESSAGES = frozenset({"claude"})
"""The clients whose hooks can say something with a message."""


class Brought:
    """The pins of one session of the store."""

    NONE: ClassVar[Mapping[str, Any]] = {"back": "", "back_pin": "", "pin": ""}

    def __init__(self, store: Store, session_id: str) -> None:
        unpinned = unpinned_in(store.operations(session_id, KINDS))
        self._session_id = session_id
        decided = store.decided(session_id)
        self._decisions = Decisions(session_id, decided, store.pins(session_id), unpinned)
        held = {ref: pin for ref, pin in self._decisions.pins.items() if ref not in unpinned}
        self._back = {str(pin.meta("of")): ref for ref, pin in held.items() if pin.meta("made_of") == BACK}
        self._pins = {ref for ref, pin in held.items() if not pin.meta("made_of")}
        gone = {decision.entry_id for decision in decided if decision.kind == "pruned"}
        self._gone = {str(d.detail.get("pin")) for d in decided if d.kind == "pinned" and d.entry_id in gone}

    def state(self, ref: str, entry: ContextEntry | None) -> Mapping[str, Any]:
        """Return ``back``: empty, ``waiting`` or ``sent``; and the references to undo it, and to undo its pin."""
        back = self._back.get(ref, "") if ref else ""
        back = "" if back in self._gone else back  # it left again with a prune, and can be brought back again
        text = "" if entry is None else pinned_text(entry)
        pin = ref_of(self._session_id, f"pin:{ref_of(PIN_TYPE, text)}")
        return {
            "back": "" if not back else "sent" if back in self._decisions.placed_pins else "waiting",
            "back_pin": back,
            "pin": pin if pin in self._pins else "",
        }


class HookTexts:
    """The texts that the hooks say in one session."""

    def __init__(self, source: PageSource, one: WatchedSession) -> None:
        self.folder: Path | None = None
        """The session's folder of the hooks; None: no hook has run in it, or the session was purged."""
        if one.client in _HEARS_MESSAGES and one.session_id:
            folder = source.home / "hooks" / safe_name(f"{one.client}-{one.session_id}")
            if folder.is_dir() and not (folder / PURGED).exists():
                self.folder = folder
        self.texts = () if self.folder is None else brought_texts(self.folder)
        self._compacted_ms = max((bound.at_ms or 0 for bound in one.figures.boundaries), default=0)

    @property
    def is_here(self) -> bool:
        """True if a hook has run in this session, so that it says what is brought back."""
        return self.folder is not None

    def state(self, ref: str) -> Mapping[str, Any]:
        """Return the state of a block; see `Brought.state`."""
        found = next((one for one in reversed(self.texts) if one.ref == ref), None)
        if found is None or (found.said_ms and not found.stays and found.said_ms < self._compacted_ms):
            return Brought.NONE  # a compaction removed it again
        is_back = "sent" if found.said_ms else "waiting"
        return {"back": "" if found.stays else is_back, "back_pin": ref, "pin": ref if found.stays else ""}
