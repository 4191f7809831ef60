"""Tests of what asks the world: real commands, files and databases, and boards that mean harm."""
