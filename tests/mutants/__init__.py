"""Breaks each guard of the lifecycle in turn: some test must notice. `python -m tests.mutants [part of a name …]`."""
