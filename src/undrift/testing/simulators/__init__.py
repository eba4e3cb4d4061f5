"""Provider simulators: strict, independent judges of every request that an edit of a history makes.

Law: deterministic, no network, no clock; imports neither `undrift.wire` nor `undrift.core`.

::

    provider = AnthropicSimulator()
    answer = provider.send(body, headers, turn=ModelTurn("Reading.", (Call("Read", {"path": "a.py"}),), thinking="Hm."))
    messages.append({"role": "assistant", "content": answer.body["content"]})
"""

from undrift.errors import InputError
from undrift.testing.simulators.anthropic import AnthropicSimulator
from undrift.testing.simulators.base import Answered, Bill, Call, ModelTurn, PriceList, Refused, Simulator
from undrift.testing.simulators.gemini import GeminiSimulator
from undrift.testing.simulators.openai_chat import OpenAIChatSimulator
from undrift.testing.simulators.openai_responses import OpenAIResponsesSimulator

__all__ = [
    "Answered",
    "AnthropicSimulator",
    "Bill",
    "Call",
    "GeminiSimulator",
    "ModelTurn",
    "OpenAIChatSimulator",
    "OpenAIResponsesSimulator",
    "PriceList",
    "Refused",
    "Simulator",
    "simulator_for",
]


def simulator_for(wire: str, *, model: str = "") -> Simulator:
    """Return a new simulated account for a wire. Raises InputError: there is no such `wire`.

    Args:
        wire: ``anthropic``, ``openai-chat``, ``openai-responses`` or ``gemini``.
        model: Behind ``openai-chat`` a Gemini demands its signatures; Gemini 2.5 demands none.
    """
    if wire == "anthropic":
        return AnthropicSimulator()
    if wire == "openai-chat":
        return OpenAIChatSimulator(thought_signatures=model.startswith("gemini"))
    if wire == "openai-responses":
        return OpenAIResponsesSimulator()
    if wire == "gemini":
        return GeminiSimulator(signatures="optional" if "2.5" in model else "required")
    raise InputError(f"wire must be anthropic, openai-chat, openai-responses or gemini, not {wire!r}")
