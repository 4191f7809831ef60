"""The command line: it parses, calls the library, prints, and turns what went wrong into a message and an exit code."""
