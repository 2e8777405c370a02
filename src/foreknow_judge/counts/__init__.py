"""Counts: how many people of which group have which value."""
