"""Run the command line as a module: python -m foreknow."""

from foreknow.cli import main

main()
