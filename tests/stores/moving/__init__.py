"""Tests of moves and syncs between a folder and a server."""
