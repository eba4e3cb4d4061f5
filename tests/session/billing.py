"""A provider that bills prompts like the cache, and the bill for sending everything beside it; the clock is ours."""

import math
from pathlib import Path
from typing import Any

from tests.builders import Json, assistant, body, call, result, sent, user
from undrift.core.cost import Prices
from undrift.core.ledger import Ledger
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.values.prepared import Prepared
from undrift.window.ledgers import stored_ledgers
from undrift.wire.forms import form_of

MODEL = "claude-sonnet-4-5"
PRICES = Prices(0.1, 1.25)
LIFE_MS = 300_000
FORM = form_of("anthropic")


def blocks_of(messages: list[Json]) -> list[tuple[str, int]]:
    """Return the texts that are billed, each with its tokens as the session counts them."""
    found = []
    for number, message in enumerate(messages):
        for block in FORM.read(message, f"messages[{number}]").blocks:
            text = block.text if block.counted is None else block.counted
            found.append((text, math.ceil(len(text) / 4)))
    return found


class Bill:
    """The bill for prompts with a prefix cache that lives five minutes."""

    def __init__(self) -> None:
        self.total = 0.0
        self._cached: list[tuple[str, int]] = []
        self._at_ms: int | None = None

    def price(self, messages: list[Json], at_ms: int) -> tuple[float, int, int]:
        """Return the price of a prompt, the tokens read and those written."""
        blocks, same = blocks_of(messages), 0
        if self._at_ms is not None and at_ms - self._at_ms <= LIFE_MS:
            while same < min(len(blocks), len(self._cached)) and blocks[same] == self._cached[same]:
                same += 1
        read, written = (sum(tokens for _, tokens in part) for part in (blocks[:same], blocks[same:]))
        return PRICES.read * read + PRICES.write * written, read, written

    def add(self, messages: list[Json], at_ms: int) -> tuple[int, int]:
        price, read, written = self.price(messages, at_ms)
        self.total += price
        self._cached, self._at_ms = blocks_of(messages), at_ms
        return read, written


class Client:
    """An agent that sends a growing history; it knows what the provider really billed."""

    def __init__(self, home: Path, budget_tokens: Any = 3_000, **settings: Any) -> None:
        self.home = home
        self.settings = Settings(budget_tokens=budget_tokens, token_counter="characters/4", **settings)
        self.now_ms = 1_000_000
        self.messages: list[Json] = [user("Look at the files.")]
        self.managed, self.everything = Bill(), Bill()
        self.count = 0
        self.session = self.opened()

    def opened(self) -> Session:
        return Session.open("s", home=self.home, settings=self.settings, clock=lambda: self.now_ms)

    def restart(self) -> None:
        self.session.close()
        self.session = self.opened()

    def reads(self, path: str, characters: int = 1_200) -> None:
        """Let the agent read a file."""
        self.count += 1
        id_ = f"toolu_{self.count:04}"
        words = f"{path} line of number {self.count} with words. " * (characters // 40)
        self.messages += [assistant(call(id_, file_path=path)), user(result(id_, words))]

    def asks(self, *, after_ms: int = 1_000) -> Prepared:
        self.now_ms += after_ms
        return self.session.prepare(body(*self.messages))

    def bills(self, prepared: Prepared) -> Json:
        """Bill a request to both; return the usage."""
        read, written = self.managed.add(sent(prepared), self.now_ms)
        self.everything.add(self.messages, self.now_ms)
        return {
            "input_tokens": 0,
            "output_tokens": 1,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
            "cache_creation": {"ephemeral_5m_input_tokens": written},
        }

    def answers(self, usage: Any) -> None:
        self.session.record({"type": "message", "role": "assistant", "content": [], "usage": usage})

    def turn(self, path: str = "", *, after_ms: int = 1_000, characters: int = 1_200) -> Prepared:
        """Read a file, send the history, and take the answer with the provider's usage."""
        self.reads(path or f"src/file_{self.count}.py", characters)
        prepared = self.asks(after_ms=after_ms)
        self.answers(self.bills(prepared))
        return prepared

    @property
    def ledger(self) -> Ledger:
        return self.session._log.ledgers.of(MODEL)

    @property
    def stored(self) -> Ledger:
        """The totals that a restart would find."""
        return stored_ledgers(self.session._store, "s").get(MODEL, Ledger())

    @property
    def true_balance(self) -> float:
        return self.everything.total - self.managed.total
