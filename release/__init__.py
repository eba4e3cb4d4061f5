"""Everything that a release publishes, built from a commit alone: ``python -m release.build DIST``, run by `make release`.

Law: the same commit and the same tools give the same bytes. Only git and files of the commit are read; no clock, no locale.
"""
