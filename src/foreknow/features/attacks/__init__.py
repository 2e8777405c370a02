"""Attacks by an adversary who knows the method, carried out, and their results."""
