"""Find what compactions removed: what the agent used of it, fetched again, or never saw again. Pure."""

from undrift.core.autopsy.bill import SentPrompt
from undrift.core.autopsy.examine import CompactionRecord, Restore, autopsy
from undrift.core.autopsy.findings import Autopsy, AutopsyBill, Compaction, Fetch, Held, LostRule, Point

__all__ = [
    "Autopsy",
    "AutopsyBill",
    "Compaction",
    "CompactionRecord",
    "Fetch",
    "Held",
    "LostRule",
    "Point",
    "Restore",
    "SentPrompt",
    "autopsy",
]
