"""Tests of the command line, through the real command."""
