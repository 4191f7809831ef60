"""Tests of the records and of the files that hold them."""
