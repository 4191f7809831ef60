"""Tests of the report: one view model, many renderings."""
