"""An app that puts the clock of the worker it is installed in ten minutes ahead, or as many seconds as CLOCK_IS_OFF."""
