"""Anonymizers: one file per method; each groups the rows of a table as a policy allows."""
