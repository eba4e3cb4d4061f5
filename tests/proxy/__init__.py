"""The gateway, driven over real loopback HTTP."""
