"""The variables that earlier versions read, and what takes the place of each. Pure.

Law: a variable that is set and means nothing is never passed over in silence.
"""

from collections.abc import Mapping, Sequence

from undrift.errors import SettingsError
from undrift.settings.rules import suggestion

__all__ = ["REMOVED", "RENAMED", "check_renamed", "removed_in", "unknown_in"]

_CONSTANT = "it is a constant now, "
_GONE = "it was removed; "
_OF_SERVE = "UNDRIFT_SERVE_"  # `undrift serve` checks these itself

REMOVED = {
    "append_only": _GONE + "set bound_thinking to keep, or leave the history to the client",
    "contradiction_similarity": _CONSTANT + "0.85",
    "decay_rate": _CONSTANT + "0.05; apply_semantic_decay takes another as an argument",
    "first_send_shrink": _GONE + "it saved 0.02% of the tokens; results are folded when a window is pruned",
    "keep_user_text_tokens": _CONSTANT + "2000",
    "left_note_share": _GONE + "undrift recall finds what left",
    "max_facts": _CONSTANT + "500; DispatchRuntimeManager takes another as an argument",
    "plan_tasks": _GONE + "the newest results keep more than a summary by rule; report tasks with task_update",
    "prompt_fact_tokens": _CONSTANT + "500; DispatchRuntimeManager takes another as an argument",
    "prompt_facts": _CONSTANT + "10; DispatchRuntimeManager takes another as an argument",
    "scratchpad_limit_bytes": _CONSTANT + "8192; Session.open(keeps_notes=False) opens a session without notes",
    "remember_tasks": _GONE + 'set learns to "all", "tasks" or "off"',
    "session": _GONE + "name the session with undrift agent mcp --session NAME",
    "window_share": _GONE + 'set budget_tokens to a share such as "60%"',
}
"""Name of a setting that was removed to what takes its place."""

RENAMED = {
    "remember_tasks": "set UNDRIFT_LEARNS to tasks for true, to off for false, or to all",
    "session": "start the server with undrift agent mcp --session NAME",
    "window_share": "set UNDRIFT_BUDGET_TOKENS to a share such as 60%",
}
"""Those whose variable is an error."""


def check_renamed(environ: Mapping[str, str]) -> None:
    """Refuse a variable whose effect something else has now: what it asked for would not happen.

    Raises SettingsError: it is set; the message names the new form.
    """
    for name, instead in RENAMED.items():
        if (variable := f"UNDRIFT_{name.upper()}") in environ:
            raise SettingsError(f"{variable} was removed: {instead}")


def removed_in(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return a warning for each variable of a removed setting, sorted by name."""
    named = ((f"UNDRIFT_{name.upper()}", instead) for name, instead in sorted(REMOVED.items()))
    return tuple(f"{variable} has no effect: {instead}." for variable, instead in named if variable in environ)


def unknown_in(environ: Mapping[str, str], known: Sequence[str]) -> tuple[str, ...]:
    """Return a sentence for each variable that begins like a setting and is neither one nor a removed one."""
    silent = {*known, *(f"UNDRIFT_{name.upper()}" for name in REMOVED)}
    others = (name for name in environ if name.startswith("UNDRIFT_") and not name.startswith(_OF_SERVE))
    unknown = sorted(name for name in others if name not in silent)
    return tuple(f"{name[:80]} is no setting and has no effect.{suggestion(name, known, 0.7)}" for name in unknown)
