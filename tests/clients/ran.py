"""What one run of a client came to, and what its bodies and its gateway's log say about it. Pure."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from undrift.testing import Seen

__all__ = ["Ran", "is_thread"]


@dataclass(slots=True)
class Ran:
    """What one run of a client came to.

    `lines`: of the gateway's log. `sent`: the bodies as they left the client. `token`: the owner's, in the gateway's home.
    """

    status: int
    said: str
    seen: tuple[Seen, ...]
    lines: list[dict[str, Any]] = field(default_factory=list)
    sent: list[bytes] = field(default_factory=list)
    token: str = ""

    @property
    def shown(self) -> list[str]:
        """Requests in which the owner's token reached the provider."""
        texts = [f"{seen.path} {seen.headers} {seen.raw!r}" for seen in self.seen]
        return [text[:200] for text in texts if self.token and self.token in text]

    @property
    def asked(self) -> list[Seen]:
        """Requests to a model; not those for a message thread, of which nobody here has any."""
        posts = [seen for seen in self.seen if seen.method == "POST" and "count" not in seen.path]
        return [seen for seen in posts if not is_thread(seen.raw)]

    @property
    def refused(self) -> list[str]:
        return [seen.refused for seen in self.seen if seen.refused and not is_thread(seen.raw)]

    @property
    def faults(self) -> list[dict[str, Any]]:
        return [line for line in self.lines if line.get("bypass") or line["event"] == "fault"]

    @property
    def sessions(self) -> set[str]:
        """The sessions that the gateway made of the conversation; side requests and sub-agents are no part of it."""
        managed = [line for line in self.lines if line.get("session") and line.get("wire") and not line.get("from")]
        return {line["session"] for line in managed}

    @property
    def sizes(self) -> list[int]:
        """The tokens of each request that was sent, by the gateway's own count."""
        return [line["tokens_after"] for line in self.lines if line.get("tokens_after")]

    def answer(self, steps: int) -> str:
        return f"All {steps} files are read." if f"All {steps} files are read." in self.said else ""

    def results(self, steps: int) -> list[bool]:
        """Whether the model was ever shown the result of each tool."""
        text = "\n".join(seen.text for seen in self.asked)
        return [f"needle_of_file_{number}_" in text for number in range(1, steps + 1)]

    def arrived_alike(self) -> tuple[int, int]:
        """The number of bodies that arrived as they left, and of all that left."""
        arrived = Counter(seen.raw for seen in self.seen if seen.method == "POST")
        left = Counter(body for body in self.sent if not is_thread(body))
        return (left & arrived).total(), left.total()

    def loaded(self) -> tuple[int, int]:
        """The requests that hold what loaded their deferred tools, and all that have to.

        A tool counts as soon as one request has shown the model its reference, as long as requests still defer it.
        """
        known: set[str] = set()
        good = due = 0
        for seen in self.asked:
            body = seen.body if isinstance(seen.body, dict) else {}
            deferred = {str(tool.get("name")) for tool in _tools(body) if tool.get("defer_loading")}
            named = set(_references(body.get("messages")))
            known |= named
            if wanted := known & deferred:
                due += 1
                good += wanted <= named
        return good, due


def is_thread(body: bytes) -> bool:
    """Whether a body asks for a message thread."""
    return b'"thread"' in body and json.loads(body).get("thread") is not None


def _tools(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [tool for tool in body.get("tools") or () if isinstance(tool, dict)]


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if value.get("type") == "tool_reference":
            yield str(value.get("tool_name"))
        for child in value.values():
            yield from _references(child)
    elif isinstance(value, list):
        for child in value:
            yield from _references(child)
