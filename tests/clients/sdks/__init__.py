"""Programs over the SDKs of providers and frameworks: each runs in an environment of its own, with that SDK alone."""
