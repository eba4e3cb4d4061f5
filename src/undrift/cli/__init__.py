"""The command line: parses arguments, calls the engine, shows the result.

Law: the only place that talks to a terminal; rich is imported where something is drawn, not before. Exit codes: 0 ok,
1 failed (one line on stderr that names the fault and the remedy), 2 wrong usage.
"""

import click

from undrift import __version__
from undrift.cli.group import CommandGroup, Program

__all__ = ["main"]

_MEMORY = CommandGroup(
    "memory",
    help="Remember facts across sessions; search, change and move them.",
    rooms={
        "remember": ("undrift.cli.memory:remember_command", "Remember a fact; it replaces what it contradicts."),
        "search": ("undrift.cli.memory:search_command", "Search memories; active ones come first."),
        "list": ("undrift.cli.memory_list:list_command", "List the memories."),
        "preview": ("undrift.cli.memory_list:preview_command", "Show what an agent would see for a question."),
        "edit": ("undrift.cli.memory_change:edit_command", "Change the words of a memory."),
        "forget": ("undrift.cli.memory_change:forget_command", "Remove memories: no agent sees them any more."),
        "conflicts": ("undrift.cli.memory:conflicts_command", "Show contradictions that are not resolved."),
        "import": ("undrift.cli.memory_exchange:import_command", "Import memories: CLAUDE.md, AGENTS.md, an export."),
        "learn": ("undrift.cli.memory_learn:learn_command", "Learn what you said in recorded sessions."),
        "export": ("undrift.cli.memory_exchange:export_command", "Write all memories as JSON or Markdown."),
    },
)
_SESSION = CommandGroup(
    "session",
    help="Look at sessions, and take one back in time.",
    rooms={
        "list": ("undrift.cli.sessions:sessions_command", "List the sessions, newest first."),
        "tasks": ("undrift.cli.tasks:tasks_command", "Show the tasks of a session."),
        "archive": ("undrift.cli.archive:archive_command", "Write the logs of finished tasks into files."),
        "history": ("undrift.cli.time_travel:history_command", "Show the numbered steps of a session."),
        "diff": ("undrift.cli.time_travel:diff_command", "Show what changed between two steps."),
        "checkpoint": ("undrift.cli.time_travel:checkpoint_command", "Name the present state, to rewind to it later."),
        "rewind": ("undrift.cli.time_travel:rewind_command", "Take a session back in time; nothing is deleted."),
        "undo": ("undrift.cli.time_travel:undo_command", "Undo the newest rewind."),
        "restore": ("undrift.cli.restore:restore_command", "Print the text to give an agent after a compaction."),
    },
    moved={"drift": "undrift.cli.bench:drift_command"},
)
_BENCH = CommandGroup(
    "bench",
    help="Measure undrift on recorded sessions and memories, such as your own.",
    rooms={
        "cost": ("undrift.cli.bench_cost:cost_command", "Compare its cost with sending everything."),
        "drift": ("undrift.cli.bench:drift_command", "Measure how often needed text is in the window."),
        "outcomes": ("undrift.cli.bench_outcomes:outcomes_command", "Ask whether solved runs kept more in the window."),
        "peers": ("undrift.cli.bench_peers:peers_command", "Measure context managers side by side."),
        "restore": ("undrift.cli.bench_restore:bench_restore_command", "Measure what a restore text holds."),
        "retrieval": ("undrift.cli.bench_retrieval:retrieval_command", "Measure memory search with your own models."),
        "rules": ("undrift.cli.bench_rules:rules_command", "Measure whether rules hold over compactions."),
    },
    moved={name: f"undrift.cli.bench:{name}_command" for name in ("overhead", "store")},
)
_RULES = CommandGroup(
    "rules",
    help="Show the rules that hold, add some, remove some; alone it lists them.",
    rooms={
        "list": ("undrift.cli.rules:rules_list_command", "List the rules that hold."),
        "add": ("undrift.cli.rules:rules_add_command", "Add a rule."),
        "remove": ("undrift.cli.rules:rules_remove_command", "Remove a rule."),
    },
    default="list",
)
_AGENT = CommandGroup(
    "agent",
    help="Commands that programs call: an agent, a client, a script.",
    rooms={
        "mcp": ("undrift.cli.mcp:mcp_command", "Serve recall, search and memory over MCP."),
        "manage": ("undrift.cli.manage:manage_command", "Make one request fit its budget: JSON in, JSON out."),
        "dispatch": ("undrift.cli.dispatch:dispatch_command", "Run the tasks of a plan with agents."),
        "facts": ("undrift.cli.facts:facts_command", "Show what the agents of a plan learned."),
        "hook": ("undrift.cli.hook:hook_command", "Run as a client's hook; clients call this."),
    },
)
_STORE = CommandGroup(
    "store",
    help="Back up, restore, repair or purge what undrift keeps.",
    rooms={
        "backup": ("undrift.cli.backup:backup_command", "Copy the store into one file."),
        "restore": ("undrift.cli.backup:restore_backup_command", "Replace the store with a backup."),
        "adopt": ("undrift.cli.adopt:adopt_command", "Take over records of an earlier version."),
        "move": ("undrift.cli.move:move_command", "Move the records to a server, or back into a folder."),
        "sync": ("undrift.cli.sync:sync_command", "Bring this machine's records and a server's together."),
        "rebuild": ("undrift.cli.memory:rebuild_command", "Rebuild the search indexes."),
        "purge": ("undrift.cli.time_travel:purge_command", "Delete stored data for good."),
        "sweep": ("undrift.cli.sweep:sweep_command", "Delete the removed texts of old sessions."),
    },
)
_TEAM = CommandGroup(
    "team",
    help="Manage the people of a server: their keys, and who read what.",
    rooms={
        "key": ("undrift.cli.team:key_command", "Make a key of a person for the gateway."),
        "keys": ("undrift.cli.team:keys_command", "List the keys, without the keys themselves."),
        "revoke": ("undrift.cli.team:revoke_command", "Revoke a key."),
        "login": ("undrift.cli.team:login_command", "Bind a login role of the database to one person."),
        "audit": ("undrift.cli.team:audit_command", "Show who read what other people wrote."),
        "months": ("undrift.cli.team_months:months_command", "List the months of the server, with their sizes."),
        "drop": ("undrift.cli.team_months:drop_command", "Drop the sessions that began in a month."),
        "destroy": ("undrift.cli.team:destroy_command", "Destroy an organisation's key, and all its records."),
    },
)


@click.group(
    cls=Program,
    help="Keep a long agent session on course: restore what compactions remove, decide what leaves the window, "
    "explain every cut.",
    rooms={
        "autopsy": ("undrift.cli.autopsy:autopsy_command", "Show what compactions removed but agents needed."),
        "replay": ("undrift.cli.replay:replay_command", "Show what undrift would prune, and the cost."),
        "web": ("undrift.cli.web:web_command", "Show your sessions in a browser while they run."),
        "status": ("undrift.cli.status:status_command", "Show what undrift gave back, and your costs."),
        "setup": ("undrift.cli.setup:setup_command", "Find your clients, and add undrift to them."),
        "install": ("undrift.cli.install:install_command", "Add one part of undrift to one client."),
        "wrap": ("undrift.cli.wrap:wrap_command", "Start a client with its own gateway."),
        "recall": ("undrift.cli.recall:recall_command", "Print a removed text, or say why it was removed."),
        "memory": (_MEMORY, "Remember facts and search them."),
        "session": (_SESSION, "List sessions, tasks and history; rewind them."),
        "proxy": ("undrift.cli.proxy:proxy_command", "Run the gateway for any client or SDK."),
        "serve": ("undrift.cli.serve:serve_command", "Run the gateway as a service for a team."),
        "agent": (_AGENT, "Serve MCP, manage one request, run a plan."),
        "doctor": ("undrift.cli.doctor:doctor_command", "Say what is wrong, and what to do."),
        "handoff": ("undrift.cli.handoff:handoff_command", "Start another client with the open work of a session."),
        "continue": ("undrift.cli.handoff:continue_command", "Continue the newest session in a new one."),
        "rules": (_RULES, "List the rules that hold; add and remove some."),
        "config": ("undrift.cli.config:config_command", "Show the settings, and where each comes from."),
        "store": (_STORE, "Back up, restore, rebuild or purge the store."),
        "team": (_TEAM, "Manage the people of a server and their keys."),
        "bench": (_BENCH, "Measure cost, drift and memory search."),
        "help": ("undrift.cli.help:help_command", "Explain a command."),
        "completion": ("undrift.cli.help:completion_command", "Print a script that completes commands in a shell."),
    },
    sections={
        "See what happened": ("autopsy", "replay", "web", "status"),
        "Keep going": ("setup", "wrap"),
        "Look things up": ("recall", "memory", "session"),
        "Run it": ("proxy",),
        "Check and back up": ("doctor", "store"),
    },
    first={
        "undrift setup": "see what was lost, restore it each time",
        "undrift autopsy": "see what your compactions removed",
        "undrift doctor": "check that all is well",
    },
    older={
        **{name: f"memory {name}" for name in ("remember", "search", "conflicts")},
        **{name: f"session {name}" for name in ("tasks", "archive", "history", "diff", "checkpoint", "rewind", "undo")},
        **{name: f"agent {name}" for name in ("mcp", "manage", "dispatch", "facts", "hook")},
        **{name: f"store {name}" for name in ("backup", "rebuild", "purge")},
        "sessions": "session list",
        "restore": "session restore",
        "restore-backup": "store restore",
        "why": "recall --why",
        "uninstall": "install --undo",
    },
    kept={
        "why": "undrift.cli.why:why_command",
        "uninstall": "undrift.cli.install:uninstall_command",
    },
)
@click.version_option(__version__, "-v", "--version", prog_name="undrift", message="%(prog)s %(version)s")
def main() -> None:
    """Run a command."""
