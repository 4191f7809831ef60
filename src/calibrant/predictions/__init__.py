"""Predictions in programs and tests: a book in which each is sealed before what it is about is looked at."""
