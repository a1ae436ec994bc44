"""Files over HTTP, for workers that do not see the storage: sources go out, what was made of them comes in."""
