"""The command ``python -m foreknow_judge``: the same as ``foreknow-verify``."""

from foreknow_judge.command import run

run()
