"""Publish: labels, tables, certificate, and what is written."""
