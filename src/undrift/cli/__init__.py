"""The command line: parses arguments, calls the engine, shows what came of it.

Law: the only place that talks to a terminal; rich is imported where something is drawn, not before. Exit codes: 0 ok,
1 failed (one line on stderr that names what and the remedy), 2 wrong usage.
"""

import click

from undrift import __version__
from undrift.cli.group import CommandGroup

__all__ = ["main"]

_ROOMS = {
    "autopsy": ("undrift.cli.autopsy", "Show what the compactions of recorded sessions threw away."),
    "restore": ("undrift.cli.restore", "Print what to give an agent back after its context was compacted."),
    "install": ("undrift.cli.install", "Put undrift's hooks into a client's settings; shows the difference first."),
    "uninstall": ("undrift.cli.install", "Take undrift's hooks out of a client's settings."),
    "replay": ("undrift.cli.replay", "Run recorded agent sessions through the engine; say what left and why."),
    "recall": ("undrift.cli.recall", "Print the original of what left a window, as it was stored."),
    "why": ("undrift.cli.why", "Explain why an entry left the window, by its reference or id."),
    "facts": ("undrift.cli.facts", "Show what sub-agents have learned, now or as of an earlier operation."),
    "sessions": ("undrift.cli.sessions", "List the sessions of a home under their readable names."),
    "tasks": ("undrift.cli.tasks", "Show the tasks of a session, how they ended, and what they let go."),
    "archive": ("undrift.cli.archive", "Write what tasks let go into files that grep reads."),
    "mcp": ("undrift.cli.mcp", "Serve tasks, recall, search and memory to an agent over MCP."),
    "manage": ("undrift.cli.manage", "Make one request fit: JSON on stdin, the request to send on stdout."),
    "remember": ("undrift.cli.memory", "Store a statement, and settle what it means for what is there."),
    "search": ("undrift.cli.memory", "Find what is remembered: what holds now before what it superseded."),
    "conflicts": ("undrift.cli.memory", "Show what contradicts each other where nothing says which one holds."),
    "checkpoint": ("undrift.cli.time_travel", "Name this moment of a session, to go back to."),
    "rewind": ("undrift.cli.time_travel", "Take a session back in time; deletes nothing."),
    "undo": ("undrift.cli.time_travel", "Take back the newest rewinding."),
    "history": ("undrift.cli.time_travel", "Show the operations of a session."),
    "diff": ("undrift.cli.time_travel", "Show what differs between two moments of a session."),
    "rebuild": ("undrift.cli.memory", "Make all that is searched anew from what is stored."),
    "purge": ("undrift.cli.time_travel", "Destroy something for good, and look for what is left of it."),
    "proxy": ("undrift.cli.proxy", "Run the gateway: agents that talk to it have their windows managed."),
    "wrap": ("undrift.cli.wrap", "Start a client behind a gateway of its own: claude, codex, gemini, ..."),
    "dispatch": (
        "undrift.cli.dispatch",
        "Run a plan by an implementer and a reviewer; what one learns reaches the next.",
    ),
    "doctor": ("undrift.cli.doctor", "Say what is wrong with the store, the hooks or the settings, and what to do."),
    "backup": ("undrift.cli.backup", "Copy the store into one file, while it is in use."),
    "restore-backup": ("undrift.cli.backup", "Put a backup in the place of the store; keeps what was there."),
    "bench": ("undrift.cli.bench", "Measure what undrift costs, and what it keeps of recorded sessions."),
    "hook": ("undrift.cli.hook", "Answer a client's hook: JSON on stdin, JSON on stdout."),
}


@click.group(
    cls=CommandGroup,
    rooms=_ROOMS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="undrift", message="%(prog)s %(version)s")
def main() -> None:
    """Keeps a long agent session on course: shows what compactions threw away and gives it back; decides what leaves a
    context window, keeps every original, explains every cut. Start with: undrift autopsy
    """
