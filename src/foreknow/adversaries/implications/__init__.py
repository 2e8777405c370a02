"""Implications(k) and Negations(k)."""
