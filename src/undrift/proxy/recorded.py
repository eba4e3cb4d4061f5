"""Takes in an answer that the client has got: its session records it, and a member's use of it counts.

Law: it runs in a worker after the last byte was sent; no fault here reaches the client.
"""

import json
import logging
from dataclasses import dataclass

from undrift.errors import WireError
from undrift.proxy.ask import ManagedBody
from undrift.proxy.coding import plain
from undrift.proxy.metering import AnsweredRequest
from undrift.proxy.routes import Route
from undrift.proxy.shared import GatewayContext
from undrift.values.member import Member

__all__ = ["RecordedAnswer", "record_answer"]

_log = logging.getLogger("undrift.proxy")


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """An answer that a client has got.

    Args:
        managed: The request that it answers; None: the original was sent.
        parts: Its bytes; none if they were too many.
        coding: Of these bytes.
        member: Who asked; None: the gateway has one owner.
        answer_tokens: Our estimate, by the size of all that the client has got.
    """

    route: Route
    managed: ManagedBody | None
    parts: list[bytes]
    coding: str
    member: Member | None
    answer_tokens: int


def record_answer(shared: GatewayContext, answer: RecordedAnswer, unmanaged_tokens: int) -> None:
    """Record an answer; one that cannot be read changes nothing but what its member has used.

    `unmanaged_tokens`: our estimate of the request, if it was not managed.
    """
    managed, body = answer.managed, None
    try:
        body = plain(b"".join(answer.parts), answer.coding, shared.config.most_answer_bytes) if answer.parts else None
        if body is not None and managed is not None:
            shared.sessions.record(managed, answer.route.wire, body)
    except WireError:
        pass  # it is no answer of a model: the client has it, and it says nothing of tokens
    except Exception as error:  # noqa: BLE001 - the client has its answer; what it says of tokens is lost
        _say_fault("record", error)
    if shared.meter is None or answer.member is None:
        return
    sent = unmanaged_tokens if managed is None else managed.tokens_after
    saved = 0 if managed is None else max(0, managed.tokens_before - managed.tokens_after)
    asked = AnsweredRequest(answer.member, answer.route.wire, answer.route.model, sent, saved, answer.answer_tokens)
    try:
        shared.meter.answered(asked, body, shared.loop)
    except Exception as error:  # noqa: BLE001 - the client has its answer
        _say_fault("budget", error)


def _say_fault(reason: str, error: Exception) -> None:
    _log.error("%s", json.dumps({"event": "fault", "reason": reason, "at": type(error).__name__}))
