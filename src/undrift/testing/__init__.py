"""Providers that follow a script: one over real HTTP for real clients, and a strict simulator for each wire form.

Law: nothing here reaches beyond the loopback interface, keeps a key that it is sent, or runs anything itself.

::

    with ScriptedProvider([Read("src/app.py"), Shell("make test"), Say("Done.")]) as provider:
        subprocess.run(["claude", "-p", "Fix it."], env={**environment, "ANTHROPIC_BASE_URL": provider.url})
        assert "make test" in provider.requests[-1].text
        print(PriceList(input_usd_per_million=5).usd(provider.bill))

    history, provider = history_for("openai-chat", model="gpt-5.5"), OpenAIChatSimulator()
    history.say("Fix it.")
    reply = provider.send(session.prepare(history.body(), wire="openai-chat").body, turn=ModelTurn("Done."))
    history.take(reply.body)
"""

from undrift.testing.histories import ClientHistory, Result, history_for
from undrift.testing.provider import ScriptedProvider
from undrift.testing.script import Follow, Read, Say, Seen, Shell, Together, Turn, Use
from undrift.testing.simulators import (
    Answered,
    AnthropicSimulator,
    Bill,
    Call,
    GeminiSimulator,
    ModelTurn,
    OpenAIChatSimulator,
    OpenAIResponsesSimulator,
    PriceList,
    Refused,
    Simulator,
    simulator_for,
)
from undrift.testing.upstream import Close, Hold, RawRequest, RawUpstream, Reset, Send, Step, Wait, response

__all__ = [
    "Answered",
    "AnthropicSimulator",
    "Bill",
    "Call",
    "ClientHistory",
    "Close",
    "Follow",
    "GeminiSimulator",
    "Hold",
    "ModelTurn",
    "OpenAIChatSimulator",
    "OpenAIResponsesSimulator",
    "PriceList",
    "RawRequest",
    "RawUpstream",
    "Read",
    "Refused",
    "Reset",
    "Result",
    "Say",
    "ScriptedProvider",
    "Seen",
    "Send",
    "Shell",
    "Simulator",
    "Step",
    "Together",
    "Turn",
    "Use",
    "Wait",
    "history_for",
    "response",
    "simulator_for",
]
