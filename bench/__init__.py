"""What undrift costs, measured: `make bench`."""
