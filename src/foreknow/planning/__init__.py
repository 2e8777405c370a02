"""Suggested requirements for a table, and their cost, before anything is published."""
