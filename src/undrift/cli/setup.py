"""``undrift setup``: the first hour in one command, and all of it undone.

Law: it changes nothing that it has not shown; each change is one of `install_entry` and `install_gateway`, with their notes.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from undrift.cli import setup_screen as screen
from undrift.cli.change import ChangeDeclined, ChangeReport, ChangeUnasked, Given, SettingsChange, check_lasts
from undrift.cli.draw import say
from undrift.cli.install_entry import install_entry, is_there
from undrift.cli.install_gateway import install_gateway
from undrift.cli.of_session import Whole
from undrift.cli.own import client_folders
from undrift.cli.setup_losses import Losses, newest_losses
from undrift.cli.setup_parts import Offer, entry_of, find_clients, looked_for, offers
from undrift.cli.setup_undo import undo
from undrift.cli.show import at_terminal, echo_json, safe
from undrift.clients.addressed import ADDRESSED
from undrift.errors import InputError, UndriftError

__all__ = ["setup_command"]

_FOLDER = click.Path(path_type=Path)


@click.command("setup")
@click.option(
    "--undo",
    "is_undone",
    is_flag=True,
    help="Undo everything that `undrift setup` and `undrift install` changed in your own settings.",
)
@click.option("--yes", is_flag=True, help="Do not ask: add hooks, recall and the MCP server.")
@click.option(
    "--gateway", is_flag=True, help="Also point the clients at the gateway, which becomes a service of yours."
)
@click.option(
    "--home",
    envvar="UNDRIFT_HOME",
    type=_FOLDER,
    metavar="DIR",
    help="The folder of undrift's data (default: ~/.undrift).",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
@click.option("--port", type=Whole(1, 65535), metavar="N", help="With --gateway: its port (default: 8787).")
@client_folders
def setup_command(is_undone: bool, gateway: bool, port: int | None, as_json: bool, **options: Any) -> None:
    """Find your clients, show what compactions cost you, and set undrift up.

    It looks for Claude Code, Codex, Gemini CLI, opencode, aider and mini-swe-agent. It examines your newest sessions for
    a few seconds. Then it offers hooks, a rule that lets the agent recall, the MCP server and the gateway. It shows each
    change before it asks. Everything else in your settings stays the same, byte for byte.

    \b
    undrift setup
    undrift setup --yes
    undrift setup --undo
    """
    if gateway and is_undone:
        raise click.UsageError("--undo takes the gateway back too; leave out --gateway", click.get_current_context())
    if port is not None and not gateway:
        raise click.UsageError("--port goes with --gateway", click.get_current_context())
    home, yes = options.pop("home"), options.pop("yes")
    given = Given(home, False, yes, options["claude_home"], options["codex_home"])
    if is_undone:
        undo(given, as_json=as_json)
        return
    found = find_clients(given)
    if not found:
        raise InputError(
            f"no client was found. It looked for {', '.join(looked_for(given))}. Install one of them, then repeat: "
            "undrift setup. For another program: undrift wrap PROGRAM"
        )
    run = _Setup(given, offers(found, given), gateway, port, SetupReport(as_json=as_json))
    if not run.wanted():
        run.end(Losses())
        return
    losses = newest_losses(options, given.data_home(), quiet=as_json)
    if not as_json:
        screen.first(losses, found, run.offered)
    check_lasts()
    try:
        run.carry_out()
    finally:
        run.end(losses)  # a person who breaks it off learns what was changed


class SetupReport(ChangeReport):
    """Several changes in a row: what they have to say of the restart stands at the end, once."""

    def __init__(self, *, as_json: bool) -> None:
        super().__init__(as_json=as_json)
        self.part = ""
        self.changes: list[dict[str, Any]] = []
        self.notes: dict[str, str] = {}

    def add(self, found: dict[str, Any]) -> None:
        """Keep a change for the JSON object."""
        self.changes.append({**found, "part": self.part})

    def same(self, change: SettingsChange, state: str, notes: Sequence[str]) -> None:
        """Leave out what needed no change."""

    def changed(self, change: SettingsChange, line: str, notes: Sequence[str], *, restarts: bool) -> None:  # noqa: ARG002
        """Say what was changed; keep its notes for the end."""
        say(line)
        self.notes |= dict.fromkeys(notes, change.client.title)


@dataclass(slots=True)
class _Setup:
    """One run: the offers, and what became of each."""

    given: Given
    offered: tuple[Offer, ...]
    with_gateway: bool
    port: int | None
    report: SetupReport
    done: list[Offer] = field(default_factory=list)
    declined: list[Offer] = field(default_factory=list)
    unasked: list[Offer] = field(default_factory=list)
    failed: list[tuple[Offer, str]] = field(default_factory=list)

    def wanted(self) -> list[Offer]:
        """Return what is to be added, or offered, the gateway apart."""
        missing = [one for one in self.offered if one.state == "missing"]
        return [one for one in missing if one.part != "gateway" or self.with_gateway]

    def carry_out(self) -> None:
        """Show and make each change; a fault in one does not stop the others."""
        if not self.given.yes and self._can_ask() and not click.confirm("See the first change?", default=True):
            self.declined = self.wanted()
            return
        for one in self.wanted():
            if one.part != "gateway":
                self._step(one)
        gateways = [one for one in self.offered if (one.part, one.state) == ("gateway", "missing")]
        if gateways and (self.with_gateway or self._is_gateway_wanted()):
            for one in gateways:
                self._step(one)

    def end(self, losses: Losses) -> None:
        """Say what was done, what was not, and what comes next; exit with 1 if something failed or could not be asked."""
        outcome = screen.SetupOutcome(
            self.offered, self.done, self.declined, self.unasked, self.failed, self.report.notes, self.with_gateway
        )
        if self.report.as_json:
            echo_json(screen.as_json(outcome, losses, self.report.changes))
        else:
            screen.last(outcome)
        is_faulty = any(one.is_fault for one in self.offered)
        if (self.failed or self.unasked or is_faulty) and sys.exc_info()[0] is None:
            raise click.exceptions.Exit(1)

    def _can_ask(self) -> bool:
        return not self.report.as_json and at_terminal(sys.stdin)

    def _is_gateway_wanted(self) -> bool:
        if self.given.yes or not self._can_ask():
            return False
        screen.about_gateway()
        return click.confirm("Use the gateway?", default=False)

    def _step(self, one: Offer) -> None:
        if one in self.unasked:
            return
        self.report.part, self.report.question = one.part, screen.question(one)
        rule = self._goes_with(one)
        self.unasked += [rule] if rule else []
        if not self.report.as_json:
            screen.head(one, *([rule] if rule else []))
        try:
            self._add(one)
        except ChangeDeclined:
            self.declined.append(one)
        except ChangeUnasked:
            self.unasked.append(one)
        except (UndriftError, OSError) as error:
            self.failed.append((one, safe(str(error))))
        else:
            self.done.append(one)

    def _add(self, one: Offer) -> None:
        if one.part == "gateway":
            install_gateway(ADDRESSED[one.client.name], self.given, self.port, self.report)
            return
        entry = entry_of(one.client.name, one.part, self.given, self.report)
        if one.part == "recall" and not is_there(entry):
            raise ChangeDeclined("the rule is for the command that the hooks name")
        install_entry(entry, allow=one.part == "recall" or self._goes_with(one) in self.unasked)

    def _goes_with(self, one: Offer) -> Offer | None:
        """Return the rule that is shown together with hooks that no one can be asked about."""
        if one.part != "hooks" or self.given.yes or self._can_ask():
            return None
        rules = [other for other in self.wanted() if (other.client, other.part) == (one.client, "recall")]
        return rules[0] if rules else None
