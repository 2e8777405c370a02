"""Criteria of groups: classical ones, and the privacy properties of k-jump."""
