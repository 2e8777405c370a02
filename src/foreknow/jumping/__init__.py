"""Jumping: what is known of a table after a release whose algorithm is public, exactly."""
