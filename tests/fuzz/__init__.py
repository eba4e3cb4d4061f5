"""What `make fuzz` does for minutes and `make test` for seconds: readers fed with broken recordings, properties played at random."""
