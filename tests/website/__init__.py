"""The documentation site: its pages before they are built, and, by `make site-test`, the site itself."""
