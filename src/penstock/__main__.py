"""`python -m penstock`."""

from penstock.cli.main import main

main()
