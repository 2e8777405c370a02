"""Profile: what the columns of a raw table look like."""
