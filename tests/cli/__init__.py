"""The command line, on real files and a real store."""
