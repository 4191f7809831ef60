"""Tests of the room that runs judges."""
