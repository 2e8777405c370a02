"""The command line: parse, call, print, exit code."""

from foreknow.cli.entry import app, main

__all__ = ["app", "main"]
