"""The texts that undrift put into a prompt: shortened blocks, tombstones, notes and pins, made again from its decisions.

Law: a text counts only by its hash, so one that was made otherwise than then is not taken for what was sent.
"""

from collections import defaultdict
from collections.abc import Mapping

from undrift.core.window.additions import pin_text
from undrift.core.window.log import place_of
from undrift.core.window.sent_prompt import ID_CHARACTERS, own_hash
from undrift.core.window.shrink import shortened
from undrift.errors import RecallError, StoreError
from undrift.stores.contract import Store
from undrift.values.window import Decision

__all__ = ["OurTexts"]


class OurTexts:
    """The texts of one session, by the item in which they stand."""

    def __init__(self, store: Store, session_id: str) -> None:
        self._store = store
        self._pins = {pin.ref: pin.entry for pin in store.pins(session_id)}
        self._about: dict[str, list[Decision]] = defaultdict(list)
        for decision in store.decided(session_id):
            self._about[place_of(decision.entry_id)[:ID_CHARACTERS]].append(decision)

    def of_item(self, item_id: str) -> Mapping[str, tuple[str, Decision]]:
        """Return the texts that may stand in an item, by their hash. `item_id`: the beginning of its chain id."""
        found = {}
        for decision in self._about.get(item_id, ()):
            if text := self._text_of(decision):
                found[own_hash(text)] = text, decision
        return found

    def _text_of(self, decision: Decision) -> str:
        if decision.kind == "pinned":
            pin = self._pins.get(decision.detail.get("pin", ""))
            return "" if pin is None else pin_text(pin)
        if decision.kind in ("evicted", "noted"):
            return str(decision.detail.get("text") or "")
        if decision.kind == "pruned" or not decision.ref:
            return ""
        try:
            return shortened(self._store.original(decision.ref).entry, decision)[0]
        except (RecallError, StoreError, KeyError):
            return ""
