"""Provider simulators: strict, independent judges of every request that an edit of a history makes.

Law: deterministic, no network, no clock; imports neither `undrift.wire` nor `undrift.core`.

::

    provider = AnthropicSimulator()
    answer = provider.send(body, headers, turn=ModelTurn("Reading.", (Call("Read", {"path": "a.py"}),), thinking="Hm."))
    messages.append({"role": "assistant", "content": answer.body["content"]})
"""

from undrift.testing.simulators.anthropic import AnthropicSimulator
from undrift.testing.simulators.base import Answered, Bill, Call, ModelTurn, Refused, Simulator
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
    "Refused",
    "Simulator",
]
