"""Adversaries: one file per kind of knowledge, each answering "how sure could they be?"."""
