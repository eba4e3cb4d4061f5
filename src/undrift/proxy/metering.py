"""The contract between a gateway and the meter of its members.

Law: it knows no meter. A gateway with one owner loads none.
"""

import asyncio
from dataclasses import dataclass
from typing import Protocol

from undrift.values.member import Member

__all__ = ["AnsweredRequest", "UsageMeter"]


@dataclass(frozen=True, slots=True)
class AnsweredRequest:
    """A request of a member that a model has answered.

    Args:
        wire: The form of the answer.
        model: As the path names it; None: the answer may name it.
        sent_tokens: Our own count of the request, for an answer without usage.
        saved_tokens: By how much the request became shorter.
        answer_tokens: Our own estimate of the answer, if it cannot be read.
    """

    member: Member
    wire: str
    model: str | None
    sent_tokens: int
    saved_tokens: int
    answer_tokens: int = 0


class UsageMeter(Protocol):
    """Counts what members use."""

    def ended(self, member: Member, status: int) -> None:
        """Count a request that is over. `status`: of HTTP; 0: there was no answer."""

    def refused(self, member: Member, reason: str) -> None:
        """Count a request that was not carried out. `reason`: ``rate`` or ``budget``."""

    def answered(self, asked: AnsweredRequest, body: bytes | None, loop: asyncio.AbstractEventLoop) -> None:
        """Count what an answer used; a worker calls it.

        `body`: the answer without a coding; None: it cannot be read. `loop`: of the gateway.
        """
