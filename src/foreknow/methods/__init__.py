"""Anonymizers: each method groups the rows of a table as a policy allows."""
