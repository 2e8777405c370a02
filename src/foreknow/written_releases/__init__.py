"""Releases as they are written: certificate, tables, members, and several of them together."""
