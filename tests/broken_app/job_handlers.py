"""Cannot be imported, as a module whose dependency is missing cannot."""

raise ImportError("No module named 'libmissing'")
