"""Faults at full size, not collected by pytest: `python -m tests.chaos.all`, or one of the others."""
