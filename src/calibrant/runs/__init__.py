"""A run from its plan to its scorecard: session, journal, resume, verify."""
