"""Console: a line of progress."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

from foreknow_judge.files.printable import encodable, visible

_LOGGER = "foreknow"
_DELAY = 0.5


@contextmanager
def progress(
    title: str, *, console: Console | None = None, delay: float = _DELAY
) -> Iterator[None]:
    """Show what goes on while the block runs, on standard error, if that is a terminal.

    INFO messages of the ``foreknow`` logger make the line, once `delay` seconds have passed; they
    do not reach other handlers unless they would have without it.
    """
    # Nothing is shown in files, pipes and notebooks.
    terminal = console or Console(stderr=True)
    if not terminal.is_terminal or (console is None and not sys.stderr.isatty()):
        yield
        return
    logger = logging.getLogger(_LOGGER)
    settings_before = logger.level, logger.propagate
    handler = _Line(title, terminal, logger.getEffectiveLevel(), logger.propagate)
    timer = threading.Timer(delay, handler.appear)
    timer.daemon = True
    # The logger is set to show progress, and put back as it was in the end.
    logger.addHandler(handler)
    logger.propagate = False
    logger.setLevel(min(logging.INFO, logger.getEffectiveLevel()))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        logger.setLevel(settings_before[0])
        logger.propagate = settings_before[1]
        logger.removeHandler(handler)
        handler.close()


class _Line(logging.Handler):
    """A log handler that shows the last message in one line; warnings go where they went before."""

    def __init__(self, title: str, console: Console, level: int, propagate: bool) -> None:
        """Prepare the line, without showing it yet.

        `level` and `propagate` are the logger's own: messages of that level go on to its handlers,
        if it had them.
        """
        super().__init__(logging.DEBUG)
        self._title = title
        self._passed_on = level if propagate else None
        self._gone = False
        self._showing = threading.Lock()
        self._encoding = console.encoding
        spinner = "dots" if console.encoding.startswith("utf") else "line"
        self._status = console.status(self._text(f"{title} …"), spinner=spinner)

    def appear(self) -> None:
        """Show the line, unless the block has ended meanwhile."""
        with self._showing:
            if not self._gone:
                self._status.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Show a message in the line; pass it on to the handlers that would have had it."""
        try:
            if record.levelno >= logging.INFO:
                self._status.update(self._text(f"{self._title}: {visible(record.getMessage())}"))
        except Exception:
            self.handleError(record)
        if self._passed_on is not None and record.levelno >= self._passed_on:
            logging.getLogger().callHandlers(record)

    def close(self) -> None:
        """Take the line away."""
        with self._showing:
            self._gone = True
            self._status.stop()
        super().close()

    def _text(self, message: str) -> Text:
        return Text(encodable(message, self._encoding), overflow="ellipsis", no_wrap=True)
