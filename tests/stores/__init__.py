"""What every store promises, and what SQLite in particular does under faults."""
