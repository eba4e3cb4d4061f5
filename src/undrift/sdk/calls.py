"""Tells which requests of an SDK are managed, and in which form. Pure.

Law: a request is managed if its path and its body are those of a prompt with a history. All others pass.
"""

import re
from dataclasses import dataclass

from undrift.wire.form import Form
from undrift.wire.forms import form_of

__all__ = ["SdkCall", "call_of"]

_ENDINGS = (
    ("/messages", "anthropic"),
    ("/chat/completions", "openai-chat"),  # Azure has a deployment's name before it
    ("/responses", "openai-responses"),
)
_WITH_MODEL = re.compile(
    r"/(?P<model>[^/:]+):(?P<act>generateContent|streamGenerateContent|rawPredict|streamRawPredict)"
)
_COUNTS = "count-tokens"  # Vertex AI has it in place of a model when it counts


@dataclass(frozen=True, slots=True)
class SdkCall:
    """A request for the model's next answer. `model`: its name if it stands in the path."""

    wire: str
    model: str | None = None

    @property
    def form(self) -> Form:
        """The form of the body."""
        return form_of(self.wire)


def call_of(method: str, path: str) -> SdkCall | None:
    """Return the call that a request to this path makes. None means: it is not managed.

    A path may begin with that of a company's own server, so its end alone decides.
    """
    if method.upper() != "POST":
        return None
    path = path.rstrip("/")
    for ending, wire in _ENDINGS:
        if path.endswith(ending):
            return SdkCall(wire)
    found = _WITH_MODEL.search(path)
    if found is None or found.end() != len(path) or found["model"] == _COUNTS:
        return None
    return SdkCall("gemini" if found["act"].endswith("Content") else "anthropic", found["model"])
