"""One view of a scorecard, many renderings."""
