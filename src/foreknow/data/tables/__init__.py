"""Engines: the only room that knows dataframes and databases. Read, encode, count, write."""
