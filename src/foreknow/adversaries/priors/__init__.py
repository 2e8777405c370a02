"""Priors: how likely each value is for people of each kind."""
