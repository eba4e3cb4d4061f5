"""The examples and the samples of the pages, run as they stand."""
