"""The tests of the gateway for a team; most of them start real processes."""
