"""The scripted provider."""
