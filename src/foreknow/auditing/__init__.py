"""Audit: what a release discloses, to whom, and how much knowledge it withstands."""
