"""The profiles that come with Calibrant, as data."""
