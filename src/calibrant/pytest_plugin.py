"""The pytest plugin of Calibrant."""
