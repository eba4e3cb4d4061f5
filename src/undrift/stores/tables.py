"""The kinds of records that a store keeps, in the order in which a commit writes them. A new kind is one file and one line."""

from undrift.stores import (
    decisions,
    dispatch,
    documents,
    facts,
    figures,
    marks,
    memories,
    memory_index,
    operations,
    originals,
    readings,
    tasks,
)
from undrift.stores.table import Table

__all__ = ["REWINDING", "TABLES"]

TABLES: tuple[Table, ...] = (
    originals.TABLE,
    decisions.TABLE,
    figures.TABLE,
    operations.TABLE,
    marks.TABLE,
    tasks.TABLE,
    tasks.TAGS,
    facts.TABLE,
    dispatch.TABLE,
    memories.TABLE,
    memory_index.TABLE,
    memories.GUARDS,
    documents.TABLE,
    readings.TABLE,
)

REWINDING = tuple(table for table in TABLES if table.rewinds)
"""The kinds whose rows a rewind closes and opens."""
