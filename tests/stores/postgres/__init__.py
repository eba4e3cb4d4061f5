"""Tests of what is special about the store on a PostgreSQL server."""
