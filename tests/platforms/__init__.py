"""The package on systems that this machine is not, as far as a test can say it."""
