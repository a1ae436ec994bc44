"""A handful of real kinds that `make demo` runs: read job_handlers.py to see how a handler is written."""
