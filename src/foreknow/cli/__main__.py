"""Run the command line as a module: python -m foreknow.cli."""

from foreknow.cli import main

main()
