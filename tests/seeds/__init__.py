"""The tests that the seeds name, one file a seed; each test says which requirement it holds."""
