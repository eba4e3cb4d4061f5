"""Every error that undrift raises, in one tree.

::

    UndriftError
    ├── SettingsError        a setting is wrong; names variable, value and rule; only at start-up
    ├── InputError           what the caller gave is wrong
    │   ├── WindowError      an entry or a list of entries
    │   ├── TaskError        a change of a task that is not possible; tells the agent what to do next
    │   │   └── SummaryRejected  a task cannot be completed with that result_summary
    │   ├── DispatchError    a plan or a run of one; names what is wrong and the remedy
    │   │   └── ContractError    what an agent printed is no result; `code` is the contract's own name for it
    │   ├── TranscriptError  a recorded session; names file (when known) and remedy
    │   └── WireError        a provider body; carries the path into the JSON
    │       └── Declined     a request that cannot be managed; carries the answer to give
    └── StoreError           the disk, or what is on it
        ├── StoreBusy        another process holds the lock beyond the time-out
        ├── StoreConflict    another agent changed the same memory first; repeat the change on top of it
        ├── StoreVersionError  the file was written by a newer undrift
        ├── StoreCorrupt     what was read does not match its SHA-256
        ├── DimensionError   a vector of another length than its index holds
        ├── PartError        an embedder or re-ranker of the user's own cannot be used
        └── RecallError      no original with that reference
            └── GoneError        it was purged or swept; says when

Law: the core raises only `InputError` and its kind; a message says whose fault it is and what to do.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

__all__ = [
    "ContractError",
    "Declined",
    "DimensionError",
    "DispatchError",
    "GoneError",
    "InputError",
    "PartError",
    "RecallError",
    "SettingsError",
    "StoreBusy",
    "StoreConflict",
    "StoreCorrupt",
    "StoreError",
    "StoreVersionError",
    "SummaryRejected",
    "TaskError",
    "TranscriptError",
    "UndriftError",
    "WindowError",
    "WireError",
]


class UndriftError(Exception):
    """Base of every error raised on purpose.

    >>> try:
    ...     Settings(policy="newest")
    ... except UndriftError as error:
    ...     print(error)
    policy='newest': must be worth or recency
    """


class SettingsError(UndriftError):
    """A setting is invalid, or two names of one setting disagree.

    >>> Settings.from_environment({"UNDRIFT_BUDGET_TOKENS": "many"})
    Traceback (most recent call last):
    undrift.errors.SettingsError: UNDRIFT_BUDGET_TOKENS='many': must be auto, a share such as 60%, or an integer of at least 1 (in the environment also 60k or 0.5m)
    """


class InputError(UndriftError):
    """The caller's input is wrong."""


class WindowError(InputError):
    """An entry, or a list of entries, breaks the rules of a window."""


class TaskError(InputError):
    """A change of a task is not possible; nothing was changed, and the message tells the agent what to do next."""


class SummaryRejected(TaskError):
    """A task cannot be completed with that summary; it stays as it is until it is completed with a better one.

    >>> with Session.open("run-7", home=home) as session:
    ...     _ = session.start_task("fix-login")
    ...     try:
    ...         session.complete_task("fix-login", result_summary="done")
    ...     except SummaryRejected as error:
    ...         print(type(error).__name__)
    SummaryRejected
    """


class DispatchError(InputError):
    """A plan cannot be dispatched, or its run cannot continue as asked."""


class ContractError(DispatchError):
    """The output of an agent holds no result; `code` is the name that the contract has for the fault."""

    def __init__(self, code: Literal["marker_missing", "json_parse_failed", "schema_invalid"], message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class TranscriptError(InputError):
    """A recorded session cannot be read."""


class WireError(InputError):
    """A provider body has the wrong shape; `path` leads into its JSON, as in ``messages[3].content[0]``."""

    def __init__(self, message: str, *, path: str = "") -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path


class Declined(WireError):
    """A request of a message thread: answer it with `status` and `body`, and the client sends its whole history."""

    status: ClassVar[int] = 400
    body: ClassVar[Mapping[str, Any]] = {
        "type": "error",
        "error": {
            "type": "invalid_request_error",
            "message": "message threads are not supported here: send the whole history with each request",
            "details": {"error_code": "thread_unsupported_request"},
        },
    }


class StoreError(UndriftError):
    """The store refused or failed; nothing was changed.

    >>> with Session.open("run-6", home=home) as session:
    ...     pass
    >>> session.tasks()  # after the end of the session
    Traceback (most recent call last):
    undrift.errors.StoreError: session 'run-6' is closed; open it again
    """


class StoreBusy(StoreError):
    """Another process holds the store's lock beyond the time-out."""


class StoreConflict(StoreError):
    """Another agent changed the same, or said something about it, first; nothing was written, and a repetition may succeed."""


class StoreVersionError(StoreError):
    """The store was written by a newer undrift; it is refused and never reset."""


class StoreCorrupt(StoreError):
    """The data on disk do not match their SHA-256, or are no database."""


class DimensionError(StoreError):
    """A vector has another length than the index: another embedder made it, and two embedders never mix."""


class PartError(StoreError):
    """An embedder or a re-ranker that a setting names cannot be used; the message names cause and remedy."""


class RecallError(StoreError):
    """No original is known under that reference."""


class GoneError(RecallError):
    """The original was purged or swept; the message says when."""
