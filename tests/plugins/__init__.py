"""Tests of the packages for the clients and the registry."""
