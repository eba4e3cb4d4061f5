"""Sessions whose agent has told of tasks, made through the real `Session`."""

from pathlib import Path

from tests.builders import Json, assistant, body, call, result, text, user
from undrift.session.session import Session
from undrift.settings import Settings

__all__ = ["AT_MS", "SUMMARY", "TaskSession", "log_text"]

AT_MS = 1_700_000_000_000
SUMMARY = "Every file was read: the number 7 stands in each of them and all tests pass."


def log_text(number: int) -> str:
    """What the tool answers in a round: it bears `SUMMARY` out."""
    return f"file {number} holds the number 7; every one of all the tests pass: 12 passed " + "x" * 400


class TaskSession:
    """One session and its history; its clock goes on by one second at each use."""

    def __init__(self, home: Path | None, session_id: str = "s", *, at_ms: int = AT_MS, **settings: object) -> None:
        chosen = Settings(**{"token_counter": "characters/4", **settings})  # type: ignore[arg-type]
        self._now_ms = at_ms
        self.session = Session.open(session_id, home=home, settings=chosen, clock=self._clock)
        self.history: list[Json] = [user("Read them.")]
        self.prepare()

    def _clock(self) -> int:
        self._now_ms += 1_000
        return self._now_ms

    def prepare(self) -> list[str]:
        """Send the history; return the references of what tasks have let go in it."""
        prepared = self.session.prepare(body(*self.history))
        return [action.ref for action in prepared.actions if action.kind == "evicted"]

    def works(self, first: int, rounds: int, answer: str | None = None) -> None:
        """Say something, call a tool and take in its answer, several times."""
        for number in range(first, first + rounds):
            self.history += [
                assistant(text(f"I look at {number}."), call(f"c{number}", path=f"{number}.py")),
                user(result(f"c{number}", log_text(number) if answer is None else answer)),
            ]
            self.prepare()

    def starts(self, task_id: str, *criteria: str, content: str = "") -> None:
        self.session.start_task(task_id, content=content, acceptance_criteria=criteria)

    def completes(self, task_id: str, summary: str = SUMMARY) -> list[str]:
        """Complete a task and go on; return the references of what tasks have let go in the history."""
        self.session.complete_task(task_id, summary)
        self.history += [assistant("Done."), user(f"And now the rest, after {len(self.history)} messages.")]
        return self.prepare()

    def does(self, task_id: str, first: int = 0, rounds: int = 3, content: str = "") -> list[str]:
        """Do a whole task."""
        self.starts(task_id, "all tests pass", content=content)
        self.works(first, rounds)
        return self.completes(task_id)

    def close(self) -> None:
        self.session.close()
