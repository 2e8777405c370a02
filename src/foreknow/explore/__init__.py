"""Explore: a web page on this machine that shows columns, policy, release and what to publish."""
