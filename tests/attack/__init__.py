"""The attacks on reliability and security, each a row of one table: attempts, survived, failed. `make attack` runs them."""
