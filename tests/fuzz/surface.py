"""What a surface is to the fuzzer: how it is opened, the inputs that it is fed with, and what no input may cost.

An input is one line, which says what it is, and then bytes. The kept ones lie in ``corpus/SURFACE/``: they are replayed by
`make test`, and every other input is one of them, or one made up, after some accidents.
"""

import json
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

from tests.house.test_expression_cost import REFERENCE_SECONDS, reference
from tests.transcripts.test_reading import paths, values, with_value

__all__ = [
    "CORPUS",
    "Endless",
    "MEMORY",
    "MOST_SECONDS",
    "Surface",
    "Take",
    "bounded",
    "damaged",
    "head_of",
    "inputs",
    "kept",
]

CORPUS = Path(__file__).parent / "corpus"
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # what reaches the disk is another test's subject
MOST_SECONDS = 2.0
"""Of the processor, for one input, on a machine that takes `REFERENCE_SECONDS` for `reference`."""
_ENDLESS_SECONDS = 60.0
_MOST_BYTES = 1 << 20

Take = Callable[[bytes], None]
"""Takes one input in; raises where a promise is broken."""


@dataclass(frozen=True, slots=True)
class Surface:
    """One surface.

    Args:
        name: Of it, and of its folder in the corpus.
        opened: Opens it for many inputs.
        whole: Inputs that are as they should be, beside those of the corpus; None: there are none.
        tokens: What accidents put into an input.
    """

    name: str
    opened: Callable[[], AbstractContextManager[Take]]
    whole: st.SearchStrategy[bytes] | None = None
    tokens: tuple[bytes, ...] = ()


def kept(name: str) -> dict[str, bytes]:
    """The kept inputs of a surface, by the names of their files."""
    return {path.name: path.read_bytes() for path in sorted((CORPUS / name).iterdir())}


def head_of(data: bytes) -> tuple[list[str], bytes]:
    """The words of the first line, and what follows it."""
    head, _, rest = data.partition(b"\n")
    return head.decode("utf-8", "replace").split(), rest


def bounded(take: Take, data: bytes) -> float:
    """Take an input in, and give the seconds of the processor that it took, as on the machine of the bar.

    Raises:
        AssertionError: It took more than `MOST_SECONDS`, each time.
    """
    took = float("inf")
    for _ in range(3):  # a machine that others use as well may be slow once
        speed, started = reference() / REFERENCE_SECONDS, time.process_time()
        with _stopped_at_last():
            take(data)
        took = min(took, (time.process_time() - started) / max(speed, 1.0))
        if took <= MOST_SECONDS:
            return took
    raise AssertionError(f"one input took {took:.1f} seconds of the processor")


class Endless(BaseException):
    """An input ran on and on; no handler of errors is to catch it."""


@contextmanager
def _stopped_at_last() -> Iterator[None]:
    """End a loop without end after a minute of the processor."""
    if sys.platform == "win32":
        yield
        return

    def stop(*_: object) -> None:
        raise Endless(f"one input ran for {_ENDLESS_SECONDS:g} seconds of the processor")

    former = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, _ENDLESS_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, former)


def inputs(surface: Surface) -> st.SearchStrategy[bytes]:
    """Inputs of a surface: whole ones, and more often damaged ones."""
    whole = st.sampled_from(list(kept(surface.name).values()))
    whole = whole if surface.whole is None else whole | surface.whole
    return whole.flatmap(lambda data: st.just(data) | damaged(data, surface.tokens) | damaged(data, surface.tokens))


@st.composite
def damaged(draw: st.DrawFn, data: bytes, tokens: tuple[bytes, ...]) -> bytes:
    """An input after one to four accidents; its first line mostly stays."""
    head, line, rest = data.partition(b"\n")
    for _ in range(draw(st.integers(1, 4))):
        rest = draw(st.one_of(mistyped(rest), hurt(rest, tokens)))
    if draw(st.integers(0, 15)) == 0:
        head = draw(hurt(head, tokens))
    return (head + line + rest)[:_MOST_BYTES]


@st.composite
def mistyped(draw: st.DrawFn, data: bytes) -> bytes:
    """One of the JSON values in some bytes gets another value at one place."""
    found = list(_json_lines(data))
    if not found:
        return data
    start, end, value = draw(st.sampled_from(found))
    value = with_value(value, draw(st.sampled_from(paths(value))), draw(values))
    try:
        new = json.dumps(value).encode()
    except (TypeError, ValueError, RecursionError):
        return data
    return data[:start] + new + data[end:]


def _json_lines(data: bytes) -> Iterator[tuple[int, int, object]]:
    """Every JSON object or list in some bytes: the whole of them, or lines, or what stands behind ``data: ``."""
    at = 0
    for line in data.splitlines(keepends=True):
        start = at + (len(b"data: ") if line.startswith(b"data: ") else 0)
        text = data[start : at + len(line)].rstrip()
        at += len(line)
        if text[:1] in (b"{", b"["):
            try:
                yield start, start + len(text), json.loads(text)
            except (ValueError, RecursionError):
                continue


@st.composite
def hurt(draw: st.DrawFn, data: bytes, tokens: tuple[bytes, ...]) -> bytes:
    """Some bytes are cut off, taken out, doubled, moved, or become others."""
    start = draw(st.integers(0, len(data)))
    end = min(len(data), start + draw(st.integers(0, 64) | st.integers(0, len(data))))
    piece = data[start:end]
    put = draw(
        st.sampled_from([b"", piece * 2, piece[::-1], piece * draw(st.sampled_from([3, 50, 2_000]))])
        | st.binary(max_size=12)
        | st.sampled_from([*tokens, b"\0", b"\xff", b"\r\n", b"\n\n", b"\xed\xa0\x80", b"null", b"1e999", b"[" * 3_000])
    )
    if draw(st.integers(0, 7)) == 0:
        return data[:start] + put
    at = draw(st.just(start) | st.integers(0, len(data)))
    return data[:at] + put + (data[at:] if at != start else data[end:])
