"""The original of a session under a reference, also under the one that its texts show after a fork.

Law: a session returns its own originals alone. A fork shows the references of the session that it was forked from, because
the model has seen them; it returns its own original for each.
"""

from undrift.errors import InputError, RecallError
from undrift.stores.contract import Store
from undrift.values.window import Original

__all__ = ["original_of"]


def original_of(store: Store, session_id: str, ref: str) -> Original:
    """Return the original of a session under a reference.

    Raises RecallError: nothing has it. Raises InputError: it belongs to another session.
    """
    try:
        original = store.original(ref)
        if original.session_id != session_id:
            raise InputError(f"{ref} belongs to another session")
    except (RecallError, InputError):
        shown = (one.ref for one in store.decided(session_id) if one.ref and one.detail.get("shown") == ref)
        own = next(shown, "")
        if not own:
            raise
        return store.original(own)
    return original
