"""What compactions threw away: what the agent used of it, fetched again, or never heard of again. Pure."""

from undrift.core.autopsy.bill import Prompt
from undrift.core.autopsy.examine import CompactionRecord, Restore, autopsy
from undrift.core.autopsy.findings import Autopsy, Bill, Compaction, Fetch, Held, LostRule, Point

__all__ = [
    "Autopsy",
    "Bill",
    "Compaction",
    "CompactionRecord",
    "Fetch",
    "Held",
    "LostRule",
    "Point",
    "Prompt",
    "Restore",
    "autopsy",
]
