"""Signals as a terminal sends them, also where tests run in the background and ignore them."""

import signal


def heeded():
    """Let signals end this process: what a test runs first in a process that it starts."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
