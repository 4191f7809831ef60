"""Estimates, intervals and agreement: pure functions with their sources."""
