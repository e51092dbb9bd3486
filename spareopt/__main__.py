"""``python -m spareopt`` is the command line."""

from spareopt.cli import main

main()
