"""The wire forms by name. Pure; a form is loaded on first use."""

from undrift.errors import InputError
from undrift.wire.form import Form

__all__ = ["WIRES", "form_of"]

WIRES = ("anthropic", "openai-chat", "openai-responses", "gemini")
"""The names that `Session.prepare` takes."""


def form_of(wire: str) -> Form:
    """Return the wire form with this name. Raises InputError: the name is not in `WIRES`."""
    if wire == "anthropic":
        from undrift.wire import anthropic

        return anthropic
    if wire == "openai-chat":
        from undrift.wire import openai_chat

        return openai_chat
    if wire == "openai-responses":
        from undrift.wire import openai_responses

        return openai_responses
    if wire == "gemini":
        from undrift.wire import gemini

        return gemini
    raise InputError(f"wire must be one of {', '.join(WIRES)}, not {wire!r}")
