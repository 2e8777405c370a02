"""Foreknow."""
