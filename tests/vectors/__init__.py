"""Known-answer vectors, each beside the module that rebuilds it or the source that it was taken from."""
