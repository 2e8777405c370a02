"""Streams: what is printed may get lost, the exit code may not."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast


class Stream:
    """Standard output or error that never fails: closed or full, the rest is thrown away.

    Characters that its encoding lacks are written as escapes.

    Attributes
    ----------
    lost : OSError or None
        Why something could not be written.
    """

    def __init__(self, inner: TextIO) -> None:
        self._inner = inner
        self.lost: OSError | None = None

    def write(self, text: str) -> int:
        """Write a text, or lose it."""
        if self.lost is None:
            try:
                try:
                    self._inner.write(text)
                except UnicodeEncodeError:
                    kept = text.encode(self._inner.encoding, "backslashreplace")
                    self._inner.write(kept.decode(self._inner.encoding))
            except OSError as error:
                self._lose(error)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Write what waits, or lose it."""
        if self.lost is None:
            try:
                self._inner.flush()
            except OSError as error:
                self._lose(error)

    @property
    def full(self) -> str | None:
        """Why nothing could be written, unless nobody reads any longer, as after `| head`."""
        if self.lost is None or self.lost.errno == errno.EPIPE:
            return None
        return self.lost.strerror or str(self.lost)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def _lose(self, error: OSError) -> None:
        self.lost = error
        with suppress(OSError, ValueError):  # what waits would fail again when Python ends
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._inner.fileno())
            os.close(nowhere)


@contextmanager
def streams() -> Iterator[tuple[Stream, Stream]]:
    """Print through streams that never fail while the block runs."""
    _open_closed()
    before = sys.stdout, sys.stderr
    out, err = (Stream(stream or open(os.devnull, "w")) for stream in before)  # noqa: SIM115
    sys.stdout, sys.stderr = cast(TextIO, out), cast(TextIO, err)
    try:
        yield out, err
    finally:
        out.flush()
        err.flush()
        sys.stdout, sys.stderr = before


def _open_closed() -> None:
    """Give closed standard streams a place, so that no file of ours becomes one of them."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            with suppress(OSError):
                os.open(os.devnull, os.O_RDWR)
