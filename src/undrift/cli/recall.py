"""``undrift recall``: an original, byte for byte, or every original that a task removed."""

import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from undrift.cli import lookup
from undrift.cli.change import program
from undrift.cli.of_session import home_options
from undrift.cli.place import agents_client, names_project
from undrift.cli.show import again, at_terminal, columns, count, echo_json, excerpt, note, safe
from undrift.cli.why import show_why
from undrift.core.text.passages import passages
from undrift.errors import InputError, StoreError, TaskError
from undrift.stores.base import Found
from undrift.stores.contract import Store
from undrift.tasks.archive import Archive
from undrift.values.window import Original

__all__ = ["recall_command"]

_MOST_FOUND = 20
_MOST_SHOWN = 3
_SHOWN_CHARACTERS = 2_500
"""The most lines of one text; together about 2,000 tokens."""

_HEADER = "#undrift"
_ESCAPED = "Control characters are shown as escapes; redirect the output to a file for the exact bytes."
_FORGED = re.compile(rf"^(?=\\*+{_HEADER})", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _OfTask:
    """The originals that a task removed."""

    session_id: str
    task_id: str
    originals: tuple[Original, ...]


@click.command("recall")
@click.argument("ref", required=False)
@click.option(
    "--find", "words", metavar="WORDS", help="Search all removed text. With REF: print its lines that have all WORDS."
)
@click.option("--why", is_flag=True, help="Say why the text left the window.")
@click.option("--session", metavar="ID", help="Look only in this session (default: the newest session that has REF).")
@home_options
def recall_command(
    ref: str | None, words: str | None, why: bool, session: str | None, home: str | None, as_json: bool
) -> None:
    """Print the full text of something that left a window.

    REF is the id of a removed text. `undrift replay` prints such ids, and the window shows them where text was
    removed. The id of an entry works too. For task:ID, the command prints all text that was removed when that task
    ended.

    The text is byte for byte what left the window, but secrets are masked. A terminal shows control characters as
    escapes.

    --find without REF searches whole words: "panic" does not find "panicked". It prints an excerpt of each text that has some of
    them, and the lines with most of them of the best three.

    \b
    undrift recall --find "panic handler"
    undrift recall REF
    undrift recall REF --why
    """
    if why and (ref is None or words):
        raise click.UsageError("--why needs a REF, and cannot be used with --find")
    if ref is None and not words:
        raise click.UsageError("give a REF, or --find WORDS to look for one")
    if ref is None and session is not None:
        raise click.UsageError("--session needs a REF")
    if names_project() and (client := agents_client()):
        raise InputError(
            f"{client} runs this for its agent, which may look into its own project only; type it in your own terminal"
        )
    if ref is not None and why:
        show_why(ref, session, home, as_json)
        return
    places = lookup.homes_of(home, everywhere=ref is not None and lookup.finds_everywhere(ref))
    if ref is None:
        _search(places, words or "", again(home), as_json)
        return
    found = lookup.original_or_task(places, ref, session, lambda _store, _folder, original: original, _of_task)
    if isinstance(found, _OfTask):
        _show_task(found, words, as_json)
    else:
        _show(found, words, as_json)


def _of_task(store: Store, _folder: Path, session_id: str, task_id: str) -> _OfTask:
    archive = Archive(store, session_id)
    found = _OfTask(session_id, task_id, archive.originals(task_id))
    if not found.originals:
        raise TaskError(
            f"task {task_id[:80]!r} of session {session_id[:80]!r} ({archive.task(task_id).status}) has removed nothing; "
            "--session names another session"
        )
    return found


def _show(original: Original, words: str | None, as_json: bool) -> None:
    lines = _matching(original.entry.content, words) if words else None
    if as_json:
        echo_json(_as_json(original, lines))
        return
    if lines is not None:
        _print_lines(lines)
        if not lines:
            note(f"no line of this text has all of these words: {safe(words or '')}")
    elif _print(original.entry.content):
        note(_ESCAPED)
    _say_masked([original])


def _show_task(found: _OfTask, words: str | None, as_json: bool) -> None:
    """Print what a task removed, each original after a line of its own; no text can look like such a line."""
    matches = [(one, _matching(one.entry.content, words) if words else None) for one in found.originals]
    if as_json:
        originals = [_as_json(one, lines) for one, lines in matches]
        echo_json({"task_id": found.task_id, "session_id": found.session_id, "originals": originals})
        return
    shown = [(number, one, lines) for number, (one, lines) in enumerate(matches, 1) if lines != []]
    escaped = False
    for number, original, lines in shown:
        click.echo(f"{_HEADER} {number} of {len(found.originals)} | {_header(original)}")
        if lines is not None:
            _print_lines(lines)
            continue
        text = _FORGED.sub(r"\\", original.entry.content)
        escaped |= _print(text if text.endswith("\n") else text + "\n")
    if escaped:
        note(_ESCAPED)
    if not shown:
        note(f"no line that this task removed has all of these words: {safe(words or '')}")
    _say_masked(found.originals)


def _header(original: Original) -> str:
    metadata = original.entry.metadata or {}
    kind, tool = (str(metadata.get(name) or "") for name in ("kind", "tool_name"))
    what = f"{kind or original.entry.type} of {tool}" if tool else kind or original.entry.type
    return f"ref: {original.ref} | {safe(what)} | {count(original.entry.token_count, 'token')}"


def _print_lines(lines: Sequence[tuple[int, str]]) -> None:
    for number, line in lines:
        click.echo(f"{number}: {safe(line, keep=chr(9))}")


def _print(text: str) -> bool:
    """Print a text; return whether some of it is shown as escapes."""
    if not at_terminal(sys.stdout):
        click.echo(text.encode("utf-8", "surrogatepass"), nl=False)
        return False
    shown = safe(text, keep="\n\t")
    click.echo(shown, nl=not shown.endswith("\n"))
    return shown != text


def _matching(text: str, words: str) -> list[tuple[int, str]]:
    wanted = [word.casefold() for word in words.split()]
    lines = enumerate(text.split("\n"), 1)
    return [(number, line) for number, line in lines if all(word in line.casefold() for word in wanted)]


def _say_masked(originals: Sequence[Original]) -> None:
    spans = [span for original in originals for span in original.masked]
    if spans:
        kinds = ", ".join(sorted({span.name for span in spans}))
        note(f"{count(len(spans), 'secret was', 'secrets were')} masked before it was stored: {safe(kinds)}")


def _as_json(original: Original, lines: list[tuple[int, str]] | None) -> dict[str, Any]:
    entry = original.entry
    value: dict[str, Any] = {
        "ref": original.ref,
        "entry_id": entry.id,
        "session_id": original.session_id,
        "type": entry.type,
        "tokens": entry.token_count,
        "text": entry.content,
        "masked": [{"name": span.name, "start": span.start, "length": span.length} for span in original.masked],
    }
    if lines is not None:
        value["lines"] = [{"number": number, "text": line} for number, line in lines]
    return value


def _search(homes: tuple[str, ...], words: str, where: str, as_json: bool) -> None:
    found = lookup.find(homes, words, _MOST_FOUND)
    if as_json:
        texts = dict(_best(homes, found))
        echo_json({"found": [_found_json(one, texts.get(one.ref), words) for one in found]})
        return
    alike: dict[str, list[str]] = {}
    for original in found:
        alike.setdefault(original.snippet, []).append(original.ref)
    for snippet, (ref, *others) in alike.items():
        more = f" (+{len(others)} alike)" if others else ""
        click.echo(f"{ref}  {excerpt(snippet, max(20, columns() - 18 - len(more)))}{more}")
    for _, text in _best(homes, found):
        if lines := passages(text.entry.content, words, most_characters=_SHOWN_CHARACTERS):
            click.echo(f"{_HEADER} lines | {_header(text)}")
            _print_lines(lines)
    if len(alike) < len(found):
        note("An excerpt that several originals share is shown once; --json shows the id of each.")
    if found:
        way = f"{_spelled()} recall REF"
        note(f"To print one: {way}{where}. To see why it left: {way} --why{where}")
    else:
        note(f"No original in {safe(' or '.join(homes))} has any of these words; --find searches whole words.")


def _best(homes: tuple[str, ...], found: Sequence[Found]) -> Iterator[tuple[str, Original]]:
    """Yield the originals whose lines are shown, of different excerpts; one that cannot be read is passed over."""
    refs = list({one.snippet: one.ref for one in reversed(found)}.values())[::-1]
    for ref in refs[:_MOST_SHOWN]:

        def read(store: Store, _folder: Path, wanted: str = ref) -> Original:
            return store.original(wanted)

        with suppress(StoreError):
            yield ref, lookup.first(homes, f"there is no {ref}", read)


def _found_json(one: Found, original: Original | None, words: str) -> dict[str, Any]:
    value: dict[str, Any] = {name: getattr(one, name) for name in ("ref", "session_id", "type", "snippet")}
    if original is not None:
        lines = passages(original.entry.content, words, most_characters=_SHOWN_CHARACTERS)
        value["lines"] = [{"number": number, "text": line} for number, line in lines]
    return value


def _spelled() -> str:
    """Return how this program was started; the PATH of an agent may not have it."""
    started = Path(sys.argv[0])
    is_module = (started.parent.name, started.name) == ("undrift", "__main__.py")
    return shlex.join(program()) if is_module else "undrift"
