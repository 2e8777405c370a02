"""Statements about named people, and the posteriors that follow from them."""
