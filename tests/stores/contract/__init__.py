"""What every store does, whatever keeps it: these tests run over each back end of `conftest`."""
