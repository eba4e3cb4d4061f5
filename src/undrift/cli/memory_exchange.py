"""``undrift memory import`` and ``undrift memory export``: memories from files, and into files.

Law: nothing is imported before it was shown. A file is a stranger's text: its kind, size and encoding are checked first.
"""

import json
import stat
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import click

from undrift.cli.draw import say
from undrift.cli.lookup import has_store
from undrift.cli.memory_list import memories_by_project
from undrift.cli.memory_view import MEMORY_TYPE, day, where
from undrift.cli.of_session import FIRST_SESSION, one_session_options, open_session, session_options
from undrift.cli.place import place_here
from undrift.cli.show import again, at_terminal, count, echo_json, excerpt, note, safe
from undrift.errors import InputError
from undrift.memory.exchange import FORMAT, as_record, records_of
from undrift.memory.handling import TakenIn
from undrift.memory.statements import LeftOut, statements_in
from undrift.stores.opening import open_store
from undrift.stores.projects import keep
from undrift.values.clock import now_ms
from undrift.values.memory import MemoryEntry, MemoryScope, MemoryType
from undrift.values.project import Place
from undrift.values.scope import Scope

__all__ = ["export_command", "import_command"]

_MOST_TEXT_BYTES = 1_000_000
_MOST_JSON_BYTES = 50_000_000
_ROWS = 20
"""Statements and parts that are left out, of each kind, which are shown before the question."""


@dataclass(frozen=True, slots=True)
class _ImportFile:
    """The records of one file. `lines`: for a text, the line of each."""

    name: str
    records: Sequence[Mapping[str, Any]]
    lines: Sequence[int] = ()
    left_out: Sequence[LeftOut] = ()


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--type",
    "type_",
    type=MEMORY_TYPE,
    default="user_preference",
    show_default=True,
    metavar="TYPE",
    help="The type of what a text states; no age lowers the default.",
)
@click.option(
    "--scope", type=click.Choice(get_args(MemoryScope)), default="project", help="Who can see it (default: project)."
)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@one_session_options
def import_command(
    *, files: tuple[str, ...], yes: bool, session: str | None, home: str | None, as_json: bool, **fields: Any
) -> None:
    """Import memories from CLAUDE.md, AGENTS.md, another text, or an export.

    FILE is a Markdown text, a JSON file of `undrift memory export`, or - for stdin. In a text, each item
    of a list, each paragraph and each row of a table becomes a memory with the trust of a user. Its source is the
    file with the heading. The command shows them and asks. The same import again adds nothing.

    \b
    undrift memory import CLAUDE.md
    """
    fields["type"] = fields.pop("type_")
    sources = [_read(file, fields) for file in files]
    records = [record for source in sources for record in source.records]
    place = place_here(home)
    plan = None
    if has_store(place):
        with open_session(place, session or _newest(place)) as chosen:
            plan = chosen.memory.take_in(records, dry_run=True)
    if not as_json:
        for source in sources:
            _show(source)
        _summarise(plan, len(records))
    nothing_new = plan is not None and not plan.added
    if not (nothing_new or yes) and not (
        "-" not in files and at_terminal(sys.stdin) and click.confirm("Import them?", err=True)
    ):
        raise InputError("nothing was imported; --yes does it without asking")
    done = plan
    session_id = session or _newest(place) if plan is not None else session or FIRST_SESSION
    if not nothing_new:
        with open_session(keep(place), session_id) as chosen:
            done = chosen.memory.take_in(records)
    assert done is not None
    _report(done, session_id, sources, home, as_json=as_json)


@click.command("export")
@click.option("--markdown", is_flag=True, help="Write a list for people; an import needs the JSON.")
@click.option("--scope", type=click.Choice(get_args(MemoryScope)), help="Only this scope.")
@click.option("--out", metavar="FILE", help="Write a new file (default: stdout).")
@session_options
def export_command(
    *, markdown: bool, scope: str | None, out: str | None, session: str | None, home: str | None, as_json: bool
) -> None:
    """Write all memories as JSON, superseded ones too.

    `undrift memory import` reads the JSON back to equal memories. With --session, only memories that this session
    recorded.

    \b
    undrift memory export --out memories.json
    """
    entries = [
        one
        for _, some in memories_by_project(home)
        for one in some
        if scope in (None, one.scope) and session in (None, one.session_id)
    ]
    if markdown and not as_json:
        text = _markdown([one for one in entries if not one.is_contradicted])
    else:
        value = {"format": FORMAT, "version": 1, "memories": [as_record(one) for one in entries]}
        text = json.dumps(value, indent=1) + "\n"
    if out is None:
        click.echo(text, nl=False)
        return
    _write_new(Path(out), text)
    note(f"Wrote {count(len(entries), 'memory', 'memories')} to {safe(out)}.")


def _read(file: str, fields: Mapping[str, Any]) -> _ImportFile:
    """Read a file's records. Raises InputError: it is no text, too large, or no export."""
    name, data, changed_ms = _bytes_of(file)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: not UTF-8 text (byte {error.start}): save it as UTF-8 first") from error
    is_json = file.lower().endswith(".json")
    if is_json or text.lstrip()[:1] in ("{", "["):
        try:
            return _ImportFile(name, records_of(json.loads(text)))
        except (ValueError, RecursionError) as error:
            if is_json or text.lstrip().startswith("{"):
                raise InputError(f"{name}: malformed JSON: {error}") from error
        except InputError as error:
            raise InputError(f"{name}: {error}") from error
    if "\0" in text:
        raise InputError(f"{name}: it holds NUL characters, so it is not a text")
    if len(data) > _MOST_TEXT_BYTES:
        raise InputError(f"{name}: {len(data):,} bytes; a text may have {_MOST_TEXT_BYTES:,}: split it")
    read = statements_in(text)
    records = [
        {
            **fields,
            "content": one.text,
            "trust": "user",
            "source": f"{name}: {one.heading}" if one.heading and one.heading != name else name,
            "valid_from_ms": changed_ms,
        }
        for one in read.found
    ]
    return _ImportFile(name, records, [one.line for one in read.found], read.left_out)


def _bytes_of(file: str) -> tuple[str, bytes, int]:
    """Return a file's name for messages and sources, its bytes, and since when its text holds."""
    now = now_ms() - 1  # before the import: of two statements in one text, neither is the later one
    if file == "-":
        data = b"" if sys.stdin is None else sys.stdin.buffer.read(_MOST_JSON_BYTES + 1)
        return "stdin", _limited("stdin", data), now
    path = Path(file)
    name = path.as_posix() if not path.is_absolute() and ".." not in path.parts else path.name
    if not stat.S_ISREG(path.stat().st_mode):
        raise InputError(f"{file}: not a regular file; name a file, or - for stdin")
    with path.open("rb") as opened:
        data = opened.read(_MOST_JSON_BYTES + 1)
    return name, _limited(name, data), max(0, min(now, path.stat().st_mtime_ns // 1_000_000))


def _limited(name: str, data: bytes) -> bytes:
    if len(data) > _MOST_JSON_BYTES:
        raise InputError(f"{name}: larger than {_MOST_JSON_BYTES // 1_000_000} MB: split it")
    return data


def _newest(place: Place) -> str:
    with open_store(place, Scope(), create=False) as store:
        return store.newest_session() or FIRST_SESSION


def _show(source: _ImportFile) -> None:
    """Print the beginning of what a file holds."""
    say(f"{safe(source.name)}: {count(len(source.records), 'memory', 'memories')}")
    for number, record in enumerate(source.records[:_ROWS]):
        place = f"line {source.lines[number]}" if source.lines else str(record.get("scope", "project"))[:20]
        click.echo(f"  {safe(place):<10}{excerpt(str(record.get('content', '')), 66)}")
    if len(source.records) > _ROWS:
        click.echo(f"  ... and {len(source.records) - _ROWS:,} more")
    for one in source.left_out[:_ROWS]:
        say(f"  left out, line {one.line}: {safe(one.reason)}", hang="    ")
    if len(source.left_out) > _ROWS:
        click.echo(f"  ... and {len(source.left_out) - _ROWS:,} more parts left out")


def _summarise(plan: TakenIn | None, of_all: int) -> None:
    """Say what an import would change."""
    if plan is None:
        note(f"{count(of_all, 'memory', 'memories')} would be imported.")
        return
    parts = [f"{len(plan.added):,} of {of_all:,} are new"]
    parts += [f"{len(plan.superseded):,} of yours would be superseded"] if plan.superseded else []
    note(f"{', '.join(parts)}.")


def _report(done: TakenIn, session_id: str, sources: Sequence[_ImportFile], home: str | None, *, as_json: bool) -> None:
    left_out = [
        {"file": source.name, "line": one.line, "reason": one.reason} for source in sources for one in source.left_out
    ]
    if as_json:
        echo_json(
            {
                "session_id": session_id,
                "added": [one.id for one in done.added],
                "known": list(done.known),
                "superseded": list(done.superseded),
                "refused": [{"number": number, "reason": reason} for number, reason in done.refused],
                "left_out": left_out,
            }
        )
        return
    say(f"Imported {count(len(done.added), 'memory', 'memories')}.")
    for number, reason in done.refused[:_ROWS]:
        note(f"Number {number + 1} is not imported: {safe(reason)}")
    for id_ in done.superseded[:_ROWS]:
        note(f"superseded {id_}")
    conflicts = sum(bool(one.metadata.get("conflicts")) for one in done.added)
    if conflicts:
        note(f"{count(conflicts, 'memory', 'memories')} of them in conflict: undrift memory conflicts{again(home)}")
    note(f"To see them: undrift memory list{again(home)}")


def _markdown(entries: Sequence[MemoryEntry]) -> str:
    """Return the active memories as a list for people, by scope and type."""
    lines = ["# Memories", ""]
    for scope in get_args(MemoryScope):
        for type_ in get_args(MemoryType):
            some = [one for one in entries if (one.scope, one.type) == (scope, type_)]
            if some:
                lines += [f"## {scope}: {type_.replace('_', ' ')}", ""]
                lines += [f"- {_marked_down(one)}" for one in some]
                lines.append("")
    return "\n".join(lines)


def _marked_down(entry: MemoryEntry) -> str:
    origin = [f"trust {entry.trust}", day(entry), where(entry)]
    origin += [f"by {excerpt(entry.speaker, 40)}"] if entry.speaker else []
    origin += [f"from {excerpt(entry.source, 80)}"] if entry.source else []
    words = "\n  ".join(safe(line) for line in entry.content.splitlines())
    return f"{words}  \n  *{', '.join(origin)}*"


def _write_new(path: Path, text: str) -> None:
    """Write a file that is not there yet, readable by its owner alone."""
    try:
        with path.open("x", encoding="utf-8") as file:
            path.chmod(0o600)
            file.write(text)
    except FileExistsError as error:
        raise InputError(f"{path}: this file exists; give --out another name") from error
