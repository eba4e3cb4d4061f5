"""Ways to run undrift for a team: an image, a compose file, a chart, and the same processes without an image."""
