"""An app that puts the clock of the worker it is installed in ten minutes ahead, or as many seconds as CLOCK_IS_OFF.

With CLOCK_FILE it is moved while the worker runs: the file says by how much.
"""
