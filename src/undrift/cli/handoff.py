"""``undrift handoff`` and ``undrift continue``: another client, or a new session, starts with the open work of one.

Law: the recorded session is only read. This process becomes the client, so that no process of ours stands between it and the
terminal.
"""

import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

import click

from undrift.cli.active_rules import active_rules
from undrift.cli.become import become
from undrift.cli.of_session import TOKENS, one_home_options
from undrift.cli.own import FORMATS_READ, client_folders, own_recordings
from undrift.cli.place import agents_client, kept_place, place_here
from undrift.cli.restore import print_text
from undrift.cli.show import count, echo_json, note, safe
from undrift.clients.started import STARTED, first_prompt
from undrift.clients.wrapped import WRAPPED, wrapped
from undrift.core.handoff import Handoff, handoff
from undrift.errors import InputError, SettingsError, StoreError, TranscriptError
from undrift.hooks.continuing import MOST_BYTES, MOST_MINUTES, LeftWork, leave
from undrift.hooks.home import recall_command, write_small
from undrift.recordings.open_work import OpenWork, keep_originals, open_work, sessions_of
from undrift.settings import environment, working_folder
from undrift.stores.projects import place_of
from undrift.values.clock import now_ms
from undrift.values.project import Place
from undrift.values.rule import Rule

__all__ = ["continue_command", "handoff_command"]

_BUDGET_TOKENS = 5_000
_WORDS = "undrift.words"
_FILE = "handoff.md"

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class _Order:
    """A handoff that is to be written. `rules`: the active ones. `budget`: tokens. `home`: as it was given."""

    work: OpenWork
    rules: tuple[Rule, ...]
    budget: int
    home: str | None


class _Starting(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep what stands behind ``--`` for the client."""
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[_WORDS] = tuple(args[at + 1 :])
        return super().parse_args(ctx, args[:at])


def handoff_options(command: F) -> F:
    found: Any = command
    for option in (
        one_home_options,
        client_folders,
        click.option(
            "--budget",
            type=TOKENS,
            default=_BUDGET_TOKENS,
            show_default=True,
            metavar="N",
            help="Give at most N tokens.",
        ),
        click.option("--print", "only_print", is_flag=True, help="Only print the text; nothing is started or stored."),
    ):
        found = option(found)
    return cast(F, found)


@click.command("handoff", cls=_Starting, epilog=FORMATS_READ)
@click.argument("session", required=False, metavar="[SESSION|FILE]")
@click.option("--to", "to", metavar="CLIENT", help=f"Start this client: {', '.join(STARTED)}.")
@handoff_options
def handoff_command(
    session: str | None,
    to: str | None,
    budget: int,
    only_print: bool,
    home: str | None,
    as_json: bool,
    **folders: Path | None,
) -> None:
    """Start another client with the open work of a session.

    SESSION is the id of a recorded session of this project, FILE is a session file. Without either, the newest session
    of this project is read. The client starts in this folder. Its first prompt has your requests and rules, the plan,
    the files in work, what was tried and failed, and what is next. Words behind -- go to the client.

    The text stands on the client's command line, where other users of this machine can see it; aider alone gets a file.

    \b
    undrift handoff --to codex
    undrift handoff --to claude session.jsonl
    undrift handoff --to codex -- exec
    """
    if to is None and not (only_print or as_json):
        raise click.UsageError(f"name the client: --to {' or --to '.join(STARTED)}; --print shows the text")
    client = None if to is None else _client(to)
    work = _found(session, "undrift handoff", home, folders)
    rules = active_rules(place_here(home), work, folders).rules
    _give(_Order(work, rules, budget, home), client, only_print=only_print, as_json=as_json)


@click.command("continue", cls=_Starting)
@click.argument("session", required=False, metavar="[SESSION|FILE]")
@click.option("--after-clear", is_flag=True, help="Start nothing: the hook gives the text after the next /clear.")
@handoff_options
def continue_command(
    session: str | None,
    after_clear: bool,
    budget: int,
    only_print: bool,
    home: str | None,
    as_json: bool,
    **folders: Path | None,
) -> None:
    """Continue the newest session of this project in a new one.

    SESSION is the id of a recorded session of this project, FILE is a session file. The same client starts in this folder.
    Its first prompt has your requests and rules, the plan, the files in work, what was tried and failed, and what is next.
    Words behind -- go to the client. The text stands on its command line, where other users of this machine can see it.

    Inside a client, or with --after-clear, nothing is started. The text waits an hour, and the hook of undrift gives it once,
    after /clear.

    \b
    undrift continue
    undrift continue --after-clear
    """
    work = _found(session, "undrift continue", home, folders)
    order = _Order(work, active_rules(place_here(home), work, folders).rules, budget, home)
    if (after_clear or agents_client()) and not (only_print or as_json):
        _leave(order)
        return
    if not (only_print or as_json) and work.client not in STARTED:
        raise InputError(
            "this session is of a client that undrift cannot start; `undrift handoff --to CLIENT` takes another"
        )
    _give(order, work.client, only_print=only_print, as_json=as_json)


def _client(name: str) -> str:
    known = next((one for one in WRAPPED if wrapped(name) is WRAPPED[one]), "")
    if known not in STARTED:
        raise InputError(f"no such client: {name[:40]!r}; known are {', '.join(STARTED)}")
    return known


def _found(named: str | None, command: str, home: str | None, folders: dict[str, Path | None]) -> OpenWork:
    """Return the session that is meant. Raises TranscriptError or InputError: there is none, with the remedy."""
    if named is not None and (os.sep in named or Path(named).exists()):
        return open_work(Path(named))
    own = own_recordings(command, **folders)
    if named is not None:
        own = tuple(path for path in own if named in path.name)
        if not own:
            raise TranscriptError(f"no recorded session has the id {named[:80]!r}; name a file: {command} FILE")
    here = place_here(home)
    found = next(sessions_of(own, lambda cwd: _is_of(here, cwd)), None)
    if found is None and named is not None:
        raise InputError(
            f"session {named[:80]!r} is not of this project; change to its folder, or name its file: {command} {own[0]}"
        )
    if found is None:
        raise TranscriptError(f"no recorded session of this project; name a file: {command} FILE")
    return open_work(found)


def _is_of(here: Place, cwd: str) -> bool:
    folder = Path(cwd)
    if not folder.is_absolute():
        return False
    try:
        other = place_of(here.home, folder, shares=True)
    except StoreError:
        return False
    if here.project is None or other.project is None:
        return folder == working_folder()
    return other.records == here.records


def _text(order: _Order, *, is_kept: bool) -> Handoff:
    """Return the text. `is_kept`: the originals are recorded before it is given, so it may name the way to them."""
    recall = recall_command(place_here(order.home).home.absolute()) if is_kept else ""
    found = handoff(order.work.entries, budget_tokens=order.budget, rules=order.rules, originals=recall)
    if not found.text:
        raise InputError(
            f"{order.work.path}: nothing of this session fits {order.budget:,} tokens; give a larger --budget"
        )
    return found


def _give(order: _Order, client: str | None, *, only_print: bool, as_json: bool) -> None:
    starts = not (as_json or only_print or client is None)
    found, work = _text(order, is_kept=starts), order.work
    if as_json:
        echo_json(_as_json(work, found, order.budget))
        return
    if only_print or client is None:
        print_text(found.text)
        note(f"{count(found.tokens, 'token')} of at most {order.budget:,}, from {safe(str(work.path))}")
        return
    _start(work, found, client, order.home)


def _start(work: OpenWork, found: Handoff, client: str, home: str | None) -> NoReturn:
    known = WRAPPED[client]
    program = shutil.which(known.program)
    if program is None:
        raise InputError(f"{client} is not installed, or not on the PATH: {known.remedy}")
    if inside := agents_client():
        raise InputError(f"{inside} runs this for its agent; type it in your own terminal, or take --print")
    if not hasattr(os, "fork"):
        raise SettingsError("handoff needs a POSIX system to start a client; --print shows the text to give it")
    place = kept_place(home)
    file = place.records / _FILE
    words = first_prompt(client, found.text, str(file), click.get_current_context().meta.get(_WORDS, ()))
    if str(file) in words:
        write_small(file, found.text.encode("utf-8", "replace"))
    _keep(work, place.home)
    note(f"undrift: {safe(client)} starts with {count(found.tokens, 'token')} of {safe(str(work.path))}")
    become(program, [known.program, *words], {**environment(), "UNDRIFT_HOME": str(place.home.absolute())})


def _keep(work: OpenWork, home: Path) -> None:
    """Record the originals; without them the client starts all the same."""
    try:
        is_kept = keep_originals(work, home, working_folder())
    except (StoreError, OSError) as error:
        note(f"undrift: its originals were not recorded, so `undrift recall` does not find them: {safe(str(error))}")
        return
    if not is_kept:
        note("undrift: its originals stay in its own recording; `undrift recall` does not find them")


def _leave(order: _Order) -> None:
    """Leave the text for the hook, as much of it as one hook may give."""
    order = replace(order, budget=min(order.budget, MOST_BYTES // 4))
    found, work, home = _text(order, is_kept=True), order.work, order.home
    while found.text and len(found.text.encode("utf-8", "replace")) > MOST_BYTES:
        order = replace(order, budget=order.budget * 3 // 4)
        found = _text(order, is_kept=True)
    place = kept_place(home)
    own = (work.cwd, str(work.path.parent)) if _is_of(place, work.cwd) else ()
    session = f"{work.client} {work.session_id}"
    leave(place, LeftWork(found.text, now_ms(), session, (*own, str(working_folder()))))
    _keep(work, place.home)
    note(
        f"undrift: the next /clear in this folder gives {count(found.tokens, 'token')} of this session back, "
        f"within {MOST_MINUTES} minutes"
    )


def _as_json(work: OpenWork, found: Handoff, budget: int) -> dict[str, Any]:
    return {
        "path": str(work.path),
        "client": work.client,
        "session_id": work.session_id,
        "cwd": work.cwd,
        "budget_tokens": budget,
        "tokens": found.tokens,
        "open_steps": list(found.open_steps),
        "text": found.text,
        "items": [asdict(item) for item in found.items],
    }
