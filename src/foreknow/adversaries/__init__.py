"""Adversaries: each kind of knowledge answers "how sure could they be?"."""
