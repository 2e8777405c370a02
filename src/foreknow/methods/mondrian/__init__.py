"""Mondrian: divides the table top-down."""
