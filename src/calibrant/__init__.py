"""Calibrant: evaluation in which nothing is taken on its word."""
