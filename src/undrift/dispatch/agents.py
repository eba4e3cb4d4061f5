"""Programs as agents: a program reads a prompt from stdin and prints a result block.

Law: no shell reads anything; a program has a time and a size to keep to, and none of ours outlives its dispatch.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from undrift.core.dispatch.contracts import Role
from undrift.core.dispatch.plan import ROLES
from undrift.core.dispatch.prompt import CompiledPrompt
from undrift.errors import DispatchError

__all__ = ["Agents", "CommandAgents", "MOST_OUTPUT_BYTES", "PYTHON", "Reply"]

MOST_OUTPUT_BYTES = 8 << 20
"""The most bytes of one run's stdout; a result block is a few kilobytes."""

PYTHON = "{python}"
"""This word of a command means the Python that runs undrift: it finds the programs that are installed with undrift."""

_MOST_ERROR_BYTES = 8 << 10
_NAP_S = 0.05
_GRACE_S = 2.0
_PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class Reply:
    """The output of a program; if it does not count, also one sentence with the reason."""

    output: str
    fault: str = ""


class Agents(Protocol):
    """The interface of an agent: it answers prompts."""

    def answer(self, prompt: CompiledPrompt) -> Reply:
        """Return the output of the agent for the prompt's role.

        Raises DispatchError: there is no such agent, or it cannot be started: no other attempt would change that.
        """
        ...


class CommandAgents:
    """Agents that are programs. Raises DispatchError: a role has no program, or the program does not exist.

    `commands`: for each role the words of its program by the name of a provider; under ``""`` one for all others.
    `timeout_s`: how long one may take, in seconds; above 0. `most_output_bytes`: how much one may print; above 0.
    """

    def __init__(
        self,
        commands: Mapping[str, Mapping[str, Sequence[str]]],
        folder: Path,
        *,
        timeout_s: float = 1_800.0,
        most_output_bytes: int = MOST_OUTPUT_BYTES,
    ) -> None:
        self._folder = folder
        self._timeout_s = timeout_s
        self._most_output_bytes = most_output_bytes
        self._commands: dict[str, dict[str, list[str]]] = {}
        for role in ROLES:
            given = commands.get(role)
            if not given:
                raise DispatchError(
                    f'no command for the {role}: put {role} = "PROGRAM ..." under [commands] of the plan, '
                    f"or give it with --{role}"
                )
            self._commands[role] = {provider: self._found(role, words) for provider, words in given.items()}

    def words(self, role: Role, provider: str) -> list[str]:
        """Return the command of a role and a provider, as words. Raises DispatchError: the plan has none."""
        known = self._commands[role]
        found = known.get(provider) or known.get("")
        if found is None:
            raise DispatchError(
                f"no command for provider {provider} of the {role}: the plan has {', '.join(known)}. Add "
                f"commands.{role}.{provider}, or set UNDRIFT_ROUTE_SIMPLE and UNDRIFT_ROUTE_COMPLEX to one of them"
            )
        return found

    def answer(self, prompt: CompiledPrompt) -> Reply:
        """Run the program of the prompt's role; see `Agents.answer`."""
        words = self.words(prompt.role, prompt.provider)
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's own program, without a shell
                words,
                cwd=self._folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # so that what it starts ends with it
            )
        except (OSError, ValueError) as error:
            raise DispatchError(
                f"{words[0]}: it cannot be started: {error}; check the {prompt.role}'s command"
            ) from error
        try:
            return self._conversed(process, prompt.text)
        finally:
            _end(process)

    def _conversed(self, process: "subprocess.Popen[bytes]", prompt: str) -> Reply:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        said = _PipeReader(process.stdout, self._most_output_bytes)
        errors = _PipeReader(process.stderr, _MOST_ERROR_BYTES, keep_end=True)
        _Writer(process.stdin, prompt.encode("utf-8", "replace"))
        deadline = time.monotonic() + self._timeout_s
        while process.poll() is None and not said.is_over:
            if time.monotonic() > deadline:
                return Reply(said.text, f"it took more than {self._timeout_s:g} seconds and was ended")
            with suppress(subprocess.TimeoutExpired):
                process.wait(_NAP_S)
        if not said.is_over:
            _kill(process)  # what it has started would hold the pipes open
            said.wait(_GRACE_S)
        if said.is_over:
            return Reply("", f"it printed more than {self._most_output_bytes:,} bytes and was ended")
        errors.wait(_GRACE_S)
        code = process.wait()
        if code:
            last = next((line for line in reversed(errors.text.splitlines()) if line.strip()), "").strip()[:300]
            ended = f"exit code {code}" if code > 0 else f"signal {-code}"
            return Reply(said.text, f"it ended with {ended}" + (f": {last}" if last else ""))
        return Reply(said.text)

    def _found(self, role: str, given: Sequence[str]) -> list[str]:
        words = [sys.executable if word == PYTHON else word for word in given]
        program = words[0]
        if any(
            mark and mark in program for mark in (os.sep, os.altsep)
        ):  # as Popen takes it: relative to the folder in which it runs
            path = self._folder.absolute() / program
            found = path.is_file() and os.access(path, os.X_OK)
            words[0] = str(path)
        else:
            found = shutil.which(program) is not None
        if not found:
            raise DispatchError(
                f"{program}: there is no such program, which the {role}'s command begins with; install it, "
                "or name another one in the plan"
            )
        return words


class _PipeReader:
    """Reads a pipe to its end in a thread, and keeps the beginning (or the end) of what came."""

    def __init__(self, pipe: IO[bytes], most_bytes: int, *, keep_end: bool = False) -> None:
        self._pipe = pipe
        self._most_bytes = most_bytes
        self._keep_end = keep_end
        self._data = bytearray()
        self.is_over = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with suppress(OSError, ValueError):
            while piece := os.read(self._pipe.fileno(), _PIECE):
                if self.is_over:
                    continue
                self._data += piece
                if len(self._data) > self._most_bytes:
                    if self._keep_end:
                        del self._data[: -self._most_bytes]
                    else:
                        self.is_over = True

    def wait(self, seconds: float) -> None:
        """Wait for the end of the pipe, at most `seconds`."""
        self._thread.join(seconds)

    @property
    def text(self) -> str:
        """The output so far."""
        return bytes(self._data).decode("utf-8", "replace")


class _Writer:
    """Writes a prompt into a pipe in a thread: a program that never reads must not keep us from reading it."""

    def __init__(self, pipe: IO[bytes], data: bytes) -> None:
        self._pipe, self._data = pipe, data
        threading.Thread(target=self._write, daemon=True).start()

    def _write(self) -> None:
        with suppress(OSError, ValueError):  # it ended without reading all of it
            self._pipe.write(self._data)
        with suppress(OSError, ValueError):
            self._pipe.close()


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill a program, if it still runs, and what it has started."""
    with suppress(OSError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)  # the session that it leads


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a program and what it has started, and wait for it."""
    if process.returncode is None:
        _kill(process)
    process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
