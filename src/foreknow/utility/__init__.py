"""Utility: what a release is still worth."""
