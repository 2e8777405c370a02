"""Decoy: a Mondrian whose refusals are hidden among those of decoys."""
