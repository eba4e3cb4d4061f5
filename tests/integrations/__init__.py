"""undrift inside agent frameworks; what needs one that is not installed is skipped, and the report says so."""
