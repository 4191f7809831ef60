"""The tests: they mirror the source, and say of each part what it promises."""
