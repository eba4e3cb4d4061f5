"""The place from which a client itself changed the beginning of its prompts: the provider writes all behind it again. Pure."""

from dataclasses import dataclass

from undrift.core.window.window import Window
from undrift.values.items import outlined

__all__ = ["ClientChange", "tokens_before"]


@dataclass(frozen=True, slots=True)
class ClientChange:
    """The first part of a prompt that differs from the client's earlier requests of this conversation.

    Args:
        part: ``model``, a field of the body such as ``system`` or ``tools``, or an item, as in ``message 12``.
        tokens: The tokens of the prompt before that part; 0 if the whole history is written again.
        byte: The first byte that differs, or at which a changed item begins, counted from the start of the body; None:
            unknown.
    """

    part: str
    tokens: int
    byte: int | None = None


def tokens_before(window: Window, number: int) -> int:
    """Return the tokens that are sent of the items before this one."""
    found = window.tokens_after  # the items behind it are few, as a rule
    for place in range(number, len(window.items)):
        sent, outline = window.sent.get(place), outlined(window.items, place)
        found -= sent.tokens if sent else outline.tokens if outline else window.items[place].tokens
    return found
