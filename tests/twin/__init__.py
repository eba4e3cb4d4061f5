"""Two versions of undrift side by side: the same calls must give the same bytes and the same records."""
