"""Learned: statistics that the release itself teaches, and the adversary who learns them."""
