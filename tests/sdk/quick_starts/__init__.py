"""The quick start of each SDK with tools and streaming, in the shapes of its documentation, sync and async."""
