"""Measured claims; each script prints a ratio to an alternative run beside it."""
