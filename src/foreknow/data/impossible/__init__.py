"""Impossible values: the rules, and how many people can have which value."""
