"""The interface of every provider simulator: the model's turn, the bill and its prices, the answer, the refusal.

Law: deterministic; ids and signatures come from counters and hashes, the time from the caller. Knows no provider, and
nothing of `undrift.wire` or `undrift.core`, whose work the simulators judge.
"""

import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

__all__ = [
    "Answered",
    "Bill",
    "Call",
    "Count",
    "ModelTurn",
    "PriceList",
    "Refused",
    "Simulator",
    "betas_of",
    "canonical",
    "characters_by_four",
    "digest_of",
    "mark_of",
    "parsed",
    "tokens_of",
]

_CHARACTERS_A_TOKEN = 4

Count = Callable[[str], int]
"""Tokens of one block, given its JSON text."""


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call that the model makes.

    `text`: the input of a tool that takes text in place of arguments (OpenAI calls it a custom tool).
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    text: str | None = None


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """The model's answer, in no provider's form.

    `text`: ``""`` for an answer without text. `calls`: made at once, in this order. `thinking`: none for an answer
    without thinking (reasoning); ``""`` for thinking whose text is withheld.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    thinking: str | None = None


@dataclass(frozen=True, slots=True)
class Bill:
    """The cost of one request, by the provider's own meter; `+` adds two bills.

    `fresh_tokens`: input at the full price, neither read from the cache nor written to it. `long_tokens`: those of the
    written tokens that are kept for an hour.
    """

    fresh_tokens: int = 0
    read_tokens: int = 0
    written_tokens: int = 0
    output_tokens: int = 0
    long_tokens: int = 0

    @property
    def prompt_tokens(self) -> int:
        """The whole input."""
        return self.fresh_tokens + self.read_tokens + self.written_tokens

    def __add__(self, other: "Bill") -> "Bill":
        return Bill(
            self.fresh_tokens + other.fresh_tokens,
            self.read_tokens + other.read_tokens,
            self.written_tokens + other.written_tokens,
            self.output_tokens + other.output_tokens,
            self.long_tokens + other.long_tokens,
        )

    def cost(
        self, *, read_ratio: float, write_ratio: float, output_ratio: float, long_write_ratio: float | None = None
    ) -> float:
        """Return the sum in prices of a fresh input token.

        `read_ratio`: price of a token read from the cache, in prices of a fresh input token. `write_ratio`: price of a
        token written to the cache, in the same unit. `output_ratio`: price of an output token, in the same unit.
        `long_write_ratio`: price of a token written for an hour; the default is `write_ratio`.
        """
        long_ratio = write_ratio if long_write_ratio is None else long_write_ratio
        return (
            self.fresh_tokens
            + read_ratio * self.read_tokens
            + write_ratio * (self.written_tokens - self.long_tokens)
            + long_ratio * self.long_tokens
            + output_ratio * self.output_tokens
        )


@dataclass(frozen=True, slots=True)
class PriceList:
    """The prices of one model; the defaults are those of most models of Anthropic.

    Args:
        input_usd_per_million: US dollars for a million fresh input tokens.
        read_ratio: Price of a token read from the cache, in prices of a fresh input token; .05 and .025 exist as well.
        write_ratio: Price of a token that is written for five minutes.
        long_write_ratio: Price of a token that is written for an hour.
        output_ratio: Price of an output token.
    """

    input_usd_per_million: float
    read_ratio: float = 0.1
    write_ratio: float = 1.25
    long_write_ratio: float = 2.0
    output_ratio: float = 5.0

    def cost(self, bill: Bill) -> float:
        """Return what a bill comes to, in prices of a fresh input token."""
        return bill.cost(
            read_ratio=self.read_ratio,
            write_ratio=self.write_ratio,
            output_ratio=self.output_ratio,
            long_write_ratio=self.long_write_ratio,
        )

    def usd(self, bill: Bill) -> float:
        """Return what a bill comes to, in US dollars."""
        return self.cost(bill) * self.input_usd_per_million / 1_000_000


@dataclass(frozen=True, slots=True)
class Answered:
    """A request that the provider accepts, and its answer.

    `notes`: what the provider did to the input, one mapping a change; empty if it took all as sent.
    """

    body: dict[str, Any]
    bill: Bill
    notes: tuple[Mapping[str, Any], ...] = ()


class Refused(Exception):
    """A refusal of the provider. `rule`: id of the broken rule (``A10``), for reports; ``""`` where none has an id."""

    def __init__(self, status: int, text: str, body: dict[str, Any], *, rule: str = "") -> None:
        super().__init__(f"{status}: {text}")
        self.status = status
        self.text = text
        self.body = body
        self.rule = rule


class Simulator(Protocol):
    """A simulated provider: it checks requests as strictly as the real one, answers by a script and adds up costs."""

    name: str
    """The name of the wire: ``anthropic``, ``openai-chat``, ``openai-responses`` or ``gemini``."""

    def send(
        self,
        body: Mapping[str, Any] | bytes,
        headers: Mapping[str, str] | None = None,
        *,
        turn: ModelTurn,
        model: str | None = None,
        now_ms: int | None = None,
    ) -> Answered:
        """Answer one request. Raises Refused: the provider does not accept the request; nothing is remembered of it.

        `body`: the request, as JSON bytes or their value; it is not changed. `headers`: of HTTP, where the provider has
        any that matter; the case of the names does not. `model`: instead of the one that the body names. `now_ms`: the
        time of the request, in milliseconds; None if nothing expires.
        """
        ...


def parsed(body: Mapping[str, Any] | bytes) -> Any:
    """Return the JSON value of a body. Raises ValueError: the bytes are not JSON."""
    return msgspec.json.decode(body) if isinstance(body, bytes) else body


def canonical(value: Any) -> bytes:
    """Return the JSON of a value with sorted keys and no spaces: equal values, equal bytes.

    Raises ValueError: a string holds half a surrogate pair, or a number is none that JSON has. Raises TypeError: a
    value is none that JSON has.
    """
    return msgspec.json.encode(value, order="deterministic")


def digest_of(*parts: bytes) -> bytes:
    """Return the SHA-256 of the parts, one after the other."""
    return hashlib.sha256(b"".join(parts)).digest()


def mark_of(*parts: str | int | bytes) -> str:
    """Return a text for the parts, like a signature or an encrypted content: 44 characters, base64."""
    return base64.b64encode(digest_of(*(_framed(part) for part in parts))).decode("ascii")


def _framed(part: str | int | bytes) -> bytes:
    data = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
    return len(data).to_bytes(8, "big") + data


def characters_by_four(text: str) -> int:
    """Estimate tokens as ``ceil(characters / 4)``."""
    return -(-len(text) // _CHARACTERS_A_TOKEN)


def tokens_of(data: bytes, count: Count = characters_by_four) -> int:
    """Return the tokens of one block, given its `canonical` bytes."""
    return count(data.decode("utf-8"))


def betas_of(headers: Mapping[str, str] | None, name: str) -> frozenset[str]:
    """Return the values of a header that lists names with commas between, as ``anthropic-beta`` does."""
    wanted = name.lower()
    values = [value for key, value in (headers or {}).items() if key.lower() == wanted]
    return frozenset(part.strip() for value in values for part in value.split(",") if part.strip())
