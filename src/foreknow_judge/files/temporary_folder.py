"""A private temporary folder, for what does not fit into memory."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

PREFIX, CONTENT = ".foreknow-", "whole"
# What makes such a folder in its place, with a lock, so that what a killed process left is removed:
# `foreknow` sets it, which may write a raw table aside.
locked: Callable[[Path], tuple[Path, int]] | None = None


def scratch_folder(parent: Path) -> tuple[Path, int]:
    """Make a private folder for one entry `CONTENT`; return it and its lock, -1 if it has none."""
    if locked is not None:
        return locked(parent)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent)).absolute()
    folder.chmod(0o700)  # whatever the umask takes away
    return folder, -1


def make_private(folder: Path) -> None:
    """Make a folder, unless it exists, that only we can look into, whatever the umask."""
    folder.mkdir(mode=0o700, exist_ok=True)
    folder.chmod(0o700)
