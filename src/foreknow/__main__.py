"""Run the command line as a module: python -m foreknow."""

from foreknow.cli import run_and_exit

run_and_exit()
