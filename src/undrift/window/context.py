"""The values that all parts of one session share.

Law: frozen. A part is given the context and its siblings; it calls nothing above itself.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from undrift.core.tasks.life import current
from undrift.core.text.tokens import counter
from undrift.settings import Settings
from undrift.stores.contract import Store
from undrift.stores.exports import Exports
from undrift.stores.projects import place_at, user_records
from undrift.values.clock import Clock
from undrift.values.closing import Sharing
from undrift.values.extras import command_for
from undrift.values.memory import UNKNOWN_TASK, RunContext
from undrift.values.project import Place
from undrift.window.scratchpad import ScratchpadFile
from undrift.window.session_log import SessionLog

__all__ = ["SessionContext"]

_SCRATCHPAD_LIMIT_BYTES = 8_192
"""About 2,000 tokens: the part of the notes that stands in the window, like the longest user text that stays whole."""


@dataclass(frozen=True, slots=True)
class SessionContext:
    """The state of one open session that all its parts share.

    Args:
        count: Counts the tokens of a text, by the setting `token_counter`.
        sharing: Admits one thread at a time, and none after the end.
        home: The folder under which everything is kept.
        user_records: The folder of the memories that hold in every project; None: the project's own store has them.
        place: The folder of the store, and the project.
    """

    id: str
    store: Store
    log: SessionLog
    settings: Settings
    clock: Clock
    count: Callable[[str], int]
    exports: Exports
    scratchpad: ScratchpadFile
    sharing: Sharing
    home: Path
    user_records: Path | None = None
    place: Place | None = None

    @classmethod
    def of(
        cls,
        session_id: str,
        store: Store,
        settings: Settings,
        clock: Callable[[], int],
        *,
        home: str | os.PathLike[str],
        keeps_notes: bool = True,
    ) -> Self:
        """Read the state of a session from a store. Raises StoreError: the store cannot be read.

        `home`: the folder of the store; a `Place` also tells where the agent's files lie. `clock`: Unix milliseconds. `keeps_notes`: false: the session makes no active_context.md and reads none.
        """
        mask_secrets = settings.mask_secrets
        place = home if isinstance(home, Place) else place_at(Path(home))
        exports = Exports(
            place.files,
            scratchpad_limit_bytes=_SCRATCHPAD_LIMIT_BYTES,
            is_hostile=place.files != place.records,
        )
        return cls(
            session_id,
            store,
            SessionLog(store, session_id, mask_secrets=mask_secrets),
            settings,
            Clock(clock),
            counter(settings.token_counter, command_for),
            exports,
            ScratchpadFile(exports if keeps_notes else None, session_id, mask_secrets=mask_secrets),
            Sharing(f"session {session_id[:64]!r}"),
            place.home,
            None if place.project is None else user_records(place),
            place,
        )

    @property
    def run(self) -> RunContext:
        """The task, its phase and its number, for new facts: the task in progress, or the last one."""
        tasks = self.log.tasks
        if (task := current(tasks)) is not None:
            return RunContext(self.id, task.id, task.phase_index, task.ordinal)
        last = max(tasks.by_id.values(), key=lambda one: one.ordinal, default=None)
        return (
            RunContext(self.id) if last is None else RunContext(self.id, UNKNOWN_TASK, last.phase_index, last.ordinal)
        )
