"""Columns: how their values are read, coarsened and laid out."""
