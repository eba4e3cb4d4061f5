"""The files that an autopsy writes: the page for its owner, the page to share, and the picture to post."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from undrift import __version__
from undrift.cli.autopsy_table import install_command
from undrift.cli.show import note, safe
from undrift.errors import InputError
from undrift.recordings.autopsy import Postmortem
from undrift.values.clock import now_ms

__all__ = ["Pages", "page_options"]

_Command = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Pages:
    """The files that were asked for. `redact`: None means that only what is made for sharing is redacted."""

    html: Path | None
    share: Path | None
    picture: Path | None
    redact: bool | None

    @property
    def any(self) -> bool:
        """True: a file was asked for."""
        return any((self.html, self.share, self.picture))

    def check(self, sources: Sequence[Path]) -> None:
        """Refuse a target that must not be written, before anything is read. Raises InputError: it names the remedy."""
        targets = [out for out in (self.html, self.share, self.picture) if out is not None]
        if not targets:
            return
        from undrift.report import check_picture, check_target

        if len({str(out) for out in targets}) < len(targets):
            raise InputError(f"{targets[0]}: named twice; name another file for --share or --picture")
        for out in targets:
            (check_picture if out is self.picture else check_target)(out, sources)

    def write(self, found: Sequence[Postmortem], *, quiet: bool) -> None:
        """Write the files, and say which. Nothing is written of no session."""
        if not self.any:
            return
        if not found:
            if not quiet:
                note("No file was written: there is no session to show.")
            return
        from undrift.report import Cover, write_page, write_picture

        sources = [Path(one.path) for one in found]
        made_ms = now_ms()
        for out, redacts in self._pages():
            cover = Cover(__version__, made_ms, redacts)
            write_page(out, found, cover, next_commands=_next_commands(found, redacts=redacts), sources=sources)
            whom = "redacted, to share" if redacts else "for your eyes: it names your files. To share: --share OUT"
            if not quiet:
                note(f"Written: {safe(str(out))} ({whom})")
        if self.picture is not None:
            write_picture(self.picture, found, Cover(__version__, made_ms, redacted=True), sources=sources)
            if not quiet:
                note(f"Written: {safe(str(self.picture))} (figures only, to post)")

    def _pages(self) -> Iterator[tuple[Path, bool]]:
        """Yield each page with whether it is redacted."""
        for out, shared in ((self.html, False), (self.share, True)):
            if out is not None:
                yield out, shared if self.redact is None else self.redact


def page_options(command: _Command) -> _Command:
    """Give a command the options of the files that an autopsy writes, as its argument `pages`."""

    @wraps(command)
    def given(
        *, html: Path | None, share: Path | None, picture: Path | None, redact: bool | None, **others: Any
    ) -> Any:
        return command(pages=Pages(html, share, picture, redact), **others)

    path = click.Path(path_type=Path)
    options = (
        click.option(
            "--html", metavar="OUT", type=path, help="Also write the report to OUT, as an HTML page for yourself."
        ),
        click.option(
            "--share",
            metavar="OUT",
            type=path,
            help="Also write a page to share to OUT: figures and days, without paths, names, titles and texts.",
        ),
        click.option(
            "--picture", metavar="OUT.svg", type=path, help="Also write one picture to post, with figures only."
        ),
        click.option(
            "--redact/--no-redact",
            default=None,
            help="Remove all recorded text from the page, or keep it.  [default: --share removes it, --html keeps it]",
        ),
    )
    shown = given
    for option in reversed(options):
        shown = option(shown)
    return shown


def _next_commands(found: Sequence[Postmortem], *, redacts: bool) -> list[tuple[str, str]]:
    if redacts:
        return [("See it for your own sessions", "undrift autopsy")]
    if not any(one.autopsy.compactions for one in found):
        return [("See what undrift would prune", "undrift replay")]
    commands = [(what.replace("_", " "), command) for what, command in install_command(found).items()]
    return [*commands, ("Follow what it gives back", "undrift status")]
