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
_BEDROCK = ("/invoke", "/invoke-with-response-stream")
_CLOUDS_FIELD = "anthropic_version"  # of a body for Claude; the clouds have other models, whose bodies have other forms


@dataclass(frozen=True, slots=True)
class SdkCall:
    """A request for the model's next answer.

    Args:
        model: Its name if it stands in the path.
        needs: A field without which the body has another form.
        reads_no_betas: True if the provider reads the flags of Anthropic's betas in the body alone.
    """

    wire: str
    model: str | None = None
    needs: str = ""
    reads_no_betas: bool = False

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
    if path.endswith(_BEDROCK) and "/model/" in path:  # a model's name may hold slashes
        named = path.rpartition("/model/")[2].rpartition("/")[0]
        is_known = "claude" in named  # a profile of a user's own does not say which model of Claude it is
        return SdkCall("anthropic", named if is_known else "claude", _CLOUDS_FIELD, reads_no_betas=True)
    found = _WITH_MODEL.search(path)
    if found is None or found.end() != len(path) or found["model"] == _COUNTS:
        return None
    if found["act"].endswith("Content"):
        return SdkCall("gemini", found["model"])
    return SdkCall("anthropic", found["model"], _CLOUDS_FIELD)
