"""Attacks that were carried out on groups alone, and what came of them: at least this."""
