"""Run the command line as a module: python -m foreknow.cli."""

from foreknow.cli import run_and_exit

run_and_exit()
