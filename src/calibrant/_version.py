"""The version of the software, sealed into the terms of every run."""

__version__ = "0.1.0"
